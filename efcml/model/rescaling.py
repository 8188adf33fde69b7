"""The scale of a learner follows its stream.

Kernels watch whether scaled rows still look as they should (efcml/kernels/watch.py). If not, the
next rows are held: they are answered, but not learned yet. Once there are enough of them they say
which features are due, and give them a new mean and deviation. There are two readings of that: rows
come from elsewhere, or what measures them has moved. The labels of the held rows decide. But a
feature that grows from row to row, as a date does, never comes back to where it was: no row to come
is like those that were learned, and it is ignored from then on. Then the rows are learned.

Scaled rows become ``a x + b``, so ``r = [x, 1]`` becomes ``T r``. What rules and cases hold are
sums and functions of such rows: they can be worked out as they would be had the rows come in the
new units. Only the prior, which belongs to units, is a new one.
"""

from dataclasses import dataclass

import numpy as np

from efcml.kernels.linalg import invert, whole
from efcml.kernels.watch import (
    DOUBT,
    FARTHEST,
    HELD,
    LEAK,
    NARROWEST,
    NEAR,
    PAUSE,
    QUIET,
    STIRRING,
    WANDERS,
    WIDEST,
    is_off,
    wandering,
    watch_rows,
)
from efcml.model.reshape import set_gaussian
from efcml.model.scaler import Scaler, is_resting
from efcml.model.stages import Stage
from efcml.model.tables import WATCH, Watch
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import label_means

MOST_HELD = 40  # rows
MOVED, KEPT = 3, 4  # entries of `count`: changes so far, by how they were read
SURE = 0.8  # share of a limit that held rows must pass: they do not lag as what watches does
AWAKE = LEAK / (1.0 + LEAK)  # share of held rows in which a feature varies that never did
MOST_NEAR = 0.1  # share of initial rows in which a feature hardly differs from the row before
MUTED = 1000  # rows in which a feature that was off for nothing raises no doubt
FARTHEST_SHIFT = 1e4  # of |b|, a and 1/a: beyond, an exact change would leave only rounding
ONE_WAY = 0.9  # of the steps between held rows, forward less back: more, and a feature grows
MOST_STRETCH = 20.0  # of a and 1/a: beyond, what was learned is of no use to rows from elsewhere


@dataclass(frozen=True)
class ChangeOfUnits:
    """Scaled features ``x`` are ``a x + b`` in the new units.

    ``a = 0`` says that nothing is known of a feature: its values so far count as 0, and rules have
    the variance there that they are born with.
    """

    a: np.ndarray  # (p,), at least 0
    b: np.ndarray  # (p,), 0 where a is

    def rows(self, X):
        """Return scaled rows in the new units."""
        return self.a * X + self.b

    def planes(self, W):
        """Return planes (..., d), which are the same functions of the rows."""
        known = self.a > 0.0
        slopes = np.where(known, W[..., :-1], 0.0) / np.where(known, self.a, 1.0)
        return np.concatenate([slopes, W[..., -1:] - slopes @ self.b[:, None]], axis=-1)

    def of(self, features):
        """Return the change for some features."""
        return ChangeOfUnits(self.a[features], self.b[features])

    @property
    def matrix(self):
        """T, with ``r' = T r``."""
        T = np.diag(np.append(self.a, 1.0))
        T[:-1, -1] = self.b
        return T

    @property
    def is_none(self):
        """Whether nothing changes."""
        return bool((self.a == 1.0).all() and not self.b.any())


