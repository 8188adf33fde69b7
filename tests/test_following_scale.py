"""A scale that follows its stream: when it changes, to what, and what becomes of the model."""

import pickle
import warnings

import numpy as np
import pytest
from helpers.streams import COMPILED, assert_identical, state_of
from naive import scale_watch as naive
from numpy.testing import assert_allclose

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, load, prequential, save
from efcml.kernels import scale_watch
from efcml.model import following_scale
from efcml.model.clipping import ClippingWarning
from efcml.model.following_scale import (
    KEPT,
    MOST_HELD,
    MOVED,
    FollowingScale,
    decide_scale,
    go_one_way,
    has_digits,
    is_stretched,
)
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.scaler import Scaler
from efcml.model.trace import Trace
from efcml.model.units import ChangeOfUnits

pytestmark = pytest.mark.uncompiled

pytestmark = pytest.mark.filterwarnings("ignore::efcml.model.clipping.ClippingWarning")

INITIAL, AT = 300, 120  # initial rows; rows of the stream before something happens
QUICK = {"prior": 1.0, "split_share": 0.3, "cases": 30}


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
    elif what == "wider":
        X[later] *= 1000.0
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


# When


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
    expected = naive.first_doubt(scaled, Y, 6.0, arrays.asleep, arrays.lively)
    assert event == (expected is not None)
    assert done == (n if expected is None else expected + 1)
    seen = scaled[:done][~np.isnan(Y[:done]).all(axis=1)]
    for j in range(p):
        assert_allclose(arrays.level[j], naive.recent_mean(seen[:, j], 0.0), atol=1e-12)
        assert_allclose(arrays.square[j], naive.recent_mean(seen[:, j] ** 2, 1.0), atol=1e-12)
        unfit = naive.misfit(seen[:, j], 6.0, arrays.asleep[j], arrays.lively[j])
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


def test_rows_are_held_until_there_are_enough():
    X, Y = linear_stream()
    learner = fitted(X, Y)
    rows, labels = shifted(X)[INITIAL:], Y[INITIAL:]
    learner.learn(rows[: AT + 30], labels[: AT + 30])
    assert learner.following.in_doubt
    n = 30 - int(scale_watch.UNFIT)  # the first ones raise the doubt
    held, known = learner.following.held
    assert np.array_equal(held, rows[AT + 30 - n : AT + 30])
    assert np.array_equal(known, labels[AT + 30 - n : AT + 30])
    assert learner.rows_seen == INITIAL + AT + 30 - n
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
def test_one_wild_row_changes_nothing():
    X, Y = linear_stream()
    X[INITIAL + AT] = 1e9
    learner, right = run(X, Y)
    assert learner.following.changes == (0, 0)
    assert right[AT + 1 :].mean() > 0.88


@pytest.mark.slow
def test_a_burst_of_wild_rows_passes():
    X, Y = linear_stream()
    X[INITIAL + AT : INITIAL + AT + 9] = 1e9
    learner, _ = run(X, Y)
    assert learner.following.changes == (0, 0)
    assert not learner.following.in_doubt
    assert learner.rows_seen == len(X)  # what was held is learned
    assert learner.following.arrays.muted.all()


@pytest.mark.slow
def test_a_feature_that_gets_stuck_keeps_its_scale():
    X, Y = linear_stream()
    X[INITIAL + AT :, 0] = 2.5
    learner, _ = run(X, Y)
    assert learner.following.changes == (0, 0)
    assert abs(learner.scaler.mean[0]) < 0.3


@pytest.mark.slow
def test_unlabelled_rows_are_not_watched():
    X, Y = linear_stream()
    Y[INITIAL:] = np.nan
    learner = fitted(X, Y)
    before = state_of(learner)
    learner.learn(shifted(X)[INITIAL:], Y[INITIAL:])
    assert_identical(state_of(learner), before)


# What becomes of the model


