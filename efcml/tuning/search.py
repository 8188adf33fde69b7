"""The search: points of a grid by cross-validation, which are alike, and which clearly better.

Folds are contiguous, and each one is a stream for a model of the other rows, later ones too.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from efcml.evaluation.prequential_result import USUAL
from efcml.measures import MEASURES, find
from efcml.studies.intervals import Interval, paired_difference
from efcml.studies.provenance import digest
from efcml.studies.runs import Run, RunCache, Table
from efcml.studies.variants import one_line, refuse_words
from efcml.studies.workers import complete
from efcml.support.checks import check_choice, check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, PathLike

    Grid = Mapping[str, Sequence[Any]]

PAPER_GRID: Mapping[str, Sequence[Any]] = {
    "vigilance": [round(0.05 * step, 2) for step in range(2, 19)],
    "alpha": [0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0],
    "beta": [0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0],
    "correlation": ["shift"],
}
# The default is in it: beta 0. Vigilance goes from many births to none; others are none and much.
SHORT_GRID: Mapping[str, Sequence[Any]] = {
    "vigilance": [0.5, 0.8, 1.2, 1.7, 2.5],
    "alpha": [0.0, 0.5],
    "beta": [0.0, 10.0],
    "correlation": ["shift"],
}


def tune(
    X: ArrayLike | pd.DataFrame,
    Y: ArrayLike | pd.DataFrame,
    model: Any = None,
    *,
    grid: Grid = SHORT_GRID,
    folds: int = 5,
    measure: str = "pa",
    jobs: int = 1,
    dask: Any = None,
    folder: PathLike | None = None,
    block: int | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    **other: Any,
) -> TuningResult:
    """Compare a model with all points of a grid by cross-validation over contiguous folds.

    Each fold is held out once: the other rows are fitted, the fold is a stream, test-then-train. So
    all folds but the last are predicted by models that know later rows. Points are compared fairly,
    as all of them do; in a stream that drifts the numbers are too good for what comes next.
    A point is chosen only if it is clearly better than the default, which is always tried, too.
    Give the initial part of a data set only, never the stream that is scored.

    Parameters
    ----------
    X, Y : array-like of shape (n, p) and (n, K)
    model : estimator or Pipeline, optional
        Its values are the default; it stays as it is. An ``EFCMLClassifier()`` if not given.
    grid : dict of str to list of values
        Every value of each parameter is tried with every value of the others. Those of the end of a
        pipeline are named as in ``efcmlclassifier__vigilance``.
    folds : int
        How many, each a run of neighbouring rows.
    measure : str
        A name in `efcml.measures.MEASURES`.
    jobs, n_jobs, dask, progress, folder, block
        As in `Study` and `Study.run`; both may share a folder.

    Examples
    --------
    >>> from efcml import datasets
    >>> from efcml.tuning import tune
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=60)
    >>> result = tune(*ds.initial, grid={"vigilance": [0.5, 0.9]}, folds=2)
    >>> result.default, len(result.table)
    ({'vigilance': 1.7}, 3)
    """
    from sklearn.model_selection import KFold

    from efcml import EFCMLClassifier

    refuse_words(other, {"checkpoint": "folder", "cv": "folds", "estimator": "model"})
    check_choice("measure", measure, MEASURES)
    check_whole("folds", folds, least=2)
    check_whole("block", 1 if block is None else block, least=1)
    model, table = EFCMLClassifier() if model is None else model, Table(X, Y)
    parts = list(KFold(folds).split(X, Y))  # neighbours in a stream are often related
    points, runs = list_points(model, grid), []
    for point in points:
        own, words = deepcopy(model).set_params(**point), in_words(point)
        names = (f"{words}; rows {fold[0]} to {fold[-1]} held out" for _, fold in parts)
        runs.append([Run(name, own, table, *part) for name, part in zip(names, parts, strict=True)])
    cache, jobs = RunCache(folder), jobs if n_jobs is None else n_jobs
    complete(cache, [*itertools.chain(*runs)], "tuning", jobs, dask, progress)
    lines, tallies = [], []
    for point, own in zip(points, runs, strict=True):
        results = [cache.result(run) for run in own]
        told = [" ".join(cache.facts(run)["warnings"]) for run in own]
        sums = {name: np.concatenate([one.tallies(name) for one in results]) for name in USUAL}
        values = {name: float(find(name).value_of(one.sum(axis=0))) for name, one in sums.items()}
        values["rules"] = float(np.mean([one.rules[-1] for one in results]))
        lines.append(point | values | {"diverged": sum("Divergence" in text for text in told)})
        tallies.append(np.concatenate([one.tallies(measure) for one in results]))
    verdicts = compare(np.stack(tallies), measure, block)
    note = max(one.pop("reason") for one in verdicts)
    rows = tuple(a | b for a, b in zip(lines, verdicts, strict=True))
    return TuningResult(tuple(points[0]), measure, rows, note)


def list_points(model: Any, grid: Grid) -> list[Facts]:
    """Return the point of the model as it is, then those of the grid."""
    if not isinstance(grid, Mapping) or any(isinstance(one, str) for one in grid.values()):
        raise TypeError('the grid is a dict of lists, such as {"vigilance": [0.5, 1.7]}.')
    known = model.get_params()
    for name in grid:
        check_choice("a name in the grid", name, known)
    axes = [one.tolist() if hasattr(one, "tolist") else list(one) for one in grid.values()]
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*axes)]
    default = {name: known[name] for name in grid}
    known = digest(default)  # arrays have no one truth
    return [default, *(point for point in points if digest(point) != known)]


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
    rows: tuple[dict[str, Any], ...]
    note: str = ""  # why there are no intervals, if there are none

    @property
    def table(self) -> pd.DataFrame:
        """The rows, the best value first; of equal ones the default."""
        return pd.DataFrame(sorted(self.rows, key=lambda row: -row["gain"]))

    @property
    def default(self) -> dict[str, Any]:
        """The point that the others are compared with."""
        return self._point(self.rows[0])

    @property
    def top(self) -> dict[str, Any]:
        """The point with the best value; those that are ``tied`` may be as good."""
        return self._point(max(self.rows, key=lambda row: row["gain"]))

    @property
    def chosen(self) -> dict[str, Any]:
        """The best of the points that are clearly better than the default, else the default."""
        better = [row for row in self.rows if row["low"] > 0.0]
        return self._point(max(better or self.rows[:1], key=lambda row: row["gain"]))

    def _point(self, row: Facts) -> dict[str, Any]:
        return {name: row[name] for name in self.names}

    def plot(self, ax: Axes | None = None, *, most: int = 20) -> Axes:
        """Draw what the best points gain on the default, with intervals."""
        from efcml.plots import draw_differences

        rows = self.table.head(most).to_dict("records")
        gains = {in_words(self._point(row)): (row["gain"], row["low"], row["high"]) for row in rows}
        label = f"gain in {find(self.measure).title}"
        return draw_differences({"gain on the default": gains}, ax=ax, xlabel=label)

    def __repr__(self) -> str:
        tied = sum(row["tied"] for row in self.rows)
        ties = f"{tied} of {len(self.rows)} points cannot be told apart from the best"
        found = f"nothing is clearly better than the default, {in_words(self.default)}"
        if self.chosen != self.default:
            found = f"{in_words(self.chosen)} is clearly better than the default"
        note = f"; no intervals: {self.note}" if self.note else ""
        return f"{ties}, {in_words(self.top)}; {found}{note}"


def compare(tallies: Floats, measure: str, block: int | None = None) -> list[Facts]:
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
        return paired_difference(first, second, found.value_of, block, number)

    rows: list[Facts] = []
    for value, own in zip(values, tallies, strict=True):
        found_gain = gain(own, 0)._asdict()
        bounds = {"gain": found_gain.pop("difference")} | found_gain
        rows.append({measure: float(value)} | bounds | {"tied": not gain(own, best).high < 0.0})
    return rows


def in_words(point: dict[str, Any]) -> str:
    """Return a point as it is written in a call."""
    return one_line(", ".join(f"{name}={value!r}" for name, value in point.items()))