class ScaleWatch(Stage):
    """What is remembered of the last rows to know when their scale must change, and to what."""

    table = WATCH

    def __init__(self, n_features, n_labels):
        sizes = {"p": n_features, "K": n_labels, "n": MOST_HELD}
        self.arrays = Watch(**WATCH.allocate(sizes))
        self.arrays.square[:], self.arrays.step[:], self.arrays.count[QUIET] = 1.0, 2.0, PAUSE

    @classmethod
    def from_rows(cls, X, scaled, n_labels):
        """Begin after a batch of rows, in the units of the data and scaled."""
        watch = cls(X.shape[1], n_labels)
        watch.arrays.asleep[:] = is_resting(X)
        if len(X) > 1:
            steps = np.abs(np.diff(scaled, axis=0))
            there = (~np.isnan(steps)).sum(axis=0)  # of rows in turn that both have the feature
            near = (steps < NEAR).sum(axis=0) / np.maximum(there, 1)
            watch.arrays.lively[:] = (near < MOST_NEAR) & (there > 0)
        return watch

    @property
    def in_doubt(self):
        """Whether rows are held."""
        return bool(self.arrays.count[DOUBT])

    @property
    def changes(self):
        """How often the scale changed: the state was re-expressed, or left as it was."""
        return int(self.arrays.count[MOVED]), int(self.arrays.count[KEPT])

    def watch(self, X, scaled, Y, weights, clip):
        """Take in rows; return how many, and whether doubt begins or enough rows are held."""
        return watch_rows(X, scaled, Y, weights, clip, self.arrays)

    @property
    def held(self):
        """The held rows, in the units of the data, their labels and weights."""
        n, a = self.arrays.count[HELD], self.arrays
        return a.rows[:n].copy(), a.labels[:n].copy(), a.weights[:n].copy()

    def propose(self, scaler):
        """Return the scale by the held rows, and for which features it is new.

        A feature that does not vary in these rows keeps its scale, whatever it was. Of one whose
        rows follow each other slowly they show a part: its deviation is larger than theirs. One
        that grows is ignored.
        """
        (rows, Y, _), asleep = self.held, self.arrays.asleep
        new, seen = Scaler.from_rows(rows, scaler.clip, Y), scaler.transform(rows)
        with np.errstate(over="ignore"):  # infinite is off, too
            shift = np.abs(new.mean - scaler.mean) / scaler.scale
            wanders = np.array([wandering_of(x) for x in (rows / scaler.scale).T])
            deviation = new.scale / np.sqrt(1.0 - wanders)
            ratio = deviation / scaler.scale
        one_way = go_one_way(rows)
        wide = np.where(one_way, 0.0, WANDERS * np.sqrt(wanders))
        far = shift > SURE * np.maximum(FARTHEST, wide)
        off = far | (ratio > SURE * WIDEST) | (ratio < NARROWEST / SURE)
        there = np.maximum((~np.isnan(seen)).sum(axis=0), 1)
        wakes = (np.abs(seen) >= STIRRING).sum(axis=0) / there > AWAKE
        due = np.where(asleep, wakes, off) & ~is_resting(rows) & ~scaler.ignored
        grows = due & ~asleep & one_way
        moves = due & ~grows
        changed = Scaler(
            np.where(moves, new.mean, scaler.mean), np.where(moves, deviation, scaler.scale),
            scaler.clip, np.where(moves, new.spread, scaler.spread), scaler.ignored | grows,
        )  # fmt: skip
        return changed, due

    def settle(self, due, reading):
        """End the doubt: features that are due begin anew, others that are off are muted."""
        a = self.arrays
        for j in np.flatnonzero(~due):
            if is_off(a.level[j], a.square[j], a.step[j], a.unfit[j], a.asleep[j]):
                a.muted[j] = MUTED
        a.level[due], a.square[due], a.step[due], a.unfit[due], a.muted[due] = 0.0, 1.0, 2.0, 0.0, 0
        a.asleep[due] = False
        a.count[[DOUBT, HELD, QUIET]] = 0
        for held in (a.rows, a.labels, a.weights):
            held[:] = 0.0
        if reading is not None:
            a.count[reading] += 1


def wandering_of(x):
    """Return the share of its variance by which the mean of scaled rows of a feature wanders."""
    x = x[~np.isnan(x)]
    if len(x) < 2:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # steps of 1e200 are not slow
        variance, step = np.var(x), np.mean(np.diff(x) ** 2)
    return wandering(float(variance), float(step), float(len(x))) if np.isfinite(step) else 0.0


def go_one_way(rows):
    """Tell of every feature whether nearly all of its steps from row to row go the same way."""
    found = np.zeros(rows.shape[1], dtype=bool)
    for j, column in enumerate(rows.T):
        steps = np.sign(np.diff(column[~np.isnan(column)]))
        taken = np.abs(steps).sum()
        found[j] = taken > 0.0 and abs(steps.sum()) >= ONE_WAY * taken
    return found


@one_blas_thread()
def decide_scale(learner):
    """Change the scale of a learner if its held rows ask for it, and its state as they read it.

    Returns the rows, which are held no longer, their labels and weights.
    """
    watch = learner.watch
    held = watch.held
    old, (new, due) = learner.scaler, watch.propose(learner.scaler)
    reading = None
    if due.any():
        known = ~(due & (watch.arrays.asleep | new.ignored))
        with np.errstate(over="ignore"):
            a, b = old.scale / new.scale, (old.mean - new.mean) / new.scale
        readings = {KEPT: ChangeOfUnits(known.astype(float), np.zeros(len(b)))}
        if (due & known).any() and has_digits(a[known], b[known]):
            readings[MOVED] = ChangeOfUnits(np.where(known, a, 0.0), np.where(known, b, 0.0))
        reading, stages = read_change(learner, new, readings)
        learner.scaler, learner.stages = new, stages
        learner._latest = [(readings[reading].rows(learner.latest[0]), *learner.latest[1:])]
    watch.settle(due, reading)
    return held


