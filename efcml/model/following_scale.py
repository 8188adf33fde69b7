"""The scale of a learner follows its stream (how_it_works.md 2, "Scale").

Kernels watch whether scaled rows still look as they should (efcml/kernels/scale_watch.py). If not,
the next rows are held: they are answered, but not learned yet. Once there are enough of them they
say which features are due, and give them a new mean and deviation. There are two readings of that:
rows come from elsewhere, or what measures them has moved. The labels of the held rows decide. But a
feature that grows from row to row, as a date does, is at home wherever it has come to: only its
mean moves, and what was learned stays where it was. Then the rows are learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import numpy as np

from efcml.kernels.scale_watch import (
    CALM,
    DOUBT,
    FARTHEST,
    HELD,
    LEAK,
    NARROWEST,
    NEAR,
    PAUSE,
    STIRRING,
    WIDEST,
    is_off,
    watch_until_event,
)
from efcml.model.arguments import Follow
from efcml.model.fields import FOLLOW_FIELDS
from efcml.model.kept_arrays import KeptArrays
from efcml.model.memories import follow_antecedents
from efcml.model.scaler import Scaler, is_resting
from efcml.model.scratch import ALL_ALIKE
from efcml.model.sequelbase import SequelBase
from efcml.model.units import ChangeOfUnits, re_express, re_express_cases, renew_start_variance
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Bools, Floats, Sizes

    State: TypeAlias = dict[str, Any]

MOST_HELD = 40  # rows
MOVED, KEPT = 3, 4  # entries of `count`: changes so far, by how they were read
SURE = 0.8  # share of a limit that held rows must pass: they do not lag as what watches does
AWAKE = LEAK / (1.0 + LEAK)  # share of held rows in which a feature varies that never did
MOST_NEAR = 0.1  # share of initial rows in which a feature hardly differs from the row before
MUTED = 1000  # rows in which a feature that was off for nothing raises no doubt
CASES = ("cases", "recent")  # parts of a learner that are in units of the features, beside rules
FARTHEST_SHIFT = 1e4  # of |b|, a and 1/a: beyond, an exact change would leave only rounding
ONE_WAY = 0.9  # of the steps between held rows, forward less back: more, and a feature grows
MOST_STRETCH = 20.0  # of a and 1/a: beyond, what was learned is of no use to rows from elsewhere


class FollowingScale(KeptArrays):
    """What is remembered of the last rows to know when their scale must change, and to what."""

    FIELDS, BUNDLE = FOLLOW_FIELDS, Follow

    def __init__(self, n_features: int, n_labels: int) -> None:
        self._begin(self.sizes_of(n_features, n_labels))
        self.arrays.count[CALM] = PAUSE

    @staticmethod
    def sizes_of(n_features: int, n_labels: int) -> Sizes:
        """Return the lengths of the dimensions of the table."""
        return {"p": n_features, "K": n_labels, "n": MOST_HELD}

    @classmethod
    def from_rows(cls, X: Floats, scaled: Floats, n_labels: int) -> Self:
        """Begin after a batch of rows, in the units of the data and scaled."""
        following = cls(X.shape[1], n_labels)
        following.arrays.asleep[:] = is_resting(X)
        if len(X) > 1:
            steps = np.abs(np.diff(scaled, axis=0))
            there = (~np.isnan(steps)).sum(axis=0)  # of rows in turn that both have the feature
            near = (steps < NEAR).sum(axis=0) / np.maximum(there, 1)
            following.arrays.lively[:] = (near < MOST_NEAR) & (there > 0)
        return following

    def add_labels(self, count: int) -> None:
        """Take in labels that no row that is held has."""
        self._grow(count, "K")

    @property
    def in_doubt(self) -> bool:
        """Whether rows are held."""
        return bool(self.arrays.count[DOUBT])

    @property
    def changes(self) -> tuple[int, int]:
        """How often the scale changed: the state was re-expressed, or left as it was."""
        count = self.arrays.count
        return int(count[MOVED]), int(count[KEPT])

    def watch(
        self, X: Floats, scaled: Floats, Y: Floats, clip: float, amounts: Floats = ALL_ALIKE
    ) -> tuple[int, bool]:
        """Take in rows; return how many, and whether doubt begins or enough rows are held."""
        X, Y = (np.require(part, requirements=["C", "W"]) for part in (X, Y))
        return watch_until_event(X, scaled, Y, amounts, clip, self.arrays)

    @property
    def held_amounts(self) -> Floats:
        """The weights of the held rows."""
        return self.arrays.weights[: self.arrays.count[HELD]].copy()

    @property
    def held(self) -> tuple[Floats, Floats]:
        """The held rows, in the units of the data, and their labels."""
        n = self.arrays.count[HELD]
        return self.arrays.rows[:n].copy(), self.arrays.labels[:n].copy()

    def propose(self, scaler: Scaler) -> tuple[Scaler, Bools, Bools]:
        """Return the scale by the held rows, for which features it is new, and which of them grow.

        A feature that does not vary in these rows keeps its scale, whatever it was. One that grows
        keeps its deviation: these rows are a small piece of its way.
        """
        rows, asleep = self.held[0], self.arrays.asleep
        new, seen = Scaler.from_rows(rows, scaler.clip), scaler.transform(rows)
        with np.errstate(over="ignore"):  # infinite is off, too
            shift = np.abs(new.mean - scaler.mean) / scaler.scale
            ratio = new.scale / scaler.scale
        off = (shift > SURE * FARTHEST) | (ratio > SURE * WIDEST) | (ratio < NARROWEST / SURE)
        there = np.maximum((~np.isnan(seen)).sum(axis=0), 1)
        wakes = (np.abs(seen) >= STIRRING).sum(axis=0) / there > AWAKE
        due = np.where(asleep, wakes, off) & ~is_resting(rows)
        mean = np.where(due, new.mean, scaler.mean)
        growing = due & ~asleep & (ratio <= 1.0) & go_one_way(rows)
        scale = np.where(due & ~growing, new.scale, scaler.scale)
        return Scaler(mean, scale, scaler.clip), due, growing

    def settle(self, due: Bools, reading: int | None) -> None:
        """End the doubt: features that are due begin anew, others that are off are muted."""
        arrays = self.arrays
        for j in np.flatnonzero(~due):
            facts = arrays.level[j], arrays.square[j], arrays.unfit[j], arrays.asleep[j]
            arrays.muted[j] = MUTED if is_off(*facts) else arrays.muted[j]
        for name, value in (("level", 0.0), ("square", 1.0), ("unfit", 0.0), ("muted", 0)):
            getattr(arrays, name)[due] = value
        arrays.asleep[due] = False
        arrays.count[[DOUBT, HELD, CALM]] = 0
        if reading is not None:
            arrays.count[reading] += 1

    def state(self) -> Arrays:
        """Return all arrays, for saving; behind the held rows there are zeros."""
        state = super().state()
        for name in ("rows", "labels", "weights"):
            state[name][state["count"][HELD] :] = 0.0
        return state


def decide_scale(learner: Any) -> tuple[Floats, Floats]:
    """Change the scale of a learner if its held rows ask for it, and its state as they read it.

    Returns the rows, which are held no longer, and their labels.
    """
    following: FollowingScale = learner.following
    held = following.held
    old, (new, due, growing) = learner.scaler, following.propose(learner.scaler)
    reading = None
    if due.any():
        known = ~(due & following.arrays.asleep)
        with np.errstate(over="ignore"):
            a, b = old.scale / new.scale, (old.mean - new.mean) / new.scale
        readings = {}
        if has_digits(a[known], b[known]):
            readings[MOVED] = ChangeOfUnits(np.where(known, a, 0.0), np.where(known, b, 0.0))
        else:
            growing = np.zeros_like(growing)
        readings[KEPT] = ChangeOfUnits(known.astype(float), np.where(growing, b, 0.0))
        reading, state = read_change(learner, new, readings)
        learner.scaler = new
        vars(learner).update(state)
    following.settle(due, reading)
    return held


def go_one_way(rows: Floats) -> Bools:
    """Tell of every feature whether nearly all of its steps from row to row go the same way."""
    found = np.zeros(rows.shape[1], dtype=bool)
    for j, column in enumerate(rows.T):
        steps = np.sign(np.diff(column[~np.isnan(column)]))
        taken = np.abs(steps).sum()
        found[j] = taken > 0.0 and abs(steps.sum()) >= ONE_WAY * taken
    return found


def has_digits(a: Floats, b: Floats) -> bool:
    """Tell whether an exact change of units leaves more than rounding."""
    least, most = 1.0 / FARTHEST_SHIFT, FARTHEST_SHIFT
    return bool(((a >= least) & (a <= most) & (np.abs(b) <= most)).all())


def read_change(
    learner: Any, scaler: Scaler, readings: dict[int, ChangeOfUnits]
) -> tuple[int, State]:
    """Return the reading that tells the labels of the held rows best, and the state it leads to.

    Judged by the squared error. A plane that is right may be so by far, outside of [0, 1]; at most,
    that counts as much as not to know. If both are worse than the mean labels of these rows, they
    come from elsewhere: to leave the state as it is would mean to learn them against old ones in
    the same place. But if the features are stretched a great deal it stays nevertheless. What was
    learned would end in one spot, with planes so steep that rules born beside it could not use
    them.
    """
    rows, labels = learner.following.held
    labels, rows = np.tile(labels, (1, learner.n_pairs)), scaler.transform(rows)
    errors, states = {}, {}
    for reading, change in readings.items():
        try:
            states[reading] = changed_state(learner, change)
        except np.linalg.LinAlgError:  # rounding
            continue
        scores = np.clip(score(learner, states[reading], rows), -0.5, 1.5)
        errors[reading] = float(np.nansum((scores - labels) ** 2))
    if KEPT not in states:  # a shift that leaves only rounding
        plain = ChangeOfUnits(readings[KEPT].a, np.zeros_like(readings[KEPT].b))
        states[KEPT], errors[KEPT] = changed_state(learner, plain), np.inf
    if MOVED not in errors:
        return KEPT, states[KEPT]
    usual = float(np.nansum((label_means(labels) - labels) ** 2))
    best = KEPT if errors[KEPT] < errors[MOVED] else MOVED
    if errors[best] >= usual:
        best = KEPT if is_stretched(readings[MOVED]) else MOVED
    return best, states[best]


def is_stretched(change: ChangeOfUnits) -> bool:
    """Tell whether the deviation of some feature is another one by far."""
    a = change.a[change.a > 0.0]
    return bool(((a > MOST_STRETCH) | (a < 1.0 / MOST_STRETCH)).any())


def changed_state(learner: Any, change: ChangeOfUnits) -> State:
    """Return what is to be in place of parts of the learner after a change of units, by name.

    Rules are born as wide as before, in the new units: rows have the deviation 1 there again.
    """
    if (change.a == 1.0).all() and not change.b.any():
        return {}
    wanted = learner.start_variance
    S_0 = change.start_variance(wanted)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)
    state: State = {name: re_express_cases(getattr(learner, name), change) for name in CASES}
    for name in ("rules", "brief") if learner.brief is not None else ("rules",):
        state[name] = re_express(getattr(learner, name), S_0, change)
        renew_start_variance(state[name], S_0, wanted)
    return state


def score(learner: Any, state: State, scaled: Floats) -> Floats:
    """Return what rules and cases under another state say of scaled rows."""
    other = learner.copy()
    vars(other).update(state)
    other.sequel = SequelBase(learner.n_labels, trusts=False, times=False)
    return cast("Floats", other._score_scaled(scaled))
