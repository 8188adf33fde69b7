"""LabelLayer: decisions and probabilities from scores, and what their errors teach."""

from typing import NamedTuple

import numpy as np

from efcml.kernels.labels import (
    FAR,
    LEAST_SLOPE,
    LEAST_VARIANCE,
    LOWEST,
    N_THRESHOLDS,
    OWN_PRIOR,
    RENEWAL,
    ROWS,
    SHARED_PRIOR,
    STEP,
    WILDEST,
    find_thresholds,
    flip_while_better,
    follow_labels,
    write_probabilities,
)
from efcml.kernels.linalg import invert
from efcml.kernels.planes import ERROR, GAIN, HELD, SPREAD, WEIGHT, share_of
from efcml.model.stages import ArrayStage
from efcml.model.tables import LABELS, Labels
from efcml.support.probability import squash

GROWTH = 0.03  # of the rows that are remembered, after which the matrices are derived anew
MORE = 2.0  # rows that the prior of E counts beyond one for each label
POOLED_ROWS, LEAST_SPREAD = 2.0, 1e-6  # by which the variance of a label is held to that of all
LEAST_OPEN = 1e-6  # share of a variance that stays open, at least; less is rounding
UNKNOWN_VARIANCE = 0.1  # of the errors of a label of which nothing is known
ROUNDS = 15  # Newton steps of a batch
MOST_ENUMERATED = 10  # labels; beyond, the likeliest set is searched for by flips
GRID = LOWEST + STEP * np.arange(N_THRESHOLDS)


class Answer(NamedTuple):
    """What is said of rows; all of shape (n, K)."""

    scores: np.ndarray  # given the labels that are known
    decisions: np.ndarray  # 0 or 1
    probabilities: np.ndarray


def plain_answer(scores, known=None):
    """Return what scores say by themselves; known labels (not NaN) are what they are."""
    parts = scores, (scores >= 0.5).astype(np.float64), squash(scores)
    if known is not None:
        parts = tuple(np.where(np.isnan(known), part, known) for part in parts)
    return Answer(*parts)


