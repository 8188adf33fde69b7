"""The default on the four small sets: initial part fitted, rest test-then-train, file order.

``python experiments/default_scores.py`` writes ``docs/results/defaults.json``, from which the table
of the README is made (``make docs-tables``).
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from inside import SETS

import efcml
from efcml import EFCMLClassifier, datasets, prequential

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "defaults.json"

if __name__ == "__main__":
    efcml.warmup()
    table = {}
    for name in SETS:
        ds = datasets.load(name)
        clf = EFCMLClassifier().fit(*ds.initial)
        result = prequential(clf, *ds.stream)
        table[name] = {
            "pa": result.pa, "ap": result.ap, "rules": clf.n_rules_,
            "counts": clf.learner_.counts, "prior": float(clf.learner_.prior_precision[0]),
            "ms_per_sample": 1e3 * result.seconds_per_sample, "version": efcml.__version__,
            "parameters": clf.get_params(),
        }  # fmt: skip
        print(f"{name:14} {result}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(table, indent=2) + "\n")
