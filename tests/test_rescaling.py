"""The scale of a learner: standardisation, the watch, the state in other units."""

import numpy as np
import pytest
from helpers.streams import COMPILED, make_params, random_rows, with_gaps
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from efcml.kernels.watch import IN_DOUBT, MUTED, N_HELD, UNFIT
from efcml.model.cases import CaseStage
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.rescaling import (
    KEPT,
    MOST_HELD,
    MOVED,
    ScaleWatch,
    go_one_way,
    is_far,
)
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler, find_wild, is_resting
from efcml.model.trace import Trace

pytestmark = [
    pytest.mark.uncompiled,
]


# Standardisation


@given(st.floats(-150.0, 150.0), st.floats(-3.0, 3.0))
def test_huge_and_tiny_features(exponent, offset):
    unit = 10.0**exponent
    x = np.array([-1.0, 0.5, 2.0, 3.5, -0.25])
    X = ((x + offset) * unit)[:, None]
    scaler = Scaler.from_rows(X, 6.0)
    assert_allclose(scaler.transform(X)[:, 0], (x - x.mean()) / x.std(), rtol=1e-9, atol=1e-12)
    assert scaler.transform(np.array([[1e308], [-1e308]])).tolist() == [[6.0], [-6.0]]


@pytest.mark.parametrize("value", [0.0, 5.0, -1e150, 1e-150, 0.1])
def test_constant_features_are_zero(value):
    X = np.full((7, 1), value)
    scaler = Scaler.from_rows(X, 6.0)
    assert np.abs(scaler.transform(X)).max() < 1e-12
    assert np.isfinite(scaler.transform(X + 1.0)).all() and (scaler.scale > 0.0).all()
    assert is_resting(X).all()


@pytest.mark.parametrize("offset", [1e9, 1e13, -1e13])
def test_a_large_offset_is_no_constant(rng, offset):
    X = rng.normal(size=(400, 1)) + offset
    scaler, rounded = Scaler.from_rows(X, 6.0), X - offset
    assert_allclose(scaler.scale, rounded.std(axis=0), rtol=1e-3)
    assert np.abs(scaler.mean - offset - rounded.mean(axis=0)) < 0.01
    assert not is_resting(X).any()
    almost = np.array([[0.3], [0.1 + 0.2], [0.3]])
    assert is_resting(almost).all() and Scaler.from_rows(almost, 6.0).scale[0] == almost.max()


@pytest.mark.parametrize("wild", [1e9, -1e9, 1e300])
def test_one_wild_value_does_not_decide(rng, wild):
    X = rng.normal(size=(200, 2))
    clean = Scaler.from_rows(np.delete(X, 7, axis=0), 6.0)
    X[7, 0] = wild
    scaler = Scaler.from_rows(X, 6.0)
    assert_allclose([scaler.mean[0], scaler.scale[0]], [clean.mean[0], clean.scale[0]], rtol=1e-9)
    X[9:19, 0] = wild  # one in twenty may be, and more
    for rows in (X, X[:150]):
        assert np.flatnonzero(find_wild(rows)[0][:, 0]).tolist() == [7, *range(9, 19)]
    seen = scaler.transform(X)
    assert np.isnan(seen).sum() == 11 and np.abs(np.nan_to_num(seen)).max() < 6.0
    rare = np.zeros((300, 1))
    rare[5] = 40.0
    few = np.array([[0.0], [1.0], [1e9]])
    assert not find_wild(rare)[0].any() and not find_wild(few)[0].any()
    assert Scaler.from_rows(rare, 6.0).transform(rare).max() == 6.0  # rare, and no mistake


def test_a_scale_ignores_what_is_missing(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 1e3]
    X[3, 2] = 1e12
    gapped = with_gaps(rng, X)
    scaler = Scaler.from_rows(gapped, 6.0)
    for j in range(3):
        there = gapped[~np.isnan(gapped[:, j]), j][:, None]
        alone = Scaler.from_rows(there, 6.0)
        assert (scaler.mean[j], scaler.scale[j]) == (alone.mean[0], alone.scale[0])
    scaled = scaler.transform(gapped)
    wild = gapped == 1e12
    assert_array_equal(np.isnan(scaled), np.isnan(gapped) | wild)
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [1.0, np.nan, np.nan]])
    watch = ScaleWatch.from_rows(X, X, 2).arrays
    assert watch.asleep.tolist() == [True, True, False]
    assert watch.lively.tolist() == [False, False, True]


