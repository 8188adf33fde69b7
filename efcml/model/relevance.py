"""Which features tell of the labels: found in the initial rows, and again along the stream.

A feature is compared with *shadows*, its own values with their rows shuffled: what these tell of
the labels is chance. Rules are formed over features that tell more, always: one that tells nothing
makes all distances alike. Planes and cases leave the others out if that predicts held-out rows
better, because features that are weak alone help together.

Along the stream the last rows are looked at again, ever more rarely. Where other features tell
something than those that count, a challenger finds out whether it would be better with them.
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
COURSE = 100  # looks that are remembered
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


class FeatureChoice(Stage):
    """Which features count, and what they told at every look."""

    table = RELEVANCE

    def __init__(self, n_features, given):
        self.given = given  # the parameter
        self.arrays = a = Relevance(**RELEVANCE.allocate({"p": n_features, "n": COURSE}))
        a.used[:], a.axes[:], a.strength[:] = True, True, 1.0
        if not isinstance(given, str):
            flags = np.array(given[:n_features]) != 0
            a.axes[: len(flags)] = a.strength[: len(flags)] = flags

    @property
    def looks(self):
        """Whether anything is to be found."""
        return self.given == "auto" and len(self.arrays.axes) > 1

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
        looks = int(self.arrays.looks[0])
        last = np.arange(max(0, looks - COURSE), looks) % COURSE
        return self.arrays.course_row[last], self.arrays.course[last]

    def follow_on(self, old, rows_seen):
        """Remember the looks of another choice before the one that this began with."""
        a, before = self.arrays, old.arrays
        if self.looks and a.looks[0]:
            told, now = a.course[0].copy(), before.looks[0] % COURSE
            a.course[:], a.course_row[:], a.looks[:] = (
                before.course,
                before.course_row,
                before.looks,
            )
            a.course[now], a.course_row[now] = told, rows_seen
            a.looks[0] += 1

    def choose(self, rows, Y, weights):
        """Let those features count that tell something in a batch, if that predicts better."""
        if not self.looks or len(rows) < LEAST_ROWS:
            return
        rows, Y, weights = rows[-MOST_ROWS:], Y[-MOST_ROWS:], weights[-MOST_ROWS:]
        telling, likely = self._look(rows, Y, weights, len(rows))
        if not telling.any() or telling.all():
            return
        Z, E = np.nan_to_num(rows), np.nan_to_num(Y - label_means(Y, weights))
        tried = np.ones_like(telling), likely | telling, telling
        losses = [loss_of(Z[:, used], E) + i * WORTH for i, used in enumerate(tried)]
        if losses[-1] <= losses[0] + LOST:
            resting = np.ptp(Z, axis=0) == 0.0  # they may come to tell something
            self.arrays.axes[:] = telling
            self.arrays.used[:] = tried[int(np.argmin(losses))] | resting

    def differs(self, rows, Y, weights, rows_seen):
        """Tell whether other features seem to tell something by the last rows."""
        if not self.looks or len(rows) < LEAST_ROWS:
            return False
        telling, likely = self._look(
            rows[-MOST_ROWS:], Y[-MOST_ROWS:], weights[-MOST_ROWS:], rows_seen
        )
        axes = self.arrays.axes
        return bool(telling.any() and ((telling & ~axes) | (axes & ~(likely | telling))).any())

    def _look(self, rows, Y, weights, rows_seen):
        """Find which features tell something, and which may; note it."""
        a = self.arrays
        U, shares = center_labels(Y, weights)
        told = surprise_of(*screen(np.nan_to_num(rows), U, shares, np.random.default_rng(0)))
        line, now = least_surprise(told), a.looks[0] % COURSE
        a.strength[:] = a.course[now] = told / line
        a.course_row[now] = rows_seen
        a.looks[0] += 1
        telling, likely = told > line, told > -np.log(UNLIKELY)
        few = telling.sum() > (1.0 - SPARED) * len(telling)
        return (np.ones_like(telling),) * 2 if few else (telling, likely)


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
