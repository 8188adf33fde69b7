"""CPU of a learned row without caution, time or the label layer, and of answers about labels.

The published splits. Every model learns the same rows in one process, one after the other, several
times, and the least CPU counts. Then the same rows are scored, and decided in every way from the
scores: by each label, given half of the labels, for F1, and as whole sets. Usage: ``python
experiments/benchmarks/labels_speed.py [--out FILE]``.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import efcml
from efcml import EFCMLClassifier, datasets
from efcml.model.params import DECISIONS
from efcml.studies.provenance import machine, method

ROWS = {  # that are learned; all of the stream, if it is shorter
    "emotions": 1000,
    "water-quality": 1000,
    "yeast": 1000,
    "birds": 1000,
    "mediamill": 500,
}
MOST_INITIAL = (
    4000  # rows of a batch, the newest ones: a row of the stream costs the same after all
)
VARIANTS = {
    "default": {},
    "without caution": {"caution": False},
    "without time": {"time": False},
    "without both": {"caution": False, "time": False},
}
UNLAYERED = "without the label layer"
TURNS = 5


def leave_out_labels(learner):
    """Return a copy without the label layer; nothing comes back from there, so it is the same."""
    other = learner.copy()
    other.layered, other.labels = False, None
    return other


def fit_variants(X, Y):
    """Return the fitted learner of every variant."""
    found = {name: EFCMLClassifier(**made).fit(X, Y).learner_ for name, made in VARIANTS.items()}
    return found | {UNLAYERED: leave_out_labels(found["default"])}


def least_cpu(works, turns):
    """Return the least CPU seconds of each work; each is prepared anew, and all take turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(turns):
        for name, prepare in works.items():
            work = prepare()
            start = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - start)
    return least


def learning(learner, X, Y):
    """Return what prepares the learning of rows by a copy."""

    def prepare():
        other = learner.copy()
        return lambda: other.learn(X, Y)

    return prepare


def answering(learner, X, Y):
    """Return what prepares every kind of answer: scores, and what is made of them."""
    scores, nothing = learner.score(X), np.full(Y.shape, np.nan)
    half = np.where(np.arange(Y.shape[1]) % 2 == 0, Y, np.nan)

    def decide(decision, known):
        return lambda: lambda: learner.labels.answer(scores, DECISIONS[decision], known)

    return {
        "scores": lambda: lambda: learner.score(X),
        "each label": decide("hamming", nothing),
        "given half": decide("hamming", half),
        "f1": decide("f1", nothing),
        "subset": decide("subset", nothing),
        "subset, given half": decide("subset", half),
    }


def measure(name, rows, turns):
    """Return the CPU milliseconds of a row: learned by each variant, and answered."""
    ds = datasets.load(name)
    initial = (part[-MOST_INITIAL:] for part in ds.initial)
    X, Y = (np.ascontiguousarray(part[:rows], dtype=float) for part in ds.stream)
    learners = fit_variants(*initial)
    works = {key: learning(learner, X, Y) for key, learner in learners.items()}
    line = {"data": name, "rows": len(X), "labels": Y.shape[1]}
    for part, todo in (("learned", works), ("answered", answering(learners["default"], X, Y))):
        line[part] = {key: 1e3 * cpu / len(X) for key, cpu in least_cpu(todo, turns).items()}
    return line


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Measure what the layers after the cases cost.")
    parser.add_argument("--out", type=Path, help="write the figures there")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args(arguments)
    efcml.warmup()
    lines = []
    for name, rows in ROWS.items():
        lines.append(measure(name, rows, given.turns))
        for part in ("learned", "answered"):
            cells = ", ".join(f"{key} {ms:.4f}" for key, ms in lines[-1][part].items())
            print(f"{name}, {part}, ms: {cells}", flush=True)
    if given.out:
        record = {"efcml": efcml.__version__, "method": method(), "machine": machine()}
        given.out.write_text(json.dumps(record | {"lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
