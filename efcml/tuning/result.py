"""What a search found: which points are clearly better than the default, and which are alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.measures import find
from efcml.studies.intervals import Interval, paired_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from efcml.support.aliases import Facts, Floats

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