@pytest.mark.slow
@pytest.mark.parametrize("what", ["all", "one", "wider", "narrower", "far"])
def test_accuracy_comes_back(what):
    X, Y = linear_stream()
    X = shifted(X, what)
    learner, right = run(X, Y)
    _, still = run(X, Y, scaling="frozen")
    assert sum(learner.following.changes) == 1
    assert right[AT + 150 :].mean() > right[:AT].mean() - 0.03
    assert still[AT + 150 :].mean() < right[AT + 150 :].mean() - 0.02
    assert np.isfinite(learner.score(X)).all()


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


@pytest.mark.slow
def test_beyond_all_digits_the_state_is_left():
    X, Y = linear_stream(600)
    labels = Y.copy()
    labels[INITIAL + AT :] = [1.0, 0.0, 1.0]
    learner, _ = run(shifted(X, "far"), labels)
    assert learner.following.changes == (0, 1)


def test_the_exact_reading_gives_the_scores_of_before():
    """No row is clipped, so the change of units must not be seen in any answer."""
    X, Y = linear_stream(600)
    learner = fitted(X, Y, clip=1e6, cases=0)
    learner.learn(X[INITIAL:500], Y[INITIAL:500])
    arrays = learner.following.arrays
    rows = X[500 : 500 + MOST_HELD] * 1.1 + 3.0
    arrays.rows[:], arrays.labels[:] = rows, 1.0 - (learner.score(rows) < 0.5)
    arrays.count[[scale_watch.DOUBT, scale_watch.HELD]] = 1, MOST_HELD
    before = learner.score(X)
    held, _ = decide_scale(learner)
    assert learner.following.changes == (1, 0)
    assert np.array_equal(held, rows)
    assert_allclose(learner.scaler.mean, rows.mean(axis=0))
    assert_allclose(learner.score(X), before, atol=1e-9)


@pytest.mark.slow
def test_rounding_in_the_exact_reading_is_survived(monkeypatch):
    X, Y = linear_stream(600)

    def fail(*args):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(following_scale, "re_express", fail)
    learner, _ = run(shifted(X), Y)
    assert learner.following.changes == (0, 1)


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


def test_what_initial_rows_say_of_features(rng):
    X = np.column_stack(
        [np.full(200, 3.0), rng.normal(size=200), np.repeat(rng.normal(size=20), 10)]
    )
    following = FollowingScale.from_rows(X, Scaler.from_rows(X, 6.0).transform(X), 1)
    assert following.arrays.asleep.tolist() == [True, False, False]
    assert following.arrays.lively.tolist() == [False, True, False]


@pytest.mark.parametrize(("share", "wakes"), [(0.1, False), (0.5, True)])
def test_a_constant_wakes_up_if_it_varies_often_enough(rng, share, wakes):
    following, scaler = FollowingScale(2, 1), Scaler(np.zeros(2), np.ones(2), 6.0)
    arrays = following.arrays
    arrays.asleep[0] = True
    arrays.rows[:] = rng.normal(size=(MOST_HELD, 2))
    arrays.rows[int(share * MOST_HELD) :, 0] = 0.0
    arrays.count[scale_watch.HELD] = MOST_HELD
    assert following.propose(scaler)[1].tolist() == [wakes, False]


@pytest.mark.parametrize(
    ("a", "b", "enough"),
    [
        (1.0, 9e3, True),
        (1.0, -2e4, False),
        (2e4, 0.0, False),
        (5e-5, 0.0, False),
        (2e-4, 1.0, True),
    ],
)
def test_exact_changes_need_digits(a, b, enough):
    assert has_digits(np.array([1.0, a]), np.array([0.0, b])) == enough


@pytest.mark.slow
def test_other_features_keep_their_scale():
    X, Y = linear_stream(600)
    learner, _ = run(shifted(X, "one"), Y)
    first = Scaler.from_rows(X[:INITIAL], 6.0)
    assert np.array_equal(learner.scaler.mean[1:], first.mean[1:])
    assert np.array_equal(learner.scaler.scale[1:], first.scale[1:])
    assert learner.scaler.mean[0] < -15.0


