"""Looking back: what a learner does about its scale, its features and its law.

Nothing that was learned is thrown away on suspicion. Another learner stands beside the one that
answers: in a doubt about the scale a copy from before, which is gone back to if features turn out
to be measured otherwise; else a challenger. That is fitted to the last rows, with scale, features,
directions, rules and cases of its own, and learns beside the first. It answers nothing, and takes
over only when its errors on rows to come are smaller beyond doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from efcml.kernels.temporal import DELAY
from efcml.model import projection as wide
from efcml.model.rescaling import decide_scale, in_new_units
from efcml.model.temporal import TemporalStage
from efcml.model.trace import UNHEARD
from efcml.model.watch import (
    BEGUN,
    CALM_UNTIL,
    DIRECTIONS,
    DOUBT,
    DUE,
    LAWFUL,
    MUTED,
    OTHERS,
    PASSED,
    PAUSE,
    REASONS,
    RISEN,
    RISING,
    ROWS,
    STEP,
    WAIT,
    WHY,
    WINDOW,
)
from efcml.support.guard import one_blas_thread

Events = list[tuple[str, Any]]
LEAST_ROWS = 200  # of a challenger, where errors have risen
MORE = 3  # times as many rows before the next challenger, where one has lost
HELD = 40  # rows that decide about the scale
TEST, TRIAL, SURE = 60, 300, 2.0  # rows between two tests of a challenger, and of all; deviations
# What a learner takes over from a challenger
TAKEN_OVER = "projection", "bounded", "scaler", "watch", "stages", "labels", "relevance", "early"


def rows_to_look(learner: Any) -> int:
    """Return how many rows with a known label are learned before the next look back."""
    return 1 if learner.early else STEP - learner.watch[ROWS] % STEP


@one_blas_thread()
def look_back(learner: Any) -> Events:
    """Look whether the last rows ask for something; return what became of rules."""
    watch = learner.watch
    if learner.early:
        return fit_again(learner)
    if watch[DOUBT]:
        return end_doubt(learner) if watch[ROWS] >= watch[BEGUN] + HELD else []
    if learner.params.scaling == "follow" and is_off(learner):
        learner.other = None
        begin_beside(learner, learner.copy())
        watch[DOUBT] = 1
    elif learner.other is not None:
        return judge(learner)
    elif rows := rows_of_challenger(learner):
        begin_beside(learner, fit_beside(learner, rows))
    return []


def fit_beside(learner: Any, rows: int) -> Any:
    """Return a learner that is fitted to the last rows; labels come as late as they do now."""
    other, time = learner.fitted_to(*wide.last(learner.last, rows)), learner.stage(TemporalStage)
    usual = 0 if time is None else int(time.arrays.clock[DELAY])
    for delay, gone_by in ((usual, False), learner.late):
        other.come_late(delay, gone_by=gone_by)
    return other


def begin_beside(learner: Any, other: Any) -> None:
    """Let another learner, of the last rows or of now, stand beside this one."""
    other.last, other.other = [], None
    learner.other = other
    learner.watch[BEGUN], learner.watch[PASSED] = learner.watch[ROWS], 0


def is_off(learner: Any) -> bool:
    """Tell whether a feature does not fit its scale; then it is not asked for some time."""
    watch = learner.watch
    if watch[ROWS] < watch[CALM_UNTIL]:
        return False
    X = learner.inside(wide.last(learner.last, min(WINDOW, watch[ROWS]))[0])
    off = watch.off(X, learner.scaler.transform(X), learner.scaler.clip) & ~learner.scaler.ignored
    watch.arrays.muted[off] = watch[ROWS] + MUTED
    return bool(off.any())


def end_doubt(learner: Any) -> Events:
    """Decide about the scale; if it changes, learn the rows since the doubt in the new one."""
    watch, n = learner.watch, learner.watch[ROWS] - learner.watch[BEGUN]
    before: Any = learner.other
    learner.other, watch[DOUBT] = None, 0
    watch[CALM_UNTIL] = watch[ROWS] + PAUSE
    X, Y, weights = wide.last(learner.last, learner.window)
    rows = learner.inside(X)
    decision = decide_scale(before, rows[-n:], Y[-n:], rows[-watch[ROWS] :])
    changed = decision.measured | decision.woken | decision.growing
    if not changed.any():
        return []
    if decision.woken.any():
        begin_law(learner, n, OTHERS)
    watch.arrays.asleep[changed] = False
    watch.arrays.muted[decision.measured] = 0
    uids, newest = {*learner.rules.uid.tolist()}, learner.rules.next_uid
    learner.stages, learner.labels, old = before.stages, before.labels, learner.scaler
    learner.rules.next_uid, learner.scaler = newest, decision.scaler
    if decision.measured.any() and learner.projection is None:
        past = in_new_units(rows[:-n], old, learner.scaler, decision.measured)
        learner.last = [(np.vstack([past, rows[-n:]]), Y, weights)]
    learner.pass_through(watch[PASSED])
    learner.go_through(X[-n:], Y[-n:], UNHEARD, weights[-n:])
    left = {*learner.rules.uid.tolist()}
    events: Events = [("drop", uid) for uid in sorted(uids - left)]
    events += [("birth", uid) for uid in sorted(left - uids)]
    return [*events, ("new scale", decision.reason)]


def judge(learner: Any) -> Events:
    """Let a challenger take over if its errors are smaller beyond doubt, or drop it."""
    watch, n = learner.watch, learner.watch[ROWS] - learner.watch[BEGUN]
    gain = watch.last("loss", n) - watch.last("other", n)
    if n % TEST == 0 and gain.mean() > SURE * gain.std(ddof=1) / np.sqrt(n):
        return begin_anew(learner, learner.other, REASONS[watch[WHY]])
    if n >= TRIAL:
        learner.other = None
    return []


def rows_of_challenger(learner: Any) -> int:
    """Return to how many of the last rows a challenger is to be fitted now; mostly 0."""
    watch = learner.watch
    if learner.params.follows and watch[WHY] != RISEN and watch.has_risen:
        begin_law(learner, RISING * STEP, RISEN)
    if watch[ROWS] < watch[DUE]:
        return 0
    watch[WAIT] *= MORE
    watch[DUE] = watch[ROWS] + watch[WAIT]
    rows = min(watch[LAWFUL], learner.window)
    if watch[WHY] != RISEN or watch[LAWFUL] > learner.window:
        watch[WHY] = OTHERS if learner.projection is None else DIRECTIONS
    differs = learner.relevance.differs
    if watch[WHY] == OTHERS and not differs(*learner.scaled_last(rows), learner.rows_seen):
        return 0
    return rows


def begin_law(learner: Any, rows: int, why: int) -> None:
    """Take the last so many rows for the first of another law; a challenger learns it soon."""
    watch = learner.watch
    watch[WHY], watch[LAWFUL], watch[WAIT] = why, rows, LEAST_ROWS
    watch[DUE] = watch[ROWS] + LEAST_ROWS - rows


def begin_anew(learner: Any, other: Any, reason: str) -> Events:
    """Let a learner go on as another one, which was fitted to the last rows."""
    rules, features, lawful = learner.rules, learner.relevance, learner.watch[LAWFUL]
    for name in TAKEN_OVER:
        setattr(learner, name, getattr(other, name))
    learner.watch[LAWFUL] = lawful
    learner.rules.follow_on(rules)
    learner.relevance.follow_on(features, learner.rows_seen)
    learner.other = None
    return [("began anew", reason)]


def fit_again(learner: Any) -> Events:
    """Fit once more, to all rows of the warm-up, if they are complete."""
    if (n := len(learner.held)) < learner.params.warmup_rows:
        return []
    learner.held = []
    other = fit_beside(learner, learner.window)
    return begin_anew(learner, other, f"the first {n} rows are complete")
