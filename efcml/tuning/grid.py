"""What is searched: some values of some parameters, every one with every other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np


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


def in_words(point: dict[str, Any]) -> str:
    """Return a point as it is written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in point.items())


PAPER_GRID = Grid(
    vigilance=[round(0.05 * step, 2) for step in range(2, 19)],
    alpha=[0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.5, 1.0, 5.0, 10.0],
    beta=[0.0, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0],
)
# The default is in it. Vigilance goes from many births to none; alpha and beta are little and much.
SHORT_GRID = Grid(vigilance=[0.5, 0.8, 1.2, 1.7, 2.5], alpha=[0.0, 0.5], beta=[0.1, 10.0])
