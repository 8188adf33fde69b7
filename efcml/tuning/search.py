"""The search: points of a grid by cross-validation, which are alike, and which clearly better.

Folds are contiguous, and each one is a stream for a model of the other rows.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.evaluation.pipelines import is_pipeline, last_step
from efcml.evaluation.prequential_result import USUAL
from efcml.measures import MEASURES, find
from efcml.studies.intervals import Interval, paired_difference
from efcml.studies.runs import Run, RunCache, Table
from efcml.studies.workers import complete
from efcml.support.checks import check_choice, check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, PathLike

BLOCK = 5  # neighbouring rows, which are often related, are drawn together


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
        object.__setattr__(self, "axes", {name: read_axis(name, axes[name]) for name in axes})

    @property
    def points(self) -> list[dict[str, Any]]:
        """All points, each by the names of its parameters."""
        products = itertools.product(*self.axes.values())
        return [dict(zip(self.axes, values, strict=True)) for values in products]

    def __len__(self) -> int:
        return len(self.points)


def read_axis(name: str, values: Any) -> tuple[Any, ...]:
    """Return values of a parameter as numbers of Python, or whatever else they are."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        return (values,)
    found = tuple(one.item() if isinstance(one, np.generic) else one for one in values)
    if not found or len({*found}) < len(found):
        raise ValueError(f"the grid needs values of {name}, each one once.")
    return found


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
    cache = RunCache(checkpoint)
    every = list(itertools.chain(*runs))
    complete(cache, every, "tuning", jobs, dask, progress)
    lines, tallies = [], []
    for point, own in zip(points, runs, strict=True):
        results = [cache.result(run) for run in own]
        told = [" ".join(cache.facts(run)["warnings"]) for run in own]
        line = dict(point)
        for name in USUAL:
            sums = np.concatenate([one.tallies(name) for one in results]).sum(axis=0)
            value = float(find(name).value_of(sums))
            line[name] = None if np.isnan(value) else value
        line["rules"] = float(np.mean([one.rules[-1] for one in results]))
        line["diverged"] = sum("DivergenceWarning" in text for text in told)
        lines.append(line)
        tallies.append(np.concatenate([one.tallies(measure) for one in results]))
    diverged = sum(line["diverged"] for line in lines)
    if diverged:
        from efcml.model.params import DivergenceWarning

        text = f"rules ran away in {diverged} of {len(every)} fits; the column diverged says where."
        warnings.warn(text, DivergenceWarning, stacklevel=2)
    verdicts = compare(np.stack(tallies), measure)
    whole = tuple(line | verdict for line, verdict in zip(lines, verdicts, strict=True))
    usual, given = type(last_step(model))().get_params(), last_step(model).get_params()
    changed = {name: given[name] for name in given if repr(given[name]) != repr(usual[name])}
    return TuningResult(tuple(points[0]), measure, changed, whole)


