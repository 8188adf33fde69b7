"""Trust and time, and two memories of every rule: kernels, batch, learners."""

import numpy as np
import pytest
from helpers.streams import (
    assert_identical,
    assert_near,
    naive_learner,
    random_rows,
    state_of,
    unscaled_learner,
)
from naive.sequel import NaiveSequel
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier
from efcml.kernels import memory
from efcml.kernels import sequel as kernels
from efcml.model import batch
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.sequelbase import SequelBase

pytestmark = pytest.mark.uncompiled

ROWS = 150
QUICK = {"prior": 1.0, "max_rules": 4, "cases": 20, "warmup_rows": 20}


def follow_each_other(rng, n, K, stay=0.9):
    """Labels each of which stays what it was in the row before, mostly; and scores that know less.

    The first label of a row is what the last one was in the row before.
    """
    Y = np.zeros((n, K))
    for t in range(1, n):
        Y[t] = np.where(rng.random(K) < stay, Y[t - 1], rng.random(K) < 0.4)
        Y[t, 0] = Y[t - 1, -1]
    return 0.4 + 0.3 * (Y - 0.4) + 0.3 * rng.normal(size=(n, K)), Y


def independent(rng, n, K):
    """Labels drawn with the probabilities that the scores are: nothing to be made better."""
    S = rng.random((n, K)) * 0.9 + 0.05
    return S, (rng.random((n, K)) < S).astype(float)


def hide(rng, Y, labels=0.0, rows=0.0):
    """Make a share of labels, or of rows, unknown."""
    hidden = (rng.random(Y.shape) < labels) | (rng.random((len(Y), 1)) < rows)
    return np.where(hidden, np.nan, Y)


def learn(base, s, y):
    """Learn one row as the kernel of the stream does."""
    known = ~np.isnan(y)
    if known.any():
        base.arrays.scores[:] = s
        kernels.learn_sequel(y, known, int(known.sum()), base.arrays)
    else:
        kernels.pass_row(base.arrays)


def answer(base, s, ahead=0):
    scores = s.copy()
    kernels.answer_sequel(ahead, base.arrays, scores)
    return scores


def run(rows, K, **switches):
    """Learn rows from nothing and return the layer and the scores before each row."""
    base = SequelBase(K, **({"trusts": True, "times": True} | switches))
    scores = []
    for s, y in zip(*rows, strict=True):
        scores.append(answer(base, s))
        learn(base, s, y)
    return base, np.array(scores)


@pytest.mark.parametrize(
    ("make", "hidden", "K"),
    [
        (follow_each_other, {}, 4),
        (follow_each_other, {"labels": 0.3, "rows": 0.2}, 4),
        (independent, {"labels": 0.4}, 3),
        (independent, {"rows": 0.5}, 1),
    ],
)
def test_kernels_are_the_twin(rng, make, hidden, K):
    S, Y = make(rng, ROWS, K)
    Y = hide(rng, Y, **hidden)
    base, twin = SequelBase(K, trusts=True, times=True), NaiveSequel(K)
    timed = 0.0
    for s, y in zip(S, Y, strict=True):
        for ahead in (0, 1, 6):
            assert_near(answer(base, s, ahead), twin.answer(s, ahead), 1e-7, 1e-9, "answer")
        timed = max(timed, base.arrays.shares[2:].sum())
        learn(base, s, y)
        twin.learn(s, y)
        found = base.state()
        for name, expected in twin.arrays().items():
            assert_near(found[name], expected, 1e-7, 1e-9, name)
    assert make is independent or K == 1 or timed > 0.0


def test_rows_that_go_by_are_rows_ahead(rng):
    S, Y = follow_each_other(rng, 300, 3)
    base, _ = run((S, Y), 3)
    expected = answer(base, S[0], 4)
    passed, waited = base.copy(), base.copy()
    passed.pass_rows(3)
    kernels.pass_row(passed.arrays)
    waited.wait(4)
    assert np.array_equal(answer(passed, S[0]), expected)
    assert np.array_equal(answer(waited, S[0]), expected)
    waited.stop_waiting(held=1)
    assert np.array_equal(answer(waited, S[0]), answer(base, S[0], 3))


