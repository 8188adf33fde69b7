"""CaseStage and RecentStage: remembered rows that correct the scores of similar ones."""

import numpy as np
from scipy.linalg import solve_triangular

from efcml._jit import plain
from efcml.kernels.cases import CHANGES, FAR, LEARNED, LEAST_NOVELTY, REFRESH, SIZE, follow_cases
from efcml.kernels.linalg import factor, invert, solve
from efcml.kernels.planes import share_of
from efcml.model.fit import FOLDS
from efcml.model.relevance import Features
from efcml.model.stages import Stage
from efcml.model.tables import CASES, Cases
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import similarity

# How far a case reaches; how much of an error is taken for chance
REACH = 0.25, 1.0
RECENT = 25  # cases of the last rows; there is next to nothing left of older ones
RECENT_REACH = 1.0, 0.3  # they reach further, and are taken less for chance


class CaseStage(Stage):
    """Up to ``capacity`` remembered rows; they forget with the rules."""

    table = CASES
    fade, against, towards = 1.0, 20.0, 1.0  # trusted, unless their errors speak against it
    discounts_echo = False  # whether errors that follow each other are no evidence

    def __init__(self, n_features, n_labels, capacity, reach=REACH, *, features=None):
        self.width, self.noise = reach
        self._begin_empty(features or Features.all(n_features), capacity, n_labels)

    def _begin_empty(self, features, m, K):
        self.features = features
        self.arrays = Cases(**CASES.allocate({"m": m, "p": len(features.used), "K": K}))
        self.arrays.owed[0] = 1.0

    @property
    def n_cases(self):
        """Number of cases now."""
        return int(self.arrays.count[SIZE])

    @property
    def share(self):
        """How far they are trusted."""
        return float(plain(share_of)(self.arrays.trust_sums, self.against, self.towards))

    def similarity(self, X, Z=None):
        """Return k(x, z) of rows and cases."""
        Z = self.arrays.rows[: self.n_cases] if Z is None else Z
        return similarity(np.clip(self.features.take(X), -FAR, FAR), Z, self.width)

    def begin(self, rows, scores, Y, weights):
        """Remember evenly spread rows and learn the errors of all; each fifth row is held out."""
        rows = self.features.take(rows)
        chosen = np.linspace(0, len(rows), len(self.arrays.rows), endpoint=False).astype(int)
        chosen = np.unique(chosen)
        Z = np.clip(rows[chosen], -FAR, FAR)
        apart = find_apart(self.similarity(Z, Z))
        Z = Z[apart]
        arrays, m = self.arrays, len(Z)
        K, k = self.similarity(Z, Z), self.similarity(rows, Z)
        arrays.rows[:m], arrays.inverse[:m, :m] = Z, invert(K)
        arrays.age[:m], arrays.count[[SIZE, LEARNED]] = chosen[apart], (m, len(rows))
        errors, known = np.nan_to_num(Y - scores), ~np.isnan(Y)
        counts = known * weights[:, None] / self.noise  # precision of each shown error
        arrays.weights[:m], arrays.covariance[:m, :m] = learn_errors(K, k, errors, counts)
        held_out = scores.copy()
        for fold in range(FOLDS):
            out = np.arange(fold, len(rows), FOLDS)
            rest = np.delete(np.arange(len(rows)), out)
            held_out[out] += k[out] @ learn_errors(K, k[rest], errors[rest], counts[rest])[0]
        return held_out

    def follow(self, rows, scores, Y, weights, kept):
        """Answer every row, then learn what was wrong of it."""
        out, row, arrays = np.empty_like(scores), 0, self.arrays
        rows = self.features.take(rows)
        trust = self.against, self.towards, self.discounts_echo
        m, K = arrays.weights.shape
        scratch = np.empty(K, np.bool_), *np.empty((2, K)), np.zeros((2, K)), *np.empty((2, m))
        scratch = *scratch, np.empty((3, m))
        given = tuple(arrays), (self.width, self.noise, self.fade, *trust), scratch, out
        while row < len(rows):
            row = follow_cases(rows, scores, Y, weights, kept, row, *given)
            if arrays.count[CHANGES] >= REFRESH:
                size = self.n_cases
                Z = arrays.rows[:size]
                with one_blas_thread():
                    arrays.inverse[:size, :size] = invert(self.similarity(Z, Z))
                arrays.count[CHANGES] = 0
        return out


class RecentStage(CaseStage):
    """A few cases of the last rows, soon forgotten, that are trusted as far as they have helped."""

    fade, against, towards, discounts_echo = 0.9, 1.0, 0.0, True

    def __init__(self, n_features, n_labels, *, features=None):
        sizes = n_features, n_labels, RECENT
        super().__init__(*sizes, RECENT_REACH, features=features)

    def begin(self, rows, scores, Y, weights):
        """Begin with nothing: rows of a batch may come in any order."""
        return scores


def find_apart(K):
    """Return which rows, by their similarities, are new beside those before."""
    kept, L = [], np.zeros_like(K)  # Cholesky, row by row
    for i, similar in enumerate(K):
        n = len(kept)
        line = solve_triangular(L[:n, :n], similar[kept], lower=True, check_finite=False)
        novelty = 1.0 - line @ line
        if novelty > LEAST_NOVELTY:
            L[n, :n], L[n, n] = line, np.sqrt(novelty)
            kept.append(i)
    return kept


def learn_errors(K, k, errors, counts):
    """Return ``a = A k'Q e`` and ``A = (K + k'Q k)^-1``, Q the precisions of the errors (n, K).

    Labels that are known in the same rows share A; else each has its own, and the mean is kept.
    """
    if (counts == counts[:, :1]).all():
        A = invert(K + (counts[:, 0] * k.T) @ k)
        return A @ (k.T @ (counts * errors)), A
    shown = [factor(K + (count * k.T) @ k) for count in counts.T]
    columns = zip(shown, counts.T, errors.T, strict=True)
    a = np.stack([solve(f, k.T @ (c * e)) for f, c, e in columns], axis=1)
    return a, invert(K + (counts.mean(axis=1) * k.T) @ k)
