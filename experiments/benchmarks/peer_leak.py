"""Whether a model looks at the labels of a row before it answers for it.

Two copies of a model are given the same row, one of them with all labels flipped. Their answers
must be the same. A third copy gets the row unchanged: if its answer differs, the model draws at
random or cannot be copied, and the test says nothing.

``python experiments/benchmarks/peer_leak.py --out FILE [--models NAME ...] [--python LIBRARY=PATH
...] [--java FOLDER]`` asks the models of peer_scores.py, and, if a folder with the public Java
source is given, MLSAkNN and AESAKNNS, as published and repaired. That source is not part of this
repository. Fetch it from the places in SOURCES: what is below ``src/main/java`` of a repository
goes into a folder of its name. The interpreter given for capymoa must have it, because its moa.jar
and its bridge to Java are used. javac must be there.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from copy import copy, deepcopy
from importlib import metadata, util
from pathlib import Path

import numpy as np
from peer_interpreters import ONE_THREAD, add_pythons, pythons_of
from peer_libraries import Peer
from peer_others import Moa
from peer_scores import MODELS, ROOT, load, method_of_today

SET, ROWS, FITTED = "emotions", 30, 60  # rows asked of our models and of libraries; learned before
SOURCES = {  # by class: repository, commit, folder
    "moa.classifiers.multilabel.MLSAkNN": (
        "github.com/canoalberto/MLSAkNN",
        "344ab6cf67a3f8c669f2d49e8948acd2990d378f",
        "MLSAkNN",
    ),
    "moa.classifiers.multilabel.meta.AESAKNNS": (
        "github.com/canoalberto/AESAKNNS",
        "1c10a3e826b29c0eadce6af16a90c3682183ad69",
        "AESAKNNS",
    ),
}
# Rows run before one is asked, and all rows: a copy of the second takes seconds.
ASKED = {"MLSAkNN": (0, 200), "AESAKNNS": (60, 100)}
# Moving a row moves a reference, so that two rows share one mask.
REPAIRS = {
    f"labelInstanceMask[i] = labelInstanceMask[{place}];": (
        f"labelInstanceMask[i] = labelInstanceMask[{place}].clone();"
    )
    for place in ("i+1", "diff+i")
}


def peeks(make_model, X, Y, n_initial=0, duplicate=deepcopy, first=0):
    """Return for how many rows answers change with the labels of the row itself.

    Parameters
    ----------
    make_model : callable
        Makes a model with ``fit`` and ``run`` as in peer_libraries.py.
    X, Y : arrays
        Rows; the first ``n_initial`` are learned and not asked.
    duplicate : callable
        Makes an independent copy of a model.
    first : int
        Rows before this one are answered and learned, but not asked twice.

    Returns
    -------
    dict
        ``rows`` asked; ``changed``: answers that changed with the labels; ``unsteady``: answers
        that changed without. ``ended`` says why not all rows were asked.
    """
    model = make_model()
    if n_initial:
        model.fit(X[:n_initial], Y[:n_initial])
    found = {"rows": 0, "changed": 0, "unsteady": 0}
    for t in range(n_initial, len(X)):
        x, y = X[t : t + 1], Y[t : t + 1]
        if t < first:
            model.run(x, y)
            continue
        try:
            copies = [duplicate(model) for _ in range(3)]
        except Exception as error:
            return found | {"ended": str(error).splitlines()[0]}
        told = (y, 1.0 - y, y)
        answers = [one.run(x, labels)[0] for one, labels in zip(copies, told, strict=True)]
        found["rows"] += 1
        found["changed"] += not np.array_equal(answers[0], answers[1], equal_nan=True)
        found["unsteady"] += not np.array_equal(answers[0], answers[2], equal_nan=True)
        model.run(x, y)
    return found


def duplicate_moa(model):
    """Return a copy of one model per label of MOA, which Python cannot copy."""
    twin = copy(model)
    twin.models = [one.copy() for one in model.models]
    return twin


def ask_model(name):
    """Ask one of the models of peer_scores.py."""
    X, Y, _ = load(SET)
    _, kind, keywords = MODELS[name]
    duplicate = duplicate_moa if issubclass(kind, Moa) else deepcopy

    def make():
        return kind(X.shape[1], Y.shape[1], FITTED, **keywords)

    rows = slice(0, FITTED + ROWS)
    found = peeks(make, X[rows], Y[rows], FITTED, duplicate)
    if kind.library != "efcml" and issubclass(kind, Peer) and not issubclass(kind, Moa):
        # Labels are no part of what these are given to score, so only their state could tell.
        found["given"] = "features alone"
    return found


# -- Java -------------------------------------------------------------------------------------


def find_jar():
    """Return the moa.jar of capymoa."""
    (folder,) = util.find_spec("capymoa").submodule_search_locations
    return next(Path(folder).rglob("moa.jar"))


def build(source, jar, out, repaired):
    """Compile the public source, as it is or repaired; return how many places were repaired."""
    count, files = 0, []
    for path in sorted(source.rglob("*.java")):
        text = path.read_text(encoding="utf-8")
        if repaired:
            for old, new in REPAIRS.items():
                count += text.count(old)
                text = text.replace(old, new)
        files.append(out / "source" / path.relative_to(source))
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(text, encoding="utf-8")
    command = ["javac", "-nowarn", "-cp", str(jar), "-d", str(out / "classes"), *map(str, files)]
    subprocess.run(command, check=True, capture_output=True)
    return count


def write_arff(path, X, Y):
    """Write rows with the labels first, as MOA wants them."""
    lines = ["@relation rows"]
    lines += [f"@attribute y{j} {{0,1}}" for j in range(Y.shape[1])]
    lines += [f"@attribute x{j} numeric" for j in range(X.shape[1])]
    lines.append("@data")
    for x, y in zip(X, Y, strict=True):
        lines.append(",".join([*(str(int(value)) for value in y), *map(repr, x.tolist())]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class JavaModel(Peer):
    """A multi-label learner of MOA, given whole rows, labels included, as its evaluators do."""

    library = "capymoa"

    def __init__(self, p, K, n_initial, name, arff):
        super().__init__(p, K, n_initial)
        import jpype

        stream = jpype.JClass("moa.streams.MultiTargetArffFileStream")(str(arff), f"1-{K}")
        stream.prepareForUse()
        self.first = stream.nextInstance()
        self.model = jpype.JClass(name)()
        self.model.prepareForUse()
        self.model.setModelContext(stream.getHeader())

    def twin(self):
        other = copy(self)
        other.model = self.model.copy()
        return other

    def convert(self, X, Y):
        import jpype

        rows = []
        for x, y in zip(X.tolist(), Y.tolist(), strict=True):
            one = self.first.getData().copy()
            for j, value in enumerate([*y, *x]):
                one.setValue(j, value)
            example = jpype.JClass("moa.core.InstanceExample")(one)
            rows.append((example, example))
        return rows

    def score(self, x):
        return self.model.getPredictionForInstance(x)

    def learn(self, x, y):
        self.model.trainOnInstance(x)

    def read(self, answer):
        votes = [answer.getVotes(c) for c in range(self.K)]
        return [float(part[1]) if part is not None and len(part) > 1 else 0.0 for part in votes]


def ask_java(name, source, repaired):
    """Compile a class in this process's own folder and ask it."""
    import jpype

    X, Y, _ = load(SET)
    repository, commit, place = SOURCES[name]
    first, last = ASKED[place]
    X, Y = X[:last], Y[:last]
    jar = find_jar()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        count = build(Path(source), jar, out, repaired)
        write_arff(out / "rows.arff", X, Y)
        jpype.startJVM(classpath=[str(out / "classes"), str(jar)])

        def make():
            return JavaModel(X.shape[1], Y.shape[1], 0, name, out / "rows.arff")

        found = peeks(make, X, Y, duplicate=JavaModel.twin, first=first)
    java = str(jpype.JClass("java.lang.System").getProperty("java.version"))
    return found | {
        "class": name,
        "source": repository,
        "commit": commit,
        "repaired": repaired,
        "places_repaired": count,
        "versions": {"java": java, "capymoa": metadata.version("capymoa")},
    }