def test_a_batch_is_a_hint_and_not_the_row_before(rng):
    S, Y = follow_each_other(rng, 400, 3)
    base = SequelBase(3, trusts=True, times=True)
    base.begin(Y - S, Y)
    arrays = base.arrays
    assert_allclose(arrays.ones, Y.sum(axis=0))
    assert arrays.seen.tolist() == [400.0] * 3
    raw = SequelBase(3, trusts=True, times=True)
    raw._count_as = lambda rows, in_losses: None
    raw.begin(Y - S, Y)
    assert_allclose(arrays.moments, raw.arrays.moments * 30.0 / raw.arrays.tally[kernels.WEIGHT])
    assert_allclose(arrays.losses, raw.arrays.losses * 30.0 * 0.005 / (1.0 - 0.995**400))
    assert_allclose(arrays.tally[kernels.WEIGHT], 30.0)
    assert (arrays.ago == kernels.NEVER).all()
    assert not arrays.errors.any()
    rows = np.array([answer(base, s, t) for t, s in enumerate(S[:20])])
    assert np.array_equal(rows, np.array([answer(base, s) for s in S[:20]]))


def test_rows_of_a_batch_do_not_know_their_own_labels(rng):
    """A label that one row has: to that row its frequency is that of the others."""
    Y = np.zeros((10, 1))
    Y[4] = 1.0
    base = SequelBase(1, trusts=True, times=False)
    base.begin(Y - 0.5, Y)
    expected = sum(
        (y - f) * (0.5 - f) * k
        for y, f, k in zip(
            Y[:, 0],
            np.where(Y[:, 0] == 1.0, 0.05, 0.15),
            kernels.KEPT ** np.arange(9, -1, -1.0),
            strict=True,
        )
    )
    assert_allclose(base.arrays.targets[0], expected)


def test_unknown_labels_of_a_batch_are_no_evidence(rng):
    S, Y = follow_each_other(rng, 200, 3)
    hidden = hide(rng, Y, labels=0.3, rows=0.1)
    one, other = (SequelBase(3, trusts=True, times=True) for _ in range(2))
    one.begin(hidden - S, hidden)
    other.begin(hidden - np.where(np.isnan(hidden), 7.0, S), hidden)
    for name, value in one.state().items():
        assert np.array_equal(value, other.state()[name]), name
        assert np.isfinite(value).all(), name


def test_late_labels_begin_with_nothing(rng):
    S, Y = follow_each_other(rng, 300, 3)
    base, _ = run((S, Y), 3)
    old = base.state()
    answers = answer(base, S[0])
    base.add_labels(2)
    for name, value in base.state().items():
        before = tuple(map(slice, old[name].shape))
        assert np.array_equal(value[before], old[name]), name
    arrays = base.arrays
    assert arrays.seen.tolist() == [300.0] * 5
    assert arrays.ago.tolist() == [1] * 5
    assert_allclose(np.diagonal(arrays.link_covariance)[3:], arrays.link_start[0])
    found = answer(base, np.append(S[0], [0.0, 0.0]))
    assert np.array_equal(found[:3], answers)
    learn(base, np.append(S[0], [0.0, 0.0]), np.append(Y[0], [1.0, 0.0]))
    assert np.isfinite(answer(base, np.zeros(5))).all()


# In a learner


def stream(rng, n=260, K=3, p=2):
    """Rows whose labels follow each other, and features that say a little of them."""
    _, Y = follow_each_other(rng, n, K)
    X = rng.normal(size=(n, p)) + Y[:, :1]
    return X, Y


@pytest.fixture(scope="module")
def rows():
    return stream(np.random.default_rng(11))


def fitted(rows, n=60, **more):
    return EFCMLClassifier(**QUICK, **more).fit(rows[0][:n], rows[1][:n])


@pytest.mark.slow
def test_rows_held_for_their_scale_are_rows_that_wait(rows):
    X, Y = rows
    X = X.copy()
    X[120:] = X[120:] * 50.0 + 1000.0
    Y = hide(np.random.default_rng(4), Y, rows=0.2)
    one, many = fitted((X, Y)).learner_, fitted((X, Y)).learner_
    waited = 0
    for t in range(60, len(X)):
        one.learn(X[t : t + 1], Y[t : t + 1])
        waited = max(waited, int(one.sequel.arrays.waiting[0]))
    for part in np.array_split(
        np.arange(60, len(X)), 3
    ):  # so few that nothing is said about clipping
        many.learn(X[part], Y[part])
    assert waited > 30
    assert one.following.changes != (0, 0)
    assert one.sequel.arrays.waiting[0] == 0
    assert_identical(state_of(one), state_of(many))


