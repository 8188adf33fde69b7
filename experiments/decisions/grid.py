"""Does any (alpha, beta) of the paper's grid make the default diverge?

``python experiments/decisions/grid.py``. All 80 pairs in the three convex modes on the four small
sets: 200 rows fitted, the next 150 learned. The record,
``experiments/results/decisions/grid.jsonl``, has the largest score of every run, and whether
a rule was stopped.
"""

import json
from pathlib import Path

import numpy as np
from inside import SETS

import efcml
from efcml import EFCMLClassifier, Study, datasets
from efcml.studies.provenance import method

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "grid.jsonl"
AXES = {
    "correlation": ("shift", "laplacian", "signed"),
    "alpha": (0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0),
    "beta": (0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0),
}
FIT, STREAM = 200, 150


def first_rows(name):
    """Return the rows of a set that are fitted and learned."""
    ds, rows = datasets.load(name), slice(FIT + STREAM)
    return datasets.from_arrays(ds.X[rows], ds.Y[rows], n_initial=FIT)


def note(clf, result):
    """Return what would show that a run diverged."""
    largest = float(np.abs(result.scores).max())
    return {"largest_score": largest, "pa": result.pa, "rules": clf.n_rules_}


def run(sets=SETS, axes=AXES, jobs=2):
    """Return the records of all pairs in all modes."""
    models = Study.vary(EFCMLClassifier(prior=10.0), **axes)
    study = Study(models, {name: first_rows(name) for name in sets}, orders=1, note=note).run(jobs)
    made_by = {"version": efcml.__version__, "method": method()}
    return [
        {"set": name}
        | {axis: getattr(model, axis) for axis in axes}
        | made_by
        | study.noted(line, name)
        | {"stopped": "DivergenceWarning" in str(study.facts(line, name, 0)["warnings"])}
        for name in sets
        for line, model in models.items()
    ]


if __name__ == "__main__":
    records = run()
    RESULTS.write_text("".join(json.dumps(r) + "\n" for r in records))
    for name in SETS:
        rows = [r for r in records if r["set"] == name]
        print(
            f"{name:14} {len(rows)} runs, "
            f"largest score {max(r['largest_score'] for r in rows):.3g}, "
            f"stopped {sum(r['stopped'] for r in rows)}"
        )