def has_digits(a, b):
    """Tell whether an exact change of units leaves more than rounding."""
    least, most = 1.0 / FARTHEST_SHIFT, FARTHEST_SHIFT
    return bool(((a >= least) & (a <= most) & (np.abs(b) <= most)).all())


def read_change(learner, scaler, readings):
    """Return the reading that tells the labels of the held rows best, and the stages it leads to.

    Judged by the squared error. A plane that is right may be so by far, outside of [0, 1]; at most,
    that counts as much as not to know. If both are worse than the mean labels of these rows, they
    come from elsewhere: to leave the state as it is would mean to learn them against old ones in
    the same place. But if the features are stretched a great deal it stays nevertheless. What was
    learned would end in one spot, with planes so steep that rules born beside it could not use
    them.
    """
    rows, labels, _ = learner.watch.held
    rows = scaler.transform(rows)
    errors, found = {}, {}
    for reading, change in readings.items():
        try:
            found[reading] = changed_stages(learner.stages, change)
        except np.linalg.LinAlgError:  # rounding
            continue
        scores = np.clip(learner.score_scaled(rows, found[reading], timeless=True), -0.5, 1.5)
        errors[reading] = float(np.nansum((scores - labels) ** 2))
    if KEPT not in found:
        found[KEPT], errors[KEPT] = [stage.copy() for stage in learner.stages], np.inf
    if MOVED not in errors:
        return KEPT, found[KEPT]
    usual = float(np.nansum((label_means(labels) - labels) ** 2))
    best = KEPT if errors[KEPT] < errors[MOVED] else MOVED
    if errors[best] >= usual:
        best = KEPT if is_stretched(readings[MOVED]) else MOVED
    return best, found[best]


def is_stretched(change):
    """Tell whether the deviation of some feature is another one by far."""
    a = change.a[change.a > 0.0]
    return bool(((a > MOST_STRETCH) | (a < 1.0 / MOST_STRETCH)).any())


def changed_stages(stages, change):
    """Return copies of all stages in the new units; raises LinAlgError if rounding spoils one."""
    stages = [stage.copy() for stage in stages]
    for stage in stages if not change.is_none else ():
        stage.change_units(change)
    return stages


def re_express(rules, n_rules, S_0, change, features):
    """Put the arrays of rules in the new units; newborn rules keep their variance S_0 there.

    A merge takes off what two rules have of S_0; of a larger one they have a smaller share.
    """
    change = change.of(features.used)
    of_axes = change.of(features.axes)
    p, known = len(of_axes.a), of_axes.a > 0.0
    stretched = np.append(np.where(known, of_axes.a**2, 1.0) * S_0[:p], S_0[p:])
    rules.facts["prior_share"][:n_rules] *= np.minimum(1.0, stretched / S_0).min()
    for i in range(n_rules):
        move_gaussian(rules, i, stretched, of_axes)
        for m in range(rules.G.shape[1]):
            move_planes(rules, i, m, change)


def move_gaussian(rules, i, S_0, change):
    """Re-express the Gaussian of one rule; labels keep their units."""
    p, known = len(change.a), change.a > 0.0
    rules.center[i, :p] = change.rows(rules.center[i, :p])
    a, at = np.ones(rules.center.shape[1]), np.flatnonzero(~known)
    a[:p] = change.a
    S = invert(rules.joint[i]) * np.outer(a, a)
    S[at, at] = S_0[at]
    set_gaussian(rules, i, S)


def move_planes(rules, i, m, change):
    """Re-express the planes of one memory of a rule and the sums that they come from.

    Delta stays what it is, but in the new units, so P is derived anew. W stays the same function.
    """
    T = change.matrix
    rules.W[i, m], rules.W_0[i, m] = change.planes(rules.W[i, m]), change.planes(rules.W_0[i, m])
    rules.B[i, m] = rules.B[i, m] @ T.T
    G = T @ whole(rules.G[i, m]) @ T.T
    rules.G[i, m] = 0.5 * (G + G.T)
    rules.P[i, m] = invert(rules.G[i, m] + np.diag(rules.Delta[i, m]))
    rules.stale[i, m] = 0