class LabelLayer(ArrayStage):
    """The last stage: what is said of rows, by ``follow`` each before it is learned.

    Kept are the sums T of ``e e'`` and how many rows know each label, n. With a diagonal prior v
    that counts for ``h = K + 2`` rows, the covariance of the errors is

        E_ij = (T_ij + h v_i [i = j]) / sqrt((n_i + h) (n_j + h))

    which is positive definite whichever labels are unknown. What lies beside the diagonal counts by
    the share m of what labels have told of each other.
    """

    table = LABELS

    def __init__(self, n_labels, decision):
        self.decision = decision
        K = n_labels
        self.arrays = a = Labels(**LABELS.allocate(self.sizes_of(K)))
        a.variance[:], a.curve[-1, 1] = UNKNOWN_VARIANCE, 1.0  # near .5 a score is its probability
        a.information[:, [0, 2]], a.information[-1, [0, 2]] = OWN_PRIOR, SHARED_PRIOR
        self._renew()

    @staticmethod
    def sizes_of(K):
        """Return the lengths of the dimensions of the table."""
        return {"K": K, "K1": K + 1, "t": N_THRESHOLDS}

    @property
    def share(self):
        """How far labels are trusted to tell of each other."""
        return float(share_of(self.arrays.trial, HELD, 0.0))

    # Learning

    def begin(self, rows, scores, Y, weights):
        """Start from scores of rows that were not learned."""
        a, known = self.arrays, ~np.isnan(Y) & (np.abs(scores) <= WILDEST)
        errors, h = np.where(known, Y - scores, 0.0), Y.shape[1] + MORE
        a.rows[:], a.sums[:] = known.sum(axis=0), errors.T @ errors
        squares, pooled = np.diag(a.sums), np.trace(a.sums) / max(a.rows.sum(), 1.0)
        variance = (squares + POOLED_ROWS * pooled) / (a.rows + POOLED_ROWS)
        a.variance[:] = np.maximum(variance, LEAST_SPREAD)
        a.true[:] = np.where(known, Y, 0.0).sum(axis=0)
        raises = known[..., None] & (scores[..., None] >= GRID)
        a.raised[:], a.hits[:] = raises.sum(axis=0), (raises & (Y[..., None] == 1.0)).sum(axis=0)
        a.clock[ROWS] = known.any(axis=1).sum()
        self._begin_curves(scores, Y, known)
        # What the others say of an error, by sums without the own row: to take e e' out of sums
        # with the inverse Q, with u = e'Q e, makes Q larger by Q e e'Q / (1 - u).
        Q = np.linalg.inv(a.sums + h * np.diag(a.variance))
        product = errors @ Q
        left = np.maximum(1.0 - (errors * product).sum(axis=1), LEAST_OPEN)[:, None]
        said = errors - (product / left) / (np.diag(Q) + product**2 / left)
        e, d = errors[known], said[known]
        sums = (e * d).sum(), (d**2).sum(), (e**2).sum(), known.any(axis=1).sum()
        a.trial[[GAIN, SPREAD, ERROR, WEIGHT]] = sums
        self._renew()

    def _begin_curves(self, scores, Y, known):
        """Newton steps of the shared curve and of the own curves, in turn."""
        a, x = self.arrays, 4.0 * (np.clip(scores, -WILDEST, WILDEST) - 0.5)
        for _ in range(ROUNDS):
            for own in (False, True):
                curve = a.curve[:-1] + a.curve[-1]
                logit = curve[:, 0] + np.maximum(curve[:, 1], LEAST_SLOPE) * x
                p = 1.0 / (1.0 + np.exp(-np.clip(logit, -FAR, FAR)))
                gap = np.where(known, Y - p, 0.0)
                v = np.where(known, np.maximum(p * (1.0 - p), LEAST_VARIANCE), 0.0)
                sums = np.stack([v, v * x, v * x * x, gap, gap * x]).sum(axis=1).T  # (K, 5)
                prior = OWN_PRIOR if own else SHARED_PRIOR
                lines = slice(0, -1) if own else slice(-1, None)
                start = np.zeros(2) if own else np.array([0.0, 1.0])
                sums = sums if own else sums.sum(axis=0, keepdims=True)
                pull = sums[:, 3:] - prior * (a.curve[lines] - start)
                i = a.information[lines] = sums[:, :3] + prior * np.array([1.0, 0.0, 1.0])
                size = 1.0 / (i[:, 0] * i[:, 2] - i[:, 1] ** 2)
                level = i[:, 2] * pull[:, 0] - i[:, 1] * pull[:, 1]
                slope = i[:, 0] * pull[:, 1] - i[:, 1] * pull[:, 0]
                move = size[:, None] * np.stack([level, slope], axis=1)
                a.curve[lines] += np.clip(move, -1.0, 1.0)

    def _renew(self):
        """Derive E, E_m and their inverses from the sums."""
        a, K = self.arrays, len(self.arrays.rows)
        h = K + MORE
        root = np.sqrt(a.rows + h)
        E = (a.sums + h * np.diag(a.variance)) / np.outer(root, root)
        a.covariance[:] = self.share * E + (1.0 - self.share) * np.diag(np.diag(E))
        a.precision[:], a.form[:] = invert(E), invert(a.covariance)
        a.clock[RENEWAL] = a.clock[ROWS] + 1 + max(K, int(GROWTH * a.rows.max(initial=0.0)))

    def follow(self, rows, scores, Y, weights, kept):
        """Return what is said of rows, each before it is learned."""
        chances, decided, row = np.empty(scores.shape), np.empty(scores.shape), 0
        by_f1 = self.decision == "f1"
        while row < len(Y):
            first = row
            row = follow_labels(scores, Y, kept, first, by_f1, self.arrays, chances, decided)
            if self.decision == "subset":  # the form stays the same until it is derived anew
                part = slice(first, row)
                decided[part] = self._likeliest_sets(scores[part], scores[part], None)
            if self.arrays.clock[ROWS] >= self.arrays.clock[RENEWAL]:
                self._renew()
        return Answer(scores, decided, chances)

    # Answers

    def say(self, scores, known=None):
        """Return what is said of rows, given the labels (n, K) that are known; NaN: it is not."""
        given, sharpness = self.condition(scores, known)
        chances = np.empty(given.shape)
        write_probabilities(given, sharpness, self.arrays.curve, chances)
        decided = self._decide(scores, given, known)
        if known is not None:
            chances = np.where(np.isnan(known), chances, known)
        return Answer(given, decided, chances)

    def condition(self, scores, known):
        """Return scores given known labels, ``s_u + E_uk E_kk^-1 (y_k - s_k)``, and sharpness.

        The second is by how much the deviation of a label was larger before.
        """
        given, sharpness = scores.copy(), np.ones(scores.shape)
        E = self.arrays.covariance
        for t in range(0 if known is None else len(scores)):
            k = ~np.isnan(known[t])
            if k.any():
                shares = np.linalg.solve(E[np.ix_(k, k)], E[np.ix_(k, ~k)])
                given[t, ~k] += (known[t, k] - scores[t, k]) @ shares
                before = np.diag(E)[~k]
                after = before - (E[np.ix_(k, ~k)] * shares).sum(axis=0)
                sharpness[t, ~k] = np.sqrt(before / np.maximum(after, LEAST_OPEN * before))
                given[t, k] = known[t, k]
        return given, sharpness

    def thresholds(self):
        """Return the score from which on each label is decided."""
        a, found = self.arrays, np.full(len(self.arrays.true), 0.5)
        if self.decision == "f1":
            find_thresholds(a.raised, a.hits, a.true, found)
        return found

    def _decide(self, scores, given, known):
        """Return decisions 0/1 (n, K)."""
        if self.decision == "subset":
            return self._likeliest_sets(scores, given, known)
        decided = (given >= self.thresholds()).astype(np.float64)
        return decided if known is None else np.where(np.isnan(known), decided, known)

    def _likeliest_sets(self, scores, given, known):
        """Return the y with the least ``(y - s)' E_m^-1 (y - s)``; known labels stay."""
        is_open = np.full(scores.shape, True) if known is None else np.isnan(known)
        y, F, K = (given >= 0.5).astype(np.float64), self.arrays.form, scores.shape[1]
        y[~is_open] = given[~is_open]
        if K > MOST_ENUMERATED:
            flip_while_better(np.ascontiguousarray(scores), is_open, F, y)
            return y
        sets = (np.arange(2**K)[:, None] >> np.arange(K)) & 1
        for t in range(len(y)):
            mine = sets[(sets[:, ~is_open[t]] == y[t, ~is_open[t]]).all(axis=1)]
            gaps = mine - scores[t]
            y[t] = mine[np.argmin(((gaps @ F) * gaps).sum(axis=1))]
        return y

    def add_labels(self, count):
        """Take in labels about which no row so far was wrong; of variance they have the mean."""
        K = len(self.arrays.rows)
        old = self.arrays
        self.arrays = a = LABELS.grown(old, self.sizes_of(K + count))
        rows = old.rows.max(initial=0.0)
        a.rows[K:], a.variance[K:] = rows, old.variance.mean() if K else UNKNOWN_VARIANCE
        a.raised[K:] = rows * (GRID <= 0.0)  # the score of each was 0 there
        a.curve[K:], a.information[K:] = 0.0, OWN_PRIOR * np.array([1.0, 0.0, 1.0])
        a.curve[-1], a.information[-1] = old.curve[-1], old.information[-1]
        self._renew()
