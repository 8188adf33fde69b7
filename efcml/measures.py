"""Measures of multi-label predictions, by row and on average.

A label that is NaN in Y is unknown: it counts neither as right nor as wrong, and takes no part in
the ranking of its row.
"""

from __future__ import annotations

import numpy as np


def partial_accuracy(Y, labels):
    """Return the share of right label decisions, which is 1 - Hamming loss.

    Parameters
    ----------
    Y : array of shape (n, K)
        True labels 0 or 1, NaN where unknown.
    labels : array of shape (n, K)
        Predicted labels 0 or 1.

    Returns
    -------
    float
        NaN if no label is known.

    Examples
    --------
    >>> partial_accuracy([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.75
    """
    Y, labels = _check_pair(Y, labels, "labels")
    known = ~np.isnan(Y)
    return float((Y == labels)[known].mean()) if known.any() else float("nan")


def partial_accuracy_rows(Y, labels):
    """Return the share of right decisions among the known labels of every row.

    A row without any known label is NaN. With all labels known, the mean over the rows is
    `partial_accuracy`; with unknown ones it is not, since rows then count alike.
    """
    Y, labels = _check_pair(Y, labels, "labels")
    return _divide((Y == labels).sum(axis=1), (~np.isnan(Y)).sum(axis=1))


def average_precision(Y, scores):
    """Return the label-ranking average precision.

    The precision at a true label is the share of true labels among those scored at least as high
    (so ties count against it); it is averaged over the true labels of a row, then over the rows.
    Rows without any true label have no ranking and are left out; scikit-learn counts them as 1.

    Parameters
    ----------
    Y : array of shape (n, K)
        True labels 0 or 1, NaN where unknown.
    scores : array of shape (n, K)
        Higher for a label that is more likely; not clipped, as clipping makes ties.

    Returns
    -------
    float
        NaN if no row has a true label.

    Examples
    --------
    >>> average_precision([[1, 0, 0], [0, 0, 0]], [[0.8, 0.9, 0.1], [0.5, 0.4, 0.3]])
    0.5
    """
    rows = average_precision_rows(Y, scores)
    defined = ~np.isnan(rows)
    return float(rows[defined].mean()) if defined.any() else float("nan")


def average_precision_rows(Y, scores):
    """Return the label-ranking average precision of every row, NaN where it has no true label."""
    Y, scores = _check_pair(Y, scores, "scores")
    true, unknown = Y == 1, np.isnan(Y)
    # Unknown labels are sorted behind all others, so that they stand above no true one.
    order = np.lexsort((-scores, unknown), axis=1)
    scores, true, unknown = (
        np.take_along_axis(table, order, axis=1) for table in (scores, true, unknown)
    )
    changes = (scores[:, 1:] != scores[:, :-1]) | (unknown[:, 1:] != unknown[:, :-1])
    last = _last_of_tie(changes)
    true_up_to = np.take_along_axis(np.cumsum(true, axis=1), last, axis=1)
    return _divide((true * true_up_to / (last + 1)).sum(axis=1), true.sum(axis=1))


def running_mean(values):
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
    return _divide(np.cumsum(np.where(defined, values, 0.0)), np.cumsum(defined))


def _last_of_tie(changes):
    """Return for every column the last one before the next change; changes has shape (n, K - 1)."""
    n, before_last = changes.shape
    ends = np.full((n, before_last + 1), before_last)
    ends[:, :-1] = np.where(changes, np.arange(before_last), before_last)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def _divide(total, count):
    """Divide, with NaN where the count is 0."""
    result = np.full(total.shape, np.nan)
    return np.divide(total, count, out=result, where=count > 0)


def _check_pair(Y, predicted, what):
    Y = np.asarray(Y, dtype=np.float64)
    predicted = np.asarray(predicted, dtype=np.float64)
    if Y.ndim != 2 or Y.shape != predicted.shape:
        raise ValueError(
            f"Y has shape {Y.shape} and {what} {predicted.shape}: give two tables of equal shape"
        )
    _refuse(Y, ~((Y == 0) | (Y == 1) | np.isnan(Y)), "Y", "labels are 0, 1, or NaN where unknown")
    if what == "labels":
        wrong = ~((predicted == 0) | (predicted == 1))
        _refuse(predicted, wrong, what, "give decisions 0 or 1, such as scores >= 0.5")
    else:
        _refuse(predicted, np.isnan(predicted), what, "give a number for every label")
    return Y, predicted


def _refuse(table, wrong, what, advice):
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(f"{what}[{row}, {column}] is {table[row, column]:g}: {advice}")
