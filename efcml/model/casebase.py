"""CaseBase: the remembered rows, and everything around their kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.kernels.cases import SIZE, compare_with_cases, learn_batch, recall
from efcml.model.arguments import Cases
from efcml.model.batch import LEAST_KEPT
from efcml.model.definite import whole
from efcml.model.fields import CASE_FIELDS, allocate
from efcml.model.scratch import ALL_ALIKE, CASE_SCRATCH, blank

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Floats, Ints, Shapes

MATRICES = tuple(field.name for field in CASE_FIELDS if field.symmetric)


class CaseBase:
    """Up to ``capacity`` remembered rows, which correct the answers of the rules.

    Matrices in use hold their lower triangle only (kernels/triangle.py); `state` gives them whole.
    ``arrays`` goes to the kernels; it is replaced when labels are added.
    """

    def __init__(
        self, n_features: int, n_planes: int, capacity: int, width: float, noise: float
    ) -> None:
        sizes = {"m": capacity, "p": n_features, "L": n_planes, "3": 3}
        self._adopt({field.name: allocate(field, sizes) for field in CASE_FIELDS}, width, noise)

    def _adopt(self, fields: Arrays, width: float, noise: float) -> None:
        """Take arrays into use, with scratch arrays of the same sizes."""
        (m, p), L = fields["rows"].shape, fields["weights"].shape[1]
        scratch = blank(CASE_SCRATCH, {"m": m, "p": p, "L": L})
        self.arrays = Cases(**fields, **scratch, width=float(width), noise=float(noise))

    @property
    def capacity(self) -> int:
        """Most cases that there can be."""
        return len(self.arrays.rows)

    @property
    def n_cases(self) -> int:
        """Number of cases now."""
        return int(self.arrays.count[SIZE])

    @property
    def nbytes(self) -> int:
        """Memory of the state, free slots included."""
        return sum(getattr(self.arrays, field.name).nbytes for field in CASE_FIELDS)

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
        fields = self._fields()
        fields["weights"] = np.pad(fields["weights"], ((0, 0), (0, count)))
        self._adopt(fields, self.arrays.width, self.arrays.noise)

    def copy(self) -> CaseBase:
        """Return an independent copy."""
        other = CaseBase.__new__(CaseBase)
        fields = {name: array.copy() for name, array in self._fields().items()}
        other._adopt(fields, self.arrays.width, self.arrays.noise)
        return other

    def _fields(self) -> Arrays:
        return {field.name: getattr(self.arrays, field.name) for field in CASE_FIELDS}

    def state(self) -> Arrays:
        """Return the used slots of every field, for saving."""
        n = self.n_cases
        keep = {name: array[:n].copy() for name, array in self._fields().items()}
        keep["count"] = self.arrays.count.copy()
        return keep | {name: whole(keep[name][:, :n]) for name in MATRICES}

    @staticmethod
    def state_shapes(n_features: int, n_labels: int, n_cases: int) -> Shapes:
        """Return type and shape of every field of a state with these sizes; nothing is made."""
        sizes = {"m": n_cases, "p": n_features, "L": n_labels, "3": 3}
        return {
            field.name: (f"<{field.dtype}", tuple(sizes[dim] for dim in field.dims))
            for field in CASE_FIELDS
        }

    def restore(self, fields: Arrays) -> Self:
        """Take over what :meth:`state` returned, into a case base that is empty."""
        for name, array in self._fields().items():
            kept = np.tril(fields[name]) if name in MATRICES else fields[name]
            array[tuple(map(slice, kept.shape))] = kept
        return self

    def __getstate__(self) -> tuple[tuple[Any, ...], Arrays]:
        """Pickle the used slots only."""
        arrays = self.arrays
        sizes = arrays.rows.shape[1], arrays.weights.shape[1], self.capacity
        return (*sizes, arrays.width, arrays.noise), self.state()

    def __setstate__(self, state: tuple[tuple[Any, ...], Arrays]) -> None:
        sizes, fields = state
        CaseBase.__init__(self, *sizes)
        self.restore(fields)
