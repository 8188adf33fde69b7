"""CPU of a learned row without caution, time or the label layer, and of answers about labels.

The published splits. Every model learns the same rows in one process, one after the other, several
times, and the least CPU counts. Then the same rows are scored, and decided in every way from the
scores: by each label, given half of the labels, for F1, and as whole sets. Usage: ``python
experiments/benchmarks/labels_speed.py [--out FILE]``.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from in_turns import learning, least_cpu, measure_all

from efcml import EFCMLClassifier, datasets
from efcml.model.params import DECISIONS

ROWS = {  # that are learned; all of the stream, if it is shorter
    "emotions": 1000,
    "water-quality": 1000,
    "yeast": 1000,
    "birds": 1000,
    "mediamill": 500,
}
# Rows of a batch, the newest ones: a row of the stream costs the same after all.
MOST_INITIAL = 4000
VARIANTS = {
    "default": {},
    "without caution": {"caution": False},
    "without time": {"time": False},
    "without both": {"caution": False, "time": False},
}
UNLAYERED = "without the label layer"


def leave_out_labels(learner):
    """Return a copy without the label layer; nothing comes back from there, so it is the same."""
    other = learner.copy()
    other.layered, other.labels = False, None
    return other


def fit_variants(X, Y):
    """Return the fitted learner of every variant."""
    found = {name: EFCMLClassifier(**made).fit(X, Y).learner_ for name, made in VARIANTS.items()}
    return found | {UNLAYERED: leave_out_labels(found["default"])}


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


def tell(line):
    """Return lines for people."""
    return "\n".join(
        f"{line['data']}, {part}, ms: "
        + ", ".join(f"{key} {ms:.4f}" for key, ms in line[part].items())
        for part in ("learned", "answered")
    )


def main(arguments=None):
    measure_all("Measure what the layers after the cases cost.", ROWS, measure, tell, arguments)


if __name__ == "__main__":
    main()