# The watch


def watch_slowly(X, clip, asleep, lively):
    """The row at which doubt begins, by the formulas, or None."""
    p = X.shape[1]
    level, square, step, unfit, last = np.zeros(p), np.ones(p), np.full(p, 2.0), *np.zeros((2, p))
    for t, x in enumerate(X):
        for j in np.flatnonzero(~np.isnan(x)):
            level[j] += (x[j] - level[j]) / 100.0
            square[j] += (x[j] ** 2 - square[j]) / 100.0
            step[j] += ((x[j] - last[j]) ** 2 - step[j]) / 100.0
            misfit = 1.0 if abs(x[j]) >= (1e-14 if asleep[j] else clip) else -0.25
            if misfit < 0.0 and lively[j] and abs(x[j] - last[j]) < 0.05:
                misfit = 0.5
            unfit[j], last[j] = max(0.0, unfit[j] + misfit), x[j]
        variance = square - level**2
        c = np.maximum(0.0, 1.0 - step / (2.0 * np.where(variance > 0.0, variance, np.inf)))
        c = np.where(variance > 0.0, c, 0.0)
        c = 0.99 * np.where(c > 0.5, np.maximum(c, 1.0 - 0.5 * step), c)
        wanders = np.minimum(0.95, 0.01 / 1.99 * (1.0 + c) / (1.0 - c))
        off = np.abs(level) > np.maximum(1.5, 6.0 * np.sqrt(wanders))
        off |= (variance > 9.0) | (variance < 0.125**2 * (1.0 - wanders))
        if (np.where(asleep, False, off) | (unfit >= UNFIT)).any():
            return t
    return None


@pytest.mark.parametrize(
    "what", ["stays", "moves", "widens", "rests", "wakes", "far", "missing", "slow"]
)
def test_when_doubt_begins(rng, what):
    X = rng.normal(size=(400, 2))
    if what == "wakes":
        X[:, 1] = 0.0
    watch = ScaleWatch.from_rows(X[:50], X[:50], 1)
    change = {"moves": lambda x: x + 3.0, "widens": lambda x: 5.0 * x, "rests": lambda x: 0.0 * x,
              "wakes": lambda x: x + 1e-3, "far": lambda x: x + 100.0}.get(what)  # fmt: skip
    if change:
        X[200:, 1] = change(X[200:, 1])
    if what == "missing":
        X[100:, 1] = np.nan
    if what == "slow":
        for t in range(1, 400):
            X[t] = 0.99 * X[t - 1] + 0.141 * X[t]
    X, Y = np.clip(X, -6.0, 6.0), np.zeros((400, 1))
    done, event = watch.watch(X, X, Y, np.ones(400), 6.0)
    found = watch_slowly(X, 6.0, watch.arrays.asleep, watch.arrays.lively)
    assert event == (what not in ("stays", "missing", "slow"))
    assert (done - 1 if event else None) == found


