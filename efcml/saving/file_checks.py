"""What facts and arrays of a file must be, said in one line each."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.blas import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Arrays, Facts

INT64 = range(2**63)
WHOLE = range(2**53)  # whole numbers that floats hold exactly; sums of some stay below 2**63
SIZE = range(1, 2**20)  # features or labels; matrices of more would not fit into memory


def take(facts: Any, what: str, **kinds: Any) -> Facts:
    """Return facts that have exactly these names, each with a value of its kind, or refuse them.

    A kind is a type, a range of whole numbers, or a tuple of kinds.

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
        if not is_of_kind(facts[name], kind):
            raise ValueError(f"{what} says {name}={shorten(repr(facts[name]), 40)}")
    return facts


def is_of_kind(value: object, kind: Any) -> bool:
    """Tell whether a value of JSON is of a kind; True is no number here, and 1.0 is not whole."""
    if isinstance(kind, tuple):
        return any(is_of_kind(value, one) for one in kind)
    if isinstance(kind, range):
        return type(value) is int and value in kind
    return type(value) is kind


def take_words(values: Any, what: str, count: int) -> list[str]:
    """Return a list of so many strings, or refuse it."""
    good = isinstance(values, list) and len(values) == count
    if not good or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{what} must be {count} words")
    return values


def shorten(reason: object, most: int = 300) -> str:
    """Return the text of a reason without its full stop, at most so long."""
    text = str(reason)
    text = text if len(text) <= most else f"{text[:most]} ..."
    return text.removesuffix(".")


def check_all(good: ArrayLike, what: str) -> None:
    """Refuse an array of which not every entry is good."""
    if not np.all(good):
        raise ValueError(what)


def check_whole(arrays: Arrays) -> None:
    """Refuse whole numbers that are negative or so large that sums could overflow."""
    for name, array in arrays.items():
        if array.dtype.kind == "i":
            check_all((array >= 0) & (array < WHOLE.stop), f"{name} holds impossible counts")


def check_finite(arrays: Arrays, *, but: Collection[str] = ()) -> None:
    """Refuse floats that are NaN or infinite."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and name not in but:
            check_all(np.isfinite(array), f"{name} holds NaN or infinity")


def check_positive(arrays: Arrays, *names: str) -> None:
    """Refuse numbers that are not above zero."""
    for name in names:
        check_all(arrays[name] > 0.0, f"{name} holds numbers that are not above zero")


def check_symmetric(arrays: Arrays, *names: str) -> None:
    """Refuse matrices, the last two axes, that are not symmetric but for rounding."""
    for name in names:
        for matrices in arrays[name]:  # rule by rule: the differences take memory, too
            gap = np.abs(matrices - matrices.swapaxes(-1, -2)).max()
            check_all(gap <= 1e-6 * np.abs(matrices).max(), f"{name} is not symmetric")


def check_definite(arrays: Arrays, *names: str) -> None:
    """Refuse matrices that have no Cholesky factor."""
    check_symmetric(arrays, *names)
    for name in names:
        try:
            with one_blas_thread():
                np.linalg.cholesky(arrays[name])
        except np.linalg.LinAlgError:
            raise ValueError(f"{name} is not positive definite") from None
