"""Values as people bring them: under a mask of numpy, or sparse."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def fill_mask(values: Any) -> Any:
    """Return labels with NaN under the mask; anything else as it is.

    Examples
    --------
    >>> fill_mask(np.ma.array([1, 0, 1], mask=[False, False, True])).tolist()
    [1.0, 0.0, nan]
    """
    values = _with_mask(values)
    if not np.ma.is_masked(values):
        return values
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return values.astype(kind).filled(np.nan)


def refuse_mask(values: Any, name: str) -> Any:
    """Return values unless some are under a mask."""
    values = _with_mask(values)
    if np.ma.is_masked(values):
        at = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        raise ValueError(f"{name} hides values under its mask, first at {at}: fill them in.")
    return values


def _with_mask(values: Any) -> Any:
    """Return a list of rows of which some are masked as one masked array; others as they are."""
    if isinstance(values, list | tuple) and any(np.ma.isMA(row) for row in values):
        return np.ma.array(values)
    return values


def is_sparse(values: Any) -> bool:
    """Tell whether values are a sparse matrix of scipy, which nobody has who did not load it."""
    # A thread may be in the middle of loading it: then it has no function yet.
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return issparse is not None and issparse(values)


def densify(labels: Any) -> Any:
    """Return labels of scipy or pandas that are sparse as dense ones; anything else as it is.

    What a matrix does not hold is 0, what it holds twice is added up. A data frame of which all
    columns are sparse has its own fill values, NaN among them.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> densify(coo_array(([1, 1], ([0, 1], [1, 0])))).tolist()
    [[0, 1], [1, 0]]
    """
    if is_sparse(labels):
        return labels.toarray()
    # pandas has `sparse` where all columns are; an empty table has it too, and nothing to change.
    sparse = hasattr(labels, "iloc") and hasattr(labels, "sparse") and 0 not in labels.shape
    return labels.sparse.to_dense() if sparse else labels
