"""Shapes of what is drawn, refused with a sentence where they do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def as_array(values: Any, *shape: int | None, name: str) -> Floats:
    """Return an array of floats of the given shape; None stands for any length.

    Something empty fits every shape that starts with None.

    Examples
    --------
    >>> as_array([[1, 2]], None, 2, name="centers")
    array([[1., 2.]])
    >>> as_array([1, 2], None, 2, name="centers")
    Traceback (most recent call last):
    ValueError: centers must be an array of shape (any, 2), not (2,).
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):  # an object, or rows of different lengths
        wanted = describe(shape)
        kind = type(values).__name__
        raise ValueError(f"{name} must be an array of shape {wanted}, not a {kind}.") from None
    if not array.size and shape[0] is None:
        return np.zeros([length or 0 for length in shape])
    fits = array.ndim == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = describe(shape)
        raise ValueError(f"{name} must be an array of shape {wanted}, not {array.shape}.")
    return array


def describe(shape: Sequence[int | None]) -> str:
    """Return a shape in words; None stands for any length."""
    lengths = ", ".join("any" if length is None else str(length) for length in shape)
    return f"({lengths}{',' * (len(shape) == 1)})"
