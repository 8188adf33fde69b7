"""SequelBase: what follows rules and cases, and everything around its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.kernels.sequel import (
    LINKED,
    LINKS_HELD,
    LOSSES_KEPT,
    NEVER,
    TIMED,
    TRUST,
    TRUSTED,
    WEIGHT,
    answer_sequel,
    begin_sequel,
)
from efcml.model.arguments import Sequel
from efcml.model.definite import whole
from efcml.model.fields import allocate
from efcml.model.scratch import ALL_ALIKE, blank
from efcml.model.sequel_fields import SEQUEL_FIELDS, SEQUEL_SCRATCH, sequel_sizes

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Floats, Shapes

MOST_ROWS = 3000  # of a batch; the newest are enough
WORTH = 30.0  # rows that a batch counts as: its errors are a little better than those to come
USUAL_VARIANCE = 0.25  # of a label, before any row
TRIANGLE = "link_covariance"


class SequelBase:
    """How far a model is trusted, and what the last rows say; nothing, if both are off.

    ``arrays`` goes to the kernels; it is replaced when labels are added.
    """

    def __init__(self, n_labels: int, *, trusts: bool, times: bool) -> None:
        sizes = sequel_sizes(n_labels, times=times)
        self._adopt({field.name: allocate(field, sizes) for field in SEQUEL_FIELDS}, trusts, times)
        self._begin_links(USUAL_VARIANCE)

    def _adopt(self, fields: Arrays, trusts: bool, times: bool) -> None:
        """Take arrays into use, with scratch arrays of the same sizes."""
        sizes = sequel_sizes(len(fields["ago"]), times=times)
        scratch = blank(SEQUEL_SCRATCH, sizes)
        self.arrays: Any = Sequel(**fields, **scratch, trusts=bool(trusts), times=bool(times))

    def _begin_links(self, variance: float) -> None:
        self.arrays.link_start[0] = 1.0 / (LINKS_HELD * variance)
        self.arrays.links[:] = 0.0
        start = self.arrays.link_start[0] * np.eye(len(self.arrays.links))
        self.arrays.link_covariance[:] = start

    @property
    def is_on(self) -> bool:
        """Whether it does anything."""
        return bool(self.arrays.trusts or self.arrays.times)

    @property
    def switches(self) -> tuple[bool, bool]:
        """Whether it trusts, and whether it knows of time."""
        return self.arrays.trusts, self.arrays.times

    def begin(self, errors: Floats, Y: Floats, amounts: Floats = ALL_ALIKE) -> None:
        """Learn a batch: errors (m, K) at its newest rows, each without the row; NaN if unknown.

        The rows are no more than a hint, and the last of them is not taken for the row before the
        next: rows of a batch may come in any order. ``amounts`` are weights of the rows, none of
        them if all are 1.
        """
        arrays, known = self.arrays, ~np.isnan(Y)
        labels = np.where(known, Y, 0.0)
        weights = amounts if len(amounts) else np.ones(len(Y))
        arrays.ones[:], arrays.seen[:] = weights @ labels, weights @ known
        f = (arrays.ones + 0.5) / (arrays.seen + 1.0)
        self._begin_links(float(np.mean(f * (1.0 - f))))
        errors = errors[-MOST_ROWS:]
        known, labels = known[-len(errors) :], labels[-len(errors) :]
        scores = np.where(known, labels - errors, 0.0)
        begin_sequel(scores, labels, known, amounts[-len(errors) :], arrays)
        rows = float(known.mean(axis=1).sum())
        self._count_as(WORTH, (1.0 - LOSSES_KEPT**rows) / (1.0 - LOSSES_KEPT))
        for name in ("errors", "labels", "errors_before", "labels_before"):
            getattr(arrays, name)[:] = 0.0
        arrays.ago[:] = NEVER

    def _count_as(self, rows: float, in_losses: float) -> None:
        """Let what was learned count as so many rows, if they were more."""
        arrays, weight = self.arrays, self.arrays.tally[WEIGHT]
        factor = min(1.0, rows / weight) if weight > 0.0 else 1.0
        for name in ("moments", "targets", "tally", "decay"):
            getattr(arrays, name)[:] *= factor
        arrays.losses[:] *= min(1.0, rows / in_losses) if in_losses > 0.0 else 1.0

    def addends(self, scores: Floats) -> Arrays:
        """Return what is added to scores (K,) of rules and cases at the next row, by its name."""
        arrays = self.arrays
        answer_sequel(0, arrays, scores.copy())  # fills what the answer is made with
        c, t, left = arrays.coefficients, arrays.steering[TRUST], arrays.left
        shares, timed = arrays.shares, arrays.shares[TIMED] + arrays.shares[LINKED]
        drawn = (1.0 - left) * arrays.plain[TRUSTED] * (1.0 - t)
        drawn += left * (shares[TRUSTED] * (1.0 - t) + timed * (1.0 - c[0]))
        links = shares[LINKED] * arrays.linked if shares[LINKED] > 0.0 else np.zeros(len(left))
        return {
            "label frequencies": drawn * (arrays.frequencies - scores),
            "the last errors": left * timed * (c[1::2] @ arrays.errors),
            "the last labels": left * timed * (c[2::2] @ arrays.labels),
            "the last labels of others": links,
        }

    def pass_rows(self, count: int) -> None:
        """Let rows go by of which no label is known, or none yet."""
        if self.arrays.times:
            self.arrays.ago[:] = np.minimum(self.arrays.ago + count, NEVER)

    def wait(self, count: int) -> None:
        """Let rows go by that were answered and will be learned."""
        if self.arrays.times:
            self.arrays.waiting[0] += count

    def stop_waiting(self, held: int) -> None:
        """Be about to learn rows that were held; the others between them have no labels."""
        self.pass_rows(int(self.arrays.waiting[0]) - held)
        self.arrays.waiting[0] = 0

    def add_labels(self, count: int) -> None:
        """Take in labels that no row so far had."""
        fields, old = self._fields(), len(self.arrays.ago)
        for field in SEQUEL_FIELDS:
            more = [(0, count if dim in ("K", "J") else 0) for dim in field.dims]
            if self.arrays.times or "J" not in field.dims:
                fields[field.name] = np.pad(fields[field.name], more)
        if old:
            fields["ago"][old:] = fields["ago"][:old].min()
            fields["seen"][old:] = fields["seen"][:old].max()
        if self.arrays.times:
            new = np.arange(old, old + count)
            fields[TRIANGLE][new, new] = fields["link_start"][0]
        self._adopt(fields, *self.switches)

    def copy(self) -> SequelBase:
        """Return an independent copy."""
        other = SequelBase.__new__(SequelBase)
        other._adopt({name: a.copy() for name, a in self._fields().items()}, *self.switches)
        return other

    def _fields(self) -> Arrays:
        return {field.name: getattr(self.arrays, field.name) for field in SEQUEL_FIELDS}

    def state(self) -> Arrays:
        """Return every field, for saving."""
        state = {name: array.copy() for name, array in self._fields().items()}
        return state | {TRIANGLE: whole(state[TRIANGLE])}

    @staticmethod
    def state_shapes(n_labels: int, *, times: bool) -> Shapes:
        """Return type and shape of every field of a state with these sizes; nothing is made."""
        sizes = sequel_sizes(n_labels, times=times)
        return {
            field.name: (f"<{field.dtype}", tuple(sizes[dim] for dim in field.dims))
            for field in SEQUEL_FIELDS
        }

    def restore(self, fields: Arrays) -> Self:
        """Take over what :meth:`state` returned."""
        for name, array in self._fields().items():
            array[:] = np.tril(fields[name]) if name == TRIANGLE else fields[name]
        return self

    def __getstate__(self) -> tuple[int, tuple[bool, bool], Arrays]:
        """Pickle the state alone; scratch arrays are made anew."""
        return len(self.arrays.ago), self.switches, self.state()

    def __setstate__(self, state: tuple[int, tuple[bool, bool], Arrays]) -> None:
        n_labels, (trusts, times), fields = state
        SequelBase.__init__(self, n_labels, trusts=trusts, times=times)
        self.restore(fields)
