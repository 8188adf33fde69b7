"""A search over (vigilance, alpha, beta): wide passes against one classifier per point, one run.

Both ways search the same sub-grid of the paper's grid on the same rows and must agree: one fold of
the initial part of emotions is held out, the rest is fitted, the fold is a stream. Compilation is
not counted. Then the search that `efcml tune` does by default. ``--full`` runs the paper's whole
grid, 5 folds, two processes, and tells the minutes.
Usage: ``python experiments/benchmarks/tuning_speed.py [--out FILE] [--full]``.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import efcml
from efcml import EFCMLClassifier, datasets, measures, prequential
from efcml.studies.provenance import method
from efcml.tuning import PAPER_GRID, SHORT_GRID, Grid, tune
from efcml.tuning.task import make_tasks, run_task

VIGILANCES = (0.2, 0.6)
# What depends on the penalties a little, or is left out of a wide pass (docs/tuning.md).
ALIKE = {"forgetting": 1.0, "caution": False, "time": False}
FOLDS, FOLD = 5, 2  # the middle one is held out
WANTED_RATIO, WANTED_MINUTES = 10.0, 8.0


def search_wide(grid, X, Y):
    """Return seconds, right decisions and summed AP of every point, in wide passes."""
    params = EFCMLClassifier(**ALIKE).begin_stream(X, Y)[0].params
    tasks = [task for task in make_tasks(grid, len(X), FOLDS) if task.fold == FOLD]
    begin = time.perf_counter()
    lines = [run_task(task, params, grid.pairs, X, Y) for task in tasks]
    seconds = time.perf_counter() - begin
    return seconds, [line["right"] for line in lines], [line["ap"] for line in lines]


def search_by_points(grid, X, Y):
    """Return the same from one classifier for every point."""
    start, stop = (len(X) * fold // FOLDS for fold in (FOLD, FOLD + 1))
    rest = np.r_[:start, stop : len(X)]
    seconds, right, ap, rules = 0.0, [], [], []
    for vigilance in grid.vigilance:
        for alpha, beta in grid.pairs:
            begin = time.perf_counter()
            clf = EFCMLClassifier(vigilance=vigilance, alpha=alpha, beta=beta, **ALIKE).fit(
                X[rest], Y[rest]
            )
            result = prequential(clf, X[start:stop], Y[start:stop])
            seconds += time.perf_counter() - begin
            right.append(int(((result.scores >= 0.5) == result.Y).sum()))
            ap.append(np.nansum(measures.average_precision_rows(result.Y, result.scores)))
            rules.append(clf.n_rules_)
    shape = len(grid.vigilance), len(grid.pairs)
    return seconds, np.reshape(right, shape), np.reshape(ap, shape), np.reshape(rules, shape)


def compare(grid, X, Y):
    """Time both ways; the wide one before and after, as the machine may have got slower."""
    first, right, ap = search_wide(grid, X, Y)
    points, points_right, points_ap, rules = search_by_points(grid, X, Y)
    second, *_ = search_wide(grid, X, Y)
    wide = 0.5 * (first + second)
    return {
        "rows": len(X),
        "vigilance": grid.vigilance,
        "pairs": len(grid.pairs),
        "held_out_fold": FOLD,
        "rules": rules[:, 0].tolist(),
        "wide_seconds": [first, second],
        "points_seconds": points,
        "ratio": points / wide,
        "wanted": WANTED_RATIO,
        "points_with_other_decisions": int((points_right != np.array(right)).sum()),
        "largest_difference_of_ap": float(np.abs(points_ap - np.array(ap)).max()),
    }


def search_short(X, Y):
    """Run the search of the default, in one process, and return its seconds."""
    begin = time.perf_counter()
    tune(X, Y)
    seconds = time.perf_counter() - begin
    return {"points": len(SHORT_GRID), "folds": 5, "jobs": 1, "seconds": seconds}


def search_all(X, Y):
    """Run the whole search and return its minutes and what it chose."""
    begin = time.perf_counter()
    result = tune(X, Y, grid=PAPER_GRID, jobs=2)
    minutes = (time.perf_counter() - begin) / 60.0
    return {
        "points": len(PAPER_GRID),
        "folds": 5,
        "jobs": 2,
        "minutes": minutes,
        "wanted": WANTED_MINUTES,
        "best_params": result.best_params,
        "pa": result.best_pa,
        "ap": result.best_ap,
    }


def main():
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--full", action="store_true", help="also the whole grid, some minutes")
    parser.add_argument("--quick", action="store_true", help="few pairs, to try the program")
    arguments = parser.parse_args()
    X, Y = (np.ascontiguousarray(table, dtype=float) for table in datasets.load("emotions").initial)
    pairs = (PAPER_GRID.alpha, PAPER_GRID.beta)
    if arguments.quick:
        pairs = (PAPER_GRID.alpha[:2], PAPER_GRID.beta[:2])
    efcml.warmup()
    record = {
        "method": method(),
        "efcml": efcml.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "data": "emotions, initial part",
        "parameters": ALIKE,
        "sub_grid": compare(Grid(VIGILANCES, *pairs), X, Y),
        "short": search_short(X, Y),
    }
    part = record["sub_grid"]
    print(
        f"{len(VIGILANCES)} vigilances x {part['pairs']} pairs, one fold: wide"
        f" {np.mean(part['wide_seconds']):.1f} s, point by point {part['points_seconds']:.1f} s,"
        f" ratio {part['ratio']:.1f} (wanted {WANTED_RATIO:g})"
    )
    print(f"{record['short']['points']} points, 5 folds: {record['short']['seconds']:.1f} s")
    if arguments.full:
        record["full"] = search_all(X, Y)
        print(f"whole grid: {record['full']['minutes']:.1f} minutes (wanted {WANTED_MINUTES:g})")
        print(record["full"]["best_params"])
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
