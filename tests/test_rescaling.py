"""The scale of a learner: standardisation, the watch, the state in other units."""

import numpy as np
import pytest
from helpers.streams import make_params, random_rows, with_gaps
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from efcml.model.challenger import HELD
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.rescaling import is_far, only_grow
from efcml.model.scaler import Scaler, find_wild, is_resting
from efcml.model.trace import Trace
from efcml.model.watch import DOUBT, MUTED, PASSED, ROWS, STEP, UNFIT, WINDOW, Watch

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
    watch = Watch.from_rows(X, X).arrays
    assert watch.asleep.tolist() == [True, True, False]
    assert watch.lively.tolist() == [False, False, True]


# The watch


def off_slowly(X, clip, asleep, lively):
    """Which features do not fit their scale after these rows, by the formulas."""
    p = X.shape[1]
    level, square, step, unfit, last = np.zeros(p), np.ones(p), np.full(p, 2.0), *np.zeros((2, p))
    for t, x in enumerate(X):
        for j in range(p):
            level[j] += ((0.0 if np.isnan(x[j]) else x[j]) - level[j]) / 100.0
            square[j] += ((1.0 if np.isnan(x[j]) else x[j] ** 2) - square[j]) / 100.0
            moved = 2.0 if t and np.isnan(x[j] - last[j]) else (x[j] - last[j]) ** 2 * (t > 0)
            step[j] += ((2.0 if np.isnan(x[j]) else moved) - step[j]) / 100.0
            if not np.isnan(x[j]):
                misfit = 1.0 if abs(x[j]) >= (1e-14 if asleep[j] else clip) else -0.25
                if misfit < 0.0 and lively[j] and moved < 0.05**2:
                    misfit = 0.5
                unfit[j] = max(0.0, unfit[j] + misfit)
            last[j] = x[j]
    variance = np.maximum(square - level**2, 0.0)
    c = np.maximum(0.0, 1.0 - step / (2.0 * np.where(variance > 0.0, variance, np.inf)))
    c = np.where(variance > 0.0, c, 0.0)
    c = (1.0 - 2.0 / 200.0) * np.where(c > 0.5, np.maximum(c, 1.0 - 0.5 * step), c)
    wanders = np.minimum(0.95, 0.01 / 1.99 * (1.0 + c) / (1.0 - c))
    off = np.abs(level) > np.maximum(1.5, 6.0 * np.sqrt(wanders))
    off |= (variance > 9.0) | (variance < 0.125**2 * (1.0 - wanders))
    return np.where(asleep, False, off) | (unfit >= UNFIT)


@pytest.mark.parametrize(
    "what", ["stays", "moves", "widens", "rests", "wakes", "far", "missing", "slow"]
)
def test_what_does_not_fit_its_scale(rng, what):
    X = rng.normal(size=(400, 2))
    if what == "wakes":
        X[:, 1] = 0.0
    watch = Watch.from_rows(X[:50], X[:50])
    change = {"moves": lambda x: x + 3.0, "widens": lambda x: 5.0 * x, "rests": lambda x: 0.0 * x,
              "wakes": lambda x: x + 1e-3, "far": lambda x: x + 100.0}.get(what)  # fmt: skip
    if change:
        X[200:, 1] = change(X[200:, 1])
    if what == "missing":
        X[100:, 1] = np.nan
    if what == "slow":
        for t in range(1, 400):
            X[t] = 0.99 * X[t - 1] + 0.141 * X[t]
    X = np.clip(X, -6.0, 6.0)
    given, found = (watch.arrays.asleep, watch.arrays.lively), []
    for rows in (X[max(0, end - WINDOW) : end] for end in range(20, 401, 20)):
        off = watch.off(rows, rows, 6.0)
        assert_array_equal(off, off_slowly(rows, 6.0, *given))
        found.append(off.any())
    assert any(found) == (what not in ("stays", "missing", "slow"))
    assert not any(found[:10])  # the first 200 rows
    watch[ROWS], watch.arrays.muted[:] = 5, 6
    assert not watch.off(X[-WINDOW:], X[-WINDOW:], 6.0).any()


