"""Does any (alpha, beta) of the paper's grid make the default diverge?

``python experiments/decisions/grid.py``. All 80 pairs in the three convex modes on the four small
sets: 200 rows fitted, the next 150 learned. The record,
``experiments/results/decisions/grid.jsonl``, has the largest weight and score of every run.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from inside import SETS
from joblib import Parallel, delayed

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.studies.provenance import method

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "grid.jsonl"
ALPHAS = (0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0)
BETAS = (0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
MODES = ("shift", "laplacian", "signed")
FIT, STREAM = 200, 150


def run(name, mode):
    """Return the records of all pairs on one set in one mode."""
    ds = datasets.load(name)
    records = []
    for alpha in ALPHAS:
        for beta in BETAS:
            clf = EFCMLClassifier(alpha=alpha, beta=beta, correlation=mode, prior=10.0)
            clf.fit(ds.X[:FIT], ds.Y[:FIT])
            result = prequential(clf, ds.X[FIT : FIT + STREAM], ds.Y[FIT : FIT + STREAM])
            rules = clf.learner_.rules
            records.append(
                {
                    "set": name,
                    "correlation": mode,
                    "alpha": alpha,
                    "beta": beta,
                    "version": efcml.__version__,
                    "method": method(),
                    "largest_weight": float(np.abs(rules.W).max()),
                    "largest_score": float(np.abs(result.scores).max()),
                    "pa": result.pa,
                    "rules": clf.n_rules_,
                    "stopped": int((rules.stopped > 0).sum()),
                }
            )
    return records


if __name__ == "__main__":
    efcml.warmup()
    work = (delayed(run)(name, mode) for name in SETS for mode in MODES)
    records = [r for part in Parallel(n_jobs=2)(work) for r in part]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("".join(json.dumps(r) + "\n" for r in records))
    for name in SETS:
        rows = [r for r in records if r["set"] == name]
        print(
            f"{name:14} {len(rows)} runs, "
            f"largest |W| {max(r['largest_weight'] for r in rows):.3g}, "
            f"largest score {max(r['largest_score'] for r in rows):.3g}, "
            f"stopped {sum(r['stopped'] for r in rows)}"
        )
