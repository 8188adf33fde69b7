"""Dictionaries of features and labels as people bring them, checked before anything is learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite, nan
from numbers import Real
from typing import Any

import numpy as np

from efcml.support.checks import MOST_WEIGHT
from efcml.support.masks import is_missing

NUMBERS = (Real, np.bool_)  # numpy's truth values do not count as real numbers


def read_features(x: Mapping[Any, Any]) -> dict[Any, float]:
    """Return the features that are there as floats; None and NaN are missing.

    Examples
    --------
    >>> read_features({"size": 2, "full": True, "age": None})
    {'size': 2.0, 'full': 1.0}
    """
    features = {}
    for name, value in refuse_others(x, "x", "features").items():
        if is_missing(value):
            continue
        features[name] = as_float(value)
        if not isfinite(features[name]):
            raise ValueError(
                f"feature {name!r} must be a finite number, or None if it is missing; "
                f"got {value!r}: encode it, or leave the feature out of this row."
            )
    return features


def as_float(value: Any) -> float:
    """Return a number of any kind as a float; NaN for what is none or too large for one."""
    try:
        return float(value) if isinstance(value, NUMBERS) else nan
    except OverflowError:
        return nan


def check_weight(w: Any, fitted: bool) -> None:
    """Refuse a weight that a row cannot have, now or ever."""
    if not 0.0 <= as_float(w) <= MOST_WEIGHT:
        raise ValueError(f"w must be a number from 0 to {MOST_WEIGHT:g}; got {w!r}.")
    if w not in (0.0, 1.0) and not fitted:
        raise ValueError(f"rows of the warm-up count alike, w must be 1 or 0; got {w!r}.")


def read_labels(y: Mapping[Any, Any], given: str = "y") -> dict[Any, float]:
    """Return the known labels as 0.0 and 1.0; None and NaN are unknown.

    Examples
    --------
    >>> read_labels({"red": True, "blue": 0, "green": None})
    {'red': 1.0, 'blue': 0.0}
    """
    known = {}
    for name, value in refuse_others(y, given, "labels").items():
        if is_missing(value):
            continue
        if not (isinstance(value, NUMBERS) and value in (0, 1)):
            raise ValueError(
                f"label {name!r} must be True or False (1 or 0), or None if it is unknown; "
                f"got {value!r}."
            )
        known[name] = float(value)
    return known


def refuse_others(given: Any, name: str, content: str) -> Mapping[Any, Any]:
    """Return what was given if it is a dictionary."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dictionary of {content}; got {type(given).__name__}.")
    return given


def in_order(names: Iterable[Any]) -> list[Any]:
    """Return names in an order that does not depend on the one in which they came.

    Examples
    --------
    >>> in_order({10, 9}), in_order({"b", 2, "a"})
    ([9, 10], ['a', 'b', 2])
    """
    try:
        return sorted(names)
    except TypeError:  # names of several kinds
        return sorted(names, key=repr)
