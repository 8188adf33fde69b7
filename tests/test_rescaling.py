"""A scale that follows its stream, and the state of a learner in other units of the features."""

import warnings

import numpy as np
import pytest
from helpers.streams import (
    learner_with_rules,
    random_rows,
)
from naive import learner as naive
from naive import scale_watch
from numpy.testing import assert_allclose

from efcml import ActiveLearner, EFCMLClassifier, prequential
from efcml.kernels.scale_watch import DOUBT, HELD, UNFIT
from efcml.model import following_scale, units
from efcml.model.casebase import CaseBase
from efcml.model.clipping import ClippingWarning, warn_of_clipping
from efcml.model.fields import CASE_FIELDS, FIELDS
from efcml.model.following_scale import (
    MOST_HELD,
    MOVED,
    MUTED,
    FollowingScale,
    decide_scale,
    go_one_way,
    has_digits,
    is_stretched,
)
from efcml.model.learner import Learner
from efcml.model.memories import follow_antecedents
from efcml.model.params import Params
from efcml.model.scaler import Scaler
from efcml.model.trace import Trace
from efcml.model.units import ChangeOfUnits, re_express, re_express_cases, renew_start_variance

pytestmark = [
    pytest.mark.uncompiled,
    pytest.mark.filterwarnings("ignore::efcml.model.clipping.ClippingWarning"),
]

P_, K_ = 3, 2
A, B = np.array([2.0, 0.25, 1.3]), np.array([-3.0, 0.5, 7.0])
SHIFT, STRETCH = ChangeOfUnits(np.ones(P_), B), ChangeOfUnits(A, np.zeros(P_))
BOTH = ChangeOfUnits(A, B)
MODELS = {
    "plain": {},
    "two memories": {"forgetting": "auto"},
    "distance": {"activation": "distance"},
    "all": {"forgetting": 0.95, "share": 0.6, "beta": 2.0},
}
INITIAL, AT = 300, 120  # initial rows; rows of the stream before something happens
QUICK = {"prior": 1.0, "split_share": 0.3, "cases": 30}


def trained(rng, cases=0, n=40, **changes):
    """A learner that takes rows as they are, with rules, and rows that it has not seen."""
    share = changes.pop("share", 1.0)
    learner = learner_with_rules(rng, 3, P_, K_, cases=cases, vigilance=1.5, **changes)
    learner.learn(*random_rows(rng, n, P_, K_, share))
    assert learner.rules.n_groups == (1 if share == 1.0 else K_)
    return learner, rng.normal(size=(40, P_))


def changed(learner, change):
    other = learner.copy()
    other.start_variance = change.start_variance(learner.start_variance)
    other.rules = re_express(learner.rules, other.start_variance, change)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)
        other.brief = re_express(learner.brief, other.start_variance, change)
    other.cases = re_express_cases(learner.cases, change)
    other.recent = re_express_cases(learner.recent, change)
    return other


@pytest.mark.parametrize("change", [SHIFT, STRETCH, BOTH])
@pytest.mark.parametrize("model", MODELS)
def test_scores_stay(rng, model, change):
    learner, X = trained(rng, **MODELS[model])
    before = learner.score(X)
    other = changed(learner, change)
    assert_allclose(other.score(change.rows(X)), before, rtol=0, atol=1e-9)
    assert np.array_equal(learner.score(X), before)


@pytest.mark.parametrize("change", [SHIFT, BOTH])
def test_cases_say_the_same_at_their_rows(rng, change):
    learner, _ = trained(rng, cases=6, case_width=0.05)
    arrays, n = learner.cases.arrays, learner.cases.n_cases
    old = learner.cases.state()
    said, spread = old["kernel"] @ old["weights"], old["kernel"] @ old["covariance"] @ old["kernel"]
    cases = changed(learner, change).cases
    new = cases.state()
    kept = np.flatnonzero(np.isin(arrays.age[:n], new["age"]))
    assert_allclose(new["kernel"] @ new["weights"], said[kept], atol=1e-9)
    again = new["kernel"] @ new["covariance"] @ new["kernel"]
    assert_allclose(again, spread[np.ix_(kept, kept)], atol=1e-9)
    assert_allclose(new["kernel"] @ new["inverse"], np.eye(len(kept)), atol=1e-9)
    assert_allclose(new["rows"], change.rows(old["rows"])[kept])


