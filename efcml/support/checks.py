"""Checks of single values: each refuses what is not allowed, naming the value and the range."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeAlias

Limit: TypeAlias = float | None

MOST_WEIGHT = 1e9  # of a row; beyond, sums over rows of weight 1 would be lost in rounding


def number_range(
    *, above: Limit = None, least: Limit = None, below: Limit = None, most: Limit = None
) -> str:
    """Return a range in words.

    Examples
    --------
    >>> number_range(above=0.0, most=1.0)
    '> 0 and <= 1'
    """
    limits = [("> ", above), (">= ", least), ("< ", below), ("<= ", most)]
    return " and ".join(f"{sign}{limit:g}" for sign, limit in limits if limit is not None)


def whole_range(*, least: int, most: int | None = None) -> str:
    """Return a range of whole numbers in words."""
    return f">= {least}" if most is None else f"from {least} to {most}"


def check_number(
    name: str,
    value: Any,
    /,
    *,
    words: Collection[str] = (),
    infinite: bool = False,
    **limits: float,
) -> None:
    """Refuse a value that is not a number in the range.

    ``limits`` are some of ``above``, ``least``, ``below`` and ``most``; ``words`` may stand for a
    number.
    """
    if isinstance(value, str) and value in words:
        return
    good = isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    good = good and (infinite or not math.isinf(value))
    if not (good and _is_within(value, **limits)):
        options = "".join(f"{word!r} or " for word in words)
        wanted = f"{options}a number {number_range(**limits)}"
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def _is_within(
    value: Any,
    *,
    above: Limit = None,
    least: Limit = None,
    below: Limit = None,
    most: Limit = None,
) -> bool:
    return (
        (above is None or value > above)
        and (least is None or value >= least)
        and (below is None or value < below)
        and (most is None or value <= most)
    )


def check_whole(name: str, value: Any, /, *, least: int, most: int | None = None) -> None:
    """Refuse a value that is not a whole number of at least ``least``, and at most ``most``."""
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not (good and _is_within(value, least=least, most=most)):
        wanted = whole_range(least=least, most=most)
        raise ValueError(f"{name} must be a whole number {wanted}; got {value!r}.")


def check_backend(jobs: Any, dask: Any) -> None:
    """Refuse numbers of processes that make no sense, and two backends at once."""
    if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs < -1 or jobs == 0:
        raise ValueError(f"jobs must be a number of processes, or -1 for every core; got {jobs!r}.")
    if dask is not None and jobs != 1:
        raise ValueError("give either jobs or dask: a cluster has as many workers as you start.")


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither true nor false."""
    if value not in (True, False):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a value that is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
