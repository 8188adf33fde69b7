"""Some rows of a table of any kind."""

from typing import Any


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows by a slice, their numbers or a mask; of a list by their numbers.

    Examples
    --------
    >>> take_rows([[1.0], [2.0], [3.0]], [2, 0])
    [[3.0], [1.0]]
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]
