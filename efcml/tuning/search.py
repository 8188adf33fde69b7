"""The search itself: jobs to a backend, their records to a folder, scores to a result."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import hash as content_key

from efcml import __version__
from efcml.measures import MEASURES
from efcml.support.checks import check_backend, check_choice, check_whole
from efcml.support.folders import make_folder, replacing
from efcml.support.folds import contiguous_folds
from efcml.support.jobs import run_local
from efcml.support.progress import progress_bar
from efcml.support.steps import is_pipeline, last_step
from efcml.support.table_rows import take_rows
from efcml.support.watch import busy, ticking
from efcml.tuning.grid import SHORT_GRID, Grid, in_words, plain
from efcml.tuning.result import TuningResult, sum_up

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Facts, PathLike


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; it says how many jobs were done."""


def tune(
    X: ArrayLike | DataFrame,
    Y: ArrayLike | DataFrame,
    *,
    grid: Grid = SHORT_GRID,
    folds: int = 5,
    measure: str = "pa",
    params: Mapping[str, Any] | None = None,
    pipeline: Any = None,
    jobs: int = 1,
    dask: Any = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
) -> TuningResult:
    """Compare the default with all points of a grid by cross-validation over contiguous folds.

    Each fold is held out once: the other rows are fitted, the fold is a stream, test-then-train.
    A point is chosen only if it is clearly better than the default, which is always tried, too.
    Give the initial part of a data set only, never the stream that is scored.

    Parameters
    ----------
    X, Y : array-like of shape (n, p) and (n, K)
        As for ``EFCMLClassifier.fit``.
    grid : Grid
        What is searched. `PAPER_GRID` has the 1360 points of the paper.
    folds : int
        Number of folds, each a run of neighbouring rows.
    measure : str
        A name in `efcml.measures.MEASURES`.
    params : dict, optional
        Parameters of ``EFCMLClassifier``; of those that are searched, the values to compare with.
    pipeline : Pipeline, optional
        Of scikit-learn, with an ``EFCMLClassifier`` as its last step, whose parameters are
        searched. Copies of the whole are fitted; the pipeline itself stays as it is.
    jobs : int
        Processes on this machine; -1 for one on every core.
    dask : str or distributed.Client, optional
        A Dask cluster that runs the jobs instead; its scheduler and workers need efcml.
    checkpoint : path, optional
        A folder that keeps what is done. With the same folder the search goes on where it ended.
    progress : bool, optional
        Whether to show a progress bar; None shows it on a terminal and in a notebook.

    Examples
    --------
    >>> from efcml import datasets
    >>> from efcml.tuning import Grid, tune
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=60)
    >>> result = tune(*ds.initial, grid=Grid(vigilance=[0.5, 0.9]), folds=2)
    >>> result.default, len(result.rows())
    ({'vigilance': 1.7}, 3)
    """
    check_backend(jobs, dask)
    check_choice("measure", measure, MEASURES)
    n = check_rows(X, Y, folds)
    with busy("loading", progress):  # numba, which takes seconds
        model = make_model(params, pipeline)
        points = list_points(model, grid)
    # Without a folder nothing needs to be found again, and steps may be such as cannot be pickled.
    search = "" if checkpoint is None else content_key([__version__, model.get_params(), X, Y])
    shown = tuple(dict.fromkeys([measure, "pa", "ap"]))
    work = [
        Job(point, rows, shown, content_key([search, point, rows.start, rows.stop, shown]))
        for point in points
        for rows in contiguous_folds(n, folds)
    ]
    record = Record(checkpoint, work)
    try:
        run_jobs(work, record, (model, X, Y), jobs, dask, progress)
    except KeyboardInterrupt as interrupt:
        raise SearchInterrupted(f"after {len(record)} of {len(work)} jobs") from interrupt
    lines = [record[one.key] for one in work]
    warn_of_divergence(lines)
    return sum_up(points, lines, measure, fixed_params(model))


def check_rows(X: Any, Y: Any, folds: int) -> int:
    """Return the number of rows; what else is wrong with them the first job says."""
    n, others = n_rows(X), n_rows(Y)
    check_whole("folds", folds, least=2)
    if n != others:
        raise ValueError(f"X and Y have different numbers of rows: {n} and {others}.")
    if folds > n:
        raise ValueError(f"folds is {folds} for {n} rows: choose fewer folds.")
    return n


def make_model(params: Mapping[str, Any] | None, pipeline: Any) -> Any:
    """Return a new model with the parameters to compare with."""
    from efcml import EFCMLClassifier

    model = EFCMLClassifier()
    if pipeline is not None:
        if not (is_pipeline(pipeline) and isinstance(last_step(pipeline), EFCMLClassifier)):
            raise TypeError("pipeline must be a Pipeline that ends in an EFCMLClassifier.")
        from sklearn.base import clone

        model = clone(pipeline)
    last_step(model).set_params(**(params or {}))
    return model


