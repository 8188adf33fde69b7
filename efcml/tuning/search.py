"""The search itself: tasks to a backend, records to a file, scores to a result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from efcml.support.checks import check_backend
from efcml.support.progress import in_words, progress_bar
from efcml.support.watch import busy, ticking
from efcml.tuning.fold_steps import check_pipeline_rows, own_params
from efcml.tuning.grid import SHORT_GRID
from efcml.tuning.inputs import check_folds, check_grid, check_rows
from efcml.tuning.search_record import SearchRecord, describe
from efcml.tuning.tuning_result import TuningResult

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Facts, PathLike
    from efcml.tuning.grid import Grid
    from efcml.tuning.task import Task

# What loads numba is imported when a search begins, behind a bar: it takes seconds.
STARTING = 3.0  # seconds until processes work


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; ``partial`` is a `TuningResult` of what was finished, or None."""

    def __init__(self, message: str, partial: TuningResult | None) -> None:
        super().__init__(message)
        self.partial = partial


def tune(
    X: ArrayLike | DataFrame,
    Y: ArrayLike | DataFrame,
    *,
    grid: Grid = SHORT_GRID,
    folds: int = 5,
    params: Mapping[str, Any] | None = None,
    pipeline: Any = None,
    jobs: int = 1,
    dask: Any = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
    say: Callable[[str], object] | None = None,
) -> TuningResult:
    """Choose vigilance, alpha and beta by cross-validation over contiguous folds.

    Each fold is held out once: the other rows are fitted, the fold is a stream, test-then-train.
    The point with the highest partial accuracy over all held-out rows is chosen; average precision
    breaks ties. Give the initial part of a data set only, never the stream that is scored.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Finite features.
    Y : array-like of shape (n, K), or (n,) for one binary label
        Labels 0 or 1, NaN where unknown. If rows know only some of their labels, every point runs
        alone, which takes much longer.
    grid : Grid
        What is searched; `SHORT_GRID` if not given. `PAPER_GRID` has the 1360 points of the paper.
    folds : int
        Number of folds, each a run of neighbouring rows.
    params : dict, optional
        Other parameters of ``EFCMLClassifier``, the same for all points.
    pipeline : Pipeline, optional
        Of scikit-learn, with an ``EFCMLClassifier`` as its last step, whose parameters are
        searched. For every fold copies of the earlier steps are fitted on the other rows, and go
        on with the fold as in `prequential`. X is whatever they take; the pipeline stays as it is.
    jobs : int
        Processes on this machine; -1 for one on every core.
    dask : str or distributed.Client, optional
        A Dask cluster that runs the tasks instead; its scheduler and workers need efcml.
    checkpoint : path, optional
        A file that keeps what is done. With the same file the search goes on where it ended.
    progress : bool, optional
        Whether to show a progress bar; None shows it on a terminal and in a notebook.
    say : callable, optional
        Gets one line before the search: how many points, and about how long they take. For that
        two passes are run first and timed.

    Returns
    -------
    TuningResult
        After Ctrl-C a `SearchInterrupted` is raised; its ``partial`` is the result for the
        vigilances of which all folds are done.

    Examples
    --------
    >>> from efcml import datasets
    >>> from efcml.tuning import Grid, tune
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=60)
    >>> grid = Grid(vigilance=[0.5, 0.9], alpha=[0.0], beta=[0.0, 1.0])
    >>> result = tune(*ds.initial, grid=grid, folds=2)
    >>> sorted(result.best_params)
    ['alpha', 'beta', 'vigilance']
    """
    given = dict(params or {})
    check_grid(grid)
    check_backend(jobs, dask)
    tables: Any  # one for all folds, or one for each
    with busy("loading", progress):
        if pipeline is None:
            settings, tables, Y = check_rows(X, Y, given)
        else:
            given = own_params(pipeline) | given
            settings, tables, Y = check_pipeline_rows(pipeline, X, Y, folds, given)
        from efcml.support.cluster import find_client
        from efcml.tuning.task import make_tasks
    check_folds(folds, Y)
    if dask is not None:
        find_client()
    tasks = make_tasks(grid, len(Y), folds)
    rest = settings, grid.pairs, tables, Y
    with SearchRecord(checkpoint, describe(tables, Y, settings, grid, folds), tasks) as record:
        try:
            missing = [task for task in tasks if task.key not in record.lines]
            if missing and dask is None:
                prepare(progress)
            if say is not None:
                line, jobs = foretell(missing, record, rest, grid, jobs, dask, progress)
                say(line)
            run_tasks(missing, record, rest, jobs=jobs, dask=dask, progress=progress)
        except KeyboardInterrupt as interrupt:
            raise SearchInterrupted(
                f"after {len(record.lines)} of {len(tasks)} passes",
                finished_part(grid, folds, record.lines, given),
            ) from interrupt
    result = TuningResult.from_lines(grid, record.lines.values(), given)
    if result.diverged.any():
        from efcml.model.divergence import DivergenceWarning

        warnings.warn(
            f"rules ran away in {int(result.diverged.sum())} of"
            f" {len(grid) * folds} fits and went on without proximal steps; result.diverged says"
            " where.",
            DivergenceWarning,
            stacklevel=2,
        )
    return result


