"""Measures over the rows of a stream: one value per row, for curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .label_checks import check_factor, check_window, divide
from .measure_list import find

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

    The values are those that `Running`, `Sliding` or `Fading` has after each row.

    Parameters
    ----------
    Y : array of shape (n, K)
        True labels 0 or 1, NaN where unknown, in the order of the stream.
    scores : array of shape (n, K)
        Raw scores, given before the row was learned.
    measure : str
        One of `MEASURES`.
    window : int, optional
        Take the last rows only, this many.
    fading : float, optional
        Weigh a row that is t rows old by ``fading ** t``.
    ready : bool
        Whether ``scores`` are what the measure takes, such as a model's own decisions.

    Returns
    -------
    array of shape (n,)
        NaN where no row so far, or none in the window, has the measure.

    Examples
    --------
    >>> trend([[1], [1], [0], [0]], [[0.0], [0.9], [0.2], [0.1]], window=2)
    array([0. , 0.5, 1. , 1. ])
    """
    if window is not None and fading is not None:
        raise ValueError("window and fading are both given: choose one of them")
    found = find(measure)
    tallies = found.tallies(Y, scores, ready=ready)
    if window is not None:
        totals = _sums_of_windows(tallies, check_window(window))
    elif fading is not None:
        totals = _faded_sums(tallies, check_factor(fading))
    else:
        totals = np.cumsum(tallies, axis=0)
    return found.value_of(totals)


def running_mean(values: ArrayLike) -> Floats:
    """Return the mean of all values up to each one, skipping NaN; NaN until the first value.

    Examples
    --------
    >>> running_mean([float("nan"), 1.0, float("nan"), 0.0])
    array([nan, 1. , 1. , 0.5])
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values has shape {values.shape}: give one value per row")
    defined = ~np.isnan(values)
    return divide(np.cumsum(np.where(defined, values, 0.0)), np.cumsum(defined))


def _faded_sums(tallies: Floats, factor: float) -> Floats:
    totals = tallies.copy()
    for row in range(1, len(totals)):
        totals[row] += factor * totals[row - 1]
    return totals


def _sums_of_windows(tallies: Floats, window: int) -> Floats:
    """Sum the last rows at each row, without subtraction.

    The rows are cut into blocks as long as the window. A window is then the head of one block and
    the tail of the block before.
    """
    n, *shape = tallies.shape
    window = min(window, n)
    blocks = -(-n // window)
    padded = np.zeros((blocks * window, *shape))
    padded[:n] = tallies
    padded = padded.reshape(blocks, window, *shape)
    totals = np.cumsum(padded, axis=1)
    tails = np.cumsum(padded[:-1, :0:-1], axis=1)[:, ::-1]
    totals[1:, :-1] += tails
    return totals.reshape(-1, *shape)[:n]