def fixed_params(model: Any) -> Facts:
    """Return what is not as in a new classifier."""
    usual, own = type(last_step(model))().get_params(), last_step(model).get_params()
    return {name: own[name] for name in own if repr(own[name]) != repr(usual[name])}


def list_points(model: Any, grid: Any) -> list[Facts]:
    """Return the point of the model as it is, then those of the grid; refuse bad values."""
    if not isinstance(grid, Grid):
        raise TypeError(f"grid is a {type(grid).__name__}: give Grid(vigilance=[...], ...).")
    last = last_step(model)
    for name, values in grid.axes.items():
        check_choice("a name in the grid", name, last.get_params())
        for value in values:  # a row is enough to be told what is allowed
            type(last)(**{name: value}).partial_fit([[0.0]], [[0.0]])
    default = {name: plain(last.get_params()[name]) for name in grid.axes}
    return [default, *(point for point in grid.points if point != default)]


def run_jobs(
    work: list[Job], record: Record, rest: Any, jobs: int, dask: Any, progress: bool | None
) -> None:
    """Run the jobs that the record lacks; ``rest`` goes to every job."""
    from efcml import warmup
    from efcml.support.cluster import run_dask

    missing = [one for one in work if one.key not in record]
    if missing and dask is None:
        with busy("compiling, if it is the first time", progress):  # once, not in every process
            warmup(asks=False, rare=False)
    run, place = (run_local, jobs) if dask is None else (run_dask, dask)
    bar = progress_bar(len(work), "tuning", unit="job", show=progress, initial=len(record))
    # Closed at once, also after Ctrl-C: this ends what is still running.
    with bar, ticking(bar), closing(run(missing, place, *rest, function=run_job)) as lines:
        for line in lines:
            record.add(line)
            bar.update(1)


def warn_of_divergence(lines: list[Facts]) -> None:
    """Warn once if the guard has stopped rules of any job."""
    from efcml.model.warnings_of import DivergenceWarning

    n = sum(line["diverged"] for line in lines)
    if n:
        text = f"rules ran away in {n} of {len(lines)} fits; the column diverged says where."
        warnings.warn(text, DivergenceWarning, stacklevel=3)


# -- jobs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """What a worker needs to know besides the model and the rows."""

    point: Facts
    rows: slice  # held out
    measures: tuple[str, ...]
    key: str  # what its record is found by


def run_job(job: Job, model: Any, X: Any, Y: Any) -> Facts:
    """Return the record of one job, or raise an error that says in one line which one it was."""
    try:
        return score(job, deepcopy(model), X, Y)
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError) else RuntimeError  # of what was given
        told = " ".join(f"{type(error).__name__}: {error}".split())
        where = f"rows {job.rows.start} to {job.rows.stop - 1} held out"
        raise kind(f"{told} ({in_words(job.point)}; {where})") from error


def score(job: Job, model: Any, X: Any, Y: Any) -> Facts:
    """Fit the other rows, stream the fold; return what every row of it adds to each measure."""
    from efcml.evaluation import prequential
    from efcml.model.warnings_of import DivergenceWarning

    rows = np.arange(n_rows(X))
    new, rest = rows[job.rows], np.delete(rows, job.rows)
    last_step(model).set_params(**job.point)
    with warnings.catch_warnings(record=True) as told:  # the search warns once, at its end
        warnings.simplefilter("always")
        model.fit(take_rows(X, rest), take_rows(Y, rest))
        result = prequential(model, take_rows(X, new), take_rows(Y, new), progress=False)
    tallies = {}
    for name in job.measures:
        predicted, ready = result.taken_by(name)
        tallies[name] = MEASURES[name].tallies(result.Y, predicted, ready=ready).tolist()
    diverged = any(issubclass(one.category, DivergenceWarning) for one in told)
    rules = int(result.rules[-1])
    return {"key": job.key, "point": job.point, "rules": rules, "diverged": diverged} | tallies


def n_rows(table: Any) -> int:
    """Return the number of rows of a table of any kind."""
    return table.shape[0] if hasattr(table, "shape") else len(table)


class Record(dict[str, "Facts"]):
    """Finished jobs by key; with a folder, a file for each, whole or not there."""

    def __init__(self, folder: PathLike | None, jobs: list[Job]) -> None:
        super().__init__()
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            make_folder(self.folder)
            self.update({job.key: line for job in jobs if (line := self.read(job.key))})

    def read(self, key: str) -> Facts | None:
        """Return what the folder has of a job; None if that is nothing, or cannot be used."""
        try:
            line = json.loads((Path(self.folder or "") / f"{key}.json").read_text("utf-8"))
            return line if line["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def add(self, line: Facts) -> None:
        """Keep the record of one job."""
        self[line["key"]] = line
        if self.folder is not None:
            with replacing(self.folder / f"{line['key']}.json") as file:
                file.write(json.dumps(line, default=str).encode())