def test_cases_that_come_too_near_to_newer_ones_go(rng):
    cases = CaseBase(1, 1, 8, 0.25, 1.0)
    cases.fill(np.array([[-2.0], [0.0], [2.0], [2.8]]), np.ones((4, 1)))
    before = cases.n_cases
    ages = cases.arrays.age[:before].copy()
    units.move_cases(cases.arrays, ChangeOfUnits(np.array([0.05]), np.zeros(1)))
    assert cases.n_cases < before
    assert ages.max() in cases.arrays.age[: cases.n_cases]
    for field in CASE_FIELDS:
        if field.name != "count":
            assert not getattr(cases.arrays, field.name)[cases.n_cases :].any(), field.name
    assert np.abs(cases.arrays.weights).max() < 30.0


def test_cases_are_kept_that_are_new_beside_newer_ones(rng):
    rows, age, kept = rng.normal(size=(12, 2)), rng.permutation(12), []
    K = units.similarities(rows, 0.5)
    for case in np.argsort(-age).tolist():
        k = K[kept, case]
        if 1.0 - k @ np.linalg.solve(K[np.ix_(kept, kept)], k) > 0.05:
            kept.append(case)
    assert units.find_apart(K, age).tolist() == sorted(kept)
    assert 2 < len(kept) < 12


@pytest.mark.parametrize("model", ["plain", "all"])
def test_what_follows_from_others_is_derived_anew(rng, model):
    """Every field by its definition, as the twin has it."""
    learner, _ = trained(rng, **MODELS[model])
    old, new = learner.rules, changed(learner, BOTH).rules
    T, a = BOTH.matrix, np.concatenate([A, np.ones(K_)])
    for r in range(new.n_rules):
        S = np.linalg.inv(old.joint_precision[r]) * np.outer(a, a)
        assert_allclose(np.linalg.inv(new.joint_precision[r]), S, rtol=1e-8)
        S_x = np.linalg.inv(old.input_precision[r]) * np.outer(A, A)
        assert_allclose(np.linalg.inv(new.input_precision[r]), S_x, rtol=1e-8)
        expected = naive.log_determinant(S), naive.log_determinant(S_x)
        assert_allclose(new.log_det[r], expected, atol=1e-8)
        assert_allclose(new.center[r, :P_], A * old.center[r, :P_] + B)
        assert_allclose(new.B[r], old.B[r] @ T.T, atol=1e-12)
        for g in range(new.n_groups):
            assert_allclose(new.G[r, g], T @ old.G[r, g] @ T.T, rtol=1e-9, atol=1e-9)
            H = new.G[r, g] + np.diag(new.Delta[r, g])
            assert_allclose(new.P[r, g] @ H, np.eye(P_ + 1), atol=1e-8)
            assert_allclose(new.curvature[r, g], np.linalg.eigvalsh(H)[-1])
            v = new.curvature_direction[r, g]
            assert_allclose(H @ v, new.curvature[r, g] * v, atol=1e-7 * new.curvature[r, g])
        planes = [part[r].T for part in (new.B, new.W, new.W_prior)]
        D = naive.gradient(new.G[r], planes[0], new.Delta[r], planes[1], planes[2])
        assert_allclose(new.D[r].T, D, atol=1e-7)
    assert not new.stale.any()
    assert not new.unchecked.any()


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_fields_change_with_units_as_their_lines_say(rng, share):
    learner, _ = trained(rng, cases=12, share=share)
    learner.rules.arrays.unchecked[:], learner.rules.arrays.stale[:] = 3, 1
    other = changed(learner, BOTH)
    for field in FIELDS:
        old, new = (getattr(one.rules, field.name) for one in (learner, other))
        assert np.array_equal(old, new) == (field.units == "same"), field.name
    for field in CASE_FIELDS:
        old, new = (one.cases.state()[field.name] for one in (learner, other))
        assert share < 1.0 or not np.array_equal(old, new), field.name


