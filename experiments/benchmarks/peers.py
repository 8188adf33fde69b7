"""The prequential loop of efcml against that of other libraries: same rows, same run, one core.

Every model is a process of its own (peer_models.py) and learns the initial part. Then all take
turns, some rows each, so that a slow minute of the machine is a slow minute for everybody; the
others wait meanwhile. A model that has used up its seconds stops, and is compared on the rows it
has done. Models whose library is missing are left out and named.

Usage: ``python experiments/benchmarks/peers.py --out FILE [--sets NAME ...] [--models NAME ...]
[--python LIBRARY=PATH ...]``. Libraries that need an environment of their own are run by the
interpreter named for them, here or in the variable EFCML_PEERS: ``capymoa``,
``evolvingfuzzysystems``, ``scikit-multiflow``. The file is written after every set; sets that are
not asked for keep their record.
"""

import argparse
import json
import os
import platform
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from peer_interpreters import ONE_THREAD, add_pythons, pythons_of
from peer_models import MODELS

import efcml
from efcml import datasets, measures
from efcml.studies.provenance import method
from efcml_paper.scale import LARGE
from efcml_paper.scale import SETS as SMALL

ROOT = Path(__file__).resolve().parents[2]
SETS = (*SMALL, LARGE)
CUTS = {LARGE: (2000, 300)}  # rows fitted, rows streamed
TURN = 100  # rows
SECONDS, FIT_SECONDS = 30.0, 180.0  # of a stream, of an initial part
LONGEST_TURN = 300.0  # seconds
REFERENCE = "efcml"


class Child:
    """A model in a process of its own, which waits until it is asked."""

    def __init__(self, name, python, file):
        self.name = name
        core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        program = str(Path(__file__).with_name("peer_models.py"))
        self.process = subprocess.Popen(
            [python, "-W", "ignore", program, name, str(file), str(core)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT)},
        )
        self.lines, self.complaints = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()
        self.scores, self.turns = [], []  # rows and seconds of each turn
        self.facts = {}

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def _listen(self):
        for line in self.process.stderr:
            self.complaints = [*self.complaints[-5:], line.strip()]

    def answer(self, timeout):
        """Return the next answer; what went wrong is an answer too."""
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return {"failed": f"no answer within {timeout:.0f} s"}
        if line:
            return json.loads(line)
        return {"failed": next((words for words in reversed(self.complaints) if words), "ended")}

    @property
    def seconds(self):
        """Time that the rows took so far."""
        return sum(seconds for _, seconds in self.turns)

    def take_turn(self, rows):
        """Score and learn some rows; return what went wrong, or nothing."""
        self.process.stdin.write(f"{rows}\n")
        self.process.stdin.flush()
        answer = self.answer(LONGEST_TURN)
        if "failed" in answer:
            return answer["failed"]
        self.scores += answer["scores"]
        self.turns.append((rows, answer["seconds"]))
        self.facts["made_of"] = answer["made_of"]
        return None

    def end(self):
        """Stop the process."""
        self.process.kill()
        self.process.wait()


def load(name):
    """Return X, Y and the number of initial rows."""
    ds = datasets.load(name)
    X, Y = np.asarray(ds.X, dtype=float), np.asarray(ds.Y, dtype=float)
    if name in CUTS:
        n_initial, n_stream = CUTS[name]
        return X[: n_initial + n_stream], Y[: n_initial + n_stream], n_initial
    return X, Y, ds.n_initial


def start(names, pythons, file, most_seconds, children):
    """Let one model after the other learn the initial part and join the others, or say why not."""
    missing = {}
    for name in names:
        library = MODELS[name][1].library
        child = Child(name, pythons.get(library, sys.executable), file)
        children.append(child)
        answer = child.answer(most_seconds)
        wrong = answer.get("missing") or answer.get("failed")
        if wrong:
            print(f"  {name}: left out, {wrong}", flush=True)
            missing[name] = wrong
            children.remove(child)
            child.end()
            continue
        print(f"  {name}: initial part in {answer['fit_seconds']:.2f} s", flush=True)
        child.facts |= answer
    return missing


