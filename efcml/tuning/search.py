"""The search: points of a grid by cross-validation over contiguous folds, each fold a stream."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation.pipelines import is_pipeline, last_step
from efcml.measures import MEASURES, find
from efcml.studies.runs import Run, RunCache, Table
from efcml.studies.workers import complete
from efcml.support.checks import check_choice, check_whole
from efcml.tuning.result import TuningResult, compare, in_words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, PathLike

SHOWN = ("pa", "ap")  # of every point, whichever measure decides


@dataclass(frozen=True, init=False)
class Grid:
    """Every value of each parameter with every value of the others.

    Parameters
    ----------
    **axes : value or sequence of values
        By the name of a parameter of ``EFCMLClassifier``.

    Examples
    --------
    >>> grid = Grid(vigilance=[0.8, 1.7], max_rules=[5, 20])
    >>> len(grid), grid.points[1]
    (4, {'vigilance': 0.8, 'max_rules': 20})
    """

    axes: dict[str, tuple[Any, ...]]

    def __init__(self, **axes: Any) -> None:
        read = {}
        for name, values in axes.items():
            single = isinstance(values, str) or not hasattr(values, "__iter__")
            read[name] = tuple(map(plain, [values] if single else values))
            if len({*read[name]}) < max(len(read[name]), 1):
                raise ValueError(f"the grid needs values of {name}, each one once.")
        object.__setattr__(self, "axes", read)

    @property
    def points(self) -> list[dict[str, Any]]:
        """All points, each by the names of its parameters."""
        products = itertools.product(*self.axes.values())
        return [dict(zip(self.axes, values, strict=True)) for values in products]

    def __len__(self) -> int:
        return len(self.points)


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


PAPER_GRID = Grid(
    vigilance=[round(0.05 * step, 2) for step in range(2, 19)],
    alpha=[0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0],
    beta=[0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0],
)
# The default is in it. Vigilance goes from many births to none; alpha and beta are little and much.
SHORT_GRID = Grid(vigilance=[0.5, 0.8, 1.2, 1.7, 2.5], alpha=[0.0, 0.5], beta=[0.1, 10.0])


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
    progress: Progress = None,
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
    jobs, dask, progress
        As in `Study.run`.
    checkpoint : path, optional
        A folder that keeps what is done, by its content; with it the search goes on where it ended.
        Studies and other searches may share it.

    Examples
    --------
    >>> from efcml import datasets
    >>> from efcml.tuning import Grid, tune
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=60)
    >>> result = tune(*ds.initial, grid=Grid(vigilance=[0.5, 0.9]), folds=2)
    >>> result.default, len(result.rows())
    ({'vigilance': 1.7}, 3)
    """
    check_choice("measure", measure, MEASURES)
    n = check_rows(X, Y, folds)
    model = make_model(params, pipeline)
    points = list_points(model, grid)
    table, held_out = Table(X, Y), contiguous_folds(n, folds)
    runs = [fold_runs(model, point, table, held_out) for point in points]
    cache, every = RunCache(checkpoint), [run for own in runs for run in own]
    complete(cache, every, "tuning", jobs=jobs, dask=dask, progress=progress)
    told = [" ".join((cache.facts(run) or {})["warnings"]) for run in every]
    diverged = np.array(["DivergenceWarning" in text for text in told]).reshape(len(points), -1)
    if diverged.any():
        warn_of_divergence(int(diverged.sum()), diverged.size)
    results = [[cache.result(run) for run in own] for own in runs]
    tallies = {
        name: [np.concatenate([one.tallies(name) for one in own]) for own in results]
        for name in dict.fromkeys([*SHOWN, measure])
    }
    rows = [
        point
        | {name: value(name, tallies[name][place]) for name in SHOWN}
        | {"rules": float(np.mean([one.rules[-1] for one in results[place]]))}
        | {"diverged": int(diverged[place].sum())}
        for place, point in enumerate(points)
    ]
    found = compare(np.stack(tallies[measure]), measure)
    whole = tuple(row | verdict for row, verdict in zip(rows, found, strict=True))
    return TuningResult(tuple(points[0]), measure, fixed_params(model), whole)


def value(measure: str, tallies: Floats) -> float | None:
    """Return a measure of tallies of rows, None if it has none."""
    number = float(find(measure).value_of(tallies.sum(axis=0)))
    return None if np.isnan(number) else number


def fold_runs(model: Any, point: Facts, table: Table, held_out: Sequence[slice]) -> list[Run]:
    """Return the runs of one point: every fold is a stream for a model of the other rows."""
    own = deepcopy(model)
    last_step(own).set_params(**point)
    rows = np.arange(held_out[-1].stop)
    return [
        Run(
            f"{in_words(point)}; rows {fold.start} to {fold.stop - 1} held out",
            own,
            table,
            np.delete(rows, fold),
            rows[fold],
        )
        for fold in held_out
    ]


def contiguous_folds(n_rows: int, folds: int) -> list[slice]:
    """Return slices of rows that are held out in turn; neighbours in a stream are often related.

    Examples
    --------
    >>> contiguous_folds(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [fold * n_rows // folds for fold in range(folds + 1)]
    return [slice(low, high) for low, high in itertools.pairwise(edges)]


def check_rows(X: Any, Y: Any, folds: int) -> int:
    """Return the number of rows; what else is wrong with them the first run says."""
    n, others = (one.shape[0] if hasattr(one, "shape") else len(one) for one in (X, Y))
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
        for one in values:  # a row is enough to be told what is allowed
            type(last)(**{name: one}).partial_fit([[0.0]], [[0.0]])
    default = {name: plain(last.get_params()[name]) for name in grid.axes}
    return [default, *(point for point in grid.points if point != default)]


def warn_of_divergence(n: int, fits: int) -> None:
    """Warn once if the guard has stopped rules of any run."""
    from efcml.model.warnings_of import DivergenceWarning

    text = f"rules ran away in {n} of {fits} fits; the column diverged says where."
    warnings.warn(text, DivergenceWarning, stacklevel=3)
