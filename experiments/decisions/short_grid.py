"""What do vigilance, alpha and beta decide, and does the short grid of `efcml tune` miss it?

``python experiments/decisions/short_grid.py``. A wide grid, which holds the short one, over five
folds of some hundred initial rows; then the defaults, and what either grid chose, on the rows that
follow, test-then-train. The record, ``experiments/results/decisions/short-grid.jsonl``, has every
point. Printed: the best PA by each value alone, and what was chosen.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from efcml import EFCMLClassifier, datasets, prequential
from efcml.model.params import Params
from efcml.studies.provenance import method
from efcml.tuning import SHORT_GRID, Grid, TuningResult, tune

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "short-grid.jsonl"
SETS = {"emotions": 391, "water-quality": 400, "drifting-clusters": 300}  # last initial rows
KEYS = ("vigilance", "alpha", "beta")
WIDE = Grid(
    vigilance=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.7, 2.5),
    alpha=(0.0, 0.025, 0.1, 0.5, 1.0, 5.0),
    beta=(0.0, 0.1, 1.0, 5.0, 10.0, 50.0, 100.0),
)


def search(name, rows):
    """Return the record of a set: all points of the wide grid, and three of them on later rows."""
    ds = datasets.load(name)
    X, Y = (part[-rows:] for part in ds.initial)
    result = tune(X, Y, grid=WIDE, jobs=2, say=print)
    points = chosen(result.rows())
    for point in points.values():
        clf = EFCMLClassifier(**{key: point[key] for key in KEYS}).fit(X, Y)
        point["pa_later"] = prequential(clf, *ds.stream).pa
    facts = {"set": name, "rows": rows, "method": method(), "points": points}
    return facts | json.loads(result.to_json())


def chosen(points):
    """Return the point of the defaults and the best of either grid; AP breaks ties."""
    grids = {"short grid": SHORT_GRID, "wide grid": WIDE}
    best = {
        title: max(
            (p for p in points if is_in(grid, p)), key=lambda point: (point["pa"], point["ap"])
        )
        for title, grid in grids.items()
    }
    usual = next(p for p in points if all(p[key] == getattr(Params, key) for key in KEYS))
    return {title: dict(point) for title, point in ({"defaults": usual} | best).items()}


def is_in(grid, point):
    """Tell whether a grid has a point."""
    return all(point[key] in getattr(grid, key) for key in KEYS)


def show(record):
    """Print the best PA by each value alone, and what was chosen."""
    points = TuningResult.from_json(json.dumps(record)).rows()
    print(f"{record['set']}, {record['rows']} rows")
    for key in KEYS:
        values = {
            value: max(p["pa"] for p in points if p[key] == value) for value in getattr(WIDE, key)
        }
        print(f"  {key}: " + ", ".join(f"{value:g} {pa:.4f}" for value, pa in values.items()))
    for title, point in record["points"].items():
        where = [point[key] for key in KEYS]
        print(f"  {title}: {where}, PA {point['pa']:.4f}, later {point['pa_later']:.4f}")


if __name__ == "__main__":
    if not RESULTS.exists():
        lines = [json.dumps(search(*one)) + "\n" for one in SETS.items()]
        RESULTS.write_text("".join(lines))
    for line in RESULTS.read_text().splitlines():
        show(json.loads(line))