def take_turns(children, n_rows, most_seconds):
    """Run all models over the stream, in turns; return what went wrong, by name."""
    wrong, running = {}, list(children)
    for first in range(0, n_rows, TURN):
        for child in list(running):
            trouble = child.take_turn(min(TURN, n_rows - first))
            if trouble:
                wrong[child.name] = trouble
            if trouble or child.seconds > most_seconds:
                running.remove(child)
    return wrong


def measure(child, Y, rows):
    """Return PA, AP and milliseconds per row of a model over the first rows."""
    scores, labels = np.array(child.scores[:rows]), Y[:rows]
    done = np.cumsum([count for count, _ in child.turns])
    seconds = sum(
        seconds for (_, seconds), end in zip(child.turns, done, strict=True) if end <= rows
    )
    return {
        "pa": float(measures.partial_accuracy(labels, (scores >= 0.5).astype(float))),
        "ap": float(measures.average_precision(labels, scores)),
        "ms": 1e3 * seconds / rows,
    }


def summarise(children, Y):
    """Return the record of every model, with our models on the same rows beside it."""
    ours = [child for child in children if child.name.startswith(REFERENCE)]
    models = {}
    for child in children:
        rows = len(child.scores)
        if not rows:
            continue
        per_row = [seconds / count for count, seconds in child.turns]
        models[child.name] = {
            "title": MODELS[child.name][0],
            "rows": rows,
            **measure(child, Y, rows),
            "median_ms": 1e3 * float(np.median(per_row)),
            **child.facts,
            "ours": {own.name: measure(own, Y, rows) for own in ours if len(own.scores) >= rows},
        }
    return models


def run_set(name, names, pythons, most_seconds, most_fit_seconds):
    """Run all models over one data set and return the record."""
    X, Y, n_initial = load(name)
    print(f"{name}: {n_initial} rows learned first, {len(X) - n_initial} streamed", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        np.savez(file, X=X, Y=Y, n_initial=n_initial)
        children = []
        try:
            missing = start(names, pythons, file, most_fit_seconds, children)
            missing |= take_turns(children, len(X) - n_initial, most_seconds)
        finally:
            for child in children:
                child.end()
    rest = Y[n_initial:]
    return {
        "method": method(),
        "n_initial": n_initial,
        "n_stream": len(rest),
        "p": X.shape[1],
        "K": Y.shape[1],
        "pa_of_no_label": float(measures.partial_accuracy(rest, np.zeros_like(rest))),
        "models": summarise(children, rest),
        "missing": missing,
    }


def print_set(record):
    """Print what came out, quickest first."""
    for model in sorted(record["models"].values(), key=lambda one: one["ms"]):
        own = model["ours"].get(REFERENCE)
        ratio = f"{model['ms'] / own['ms']:8.2f} times ours" if own else ""
        print(
            f"  {model['title']:45} {model['pa']:.3f} / {model['ap']:.3f} {model['ms']:9.3f} ms"
            f" {model['rows']:4} rows {ratio}",
            flush=True,
        )


def main():
    """Run the sets asked for and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="NAME")
    add_pythons(parser)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each model and stream")
    parser.add_argument(
        "--fit-seconds",
        type=float,
        default=FIT_SECONDS,
        help="of each model and initial part, warm-up included",
    )
    chosen = parser.parse_args()
    pythons = pythons_of(chosen)
    efcml.warmup()  # once, into the cache of compiled code
    record = {"sets": {}}
    if chosen.out and chosen.out.exists():
        record = json.loads(chosen.out.read_text(encoding="utf-8"))
    record |= {
        "efcml": efcml.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "rows_per_turn": TURN,
        "most_seconds": chosen.seconds,
        "most_fit_seconds": chosen.fit_seconds,
    }
    for name in chosen.sets:
        record["sets"][name] = run_set(
            name, chosen.models, pythons, chosen.seconds, chosen.fit_seconds
        )
        print_set(record["sets"][name])
        if chosen.out:
            chosen.out.parent.mkdir(parents=True, exist_ok=True)
            chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
