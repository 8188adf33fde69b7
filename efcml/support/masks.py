"""What is missing: values under a mask of numpy, whatever number lies there, and single ones."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def with_mask(values: Any) -> Any:
    """Return a list of rows of which some are masked as one masked array; others as they are."""
    if isinstance(values, list | tuple) and any(np.ma.isMA(row) for row in values):
        return np.ma.array(values)
    return values


def hides(values: Any) -> bool:
    """Tell whether some values are under a mask."""
    return np.ma.isMA(values) and np.ma.is_masked(values)


def fill_mask(values: Any) -> Any:
    """Return labels with NaN under the mask; anything else as it is.

    Examples
    --------
    >>> fill_mask(np.ma.array([1, 0, 1], mask=[False, False, True])).tolist()
    [1.0, 0.0, nan]
    """
    values = with_mask(values)
    if not hides(values):
        return values
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return values.astype(kind).filled(np.nan)


def refuse_mask(values: Any, name: str) -> Any:
    """Return values unless some are under a mask."""
    values = with_mask(values)
    if hides(values):
        at = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        raise ValueError(f"{name} hides values under its mask, first at {at}: fill them in.")
    return values


def is_missing(value: object) -> bool:
    """Tell whether a value says that nothing is known: None, NaN, masked, or what pandas has.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "", "nan")]
    [True, True, False, False, False]
    """
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and bool(value != value)
