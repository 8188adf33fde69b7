"""Measures of probabilities: log loss, Brier score, and expected calibration error.

All three go over the known labels of all rows together, as partial accuracy does. Unknown labels
(NaN in Y) count nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .label_checks import check_pair, divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Floats, Ints

__all__ = [
    "brier_score",
    "brier_score_rows",
    "calibration_error",
    "log_loss",
    "log_loss_rows",
    "reliability",
]

BINS = 10  # of equal width, for the calibration error and its picture
SMALLEST = float(np.finfo(np.float64).eps)  # a probability of 0 would cost infinitely much


def log_loss(Y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean of minus the logarithm of the probability that the truth had.

    Probabilities nearer to 0 or 1 than the rounding of floats count as that near, as in
    scikit-learn: one label that is sure and wrong costs 36, and not infinitely much.

    Parameters
    ----------
    Y : array of shape (n, K)
        True labels 0 or 1, NaN where unknown.
    probabilities : array of shape (n, K)
        How likely each label is, in [0, 1].

    Returns
    -------
    float
        NaN if no label is known.

    Examples
    --------
    >>> round(log_loss([[1, 0]], [[0.5, 0.5]]), 4)
    0.6931
    """
    return _over_all(count_log_loss(*check_pair(Y, probabilities, "probabilities")))


def log_loss_rows(Y: ArrayLike, probabilities: ArrayLike) -> Floats:
    """Return the log loss of every row, the mean over its known labels; NaN if there are none."""
    return divide(*count_log_loss(*check_pair(Y, probabilities, "probabilities")))


def brier_score(Y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean squared difference of probability and truth.

    Parameters
    ----------
    Y, probabilities : array of shape (n, K)
        True labels, NaN where unknown, and probabilities in [0, 1].

    Returns
    -------
    float
        NaN if no label is known.

    Examples
    --------
    >>> brier_score([[1, 0]], [[0.5, 0.0]])
    0.125
    """
    return _over_all(count_squares(*check_pair(Y, probabilities, "probabilities")))


def brier_score_rows(Y: ArrayLike, probabilities: ArrayLike) -> Floats:
    """Return the Brier score of every row, the mean over its known labels; NaN without any."""
    return divide(*count_squares(*check_pair(Y, probabilities, "probabilities")))


def calibration_error(Y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return how far probabilities are from what happens, on average: the expected one (ECE).

    Probabilities of all labels fall into ten bins of equal width. In each, the mean probability is
    compared with the share of true labels; the differences are averaged by how much is in a bin.
    It is above 0 for right probabilities too, since few labels in a bin differ by chance.

    Parameters
    ----------
    Y, probabilities : array of shape (n, K)
        True labels, NaN where unknown, and probabilities in [0, 1].

    Returns
    -------
    float
        NaN if no label is known.

    Examples
    --------
    >>> round(calibration_error([[1, 0], [1, 0]], [[0.75, 0.75], [0.75, 0.0]]), 4)
    0.0625
    """
    gaps, counts = gaps_by_bin(*check_pair(Y, probabilities, "probabilities"))
    return float(error_of_bins(np.stack([gaps.sum(axis=0), counts.sum(axis=0)])))


def reliability(Y: ArrayLike, probabilities: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return what was said and what happened in the ten bins of `calibration_error`.

    `efcml.plots.draw_reliability` draws it.

    Parameters
    ----------
    Y, probabilities : array of shape (n, K)
        True labels, NaN where unknown, and probabilities in [0, 1].

    Returns
    -------
    said, happened, counts : array of shape (10,)
        Mean probability, share of true labels, and number of labels in every bin; NaN where a bin
        is empty.

    Examples
    --------
    >>> said, happened, counts = reliability([[1, 0], [1, 0]], [[0.75, 0.75], [0.75, 0.0]])
    >>> float(said[7]), round(float(happened[7]), 2), float(counts[7])
    (0.75, 0.67, 3.0)
    """
    Y, probabilities = check_pair(Y, probabilities, "probabilities")
    known = ~np.isnan(Y)
    bins = bin_of(probabilities)[known]
    counts, sums, true = (
        np.bincount(bins, weights, BINS) for weights in (None, probabilities[known], Y[known])
    )
    return divide(sums, counts), divide(true, counts), counts.astype(np.float64)


def error_of_bins(totals: Floats) -> Floats:
    """Return the calibration error of sums of gaps and counts by bin, of shape (..., 2, BINS)."""
    gaps, counts = totals[..., 0, :], totals[..., 1, :]
    return divide(np.abs(gaps).sum(axis=-1), counts.sum(axis=-1))


def gaps_by_bin(Y: Floats, probabilities: Floats) -> tuple[Floats, Floats]:
    """Return, for every row and bin, the sum of probability minus truth, and how many there are."""
    bins, known = bin_of(probabilities), ~np.isnan(Y)
    gaps = np.where(known, probabilities - Y, 0.0)
    found = np.zeros((2, len(Y), BINS))
    for one in range(BINS):
        inside = bins == one
        found[0, :, one] = np.where(inside, gaps, 0.0).sum(axis=1)
        found[1, :, one] = (inside & known).sum(axis=1)
    return found[0], found[1]


def bin_of(probabilities: Floats) -> Ints:
    """Return the number of the bin of every probability; 1 is in the last one."""
    return np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)


def count_log_loss(Y: Floats, probabilities: Floats) -> tuple[Array, Array]:
    """Return the sum of the log losses of every row, and the number of its known labels."""
    inside = np.clip(probabilities, SMALLEST, 1.0 - SMALLEST)
    losses = np.where(Y == 1, -np.log(inside), -np.log1p(-inside))
    known = ~np.isnan(Y)
    return np.where(known, losses, 0.0).sum(axis=1), known.sum(axis=1)


def count_squares(Y: Floats, probabilities: Floats) -> tuple[Array, Array]:
    """Return the sum of squared differences of every row, and the number of its known labels."""
    known = ~np.isnan(Y)
    return np.where(known, (probabilities - Y) ** 2, 0.0).sum(axis=1), known.sum(axis=1)


def _over_all(counts: tuple[Array, Array]) -> float:
    points, possible = counts
    return float(divide(points.sum(), possible.sum()))
