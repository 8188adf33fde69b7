"""What do vigilance, alpha and beta decide, and does the short grid of `efcml tune` miss it?

``python experiments/decisions/short_grid.py``. A wide grid over five folds of some hundred initial
rows; the record, ``experiments/results/decisions/short-grid.jsonl``, has every point. Printed: the
best PA by each value alone, and what the short grid finds.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from efcml import datasets
from efcml.model.params import Params
from efcml.studies.provenance import method
from efcml.tuning import SHORT_GRID, Grid, TuningResult, tune

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "short-grid.jsonl"
SETS = {"emotions": 391, "water-quality": 400, "drifting-clusters": 300}  # last initial rows
KEYS = ("vigilance", "alpha", "beta")
WIDE = Grid(
    vigilance=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2),
    alpha=(0.0, 0.025, 0.1, 0.5, 1.0, 5.0),
    beta=(0.0, 0.1, 1.0, 5.0, 10.0, 50.0, 100.0),
)


def search(name, rows):
    X, Y = datasets.load(name).initial
    result = tune(X[-rows:], Y[-rows:], grid=WIDE, jobs=2, say=print)
    facts = {"set": name, "rows": rows, "method": method()}
    return facts | json.loads(result.to_json())


def show(name, result):
    points = result.rows()
    print(f"{name}: best {result!r}")
    for key in KEYS:
        values = {
            value: max(p["pa"] for p in points if p[key] == value) for value in getattr(WIDE, key)
        }
        print(f"  {key}: " + ", ".join(f"{value:g} {pa:.4f}" for value, pa in values.items()))
    short = [p for p in points if is_in(SHORT_GRID, p)]
    best = max(short, key=lambda p: (p["pa"], p["ap"]))
    usual = next(p for p in points if all(p[key] == getattr(Params, key) for key in KEYS))
    print(
        f"  short grid {best['pa']:.4f} at {[best[key] for key in KEYS]}, defaults"
        f" {usual['pa']:.4f}"
    )


def is_in(grid, point):
    return all(point[key] in getattr(grid, key) for key in KEYS)


if __name__ == "__main__":
    if not RESULTS.exists():
        lines = [json.dumps(search(*one)) + "\n" for one in SETS.items()]
        RESULTS.write_text("".join(lines))
    for line in RESULTS.read_text().splitlines():
        record = json.loads(line)
        show(record["set"], TuningResult.from_json(line))
