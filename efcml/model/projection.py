"""Thousands of features: a projection onto some directions stands in front of all stages.

Directions of labels span ``X'(Y - mean)``, as far as there is room; the principal directions of
what is left come besides: labels to come, and drifts, need more than the labels of these rows show.
Columns are divided by their deviation, rare ones less far: of n values that are not 0, as much
counts as ``n / (n + RARE)``.

A projected row is ``x Q``: sparse rows are never made dense. A plane v over projected rows is the
plane ``Q v`` over features. Features that these rows do not have, or of which they have one value
alone, have no line in Q and add nothing; missing values count as the mean.

Directions come from the initial rows, and others are tried when as many rows have come again: a
few hundred rows tell little of thousands of features (efcml/model/challenger.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from efcml.support.aliases import Arrays, Floats, Ints
from efcml.support.masks import is_sparse
from efcml.support.progress import tell
from efcml.support.states import check_all, fitting
from efcml.support.statistics import label_means

MANY = 300  # features; "auto" projects more: birds, with 260, loses 4 to 8 points of AP by it
MANY_DENSE = 600  # likewise, where most values are not 0: relevance leaves the useless ones out
LEAST, MOST, PRINCIPAL = 64, 160, 32  # directions of "auto", and how many are principal, at least
RARE = 10.0  # values that are not 0
FARTHEST = 10.0  # times the largest magnitude of these rows; values beyond are cut there
ROUNDS, SPARE = 5, 8  # of the randomised search for principal directions
TINY = 1e-9
MANY_LABELS = 150  # beyond, rules over projected rows leave out what grows with pairs of labels
RECENT = 500  # rows that are kept, for readers
WINDOW = 2000  # rows in which directions are found anew, unless there were more initial rows


def directions(given: Any, p: int, K: int) -> int:
    """Return onto how many directions rows are projected; 0: they are not."""
    if given == "auto":
        return 0 if p <= MANY else min(max(LEAST, K + PRINCIPAL), MOST)
    return 0 if given is None else min(int(given), p)


def is_dense(X: Any) -> bool:
    """Tell whether most values of some rows are not 0, and all features can be used."""
    values = X.data if is_sparse(X) else X
    return X.shape[1] <= MANY_DENSE and 2 * np.count_nonzero(values) > X.shape[0] * X.shape[1]


@cache
def tell_once(p: int, d: int) -> None:
    """Say that rows are projected."""
    tell(f"efcml projects {p} features onto {d} directions (projection=None keeps them all)")


def as_sparse(X: Any) -> csr_array:
    """Return rows in one form: the bits of a projected row depend on the order of its entries."""
    if type(X) is not csr_array or X.dtype != np.float64:
        X = csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def as_blocks(held: Iterable[Any]) -> list[Any]:
    """Return single rows, dense or sparse, their labels and weights 1 as `join` takes them."""
    return [(x.reshape(1, -1), y[None], np.ones(1)) for x, y in held]


def keep(parts: list[Any], most: int, known: Ints, *part: Any) -> list[Any]:
    """Return the last rows and what is beside them, with some more, in parts; of one, the known."""
    if len(known) == 0:
        return parts
    if len(known) < len(part[-1]):
        part = tuple(array[known] for array in part)
    parts = [*parts, part]
    return parts if len(parts) * len(known) <= most else [last(parts, most)]


def last(parts: Iterable[Any], most: int) -> tuple[Any, ...]:
    """Return the last rows and what is beside them; older parts are not touched."""
    newest: list[Any] = []
    for part in reversed([*parts]):
        if most > 0:
            newest.append(tuple(array[-most:] for array in part))
            most -= len(part[-1])
    return join(reversed(newest))


def join(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the rows of all parts, which may be sparse, and what is beside them."""
    return tuple(
        as_sparse(vstack(arrays, format="csr")) if is_sparse(arrays[0]) else np.concatenate(arrays)
        for arrays in zip(*parts, strict=True)
    )


def pack_rows(rows: Any, labels: Floats, weights: Floats) -> Arrays:
    """Return rows, dense or sparse, labels and weights as arrays."""
    beside = {"labels": labels, "weights": weights}
    if not is_sparse(rows):
        return beside | {"data": rows}
    indices, ends = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return beside | {"data": rows.data, "indices": indices, "ends": ends}


def unpack_rows(packed: Arrays, p: int, K: int, *, sparse: bool) -> tuple[Any, Floats, Floats]:
    """Return what `pack_rows` was given, or refuse what these cannot be."""
    data, labels, weights = packed["data"], packed["labels"], packed["weights"]
    n = len(labels)
    like = pack_rows((csr_array if sparse else np.zeros)((n, p)), np.zeros((n, K)), np.zeros(n))
    if sparse:
        like["data"], like["indices"] = np.zeros(len(data)), np.zeros(len(data), np.int64)
    fitting(packed, like)
    check_all(~np.isinf(data), "rows hold infinity")
    if not sparse:
        return data, labels, weights
    indices, ends = packed["indices"], packed["ends"]
    good = ends[0] == 0 and ends[-1] == len(data) and (np.diff(ends) >= 0).all()
    check_all(good and (indices < p).all(), "sparse rows end where they cannot")
    return csr_array((data, indices, ends), (n, p)), labels, weights


