"""One global plane per label by recursive least squares, on trusted arrays.

Rows are taken one after the other with the same operations whatever the split into calls, so the
split changes no bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from scipy.linalg import blas

from efcml.model.reshape import precision
from efcml.model.scaler import Scaler
from efcml.rivals.fourier import FourierMap
from efcml.rivals.ridge import choose_ridge
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.interrupts import interrupts_held
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.model.trace import Trace
    from efcml.support.aliases import Floats


class LeastSquaresLearner(Guarded):
    """Recursive least squares with a ridge, on scaled features and perhaps Fourier features.

    ``P = (R'R + Delta)^-1`` is shared by all labels until a row is known in part; from then on
    every label has its own.
    """

    n_rules = 0

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        *,
        ridge: float | str,
        clip: float,
        warmup_rows: int,
        n_fourier: int = 0,
        seed: int = 0,
    ) -> None:
        self.n_features = n_features
        self.n_labels = n_labels
        self.ridge = ridge
        self.clip = clip
        self.warmup_rows = warmup_rows
        self.n_fourier = n_fourier
        self.seed = seed
        self.rows_seen = 0
        self.scaler: Any = None  # Scaler, once there are planes
        self.fourier: FourierMap | None = None
        self.ridge_chosen: Any = None  # a number, likewise
        self.W: Any = None  # (K, d), likewise
        self.P: list[Floats] = []  # one matrix, or one per label; lower triangles
        self.held: list[tuple[Floats, Floats]] = []  # warm-up rows

    @property
    def fitted(self) -> bool:
        """Whether planes exist; before, label frequencies answer."""
        return self.W is not None

    @one_at_a_time
    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn an initial batch from nothing."""
        labelled = ~np.isnan(Y).all(axis=1)
        X, Y = X[labelled], Y[labelled]
        self.held = []
        self.scaler = Scaler.from_rows(X, self.clip)
        X = np.nan_to_num(self.scaler.transform(X))
        if self.n_fourier:
            random = np.random.default_rng(self.seed)
            self.fourier = FourierMap.draw(X, self.n_fourier, random)
        R = np.array([self._extend(x) for x in X])
        self.ridge_chosen = self.ridge
        if self.ridge == "auto":
            self.ridge_chosen = choose_ridge(R[:, :-1], Y)
        self._solve(R, Y)
        self.rows_seen = len(X)
        return self

    def _solve(self, R: Floats, Y: Floats) -> None:
        delta = precision(self.ridge_chosen, R.shape[1] - 1)
        known = ~np.isnan(Y)
        target = R.T @ np.where(known, Y, 0.0)
        target[-1] += delta[-1] * label_means(Y)  # held to flat planes
        masks = known.T if not known.all() else [slice(None)]
        self.P = [invert(R[mask].T @ R[mask] + np.diag(delta)) for mask in masks]
        if len(self.P) == 1:
            self.W = np.ascontiguousarray((self.P[0] @ target).T)
        else:
            self.W = np.array([P @ b for P, b in zip(self.P, target.T, strict=True)])

    @one_at_a_time
    def learn(self, X: Floats, Y: Floats, trace: Trace | None = None) -> Self:
        """Learn rows in order; any split into calls gives the same state."""
        for t in range(len(X)):
            if trace is not None:
                rows = X if trace.rows is None else trace.rows
                trace.scores[t] = self.score(rows[t : t + 1])[0]
            if self.fitted:
                self._learn_row(self._read(X[t]), Y[t])
            else:
                self._hold(X[t], Y[t])
        if trace is not None:
            trace.rules[:] = 0
        return self

    @interrupts_held()
    def _hold(self, x: Floats, y: Floats) -> None:
        """Keep a warm-up row; fit when there are enough."""
        if not np.isnan(y).all():
            self.held.append((x.copy(), y.copy()))
        if len(self.held) == self.warmup_rows:
            self.fit(*(np.array(part) for part in zip(*self.held, strict=True)))

    @interrupts_held()
    def _learn_row(self, r: Floats, y: Floats) -> None:
        known = ~np.isnan(y)
        if not known.any():
            return
        self.rows_seen += 1
        if not known.all() and len(self.P) == 1:
            self.P = [self.P[0].copy(order="F") for _ in range(self.n_labels)]
        if len(self.P) == 1:
            gain, self.P[0] = gain_and_update(self.P[0], r)
            self.W += np.outer(y - self.W @ r, gain)
            return
        for c in np.flatnonzero(known):
            gain, self.P[c] = gain_and_update(self.P[c], r)
            self.W[c] += (y[c] - self.W[c] @ r) * gain

    def _read(self, x: Floats) -> Floats:
        return self._extend(np.nan_to_num(self.scaler.transform(x)))

    def _extend(self, x: Floats) -> Floats:
        """Return the regressors of one scaled row: features, Fourier features, 1."""
        return np.append(x if self.fourier is None else self.fourier(x), 1.0)

    @one_at_a_time
    def score(self, X: Floats) -> Floats:
        """Return the (n, K) continuous outputs, row by row as in a stream."""
        if self.fitted:
            scores = [self.W @ self._read(x) for x in X]
            return np.array(scores).reshape(len(X), self.n_labels)
        held = np.array([y for _, y in self.held]).reshape(-1, self.n_labels)
        return np.tile(label_means(held), (len(X), 1))

    @one_at_a_time
    def add_labels(self, count: int) -> NoReturn:
        """Refuse: the rows so far are gone, and a new plane would need them."""
        raise NotImplementedError("least squares cannot take in late labels: fit again with all.")

    @one_at_a_time
    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), held=list(self.held))
        if self.fitted:
            other.W = self.W.copy()
            other.P = [P.copy(order="F") for P in self.P]
        return other


def invert(H: Floats) -> Floats:
    """Return the inverse of a definite matrix, symmetric to the last bit, in Fortran order."""
    P = np.linalg.inv(H)
    return np.asfortranarray(0.5 * (P + P.T))


def gain_and_update(P: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Return ``P r / (1 + r'P r)`` and the updated P; only the lower triangle counts."""
    v = blas.dsymv(1.0, P, r, lower=1)
    scale = 1.0 + r @ v
    return v / scale, blas.dsyr(-1.0 / scale, v, lower=1, a=P, overwrite_a=1)
