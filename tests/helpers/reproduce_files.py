"""Tiny data sets, a tiny scale and made-up records for the tests of the experiments."""

import zlib
from functools import cache
from itertools import product

import numpy as np

from efcml import datasets
from efcml.studies import provenance
from efcml.tuning import TuningResult
from efcml_paper import runs
from efcml_paper.run_records import pack, pack_shares
from efcml_paper.scale import Scale
from efcml_paper.work import curve_points, identity

N_ROWS, N_INITIAL, N_FEATURES, N_LABELS = 40, 20, 2, 3
TINY_GRID = {"vigilance": [0.5], "alpha": [0.0], "beta": [0.0, 0.1]}
TINY = Scale(
    orders=(0, 1),
    more_orders=(0, 1),
    alone_orders=(0,),
    limits=(None, 12),
    grid=TINY_GRID,
    folds=2,
    rival_vigilances=(0.3, 0.6),
    wide_rival_vigilances=(0.3, 0.6),
    rival_alphas=(0.0, 0.05),
    rival_parameters={"max_rules": 2, "prior": 1.0},
    large_grid=TINY_GRID,
    large_grid_rows=15,
    large_limits=(None, 15),
    large_speed_limits=(10, 5),
)
MADE = cache(provenance.made_by)


def tiny_set(name, *, seed=0, n=N_ROWS, n_initial=N_INITIAL, **sizes):
    """Return a small data set of any name; one of its samples has no label."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    X = rng.normal(size=(n, N_FEATURES))
    Y = (X @ rng.normal(size=(N_FEATURES, N_LABELS)) + 0.3 * rng.normal(size=(n, N_LABELS))) > 0
    Y[-3] = False
    names = [f"x{i}" for i in range(N_FEATURES)], [f"label{i}" for i in range(N_LABELS)]
    return datasets.Dataset(name, X, Y.astype(float), n_initial, *names)


def use_tiny_sets(monkeypatch, *, method="m1"):
    """Let all data sets be tiny, and the method not be found out by learning."""
    monkeypatch.setattr(datasets, "load", tiny_set)
    runs.load_data.cache_clear(), runs.key_of.cache_clear()
    monkeypatch.setattr(provenance, "method", lambda: method)


def made_up(run):
    """Return a record of a run that was never done; the numbers depend on the run alone."""
    n_rows = len(run.rows().stream[0])
    rng = np.random.default_rng(zlib.crc32(run.key.encode()))
    right, ap = rng.integers(0, N_LABELS + 1, n_rows), rng.random(n_rows)
    ap[-1] = np.nan
    return identity(run, MADE() | {"method": provenance.method()}) | {
        "labels": N_LABELS,
        "pa": right.mean() / N_LABELS,
        "ap": float(np.nanmean(ap)),
        "rules": int(rng.integers(1, 200)),
        "most_rules": 200,
        "births": 3,
        "merges": 2,
        "drops": 0,
        "asked": 1.0 if run.asking is None else run.asking.budget,
        "diverged": False,
        "ms_per_sample": float(rng.random() + 0.1),
        "seconds": 0.1,
        "right": pack(right, "u1"),
        "ap_rows": pack_shares(ap) if run.keeps_ap else None,
        "curve": pack(rng.integers(1, 30, len(curve_points(n_rows))), "u2"),
    }


def keep_made_up(runs, records, workers, progress=None):
    """Stand in for `efcml_paper.work.run_study`."""
    records.add(map(made_up, runs))


def search_nothing(X, Y, *, grid, **rest):
    """Stand in for `efcml.tuning.tune`."""
    scores = {"pa": 0.8, "ap": 0.7, "rules": 3.0, "gain": 0.0, "low": 0.0, "high": 0.0}
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    rows = tuple(point | scores | {"tied": True} for point in reversed(points))
    return TuningResult(tuple(grid), "pa", rows)