def test_of_an_unknown_feature_nothing_is_left(rng):
    learner, X = trained(rng, cases=6)
    change = ChangeOfUnits(np.array([1.0, 0.0, 1.0]), np.zeros(P_))
    other = changed(learner, change)
    rules, S_0 = other.rules, other.start_variance
    assert np.array_equal(S_0, learner.start_variance)
    assert not rules.W[:, :, 1].any()
    assert not rules.G[:, :, 1].any()
    assert not rules.center[:, 1].any()
    for r in range(rules.n_rules):
        S = np.linalg.inv(rules.input_precision[r])
        assert_allclose(S[1], [0.0, S_0[1], 0.0], atol=1e-12)
        S_old = np.linalg.inv(learner.rules.input_precision[r])
        assert_allclose(S[np.ix_([0, 2], [0, 2])], S_old[np.ix_([0, 2], [0, 2])], rtol=1e-9)
        assert_allclose(rules.log_det[r, 1], naive.log_determinant(S), atol=1e-9)
    other.learn(*random_rows(rng, 30, P_, K_))
    assert np.isfinite(other.score(X)).all()


def test_a_larger_start_variance_is_not_taken_off_twice(rng):
    learner, _ = trained(rng)
    rules, old = learner.rules, learner.start_variance
    share = rules.prior_share.copy()
    assert renew_start_variance(rules, old, old / 4.0) is not None
    assert np.array_equal(rules.prior_share, share)
    renew_start_variance(rules, old, old * np.append(4.0, np.ones(len(old) - 1)))
    assert_allclose(rules.prior_share, share / 4.0)


