"""RuleBase: the arrays of ``FIELDS`` with spare rows, and everything that changes their shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.model.arguments import Rules, Scratch
from efcml.model.definite import whole
from efcml.model.fields import FIELDS, allocate, dimensions, shapes_of
from efcml.model.scratch import scratch_arrays

if TYPE_CHECKING:
    from efcml.model.fields import Field
    from efcml.support.aliases import Array, Arrays, Facts, Floats, Shapes

GROUPED = tuple(field for field in FIELDS if "g" in field.dims)
SYMMETRIC = frozenset(field.name for field in FIELDS if field.symmetric)
BETWEEN_RULES = frozenset(field.name for field in FIELDS if "R" in field.dims)


class RuleBase:
    """A growing set of rules as one array per field, rule index first.

    Of symmetric matrices ``arrays`` holds the lower triangle; above it may stand anything.
    Kernels get ``arrays`` and ``scratch``. Both are replaced when the base grows, so nobody keeps
    them across a call that may grow it. Rows from ``n_rules`` on hold the fill value.
    """

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        *,
        n_groups: int = 1,
        n_pairs: int = 1,
        capacity: int = 8,
    ) -> None:
        self.n_features = n_features
        self.n_labels = n_labels
        self.n_pairs = n_pairs  # of (alpha, beta); each has its own planes
        self.n_groups = n_groups
        self.capacity = capacity
        self.n_rules = 0
        self.next_uid = 0
        self._adopt(self._blank(field) for field in FIELDS)

    @property
    def sizes(self) -> dict[str, int]:
        """The value of every dimension name of the field table."""
        return dimensions(
            self.n_features, self.n_labels, self.n_groups, self.n_pairs, self.capacity
        )

    @property
    def nbytes(self) -> int:
        """Memory of the state, spare rows included."""
        return sum(getattr(self.arrays, field.name).nbytes for field in FIELDS)

    def __getattr__(self, name: str) -> Any:
        """Return the used rows of a field, for reading: ``rules.center`` is (n_rules, q).

        Symmetric matrices are copies, whole ones.
        """
        if name.startswith("_") or name not in Rules._fields:
            raise AttributeError(name)
        array = getattr(self.arrays, name)[: self.n_rules]
        if name == "tested":
            return array[:, : self.n_rules]
        if name in SYMMETRIC:
            array = whole(array)
            array.flags.writeable = False  # a change would be lost
        return array

    def _blank(self, field: Field) -> Array:
        return allocate(field, self.sizes, self.capacity)

    def _adopt(self, arrays: Iterable[Array]) -> None:
        """Take new arrays into use, with scratch arrays of the same sizes."""
        self.arrays = Rules(*arrays)
        self.scratch = Scratch(**scratch_arrays(self.sizes))

    def _rebuild(self, fill_field: Callable[[Field, Array, Array], None]) -> None:
        """Reallocate every array at today's sizes; ``fill_field(field, old, new)`` copies."""
        old = self.arrays
        fresh = []
        for field in FIELDS:
            new = self._blank(field)
            fill_field(field, getattr(old, field.name), new)
            fresh.append(new)
        self._adopt(fresh)

    def reserve(self, capacity: int, most: int | None = None) -> None:
        """Make room for ``capacity`` rules, doubling as often as needed, for no more than ``most``.

        A cap on the number of rules is a cap on spare rows too.
        """
        if capacity <= self.capacity:
            return
        while self.capacity < capacity:
            self.capacity *= 2
        if most is not None:
            self.capacity = max(capacity, min(self.capacity, most))
        self._adopt([self._grown(field) for field in FIELDS])

    def _grown(self, field: Field) -> Array:
        """Return a field at today's capacity, its used rows copied; nothing is written twice."""
        n, old = self.n_rules, getattr(self.arrays, field.name)
        if field.name in BETWEEN_RULES:
            new = self._blank(field)
            new[:n, :n] = old[:n, :n]
        else:
            new = np.empty((self.capacity, *old.shape[1:]), dtype=old.dtype)
            new[:n], new[n:] = old[:n], field.fill
        return new

    def split_groups(self) -> None:
        """Give every label its own P, G, Delta and pair moments, all starting from the shared ones.

        While all labels were known the shared statistics *are* those of every label, so nothing is
        lost or approximated.
        """
        if self.n_groups == self.n_labels:
            return
        self.n_groups = self.n_labels
        n = self.n_rules

        def copy(field: Field, old: Array, new: Array) -> None:
            new[:n] = old[:n]  # a single group is repeated for every label by broadcasting

        self._rebuild(copy)

    def add_labels(self, count: int, start_variance: Floats, variance_floor: float) -> Floats:
        """Append ``count`` labels that were absent (0) in every row so far; return the new S_0.

        Zero is exact for everything the consequents keep: B, W, D, means and co-moments of a label
        that was never present (W and D only while the penalty does not couple absent labels to
        others, as "shift" and "paper" do). The joint space gains coordinates that never varied:
        variance S_0/k and what the floor would have kept, exact but for its rounding to turns.
        Planes of several pairs (alpha, beta) cannot grow.
        """
        p, K, n = self.n_features, self.n_labels, self.n_rules
        grouped = self.n_groups > 1
        label_variance = start_variance[p]
        self.n_labels = K + count
        self.n_groups = self.n_labels if grouped else 1

        def copy(field: Field, old: Array, new: Array) -> None:
            new[(slice(0, n), *(slice(0, size) for size in old.shape[1:]))] = old[:n]
            if grouped and field in GROUPED and field.dims[-1] != "K":
                # The rows that taught the best known label teach the new one that it was absent.
                for r in range(n):
                    new[r, K:] = old[r, np.argmax(np.diagonal(self.arrays.label_weight[r]))]

        self._rebuild(copy)
        arrays = self.arrays
        for r in range(n):
            if grouped:
                own = np.diagonal(arrays.label_weight[r])[:K].copy()
                arrays.label_weight[r, K:, :K] = own
                arrays.label_weight[r, :K, K:] = own[:, None]
                arrays.label_weight[r, K:, K:] = own.max()
                arrays.label_mean[r, K:, :K] = np.diagonal(arrays.label_mean[r])[:K]
            else:
                arrays.label_weight[r, 0, K:] = arrays.weight[r]
            variance = label_variance * (arrays.prior_share[r] / arrays.support[r] + variance_floor)
            for j in range(p + K, p + K + count):
                arrays.joint_precision[r, j, j] = 1.0 / variance
            arrays.log_det[r, 0] += count * np.log(variance)
        return np.concatenate([start_variance, np.full(count, label_variance)])

    def append(self) -> int:
        """Take one more row into use and return its index; its fields hold fill values."""
        self.reserve(self.n_rules + 1)
        rule = self.n_rules
        self.n_rules += 1
        self.arrays.uid[rule] = self.next_uid
        self.next_uid += 1
        return rule

    def swap_remove(self, rule: int) -> None:
        """Remove a rule; the last one takes its place and the freed row is cleared."""
        last = self.n_rules - 1
        for field in FIELDS:
            array = getattr(self.arrays, field.name)
            array[rule] = array[last]
            if field.name in BETWEEN_RULES:
                array[: last + 1, rule] = array[: last + 1, last]
                array[: last + 1, last] = field.fill
            array[last] = field.fill
        self.n_rules = last

    def copy(self) -> RuleBase:
        """Return an independent copy with the same capacity."""
        other = RuleBase.__new__(RuleBase)
        other.__dict__.update(self.__dict__)
        other._adopt(getattr(self.arrays, field.name).copy() for field in FIELDS)
        return other

    def state(self) -> tuple[Arrays, Facts]:
        """Return the used rows of every field and the sizes, for saving."""
        keep = {field.name: np.array(getattr(self, field.name)) for field in FIELDS}
        sizes = ("n_features", "n_labels", "n_groups", "n_pairs", "n_rules", "next_uid")
        return keep, {name: getattr(self, name) for name in sizes}

    @staticmethod
    def state_shapes(sizes: Facts) -> Shapes:
        """Return type and shape of every field of a state with these sizes; nothing is made."""
        names = ("n_features", "n_labels", "n_groups", "n_pairs", "n_rules")
        dims = dimensions(*(sizes[name] for name in names))
        return shapes_of(FIELDS, dims, sizes["n_rules"])

    @classmethod
    def from_state(cls, fields: Arrays, sizes: Facts) -> Self:
        """Build a rule base from what :meth:`state` returned."""
        n = sizes["n_rules"]
        dims = {name: sizes[name] for name in ("n_groups", "n_pairs")}
        rules = cls(sizes["n_features"], sizes["n_labels"], capacity=max(n, 1), **dims)
        rules.n_rules, rules.next_uid = n, sizes["next_uid"]
        for field in FIELDS:
            target = getattr(rules.arrays, field.name)
            index = (slice(0, n), slice(0, n)) if field.name in BETWEEN_RULES else slice(0, n)
            target[index] = fields[field.name]
        return rules

    def __getstate__(self) -> tuple[Arrays, Facts]:
        """Pickle the used rows only."""
        return self.state()

    def __setstate__(self, state: tuple[Arrays, Facts]) -> None:
        self.__dict__.update(RuleBase.from_state(*state).__dict__)
