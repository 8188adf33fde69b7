"""Small faults, put into a copy of the checkout one at a time: which do the tests find?

    python tests/tools/faults.py --out faults.json

They were chosen by reading the package, not the tests. The tests that fit the room of a fault are
run, the likeliest files first, until one fails: of kernels and model uncompiled, the rest of the
model and all others compiled. A run that takes several times as long as without a fault counts as
found. Tests that fail without any fault are named, and left out.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = (".git", ".venv*", ".*cache*", "__pycache__", "_build", ".hypothesis", "runs")
MARKS = "uncompiled and not slow and not long", "not long"

# Which files of tests fit the faults of a room; names without test_ and .py.
ROOMS = {
    "kernels": "core* twin* stages* missing* decision* rescal* sample* seams* propert*",
    "model": "core* twin* stages* seams* rescal* relevance* wide* sample* behaviour* propert*",
    "estimators": "classif* estim* encod* sample* weight* target* *column* ecosystem* known* mask*",
    "active": "active* ask* budget* quer* propert*",
    "rivals": "rival* per_label* simple* chain* propert*",
    "evaluation": "prequential* eval* pipeline* foreign* stream* propert*",
    "measures": "measure* metric* propert*",
    "explain": "expla* read* rules_read* sentence* trust* phrase* propert*",
    "datasets": "data* drift* synth* stream* file* arff* table* cli_predict* propert*",
    "tables": "table* date* encod* large* dataset* parquet* propert*",
    "saving": "sav* hostile* archive* older* *column* table* propert*",
    "support": "sav* guard* progress* package* propert*",
    "cli": "cli* command* checkpoint*",
    "studies": "stud* pair* interval*",
    "tuning": "tun* search*",
    "report": "report* page*",
    "compat": "river* compat* dict*",
}

# Name, file below efcml/; what stands there once => what is put in its place, or both as a patch.
TABLE = """
gain-without-forgetting kernels/planes.py
    weight / (keep + weight * dot => weight / (1.0 + weight * dot
newborn-silent model/reshape.py
    = facts["last_won"][i] = rules.clock[LEARNED] => = rules.clock[LEARNED]
folds-learn-what-they-hold-out model/fit.py
    rest = np.delete(np.arange(len(Y)), out) => rest = np.arange(len(Y))
prior-share-never-fades kernels/gaussian.py
    fact.prior_share *= support / grown => pass
known-rows-not-counted kernels/planes.py
    seen[c] = keep * seen[c] + weight => seen[c] = keep * seen[c]
rare-label-as-any kernels/planes.py
    (keep + q) / (keep * share + q) => 1.0
correlation-of-a-label-with-itself kernels/planes.py
    y[c], y[c] * y[k]) => y[c], y[c] * y[c])
cases-expect-nothing kernels/cases.py
    (errors[c] - expected[c]) / (v + own) => errors[c] / (v + own)
gaps-log-det-sign model/rulebase.py
    distance + self._sizes + opened => distance + self._sizes - opened
