"""Contiguous folds: neighbouring rows of a stream are often related, so they stay together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Array


def contiguous_folds(n_rows: int, folds: int) -> list[slice]:
    """Return the slices of rows that are held out in turn.

    Examples
    --------
    >>> contiguous_folds(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [fold * n_rows // folds for fold in range(folds + 1)]
    return [slice(low, high) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def without(table: Array, held_out: slice) -> Array:
    """Return the rows of a table that are not held out."""
    return np.delete(table, held_out, axis=0)
