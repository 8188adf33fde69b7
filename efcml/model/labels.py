"""LabelLayer: decisions and probabilities from scores, and what their errors teach."""

from typing import NamedTuple

import numpy as np

from efcml._jit import plain
from efcml.kernels import labels as kernel
from efcml.kernels.labels import KNEE, LEARNED, OWN_PRIOR, RENEWAL, SHARED_PRIOR, WILDEST
from efcml.kernels.linalg import invert
from efcml.kernels.planes import ERRORS_AGAINST, share_of
from efcml.model.stages import Stage
from efcml.model.tables import LABELS, Labels
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import squash

GROWTH = 0.03  # of the rows that are remembered, after which the matrices are derived anew
MORE = 2.0  # rows that the prior of E counts beyond one for each label
POOLED_ROWS, LEAST_SPREAD = 2.0, 1e-6  # by which the variance of a label is held to that of all
LEAST_OPEN = 1e-6  # share of a variance that stays open, at least; less is rounding
UNKNOWN_VARIANCE = 0.1  # of the errors of a label of which nothing is known
START = np.array([4.0 * (KNEE - 0.5), 1.0, 1.0])  # the curve before any row
MOST_ENUMERATED = 10  # labels; beyond, the likeliest set is searched for by flips
LEAST_GAIN = 1e-9  # of a flip, as a share of its own entry of the form; less is rounding
GRID = -0.1 + 0.025 * np.arange(kernel.N_THRESHOLDS)  # thresholds
F1_HELD = 20.0  # positives by which a label is held to all of them


class Answer(NamedTuple):
    """What is said of rows; all of shape (n, K)."""

    scores: np.ndarray  # given the labels that are known
    decisions: np.ndarray  # 0 or 1
    probabilities: np.ndarray


def plain_answer(scores, known=None, rows=None):
    """Return what scores say by themselves; known labels (not NaN) are what they are.

    Scores that few ``rows`` (K,) have made are no certainty: of frequencies the probability is
    ``(ones + 1/2) / (rows + 1)``.
    """
    probabilities = squash(scores)
    if rows is not None:
        probabilities = (rows * np.clip(scores, 0.0, 1.0) + 0.5) / (rows + 1.0)
    parts = scores, (scores >= 0.5).astype(np.float64), probabilities
    if known is not None:
        parts = tuple(np.where(np.isnan(known), part, known) for part in parts)
    return Answer(*parts)


def flip_while_better(scores, is_open, y, F):
    """Flip labels of a row, one or two at a time, while ``(y - s)' F (y - s)`` falls."""
    for _ in range(10 * len(y)):  # rounding must not let it go round in circles
        a = 1.0 - 2.0 * y
        alone = 2.0 * a * (F @ (y - scores)) + np.diag(F)
        change = alone[:, None] + alone + 2.0 * np.outer(a, a) * F
        np.fill_diagonal(change, alone)
        change[~is_open] = change[:, ~is_open] = np.inf
        i, j = np.unravel_index(change.argmin(), F.shape)
        if change[i, j] >= -LEAST_GAIN * F[i, i]:
            return
        y[[i, j]] = 1.0 - y[[i, j]]


