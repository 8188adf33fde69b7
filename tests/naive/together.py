"""Slow twins of what labels say of each other: plain matrices, every row from the definitions."""

from itertools import product

import numpy as np

HELD, GROWTH, LEAST_VARIANCE, POOLED_ROWS = 5.0, 0.03, 1e-6, 2.0


def covariance(errors, weights, variance):
    """E of rows of errors, NaN if unknown, each with its weight."""
    K = len(variance)
    zero = np.nan_to_num(errors)
    sums = sum((w * np.outer(e, e) for e, w in zip(zero, weights, strict=True)), np.zeros((K, K)))
    rows = sum((w * ~np.isnan(e) for e, w in zip(errors, weights, strict=True)), np.zeros(K))
    E = np.empty((K, K))
    for i in range(K):
        for j in range(K):
            prior = (K + 2) * variance[i] if i == j else 0.0
            E[i, j] = (sums[i, j] + prior) / np.sqrt((rows[i] + K + 2) * (rows[j] + K + 2))
    return E


def said_by_others(E, e):
    """What the other known labels of a row say of each error: E_ko E_oo^-1 e_o, one by one."""
    said, known = np.zeros(len(e)), np.flatnonzero(~np.isnan(e))
    for k in known:
        others = known[known != k]
        if len(others):
            said[k] = E[k, others] @ np.linalg.solve(E[np.ix_(others, others)], e[others])
    return said


def prior_variance(errors):
    """Variance of every label, held to that of all by two rows."""
    squares, K = np.nan_to_num(errors) ** 2, errors.shape[1]
    mean = squares.sum() / max((~np.isnan(errors)).sum(), 1)
    rows = (~np.isnan(errors)).sum(axis=0)
    found = [(squares[:, k].sum() + 2 * mean) / (rows[k] + 2) for k in range(K)]
    return np.maximum(found, LEAST_VARIANCE)


def given(s, E, y):
    """Scores and covariance given known labels, by the formula for Gaussians, all at once."""
    known, open_ = np.flatnonzero(~np.isnan(y)), np.flatnonzero(np.isnan(y))
    scores, C = np.array(y, dtype=float), np.full(E.shape, np.nan)
    gain = E[np.ix_(open_, known)] @ np.linalg.inv(E[np.ix_(known, known)])
    scores[open_] = s[open_] + gain @ (y - s)[known]
    C[np.ix_(open_, open_)] = E[np.ix_(open_, open_)] - gain @ E[np.ix_(known, open_)]
    return scores, C


def all_sets(y):
    """All sets of labels that agree with the known ones."""
    choices = [(0.0, 1.0) if np.isnan(value) else (value,) for value in y]
    return np.array(list(product(*choices)))


def form(labels, s, E):
    e = labels - s
    return e @ np.linalg.inv(E) @ e


class NaiveTogether:
    """All rows are kept, and everything is worked out from them when it is asked for."""

    def __init__(self, errors):
        self.errors, self.weights = [*errors], [1.0] * len(errors)
        self.variance = prior_variance(errors)
        self.trial = np.zeros(4)
        for t, e in enumerate(errors):
            if not np.isnan(e).all():
                others = np.delete(errors, t, axis=0)
                self._count(e, covariance(others, np.ones(len(others)), self.variance), 1.0)
        self.rows = int((~np.isnan(errors).all(axis=1)).sum())
        self._renew()

    def _count(self, e, E, kept):
        d, e = said_by_others(E, e), np.nan_to_num(e)
        self.trial = kept * self.trial + [e @ d, d @ d, e @ e, 1.0]

    def _renew(self):
        self.E = covariance(self.errors, self.weights, self.variance)
        gain, spread, error, weight = self.trial
        against = spread + HELD * error / weight if weight else 0.0
        self.share = np.clip(gain / against, 0.0, 1.0) if against else 0.0
        self.E_m = self.share * self.E + (1.0 - self.share) * np.diag(np.diag(self.E))
        rows = sum((w * ~np.isnan(e) for e, w in zip(self.errors, self.weights, strict=True)), 0.0)
        self.renewal = self.rows + 1 + max(len(self.variance), int(GROWTH * np.max(rows)))

    def note(self, e, kept=1.0):
        full = not np.isnan(e).any()
        E = self.E if full else covariance(self.errors, self.weights, self.variance)
        self._count(e, E, kept)
        self.weights = [kept * w for w in self.weights] + [1.0]
        self.errors.append(e)
        self.rows += 1
        if self.rows >= self.renewal:
            self._renew()