time-a-row-older kernels/temporal.py
    row = clock[PASSED] - 1 - (delay => row = clock[PASSED] - 2 - (delay
old-labels-stay-sure kernels/temporal.py
    stays * left * last[i, k] => stays * last[i, k]
own-curve-held-weakly kernels/labels.py
    step_curve(k, OWN_PRIOR => step_curve(k, SHARED_PRIOR
watch-forgets-rows-at-once model/watch.py
    np.arange(n)[::-1] / MEMORY => np.arange(n) / MEMORY
merged-rows-not-known model/reshape.py
    rules.label_sums, rules.seen, rules.G => rules.label_sums, rules.G
merged-planes-swapped model/reshape.py
    share[0] * planes[i] + share[1] * planes[j] => share[1] * planes[i] + share[0] * planes[j]
rare-values-are-wild model/scaler.py
    return far & spread & (count => return far & (count
shift-in-old-units model/rescaling.py
    old.scale * new.scale + new.mean => old.scale * new.scale
drift-told-again-and-again model/rulebase.py
    facts["drifting"][i] = DRIFTING => pass
late-labels-were-unknown model/rulebase.py
    rules.seen[..., K:] = old.G[..., -1, -1, None] => pass
missing-word-is-absent model/projection.py
    values = np.where(np.isnan(values), self.usual[at], values) => values = np.nan_to_num(values)
unstable-by-the-best-known active/active_learner.py
    rules.seen[i, SLOW].min() => rules.seen[i, SLOW].max()
labels-spend-less active/active_learner.py
    state.spent + asked => state.spent + asked / size
unknown-value-is-the-first tables/encoder.py
    other = places.get(OTHER, -1) => other = places.get(OTHER, 0)
labels-in-any-order estimators/classifier.py
    not np.array_equal(names, expected): => {*names} != {*expected}:
weight-zero-counts estimators/targets.py
    Y[weights == 0.0] = np.nan => pass
learns-what-was-not-asked active/active_learner.py
    np.where(question.labels, Y[row], np.nan) => Y[row].copy()
thresholds-stand-still active/active_learner.py
    Spending(*counts, recent, thresholds) => Spending(*counts, recent, state.thresholds)
log-a-row-late active/active_learner.py
    row=state.rows, => row=state.rows + 1,
chain-sees-scores rivals/per_label.py
    X = np.hstack([X, decide(answer)]) => X = np.hstack([X, answer])
foreign-learned-before-scored evaluation/adapters.py
-             trace.scores[t] = self.score(slice(t, t + 1))[0]
-             if t >= delay:
-                 self.learn(t - delay)
+             if t >= delay:
+                 self.learn(t - delay)
+             trace.scores[t] = self.score(slice(t, t + 1))[0]
events-by-block evaluation/stream_pass.py
    trace.take_events(part, block.start) => trace.take_events(part, 0)
first-step-left-out evaluation/adapters.py
    for _, step in model.steps[:-1]: => for _, step in model.steps[1:-1]:
one-error-forgives-ties measures/__init__.py
    (worse >= best) => (worse > best)
unknown-counts-as-said measures/__init__.py
    true, predicted = Y == 1, (labels == 1) & ~np.isnan(Y) => true, predicted = Y == 1, labels == 1
weakest-rules-first explain/rules.py
    (-learner.rules.weight, -decides, => (-learner.rules.weight, decides,
pushes-from-the-mean explain/explanation.py
    (filled[0] - rule.scaled_center) => (filled[0] - rule.position[0])
drift-a-row-late datasets/streams.py
    (rows.row >= marks[event] => (rows.row > marks[event]
columns-in-file-order tables/encoder.py
    fields = table.fields(column.name) => fields = table.fields(table.names[len(blocks) - 1])
minutes-as-hundredths tables/encoder.py
    moments.hour + moments.minute / 60 => moments.hour + moments.minute / 100
sizes-not-checked support/states.py
    (like[name].dtype, like[name].shape) => (like[name].dtype, array.shape)
events-of-a-resumed-run cli/stream.py
    ((n + row, *event) => ((row, *event)
predictions-misnumbered cli/run.py
    folder, first + ds.n_initial) => folder, first)
orders-sorted-backwards studies/study.py
    np.argsort(run.stream_rows) => run.stream_rows.argsort().argsort()
orders-share-a-model studies/runs.py
    return deepcopy(model), *others => return model, *others
winner-among-ties tuning/search.py
    if row["low"] > 0.0 => if row["gain"] > 0.0
unknown-counts-in-frequency report/report.py
    frequency = ones / rows => frequency = ones / len(Y)
"""


class Fault(NamedTuple):
    """What stands once in a file, and what a person could have written by mistake."""

    name: str
    file: str
    before: str
    after: str

    @property
    def room(self):
        return self.file.split("/")[1]

    def put_into(self, source):
        """Return the faulty source; refuse a fault that does not fit."""
        if source.count(self.before) != 1:
            sys.exit(f"{self.name}: stands {source.count(self.before)} times in {self.file}")
        faulty = source.replace(self.before, self.after)
        compile(faulty, self.file, "exec")
        return faulty


def read_faults():
    """Return the faults of the table by name."""
    found = {}
    for block in re.split(r"\n(?=\w)", TABLE.strip()):
        head, *lines = block.split("\n")
        name, file = head.split()
        sides = ["\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+"]
        if " => " in lines[0]:
            sides = lines[0].strip().split(" => ")
        found[name] = Fault(name, f"efcml/{file}", *sides)
    return found


class Tests:
    """A copy of the checkout, and its tests that fit a fault."""

    def __init__(self, options):
        self.copy, self.options = options.copy.resolve(), options
        ignore = shutil.ignore_patterns(*NOT_COPIED)
        shutil.rmtree(self.copy / "tests", ignore_errors=True)
        shutil.copytree(options.checkout, self.copy, ignore=ignore, dirs_exist_ok=True)
        if options.tests is not None:
            shutil.rmtree(self.copy / "tests")
            shutil.copytree(options.tests, self.copy / "tests", ignore=ignore)
        paths = self.copy, self.copy / "experiments"
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        ask = [sys.executable, "-c", "import efcml; print(efcml.__file__)"]
        there = subprocess.check_output(ask, cwd=self.copy, env=self.environment, text=True)
        if not Path(there.strip()).is_relative_to(self.copy):
            sys.exit(f"efcml is imported from {there.strip()}, not from {self.copy}")

    def modes(self, room):
        """Return how the tests of a room are run, one after the other, with their marks."""
        first, second = self.options.marks
        both = [("uncompiled", first), ("compiled", f"({second}) and not ({first})")]
        if room == "kernels":
            return both[: 1 + self.options.compiled]
        return both if room == "model" or self.options.both else [("compiled", second)]

    def files(self, room, module=""):
        """Return the tests of a room, those first that are called like a module."""
        globs = [f"test_{glob}.py" for glob in ROOMS[room].split()]
        found = sorted({file for glob in globs for file in (self.copy / "tests").glob(glob)})
        words = Path(module).stem.split("_")

        def unlikeness(file):
            return -max(len(commonprefix([a, b])) for a in words for b in file.stem.split("_"))

        return [str(file.relative_to(self.copy)) for file in sorted(found, key=unlikeness)]

    def run(self, mode, marks, *arguments, limit=None):
        """Return what failed, and the seconds that it took."""
        env = self.environment | {"NUMBA_DISABLE_JIT": str(int(mode == "uncompiled"))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks]
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            more = {"stdout": out, "stderr": out, "start_new_session": True}
            process = subprocess.Popen([*command, *arguments], cwd=self.copy, env=env, **more)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                return ["time limit"], time.monotonic() - begin
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
            out.seek(0)
            text = out.read()
        if code not in (0, 1, 2, 5):  # 2: a file cannot be imported; 5: no test has the marks
            sys.exit(f"pytest ended with {code}:\n{text[-3000:]}")
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
        return failed or ["no import"] * (code in (1, 2)), time.monotonic() - begin

    def without_fault(self, room, mode, marks, record):
        """Return which tests of a room fail as it is, and the seconds; found out once."""
        known = record["without"].setdefault(f"{room}, {mode}", {})
        if not known:
            files = self.files(room) or sys.exit(f"no file of tests fits {room}: look at ROOMS")
            known["failed"], known["seconds"] = self.run(mode, marks, *files)
            print(f"{room}, {mode}, no fault: {known['seconds']:.0f} s, failed {known['failed']}")
            self.options.out.write_text(json.dumps(record, indent=1))
        return known.values()


def look_for(fault, tests, record):
    """Return which test finds a fault, if any does, and the seconds."""
    path, total = tests.copy / fault.file, 0.0
    source, stat = path.read_text(encoding="utf-8"), path.stat()
    for mode, marks in tests.modes(fault.room):
        failing, usual = tests.without_fault(fault.room, mode, marks, record)
        left_out = [f"--deselect={test}" for test in failing]
        arguments = ["-x", *left_out, *tests.files(fault.room, fault.file), fault.file]
        try:
            path.write_text(fault.put_into(source), encoding="utf-8")
            found, seconds = tests.run(mode, marks, *arguments, limit=60 + 4 * usual)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # numba looks at it
        total += seconds
        if found:
            return f"{found[0]}, {mode}", total
    return "", total


def main():
    usual = Path(tempfile.gettempdir()) / "efcml-faults"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=FAULTS, metavar="NAME", help="look for these faults")
    add("--out", type=Path, required=True, help="JSON; faults in it are not looked for again")
    add("--copy", type=Path, default=usual, help="folder of the copy, kept for the next time")
    add("--checkout", type=Path, default=ROOT, help="what is copied, if not this checkout")
    add("--tests", type=Path, help="folder of other tests that are put into the copy")
    add("--marks", nargs=2, default=MARKS, help="expressions, uncompiled and compiled")
    add("--both", action="store_true", help="run the tests of all rooms both ways")
    add("--compiled", action="store_true", help="those of kernels, too: compiled for each fault")
    options = parser.parse_args()
    for fault in FAULTS.values():
        fault.put_into((options.checkout / fault.file).read_text(encoding="utf-8"))
    tests, names, out = Tests(options), options.only or [*FAULTS], options.out
    record = json.loads(out.read_text()) if out.exists() else {"without": {}, "faults": {}}
    for name in names:
        if name not in record["faults"]:
            found, seconds = look_for(FAULTS[name], tests, record)
            record["faults"][name] = {"found": found, "seconds": round(seconds, 1)}
            out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        found, seconds = record["faults"][name].values()
        print(f"{name:31} {seconds:4.0f} s  {found or 'SURVIVED'}", flush=True)
    survived = [name for name in names if not record["faults"][name]["found"]]
    late = sum("time limit" in record["faults"][name]["found"] for name in names)
    print(f"{len(names) - len(survived)} of {len(names)} found, {late} late; survived: {survived}")


FAULTS = read_faults()

if __name__ == "__main__":
    main()