def prepare(progress: bool | None) -> None:
    """Compile once, not in every process."""
    from efcml.model.warm import warmup

    with busy("compiling, if it is the first time", progress):
        warmup(asks=False, rare=False)


def foretell(
    missing: list[Task],
    record: SearchRecord,
    rest: tuple[Any, ...],
    grid: Grid,
    jobs: int,
    dask: Any,
    progress: bool | None,
) -> tuple[str, int]:
    """Return in words how large a search is and about how long it takes, and with how many jobs.

    A pass takes the longer the more rules there are, so two are timed, of the lowest and of the
    highest vigilance. They count: their tasks are taken from ``missing``. Where the rest is done
    before processes would have started, there is one job.
    """
    total, done = len(record.keys), len(record.lines)
    size = (
        f"{len(grid)} points ({len(grid.vigilance)} of vigilance, {len(grid.pairs)} of alpha and"
        f" beta) in {total // len(grid.vigilance)} folds: {total} passes"
    )
    if done:
        size += f", {done} of them done already"
    if not missing:
        return size, jobs
    if dask is not None:
        from efcml.support.cluster import connected

        with connected(dask):  # if it is there; how many workers it will have, nobody knows
            return f"{size}, on the cluster", jobs
    from joblib import effective_n_jobs

    from efcml.support.jobs import run_local
    from efcml.tuning.task import run_task

    timed = {}
    with busy("timing two passes", progress):
        for task in [missing.pop(0), *missing[-1:]]:
            begin = perf_counter()
            for line in run_local([task], 1, *rest, function=run_task):
                record.add(line)
            timed[task.vigilance] = perf_counter() - begin
    del missing[-1:]
    seconds, workers, where = sum(timed.values()) / len(timed) * len(missing), 1, ""
    if effective_n_jobs(jobs) > 1 and seconds > 5.0 * STARTING:
        workers = min(effective_n_jobs(jobs), len(missing))
        seconds, where = seconds / workers + STARTING, f" in {workers} processes"
    took = ", ".join(f"{spent:.2g} s with vigilance {value:g}" for value, spent in timed.items())
    return f"{size}, about {in_words(max(seconds, 1.0))}{where} (a pass took {took})", workers


def run_tasks(
    missing: list[Task],
    record: SearchRecord,
    rest: tuple[Any, ...],
    *,
    jobs: int,
    dask: Any,
    progress: bool | None,
) -> None:
    """Run the tasks that the record lacks; ``rest`` goes to every task."""
    from efcml.support.cluster import run_dask
    from efcml.support.jobs import run_local
    from efcml.tuning.task import run_task

    if dask is None:
        backend = run_local(missing, jobs, *rest, function=run_task)
    else:
        backend = run_dask(missing, dask, *rest, function=run_task)
    bar = progress_bar(
        len(record.keys), "tuning", unit="pass", show=progress, initial=len(record.lines)
    )
    # Closed at once, also after Ctrl-C: this ends what is still running.
    with bar, ticking(bar), closing(backend) as lines:
        for line in lines:
            record.add(line)
            bar.update(1)


def finished_part(
    grid: Grid, folds: int, lines: Mapping[tuple[float, int], Facts], given: dict[str, Any]
) -> TuningResult | None:
    """Return the result for the vigilances that have all their folds, or None if none has."""
    whole = [v for v in grid.vigilance if all((v, fold) in lines for fold in range(folds))]
    if not whole:
        return None
    done = [line for (vigilance, _), line in lines.items() if vigilance in whole]
    return TuningResult.from_lines(replace(grid, vigilance=tuple(whole)), done, given)