class Projection(NamedTuple):
    """Directions over features; arrays have one line for each of m features that vary."""

    columns: Ints  # (m,), ascending
    basis: Floats  # Q, (m, d)
    usual: Floats  # (m,), the mean of a feature, which stands for a missing value
    reach: Floats  # (m,), the largest magnitude that counts
    told: Floats  # (m,), what a feature tells of the labels beside what chance would let it tell

    @classmethod
    def from_rows(
        cls,
        X: Any,
        Y: Floats,
        weights: Floats,
        d: int,
        flags: Sequence[int] | None = None,
    ) -> Self:
        """Find up to d directions in rows; features whose flag is 0 are left out.

        Where these rows have none, one is 0.
        """
        A: Any = as_sparse(X)
        n, p = X.shape
        gaps = np.isnan(A.data)
        known = n - np.bincount(A.indices[gaps], minlength=p)
        total = np.bincount(A.indices, np.where(gaps, 0.0, A.data), p)
        usual = total / np.maximum(known, 1)
        filled = np.where(gaps, usual[A.indices], A.data)
        A = csr_array((filled, A.indices, A.indptr), (n, p))
        reach = abs(A).max(axis=0).toarray().reshape(-1)
        A.data /= np.where(reach > 0.0, reach, 1.0)[A.indices]  # so that no square overflows
        mean = usual / np.where(reach > 0.0, reach, 1.0)
        there = np.bincount(A.indices[A.data != 0.0], minlength=p)
        away = np.bincount(A.indices, (A.data - mean[A.indices]) ** 2, p)
        stored = np.bincount(A.indices, minlength=p)
        deviation = np.sqrt((away + (n - stored) * mean**2) / n)
        varies = deviation > TINY
        if flags is not None:
            varies &= np.array(flags) != 0
        columns = np.flatnonzero(varies) if varies.any() else np.zeros(1, np.int64)
        scale = np.sqrt(there / (there + RARE))[columns] / np.maximum(deviation[columns], TINY)
        A = A[:, columns]
        A.data *= scale[A.indices]
        E = np.nan_to_num(Y - label_means(Y, weights)) * weights[:, None]
        found, told = find_directions(A, mean[columns] * scale, E, d)
        chance = (scale * deviation[columns]) ** 2 * (E * E).sum() + TINY
        basis = found * (scale * varies[columns] / np.maximum(reach[columns], TINY))[:, None]
        basis = np.pad(basis, ((0, 0), (0, int(basis.shape[1] == 0))))
        basis = np.ascontiguousarray(basis)  # else every product would copy it
        return cls(columns, basis, usual[columns], FARTHEST * reach[columns], told / chance)

    @property
    def width(self) -> int:
        """Number of directions."""
        return self.basis.shape[1]

    def rows(self, X: Any) -> Floats:
        """Return projected rows (n, d), each the same to the last bit whatever comes with it."""
        X = as_sparse(X)
        place = np.searchsorted(self.columns, X.indices).clip(max=len(self.columns) - 1)
        there = self.columns[place] == X.indices
        at, values = place[there], X.data[there]
        ends = np.concatenate([[0], np.cumsum(there)])[X.indptr]
        values = np.where(np.isnan(values), self.usual[at], values)
        values = np.clip(values, -self.reach[at], self.reach[at])
        return csr_array((values, at, ends), (X.shape[0], len(self.columns))) @ self.basis

    def relevance(self, p: int) -> Floats:
        """Return what every feature tells (p,), 0 where it has no line."""
        found = np.zeros(p)
        found[self.columns] = self.told
        return found

    @classmethod
    def restored(cls, arrays: Arrays, p: int) -> Self:
        """Return one of these arrays, or refuse them."""
        m, d = arrays["basis"].shape
        like = cls(np.zeros(m, np.int64), np.zeros((m, d)), *np.zeros((3, m)))
        columns = fitting(arrays, like._asdict())["columns"]
        good = (np.diff(columns) > 0).all() and columns[-1] < p
        check_all(good, "directions have columns that are not")
        return cls(**arrays)


def find_directions(A: csr_array, mean: Floats, E: Floats, d: int) -> tuple[Floats, Floats]:
    """Return orthonormal directions (m, d or fewer) of centred rows ``A - mean``.

    Those of the labels E first, then principal ones. Beside them what every column tells of all
    labels (m,): the squares of ``A'E``.
    """

    def cross(B: Floats) -> Floats:
        product: Floats = A.T @ B - np.outer(mean, B.sum(axis=0))
        return product

    def leading(C: Floats, most: int) -> Floats:
        U, sizes, _ = np.linalg.svd(C, full_matrices=False)
        return U[:, :most][:, sizes[:most] > TINY * (1.0 + sizes[0])]

    C = cross(E)
    found = leading(C, d - min(PRINCIPAL, d // 2))
    left = d - found.shape[1]
    P = np.random.default_rng(0).normal(size=(A.shape[1], min(left + SPARE, *A.shape)))
    for _ in range(ROUNDS):
        P = np.linalg.qr(P - found @ (found.T @ P))[0]
        P = cross(A @ P - mean @ P)
    found = np.hstack([found, leading(P - found @ (found.T @ P), left)])
    return found, (C * C).sum(axis=1)
