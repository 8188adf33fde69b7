"""States for saving: facts that JSON can hold, and arrays by name; and what is refused of them.

A state is a pair ``(facts, arrays)``. Parts of a whole are put under the name of the part, as
folders are: the array ``W`` of the part ``rules`` is ``rules/W``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from efcml.support.aliases import Arrays, Facts

WHOLE = range(2**53)  # whole numbers that floats hold exactly; sums of some stay below 2**63


def nest(**parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of all parts in one dictionary, each under the name of its part."""
    return {f"{part}/{name}": parts[part][name] for part in parts for name in parts[part]}


def pick(entries: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the entries of one part, as they were before `nest`."""
    start = f"{part}/"
    return {name[len(start) :]: entries[name] for name in entries if name.startswith(start)}


def take(facts: Any, what: str, **kinds: Any) -> Facts:
    """Return facts that have exactly these names, each with a value of its kind, or refuse them.

    A kind is a type, or a range of whole numbers; True is no number here, and 1.0 is not whole.

    Examples
    --------
    >>> take({"rows": 3}, "the run", rows=range(10))
    {'rows': 3}
    >>> take({"rows": True}, "the run", rows=range(10))
    Traceback (most recent call last):
    ValueError: the run says rows=True
    """
    if not isinstance(facts, dict) or facts.keys() != kinds.keys():
        raise ValueError(f"{what} must say {', '.join(kinds)} and nothing else")
    for name, kind in kinds.items():
        value, whole = facts[name], isinstance(kind, range)
        if type(value) is not (int if whole else kind) or (whole and value not in kind):
            raise ValueError(f"{what} says {name}={shorten(repr(value), 40)}")
    return facts


def shorten(reason: object, most: int = 300) -> str:
    """Return the text of a reason in one line, without its full stop, at most so long."""
    text = " ".join(str(reason).split())
    text = text if len(text) <= most else f"{text[:most]} ..."
    return text.removesuffix(".")


def fitting(arrays: Arrays, like: Arrays) -> Arrays:
    """Return arrays that have the names, types and shapes of others, or refuse them."""
    if arrays.keys() != like.keys():
        raise ValueError("its arrays are not those that its header asks for")
    for name, array in arrays.items():
        if (array.dtype, array.shape) != (like[name].dtype, like[name].shape):
            raise ValueError(f"the array {name} has another type or shape than it must have")
    return arrays


def check_all(good: ArrayLike, what: str) -> None:
    """Refuse an array of which not every entry is good."""
    if not np.all(good):
        raise ValueError(what)


def check_numbers(arrays: Arrays, *, gaps: tuple[str, ...] = ()) -> None:
    """Refuse impossible counts, and floats that are NaN or infinite but below names with gaps."""
    for name, array in arrays.items():
        if array.dtype.kind == "i":
            check_all((array >= 0) & (array < WHOLE.stop), f"{name} holds impossible counts")
        if array.dtype.kind == "f" and not name.startswith(gaps):
            check_all(np.isfinite(array), f"{name} holds NaN or infinity")
