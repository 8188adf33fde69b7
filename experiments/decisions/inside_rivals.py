"""One global plane, and the same on Fourier features, inside the initial parts.

``python experiments/decisions/inside_rivals.py``. Same sets, orders and starts as the last stages
of the search for the defaults (`defaults.py`), so that the default can be held against them. The
record is ``experiments/results/decisions/inside-rivals.jsonl``; a second call only adds what is
missing.
"""

import json
from pathlib import Path

import numpy as np
from inside import MORE_ORDERS, SETS, ordered_initial_part, read

import efcml
from efcml import prequential
from efcml.rivals import make_model
from efcml.studies.provenance import method

OUT = Path(__file__).parents[1] / "results" / "decisions" / "inside-rivals.jsonl"
MODELS = ("rls", "rff")
SHARES = (0.5, 0.75)


def run(model, name, order, share):
    """Return one record."""
    X, Y = ordered_initial_part(name, order)
    first = int(share * len(X))
    result = prequential(make_model(model).fit(X[:first], Y[:first]), X[first:], Y[first:])
    return {
        "model": model,
        "set": name,
        "order": order,
        "share": share,
        "pa": result.pa,
        "ap": result.ap,
        "version": efcml.__version__,
        "method": method(),
    }


def main():
    have = {(r["model"], r["set"], r["order"], r["share"]) for r in read(OUT)}
    with OUT.open("a") as file:
        for share in SHARES:
            for model in MODELS:
                for name in SETS:
                    for order in MORE_ORDERS:
                        if (model, name, order, share) not in have:
                            file.write(json.dumps(run(model, name, order, share)) + "\n")
    records = read(OUT)
    for share in SHARES:
        for model in MODELS:
            rows = [r for r in records if r["model"] == model and r["share"] == share]
            pa, ap = np.mean([[r["pa"], r["ap"]] for r in rows], axis=0)
            print(f"{model} {share:.0%} fitted: PA {pa:.4f}, AP {ap:.4f}, mean {(pa + ap) / 2:.4f}")


if __name__ == "__main__":
    main()
