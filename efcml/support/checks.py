"""Checks of single values: each refuses what is not allowed, naming the value and the range."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

MOST_WEIGHT = 1e9  # of a row; beyond, sums over rows of weight 1 would be lost in rounding
LIMITS = {
    "above": (">", operator.gt),
    "least": (">=", operator.ge),
    "below": ("<", operator.lt),
    "most": ("<=", operator.le),
}


def number_range(**limits: float) -> str:
    """Return a range in words, such as "> 0 and <= 1"."""
    return " and ".join(f"{LIMITS[name][0]} {limit:g}" for name, limit in limits.items())


def whole_range(least: int, most: int | None = None) -> str:
    """Return a range of whole numbers in words."""
    return f">= {least}" if most is None else f"from {least} to {most}"


def check_number(name: str, value: Any, /, *, words: Collection[str] = (), **limits: float) -> None:
    """Refuse a value that is not a number in the range, nor one of the words.

    ``limits`` are some of ``above``, ``least``, ``below`` and ``most``.
    """
    if isinstance(value, str) and value in words:
        return
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not all(LIMITS[n][1](value, limit) for n, limit in limits.items()):
        wanted = "".join(f"{word!r} or " for word in words)
        wanted += f"a number {number_range(**limits)}"
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def check_whole(name: str, value: Any, /, *, least: int, most: int | None = None) -> None:
    """Refuse a value that is not a whole number of at least ``least``, and at most ``most``."""
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        wanted = whole_range(least, most)
        raise ValueError(f"{name} must be a whole number {wanted}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither true nor false."""
    if value not in (True, False):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a value that is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
