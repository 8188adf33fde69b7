"""What a search found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.support.extras import extra_for
from efcml.tuning.grid import Grid
from efcml.tuning.search_record import to_json

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Facts, Floats

TABLES = ("pa", "ap", "rules", "diverged")


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Scores of every point of a grid, averaged over the held-out rows of all folds.

    Rows without any label have no average precision and are left out of ``ap``. Arrays have the
    shape (vigilances, pairs) of the grid.
    """

    grid: Grid
    pa: Floats
    ap: Floats
    rules: Floats  # at the end of a fold, mean over the folds
    diverged: Floats  # folds in which a rule ran away
    params: dict[str, Any]  # what was not searched and differs from the defaults

    @classmethod
    def from_lines(cls, grid: Grid, lines: Iterable[Facts], params: dict[str, Any]) -> Self:
        """Sum up the records of all tasks; their order does not matter."""
        shape = len(grid.vigilance), len(grid.pairs)
        right, ap, rules, diverged = (np.zeros(shape) for _ in range(4))
        known, ranked, folds = np.zeros((shape[0], 1)), np.zeros((shape[0], 1)), 0
        for line in sorted(lines, key=lambda line: (line["vigilance"], line["fold"])):
            row = grid.vigilance.index(line["vigilance"])
            right[row] += line["right"]
            ap[row] += line["ap"]
            rules[row] += line["rules"]
            diverged[row] += line["diverged"]
            known[row] += line["known"]
            ranked[row] += line["ranked"]
            folds = max(folds, line["fold"] + 1)
        defined = np.where(ranked > 0, ranked, np.nan)
        return cls(grid, right / known, ap / defined, rules / folds, diverged, params)

    @property
    def best(self) -> tuple[int, int]:
        """Index (vigilance, pair) of the point with the highest PA; AP breaks ties, then order."""
        order = np.lexsort((-np.nan_to_num(self.ap.ravel(), nan=-1.0), -self.pa.ravel()))
        row, pair = np.unravel_index(order[0], self.pa.shape)
        return int(row), int(pair)

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters for ``EFCMLClassifier``: the chosen point and what was not searched."""
        row, pair = self.best
        alpha, beta = self.grid.pairs[pair]
        return self.params | {"vigilance": self.grid.vigilance[row], "alpha": alpha, "beta": beta}

    @property
    def best_pa(self) -> float:
        """Partial accuracy of the chosen point."""
        return float(self.pa[self.best])

    @property
    def best_ap(self) -> float:
        """Average precision of the chosen point."""
        return float(self.ap[self.best])

    def rows(self) -> list[dict[str, float]]:
        """Return one dictionary per point: vigilance, alpha, beta, pa, ap, rules, diverged."""
        points = []
        for row, vigilance in enumerate(self.grid.vigilance):
            for column, (alpha, beta) in enumerate(self.grid.pairs):
                point = {"vigilance": vigilance, "alpha": alpha, "beta": beta}
                scores = {name: float(getattr(self, name)[row, column]) for name in TABLES}
                points.append(point | scores)
        return points

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one line per point, the best first."""
        with extra_for("to_frame"):
            import pandas

        frame = pandas.DataFrame(self.rows())
        return frame.sort_values(["pa", "ap"], ascending=False, ignore_index=True, kind="stable")

    def to_json(self) -> str:
        """Return everything as JSON text, to be read by `from_json`; null where there is no AP."""
        tables = {
            name: [[None if np.isnan(value) else value for value in row] for row in table.tolist()]
            for name, table in ((name, getattr(self, name)) for name in TABLES)
        }
        chosen = {"best_params": self.best_params, "best_pa": self.best_pa}
        return to_json({"grid": asdict(self.grid), "params": self.params} | chosen | tables)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` wrote.

        Examples
        --------
        >>> from efcml.tuning import Grid, TuningResult
        >>> grid = Grid(vigilance=0.5, alpha=0.0, beta=[0.0, 1.0])
        >>> pa = np.array([[0.7, 0.8]])
        >>> result = TuningResult(grid, pa, pa, pa, pa, {"max_rules": 40})
        >>> TuningResult.from_json(result.to_json()) == result
        True
        """
        try:
            read = json.loads(text)
            grid = Grid(**read["grid"])
            shape = len(grid.vigilance), len(grid.pairs)
            tables = {
                name: np.array(read[name], dtype=np.float64).reshape(shape) for name in TABLES
            }
            return cls(grid, params=dict(read["params"]), **tables)
        except (KeyError, TypeError, ValueError):
            raise ValueError("the text is no tuning result: give what to_json wrote.") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TuningResult):
            return NotImplemented
        return (self.grid, self.params) == (other.grid, other.params) and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True)
            for name in TABLES
        )

    def __repr__(self) -> str:
        chosen = ", ".join(
            f"{name}={self.best_params[name]:g}" for name in ("vigilance", "alpha", "beta")
        )
        return (
            f"TuningResult({len(self.grid)} points; {chosen}; pa={self.best_pa:.4f}, "
            f"ap={self.best_ap:.4f}, rules={self.rules[self.best]:.3g})"
        )
