"""What irrelevant columns cost, with rules over all features and over those that matter.

``python experiments/decisions/relevance.py [--quick] [SCENE ...]`` appends a record for each run to
``experiments/results/decisions/relevance.jsonl``, skips those that are there, and prints the table:
mean PA and AP of ``relevance="auto"``, and the difference to the same rows without the added
columns and to ``relevance="off"``, with 95 % intervals by bootstrap over orders and draws.

Tables: as they are, with as many columns of noise as features, at least 20, and with a random
weekday as seven flags. Data sets are run in file order and two shuffles, streams with two seeds.
Scenes: labels that depend on products, copies of relevant features, relevance that moves, comes or
ceases in mid-stream, and a rare label with a feature of its own.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from efcml import EFCMLClassifier, datasets, prequential
from efcml.model import relevance

OUT = Path(__file__).parents[1] / "results" / "decisions" / "relevance.jsonl"
SETS = ("emotions", "water-quality", "yeast", "birds")
STREAMS = ("drifting-clusters", "drifting-clusters-2d", "abrupt-drift", "local-drift")
ADDED = ("nothing", "noise", "weekday", "heavy noise", "slow noise")
PARTS = ("off", "axes", "no renewal", "auto")  # of what is built; "axes": planes, cases use all


def append(path, records):
    """Add records to a results file."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def read(path):
    """Return the records of a results file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_columns(X, kind, rng):
    """Return the table with columns that mean nothing."""
    n, many = len(X), max(20, X.shape[1])
    if kind == "noise":
        return np.c_[X, rng.normal(size=(n, many))]
    if kind == "weekday":
        return np.c_[X, np.eye(7)[rng.integers(0, 7, n)]]
    if kind == "heavy noise":  # skewed, rare flags, and integers
        flags = rng.random((n, many // 3)) < 0.05
        counts = rng.poisson(2.0, (n, many // 3))
        return np.c_[X, np.exp(1.5 * rng.normal(size=(n, many - 2 * (many // 3)))), flags, counts]
    if kind == "slow noise":
        noise = rng.normal(size=(n, 5))
        for t in range(1, n):
            noise[t] = 0.98 * noise[t - 1] + 0.2 * noise[t]
        return np.c_[X, noise]
    return X


def load(name, order):
    """Return a set or stream in one of its orders."""
    if name in STREAMS:
        return datasets.load(name, n=4000, seed=order)
    ds = datasets.load(name)
    if order == 0:
        return ds
    rows = np.random.default_rng(order).permutation(len(ds.X))
    return datasets.from_arrays(ds.X[rows], ds.Y[rows], n_initial=ds.n_initial)


def draw_scene(name, seed, n=3000, p=8, K=3):
    """Return rows and labels of a scene; of its columns beside the first p none means anything."""
    rng = np.random.default_rng(seed)
    X, half = rng.normal(size=(n, p + 20)), np.arange(n) >= n // 2
    W = rng.normal(size=(p, K))
    H = X[:, :p] @ W / np.sqrt(p)
    if name == "products":
        pairs = [(k, k + K) for k in range(K)]
        H = np.stack([X[:, i] * X[:, j] for i, j in pairs], axis=1) + 0.2 * H
    elif name == "copies":
        X[:, 4:p] = X[:, :4] + 0.3 * rng.normal(size=(n, p - 4))
        H = X[:, :4] @ W[:4] / 2.0
    elif name in ("moves", "comes", "ceases"):
        early, late = {"moves": (4, 4), "comes": (4, 0), "ceases": (p, 4)}[name]
        first, second = X[:, :early] @ W[:early], X[:, late:p] @ W[late:p]
        second = X[:, :4] @ W[:4] if name == "ceases" else second
        H = np.where(half[:, None], second, first) / np.sqrt(4.0)
    Y = H + 0.4 * rng.normal(size=H.shape) > 0.0
    if name == "rare label":
        Y = np.c_[Y, (X[:, p - 1] > 1.3) & (rng.random(n) < 0.8)]
        X[:, p - 1] *= 1.0
        H[:, :] = X[:, : p - 1] @ W[: p - 1]
        Y[:, :K] = H + 0.4 * rng.normal(size=H.shape) > 0.0
    return datasets.from_arrays(X, Y.astype(float), n_initial=n // 10)


SCENES = ("products", "copies", "moves", "comes", "ceases", "rare label")


def run(ds, part):
    """Run a part on a stream; return what a record says of it."""
    settle, look, X, i = relevance.RelevanceWatch._settle, relevance.LOOK, ds.X, ds.n_initial

    def keep_all(watch, *arguments):
        settle(watch, *arguments)
        watch.arrays.used[:] = True

    try:
        relevance.RelevanceWatch._settle = keep_all if part == "axes" else settle
        relevance.LOOK = 10**9 if part == "no renewal" else look
        began = time.process_time()
        clf = EFCMLClassifier(relevance="off" if part == "off" else "auto").fit(X[:i], ds.Y[:i])
        fitted = time.process_time()
        result = prequential(clf, X[i:], ds.Y[i:])
        ended = time.process_time()
    finally:
        relevance.RelevanceWatch._settle, relevance.LOOK = settle, look
    watch = clf.learner_.relevance
    right = (result.decisions == (ds.Y[i:] == 1.0)).mean(axis=1)
    return {
        "pa": result.pa,
        "ap": result.ap,
        "last_quarter": float(right[-len(right) // 4 :].mean()),
        "fit_s": fitted - began,
        "row_ms": 1e3 * (ended - fitted) / len(right),
        "rules": clf.n_rules_,
        "axes": int(watch.arrays.axes.sum()),
        "used": int(watch.arrays.used.sum()),
        "changes": int(watch.arrays.count[relevance.CHANGES]),
    }


def all_keys(quick):
    """Return what is to be run: data, order, added columns, part."""
    keys = []
    for order in range(1 if quick else 3):
        keys += [(name, order, "nothing", part) for name in SCENES for part in PARTS]
        for name in (*STREAMS, *SETS):
            for added in ADDED[: 3 if order else None]:
                parts = PARTS if added == "noise" else ("off", "auto")
                keys += [(name, order, added, part) for part in parts]
    return keys


def interval(differences, rng):
    """Return the mean and its 95 % interval by bootstrap, in points."""
    d = 100.0 * np.array(differences)
    means = d[rng.integers(0, len(d), (2000, len(d)))].mean(axis=1)
    return f"{d.mean():+6.2f} [{np.quantile(means, 0.025):+.2f}, {np.quantile(means, 0.975):+.2f}]"


def print_table(records):
    """Print one line for each data set, kind of columns and part."""
    runs = {(r["set"], r["order"], r["added"], r["part"]): r for r in records}
    rng = np.random.default_rng(0)
    for name, added, part in dict.fromkeys((k[0], k[2], k[3]) for k in runs):
        own = [k for k in runs if (k[0], *k[2:]) == (name, added, part)]
        pa, ap, ms = (
            np.nanmean([np.nan if runs[k][what] is None else runs[k][what] for k in own])
            for what in ("pa", "ap", "row_ms")
        )
        line = f"{name:21} {added:11} {part:10} {len(own)} {pa:.4f} {ap:.4f} {ms:5.2f} ms"
        for added_to, of in (("nothing", "off"), (added, "off")):
            pairs = [(runs[k], runs.get((name, k[1], added_to, of))) for k in own]
            if all(other for _, other in pairs):
                for what in ("pa", "ap"):
                    line += f" | {interval([a[what] - b[what] for a, b in pairs], rng)}"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="sets or scenes; all without")
    parser.add_argument("--quick", action="store_true", help="one order")
    given = parser.parse_args()
    have = {(r["set"], r["order"], r["added"], r["part"]) for r in read(OUT)}
    for key in all_keys(given.quick):
        name, order, added, part = key
        if key in have or (given.names and name not in given.names):
            continue
        ds = draw_scene(name, order) if name in SCENES else load(name, order)
        X = add_columns(ds.X, added, np.random.default_rng(1000 + order))
        ds = datasets.from_arrays(X, ds.Y, n_initial=ds.n_initial)
        record = {"set": name, "order": order, "added": added, "part": part} | run(ds, part)
        append(OUT, [record])
    print_table(read(OUT))


if __name__ == "__main__":
    main()
