"""What a change of units costs, with a scale that follows and with a frozen one.

A stream of 8 features and 3 labels that are linear in them, 500 initial rows; at row 1000 of 3000
something happens. ``python experiments/decisions/moved_scales.py`` appends a record for each run to
``experiments/results/decisions/moved-scales.jsonl``: partial accuracy before and after it, and how
often the scale changed.
"""

from functools import partial
from pathlib import Path

import numpy as np
from inside import run_missing

from efcml import EFCMLClassifier, datasets

OUT = Path(__file__).parents[1] / "results" / "decisions" / "moved-scales.jsonl"
SCALES = ("frozen", "follow")
INITIAL, AT, ROWS, SEEDS = 500, 1000, 3000, range(5)
SPANS = {"before": (AT - 700, AT), "first 100": (AT, AT + 100), "100 to 300": (AT + 100, AT + 300)}
SPANS |= {"300 to 600": (AT + 300, AT + 600), "last 800": (ROWS - 800, ROWS)}
LATER = slice(INITIAL + AT, None)


def rows_and_labels(seed):
    """Normal features, labels by a noisy plane each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(INITIAL + ROWS, 8))
    V = rng.normal(size=(8, 3))
    latent = X @ (V / np.linalg.norm(V, axis=0)) + 0.15 * rng.normal(size=(len(X), 3))
    return X, (latent > 0.0).astype(float)


def add(amount, columns=slice(None)):
    """The features are measured with an offset."""

    def change(X, Y):
        X[LATER, columns] += amount

    return change


def stretch(factor, columns=slice(None)):
    """The features are measured in another unit."""

    def change(X, Y):
        X[LATER, columns] *= factor

    return change


def put_wild(row):
    """One row is nonsense."""

    def change(X, Y):
        X[row] = 1e9

    return change


def wake(X, Y):
    """A constant starts to vary, and decides a label."""
    Y[LATER, 0] = X[LATER, 0] > 0.0
    Y[: INITIAL + AT, 0] = X[: INITIAL + AT, 1] > 0.0
    X[: INITIAL + AT, 0] = 0.0
    X[:, 0] += 1000.0


def go_elsewhere(X, Y):
    """Rows come from another place, where labels are always the same."""
    X[LATER, 0] += 20.0
    Y[LATER] = [1.0, 0.0, 1.0]


def learn_anew(factor):
    """Labels follow other planes, and three features are measured in another unit."""

    def change(X, Y):
        rng = np.random.default_rng(99)
        V = rng.normal(size=(8, 3))
        latent = X[LATER] @ (V / np.linalg.norm(V, axis=0))
        Y[LATER] = latent + 0.15 * rng.normal(size=latent.shape) > 0.0
        X[LATER, :3] *= factor

    return change


def offset(X, Y):
    """A large offset from the beginning."""
    X += 1e13


SCENES = {
    "nothing": add(0.0),
    "+20, all features": add(20.0),
    "+20, two of them": add(20.0, slice(0, 2)),
    "+3, all": add(3.0),
    "+1e9, all": add(1e9),
    "times 1000, all": stretch(1000.0),
    "times 1000, three": stretch(1000.0, slice(0, 3)),
    "times 4, all": stretch(4.0),
    "a thousandth, all": stretch(0.001),
    "one wild row": put_wild(INITIAL + AT),
    "one wild initial row": put_wild(7),
    "1e13 + N(0, 1)": offset,
    "a constant wakes up": wake,
    "rows from elsewhere": go_elsewhere,
    "other labels, times 4": learn_anew(4.0),
    "other labels, times 1000": learn_anew(1000.0),
}


def draw(scene, seed):
    """Return the stream of a scene."""
    X, Y = rows_and_labels(seed)
    SCENES[scene](X, Y)
    return datasets.from_arrays(X, Y, n_initial=INITIAL)


def note(clf, result):
    """Return the accuracy of all spans, and how often the scale changed, by reading."""
    right = ((result.scores >= 0.5) == result.Y).mean(axis=1)
    following = clf.learner_.following
    moved, kept = (0, 0) if following is None else following.changes
    spans = {name: right[low:high].mean() for name, (low, high) in SPANS.items()}
    return {"spans": spans, "re_expressed": int(moved), "left": int(kept)}


def main(out=OUT, scenes=SCENES, seeds=SEEDS):
    models = {scale: EFCMLClassifier(scaling=scale) for scale in SCALES}
    for scene in scenes:
        draws = {f"{scene}, {seed}": seed for seed in seeds}
        keys = {
            (name, scale): {"happens": scene, "seed": seed, "scale": scale}
            for name, seed in draws.items()
            for scale in SCALES
        }
        data = {name: partial(draw, scene, seed) for name, seed in draws.items()}
        run_missing(out, keys, models, data, note=note)


if __name__ == "__main__":
    main()
