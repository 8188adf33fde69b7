"""Two memories of every rule: when the brief one is trusted, what it is good for, what is told."""

import numpy as np
import pytest
from helpers.streams import (
    assert_identical,
    naive_learner,
    random_rows,
    state_of,
    unscaled_learner,
)
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, load, prequential, save
from efcml.kernels import memory
from efcml.model import batch
from efcml.model.learner import Learner
from efcml.model.params import Params

pytestmark = pytest.mark.uncompiled

AUTO = {"forgetting": "auto"}
QUICK = {"prior": 1.0, "max_rules": 4, "warmup_rows": 20, "caution": False, "time": False}


def turning_rows(rng, n, turn):
    """Rows whose labels say the opposite from row ``turn`` on."""
    X = rng.normal(size=(n, 3))
    latent = X @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(n, 2))
    latent[turn:] *= -1.0
    return X, (latent > 0.0).astype(float)


@pytest.fixture(scope="module")
def turning():
    return turning_rows(np.random.default_rng(5), 900, 500)


def test_the_share_is_that_of_least_squares(rng):
    """Over many rows of equal weight the prior is nothing."""
    e, d = rng.normal(size=(2, 4000, 1))
    e += 0.4 * d
    trial = np.zeros(4)
    for errors, differences in zip(e, d, strict=True):
        memory.count_trial(errors, differences, np.array([True]), 1.0, 1.0, trial)
    assert_allclose(trial, [np.sum(e * d), np.sum(d * d), np.sum(e * e), 4000.0])
    expected = np.linalg.lstsq(d, e[:, 0], rcond=None)[0][0]
    assert_allclose(memory.brief_share(trial), expected, rtol=2e-3)


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


def test_the_long_memory_forgets_as_far_as_the_brief_one_is_trusted():
    trials = [np.array([gain, 1.0, 0.0, 1.0]) for gain in (0.0, 0.5, 1.0)]
    assert_allclose([memory.long_factor(trial) for trial in trials], [1.0, 0.97**0.25, 0.97])
    most = [memory.most_support(trial) for trial in trials]
    assert_allclose(most, [np.inf, 1.0 / (1.0 - 0.97**0.25), 1.0 / 0.03])


def test_unknown_labels_do_not_count():
    trial = np.zeros(4)
    errors, known = np.array([1.0, np.nan]), np.array([True, False])
    memory.count_trial(errors, np.array([2.0, 3.0]), known, 0.5, 1.0, trial)
    assert trial.tolist() == [1.0, 2.0, 0.5, 0.5]


@pytest.mark.slow
def test_auto_follows_a_turn_and_keeps_what_does_not(turning):
    X, Y = turning
    found = {}
    for forgetting in ("auto", 1.0, 0.97):
        model = EFCMLClassifier(forgetting=forgetting, **QUICK).fit(X[:300], Y[:300])
        hits = (prequential(model, X[300:], Y[300:]).scores >= 0.5) == (Y[300:] == 1.0)
        found[forgetting] = hits[:200].mean(), hits[200:].mean()
    assert found["auto"][0] > found[1.0][0] - 0.01  # nothing has turned yet
    assert found["auto"][1] > found[1.0][1] + 0.1
    assert found["auto"][1] > found[0.97][1] - 0.03


@pytest.mark.slow
def test_drift_is_told_once_and_soon_and_not_before(turning):
    X, Y = turning
    model = EFCMLClassifier(**QUICK, **AUTO).fit(X[:300], Y[:300])
    result = prequential(model, X[300:], Y[300:])
    drifts = [(row, uid) for row, kind, uid in result.events if kind == "drift"]
    assert result.drifts == len(drifts) == model.learner_.counts["drifts"] > 0
    assert 200 <= drifts[0][0] <= 300
    assert {uid for _, uid in drifts} <= set(range(model.learner_.rules.next_uid))
    fixed = EFCMLClassifier(**QUICK, forgetting=1.0).fit(X[:300], Y[:300])
    assert prequential(fixed, X[300:], Y[300:]).drifts == 0


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


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_any_split_of_a_stream_gives_the_same_bits(rng, share):
    X, Y = random_rows(rng, 120, 3, 2, share)
    learners = [Learner(Params(**QUICK, **AUTO, cases=8), 3, 2) for _ in range(3)]
    for learner, size in zip(learners, (1, 7, 120), strict=True):
        for first in range(0, len(X), size):
            learner.learn(X[first : first + size], Y[first : first + size])
    for learner in learners[1:]:
        assert_identical(state_of(learner), state_of(learners[0]))


@pytest.mark.slow
def test_a_saved_model_goes_on_as_it_would_have(turning, tmp_path):
    X, Y = turning
    model = (
        EFCMLClassifier(**QUICK, **AUTO).fit(X[:300], Y[:300]).partial_fit(X[300:560], Y[300:560])
    )
    assert memory.brief_share(model.learner_.rules.trial[0]) > 0.0
    save(model, tmp_path / "model.npz")
    loaded, copy = load(tmp_path / "model.npz"), model.learner_.copy()
    model.partial_fit(X[560:600], Y[560:600])
    loaded.partial_fit(X[560:600], Y[560:600])
    copy.learn(X[560:600], Y[560:600])
    assert_identical(state_of(loaded.learner_), state_of(model.learner_))
    assert_identical(state_of(copy), state_of(model.learner_))
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_rule_says_what_both_memories_say(turning):
    X, Y = turning
    model = EFCMLClassifier(**QUICK, **AUTO, cases=0).fit(X[:300], Y[:300])
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
    X, Y = random_rows(rng, 60, 2, 2)
    learner = Learner(Params(**QUICK, **AUTO, cases=6), 2, 2).fit(X[:40], Y[:40])
    learner.add_labels(1)
    learner.learn(X[40:], np.column_stack([Y[40:], X[40:, 0] > 0.0]).astype(float))
    assert learner.brief.W.shape == learner.rules.W.shape
    assert learner.recent.arrays.weights.shape[1] == 3
    assert np.isfinite(learner.score(X)).all()
