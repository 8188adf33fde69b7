"""States for saving: facts that JSON can hold, and arrays by name.

A state is a pair ``(facts, arrays)``. Parts of a whole are put under the name of the part, as
folders are: the array ``W`` of the part ``rules`` is ``rules/W``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Array

INFINITY = "infinity"  # JSON has no word for it; no parameter has this one


def nest(**parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of all parts in one dictionary, each under the name of its part.

    Examples
    --------
    >>> nest(model={"W": 1}, run={"scores": 2})
    {'model/W': 1, 'run/scores': 2}
    """
    return {f"{part}/{name}": parts[part][name] for part in parts for name in parts[part]}


def pick(entries: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the entries of one part, as they were before `nest`.

    Examples
    --------
    >>> pick({"model/rules/W": 1, "run/scores": 2}, "model")
    {'rules/W': 1}
    """
    start = f"{part}/"
    return {name[len(start) :]: entries[name] for name in entries if name.startswith(start)}


def pick_numbered(entries: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the entries of the parts "0", "1" and so on, in one pass over all of them.

    Examples
    --------
    >>> pick_numbered({"0/W": 1, "1/W": 2, "1/rules/P": 3}, 2)
    [{'W': 1}, {'W': 2, 'rules/P': 3}]
    """
    parts: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, entry in entries.items():
        number, _, rest = name.partition("/")
        parts[int(number)][rest] = entry
    return parts


def fingerprint(*arrays: Array) -> str:
    """Return a text that stands for the shapes and values of arrays.

    Examples
    --------
    >>> fingerprint(np.zeros(2)) == fingerprint(np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(array.shape).encode())
        # The bytes of tobytes(), without a copy of an array that may be larger than memory.
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def to_plain(value: Any) -> Any:
    """Return a value of a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return INFINITY if isinstance(value, float) and value == math.inf else value


def from_plain(value: Any) -> Any:
    """Return what `to_plain` was given, as a number of Python."""
    return math.inf if value == INFINITY else value