# -- the record -------------------------------------------------------------------------------


def in_own_process(python, *words):
    """Return the answer of this program in a new process, or what went wrong."""
    paths = [str(ROOT), str(ROOT / "experiments"), str(Path(__file__).parent)]
    env = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [python, "-W", "ignore", __file__, "--one", *map(str, words)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["ended"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def answer_one(kind, name, *rest):
    """Ask one model and print what was found."""
    if kind == "model":
        found = ask_model(name)
    else:
        found = ask_java(name, rest[0], rest[1] == "repaired")
    print(json.dumps(found))


def keep(record, path):
    """Write what was found so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(arguments=None):
    """Ask all models and write the record."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--one"]:
        return answer_one(*arguments[1:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS, metavar="NAME")
    add_pythons(parser)
    parser.add_argument("--java", type=Path, default=None, metavar="FOLDER")
    chosen = parser.parse_args(arguments)
    pythons = pythons_of(chosen)
    record = {"java": [], "models": {}}
    if chosen.out.exists():
        record = json.loads(chosen.out.read_text(encoding="utf-8"))
    record |= {"set": SET, "method": method_of_today(), "machine": platform.machine()}
    if chosen.java:
        python, record["java"] = pythons.get("capymoa", sys.executable), []
        for name, (_, _, folder) in SOURCES.items():
            for state in ("published", "repaired"):
                found = in_own_process(python, "java", name, chosen.java / folder, state)
                record["java"].append({"class": name} | found)
                print(name, state, found, flush=True)
                keep(record, chosen.out)
    for name in chosen.models:
        title, kind, _ = MODELS[name]
        found = in_own_process(pythons.get(kind.library, sys.executable), "model", name)
        record["models"][name] = {"title": title} | found
        print(name, found, flush=True)
        keep(record, chosen.out)
    return None


if __name__ == "__main__":
    sys.exit(main())
