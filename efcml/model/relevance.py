"""Which features tell of the labels: found in the initial rows, and again along the stream.

A feature is compared with *shadows*, its own values with their rows shuffled: what these tell of
the labels is chance. Rules are formed over features that tell more, always: one that tells nothing
makes all distances alike. Planes and cases leave the others out if that predicts held-out rows
better, because features that are weak alone help together.

Every so many learned rows the last ones are looked at again. Features that have come to tell
something join, those that tell nothing any more leave, and rules and cases begin anew from these
rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from efcml.kernels.cases import FAR
from efcml.kernels.linalg import add_diagonal, invert
from efcml.model.fit import FOLDS, STRENGTHS, Batch
from efcml.model.stages import Stage
from efcml.model.tables import RELEVANCE, Relevance
from efcml.support.statistics import label_means, similarity

LEAST_ROWS = 200  # fewer tell too little of single features: all count, until there are as many
MOST_ROWS = 1000  # the newest are enough
SHADOWS = 300  # columns, at least, that tell how far a feature without meaning would come
DRAWS = 3, 30  # least and most shadows of a feature
UNLIKELY = 0.05  # share of the shadows that tell so much: weak features that may help together
MISTAKES = 0.02  # share of the features that are found, by mistake
SPARED = 0.05  # of the features: to leave out fewer changes much by chance, and nothing on average
BINS = 8  # of equal numbers of rows
CASE_ROWS = 600  # the newest are enough to tell whether cases help
WIDTH, NOISE = 0.25, 1.0  # as cases have them
WORTH = 0.012  # of the loss, that each step of leaving features out must save
LOST = 0.2  # of the loss: what the likely features cost if something is missing
GAIN = 0.05  # of the loss, that other features must save to begin anew with them
GONE = 3  # looks in a row in which a feature that leaves told no more than shadows
LOOK, LOOK_BY_FEATURE = 200, 4  # rows before the first look, at least, and for each feature
LATER, RARELY = 1.5, 5  # times as many where nothing has changed; where all features count
COURSE = 100  # looks that are remembered
LOOKS, DUE, FOUND, CHANGES = range(4)  # entries of `count`
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

    def take(self, rows):
        """Return what is used of some rows."""
        whole = len(self.used) == rows.shape[1]  # or taken before
        return rows if whole else np.take(rows, self.used, axis=1)


class RelevanceWatch(Stage):
    """Which features count now, what they told at every look, and when the next one is due."""

    table = RELEVANCE

    def __init__(self, n_features, given):
        self.given = given  # the parameter
        self.arrays = a = Relevance(**RELEVANCE.allocate({"p": n_features, "n": COURSE}))
        a.used[:], a.axes[:], a.strength[:] = True, True, 1.0
        if not isinstance(given, str):
            flags = np.array(given[:n_features]) != 0
            a.axes[: len(flags)] = a.strength[: len(flags)] = flags
        self._wait(1)

    @property
    def looks(self):
        """Whether anything is to be found."""
        return self.given == "auto" and len(self.arrays.axes) > 1

    @property
    def due(self):
        """How many rows are to be learned before the next look."""
        return int(self.arrays.count[DUE]) if self.looks else np.iinfo(np.int64).max

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
        looks = int(self.arrays.count[LOOKS])
        last = np.arange(max(0, looks - COURSE), looks) % COURSE
        return self.arrays.course_row[last], self.arrays.course[last]

    def _wait(self, times):
        """Set when the next look is due: late where all features count, and none can join."""
        rows = max(LOOK, LOOK_BY_FEATURE * len(self.arrays.axes))
        times = RARELY if self.arrays.axes.all() else times
        self.arrays.count[DUE] = times * rows if self.arrays.count[FOUND] else LOOK

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
        self._wait(LATER)
        self._choose(rows, Y, weights, rows_seen)
        return not all(map(np.array_equal, before, self.features))

    def _choose(self, rows, Y, weights, rows_seen):
        """Find what tells something, and decide what counts."""
        if len(rows) < LEAST_ROWS:
            return
        a, young = self.arrays, rows_seen == len(rows)
        rows, Y, weights = rows[-MOST_ROWS:], Y[-MOST_ROWS:], weights[-MOST_ROWS:]
        Z = np.nan_to_num(rows)
        U, shares = center_labels(Y, weights)
        told = surprise_of(*screen(Z, U, shares, np.random.default_rng(0)))
        line = least_surprise(told)
        now = a.count[LOOKS] % COURSE
        a.strength[:] = a.course[now] = told / line
        a.course_row[now] = rows_seen
        a.count[LOOKS] += 1
        axes, likely = told > line, told > -np.log(UNLIKELY)
        a.idle[:] = np.where(likely, 0, a.idle + 1)
        E = np.nan_to_num(Y - label_means(Y, weights))
        found = a.count[FOUND]
        if found and not young:  # others join if that pays, and what is idle leaves
            more, new = axes | (a.axes & likely), (axes & ~a.axes).any()
            pays = new and loss_of(Z[:, more], E) < loss_of(Z[:, a.axes], E) - GAIN
            axes = more if pays else a.axes & (a.idle < GONE)
        if axes.sum() > (1.0 - SPARED) * len(axes):
            axes, likely = np.ones_like(axes), np.ones_like(axes)
        if not axes.any() or (found and np.array_equal(axes, a.axes)):
            return
        if not (found and young) or loss_of(Z[:, axes], E) < loss_of(Z[:, a.axes], E):
            self._settle(axes, likely, Z, E)

    def _settle(self, axes, likely, Z, E):
        """Let rules be formed over some features, and find what planes and cases use."""
        a, tried = self.arrays, (np.ones_like(axes), likely | axes, axes)
        losses = [loss_of(Z[:, used], E) + i * WORTH for i, used in enumerate(tried)]
        if losses[-1] > losses[0] + LOST:
            return
        a.axes[:], a.used[:] = axes, tried[int(np.argmin(losses))]
        a.count[FOUND] = True
        a.count[CHANGES] += 1
        self._wait(1)


# What features tell


def center_labels(Y, weights):
    """Return centred labels of length 1, 0 where unknown, and the share of each in the variance."""
    U = np.nan_to_num(Y - label_means(Y, weights)) * weights[:, None]
    squares = (U * U).sum(axis=0)
    shares = squares / max(squares.sum(), TINY)
    return U / np.sqrt(np.where(squares > TINY, squares, np.inf)), shares


def screen(Z, U, shares, rng):
    """Return what features tell of the labels U, and what shadows tell: (6, p), (6, shadows).

    Squared correlations of ranks with the labels: linear, in bins, and times the best partner; of
    all labels by their shares, and of the best one. A shadow is a feature with its rows shuffled,
    and meets the features as they are: what a partner tells is no merit.
    """
    n, p = Z.shape
    ranks = rankdata(Z, axis=0)
    place = np.minimum(np.floor((ranks - 0.5) / n * BINS), BINS - 1)
    bins = (place[:, :, None] == np.arange(BINS)).reshape(n, -1).astype(float)
    scale = n / np.maximum(bins.sum(axis=0), 1.0)[:, None]
    Z = ranks - ranks.mean(axis=0)
    Z /= np.where(np.ptp(Z, axis=0) > 0.0, Z.std(axis=0), np.inf)
    found, draws = [], int(np.clip(-(-SHADOWS // p), *DRAWS))
    for order in (np.arange(n), *(rng.permutation(n) for _ in range(draws))):
        F, back = Z[order], U[np.argsort(order)]  # as good as shuffled features
        alone = (Z.T @ back) ** 2
        binned = ((bins.T @ back) ** 2 * scale).reshape(p, BINS, -1).sum(axis=1)
        variance = (Z * Z).T @ (F * F) / n - (Z.T @ F / n) ** 2
        variance = np.where(variance > 1e-6, variance, np.inf)
        np.fill_diagonal(variance, np.inf)
        together, best = 0.0, np.zeros(p)
        for u, share in zip(U.T, shares, strict=True):
            pairs = ((Z * u[:, None]).T @ F) ** 2 / variance
            together, best = together + share * pairs, np.maximum(best, pairs.max(axis=0))
        found.append([alone @ shares, binned @ shares, together.max(axis=0),
                      alone.max(axis=1), binned.max(axis=1), best])  # fmt: skip
    return np.array(found[0]), np.hstack(found[1:])


def surprise_of(told, shadows):
    """Return how far what features tell is beyond shadows (p,): -log of the chance, in nats.

    Beyond the most telling shadows their chance falls exponentially. The best kind counts, and is
    compared with the best kinds of shadows.
    """
    own, best = (rise(each, shadows).max(axis=0, keepdims=True) for each in (told, shadows))
    above = len(best[0]) - np.searchsorted(np.sort(best[0]), own[0])
    chance = (1.0 + above) / (1.0 + len(best[0]))
    return np.where(chance > UNLIKELY, -np.log(chance), rise(own, best)[0])


def rise(told, shadows):
    """Return -log of the chance that a shadow of the same kind tells so much (kinds, n)."""
    usual = np.quantile(shadows, 1.0 - UNLIKELY, axis=1, keepdims=True)
    beyond = np.maximum(shadows - usual, 0.0).mean(axis=1, keepdims=True) / UNLIKELY
    return (told - usual) / np.maximum(beyond, TINY) - np.log(UNLIKELY)


def least_surprise(told):
    """Return from which surprise on features are found, so that few are by mistake.

    By Benjamini and Hochberg (1995): of p features the k-th is found at a chance of k/p MISTAKES.
    Where few are as dull as half of the shadows, few can be found by mistake (Storey 2002).
    """
    p, ordered = len(told), np.sort(told)[::-1]
    dull = min(1.0, 2.0 * (1 + (told < np.log(2.0)).sum()) / p)
    lines = np.log(p * dull / MISTAKES / np.arange(1, p + 1))
    found = np.flatnonzero(ordered > lines)
    return max(lines[found[-1] if len(found) else 0], np.log(2.0))


def loss_of(Z, E):
    """Return log squared errors at held-out rows, of one plane and of one plane with cases, added.

    E are labels without their means, 0 where unknown.
    """
    batch, n = Batch.of(Z, E, np.ones(len(Z))), len(Z)
    held = np.zeros((len(STRENGTHS), *E.shape))
    for out in np.split(np.arange(n), [fold * n // FOLDS for fold in range(1, FOLDS)]):
        rest = np.delete(np.arange(n), out)
        base = batch.base(*batch.sums(batch.weights, rest), None)[None]
        held[:, out] = batch.scores(batch.R[out], base, batch.weights, rest)[:, 0]
    errors = E - held
    losses = (errors**2).sum(axis=(1, 2))
    errors, Z = errors[np.argmin(losses), -CASE_ROWS:], np.clip(Z[-CASE_ROWS:], -FAR, FAR)
    A = invert(add_diagonal(similarity(Z, Z, WIDTH), NOISE))
    left = (((A @ errors) / np.diag(A)[:, None]) ** 2).sum()
    return np.log(max(losses.min(), TINY)) + np.log(max(left, TINY))
