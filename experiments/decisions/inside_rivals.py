"""One global plane, and the same on Fourier features, inside the initial parts.

``python experiments/decisions/inside_rivals.py``. Same sets, orders and starts as the last stages
of the search for the defaults (`defaults.py`), so that the default can be held against them. The
record is ``experiments/results/decisions/inside-rivals.jsonl``; a second call only adds what is
missing.
"""

from pathlib import Path

import numpy as np
from inside import MORE_ORDERS, run_models

from efcml_paper.simple_models import make_model

OUT = Path(__file__).parents[1] / "results" / "decisions" / "inside-rivals.jsonl"
MODELS = ("rls", "rff")
SHARES = (0.5, 0.75)

if __name__ == "__main__":
    models = {name: make_model(name) for name in MODELS}
    for share in SHARES:
        records = run_models(models, OUT, MORE_ORDERS, share, word="model")
        for model in MODELS:
            rows = [r for r in records if r["model"] == model and r["share"] == share]
            pa, ap = np.mean([[r["pa"], r["ap"]] for r in rows], axis=0)
            print(f"{model} {share:.0%} fitted: PA {pa:.4f}, AP {ap:.4f}, mean {(pa + ap) / 2:.4f}")
