"""Sparse labels: told apart from others without loading scipy or pandas, and made dense."""

from __future__ import annotations

import sys
from typing import Any


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
    return labels.sparse.to_dense() if hasattr(labels, "iloc") and has_sparse(labels) else labels


def has_sparse(table: Any) -> bool:
    """Tell whether all of a table or series of pandas is sparse; then pandas has ``sparse``."""
    return hasattr(table, "sparse") and 0 not in table.shape
