"""CPU of a learned row of which features are missing, against the complete row, in turn.

The model is fitted to the complete initial part; it learns the same rows with a share of their
values taken out, and complete, one after the other, several times, and the least CPU counts. Usage:
``python experiments/benchmarks/gaps_speed.py [--out FILE]``.
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
from efcml.studies.provenance import machine, method

SETS = ("emotions", "water-quality", "yeast")
SHARES = (0.0, 0.05, 0.2, 0.5)  # of the values that are missing
TURNS = 5


def measure(name, turns):
    """Return the CPU milliseconds of a learned row, for each share of missing values."""
    ds = datasets.load(name)
    X, Y = ds.stream
    drawn = np.random.default_rng(1).random(X.shape)
    tables = {share: np.where(drawn < share, np.nan, X) for share in SHARES}
    model = EFCMLClassifier().fit(*ds.initial)
    least = dict.fromkeys(SHARES, float("inf"))
    for _ in range(turns):
        for share, rows in tables.items():
            learner = model.learner_.copy()
            start = time.process_time()
            learner.learn(rows, Y)
            least[share] = min(least[share], time.process_time() - start)
    return {"data": name, "rows": len(X), "features": X.shape[1]} | {
        f"{share:.0%}": 1e3 * seconds / len(X) for share, seconds in least.items()
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Measure what missing features cost.")
    parser.add_argument("--out", type=Path, help="write the figures there")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args(arguments)
    efcml.warmup()
    lines = []
    for name in SETS:
        lines.append(measure(name, given.turns))
        ratios = ", ".join(
            f"{key} {lines[-1][key] / lines[-1]['0%']:.2f}" for key in lines[-1] if "%" in key
        )
        print(f"{name}: {lines[-1]['0%']:.3f} ms; times that: {ratios}", flush=True)
    if given.out:
        record = {"efcml": efcml.__version__, "method": method(), "machine": machine()}
        given.out.write_text(json.dumps(record | {"lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
