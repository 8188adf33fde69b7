"""What a learner remembers of its last rows to know when a part of it no longer fits.

Every `STEP` rows with a known label it looks at the last ones: whether scaled features still look
as scaled features should, whether errors have risen, and how a challenger does beside it
(efcml/model/learner.py says what follows). Rows without any known label count for nothing here.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from efcml.model.scaler import is_resting
from efcml.model.stages import Stage
from efcml.model.tables import WATCH

STEP = 20  # rows between two looks
LAST = 500  # errors that are remembered
# Entries of `count`, in rows with a known label since the fit: how many; whether there is a doubt;
# when that or a trial began, and rows without labels since; until when there is no doubt; how many
# of the rows, and of those that it was fitted to, follow one law; when a challenger is due, how
# long to wait for the next, and why it is called.
ROWS, DOUBT, BEGUN, PASSED, CALM_UNTIL, LAWFUL, DUE, WAIT, WHY = range(9)
OTHERS, RISEN, DIRECTIONS = range(3)
REASONS = "other features matter", "errors have risen", "directions are due"
RISE, RISING, LEAST_STEPS = 4.0, 2, 8  # deviations, of so many last steps, beside so many at least
# The scale of a feature does not fit any more if, over about `MEMORY` rows,
MEMORY = 100.0
WINDOW = 200  # rows that are looked at: older ones hardly count
FARTHEST = 1.5  # its mean is so many deviations away,
WIDEST, NARROWEST = 3.0, 0.125  # or its deviation so many times what it was,
UNFIT = 8.0  # or so many values lie outside;
LEAK, STILL = 0.25, 0.5  # a good value takes off a part, one like the last value adds one
NEAR = 0.05  # deviations from the last value that are hardly a difference
MOST_NEAR = 0.1  # share of initial rows in which a feature hardly differs from the row before
SLOW_ROWS = 0.5  # autocorrelation of rows that are no sample of a distribution
WANDERS = 6.0  # deviations of the mean of slow rows that are nothing new: nor was it sure before
MOST_WANDERING = 0.95
PAUSE = 100  # rows between two doubts, at least
MUTED = 1000  # rows in which a feature that was off for nothing raises no doubt
STIRRING = 1e-14  # scaled value of a feature at rest that is more than rounding

Arrays = namedtuple("Arrays", WATCH.names)  # type: ignore[misc]


class Watch(Stage):
    """The last errors, which features rest, and when a challenger is due."""

    table = WATCH

    def __init__(self, n_features):
        self.arrays = Arrays(**WATCH.allocate({"p": n_features, "n": LAST}))

    @classmethod
    def from_rows(cls, X, scaled):
        """Begin after a batch of rows, as they came and scaled."""
        watch = cls(X.shape[1])
        watch.arrays.asleep[:] = is_resting(X)
        if len(X) > 1:
            steps = np.abs(np.diff(scaled, axis=0))
            there = (~np.isnan(steps)).sum(axis=0)  # of rows in turn that both have the feature
            near = (steps < NEAR).sum(axis=0) / np.maximum(there, 1)
            watch.arrays.lively[:] = (near < MOST_NEAR) & (there > 0)
        return watch

    def __getitem__(self, entry):
        """Return an entry of `count`."""
        return int(self.arrays.count[entry])

    def __setitem__(self, entry, value):
        self.arrays.count[entry] = value

    def note(self, losses, others):
        """Take in the losses of some rows, and those of a challenger."""
        at = (self[ROWS] + np.arange(len(losses))) % LAST
        self.arrays.loss[at] = losses
        if others is not None:
            self.arrays.other[at] = others
        self.arrays.count[[ROWS, LAWFUL]] += len(losses)

    def last(self, name, count):
        """Return the last so many losses."""
        return getattr(self.arrays, name)[np.arange(self[ROWS] - count, self[ROWS]) % LAST]

    @property
    def has_risen(self):
        """Whether the errors of the last rows are larger than before beyond doubt."""
        known = min(self[ROWS], LAST)
        steps = self.last("loss", known - known % STEP).reshape(-1, STEP).mean(axis=1)
        before, now = steps[:-RISING], steps[-RISING:]
        if len(before) < LEAST_STEPS:
            return False
        spread = before.std(ddof=1) * np.sqrt(1.0 / RISING + 1.0 / len(before))
        return bool(now.mean() - before.mean() > RISE * spread)

    def off(self, X, Z, clip):
        """Return which features do not fit their scale by the last rows X, scaled Z."""
        a, n = self.arrays, len(X)
        if n == 0:
            return np.zeros(X.shape[1], dtype=bool)
        there = ~np.isnan(Z)
        z, steps = np.where(there, Z, 0.0), np.diff(Z, axis=0, prepend=Z[:1])
        there_both = ~np.isnan(steps)
        steps = np.where(there_both, steps, 0.0)
        share = ((1.0 - 1.0 / MEMORY) ** np.arange(n)[::-1] / MEMORY)[:, None]
        level = (share * z).sum(axis=0)
        # As if all rows before had the deviation 1, and nothing to do with each other.
        square = 1.0 + (share * there * (z * z - 1.0)).sum(axis=0)
        step = 2.0 + (share * there_both * (steps * steps - 2.0)).sum(axis=0)
        variance = np.maximum(square - level * level, 0.0)
        wanders = wandering(variance, step, 2.0 * MEMORY - 1.0)
        far = np.abs(level) > np.maximum(FARTHEST, WANDERS * np.sqrt(wanders))
        narrow = variance < NARROWEST**2 * (1.0 - wanders)
        misfit = np.where(a.lively & (np.abs(steps) < NEAR), STILL, -LEAK)
        misfit[np.abs(z) >= np.where(a.asleep, STIRRING, clip)] = 1.0
        misfit[~there] = np.where(np.isnan(X[~there]), 0.0, 1.0)  # missing, or too wild to count
        course = np.cumsum(misfit, axis=0)
        unfit = course[-1] - np.minimum(course.min(axis=0), 0.0) >= UNFIT
        off = unfit | (~a.asleep & (far | narrow | (variance > WIDEST**2)))
        return off & (a.muted <= self[ROWS])


def wandering(variance, step, memory):
    """Return the share of its variance 1 by which the mean of so many last scaled rows wanders.

    With ``a = 2/(memory + 1)`` and the autocorrelation c of rows: ``a/(2 - a) (1 + c (1 - a))/(1 -
    c (1 - a))``. Rows tell c by their steps, ``1 - step/(2 variance)``. If they follow each other
    slowly they show only a part of their variance, and c is that with all of it.
    """
    a = 2.0 / (memory + 1.0)
    c = np.maximum(0.0, 1.0 - step / np.maximum(2.0 * variance, 1e-300)) * (variance > 0.0)
    c = np.where(c > SLOW_ROWS, np.maximum(c, 1.0 - 0.5 * step), c) * (1.0 - a)
    return np.minimum(MOST_WANDERING, a / (2.0 - a) * (1.0 + c) / (1.0 - c))
