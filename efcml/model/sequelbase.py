"""SequelBase: what follows rules and cases, and everything around its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from efcml.model.kept_arrays import KeptArrays
from efcml.model.scratch import ALL_ALIKE
from efcml.model.sequel_fields import SEQUEL_FIELDS, SEQUEL_SCRATCH

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Floats, Sizes

MOST_ROWS = 3000  # of a batch; the newest are enough
WORTH = 30.0  # rows that a batch counts as: its errors are a little better than those to come
USUAL_VARIANCE = 0.25  # of a label, before any row


class SequelBase(KeptArrays):
    """How far a model is trusted, and what the last rows say; nothing, if both are off."""

    FIELDS, SCRATCH, BUNDLE = SEQUEL_FIELDS, SEQUEL_SCRATCH, Sequel

    def __init__(self, n_labels: int, *, trusts: bool, times: bool) -> None:
        sizes = self.sizes_of(n_labels, times=times)
        self._begin(sizes, trusts=bool(trusts), times=bool(times))
        self._begin_links(USUAL_VARIANCE)

    @staticmethod
    def sizes_of(n_labels: int, *, times: bool) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        return {"K": n_labels, "J": n_labels * times}

    def _begin_links(self, variance: float) -> None:
        self.arrays.link_start[0] = 1.0 / (LINKS_HELD * variance)
        self.arrays.links[:] = 0.0
        start = self.arrays.link_start[0] * np.eye(len(self.arrays.links))
        self.arrays.link_covariance[:] = start

    @property
    def is_on(self) -> bool:
        """Whether it does anything."""
        return bool(self.arrays.trusts or self.arrays.times)

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
        old, times = self.n_labels, self.arrays.times
        self._grow(count, *("K", "J")[: 1 + times])
        arrays = self.arrays
        if old:
            arrays.ago[old:] = arrays.ago[:old].min()
            arrays.seen[old:] = arrays.seen[:old].max()
        if times:
            new = np.arange(old, old + count)
            arrays.link_covariance[new, new] = arrays.link_start[0]