class LabelLayer(Stage):
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
        self.arrays = a = Labels(**LABELS.allocate({"K": n_labels}))
        a.variance[:], a.curve[-1] = UNKNOWN_VARIANCE, START  # near .5 a score is its probability
        a.information[:], a.information[-1] = OWN_PRIOR * np.eye(3), SHARED_PRIOR * np.eye(3)
        self._renew()

    @property
    def share(self):
        """How far labels are trusted to tell of each other."""
        return float(plain(share_of)(self.arrays.trust_sums, ERRORS_AGAINST, 0.0))

    # Learning

    def begin(self, rows, scores, Y, weights):
        """Go through a batch as a first stream, by scores of rows that were not learned."""
        known = ~np.isnan(Y) & (np.abs(scores) <= WILDEST)
        squares, seen = weights @ np.where(known, Y - scores, 0.0) ** 2, weights @ known
        pooled = squares.sum() / max(seen.sum(), 1.0)
        variance = (squares + POOLED_ROWS * pooled) / (seen + POOLED_ROWS)
        self.arrays.variance[:] = np.maximum(variance, LEAST_SPREAD)
        self._renew()
        self.follow(rows, np.ascontiguousarray(scores), Y, weights, np.ones(len(Y)))

    @one_blas_thread()
    def _renew(self):
        """Derive E, E_m and their inverses from the sums."""
        a, K = self.arrays, len(self.arrays.rows)
        h = K + MORE
        root = np.sqrt(a.rows + h)
        E = (a.sums + h * np.diag(a.variance)) / np.outer(root, root)
        a.covariance[:] = self.share * E + (1.0 - self.share) * np.diag(np.diag(E))
        a.precision[:], a.form[:] = invert(E), invert(a.covariance)
        pause = max(K, int(min(GROWTH * a.rows.max(initial=0.0), 1e15)))
        a.clock[RENEWAL] = a.clock[LEARNED] + 1 + pause

    def follow(self, rows, scores, Y, weights, kept):
        """Return what is said of rows, each before it is learned."""
        decided, chances = (scores >= 0.5).astype(np.float64), np.empty(scores.shape)
        a, row = self.arrays, 0
        if self.decision == "f1":
            for t, given in enumerate(zip(scores, Y, weights, kept, strict=True)):
                decided[t] = self._decide_by_thresholds(*given)
        while row < len(Y):
            first, row = row, self._follow(scores, Y, weights, kept, row, chances)
            if self.decision == "subset":
                part = scores[first:row]  # the form stays the same until it is derived anew
                decided[first:row] = self._likeliest_sets(part, part, np.full(part.shape, True))
            if a.clock[LEARNED] >= a.clock[RENEWAL]:
                self._renew()
        return Answer(scores, decided, chances)

    def _follow(self, scores, Y, weights, kept, start, chances):
        """Write probabilities of rows and learn them, up to the row where E is derived anew."""
        a, K = self.arrays, scores.shape[1]
        arrays = a.sums, a.rows, a.trust_sums, a.precision, a.curve, a.information, a.clock
        scratch = np.empty(K, np.bool_), np.empty(K), np.zeros((3, K)), *np.empty((3, 3))
        return kernel.follow_labels(scores, Y, weights, kept, start, arrays, scratch, chances)

    # Answers

    def say(self, scores, known=None):
        """Return what is said of rows, given the labels (n, K) that are known; NaN: it is not."""
        unknown, none = np.full(scores.shape, np.nan), np.zeros(len(scores))
        known = unknown if known is None else known
        is_open, chances = np.isnan(known), np.empty(scores.shape)
        given, sharpness = self.condition(scores, known)
        self._follow(given, unknown, none, none, 0, chances)
        sharp = 1.0 / (1.0 + ((1.0 - chances) / chances) ** sharpness)  # so many times the logit
        chances = np.where(sharpness > 1.0, sharp, chances)
        if self.decision == "subset":
            decided = self._likeliest_sets(scores, given, is_open)
        else:
            decided = (given >= self.thresholds()).astype(np.float64)
        return Answer(given, *(np.where(is_open, part, known) for part in (decided, chances)))

    def condition(self, scores, known):
        """Return scores given known labels, ``s_u + E_uk E_kk^-1 (y_k - s_k)``, and sharpness.

        The second is by how much the deviation of a label was larger before.
        """
        given, sharpness = scores.copy(), np.ones(scores.shape)
        E = self.arrays.covariance
        for t, k in enumerate(~np.isnan(known)):
            if k.any():
                shares = np.linalg.solve(E[np.ix_(k, k)], E[np.ix_(k, ~k)])
                given[t, ~k] += (known[t, k] - scores[t, k]) @ shares
                before = np.diag(E)[~k]
                after = before - (E[np.ix_(k, ~k)] * shares).sum(axis=0)
                sharpness[t, ~k] = np.sqrt(before / np.maximum(after, LEAST_OPEN * before))
                given[t, k] = known[t, k]
        return given, sharpness

    def thresholds(self):
        """Return the score from which on each label is decided; the lowest of equally good ones.

        For F1 it is the one with the largest ``2 (hits + h r) / (raised + h q + true + h)``, with
        the recall r of all labels together and what they raise for each true one, q.
        """
        a = self.arrays
        if self.decision != "f1":
            return np.full(len(a.true), 0.5)
        total = max(a.true.sum(), 1.0)
        recall, effort = a.hits.sum(axis=0) / total, a.raised.sum(axis=0) / total
        all_said = a.raised + F1_HELD * effort + a.true[:, None] + F1_HELD
        f1 = 2.0 * (a.hits + F1_HELD * recall) / all_said
        return np.where(f1.max(axis=1) > 0.0, GRID[f1.argmax(axis=1)], 0.5)

    def _decide_by_thresholds(self, scores, y, weight, kept):
        """Decide a row, then count at which thresholds known labels are raised, and rightly."""
        a, decided = self.arrays, scores >= self.thresholds()
        known = ~np.isnan(y) & (np.abs(scores) <= WILDEST)
        if weight > 0.0 and known.any():
            ones, raises = weight * np.where(known, y, 0.0), scores[:, None] >= GRID
            added = weight * (known[:, None] & raises), ones[:, None] * raises, ones
            for counts, new in zip((a.raised, a.hits, a.true), added, strict=True):
                counts *= kept
                counts += new
        return decided

    def _likeliest_sets(self, scores, given, is_open):
        """Return the y with the least ``(y - s)' E_m^-1 (y - s)``; known labels stay."""
        y, F, K = np.where(is_open, given >= 0.5, given), self.arrays.form, scores.shape[1]
        if K > MOST_ENUMERATED:
            for row in zip(scores, is_open, y, strict=True):
                flip_while_better(*row, F)
            return y
        sets = (np.arange(2**K)[:, None] >> np.arange(K)) & 1
        for t in range(len(y)):
            mine = sets[(sets[:, ~is_open[t]] == y[t, ~is_open[t]]).all(axis=1)]
            gaps = mine - scores[t]
            y[t] = mine[np.argmin(((gaps @ F) * gaps).sum(axis=1))]
        return y

    def add_labels(self, count):
        """Take in labels about which no row so far was wrong; of variance they have the mean."""
        old, K = self.arrays, len(self.arrays.rows)
        super().add_labels(count)
        a, rows = self.arrays, old.rows.max(initial=0.0)
        a.rows[K:], a.variance[K:] = rows, old.variance.mean() if K else UNKNOWN_VARIANCE
        a.raised[K:] = rows * (GRID <= 0.0)  # the score of each was 0 there
        a.curve[K:], a.information[K:] = 0.0, OWN_PRIOR * np.eye(3)
        a.curve[-1], a.information[-1] = old.curve[-1], old.information[-1]
        self._renew()
