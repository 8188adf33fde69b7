"""Contiguous folds: neighbouring rows of a stream are often related, so they stay together."""

import numpy as np


def contiguous_folds(n_rows, folds):
    """Return the slices of rows that are held out in turn.

    Examples
    --------
    >>> contiguous_folds(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [fold * n_rows // folds for fold in range(folds + 1)]
    return [slice(low, high) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def without(table, held_out):
    """Return the rows of a table that are not held out."""
    return np.delete(table, held_out, axis=0)
