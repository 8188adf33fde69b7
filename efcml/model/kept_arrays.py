"""KeptArrays: a few arrays by a table of fields, for the kernels, for copies and for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from efcml.model.definite import whole
from efcml.model.fields import allocate

if TYPE_CHECKING:
    from efcml.model.fields import Field
    from efcml.support.aliases import Array, Arrays, Shapes


class KeptArrays:
    """Arrays of a table, and scratch arrays beside them; ``arrays`` goes to the kernels.

    A subclass names its tables and its bundle. What is symmetric is kept by its lower triangle;
    `state` gives it whole.
    """

    FIELDS: ClassVar[Sequence[Field]]
    SCRATCH: ClassVar[Sequence[Field]]
    BUNDLE: ClassVar[Any]
    LENGTHS: ClassVar[dict[str, int]] = {"2": 2, "3": 3, "4": 4}

    def __init__(self, n_labels: int) -> None:
        sizes = self.LENGTHS | {"K": n_labels}
        self._adopt({field.name: allocate(field, sizes) for field in self.FIELDS}, n_labels)

    def _adopt(self, fields: Arrays, n_labels: int) -> None:
        """Take arrays into use, with scratch arrays of the same sizes."""
        sizes = self.LENGTHS | {"K": n_labels}
        scratch = {field.name: allocate(field, sizes) for field in self.SCRATCH}
        self.n_labels = n_labels
        self.arrays = self.BUNDLE(**fields, **scratch)

    def _fields(self) -> Arrays:
        return {field.name: getattr(self.arrays, field.name) for field in self.FIELDS}

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self).__new__(type(self))
        fields = {name: array.copy() for name, array in self._fields().items()}
        other._adopt(fields, self.n_labels)
        return other

    def add_labels(self, count: int) -> None:
        """Take in labels that appear late; they get the fill values of an empty table."""
        fields, late = self._fields(), type(self)(count)._fields()
        for field in self.FIELDS:
            if "K" in field.dims:
                fields[field.name] = _joined(field, fields[field.name], late[field.name])
        self._adopt(fields, self.n_labels + count)

    def state(self) -> Arrays:
        """Return a copy of every array, for saving."""
        return {
            field.name: whole(array) if field.symmetric else array.copy()
            for field, array in zip(self.FIELDS, self._fields().values(), strict=True)
        }

    @classmethod
    def state_shapes(cls, n_labels: int) -> Shapes:
        """Return type and shape of every array of a state with so many labels; nothing is made."""
        sizes = cls.LENGTHS | {"K": n_labels}
        return {
            field.name: (f"<{field.dtype}", tuple(sizes[dim] for dim in field.dims))
            for field in cls.FIELDS
        }

    def restore(self, fields: Arrays) -> Self:
        """Take over what :meth:`state` returned."""
        for field in self.FIELDS:
            kept = fields[field.name]
            getattr(self.arrays, field.name)[...] = np.tril(kept) if field.symmetric else kept
        return self

    def __getstate__(self) -> tuple[int, Arrays]:
        return self.n_labels, self.state()

    def __setstate__(self, state: tuple[int, Arrays]) -> None:
        n_labels, fields = state
        KeptArrays.__init__(self, n_labels)
        self.restore(fields)


def _joined(field: Field, old: Array, late: Array) -> Array:
    """Return an array with the entries of late labels behind the old; what lies between is 0."""
    if field.dims.count("K") == 1:
        return np.concatenate([old, late])
    both = np.zeros((len(old) + len(late),) * 2)
    both[: len(old), : len(old)] = old
    both[len(old) :, len(old) :] = late
    return both
