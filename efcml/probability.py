"""Scores as probabilities."""

import numpy as np

TAIL = 0.05  # width of the bent ends


def squash(score):
    """Map scores into (0, 1), strictly rising: straight in the middle, hyperbolic at the ends."""
    low, high = TAIL, 1.0 - TAIL
    over = np.maximum(score - high, 0.0)
    under = np.maximum(low - score, 0.0)
    bent = np.where(score > high, 1.0 - TAIL / (1.0 + over / TAIL), score)
    return np.where(score < low, TAIL / (1.0 + under / TAIL), bent)
