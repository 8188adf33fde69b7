"""Label frequencies, probabilities of scores, intervals of shares, and words for levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from efcml.support.aliases import Floats

TAIL = 0.05  # width of the bent ends of probabilities
SURE = 1.96  # standard errors: the interval holds in 95 of 100 cases
NEXT_TO_NOTHING = 1e-9  # rows, from which no share can be told

UNUSED = "unused "  # how features are called that wait for a word or a name that comes late


def label_means(Y: Floats, amounts: Floats | None = None) -> Floats:
    """Return the share of each label among the rows that know it; 0 where none does.

    ``amounts`` are weights of the rows, above 0.
    """
    known, amounts = ~np.isnan(Y), np.ones(len(Y)) if amounts is None else amounts
    total = (amounts[:, None] * known).sum(axis=0)
    return amounts @ np.where(known, Y, 0.0) / np.where(total > 0.0, total, 1.0)


def similarity(X: Floats, Z: Floats, width: float) -> Floats:
    """Return ``exp(-|x - z|^2 / (2 width p))`` of all pairs of rows (n, m)."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * X @ Z.T
    alike: Floats = np.exp(-0.5 / (max(X.shape[1], 1) * width) * np.maximum(squares, 0.0))
    return alike


def squash(score: Floats) -> Floats:
    """Map scores into [0, 1], rising: straight in the middle, hyperbolic at the ends.

    The ends are approached and, by rounding, reached: scores from about 5e13 on give 1.

    Examples
    --------
    >>> squash(np.array([-1.0, 0.0, 0.5, 0.99, 2.0])).round(3).tolist()
    [0.002, 0.025, 0.5, 0.972, 0.998]
    >>> squash(np.array([-1e300, 1e300])).tolist()
    [2.5e-303, 1.0]
    """
    low, high = TAIL, 1.0 - TAIL
    over = np.maximum(score - high, 0.0)
    under = np.maximum(low - score, 0.0)
    bent = np.where(score > high, 1.0 - TAIL / (1.0 + over / TAIL), score)
    return np.where(score < low, TAIL / (1.0 + under / TAIL), bent)


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
