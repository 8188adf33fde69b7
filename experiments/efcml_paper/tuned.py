"""EFC-ML's parameters, chosen on the initial part of every set and kept in a file.

The whole grid is cross-validated over contiguous folds (`efcml.tuning.tune`). As in the paper the
point with the highest partial accuracy is taken, also if others cannot be told apart from it;
average precision breaks ties. Its least squares alone and its static copy take over what was
chosen; rivals are chosen by runs (`plan`).
"""

import hashlib
import json
import math

import numpy as np

import efcml
from efcml.studies import provenance
from efcml.support.files import make_folder, replacing
from efcml.support.progress import is_watched
from efcml.tuning import tune
from efcml_paper.runs import make_run
from efcml_paper.scale import LARGE

SHOWN = 5  # best points that are kept
SEARCH = "0.2.0"  # the version in which searches were last changed


def tune_sets(sets, scale, folder, workers, *, say=print):
    """Choose EFC-ML's parameters for the sets that have no choice yet."""
    choices = read_choices(folder)
    for name in sets:
        large = name == LARGE
        grid = scale.large_grid if large else scale.grid
        run = make_run(name, limits=(scale.large_grid_rows, None) if large else scale.limits)
        # What stands for a search: method, data, rows and grid.
        facts = [SEARCH, provenance.method(), run.data, run.key, scale.folds]
        text = json.dumps([*facts, grid])
        task = hashlib.sha256(text.encode()).hexdigest()[:12]
        if choices.get(name, {}).get("fingerprint") == task:
            continue
        checkpoint = folder.parent / "checkpoints" / f"{name}-{task}"
        found = search(run, grid, scale.folds, workers, checkpoint, say)
        choices[name] = {"fingerprint": task} | found
        with replacing(folder / "tuned.json") as file:
            file.write((json.dumps(dict(sorted(choices.items())), indent=1) + "\n").encode())
    return choices


def search(run, grid, folds, workers, checkpoint, say):
    """Search a grid on the initial part of a run and return what is kept of it."""
    X, Y = run.rows().initial
    name, n, size = run.dataset, len(X), math.prod(map(len, grid.values()))
    say(f"tuning on {n} initial rows of {name}: {size} points, {folds} folds")
    make_folder(checkpoint.parent)
    progress = None if is_watched() else say  # in a log, a line now and then
    options = {"grid": grid, "folds": folds, "checkpoint": checkpoint, "progress": progress}
    result = tune(X, Y, **options, **workers)
    say(f"  {name}: {result!r}")
    # The default is tried, too, and may be another point than those of the grid.
    inside = [row for row in result.rows if all(row[key] in grid[key] for key in grid)]
    points = sorted(inside, key=lambda row: (-row["pa"], -np.nan_to_num(row["ap"])))
    return {
        "version": efcml.__version__,
        "method": provenance.method(),
        "rows": n,
        "folds": folds,
        "points": size,
        "parameters": {name: points[0][name] for name in grid},
        "pa": points[0]["pa"],
        "ap": points[0]["ap"],
        "tied": sum(row["tied"] for row in result.rows),
        "best": points[:SHOWN],
    }


def read_choices(folder):
    """Return what was chosen, by set."""
    path = folder / "tuned.json"
    return json.loads(path.read_text()) if path.exists() else {}
