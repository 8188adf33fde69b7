"""Do the features that a rule names matter more than others? (docs/reading.md)

``python experiments/decisions/named_features.py``. On the rows that a rule wins, the named features
get the values of other rows, taken together; then as many others do. The record, one line per rule,
is ``experiments/results/decisions/named-features.jsonl``; it is made anew. Models have the default
parameters and have learned their whole set: this is about what a model says of itself.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import efcml
from efcml import EFCMLClassifier, datasets
from efcml.studies.provenance import method

SETS = ("emotions", "water-quality", "yeast", "drifting-clusters", "stationary-clusters")
MOST_ROWS, LEAST_ROWS = 200, 10  # that a rule must win to be judged
DRAWS, OTHER_DRAWS = 8, 24


def exchange(X, rows, columns, rng):
    """Return rows with some columns of other rows, each time of one row."""
    changed = X[rows].copy()
    changed[:, columns] = X[rng.integers(len(X), size=len(rows))][:, columns]
    return changed


def moves(clf, X, rows, place, columns, rng):
    """Return the activation that a rule loses at some rows, and the share of decisions turned."""
    changed = exchange(X, rows, columns, rng)
    before, after = clf.activations(X[rows])[:, place], clf.activations(changed)[:, place]
    turned = clf.predict(X[rows]) != clf.predict(changed)
    return (before - after).mean(), turned.mean()


def columns_of(rule):
    """Return the columns of the things that a rule names in its IF part, and in all its lines."""
    variables = rule.background.columns.variables
    places = {variable.name: variable.columns for variable in variables}
    condition = [j for term in rule.terms for j in places[term.feature]]
    planes = [j for i in rule.sparse.blocks for j in variables[i].columns]
    return condition, sorted({*condition, *planes})


def judge(clf, X, rng):
    """Yield one record per rule that names something and wins enough rows."""
    winners = clf.activations(X).argmax(axis=1)
    for place, rule in enumerate(clf.rules_):
        rows = np.flatnonzero(winners == place)
        rows = rng.permutation(rows)[:MOST_ROWS]
        condition, every = columns_of(rule)
        if len(rows) < LEAST_ROWS or not condition:
            continue
        record = {"rule": rule.uid, "rows": len(rows), "terms": len(rule.terms)}
        for what, columns, which in (("activation", condition, 0), ("decisions", every, 1)):
            rest = np.setdiff1d(np.arange(X.shape[1]), columns)
            size = min(len(columns), len(rest))
            others = [
                rng.choice(rest, size, replace=False) for _ in range(OTHER_DRAWS * (size > 0))
            ]
            named = [moves(clf, X, rows, place, columns, rng)[which] for _ in range(DRAWS)]
            other = [moves(clf, X, rows, place, some, rng)[which] for some in others]
            record[what] = [float(np.mean(named)), float(np.mean(other)) if other else None]
        yield record


def main():
    """Judge all sets and write the record."""
    out = Path(__file__).parents[1] / "results" / "decisions" / "named-features.jsonl"
    with out.open("w") as file:
        for name in SETS:
            ds = datasets.load(name)
            clf = EFCMLClassifier().fit(*ds.initial).partial_fit(*ds.stream)
            origin = {"set": name, "version": efcml.__version__, "method": method()}
            for record in judge(clf, ds.X, np.random.default_rng(0)):
                file.write(json.dumps(origin | record) + "\n")
                print(name, record, flush=True)


if __name__ == "__main__":
    main()
