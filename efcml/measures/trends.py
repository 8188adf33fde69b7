"""Measures along a stream: one value per row, for curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.support.checks import check_number, check_whole

from .measures import divide, find

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats


def trend(
    Y: ArrayLike,
    scores: ArrayLike,
    measure: str = "pa",
    window: int | None = None,
    fading: float | None = None,
    *,
    ready: bool = False,
) -> Floats:
    """Return a measure up to each row: over all rows so far, over a window, or fading.

    It is NaN where no row so far, or none in the window, has the measure.

    Parameters
    ----------
    Y, scores : array of shape (n, K)
        True labels, NaN where unknown, and raw scores, given before the row was learned.
    measure : str
        One of `MEASURES`.
    window, fading : int and float, optional
        Take this many last rows, or weigh a row that is t rows old by ``fading ** t``.
    ready : bool
        Whether ``scores`` are what the measure takes, such as a model's own decisions.

    Examples
    --------
    >>> trend([[1], [1], [0], [0]], [[0.0], [0.9], [0.2], [0.1]], window=2)
    array([0. , 0.5, 1. , 1. ])
    """
    found = find(measure)
    if window is not None and fading is not None:
        raise ValueError("window and fading are both given: choose one of them")
    totals = found.tallies(Y, scores, ready=ready)
    if window is not None:
        check_whole("window", window, least=1)
        totals = sum_windows(totals, window)
    elif fading is not None:
        check_number("fading", fading, above=0.0, most=1.0)
        for row in range(1, len(totals)):
            totals[row] += fading * totals[row - 1]
    else:
        totals = np.cumsum(totals, axis=0)
    return found.value_of(totals)


def running_mean(values: ArrayLike) -> Floats:
    """Return the mean of all values up to each one, skipping NaN; NaN until the first value."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values has shape {values.shape}: give one value per row")
    defined = ~np.isnan(values)
    return divide(np.cumsum(np.where(defined, values, 0.0)), np.cumsum(defined))


def sum_windows(tallies: Floats, window: int) -> Floats:
    """Sum the last rows at each row, without subtraction: no rounding errors pile up."""
    # Blocks are as long as the window, which is the head of one and the tail of the one before.
    n, *shape = tallies.shape
    window = min(window, n)
    blocks = np.zeros((-(-n // window), window, *shape))
    blocks.reshape(-1, *shape)[:n] = tallies
    totals = np.cumsum(blocks, axis=1)
    totals[1:, :-1] += np.cumsum(blocks[:-1, :0:-1], axis=1)[:, ::-1]
    return totals.reshape(-1, *shape)[:n]
