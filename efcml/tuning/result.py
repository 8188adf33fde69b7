"""What a search found: which points are clearly better than the default, and which are alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.measures import MEASURES
from efcml.studies.paired import difference
from efcml.support.extras import extra_for
from efcml.tuning.grid import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from efcml.support.aliases import Facts, Floats

SHOWN = ("pa", "ap")  # of every point, whichever measure decides
BLOCK = 5  # neighbouring rows, which are often related, are drawn together


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
        with extra_for("to_frame"):
            import pandas

        return pandas.DataFrame(self.rows())

    def plot(self, ax: Axes | None = None, *, most: int = 20) -> Axes:
        """Draw what the best points gain on the default, with intervals."""
        from efcml.plots._differences import draw_differences

        rows = self.rows()[:most]
        points = map(in_words, self._points(rows))
        gains = ((row["gain"], row["low"], row["high"]) for row in rows)
        lines = {"gain on the default": dict(zip(points, gains, strict=True))}
        return draw_differences(lines, ax=ax, xlabel=f"gain in {MEASURES[self.measure].title}")

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


def sum_up(
    points: Sequence[Facts], lines: Sequence[Facts], measure: str, params: Facts
) -> TuningResult:
    """Return the result of the records of all jobs, point by point."""
    folds, table = len(lines) // len(points), list[dict[str, Any]]()
    for place, point in enumerate(points):
        own = lines[place * folds : (place + 1) * folds]
        values = {name: MEASURES[name].value_of(join(own, name).sum(axis=0)) for name in SHOWN}
        shown = {name: None if np.isnan(values[name]) else float(values[name]) for name in SHOWN}
        rules = float(np.mean([line["rules"] for line in own]))
        diverged = sum(line["diverged"] for line in own)
        table.append(point | shown | {"rules": rules, "diverged": diverged})
    tallies = join(lines, measure).reshape(len(points), -1, *np.shape(lines[0][measure])[1:])
    found = compare(tallies, measure)
    rows = tuple(row | verdict for row, verdict in zip(table, found, strict=True))
    return TuningResult(tuple(points[0]), measure, params, rows)


def join(lines: Sequence[Facts], measure: str) -> Floats:
    """Return the tallies of all rows of some records."""
    return np.concatenate([np.asarray(line[measure], dtype=float) for line in lines])


def compare(tallies: Floats, measure: str) -> list[Facts]:
    """Return of every point the measure, its gain on the first one, and whether it is tied.

    Of tallies of shape (points, rows, 2, L): what every row adds to both sums of the measure.
    """
    rows: list[Facts] = []
    found = MEASURES[measure]
    values, up = found.value_of(tallies.sum(axis=1)), found.better == "up"
    if np.isnan(values).any():
        raise ValueError(f"no row that was held out has a value of {measure}.")
    best = int(values.argmax() if up else values.argmin())
    options: Facts = {"value_of": found.value_of, "block": BLOCK}
    options["comparisons"] = max(len(tallies) - 1, 1)
    for value, own in zip(values, tallies[:, None], strict=True):
        both = ((tallies[other][None], own)[:: 1 if up else -1] for other in (0, best))
        gain, lead = (difference(*one, **options) for one in both)
        bounds = {"gain": gain.mean, "low": gain.wide_low, "high": gain.wide_high}
        rows.append({measure: float(value)} | bounds | {"tied": not lead.wide_high < 0.0})
    return rows
