"""What sentences and pictures share: words for levels, and how sure a share is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats

# In standard deviations of a feature. The inner cuts split a normal feature into thirds (31, 38
# and 31 %), the outer ones take the last 7 % off on either side.
CUTS = (-1.5, -0.5, 0.5, 1.5)
LEVELS = ("very low", "low", "medium", "high", "very high")

SURE = 1.96  # standard errors: the interval holds in 95 of 100 cases
NEXT_TO_NOTHING = 1e-9  # rows, from which no share can be told


def wilson(shares: ArrayLike, rows: ArrayLike) -> tuple[Floats, Floats]:
    """Return between which values shares lie that were seen in so many rows (Wilson).

    Examples
    --------
    >>> low, high = wilson([0.8, 0.3], [100, 0])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.711, 0.0], [0.867, 1.0])
    """
    seen, rows = np.asarray(shares, dtype=float), np.asarray(rows, dtype=float)
    none = rows < NEXT_TO_NOTHING
    square = SURE**2 / np.where(none, 1.0, rows)
    middle = (seen + square / 2.0) / (1.0 + square)
    half = np.sqrt(seen * (1.0 - seen) * square + square**2 / 4.0) / (1.0 + square)
    low = np.where(none, 0.0, np.maximum(middle - half, 0.0))
    return low, np.where(none, 1.0, np.minimum(middle + half, 1.0))
