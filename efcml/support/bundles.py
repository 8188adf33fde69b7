"""Bundles: arrays and numbers that travel together.

Like a named tuple, but handed to kernels as one pointer (efcml/_jit/bundle_types.py). What a bundle
holds is fixed when it is made; what is *in* its arrays can change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self


class Bundle:
    """The base of all classes that :func:`bundle` makes."""

    __slots__ = ("_address", "_numba_type_", "_words")
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self._fields, values, strict=False)) | named
        if set(given) != set(self._fields) or len(values) + len(named) != len(self._fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; its arrays can")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self.values()

    def values(self) -> tuple[Any, ...]:
        """Return what all fields hold, in their order."""
        return tuple(getattr(self, name) for name in self._fields)

    def replace(self, **changes: Any) -> Self:
        """Return a bundle with other values in some fields."""
        return type(self)(**(dict(zip(self._fields, self.values(), strict=True)) | changes))


def bundle(name: str, fields: str | Iterable[str], module: str) -> type[Any]:
    """Return a class of bundles with these fields, to be bound to its name in ``module``."""
    fields = tuple(fields.split() if isinstance(fields, str) else fields)
    return type(name, (Bundle,), {"__slots__": fields, "_fields": fields, "__module__": module})
