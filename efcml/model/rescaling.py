"""The scale of a learner follows its stream.

Kernels watch whether scaled rows still look as they should (efcml/kernels/watch.py). If not, the
next rows are held: they are answered, but not learned yet. Once there are enough of them they say
which features are due, and give them a new mean and deviation. There are two readings of that: rows
come from elsewhere, or what measures them has moved. The labels of the held rows decide. But a
feature that grows from row to row, as a date does, never comes back to where it was: no row to come
is like those that were learned, and it is ignored from then on. Then the rows are learned.

What measures has moved: the scaled rows of before are as good as new ones, and the state stays.
Rows come from elsewhere: in the new scale the rows of before are ``a x + b``, and rules and cases
begin anew from the last of them. To re-express exactly all that was learned is no better.
"""

from dataclasses import replace

import numpy as np

from efcml.kernels import watch as kernel
from efcml.model.scaler import Scaler, is_resting
from efcml.model.stages import Stage
from efcml.model.tables import WATCH, Watch
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import label_means

MOST_HELD = 40  # rows
MOVED, KEPT = 3, 4  # entries of `count`: changes so far, by how they were read
SURE = 0.8  # share of a limit that held rows must pass: they do not lag as what watches does
AWAKE = kernel.LEAK / (1.0 + kernel.LEAK)  # share of held rows in which one wakes that never varied
MOST_NEAR = 0.1  # share of initial rows in which a feature hardly differs from the row before
FARTHEST_SHIFT = 1e4  # deviations; beyond, nothing that was learned is of use
ONE_WAY = 0.9  # of the steps between held rows, forward less back: more, and a feature grows
MOST_STRETCH = 20.0  # likewise, times the deviation, or a part of it


class ScaleWatch(Stage):
    """What is remembered of the last rows to know when their scale must change, and to what."""

    table = WATCH

    def __init__(self, n_features, n_labels):
        sizes = {"p": n_features, "K": n_labels, "n": MOST_HELD}
        self.arrays = a = Watch(**WATCH.allocate(sizes))
        a.square[:], a.step[:], a.count[kernel.NOTED] = 1.0, 2.0, kernel.PAUSE

    @classmethod
    def from_rows(cls, X, scaled, n_labels):
        """Begin after a batch of rows, in the units of the data and scaled."""
        watch = cls(X.shape[1], n_labels)
        watch.arrays.asleep[:] = is_resting(X)
        if len(X) > 1:
            steps = np.abs(np.diff(scaled, axis=0))
            there = (~np.isnan(steps)).sum(axis=0)  # of rows in turn that both have the feature
            near = (steps < kernel.NEAR).sum(axis=0) / np.maximum(there, 1)
            watch.arrays.lively[:] = (near < MOST_NEAR) & (there > 0)
        return watch

    @property
    def in_doubt(self):
        """Whether rows are held."""
        return bool(self.arrays.count[kernel.IN_DOUBT])

    @property
    def changes(self):
        """How often the scale changed: rules began anew, or the state was left as it was."""
        return int(self.arrays.count[MOVED]), int(self.arrays.count[KEPT])

    def watch(self, X, scaled, Y, weights, clip):
        """Take in rows; return how many, and whether doubt begins or enough rows are held."""
        return kernel.watch_rows(X, scaled, Y, weights, clip, tuple(self.arrays))

    @property
    def held(self):
        """The held rows, in the units of the data, their labels and weights."""
        n, a = self.arrays.count[kernel.N_HELD], self.arrays
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
        wide = np.where(one_way, 0.0, kernel.WANDERS * np.sqrt(wanders))
        far = shift > SURE * np.maximum(kernel.FARTHEST, wide)
        off = far | (ratio > SURE * kernel.WIDEST) | (ratio < kernel.NARROWEST / SURE)
        there = np.maximum((~np.isnan(seen)).sum(axis=0), 1)
        wakes = (np.abs(seen) >= kernel.STIRRING).sum(axis=0) / there > AWAKE
        due = np.where(asleep, wakes, off) & ~is_resting(rows) & ~scaler.ignored
        grows = due & ~asleep & one_way
        moves = due & ~grows
        changed = Scaler(
            np.where(moves, new.mean, scaler.mean), np.where(moves, deviation, scaler.scale),
            scaler.clip, np.where(moves, new.spread, scaler.spread), scaler.ignored | grows,
        )  # fmt: skip
        return changed, due

    def settle(self, due, reading):
        """End the doubt: features that are due begin anew; others that were off stay muted."""
        a = self.arrays
        a.level[due], a.square[due], a.step[due], a.unfit[due], a.muted[due] = 0.0, 1.0, 2.0, 0.0, 0
        a.asleep[due] = False
        a.count[[kernel.IN_DOUBT, kernel.N_HELD, kernel.NOTED]] = 0
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
    given = float(variance), float(step), float(len(x))
    return kernel.wandering(*given) if np.isfinite(step) else 0.0


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

    Returns the rows, which are held no longer, their labels and weights, and what became of rules.
    """
    watch, old, events = learner.watch, learner.scaler, []
    held, (new, due) = watch.held, watch.propose(old)
    reading = None
    if due.any():
        unknown = due & (watch.arrays.asleep | new.ignored)
        with np.errstate(over="ignore"):
            a, b = old.scale / new.scale, (old.mean - new.mean) / new.scale
        reading = KEPT
        if (due & ~unknown).any():
            reading = read_change(learner, new, unknown, is_far(a[~unknown], b[~unknown]))
        learner.scaler = new
        if reading == MOVED or unknown.any():
            a, b = (a, b) if reading == MOVED else (1.0, 0.0)
            rows, Y, weights = learner.latest
            whole, rows = (np.where(unknown, 0.0, a * x + b) for x in (learner.fill(rows), rows))
            learner.latest = rows, Y, weights
            events = learner.begin_anew(whole, Y, weights)
    watch.settle(due, reading)
    return *held, events


def is_far(a, b):
    """Tell whether scaled features ``a x + b`` are others by far: nothing learned is of use."""
    stretched = (a > MOST_STRETCH) | (a < 1.0 / MOST_STRETCH)
    return bool((stretched | (np.abs(b) > FARTHEST_SHIFT)).any())


def read_change(learner, new, unknown, far):
    """Return the reading that tells the labels of the held rows best.

    If rows come from elsewhere, they are what they look like in the old scale. Judged by the
    squared error. A plane that is right may be so by far, outside of [0, 1]; at most, that counts
    as much as not to know. If both readings are worse than the mean labels of these rows, they come
    from elsewhere: to leave the state as it is would mean to learn them against old ones in the
    same place. But if the features are far off it stays nevertheless.
    """
    rows, labels, _ = learner.watch.held
    unclipped = replace(learner.scaler, clip=FARTHEST_SHIFT, spread=np.zeros_like(new.spread))
    errors = {}
    for reading, scaler in ((MOVED, unclipped), (KEPT, new)):
        seen = np.where(unknown, 0.0, scaler.transform(rows))
        scores = np.clip(learner.score_scaled(seen, timeless=True), -0.5, 1.5)
        errors[reading] = float(np.nansum((scores - labels) ** 2))
    usual = float(np.nansum((label_means(labels) - labels) ** 2))
    if min(errors.values()) >= usual:
        return KEPT if far else MOVED
    return min(errors, key=errors.get)
