"""What becomes of a doubt about the scale of a learner.

The rows since the doubt began say which features are due, and what mean and deviation they have
now. There are two readings of that: what measures them has changed, as from degrees to kelvin, or
rows come from elsewhere. The labels of these rows decide. If what measures has changed, the learner
goes back to where it was before the doubt, and all rows from there on are scaled anew: so what it
has learned holds on. If rows come from elsewhere nothing changes: they are clipped.

A feature that never varied, and does so now, gets a scale. One that grows from row to row, as a
date does, is ignored where it is outside of the clip.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from efcml.model.scaler import Scaler, is_resting
from efcml.model.watch import (
    FARTHEST,
    LEAK,
    NARROWEST,
    STIRRING,
    WANDERS,
    WIDEST,
    wandering,
)
from efcml.support.aliases import Bools, Floats
from efcml.support.statistics import label_means

SURE = 0.8  # share of a limit that these rows must pass: they do not lag as what watches does
AWAKE = LEAK / (1.0 + LEAK)  # share of these rows in which one wakes that never varied
FARTHEST_SHIFT = 1e4  # deviations; beyond, nothing that was learned is of use
MOST_STRETCH = 20.0  # likewise, times the deviation, or a part of it
ONE_WAY, STEPS = 0.9, 5  # of the way of a feature that grows, how much leads on; least steps


class Decision(NamedTuple):
    """The scale from now on, and the features (p,) for which it is new, by reason."""

    scaler: Scaler
    measured: Bools  # what measures them has changed
    woken: Bools  # never varied before
    growing: Bools  # now ignored outside of the clip

    @property
    def reason(self) -> str:
        """Why the scale is another one."""
        kinds = {
            "measured otherwise": self.measured,
            "varying for the first time": self.woken,
            "only growing": self.growing,
        }
        return "; ".join(f"{which.sum()} {kind}" for kind, which in kinds.items() if which.any())


def decide_scale(learner, rows, Y, past):
    """Return what becomes of a doubt, by the rows since it began, unscaled, and all last rows.

    The learner is as it was when the doubt began.
    """
    old, asleep = learner.scaler, learner.watch.arrays.asleep
    grows = only_grow(past)
    new, due = propose(old, rows, Y, asleep, grows)
    growing = due & ~asleep & grows
    woken = due & asleep
    moves = due & ~growing
    new = Scaler(
        np.where(moves, new.mean, old.mean), np.where(moves, new.scale, old.scale),
        old.clip, np.where(moves, new.spread, old.spread), old.ignored | growing,
    )  # fmt: skip
    rest = moves & ~woken
    if not rest.any() or reads_as_measured(learner, new, rows, Y, woken | growing, rest):
        return Decision(new, rest, woken, growing)
    keep = Scaler(
        np.where(rest, old.mean, new.mean), np.where(rest, old.scale, new.scale),
        old.clip, np.where(rest, old.spread, new.spread), new.ignored,
    )  # fmt: skip
    return Decision(keep, np.zeros_like(due), woken, growing)


def propose(scaler, rows, Y, asleep, grows):
    """Return the scale by some rows, and for which features it is another one.

    A feature that does not vary in these rows keeps its scale, whatever it was. Of one whose rows
    follow each other slowly they show a part: its deviation is larger than theirs, and the mean
    may wander, unless it only grows.
    """
    new, seen = Scaler.from_rows(rows, scaler.clip, Y), scaler.transform(rows)
    with np.errstate(over="ignore"):  # infinite is off, too
        shift = np.abs(new.mean - scaler.mean) / scaler.scale
        wanders = np.array([wandering_of(x) for x in (rows / scaler.scale).T])
        deviation = new.scale / np.sqrt(1.0 - wanders)
        ratio = deviation / scaler.scale
    wide = np.where(grows, 0.0, WANDERS * np.sqrt(wanders))
    far = shift > SURE * np.maximum(FARTHEST, wide)
    off = far | (ratio > SURE * WIDEST) | (ratio < NARROWEST / SURE)
    there = np.maximum((~np.isnan(seen)).sum(axis=0), 1)
    wakes = (np.abs(seen) >= STIRRING).sum(axis=0) / there > AWAKE
    due = np.where(asleep, wakes, off) & ~is_resting(rows) & ~scaler.ignored
    return replace(new, scale=deviation), due


def wandering_of(x):
    """Return the share of its variance by which the mean of scaled rows of a feature wanders."""
    x = x[~np.isnan(x)]
    if len(x) < 2:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # steps of 1e200 are not slow
        variance, step = np.var(x), np.mean(np.diff(x) ** 2)
    return float(wandering(variance, step, float(len(x)))) if np.isfinite(step) else 0.0


def only_grow(rows):
    """Tell of every feature whether nearly all of its way from row to row leads on, never back.

    So does a date. An hour, or a flag of a weekday, comes back.
    """
    found = np.zeros(rows.shape[1], dtype=bool)
    for j, column in enumerate(rows.T):
        column = column[~np.isnan(column)]
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.diff(column / max(np.abs(column).max(initial=0.0), 1e-300))
        way, many = np.abs(steps).sum(), np.count_nonzero(steps)
        found[j] = many >= STEPS and abs(steps.sum()) >= ONE_WAY * way
    return found


def reads_as_measured(learner, new, rows, labels, unknown, due):
    """Tell whether the labels of rows fit better if what measures features has changed.

    If rows come from elsewhere, they are what they look like in the old scale. Judged by the
    squared error. A plane that is right may be so by far, outside of [0, 1]; at most, that counts
    as much as not to know. If both readings are worse than the mean labels of these rows, they come
    from elsewhere, unless the features are far off.
    """
    old = learner.scaler
    errors = []
    for scaler in (new, replace(old, clip=FARTHEST_SHIFT, spread=np.zeros_like(old.spread))):
        seen = np.where(unknown, 0.0, scaler.transform(rows))
        scores = np.clip(learner.score_scaled(seen, timeless=True), -0.5, 1.5)
        errors.append(float(np.nansum((scores - labels) ** 2)))
    usual = float(np.nansum((label_means(labels) - labels) ** 2))
    if min(errors) >= usual:
        with np.errstate(over="ignore"):
            return is_far((old.scale / new.scale)[due], ((old.mean - new.mean) / new.scale)[due])
    return errors[0] < errors[1]


def is_far(a, b):
    """Tell whether scaled features ``a x + b`` are others by far: nothing learned is of use."""
    stretched = (a > MOST_STRETCH) | (a < 1.0 / MOST_STRETCH)
    return bool((stretched | (np.abs(b) > FARTHEST_SHIFT)).any())


def in_new_units(rows: Floats, old: Scaler, new: Scaler, measured: Bools) -> Floats:
    """Return rows of before as they would have been measured now."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(measured, (rows - old.mean) / old.scale * new.scale + new.mean, rows)