@pytest.mark.slow
def test_a_wild_row_among_the_initial_ones_costs_nothing():
    X, Y = linear_stream()
    _, right = run(X, Y)
    X[7] = 1e9
    _, wild = run(X, Y)
    assert wild.mean() > right.mean() - 0.015


@pytest.mark.slow
def test_large_offsets_work_from_the_start():
    X, Y = linear_stream()
    _, right = run(X, Y)
    _, far = run(X + 1e13, Y)
    assert abs(far.mean() - right.mean()) < 0.01


def test_readings_are_judged_by_labels():
    """A tie is read as a move, and so is a model that says nothing true of the held rows."""
    assert (MOVED, KEPT) == (3, 4)
    X, Y = linear_stream(600)
    labels = Y.copy()
    labels[INITIAL + AT :] = 1.0 - labels[INITIAL + AT :]
    learner, _ = run(shifted(X), labels)
    assert learner.following.changes == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["wider", "narrower"])
def test_a_great_stretch_leaves_the_state_even_if_it_says_nothing_true(what):
    """Planes a thousand times as steep would be no start for rules of the new rows."""
    X, Y = linear_stream(1000)
    labels = Y.copy()
    labels[INITIAL + AT :] = 1.0 - labels[INITIAL + AT :]
    learner, right = run(shifted(X, what), labels)
    assert learner.following.changes == (0, 1)
    assert right[AT + 300 :].mean() > right[:AT].mean() - 0.05


def test_a_great_stretch_of_the_rows_themselves_is_exact():
    """Labels that follow the old planes, in the units of the data, say so."""
    X, Y = linear_stream(600)
    learner = fitted(X, Y, cases=0)
    arrays, rows = learner.following.arrays, X[-MOST_HELD:] * [[1.0, 1.0, 1.0, 1.0, 50.0]]
    clipless = Scaler(learner.scaler.mean, learner.scaler.scale, 1e9)
    labels = learner._score_scaled(clipless.transform(rows)) >= 0.5
    arrays.rows[:], arrays.labels[:] = rows, labels
    arrays.count[[scale_watch.DOUBT, scale_watch.HELD]] = 1, MOST_HELD
    decide_scale(learner)
    assert learner.following.changes == (1, 0)


@pytest.mark.parametrize(
    ("a", "stretched"),
    [(1.0, False), (19.0, False), (21.0, True), (1 / 19, False), (1 / 21, True), (0.0, False)],
)
def test_how_much_a_great_stretch_is(a, stretched):
    """A feature that never varied, with a = 0, has no deviation to compare with."""
    assert is_stretched(ChangeOfUnits(np.array([1.0, a]), np.zeros(2))) == stretched


# Chunks, copies, files, faces


def scenario(what="all", n=620):
    X, Y = linear_stream(n)
    X = shifted(X, what)
    Y[INITIAL::11] = np.nan
    Y[INITIAL + 4 :: 9, 0] = np.nan
    return X, Y


@pytest.mark.slow
@pytest.mark.parametrize("what", ["all", "one", "narrower"])
@pytest.mark.parametrize("seed", range(3 if COMPILED else 1))
def test_chunks_do_not_matter(what, seed):
    X, Y = scenario(what)
    whole, parts = fitted(X, Y), fitted(X, Y)
    whole.learn(X[INITIAL:], Y[INITIAL:])
    assert sum(whole.following.changes) == 1
    edges = np.sort(np.random.default_rng(seed).integers(INITIAL, len(X), size=12))
    for low, high in zip([INITIAL, *edges], [*edges, len(X)], strict=True):
        parts.learn(X[low:high], Y[low:high])
        parts = pickle.loads(pickle.dumps(parts)) if seed == 0 else parts.copy()
    assert_identical(state_of(parts), state_of(whole))