def linear_stream(n=1000, p=5, K=3, seed=0):
    """Rows and labels that are linear in them, a little noisy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    V = rng.normal(size=(p, K))
    latent = X @ (V / np.linalg.norm(V, axis=0)) + 0.15 * rng.normal(size=(n, K))
    return X, (latent > 0.0).astype(float)


def shifted(X, what="all"):
    """The same rows, measured otherwise from some row on."""
    X, later = X.copy(), slice(INITIAL + AT, None)
    if what == "all":
        X[later] += 20.0
    elif what == "one":
        X[later, 0] -= 20.0
    elif what == "narrower":
        X[later] /= 1000.0
    elif what == "far":
        X[later] += 1e9
    return X


def fitted(X, Y, **more):
    return Learner(Params(**(QUICK | more)), X.shape[1], Y.shape[1]).fit(X[:INITIAL], Y[:INITIAL])


def run(X, Y, **more):
    """Learn the stream; return the learner and which answers were right (n, K)."""
    learner = fitted(X, Y, **more)
    trace = Trace.for_rows(len(X) - INITIAL, Y.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn(X[INITIAL:], Y[INITIAL:], trace)
    return learner, (trace.scores >= 0.5) == Y[INITIAL:]


@pytest.mark.parametrize("seed", range(6))
def test_the_watch_is_the_one_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    kinds = [0.0, 2.0, 8.0, 0.0, 0.0, -1.0]
    n, p = 260, 3
    X = rng.normal(size=(n, p))
    X[90:, 1] += kinds[seed]
    if seed == 3:
        X[60:, 2] *= 5.0
    elif seed == 4:
        X[60:, 0] /= 100.0
    Y = (rng.uniform(size=(n, 2)) > 0.5).astype(float)
    Y[::7] = np.nan
    following = FollowingScale(p, 2)
    following.arrays.asleep[:], following.arrays.lively[:] = (False, False, seed == 5), True
    scaled = np.clip(X, -6.0, 6.0)
    done, event = following.watch(X, scaled, Y, 6.0)
    arrays = following.arrays
    expected = scale_watch.first_doubt(scaled, Y, 6.0, arrays.asleep, arrays.lively)
    assert event == (expected is not None)
    assert done == (n if expected is None else expected + 1)
    seen = scaled[:done][~np.isnan(Y[:done]).all(axis=1)]
    for j in range(p):
        assert_allclose(arrays.level[j], scale_watch.recent_mean(seen[:, j], 0.0), atol=1e-12)
        assert_allclose(arrays.square[j], scale_watch.recent_mean(seen[:, j] ** 2, 1.0), atol=1e-12)
        unfit = scale_watch.misfit(seen[:, j], 6.0, arrays.asleep[j], arrays.lively[j])
        assert_allclose(arrays.unfit[j], unfit, atol=1e-12)


def test_muted_and_missing_features_say_nothing():
    following = FollowingScale(2, 1)
    following.arrays.muted[0] = 40
    X = np.column_stack([np.full(41, 6.0), np.full(41, np.nan)])
    Y = np.ones((41, 1))
    assert following.watch(X[:40], X[:40], Y[:40], 6.0) == (40, False)
    assert following.arrays.muted[0] == 0
    assert (following.arrays.level[1], following.arrays.square[1]) == (0.0, 1.0)
    assert following.watch(X[40:], X[40:], Y[40:], 6.0) == (1, True)


@pytest.mark.slow
def test_rows_are_held_until_there_are_enough():
    X, Y = linear_stream()
    learner = fitted(X, Y)
    rows, labels = shifted(X)[INITIAL:], Y[INITIAL:]
    learner.learn(rows[: AT + 30], labels[: AT + 30])
    assert learner.following.in_doubt
    n = 30 - int(UNFIT)  # the first ones raise the doubt
    held, known = learner.following.held
    assert np.array_equal(held, rows[AT + 30 - n : AT + 30])
    assert np.array_equal(known, labels[AT + 30 - n : AT + 30])
    assert learner.rows_seen == INITIAL + AT + 30 - n
    waiting = int(learner.sequel.arrays.waiting[0])
    learner.pass_rows(3)
    assert learner.sequel.arrays.waiting[0] == waiting + 3
    learner.learn(rows[AT + 30 : AT + 60], labels[AT + 30 : AT + 60])
    assert not learner.following.in_doubt
    assert learner.rows_seen == INITIAL + AT + 60
    assert_allclose(learner.scaler.mean, 20.0 + X[:INITIAL].mean(axis=0), atol=0.6)


@pytest.mark.slow
def test_nothing_happens_to_a_stream_that_stays():
    X, Y = linear_stream()
    follow, frozen = (fitted(X, Y, scaling=scaling) for scaling in ("follow", "frozen"))
    for learner in (follow, frozen):
        learner.learn(X[INITIAL:], Y[INITIAL:])
    assert follow.following.changes == (0, 0)
    assert frozen.following is None
    assert np.array_equal(follow.score(X), frozen.score(X))


@pytest.mark.slow
def test_a_burst_of_wild_rows_passes():
    X, Y = linear_stream()
    X[INITIAL + AT : INITIAL + AT + 9] = 1e9
    learner, _ = run(X, Y)
    assert learner.following.changes == (0, 0)
    assert not learner.following.in_doubt
    assert learner.rows_seen == len(X)  # what was held is learned
    assert learner.following.arrays.muted.all()


# What becomes of the model


@pytest.mark.slow
@pytest.mark.parametrize("what", ["one", "narrower", "far"])
def test_accuracy_comes_back(what):
    X, Y = linear_stream()
    X = shifted(X, what)
    learner, right = run(X, Y)
    _, still = run(X, Y, scaling="frozen")
    assert sum(learner.following.changes) == 1
    assert right[AT + 150 :].mean() > right[:AT].mean() - 0.03
    assert still[AT + 150 :].mean() < right[AT + 150 :].mean() - 0.02
    if what == "one":
        first = Scaler.from_rows(X[:INITIAL], 6.0)
        assert np.array_equal(learner.scaler.mean[1:], first.mean[1:])
        assert np.array_equal(learner.scaler.scale[1:], first.scale[1:])


@pytest.mark.slow
def test_a_shift_of_the_sensor_leaves_the_state_and_a_move_re_expresses_it():
    X, Y = linear_stream(600)
    learner, _ = run(shifted(X), Y)
    assert learner.following.changes == (0, 1)
    moved = X.copy()
    moved[INITIAL + AT :, 0] += 20.0
    labels = Y.copy()
    labels[INITIAL + AT :] = [1.0, 0.0, 1.0]  # nothing that the model could have known
    learner, right = run(moved, labels)
    assert learner.following.changes == (1, 0)
    assert right[-80:].mean() > 0.95


def test_the_exact_reading_gives_the_scores_of_before():
    """No row is clipped, so the change of units must not be seen in any answer."""
    X, Y = linear_stream(INITIAL + MOST_HELD)
    learner = fitted(X, Y, clip=1e6, cases=0)
    arrays = learner.following.arrays
    rows = X[INITIAL:] * 1.1 + 3.0
    arrays.rows[:], arrays.labels[:] = rows, 1.0 - (learner.score(rows) < 0.5)
    arrays.count[[DOUBT, HELD]] = 1, MOST_HELD
    before = learner.score(X)
    held, _ = decide_scale(learner)
    assert learner.following.changes == (1, 0)
    assert np.array_equal(held, rows)
    assert_allclose(learner.scaler.mean, rows.mean(axis=0))
    assert_allclose(learner.score(X), before, atol=1e-9)


@pytest.mark.slow
def test_a_constant_feature_that_wakes_up_is_learned():
    X, Y = linear_stream(1000)
    Y[INITIAL + AT :, 0] = X[INITIAL + AT :, 0] > 0.0
    X[: INITIAL + AT, 0] = 0.0
    X[:, 0] += 1000.0
    learner, right = run(X, Y)
    _, still = run(X, Y, scaling="frozen")
    assert not learner.following.arrays.asleep.any()
    assert_allclose([learner.scaler.mean[0], learner.scaler.scale[0]], [1000.0, 1.0], atol=0.6)
    assert right[-200:, 0].mean() > 0.85
    assert still[-200:, 0].mean() < 0.8


@pytest.mark.parametrize(("share", "wakes"), [(0.1, False), (0.5, True)])
def test_a_constant_wakes_up_if_it_varies_often_enough(rng, share, wakes):
    following, scaler = FollowingScale(2, 1), Scaler(np.zeros(2), np.ones(2), 6.0)
    arrays = following.arrays
    arrays.asleep[0] = True
    arrays.rows[:] = rng.normal(size=(MOST_HELD, 2))
    arrays.rows[int(share * MOST_HELD) :, 0] = 0.0
    arrays.count[HELD] = MOST_HELD
    assert following.propose(scaler)[1].tolist() == [wakes, False]


@pytest.mark.parametrize(
    ("a", "b", "enough"),
    [(1, 9e3, True), (1, -2e4, False), (2e4, 0.0, False), (5e-5, 0.0, False), (2e-4, 1.0, True)],
)
def test_exact_changes_need_digits(a, b, enough):
    assert has_digits(np.array([1.0, a]), np.array([0.0, b])) == enough


@pytest.mark.slow
def test_readings_are_judged_by_labels():
    """A tie is read as a move, and so is a model that says nothing true of the held rows."""
    X, Y = linear_stream(600)
    labels = Y.copy()
    labels[INITIAL + AT :] = 1.0 - labels[INITIAL + AT :]
    learner, _ = run(shifted(X), labels)
    assert learner.following.changes == (1, 0)


@pytest.mark.parametrize(
    ("a", "stretched"),
    [(1.0, False), (19.0, False), (21.0, True), (1 / 19, False), (1 / 21, True), (0.0, False)],
)
def test_how_much_a_great_stretch_is(a, stretched):
    """A feature that never varied, with a = 0, has no deviation to compare with."""
    assert is_stretched(ChangeOfUnits(np.array([1.0, a]), np.zeros(2))) == stretched


@pytest.mark.slow
def test_clipped_values_are_counted_by_feature():
    X, Y = linear_stream(600)
    Z = X.copy()
    Z[INITIAL + 50 : INITIAL + 54, 1] = 1e6
    for more in ({}, {"learn": False}, {"active": ActiveLearner(budget=0.3)}):
        clf = EFCMLClassifier(**QUICK).fit(Z[:INITIAL], Y[:INITIAL])
        result = prequential(clf, Z[INITIAL:], Y[INITIAL:], **more)
        assert result.clipped.tolist() == [0.0, 4.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
def test_many_clipped_values_are_told_once():
    X, Y = linear_stream(900)
    X = shifted(X, "one")
    clf = EFCMLClassifier(**QUICK, scaling="frozen").fit(X[:INITIAL], Y[:INITIAL])
    with pytest.warns(ClippingWarning, match=r"of feature 0: .*scaling='follow'") as told:
        clf.partial_fit(X[INITIAL:600], Y[INITIAL:600])
        clf.partial_fit(X[600:750], Y[600:750])
        result = prequential(clf, X[750:], Y[750:])
    assert len(told) == 1
    assert result.clipped[0] == 150.0


def test_a_doubt_that_ends_mutes_what_was_off_for_nothing():
    following = FollowingScale(4, 1)
    arrays = following.arrays
    arrays.level[:], arrays.square[:] = (5.0, 0.1, 5.0, 0.0), (30.0, 1.0, 30.0, 1.0)
    arrays.unfit[:], arrays.asleep[2], arrays.muted[:] = (0.0, 0.0, 3.0, 99.0), True, (0, 7, 5, 0)
    arrays.count[:] = 1, MOST_HELD, 9, 2, 4
    following.settle(np.array([False, False, True, False]), MOVED)
    assert arrays.muted.tolist() == [MUTED, 7, 0, MUTED]
    assert arrays.level.tolist() == [5.0, 0.1, 0.0, 0.0]
    assert (arrays.square[2], arrays.unfit[2], arrays.asleep[2]) == (1.0, 0.0, False)
    assert arrays.count.tolist() == [0, 0, 0, 3, 4]


@pytest.mark.parametrize(
    ("clipped", "rows", "warns"),
    [
        ([3.0, 0.0], 100, True),
        ([2.0, 0.0], 100, False),
        ([9.0, 9.0], 99, False),
        (None, 200, False),
    ],
)
def test_more_than_one_value_in_a_hundred_is_told(clipped, rows, warns):
    clipped = None if clipped is None else np.array(clipped)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert warn_of_clipping(clipped, rows, ["heat", "load"]) == warns
    assert [str(one.message)[:4] for one in caught] == ["1.5%"] * warns


def test_what_goes_one_way():
    n, no = 40, np.nan
    rng = np.random.default_rng(0)
    days, noise = np.arange(n, dtype=float), rng.normal(size=n)
    columns = {
        "days": (days, True),
        "back": (-days, True),
        "gaps": (np.where(days % 3 == 0, no, days), True),
        "one step back": (np.where(days == 20, 18.5, days), True),
        "noise": (noise, False),
        "wild at the end": (np.where(days == n - 1, 1e9, noise), False),
        "rest": (np.ones(n), False),
        "nothing": (np.full(n, no), False),
    }
    found = go_one_way(np.column_stack([column for column, _ in columns.values()]))
    assert dict(zip(columns, found.tolist(), strict=True)) == {
        name: one_way for name, (_, one_way) in columns.items()
    }


def growing_stream(n=1200, seed=0):
    """The first feature is the number of the row; the second decides the label."""
    x = np.random.default_rng(seed).normal(size=n)
    return np.column_stack([np.arange(n, dtype=float), x]), (x > 0.0).astype(float)[:, None]


@pytest.mark.slow
def test_rules_stay_where_their_rows_were():
    X, Y = growing_stream()
    clf = EFCMLClassifier(forgetting=1.0, merging=False, **QUICK).fit(X[:INITIAL], Y[:INITIAL])
    spread = clf.learner_.scaler.scale[0]
    result = prequential(clf, X[INITIAL:], Y[INITIAL:])
    learner = clf.learner_
    assert learner.following.changes[0] > 2
    assert learner.following.changes[1] == 0
    assert learner.scaler.scale[0] == spread  # forty rows are no measure of it
    assert result.clipped[0] == 0
    assert result.pa > 0.95
    rows = learner.scaler.mean[0] + learner.scaler.scale[0] * learner.rules.center[:, 0]
    assert_allclose(np.average(rows, weights=learner.rules.support), X[:, 0].mean(), atol=20.0)


def test_a_shift_that_leaves_only_rounding_is_not_read(monkeypatch):
    X, Y = growing_stream(400)
    learner = fitted(X, Y, cases=0)
    real, failed = following_scale.changed_state, []

    def fails(learner, change):
        if change.b.any():
            failed.append(change)
            raise np.linalg.LinAlgError
        return real(learner, change)

    monkeypatch.setattr(following_scale, "changed_state", fails)
    learner.learn(np.repeat(X[INITIAL:], 2, axis=0) * 3.0, np.repeat(Y[INITIAL:], 2, axis=0))
    assert failed
    assert learner.following.changes[0] == 0
    assert learner.following.changes[1] > 0
