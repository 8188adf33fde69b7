"""CaseBase: the remembered rows, and everything around their kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.cases import SIZE, compare_with_cases, learn_batch, recall
from efcml.model.arguments import Cases
from efcml.model.batch import LEAST_KEPT
from efcml.model.definite import whole
from efcml.model.fields import CASE_FIELDS
from efcml.model.kept_arrays import KeptArrays
from efcml.model.scratch import ALL_ALIKE, CASE_SCRATCH

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, Ints, Sizes


class CaseBase(KeptArrays):
    """Up to ``capacity`` remembered rows, which correct the answers of the rules.

    They are slots that are filled one after the other.
    """

    FIELDS, SCRATCH, BUNDLE = CASE_FIELDS, CASE_SCRATCH, Cases

    def __init__(
        self, n_features: int, n_planes: int, capacity: int, width: float, noise: float
    ) -> None:
        sizes = self.sizes_of(n_features, n_planes, capacity)
        self._begin(sizes, width=float(width), noise=float(noise))

    @staticmethod
    def sizes_of(n_features: int, n_planes: int, n_cases: int) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        return {"m": n_cases, "p": n_features, "L": n_planes}

    @property
    def capacity(self) -> int:
        """Most cases that there can be."""
        return len(self.arrays.rows)

    @property
    def n_cases(self) -> int:
        """Number of cases now."""
        return int(self.arrays.count[SIZE])

    @property
    def used(self) -> Sizes:
        """The lengths that are in use: of free slots nothing is kept."""
        return self.sizes | {"m": self.n_cases}

    def fill(self, X: Floats, errors: Floats, amounts: Floats = ALL_ALIKE) -> None:
        """Remember rows of a batch, evenly spread, and learn the errors of all; NaN if unknown.

        ``amounts`` are weights of the rows, none of them if all are 1.
        """
        chosen = np.unique(np.linspace(0, len(X), self.capacity, endpoint=False).astype(np.int64))
        learn_batch(X, chosen, errors.copy(), ~np.isnan(errors), amounts, self.arrays)

    def errors_without_own_row(
        self, X: Floats, errors: Floats, amounts: Floats | float = 1.0
    ) -> Floats:
        """Return what the cases would leave of the errors of rows that they were filled with.

        Each as if that row had not been among them, though it may be a case: a regression on
        similarities keeps the share ``1 - k'A k / noise`` of it. Exact while all labels are known.
        """
        arrays, n = self.arrays, self.n_cases
        similar, expected = np.empty((len(X), n)), np.empty_like(errors)
        for t, x in enumerate(X):
            compare_with_cases(x, arrays)
            similar[t], expected[t] = arrays.similar[:n], arrays.expected[: errors.shape[1]]
        covariance = whole(arrays.covariance[:n, :n])
        learned = amounts * (similar @ covariance * similar).sum(axis=1) / arrays.noise
        return (errors - expected) / np.maximum(1.0 - learned, LEAST_KEPT)[:, None]

    def similar_to(self, x: Floats) -> tuple[Floats, Ints, Floats]:
        """Return what each case adds (m, L), its row number and similarity, most similar first."""
        arrays, n = self.arrays, self.n_cases
        recall(x, arrays, np.zeros(arrays.weights.shape[1]))
        similar = arrays.similar[:n].copy()
        order = np.argsort(-similar, kind="stable")
        adds = similar[:, None] * arrays.weights[:n]
        return adds[order], arrays.age[order], similar[order]

    def add_labels(self, count: int) -> None:
        """Take in labels about which the rules made no error so far."""
        self._grow(count, "L")