@pytest.mark.slow
def test_row_by_row_with_traces():
    X, Y = scenario("one")
    whole, parts = fitted(X, Y), fitted(X, Y)
    one = Trace.for_rows(len(X) - INITIAL, 3)
    whole.learn(X[INITIAL:], Y[INITIAL:], one)
    scores, rules, clipped, events = [], [], 0.0, []
    for t in range(INITIAL, len(X)):
        assert_allclose(parts.score(X[t : t + 1])[0], one.scores[t - INITIAL], atol=1e-12)
        part = Trace.for_rows(1, 3)
        parts.learn(X[t : t + 1], Y[t : t + 1], part)
        scores.append(part.scores[0])
        rules.append(part.rules[0])
        clipped = clipped + part.clipped
        events += [(t - INITIAL, kind, uid) for _, kind, uid in part.events]
    assert np.array_equal(scores, one.scores)
    assert np.array_equal(rules, one.rules)
    assert np.array_equal(clipped, one.clipped)
    assert events == one.events
    assert_identical(state_of(parts), state_of(whole))


@pytest.mark.slow
def test_rules_of_a_trace_are_those_after_its_events():
    """Also where rules are born from rows that were held."""
    X, Y = linear_stream(600)
    X[INITIAL + AT :, 0] += 20.0
    Y[INITIAL + AT :] = [1.0, 0.0, 1.0]
    learner = fitted(X, Y)
    count, trace = learner.n_rules, Trace.for_rows(len(X) - INITIAL, 3)
    learner.learn(X[INITIAL:], Y[INITIAL:], trace)
    change = {"birth": 1, "split": 1, "merge": -1, "drop": -1, "drift": 0}
    decided = AT + int(scale_watch.UNFIT) + MOST_HELD - 1
    assert any(row == decided for row, _, _ in trace.events)
    for t, n in enumerate(trace.rules):
        assert n == count + sum(change[kind] for row, kind, _ in trace.events if row <= t), t


@pytest.mark.slow
def test_copies_are_independent():
    X, Y = scenario()
    learner = fitted(X, Y)
    learner.learn(X[INITIAL : INITIAL + AT + 30], Y[INITIAL : INITIAL + AT + 30])
    before = state_of(learner)
    learner.copy().learn(X[INITIAL + AT + 30 :], Y[INITIAL + AT + 30 :])
    assert_identical(state_of(learner), before)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [AT, AT + 30, AT + 100])
