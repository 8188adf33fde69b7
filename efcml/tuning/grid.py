"""What is searched: vigilances, and the pairs (alpha, beta) that one pass carries along."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from efcml.model.params import Params


@dataclass(frozen=True)
class Grid:
    """Every vigilance with every pair of alpha and beta.

    Parameters
    ----------
    vigilance, alpha, beta : sequence of float

    Examples
    --------
    >>> grid = Grid(vigilance=[0.3, 0.6], alpha=[0.0, 0.1], beta=[0.0, 1.0])
    >>> len(grid)
    8
    >>> grid.pairs
    ((0.0, 0.0), (0.0, 1.0), (0.1, 0.0), (0.1, 1.0))
    """

    vigilance: tuple[float, ...]
    alpha: tuple[float, ...]
    beta: tuple[float, ...]

    if TYPE_CHECKING:  # more is taken than is kept

        def __init__(
            self,
            vigilance: Sequence[float] | float,
            alpha: Sequence[float] | float,
            beta: Sequence[float] | float,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("vigilance", "alpha", "beta"):
            values = getattr(self, name)
            values = tuple(values) if hasattr(values, "__iter__") else (values,)
            if not values:
                raise ValueError(f"the grid has no value of {name}: give at least one.")
            for value in values:
                Params(**{name: value})  # says what is allowed
            if len(set(values)) < len(values):
                raise ValueError(f"the grid has a value of {name} twice: give each one once.")
            object.__setattr__(self, name, tuple(float(value) for value in values))

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """All pairs (alpha, beta)."""
        return tuple(itertools.product(self.alpha, self.beta))

    def __len__(self) -> int:
        return len(self.vigilance) * len(self.alpha) * len(self.beta)


PAPER_GRID = Grid(
    vigilance=tuple(round(0.05 * step, 2) for step in range(2, 19)),
    alpha=(0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0),
    beta=(0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0),
)

# The default parameters are in it. Vigilance goes from many births to none; with the lowest values
# of the paper, choices on some hundred rows were worse on later ones. Of alpha and beta it has
# none, little and much: what lies between differs by less than the folds do
# (experiments/decisions/short_grid.py).
SHORT_GRID = Grid(vigilance=(0.5, 0.8, 1.2, 1.7, 2.5), alpha=(0.0, 0.5), beta=(0.0, 0.1, 10.0))
