"""Measures of the order of scores: average precision, ranking loss, one-error and coverage.

Unknown labels (NaN in Y) take no part in the ranking of their row. A tie of a true and a false
label always counts against the model, so equal scores for all labels earn nothing. Rows without
any true label have nothing to rank and are left out; scikit-learn counts them as perfect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .label_checks import check_pair, divide, mean_of_defined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Bools, Floats, Ints

__all__ = [
    "average_precision",
    "average_precision_rows",
    "coverage",
    "coverage_rows",
    "one_error",
    "one_error_rows",
    "ranking_loss",
    "ranking_loss_rows",
]


def average_precision(Y: ArrayLike, scores: ArrayLike) -> float:
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
    return mean_of_defined(average_precision_rows(Y, scores))


def average_precision_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return the label-ranking average precision of every row, NaN where it has no true label."""
    true, true_up_to, all_up_to = _sort_by_score(*check_pair(Y, scores, "scores"))
    return divide((true * true_up_to / all_up_to).sum(axis=1), true.sum(axis=1))


def ranking_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of pairs of a true and a false label in the wrong order.

    A pair is wrong if the false label is scored at least as high as the true one. The share is
    taken in every row, then averaged over the rows.

    Parameters
    ----------
    Y, scores : array of shape (n, K)
        True labels, NaN where unknown, and scores.

    Returns
    -------
    float
        Rows without such a pair (no true label, or no false one) are left out; scikit-learn
        counts them as 0. NaN if there is no other row.

    Examples
    --------
    >>> ranking_loss([[1, 0, 0], [0, 0, 0]], [[0.8, 0.9, 0.1], [0.5, 0.4, 0.3]])
    0.5
    """
    return mean_of_defined(ranking_loss_rows(Y, scores))


def ranking_loss_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return the share of wrong pairs of every row, NaN where it has no pair."""
    Y, scores = check_pair(Y, scores, "scores")
    true, true_up_to, all_up_to = _sort_by_score(Y, scores)
    wrong = (true * (all_up_to - true_up_to)).sum(axis=1)
    return divide(wrong, (Y == 1).sum(axis=1) * (Y == 0).sum(axis=1))


def one_error(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of rows in which the label scored highest is false.

    If a false label shares the highest score, the row is an error.

    Parameters
    ----------
    Y, scores : array of shape (n, K)
        True labels, NaN where unknown, and scores.

    Returns
    -------
    float
        Rows without any true label are left out, as every answer is wrong there. NaN if there is
        no other row.

    Examples
    --------
    >>> one_error([[1, 0, 0], [0, 1, 1]], [[0.8, 0.9, 0.1], [0.5, 0.6, 0.3]])
    0.5
    """
    return mean_of_defined(one_error_rows(Y, scores))


def one_error_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return 1 for rows whose highest score is of a false label, else 0; NaN without true ones."""
    Y, scores = check_pair(Y, scores, "scores")
    true, false = Y == 1, Y == 0
    best_true = scores.max(axis=1, where=true, initial=-np.inf)
    best_false = scores.max(axis=1, where=false, initial=-np.inf)
    wrong = false.any(axis=1) & (best_false >= best_true)
    return np.where(true.any(axis=1), wrong, np.nan)


def coverage(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return how many labels have to be taken, highest first, until all true ones are there.

    At best it is the mean number of true labels per row. Ties with the last true label are taken
    as well.

    Parameters
    ----------
    Y, scores : array of shape (n, K)
        True labels, NaN where unknown, and scores.

    Returns
    -------
    float
        Between 1 and K. Rows without any true label are left out; scikit-learn counts them as 0.
        NaN if there is no other row.

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 0, 1]], [[0.8, 0.9, 0.1], [0.5, 0.4, 0.3]])
    2.5
    """
    return mean_of_defined(coverage_rows(Y, scores))


def coverage_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return the number of labels scored at least as high as the last true one, by row."""
    Y, scores = check_pair(Y, scores, "scores")
    true = Y == 1
    last = scores.min(axis=1, where=true, initial=np.inf)
    taken = ((scores >= last[:, None]) & ~np.isnan(Y)).sum(axis=1)
    return np.where(true.any(axis=1), taken, np.nan)


def _sort_by_score(Y: Floats, scores: Floats) -> tuple[Bools, Ints, Ints]:
    """Sort the labels of every row by falling score, and count.

    Returns whether each label is true, and how many true ones and how many of all have at least
    its score. Unknown labels are sorted behind all others, so that they stand above no true one.
    """
    true, unknown = Y == 1, np.isnan(Y)
    order = np.lexsort((-scores, unknown), axis=1)
    scores, true, unknown = (
        np.take_along_axis(table, order, axis=1) for table in (scores, true, unknown)
    )
    changes = (scores[:, 1:] != scores[:, :-1]) | (unknown[:, 1:] != unknown[:, :-1])
    last = _last_of_tie(changes)
    return true, np.take_along_axis(np.cumsum(true, axis=1), last, axis=1), last + 1


def _last_of_tie(changes: Bools) -> Ints:
    """Return for every column the last one before the next change; changes has shape (n, K - 1)."""
    n, before_last = changes.shape
    ends = np.full((n, before_last + 1), before_last)
    ends[:, :-1] = np.where(changes, np.arange(before_last), before_last)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