def fold_runs(model: Any, point: Facts, table: Table, held_out: Sequence[slice]) -> list[Run]:
    """Return the runs of one point: every fold is a stream for a model of the other rows."""
    own = deepcopy(model)
    last_step(own).set_params(**point)
    rows, words = np.arange(held_out[-1].stop), in_words(point)
    return [
        Run(
            f"{words}; rows {fold.start} to {fold.stop - 1} held out",
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


def list_points(model: Any, grid: Any) -> list[Facts]:
    """Return the point of the model as it is, then those of the grid; refuse bad values."""
    if not isinstance(grid, Grid):
        raise TypeError(f"grid is a {type(grid).__name__}: give Grid(vigilance=[...], ...).")
    last = last_step(model)
    for name, values in grid.axes.items():
        check_choice("a name in the grid", name, last.get_params())
        for one in values:  # a row is enough to be told what is allowed
            type(last)(**{name: one}).partial_fit([[0.0]], [[0.0]])
    (default,) = Grid(**{name: last.get_params()[name] for name in grid.axes}).points
    return [default, *(point for point in grid.points if point != default)]


# -- what is better, and what is alike ------------------------------------------------------


@dataclass(frozen=True, repr=False)
class TuningResult:
    """One row for every point, the default first, from the held-out rows of all folds.

    A row has the values of the point; ``pa``, ``ap`` and the measure that decides; ``rules``, the
    mean number at the end of a fold; ``diverged``, folds in which a rule ran away; ``gain``, by how
    much the measure is better than that of the default, with ``low`` and ``high``, its 95 %
    interval, corrected for the number of points; and ``tied``, whether the point cannot be told
    apart from the one with the best value.
    """

    names: tuple[str, ...]  # of the parameters that were searched
    measure: str
    params: dict[str, Any]  # what is not as in EFCMLClassifier(), before the search
    table: tuple[dict[str, Any], ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per point, the best value first; of equal ones the default."""
        return sorted(map(dict, self.table), key=lambda row: -row["gain"])

    @property
    def default(self) -> dict[str, Any]:
        """The point that the others are compared with."""
        return self._points(self.table)[0]

    @property
    def top(self) -> dict[str, Any]:
        """The point with the best value; those that are ``tied`` may be as good."""
        return self._points(self.rows())[0]

    @property
    def tied(self) -> list[dict[str, Any]]:
        """The points that cannot be told apart from the one with the best value."""
        return self._points([row for row in self.rows() if row["tied"]])

    @property
    def chosen(self) -> dict[str, Any]:
        """The best of the points that are clearly better than the default, else the default."""
        better = [row for row in self.rows() if row["low"] > 0.0]
        return self._points(better or self.table)[0]

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters for ``EFCMLClassifier``: the chosen point and what was not searched."""
        return self.params | self.chosen

    def _points(self, rows: Sequence[Facts]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in self.names} for row in rows]

    def to_frame(self) -> DataFrame:
        """Return `rows` as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def plot(self, ax: Axes | None = None, *, most: int = 20) -> Axes:
        """Draw what the best points gain on the default, with intervals."""
        from efcml.plots import draw_differences

        rows = self.rows()[:most]
        points = map(in_words, self._points(rows))
        gains = ((row["gain"], row["low"], row["high"]) for row in rows)
        lines = {"gain on the default": dict(zip(points, gains, strict=True))}
        return draw_differences(lines, ax=ax, xlabel=f"gain in {find(self.measure).title}")

    def to_json(self) -> str:
        """Return everything as JSON text, to be read by `from_json`."""
        return json.dumps(asdict(self) | {"best_params": self.best_params}, default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` wrote."""
        read = json.loads(text)
        names, table = tuple(read["names"]), tuple(map(dict, read["table"]))
        return cls(names, read["measure"], read["params"], table)

    def __repr__(self) -> str:
        ties = f"{len(self.tied)} of {len(self.table)} points cannot be told apart from the best"
        found = f"nothing is clearly better than the default, {in_words(self.default)}"
        if self.chosen != self.default:
            found = f"{in_words(self.chosen)} is clearly better than the default"
        return f"{ties}, {in_words(self.top)}; {found}"


def compare(tallies: Floats, measure: str) -> list[Facts]:
    """Return of every point the measure, its gain on the first one, and whether it is tied.

    Of tallies of shape (points, rows, 2, L): what every row adds to both sums of the measure.
    """
    found = find(measure)
    values, up = found.value_of(tallies.sum(axis=1)), found.better == "up"
    if np.isnan(values).any():
        raise ValueError(f"no row that was held out has a value of {measure}.")
    best = int(values.argmax() if up else values.argmin())
    number = max(len(tallies) - 1, 1)

    def gain(own: Floats, other: int) -> Interval:
        first, second = (tallies[other][None], own[None])[:: 1 if up else -1]
        return paired_difference(first, second, found.value_of, BLOCK, number)

    rows: list[Facts] = []
    for value, own in zip(values, tallies, strict=True):
        on_default, low, high = gain(own, 0)
        bounds = {"gain": on_default, "low": low, "high": high}
        rows.append({measure: float(value)} | bounds | {"tied": not gain(own, best).high < 0.0})
    return rows


def in_words(point: dict[str, Any]) -> str:
    """Return a point as it is written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in point.items())