STREAM = {"prior": 1.0, "split_share": 0.3, "cases": 20}
CHANGES = {
    "stays": lambda X: X,
    "a sensor moves": lambda X: X + [0.0, 40.0, 0.0],
    "units change": lambda X: X * [1.0, 1.0, 1000.0],
    "everything": lambda X: 25.0 * X - 7.0,
    "one wild row": lambda X: np.vstack([X[:1] * 1e9, X[1:]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_was_learned_holds_in_other_units(what):
    """Of all rows since the change the state is as if they had been measured as before."""
    rng = np.random.default_rng(11)
    X, Y = random_rows(rng, 900, 3, 3)
    X[400:] = CHANGES[what](X[400:])
    learner = Learner(Params(**STREAM), 3, 3).fit(X[:300], Y[:300])
    trace = Trace.for_rows(600, 3)
    learner.learn(X[300:], Y[300:], trace)
    right = ((trace.scores >= 0.5) == (Y[300:] == 1.0)).mean(axis=1)
    assert right[250:].mean() > right[:100].mean() - 0.05
    moved = what not in ("stays", "one wild row")
    events = [(row, kind) for row, kind, _ in trace.events if kind == "new scale"]
    assert events == ([(100 + STEP + HELD - 1, "new scale")] if moved else [])
    assert not any(kind == "began anew" for _, kind, _ in trace.events)
    frozen = Learner(Params(scaling="frozen", **STREAM), 3, 3).fit(X[:300], Y[:300])
    before = frozen.scaler
    frozen.learn(X[300:], Y[300:])
    assert frozen.scaler is before


def test_rows_from_elsewhere_change_nothing(rng):
    """The labels say that the planes of before hold there too: nothing that measures has moved."""
    X = rng.normal(size=(500, 3))
    X[300:, 0] += 5.0
    Y = np.column_stack([X[:, 0] + X[:, 1] > 2.0, X[:, 1] > 0.0]).astype(float)
    learners = [
        Learner(Params(clip=20.0, scaling=scaling, **STREAM), 3, 2).fit(X[:200], Y[:200])
        for scaling in ("follow", "frozen")
    ]
    scores = [one.learn(X[200:], Y[200:]).score(X[:50]) for one in learners]
    assert learners[0].watch.arrays.muted.max() > 0  # there was a doubt
    assert_array_equal(*scores)


@pytest.mark.parametrize("gaps", [False, True])
def test_a_doubt_in_any_split_copy_and_file(rng, gaps):
    """Rows are learned in a doubt; it goes back to before it, with rows that went by in between."""
    X, Y = random_rows(rng, 400, 3, 2)
    X[200:] += 50.0
    X = with_gaps(rng, X) if gaps else X
    Y[230:234] = np.nan
    first = Learner(make_params(scaling="follow", time=True), 3, 2).fit(X[:150], Y[:150])
    whole, parts = first.copy().learn(X[150:], Y[150:]), first.copy()
    for t in range(150, 400):
        parts.learn(X[t : t + 1], Y[t : t + 1])
        if t == 235:
            assert parts.watch[DOUBT] and parts.watch[PASSED] == 4
            assert parts.rows_seen == 232 and parts.other.rows_seen == 150 + 60
            parts = Learner.from_state(*parts.state()).copy()
    assert whole.scaler.mean.max() > 10.0
    for array, other in zip(whole.state()[1].values(), parts.state()[1].values(), strict=True):
        assert_array_equal(array, other)
    plain = X.copy()
    plain[200:] -= 50.0
    twin = first.copy().learn(plain[150:], Y[150:])  # nothing had changed
    assert np.abs(twin.score(plain[-50:]) - whole.score(X[-50:])).mean() < 0.1
    rows, labels, _ = whole.latest  # those of before are in the units of now
    assert len(labels) == len(rows) == 396 and np.nanmax(np.abs(rows[:200])) < 6.0


def test_labels_that_come_late_and_rows_that_go_by_in_a_doubt(rng):
    X, Y = random_rows(rng, 300, 3, 2)
    X[200:] += 50.0
    learner = Learner(make_params(scaling="follow", time=True), 3, 2).fit(X[:150], Y[:150])
    learner.learn(X[150:225], Y[150:225])
    learner.pass_rows(2)
    learner.add_labels(1)
    assert learner.watch[DOUBT] and learner.watch[PASSED] == 2
    learner.learn(X[225:], np.insert(Y[225:], 2, 0.0, axis=1))
    assert not learner.watch[DOUBT] and learner.scaler.mean.max() > 10.0
    assert learner.score(X[-3:]).shape == (3, 3)


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


def test_what_only_grows(rng):
    hours = np.arange(300) % 24
    days = np.arange(300) // 24
    flag = (days % 7 == 2) * 1.0
    rows = np.column_stack([np.arange(300) + rng.random(300), hours, days, flag, rng.random(300)])
    rows[5:9, 0] = np.nan
    assert only_grow(rows).tolist() == [True, False, True, False, False]
    assert not only_grow(rows[:4]).any()  # too few steps
    assert only_grow(-1e300 * rows[:, :1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_a_feature_that_only_grows_is_ignored_outside_of_its_range(rng, known):
    X, Y = random_rows(rng, 500, 3, 2)
    X[:, 2] = np.arange(500)
    if not known:
        X[:150, 2] = rng.permutation(150)
    learner = Learner(Params(**STREAM), 3, 2).fit(X[:150], Y[:150])
    assert learner.scaler.ignored[2] == known
    learner.learn(X[150:], Y[150:])
    assert learner.scaler.ignored.tolist() == [False, False, True]
    far, back = (X[-1:].copy() for _ in range(2))
    far[0, 2], back[0, 2] = 1e6, 20.0
    assert_array_equal(learner.score(far), learner.score(X[-1:]))
    assert learner.scaled(far)[0, 2] == 0.0 != learner.scaled(back)[0, 2]
    twin = Learner.from_state(*learner.state())
    assert_array_equal(twin.score(far), learner.score(far))


@pytest.mark.parametrize("a, b", [(30.0, 0.0), (0.01, 3.0), (1.0, 1e5)])
def test_how_far_a_change_may_go(a, b):
    assert is_far(np.array([1.0, a]), np.array([0.0, b]))
    assert not is_far(np.array([1.0, 0.2]), np.array([3.0, -40.0]))


def test_a_doubt_for_nothing_is_not_raised_again_soon(rng):
    X, Y = random_rows(rng, 900, 2, 2)
    X[200:, 0] += 4.0
    Y[200:, 1] = 1.0 - Y[200:, 1]
    learner = Learner(Params(**STREAM), 2, 2).fit(X[:200], Y[:200])
    doubts = 0
    for t in range(200, 900, STEP):
        learner.learn(X[t : t + STEP], Y[t : t + STEP])
        doubts += learner.watch[DOUBT] and learner.watch.arrays.muted.max() == t - 180 + MUTED
    assert doubts <= 1
