"""The search itself: tasks to a backend, records to a file, scores to a result."""

from dataclasses import fields

import numpy as np

from efcml.params import Params, check_whole
from efcml.progress import progress_bar
from efcml.tuning.backends import run_dask, run_local
from efcml.tuning.grid import PAPER_GRID
from efcml.tuning.record import Record, fingerprint
from efcml.tuning.result import TuningResult
from efcml.tuning.task import make_tasks
from efcml.warm import warmup

MAX_RULES = 40  # of every point, so that low vigilances end


def tune(X, Y, *, grid=PAPER_GRID, folds=5, params=None, jobs=1, dask=None, checkpoint=None,
         progress=None):  # fmt: skip
    """Choose vigilance, alpha and beta by cross-validation over contiguous folds.

    Each fold is held out once: the other rows are fitted, the fold is a stream, test-then-train.
    The point with the highest partial accuracy over all held-out rows is chosen; average precision
    breaks ties. Give the initial part of a data set only, never the stream that is scored.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Finite features.
    Y : array-like of shape (n, K)
        Labels 0 or 1. With unknown labels (NaN) every point runs alone, which takes much longer.
    grid : Grid
        What is searched; the 1360 points of the paper if not given.
    folds : int
        Number of folds, each a run of neighbouring rows.
    params : dict, optional
        Other parameters of ``EFCMLClassifier``; ``max_rules`` is 40 if not given.
    jobs : int
        Processes on this machine; -1 for one on every core.
    dask : str or distributed.Client, optional
        A Dask cluster that runs the tasks instead; its workers need efcml.
    checkpoint : path, optional
        A file that keeps what is done. With the same file the search goes on where it ended.
    progress : bool, optional
        Whether to show a progress bar; None shows it on a terminal and in a notebook.

    Returns
    -------
    TuningResult

    Examples
    --------
    >>> from efcml import datasets
    >>> from efcml.tuning import Grid, tune
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=200)
    >>> grid = Grid(vigilance=[0.5, 0.9], alpha=[0.0], beta=[0.0, 1.0])
    >>> result = tune(*ds.initial, grid=grid, folds=2)
    >>> sorted(result.best_params)
    ['alpha', 'beta', 'max_rules', 'vigilance']
    """
    given = {"max_rules": MAX_RULES} | dict(params or {})
    X, Y = check_rows(X, Y, folds)
    settings = check_params(given)
    record = Record(checkpoint, fingerprint(X, Y, settings, grid, folds))
    tasks = [task for task in make_tasks(grid, len(X), folds) if task.key not in record.lines]
    rest = settings, grid.pairs, X, Y
    if tasks and dask is None:
        warmup()  # compile once, not in every process
    records = run_local(tasks, jobs, *rest) if dask is None else run_dask(tasks, dask, *rest)
    total, done = len(tasks) + len(record.lines), len(record.lines)
    with progress_bar(total, "tuning", unit="pass", show=progress, initial=done) as bar:
        for line in records:
            record.add(line)
            bar.update(1)
    return TuningResult.from_lines(grid, record.lines.values(), given)


def check_params(given):
    """Return the parameters, or refuse names that are unknown or belong to the grid."""
    allowed = {field.name for field in fields(Params)} - {"vigilance", "alpha", "beta"}
    for name in given:
        if name not in allowed:
            raise ValueError(
                f"params has {name!r}: give parameters of EFCMLClassifier other than vigilance,"
                " alpha and beta, which are searched."
            )
    return Params(**given)


def check_rows(X, Y, folds):
    """Return X and Y as float64 in C order, or say what is wrong with them."""
    X, Y = (np.ascontiguousarray(table, dtype=np.float64) for table in (X, Y))
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or 0 in (*X.shape, *Y.shape):
        raise ValueError(
            f"X has shape {X.shape} and Y has shape {Y.shape}: give two tables with one row for"
            " every sample."
        )
    if not np.isfinite(X).all():
        raise ValueError("X has missing or infinite values: fill or drop them.")
    if not ((Y == 0.0) | (Y == 1.0) | np.isnan(Y)).all():
        raise ValueError("Y has values other than 0, 1 and NaN.")
    check_whole("folds", folds, least=2)
    if folds > len(X):
        raise ValueError(f"folds is {folds} for {len(X)} rows: choose fewer folds.")
    return X, Y
