"""KeptArrays: arrays by a table of fields, for the kernels, for copies and for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from efcml.model.definite import whole
from efcml.model.fields import allocate, shapes_of

if TYPE_CHECKING:
    from efcml.model.fields import Field
    from efcml.support.aliases import Array, Arrays, Shapes, Sizes


class KeptArrays:
    """Arrays of a table, and scratch arrays beside them; ``arrays`` goes to the kernels.

    A subclass names its tables and its bundle, and says which sizes they have. ``arrays`` is
    replaced when labels are added. What is symmetric is kept by its lower triangle
    (kernels/triangle.py); `state` gives it whole.
    """

    FIELDS: ClassVar[Sequence[Field]]
    SCRATCH: ClassVar[Sequence[Field]] = ()
    BUNDLE: ClassVar[Any]
    arrays: Any

    @staticmethod
    def sizes_of(*args: Any, **kwargs: Any) -> Sizes:
        """Return the lengths of the dimensions of the tables, by what a subclass needs to know."""
        raise NotImplementedError

    @classmethod
    def matrices(cls) -> list[str]:
        """Return the names of symmetric matrices."""
        return [field.name for field in cls.FIELDS if field.symmetric]

    def _begin(self, sizes: Sizes, **constants: Any) -> None:
        """Make arrays with their fill values; ``constants`` go to the kernels with them."""
        self._adopt([allocate(field, sizes) for field in self.FIELDS], sizes, constants)

    def _adopt(self, kept: Sequence[Array], sizes: Sizes, constants: dict[str, Any]) -> None:
        """Take arrays into use, with scratch arrays of the same sizes."""
        self.sizes, self.constants = sizes, constants
        fields = {field.name: array for field, array in zip(self.FIELDS, kept, strict=True)}
        scratch = {field.name: allocate(field, sizes) for field in self.SCRATCH}
        self.arrays = self.BUNDLE(**fields, **scratch, **constants)

    def _kept(self) -> list[Array]:
        return [getattr(self.arrays, field.name) for field in self.FIELDS]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.sizes["K"]

    @property
    def used(self) -> Sizes:
        """The lengths that are in use, of those that there are."""
        return self.sizes

    @property
    def nbytes(self) -> int:
        """Memory of what is kept, free slots included."""
        return sum(array.nbytes for array in self._kept())

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self).__new__(type(self))
        other._adopt([array.copy() for array in self._kept()], self.sizes, self.constants)
        return other

    def _grow(self, count: int, *dims: str) -> None:
        """Make some dimensions longer; new entries get fill values."""
        old = self._kept()
        self._begin(self.sizes | {dim: self.sizes[dim] + count for dim in dims}, **self.constants)
        for array, before in zip(self._kept(), old, strict=True):
            array[tuple(map(slice, before.shape))] = before

    def state(self) -> Arrays:
        """Return a copy of what is used of every array, for saving."""
        shapes = shapes_of(self.FIELDS, self.used)
        used = {
            field.name: array[tuple(map(slice, shapes[field.name][1]))]
            for field, array in zip(self.FIELDS, self._kept(), strict=True)
        }
        return {
            field.name: whole(used[field.name]) if field.symmetric else used[field.name].copy()
            for field in self.FIELDS
        }

    @classmethod
    def state_shapes(cls, *args: Any, **kwargs: Any) -> Shapes:
        """Return type and shape of every array of a state; arguments are those of `sizes_of`."""
        return shapes_of(cls.FIELDS, cls.sizes_of(*args, **kwargs))

    def restore(self, fields: Arrays) -> Self:
        """Take over what :meth:`state` returned, where nothing was learned yet."""
        for field, array in zip(self.FIELDS, self._kept(), strict=True):
            kept = np.tril(fields[field.name]) if field.symmetric else fields[field.name]
            array[tuple(map(slice, kept.shape))] = kept
        return self

    def __getstate__(self) -> tuple[Sizes, dict[str, Any], Arrays]:
        """Pickle what is used; scratch arrays are made anew."""
        return self.sizes, self.constants, self.state()

    def __setstate__(self, state: tuple[Sizes, dict[str, Any], Arrays]) -> None:
        sizes, constants, fields = state
        self._begin(sizes, **constants)
        self.restore(fields)