def test_files_keep_what_is_remembered(tmp_path, stop):
    X, Y = scenario()
    clf = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
    clf.partial_fit(X[INITIAL : INITIAL + stop], Y[INITIAL : INITIAL + stop])
    save(clf, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    for one in (clf, again):
        one.partial_fit(X[INITIAL + stop :], Y[INITIAL + stop :])
    assert sum(clf.learner_.following.changes) == 1
    assert_identical(state_of(again.learner_), state_of(clf.learner_))


@pytest.mark.slow
def test_late_labels_while_rows_are_held():
    X, Y = linear_stream()
    learner = fitted(X, Y)
    rows = shifted(X)[INITIAL:]
    learner.learn(rows[: AT + 30], Y[INITIAL : INITIAL + AT + 30])
    learner.add_labels(1)
    labels = np.hstack([Y[INITIAL:], (X[INITIAL:, :1] > 0.0).astype(float)])
    learner.learn(rows[AT + 30 :], labels[AT + 30 :])
    assert sum(learner.following.changes) == 1
    assert learner.score(rows).shape == (len(rows), 4)


@pytest.mark.slow
def test_delayed_labels():
    X, Y = scenario("one")  # clipped in all features, rows could not be told apart
    clf = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
    twin = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
    result = prequential(clf, X[INITIAL:], Y[INITIAL:], delay=7)
    scores = []
    for t in range(INITIAL, len(X)):
        scores.append(twin.decision_function(X[t : t + 1])[0] + 0.5)
        if t - 7 >= INITIAL:
            twin.partial_fit(X[t - 7 : t - 6], Y[t - 7 : t - 6])
    assert_allclose(result.scores, scores, atol=1e-12)


@pytest.mark.slow
def test_active_learning_asks_in_the_scale_of_the_moment():
    X, Y = linear_stream(900)
    X = shifted(X)
    learned = []
    for by_hand in (False, True):
        clf = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
        active = ActiveLearner(budget=0.5)
        if by_hand:
            for x, y in zip(X[INITIAL:], Y[INITIAL:], strict=True):
                question = active.ask(clf, x)
                active.tell(clf, x, y if question else None)
        else:
            prequential(clf, X[INITIAL:], Y[INITIAL:], active=active)
        learned.append(state_of(clf.learner_))
        assert sum(clf.learner_.following.changes) >= 1
    assert_identical(*learned)


@pytest.mark.slow
def test_rules_are_read_in_the_units_of_the_moment():
    X, Y = linear_stream(600)
    X = shifted(X)
    clf = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
    clf.partial_fit(X[INITIAL:], Y[INITIAL:])
    off = np.array([np.abs(rule.center - 20.0).max() for rule in clf.rules_])
    assert (off > 4.0).sum() <= 1  # that of the rows that raised the doubt
    assert_allclose(clf.explain(X[-1]).score, clf.decision_function(X[-1:])[0] + 0.5, atol=1e-9)


# Clipped values


@pytest.mark.slow
def test_clipped_values_are_counted_by_feature():
    X, Y = linear_stream(600)
    Z = X.copy()
    Z[INITIAL + 50 : INITIAL + 54, 1] = 1e6
    for model in (EFCMLClassifier(**QUICK), OneVsRestEFC(**QUICK)):
        model.fit(Z[:INITIAL], Y[:INITIAL])
        result = prequential(model, Z[INITIAL:], Y[INITIAL:])
        assert result.clipped.tolist() == [0.0, 4.0, 0.0, 0.0, 0.0]
    clf = EFCMLClassifier(**QUICK).fit(Z[:INITIAL], Y[:INITIAL])
    assert prequential(clf, Z[INITIAL:], Y[INITIAL:], learn=False).clipped[1] == 4.0
    asked = prequential(clf, Z[INITIAL:], Y[INITIAL:], active=ActiveLearner(budget=0.3))
    assert asked.clipped[1] == 4.0


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


@pytest.mark.slow
def test_few_rows_say_nothing():
    X, Y = linear_stream(500)
    clf = EFCMLClassifier(**QUICK, scaling="frozen").fit(X[:INITIAL], Y[:INITIAL])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(INITIAL, INITIAL + 20):
            clf.partial_fit(1e6 * X[t : t + 1], Y[t : t + 1])


# -- features that grow -----------------------------------------------------------------------


def test_what_goes_one_way():
    n, no = 40, np.nan
    rng = np.random.default_rng(0)
    days, noise = np.arange(n, dtype=float), rng.normal(size=n)
    columns = {
        "days": (days, True),
        "back": (-days, True),
        "by tens": (days // 10, True),
        "gaps": (np.where(days % 3 == 0, no, days), True),
        "one step back": (np.where(days == 20, 18.5, days), True),
        "noise": (noise, False),
        "a walk": (noise.cumsum(), False),
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


@pytest.mark.slow
def test_a_feature_that_grows_and_one_whose_unit_changes():
    X, Y = growing_stream()
    X[700:, 1] *= 1000.0
    clf = EFCMLClassifier(**QUICK).fit(X[:INITIAL], Y[:INITIAL])
    before = clf.learner_.scaler.scale.copy()
    result = prequential(clf, X[INITIAL:], Y[INITIAL:])
    assert clf.learner_.scaler.scale[0] == before[0]
    assert clf.learner_.scaler.scale[1] > 300.0 * before[1]
    right = ((result.scores >= 0.5) == result.Y)[:, 0]
    assert right[-300:].mean() > 0.9


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
