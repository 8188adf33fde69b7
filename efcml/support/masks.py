"""Values as people bring them, under a mask of numpy or sparse, and as kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from efcml.support.aliases import Floats, Ints


def fill_mask(values: Any) -> Any:
    """Return labels with NaN under the mask; anything else as it is.

    Examples
    --------
    >>> fill_mask(np.ma.array([1, 0, 1], mask=[False, False, True])).tolist()
    [1.0, 0.0, nan]
    """
    if type(values) is np.ndarray or not np.ma.is_masked(values):
        return values  # the first is quickly told
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return values.astype(kind).filled(np.nan)


def refuse_mask(values: Any, name: str) -> Any:
    """Return values unless some are under a mask."""
    if np.ma.is_masked(values):
        at = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        raise ValueError(f"{name} hides values under its mask, first at {at}: fill them in.")
    return values


def is_sparse(values: Any) -> bool:
    """Tell whether values are a sparse matrix of scipy."""
    return hasattr(values, "tocsr")


def densify(labels: Any) -> Any:
    """Return what is sparse, of scipy or pandas, as dense values; anything else as it is.

    A data frame of which all columns are sparse has its own fill values, NaN among them.
    """
    if is_sparse(labels):
        return labels.toarray()
    # pandas has `sparse` where all columns are; an empty table has it too, and nothing to change.
    sparse = hasattr(labels, "iloc") and hasattr(labels, "sparse") and 0 not in labels.shape
    return labels.sparse.to_dense() if sparse else labels


def known_rows(Y: Floats) -> Ints:
    """Return the numbers of the rows with a known label."""
    known: Any = (~np.isnan(Y)).any(axis=1)
    return known.nonzero()[0]


def writeable(values: Floats) -> Floats:
    """Return values as kernels take them; a copy, if they are in another order or read-only."""
    return values if values.flags.carray else np.array(values, order="C")
