"""Scores as probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

TAIL = 0.05  # width of the bent ends


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
