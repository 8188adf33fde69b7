"""Parameters chosen on the initial part, for every set and model.

EFC-ML: the whole grid, cross-validated over contiguous folds (`efcml.tuning.tune`). Its least
squares alone and its static copy take over what was chosen. One-versus-rest and the chain: a small
grid on one split of the initial part, which is made of runs like all others and kept with them.
"""

import hashlib
import json
from dataclasses import asdict

import efcml
from efcml.studies import provenance
from efcml.support.folders import replacing
from efcml.tuning import tune
from efcml_paper.runs import make_run
from efcml_paper.scale import LARGE

RIVALS = ("ovr", "chain")
SHOWN = 5  # best points that are kept
SEARCH = "0.1.0"  # the version in which searches were last changed


def tune_sets(sets, scale, folder, workers, *, say=print):
    """Choose EFC-ML's parameters for the sets that have no choice yet."""
    choices = read_choices(folder)
    for name in sets:
        if name in choices and choices[name]["fingerprint"] == task_of(name, scale):
            continue
        choices[name] = tune_set(name, scale, folder, workers, say)
        write_choices(folder, choices)
    return choices


def tune_set(name, scale, folder, workers, say):
    """Search the grid on the initial part of a set and return the choice."""
    run = make_run(name, limits=limits_of(name, scale))
    X, Y = run.rows().initial
    grid, folds = grid_of(name, scale), scale.folds
    say(f"tuning on {len(X)} initial rows of {name}: {len(grid)} points, {folds} folds")
    checkpoints = folder.parent / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    found = task_of(name, scale)
    result = tune(
        X,
        Y,
        grid=grid,
        folds=folds,
        jobs=workers.jobs,
        dask=workers.dask,
        checkpoint=checkpoints / f"{name}-{found}.jsonl",
    )
    points = sorted(result.rows(), key=lambda point: (-point["pa"], -point["ap"]))
    say(f"  {name}: {result!r}")
    return {
        "fingerprint": found,
        "version": efcml.__version__,
        "method": provenance.method(),
        "rows": len(X),
        "folds": folds,
        "points": len(grid),
        "parameters": result.best_params,
        "pa": result.best_pa,
        "ap": result.best_ap,
        "best": points[:SHOWN],
    }


def task_of(name, scale):
    """Return a short text that stands for a search: method, data, rows and grid."""
    run = make_run(name, limits=limits_of(name, scale))
    facts = [SEARCH, provenance.method(), run.data, run.key, scale.folds]
    facts.append(asdict(grid_of(name, scale)))
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def grid_of(name, scale):
    """Return the grid that is searched on a set."""
    return scale.large_grid if name == LARGE else scale.grid


def limits_of(name, scale):
    """Return which rows the search may use."""
    return (scale.large_grid_rows, None) if name == LARGE else scale.limits


def read_choices(folder):
    """Return what was chosen, by set."""
    path = folder / "tuned.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_choices(folder, choices):
    """Keep what was chosen."""
    with replacing(folder / "tuned.json") as file:
        file.write((json.dumps(dict(sorted(choices.items())), indent=1) + "\n").encode())


# -- one rule base per label ----------------------------------------------------------------


def rival_searches(name, model, scale):
    """Return the runs inside the initial part by which a rival's parameters are chosen."""
    return [
        make_run(
            name,
            model,
            limits=scale.limits,
            start="inside",
            vigilance=vigilance,
            **scale.rival_parameters,
            **sparsity(alpha),
        )
        for vigilance in scale.rival_vigilances
        for alpha in scale.rival_alphas
    ]


def sparsity(alpha):
    """Return the parameters that switch on L1, which least squares alone do not have."""
    return {"alpha": alpha, "correlation": "shift"} if alpha > 0.0 else {}


def choose_rival(name, model, scale, records):
    """Return the parameters with the highest PA, AP breaks ties; None if a run is missing."""
    found = [(run, records.of(run)) for run in rival_searches(name, model, scale)]
    if any(record is None for _, record in found):
        return None
    best, _ = max(found, key=lambda item: (item[1]["pa"], item[1]["ap"]))
    return dict(best.parameters)


def tuned_parameters(name, model, scale, choices, records):
    """Return the tuned parameters of a model on a set, or None if they are not chosen yet."""
    if model in RIVALS:
        return choose_rival(name, model, scale, records)
    if name not in choices:
        return None
    chosen = choices[name]["parameters"]
    if model == "rfwls":
        chosen = {key: chosen[key] for key in chosen if key not in ("alpha", "beta")}
    return chosen
