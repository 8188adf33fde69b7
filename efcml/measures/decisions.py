"""Measures of decided labels: partial accuracy, subset accuracy, and F1 in three averages.

Unknown labels (NaN in Y) count neither as right nor as wrong. They are left out of every count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .label_checks import check_pair, divide, mean_of_defined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Floats, Ints

__all__ = [
    "example_f1",
    "example_f1_rows",
    "macro_f1",
    "micro_f1",
    "partial_accuracy",
    "partial_accuracy_rows",
    "subset_accuracy",
    "subset_accuracy_rows",
]


def partial_accuracy(Y: ArrayLike, labels: ArrayLike) -> float:
    """Return the share of right label decisions, which is 1 - Hamming loss.

    It is the share of all known decisions, not a mean of row means: a row with more known labels
    weighs more.

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
    right, known = count_right(*check_pair(Y, labels, "labels"))
    return float(divide(right.sum(), known.sum()))


def partial_accuracy_rows(Y: ArrayLike, labels: ArrayLike) -> Floats:
    """Return the share of right decisions among the known labels of every row.

    A row without any known label is NaN. With all labels known, the mean over the rows is
    `partial_accuracy`; with unknown ones it is not, since rows then count alike.
    """
    return divide(*count_right(*check_pair(Y, labels, "labels")))


def subset_accuracy(Y: ArrayLike, labels: ArrayLike) -> float:
    """Return the share of rows in which every known label is right.

    Parameters
    ----------
    Y, labels : array of shape (n, K)
        True labels, NaN where unknown, and predicted labels.

    Returns
    -------
    float
        Rows without any known label are left out; NaN if there is no other row.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.5
    """
    return mean_of_defined(subset_accuracy_rows(Y, labels))


def subset_accuracy_rows(Y: ArrayLike, labels: ArrayLike) -> Floats:
    """Return 1 for rows in which every known label is right, else 0; NaN if none is known."""
    right, known = count_right(*check_pair(Y, labels, "labels"))
    return np.where(known > 0, right == known, np.nan)


def example_f1(Y: ArrayLike, labels: ArrayLike) -> float:
    """Return F1 of every row, averaged over the rows.

    F1 of a row is 2 * hits / (true labels + predicted labels). A row with neither true nor
    predicted labels is exactly right and counts 1, as in scikit-learn with ``zero_division=1``.

    Parameters
    ----------
    Y, labels : array of shape (n, K)
        True labels, NaN where unknown, and predicted labels.

    Returns
    -------
    float
        Rows without any known label are left out; NaN if there is no other row.

    Examples
    --------
    >>> example_f1([[1, 0, 0], [0, 0, 0]], [[1, 1, 1], [0, 0, 0]])
    0.75
    """
    return mean_of_defined(example_f1_rows(Y, labels))


def example_f1_rows(Y: ArrayLike, labels: ArrayLike) -> Floats:
    """Return F1 of every row: 1 if nothing is true or predicted, NaN if no label is known."""
    Y, labels = check_pair(Y, labels, "labels")
    hits, sizes = (count.sum(axis=1) for count in count_hits(Y, labels))
    rows = np.where(sizes > 0, divide(2 * hits, sizes), 1.0)
    return np.where(np.isnan(Y).all(axis=1), np.nan, rows)


def micro_f1(Y: ArrayLike, labels: ArrayLike) -> float:
    """Return F1 of all known decisions together.

    Parameters
    ----------
    Y, labels : array of shape (n, K)
        True labels, NaN where unknown, and predicted labels.

    Returns
    -------
    float
        2 * hits / (true labels + predicted labels); NaN if nothing is true or predicted, as in
        scikit-learn with ``zero_division=np.nan``.

    Examples
    --------
    >>> micro_f1([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.8
    """
    hits, sizes = count_hits(*check_pair(Y, labels, "labels"))
    return float(divide(2 * hits.sum(), sizes.sum()))


def macro_f1(Y: ArrayLike, labels: ArrayLike) -> float:
    """Return F1 of every label, averaged over the labels.

    A label that is nowhere true and nowhere predicted says nothing and is left out, as in
    scikit-learn with ``zero_division=np.nan``. A label that is true and never predicted, or
    predicted and never true, counts 0.

    Parameters
    ----------
    Y, labels : array of shape (n, K)
        True labels, NaN where unknown, and predicted labels.

    Returns
    -------
    float
        NaN if nothing is true or predicted.

    Examples
    --------
    >>> macro_f1([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    0.5
    """
    hits, sizes = (count.sum(axis=0) for count in count_hits(*check_pair(Y, labels, "labels")))
    return mean_of_defined(divide(2 * hits, sizes))


def count_right(Y: Floats, labels: Floats) -> tuple[Ints, Ints]:
    """Return the numbers of right decisions and of known labels of every row."""
    return (Y == labels).sum(axis=1), (~np.isnan(Y)).sum(axis=1)


def count_hits(Y: Floats, labels: Floats) -> tuple[Array, Array]:
    """Return two tables: true and predicted (0 or 1); true plus predicted (0, 1 or 2)."""
    true, predicted = Y == 1, (labels == 1) & ~np.isnan(Y)
    return (true & predicted).astype(np.int8), np.add(true, predicted, dtype=np.int8)