STREAM = {"prior": 1.0, "split_share": 0.3, "cases": 20}
EVENTS = {
    "stays": lambda X: X,
    "a sensor moves": lambda X: X + [0.0, 40.0, 0.0],
    "units change": lambda X: X * [1.0, 1.0, 1000.0],
    "everything": lambda X: 25.0 * X - 7.0,
    "one wild row": lambda X: np.vstack([X[:1] * 1e9, X[1:]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EVENTS)
def test_accuracy_comes_back(what):
    rng = np.random.default_rng(11)
    X, Y = random_rows(rng, 900, 3, 3)
    X[400:] = EVENTS[what](X[400:])
    learner = Learner(Params(**STREAM), 3, 3).fit(X[:300], Y[:300])
    trace = Trace.for_rows(600, 3)
    learner.learn(X[300:], Y[300:], trace)
    right = ((trace.scores >= 0.5) == (Y[300:] == 1.0)).mean(axis=1)
    assert right[250:].mean() > right[:100].mean() - 0.05
    moved = what not in ("stays", "one wild row")
    assert learner.watch.changes == (0, int(moved))
    rows = learner.latest[0][60:]  # before, they were clipped in the old scale
    assert_allclose(rows, learner.scaler.transform(X[460:]), atol=1e-6)
    frozen = Learner(Params(scaling="frozen", **STREAM), 3, 3).fit(X[:300], Y[:300])
    assert frozen.learn(X[300:], Y[300:]).watch is None


def test_rows_from_elsewhere_move_the_state(rng):
    """The labels say that the planes of before hold there too: nothing that measures has moved."""
    X = rng.normal(size=(500, 3))
    X[300:, 0] += 5.0
    Y = np.column_stack([X[:, 0] + X[:, 1] > 2.0, X[:, 1] > 0.0]).astype(float)
    learner = Learner(Params(clip=20.0, **STREAM), 3, 2).fit(X[:200], Y[:200])
    learner.learn(X[200:], Y[200:])
    assert learner.watch.changes == (1, 0)


def test_rows_that_come_from_elsewhere_leave_the_last_ones_in_new_units(rng):
    X = rng.normal(size=(500, 3))
    X[300:, 0] = 2.0 * X[300:, 0] + 8.0
    Y = np.column_stack([X[:, 0] + X[:, 1] > 2.0, X[:, 1] > 0.0]).astype(float)
    learner = Learner(Params(clip=20.0, **STREAM), 3, 2).fit(X[:200], Y[:200])
    for t in range(200, 500):
        learner.learn(X[t : t + 1], Y[t : t + 1])
        if learner.watch.changes == (1, 0):
            break
    assert_allclose(learner.latest[0], learner.scaler.transform(X[: t + 1]), atol=1e-9)


def test_rows_are_held_and_answered(rng):
    X, Y = random_rows(rng, 400, 3, 2)
    X[200:] += 50.0
    learner = Learner(make_params(scaling="follow", time=True), 3, 2).fit(X[:150], Y[:150])
    for t in range(150, 400):
        learner.learn(X[t : t + 1], Y[t : t + 1])
        if learner.watch.in_doubt:
            break
    assert 200 <= t < 230
    before, held = learner.rows_seen, learner.watch.held
    assert len(held[0]) == 0
    Y[t + 1 : t + 4] = np.nan
    learner.learn(X[t + 1 : t + 30], Y[t + 1 : t + 30])
    assert learner.rows_seen == before and learner.waiting == 29
    learner.pass_rows(2)
    assert learner.waiting == 31
    learner.add_labels(1)
    held = learner.watch.held
    assert_array_equal(held[0], X[t + 4 : t + 30])
    assert held[1].shape == (26, 3)
    rest = slice(t + 30, t + 30 + MOST_HELD - 26)
    learner.learn(X[rest], np.insert(Y[rest], 2, 0.0, axis=1))
    assert not learner.watch.in_doubt and learner.waiting == 0
    assert learner.rows_seen == before + MOST_HELD
    assert sum(learner.watch.changes) == 1


@pytest.mark.slow
def test_a_constant_feature_that_wakes_up_is_learned(rng):
    n = 900
    X, Y = rng.normal(size=(n, 2)), np.zeros((n, 1))
    X[:400, 1] = 3.0
    Y[:, 0] = X[:, 0] > 0.0
    Y[400:, 0] = X[400:, 1] > 0.0
    learner = Learner(Params(**STREAM), 2, 1).fit(X[:300], Y[:300])
    trace = Trace.for_rows(600, 1)
    learner.learn(X[300:], Y[300:], trace)
    assert not learner.watch.arrays.asleep.any()
    assert ((trace.scores >= 0.5) == (Y[300:] == 1.0))[400:].mean() > 0.8


@pytest.mark.slow
def test_a_feature_that_only_grows_is_ignored(rng):
    n = 1200 if COMPILED else 500
    X, Y = random_rows(rng, n, 3, 2)
    X[:, 2] = np.arange(n) + rng.random(n)
    assert go_one_way(X).tolist() == [False, False, True]
    learner = Learner(Params(**STREAM), 3, 2).fit(X[:150], Y[:150])
    learner.learn(X[150:], Y[150:])
    assert learner.watch.changes == (0, 1)  # once
    assert learner.scaler.ignored.tolist() == [False, False, True]
    assert not learner.rules.W[:, :, :, 2].any()
    one = X[-1:] + [0.0, 0.0, 1e6]
    assert_array_equal(learner.score(one), learner.score(X[-1:]))
    twin = Learner.from_state(*learner.state())
    assert_array_equal(twin.score(one), learner.score(one))


def test_a_doubt_that_ends_mutes_what_was_off_for_nothing():
    watch = ScaleWatch(2, 1)
    watch.arrays.unfit[:] = UNFIT + 1.0
    row, y = np.zeros((1, 2)), np.ones((1, 1))
    assert watch.watch(row, row, y, np.ones(1), 6.0) == (1, True) and watch.in_doubt
    watch.settle(np.array([True, False]), MOVED)
    assert watch.arrays.muted.tolist() == [0, MUTED]
    assert watch.changes == (1, 0)
    watch.settle(np.array([True, True]), KEPT)
    assert watch.changes == (1, 1)
    watch.settle(np.array([False, False]), None)
    assert watch.changes == (1, 1)


@pytest.mark.parametrize("a, b", [(30.0, 0.0), (0.01, 3.0), (1.0, 1e5)])
def test_how_far_a_change_may_go(a, b):
    assert is_far(np.array([1.0, a]), np.array([0.0, b]))
    assert not is_far(np.array([1.0, 0.2]), np.array([3.0, -40.0]))


def test_a_doubt_that_cannot_end_holds_no_more_rows(rng):
    """A criterion that fails where rules begin anew: every row is refused until it works again."""
    works = [True]
    params = make_params(scaling="follow", merging=lambda pair: 0.0 if works[0] else np.nan)
    X, Y = random_rows(rng, 300, 3, 2)
    X[200:] += 50.0
    learner = Learner(params, 3, 2).fit(X[:150], Y[:150]).learn(X[150:200], Y[150:200])
    works[0] = False
    refused = 0
    for t in range(200, 300):
        try:
            learner.learn(X[t : t + 1], Y[t : t + 1])
        except ValueError:
            refused += 1
        assert learner.watch.arrays.count[N_HELD] < MOST_HELD
    assert refused > 0
    watch = ScaleWatch(3, 2)
    watch.arrays.count[[IN_DOUBT, N_HELD]] = 1, MOST_HELD  # as no learner leaves it
    assert watch.watch(X[:1], X[:1], Y[:1], np.ones(1), 6.0) == (1, True)
    assert watch.arrays.count[N_HELD] == MOST_HELD


def test_what_begins_anew_is_stopped_where_the_old_rules_were_not(rng):
    X, Y = random_rows(rng, 300, 3, 2)
    learner = Learner(make_params(), 3, 2).fit(X[:200], Y[:200])
    old, new = learner.rules, learner.rules.copy()
    new.diverged = 0, 10
    old.arrays.clock[0] += 100
    uid = old.next_uid
    new.follow_on(old)
    assert new.diverged == (uid, 110)


def test_what_begins_anew_goes_on_counting(rng):
    """Of rules only the counts go on, of cases the trust in them."""
    X, Y = random_rows(rng, 400, 3, 2)
    learner = Learner(Params(**STREAM, relevance="off"), 3, 2).fit(X[:300], Y[:300])
    learner.learn(X[300:], Y[300:])
    old, cases, rows = learner.rules, learner.stage(CaseStage), learner.latest[0]
    uids, share, seen = old.uid.tolist(), cases.share, learner.rows_seen
    rows = 0.5 * rows + 1.0, *learner.latest[1:]
    events = learner.begin_anew(*rows)
    assert learner.rows_seen == seen and learner.stage(CaseStage).share == share
    assert events[: len(uids)] == [("drop", uid) for uid in uids]
    assert [uid for _, uid in events[len(uids) :]] == learner.rules.uid.tolist()
    assert min(learner.rules.uid) > max(uids)
    fresh = RuleBase(learner.params, 3, 2)
    fresh.begin(rows[0], None, *rows[1:])
    assert_array_equal(learner.rules.W, fresh.W)
