"""RuleBase: the arrays of ``FIELDS`` with spare rows, and everything that changes their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.model.arguments import Rules, Scratch
from efcml.model.definite import whole
from efcml.model.fields import FIELDS
from efcml.model.kept_arrays import KeptArrays
from efcml.model.scratch import scratch_arrays

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Arrays, Facts, Floats, Shapes, Sizes

LEARNED_BY_GROUP = [f.name for f in FIELDS if "g" in f.dims and f.dims[-1] != "K"]
SYMMETRIC = frozenset(field.name for field in FIELDS if field.symmetric)
BETWEEN_RULES = frozenset(field.name for field in FIELDS if field.dims.count("R") == 2)
SIZES = ("n_features", "n_labels", "n_groups", "n_pairs", "n_rules")


class RuleBase(KeptArrays):
    """A growing set of rules as one array per field, rule index first.

    Of symmetric matrices ``arrays`` holds the lower triangle; above it may stand anything.
    Kernels get ``arrays`` and ``scratch``. Both are replaced when the base grows, so nobody keeps
    them across a call that may grow it. Rows from ``n_rules`` on hold the fill value.
    """

    FIELDS, BUNDLE = FIELDS, Rules

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        *,
        n_groups: int = 1,
        n_pairs: int = 1,
        capacity: int = 8,
    ) -> None:
        self.n_rules = self.next_uid = 0
        self._begin(self.sizes_of(n_features, n_labels, n_groups, n_pairs, capacity))

    @staticmethod
    def sizes_of(
        n_features: int, n_labels: int, n_groups: int, n_pairs: int, n_rules: int
    ) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        p, K = n_features, n_labels
        sizes = {"p": p, "K": K, "d": p + 1, "q": p + K, "g": n_groups, "R": n_rules}
        return sizes | {"L": K * n_pairs, "a": n_pairs}

    def _adopt(self, kept: Sequence[Array], sizes: Sizes, constants: dict[str, Any]) -> None:
        super()._adopt(kept, sizes, constants)
        self.scratch = Scratch(**scratch_arrays(sizes))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.sizes["p"]

    @property
    def n_pairs(self) -> int:
        """Number of pairs (alpha, beta); each has its own planes."""
        return self.sizes["a"]

    @property
    def n_groups(self) -> int:
        """Number of groups of labels that share what they learn from."""
        return self.sizes["g"]

    @property
    def capacity(self) -> int:
        """Number of rules that there is room for."""
        return self.sizes["R"]

    @property
    def used(self) -> Sizes:
        """The lengths that are in use: of spare rows nothing is kept."""
        return self.sizes | {"R": self.n_rules}

    def labels_of(self, group: int) -> slice:
        """Return the labels of a group: all of them, or the one that is a group of its own."""
        return slice(None) if self.n_groups == 1 else slice(group, group + 1)

    def planes_of(self, group: int) -> slice:
        """Return the planes of a group, of all pairs (alpha, beta)."""
        return slice(None) if self.n_groups == 1 else slice(group, None, self.n_labels)

    def __getattr__(self, name: str) -> Any:
        """Return the used rows of a field, for reading: ``rules.center`` is (n_rules, q).

        Symmetric matrices are copies, whole ones.
        """
        if name.startswith("_") or name not in Rules._fields:
            raise AttributeError(name)
        array = getattr(self.arrays, name)[: self.n_rules]
        if name in BETWEEN_RULES:
            return array[:, : self.n_rules]
        if name in SYMMETRIC:
            array = whole(array)
            array.flags.writeable = False  # a change would be lost
        return array

    def reserve(self, capacity: int, most: int | None = None) -> None:
        """Make room for ``capacity`` rules, doubling as often as needed, for no more than ``most``.

        A cap on the number of rules is a cap on spare rows too.
        """
        if capacity <= self.capacity:
            return
        room = self.capacity
        while room < capacity:
            room *= 2
        if most is not None:
            room = max(capacity, min(room, most))
        self._grow(room - self.capacity, "R")

    def split_groups(self) -> None:
        """Give every label its own P, G, Delta and pair moments, all starting from the shared ones.

        While all labels were known the shared statistics *are* those of every label, so nothing is
        lost or approximated.
        """
        if self.n_groups == self.n_labels:
            return
        old = self._kept()
        self._begin(self.sizes | {"g": self.n_labels})
        for array, before in zip(self._kept(), old, strict=True):
            array[:] = before  # a single group is repeated for every label by broadcasting

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
        self._grow(count, "K", "L", "q", *(["g"] if grouped else []))
        arrays = self.arrays
        for r in range(n):
            if grouped:
                own = np.diagonal(arrays.label_weight[r])[:K].copy()
                # The rows that taught the best known label teach the new one that it was absent.
                for name in LEARNED_BY_GROUP:
                    array = getattr(arrays, name)
                    array[r, K:] = array[r, np.argmax(own)]
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

    def copy(self) -> Self:
        """Return an independent copy with the same capacity."""
        other = super().copy()
        other.n_rules, other.next_uid = self.n_rules, self.next_uid
        return other

    @property
    def facts(self) -> Facts:
        """The sizes of a state, for saving beside it."""
        return {name: getattr(self, name) for name in (*SIZES, "next_uid")}

    @classmethod
    def state_shapes(cls, facts: Facts) -> Shapes:
        """Return type and shape of every field of a state with these sizes; nothing is made."""
        return super().state_shapes(*(facts[name] for name in SIZES))

    @classmethod
    def from_state(cls, fields: Arrays, facts: Facts) -> Self:
        """Build a rule base from `state` and `facts`."""
        p, K, n_groups, n_pairs, n = (facts[name] for name in SIZES)
        rules = cls(p, K, n_groups=n_groups, n_pairs=n_pairs, capacity=max(n, 1))
        rules.n_rules, rules.next_uid = n, facts["next_uid"]
        return rules.restore(fields)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the used rows only."""
        return RuleBase.from_state, (self.state(), self.facts)
