"""Which features tell of the labels: found in the initial rows, and again along the stream.

A feature is compared with *shadows*, its own values with their rows shuffled: what these tell of
the labels is chance. Rules are formed over features that tell more, always: one that tells nothing
makes all distances alike. Planes and cases leave the others out if that predicts held-out rows
better, because features that are weak alone help together.

Every so many learned rows the last ones are looked at again. Features that have come to tell
something join, and rules and cases begin anew from these rows; those that tell nothing any more
leave, and what was learned of the others stays as it is.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from efcml.kernels.linalg import add_diagonal, invert
from efcml.model.stages import ArrayStage
from efcml.model.tables import RELEVANCE, Relevance

LEAST_ROWS = 200  # fewer tell too little of single features: all count, until there are as many
MOST_ROWS = 1000  # the newest are enough
SHADOWS = 300  # columns, at least, that tell how far a feature without meaning would come
DRAWS = 3, 30  # least and most shadows of a feature
MARGIN = 1.1  # times the best shadow
LIKELY = 0.95  # of the shadows tell less: weak features that may help together
BINS = 8  # of equal numbers of rows
FOLDS = 5
STRENGTHS = (0.3, 3.0, 30.0, 300.0, 3000.0)  # of the prior of a plane
CASE_ROWS = 600  # the newest are enough to tell whether cases help
WIDTH, NOISE, FAR = 0.25, 1.0, 3.0  # as cases have them
WORTH = 0.012  # of the loss, that each step of leaving features out must save
LOST = 0.2  # of the loss: what the likely features cost if something is missing
NEW = 0.1  # of what all features tell, that others must have come to tell, to begin anew with them
GAIN = 0.05  # of the loss, that these must save
GONE = 3  # looks in a row in which a feature that leaves told no more than shadows
LOOK, LOOK_BY_FEATURE = 200, 4  # rows between two looks, at least, and for each feature
COURSE = 100  # looks that are remembered
LOOKS, DUE, FOUND, RENEWALS = range(4)  # entries of `count`
TINY = 1e-9


class Features(NamedTuple):
    """The features that a stage takes of a row."""

    used: np.ndarray  # numbers of those in planes and cases, ascending
    axes: np.ndarray  # places among these of the ones that rules are formed over

    @classmethod
    def all(cls, count):
        """Return that every feature is taken."""
        return cls(np.arange(count), np.arange(count))

    @property
    def numbers(self):
        """Numbers of the axes."""
        return self.used[self.axes]

    def is_part_of(self, other):
        """Whether no feature counts that does not for the other."""
        pairs = (self.used, other.used), (self.numbers, other.numbers)
        return all(np.isin(*pair).all() for pair in pairs)

    def take(self, rows):
        """Return what is used of some rows."""
        whole = len(self.used) == rows.shape[1]
        return rows if whole else np.take(rows, self.used, axis=1)


class RelevanceWatch(ArrayStage):
    """Which features count now, what they told at every look, and when the next one is due."""

    table = RELEVANCE

    def __init__(self, n_features, given):
        self.given = given  # the parameter
        self.arrays = a = Relevance(**RELEVANCE.allocate(self.sizes_of(n_features)))
        a.used[:], a.axes[:], a.strength[:] = True, True, 1.0
        if not isinstance(given, str):
            if len(given) != n_features:
                raise ValueError(
                    f"relevance must have one entry for each of {n_features} features; "
                    f"got {len(given)}."
                )
            a.axes[:] = a.strength[:] = np.array(given) != 0
        self._wait()

    @staticmethod
    def sizes_of(p):
        """Return the lengths of the dimensions of the table."""
        return {"p": p, "n": COURSE}

    @property
    def looks(self):
        """Whether anything is to be found."""
        return self.given == "auto" and len(self.arrays.axes) > 1

    @property
    def due(self):
        """How many rows are to be learned before the next look."""
        return int(self.arrays.count[DUE]) if self.looks else np.iinfo(np.int64).max

    @property
    def found(self):
        """Whether it is known of features that they tell something."""
        return bool(self.arrays.count[FOUND])

    @property
    def features(self):
        """The features that count."""
        used = np.flatnonzero(self.arrays.used)
        return Features(used, np.searchsorted(used, np.flatnonzero(self.arrays.axes)))

    @property
    def relevance(self):
        """What every feature tells (p,), beside the best shadow; 0 where it does not matter."""
        return np.where(self.arrays.axes, self.arrays.strength, 0.0)

    @property
    def course(self):
        """Rows learned at every look, and what features told then (looks, p); 1 is the shadows."""
        size = min(int(self.arrays.count[LOOKS]), COURSE)
        return self.arrays.course_row[:size].copy(), self.arrays.course[:size].copy()

    def _wait(self):
        p = len(self.arrays.axes)
        self.arrays.count[DUE] = max(LOOK, LOOK_BY_FEATURE * p) if self.found else LOOK

    def note_rows(self, count):
        """Count learned rows."""
        if self.looks:
            self.arrays.count[DUE] -= count

    def begin(self, rows, Y, weights):
        """Look at a batch."""
        if self.looks:
            self._choose(rows, Y, weights, len(rows))

    def look(self, rows, Y, weights, rows_seen):
        """Look at the last rows; return whether other features count from now on."""
        before = self.features
        self._choose(rows, Y, weights, rows_seen)
        now = self.features
        return not all(map(np.array_equal, before, now))

    def _choose(self, rows, Y, weights, rows_seen):
        """Find what tells something, and decide what counts."""
        a = self.arrays
        self._wait()
        if len(rows) < LEAST_ROWS:
            return
        rows, Y, weights = rows[-MOST_ROWS:], Y[-MOST_ROWS:], weights[-MOST_ROWS:]
        Z = np.nan_to_num(rows)
        U, shares = center_labels(Y, weights)
        told, shadows = screen(Z, U, shares, np.random.default_rng(0))
        best = np.maximum(shadows.max(axis=1, keepdims=True), TINY)
        strength = (told / (MARGIN * best)).max(axis=0)
        self._remember(strength, rows_seen)
        excess = np.maximum(told - MARGIN * best, 0.0)
        excess = (excess / np.maximum(excess.sum(axis=1, keepdims=True), TINY)).sum(axis=0)
        likely = (told > np.quantile(shadows, LIKELY, axis=1, keepdims=True)).any(axis=0)
        likely |= excess > 0.0
        a.idle[:] = np.where(likely, 0, a.idle + 1)
        axes = excess > 0.0
        E = np.nan_to_num(Y - label_means(Y, weights))
        if not axes.any():
            return
        if self.found:
            axes = self._judge(axes, excess, Z, E)
            if axes is None:
                return
        self._settle(axes, likely, Z, E)

    def _judge(self, axes, excess, Z, E):
        """Return the features that rules are to be formed over from now on, None if as before."""
        a = self.arrays
        new = excess[~a.axes].sum() >= NEW * excess.sum()
        if new and loss_of(Z[:, axes], E) < loss_of(Z[:, a.axes], E) - GAIN:
            return axes
        gone = a.axes & (a.idle >= GONE)
        return a.axes & ~gone if gone.any() and not gone[a.axes].all() else None

    def _settle(self, axes, likely, Z, E):
        """Let rules be formed over some features, and find what planes and cases use."""
        a, everything = self.arrays, np.ones(len(axes), np.bool_)
        tried = [everything]
        for used in (likely | axes, axes):
            if used.sum() < tried[-1].sum():
                tried.append(used)
        losses = [loss_of(Z[:, used], E) + i * WORTH for i, used in enumerate(tried)]
        if losses[-1] > losses[0] + LOST:
            return
        a.axes[:], a.used[:] = axes, tried[int(np.argmin(losses))]
        a.count[FOUND] = True
        a.count[RENEWALS] += 1
        self._wait()

    def _remember(self, strength, rows_seen):
        a = self.arrays
        a.strength[:] = strength
        if a.count[LOOKS] >= COURSE:
            a.course[:-1], a.course_row[:-1] = a.course[1:].copy(), a.course_row[1:].copy()
        last = min(int(a.count[LOOKS]), COURSE - 1)
        a.course[last], a.course_row[last] = strength, rows_seen
        a.count[LOOKS] += 1


# What features tell


def label_means(Y, weights):
    """Return the weighted share of every label over the rows that know it; 0 without any."""
    known = ~np.isnan(Y)
    return weights @ np.where(known, Y, 0.0) / np.maximum(weights @ known, TINY)


def center_labels(Y, weights):
    """Return centred labels of length 1, 0 where unknown, and the share of each in the variance."""
    U = np.nan_to_num(Y - label_means(Y, weights)) * weights[:, None]
    squares = (U * U).sum(axis=0)
    return U / np.sqrt(np.where(squares > TINY, squares, np.inf)), squares / max(squares.sum(), TINY)


def standard(A):
    """Return columns of mean 0 and variance 1; constant ones are 0."""
    A = A - A.mean(axis=0)
    spread = np.sqrt((A * A).mean(axis=0))
    return A / np.where(spread > TINY, spread, np.inf)


def screen(Z, U, shares, rng):
    """Return what features tell of the labels U, and what shadows tell: (6, p), (6, shadows).

    Squared correlations of ranks with the labels: linear, in bins, and times the best partner; of
    all labels by their shares, and of the best one. A shadow is a feature with its rows shuffled,
    and meets the features as they are: what a partner tells is no merit.
    """
    n, p = Z.shape
    ranks = rankdata(Z, axis=0)
    Z = standard(ranks)
    place = np.floor((ranks - 0.5) / n * BINS).astype(np.int64)
    draws = int(np.clip(-(-SHADOWS // p), *DRAWS))
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(draws))]
    F = np.hstack([Z[order] for order in orders])
    alone = (F.T @ U) ** 2
    inside = np.hstack([place[order] for order in orders])
    binned = np.zeros_like(alone)
    for b in range(BINS):
        there = (inside == b).astype(float)
        binned += (there.T @ U) ** 2 * (n / np.maximum(there.sum(axis=0), 1.0))[:, None]
    variance = (Z * Z).T @ (F * F) / n - (Z.T @ F / n) ** 2
    variance = np.where(variance > 1e-6, variance, np.inf)
    for own in range(0, F.shape[1], p):
        np.fill_diagonal(variance[:, own : own + p], np.inf)
    together, best = 0.0, np.zeros(F.shape[1])
    for u, share in zip(U.T, shares, strict=True):
        pairs = ((Z * u[:, None]).T @ F) ** 2 / variance
        together = together + share * pairs
        np.maximum(best, pairs.max(axis=0), out=best)
    told = np.stack([alone @ shares, binned @ shares, together.max(axis=0),
                     alone.max(axis=1), binned.max(axis=1), best])  # fmt: skip
    return told[:, :p], told[:, p:]


def loss_of(Z, E):
    """Return log squared errors at held-out rows, of one plane and of one plane with cases, added.

    E are labels without their means, 0 where unknown.
    """
    n = len(Z)
    held = np.zeros((len(STRENGTHS), *E.shape))
    edges = [fold * n // FOLDS for fold in range(FOLDS + 1)]
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        rest = np.r_[0:low, high:n]
        x, y = Z[rest].mean(axis=0), E[rest].mean(axis=0)
        A = Z[rest] - x
        values, V = np.linalg.eigh(A.T @ A)
        B, new = V.T @ (A.T @ (E[rest] - y)), (Z[low:high] - x) @ V
        for s, strength in enumerate(STRENGTHS):
            held[s, low:high] = y + new @ (B / (values + strength)[:, None])
    errors = E - held
    losses = (errors**2).sum(axis=(1, 2))
    errors, Z = errors[np.argmin(losses), -CASE_ROWS:], np.clip(Z[-CASE_ROWS:], -FAR, FAR)
    squares = (Z * Z).sum(axis=1)
    squares = np.maximum(squares[:, None] + squares - 2.0 * Z @ Z.T, 0.0)
    K = np.exp(-0.5 / (WIDTH * Z.shape[1]) * squares)
    A = invert(add_diagonal(K, np.full(len(Z), NOISE)))
    left = (((A @ errors) / np.diag(A)[:, None]) ** 2).sum()
    return np.log(max(losses.min(), TINY)) + np.log(max(left, TINY))