# Two memories


AUTO = {"forgetting": "auto"}
TURNING = {"prior": 1.0, "max_rules": 4, "warmup_rows": 20, "caution": False, "time": False}


def turning_rows(rng, n, turn):
    """Rows whose labels say the opposite from row ``turn`` on."""
    X = rng.normal(size=(n, 3))
    latent = X @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(n, 2))
    latent[turn:] *= -1.0
    return X, (latent > 0.0).astype(float)


@pytest.fixture(scope="module")
def turning():
    return turning_rows(np.random.default_rng(5), 900, 500)


@pytest.mark.parametrize(
    ("trial", "share"),
    [
        ([0.0, 0.0, 0.0, 0.0], 0.0),
        ([0.0, 0.0, 0.0, 3.0], 0.0),
        ([-1.0, 2.0, 1.0, 1.0], 0.0),
        ([50.0, 2.0, 1.0, 1.0], 1.0),
        ([3.5, 2.0, 1.0, 1.0], 0.5),
    ],
)
def test_the_share_lies_within_0_and_1_and_is_held_to_0(trial, share):
    assert memory.brief_share(np.array(trial)) == share


def test_halves_that_part_are_no_drift():
    """A rule that was split waits, and then until it is calm, before it tells of drift."""
    learner = unscaled_learner(2, 1, **AUTO)
    learner.learn(np.zeros((1, 2)), np.zeros((1, 1)))
    rules = learner.rules.arrays
    rules.drifting[0] = memory.SPLIT
    rules.trial[0] = 100.0, 100.0, 1.0, 1.0  # m is nearly 1
    for _ in range(memory.SPLIT):
        memory.note_drift(0, rules)
    assert rules.drifting[0] == memory.QUIET
    rules.trial[0] = 0.0, 100.0, 1.0, 1.0
    memory.note_drift(0, rules)
    assert rules.drifting[0] == memory.STEADY
    rules.trial[0] = 100.0, 100.0, 1.0, 1.0
    memory.note_drift(0, rules)
    assert rules.drifting[0] == memory.NEWS


def test_drifts_are_those_of_the_twin():
    X, Y = turning_rows(np.random.default_rng(2), 160, 90)
    one_rule = AUTO | {"vigilance": 1e9}
    learner, twin = unscaled_learner(3, 2, **one_rule), naive_learner(3, 2, **one_rule)
    told = []
    for t in range(len(X)):
        before = learner.counts["drifts"]
        learner.learn(X[t : t + 1], Y[t : t + 1])
        told += [t] * (learner.counts["drifts"] - before)
        twin.learn_row(X[t], Y[t])
    assert told == [row for row, _ in twin.drifts]
    assert told
    found = [learner.score(x[None])[0] for x in X[:5]]
    assert_allclose(found, [twin.score(x) for x in X[:5]], rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_a_rule_says_what_both_memories_say(turning):
    X, Y = turning
    model = EFCMLClassifier(**TURNING, **AUTO, cases=0).fit(X[:300], Y[:300])
    model.partial_fit(X[300:560], Y[300:560])
    learner = model.learner_
    assert not np.allclose(learner.planes, learner.rules.W)
    scaled = learner.scaler.transform(X[:9])
    heights = np.einsum("ni,rki->nrk", batch.extended(scaled), learner.planes)
    settings = learner.settings.replace(activation_floor=0.0)
    expected = np.einsum("nr,nrk->nk", batch.activations(learner.rules, scaled, settings), heights)
    assert_allclose(model.decision_function(X[:9]) + 0.5, expected, atol=1e-10)
    planes = {rule.uid: rule.scaled_weights for rule in model.rules_}
    for uid, W in zip(learner.rules.uid, learner.planes, strict=True):
        assert_allclose(planes[uid], W)


def test_labels_that_appear_late_are_taken_into_both_memories(rng):
    X, Y = random_rows(rng, 40, 2, 2)
    learner = Learner(Params(**TURNING, **AUTO, cases=6), 2, 2).fit(X[:20], Y[:20])
    learner.add_labels(1)
    learner.learn(X[20:], np.column_stack([Y[20:], X[20:, 0] > 0.0]).astype(float))
    assert learner.brief.W.shape == learner.rules.W.shape
    assert learner.recent.arrays.weights.shape[1] == 3
    assert np.isfinite(learner.score(X)).all()
