"""Learners: P kept true, births, merges and drops at the cap, the guard, data at the edge."""

import pickle

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    FIXED_RULES,
    AsWritten,
    add_rule,
    assert_balanced,
    assert_identical,
    learner_with_rules,
    make_params,
    random_rows,
    state_of,
    unscaled_learner,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels.rule_update import CHECK_EVERY
from efcml.model.birth import start_variances
from efcml.model.divergence import DivergenceWarning
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.trace import Trace
from efcml.model.usage import find_least_used
from efcml.model.warm import warmup

pytestmark = pytest.mark.uncompiled

ROWS = 200 if COMPILED else 50


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_an_inverse_that_has_drifted_is_derived_anew(rng, share):
    learner = learner_with_rules(rng, 2, 3, 2, **FIXED_RULES)
    X, Y = random_rows(rng, 30, 3, 2, share)
    learner.learn(X, Y)
    rules = learner.rules
    rules.arrays.P[1] *= 1.0 + 1e-6
    rules.unchecked[:] = CHECK_EVERY - 3
    for t in range(3):
        assert learner.counts["repairs"] == 0
        learner.learn(X[t : t + 1], np.ones((1, 2)))
    assert learner.counts["repairs"] == 1
    assert not rules.stale.any()
    assert not rules.unchecked.any()
    for P, G, Delta in zip(rules.P[1], rules.G[1], rules.Delta[1], strict=True):
        assert_allclose(P @ (G + np.diag(Delta)), np.eye(4), atol=1e-10)


# The cap


def traced(learner, X, Y):
    """Learn row by row; yield the row, the rules before it, and its events."""
    for t in range(len(X)):
        before = learner.n_rules
        trace = Trace.for_rows(1, Y.shape[1])
        learner.learn(X[t : t + 1], Y[t : t + 1], trace)
        yield t, before, trace.events


def test_a_single_rule_takes_every_row(rng):
    X, Y = random_rows(rng, ROWS, 2, 2)
    capped = unscaled_learner(2, 2, vigilance=0.2, max_rules=1)
    wide = unscaled_learner(2, 2, vigilance=1e9)
    for learner in (capped, wide):
        learner.learn(X, Y)
    assert capped.counts == wide.counts
    assert capped.counts["births"] == 1
    np.testing.assert_array_equal(capped.score(X), wide.score(X))


@pytest.mark.parametrize(
    "changes",
    [
        {"merging": False},
        {"bandwidth": 0.5, "merge_overlap": 0.9},
        {"bandwidth": 5.0},
        {"bandwidth": 0.5, "merge_overlap": 0.9, "product_space": False, "vigilance": 0.3},
    ],
    ids=["drops", "both", "merges", "input space"],
)
def test_cap_is_kept_and_every_birth_makes_room(rng, changes):
    learner = unscaled_learner(2, 2, **({"vigilance": 0.2, "max_rules": 3} | changes))
    X, Y = random_rows(rng, ROWS, 2, 2)
    full, seen = 0, {"births": 0, "merges": 0, "drops": 0}
    for t, before, events in traced(learner, X, Y):
        assert learner.n_rules <= 3
        assert_balanced(learner)
        kinds = [kind for _, kind, _ in events]
        if "birth" in kinds and before == 3:
            full += 1
            assert kinds in (["merge", "birth"], ["drop", "birth"])
        for kind in kinds:
            seen[kind + "s"] += 1
        assert all(row == 0 for row, _, _ in events)
        assert learner.rules.born.max() <= t
    assert full > 0
    assert {name: learner.counts[name] for name in seen} == seen
    assert seen["merges"] == 0 or changes.get("merging", True)


def far_rule(learner, place, weight, born):
    rule = add_rule(learner, np.full(3, place), np.zeros((3, 1)))
    learner.rules.use[rule], learner.rules.born[rule] = weight, born
    return int(learner.rules.uid[rule])


@pytest.mark.parametrize(
    ("weights", "born", "least"),
    [
        ([40.0, 1.0, 50.0], [0, 0, 0], 1),
        ([4.0, 40.0, 1.0], [0, 0, 99], 0),  # the third is new, it had no chance yet
        ([30.0, 25.0, 2.0], [0, 80, 90], 2),  # two of ten rows
        ([80.0, 90.0, 0.0], [0, 0, 100], 2),  # counts as average: one of three
    ],
)
def test_the_least_used_rule_is_dropped(weights, born, least):
    learner = unscaled_learner(2, 1, max_rules=3, merging=False, vigilance=0.1)
    learner.rows_seen = 100
    places = [0.0, 50.0, 90.0]
    uids = [far_rule(learner, *values) for values in zip(places, weights, born, strict=True)]
    ((_, _, events),) = traced(learner, np.array([[-70.0, 30.0]]), np.array([[1.0]]))
    assert events[0] == (0, "drop", uids[least])
    assert events[1][1] == "birth"
    assert uids[least] not in learner.rules.uid


@pytest.mark.parametrize("batch", [False, True])
def test_an_old_rule_in_use_outlives_a_young_idle_one(batch):
    """Forgetting lets weight and support of the old rule end at 1000, far below its age."""
    learner = unscaled_learner(2, 1, max_rules=2, forgetting=0.999)
    learner.rows_seen = 10**6
    old, young = far_rule(learner, 0.0, 3e5, 0), far_rule(learner, 50.0, 5.0, 10**6 - 1000)
    rules = learner.rules
    rules.weight[:] = rules.support[:] = 1000.0, 5.0
    rules.updates[:] = 3 * 10**5, 4
    least = find_least_used(rules, learner.rows_seen, with_consequents=not batch)
    assert rules.uid[least] == young != old


@pytest.mark.parametrize("forgetting", [1.0, "auto"])
def test_a_silent_rule_goes_before_one_that_is_used_less(forgetting):
    changes = {"max_rules": 3, "vigilance": 0.1, "least_share": 0.1, "forgetting": forgetting}
    learner = unscaled_learner(2, 1, **changes)
    learner.rows_seen = 1000
    uids = [far_rule(learner, place, 500.0, 0) for place in (0.0, 50.0, 50.3)]
    learner.rules.updates[:] = 500
    learner.rules.last_won[:] = 500, 990, 999
    ((_, _, events),) = traced(learner, np.array([[-70.0, 30.0]]), np.array([[1.0]]))
    assert events[:2] == [(0, "drop", uids[0]), (0, "birth", 3)]


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_a_silent_rule_makes_room_for_a_split(silent):
    """Whichever it is: the last rule, which may be the one to be split, takes its place."""
    changes = {"max_rules": 3, "vigilance": 1e9, "least_share": 0.1, "splitting": "axis"}
    learner = unscaled_learner(2, 1, **changes, forgetting="auto")
    learner.rows_seen = 1000
    uids = [far_rule(learner, place, 500.0, 0) for place in (0.0, 50.0, 90.0)]
    large = (silent + 2) % 3
    learner.rules.updates[:] = 150
    learner.rules.updates[large] = 900
    learner.rules.last_won[:] = 999
    learner.rules.last_won[silent] = 800
    x = np.full((1, 2), [0.0, 50.0, 90.0][large])
    ((_, _, events),) = traced(learner, x, np.array([[np.mean(x)]]))
    assert events == [(0, "drop", uids[silent]), (0, "split", uids[large])]
    near = np.abs(learner.rules.center[:, 0] - x[0, 0]) < 5.0
    assert near.sum() == 2
    assert uids[silent] not in learner.rules.uid
    for memory in learner.memories[1:]:
        assert np.array_equal(memory.uid, learner.rules.uid)


@pytest.mark.parametrize(("last", "may"), [(901, True), (899, False)])
def test_two_rules_stay_apart_by_their_share_of_the_rows_in_use(last, may):
    learner = unscaled_learner(2, 1, least_share=0.1, splitting="axis", split_share=0.4)
    learner.rows_seen = 1000
    for place in (0.0, 50.0, 90.0, 130.0):
        far_rule(learner, place, 1.0, 0)
    learner.rules.updates[:] = 99, 99, 299, 99
    learner.rules.last_won[:] = 999, 999, last, 999
    assert learner._may_hold(0, 1) == may


@pytest.mark.parametrize(("apart", "kinds"), [(1.6, ["merge", "birth"]), (1.85, ["drop", "birth"])])
def test_the_closest_pair_is_merged_at_the_cap_if_half_the_overlap_is_there(apart, kinds):
    learner = unscaled_learner(2, 1, max_rules=3, vigilance=0.1, merge_overlap=0.9)
    for place in (0.0, 50.0, 50.0 + apart):
        far_rule(learner, place, 1.0, 0)
    ((_, _, events),) = traced(learner, np.array([[-70.0, 30.0]]), np.array([[1.0]]))
    assert [kind for _, kind, _ in events] == kinds
    if kinds[0] == "merge":
        assert_allclose(np.sort(learner.rules.center[:, 0]), [-70.0, 0.0, 50.0 + apart / 2.0])


def test_a_cap_in_the_batch_fit(rng):
    for merging in (True, False):
        X, Y = random_rows(rng, 40, 2, 2)
        params = make_params(max_rules=3, vigilance=0.2, merge_volume="paper", merging=merging)
        learner = Learner(params, 2, 2).fit(X, Y)
        assert learner.n_rules <= 3
        assert learner.counts["drops"] > 0
        assert_balanced(learner)


def test_rules_too_far_apart_to_be_one_make_room_all_the_same(monkeypatch):
    def lost(*arguments):
        raise np.linalg.LinAlgError

    X, Y = random_rows(np.random.default_rng(0), 20, 3, 2)
    learner = Learner(Params(max_rules=2, vigilance=0.3, prior=1.0), 3, 2).fit(X, Y)
    monkeypatch.setattr("efcml.model.evolving.compare", lost)
    monkeypatch.setattr("efcml.model.evolving.EvolvingRules._find_silent", lambda self: -1)
    events = []
    learner._make_room(True, events, 0)
    assert [kind for _, kind, _ in events] == ["drop"]


# Rows without labels


def test_a_row_without_any_known_label_changes_nothing(rng):
    X, Y = random_rows(rng, 80, 2, 3, 0.8)
    Y[rng.random(80) < 0.5] = np.nan
    labelled = ~np.isnan(Y).all(axis=1)
    cap = {"vigilance": 0.2, "max_rules": 3, "prior": 1.0, "cases": 5, "warmup_rows": 10}
    one, other = (Learner(Params(**cap, time=False), 2, 3) for _ in range(2))
    one.learn(X, Y)
    other.learn(X[labelled], Y[labelled])
    assert one.rows_seen == labelled.sum()
    assert one.counts["drops"] + one.counts["merges"] > 0
    assert_identical(state_of(one), state_of(other))
    one.learn(1000.0 * X, np.full_like(Y, np.nan))
    assert_identical(state_of(one), state_of(other))


# The divergence guard


PRINTED = {
    "correlation": ("correlation='paper'", {"correlation": "paper", "beta": 200.0}),
    "lipschitz": ("lipschitz='paper'", {"lipschitz": "paper", "beta": 1.0}),
    "both": (
        "correlation='paper' is not convex and lipschitz='paper'",
        {"correlation": "paper", "lipschitz": "paper", "beta": 200.0},
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_guard_warns_once_and_says_what_happened(rng, name):
    cause, changes = PRINTED[name]
    learner = learner_with_rules(rng, 2, 2, 3, **(FIXED_RULES | changes | {"weight_limit": 1e4}))
    X, Y = random_rows(rng, ROWS, 2, 3)
    with pytest.warns(DivergenceWarning) as caught:
        learner.learn(X, Y)
    learner.learn(X, Y)  # silent from now on: any warning is an error
    assert len(caught) == 1
    message = str(caught[0].message)
    stopped = learner.rules.stopped
    assert stopped.any()
    first = int(stopped[stopped > 0].min()) - 1
    assert f"at row {first} " in message
    uid = int(learner.rules.uid[stopped == first + 1][0])
    assert message.startswith(f"rule {uid} ")
    assert cause in message
    assert np.abs(learner.rules.W).max() <= 1e4
    assert np.isfinite(learner.score(X)).all()


def test_guard_in_the_batch_fit(rng):
    X, Y = random_rows(rng, 80, 2, 3)
    changes = PRINTED["both"][1] | {"vigilance": 1e9, "merging": False}
    learner = Learner(make_params(**changes), 2, 3)
    with pytest.warns(DivergenceWarning, match="at row 79 "):
        learner.fit(X, Y)
    assert learner.rules.stopped.tolist() == [80]
    rules = AsWritten(learner.rules)
    expected = naive.ridge(rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0])
    assert_allclose(rules.W[0], expected, rtol=1e-8)
    assert not rules.D.any()
    learner.learn(X, Y)  # goes on as least squares, without another warning
    expected = naive.ridge(rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0])
    assert_allclose(rules.W[0], expected, rtol=1e-7)


# Small things


def test_start_variances_by_hand():
    X = np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    expected = 0.5 * np.array([4.0 * np.sqrt(8.0 / 3.0), 1.0, 0.5])
    assert_allclose(start_variances(X, 1, 0.5), expected)


def test_a_second_fit_starts_from_nothing(rng):
    X, Y = random_rows(rng, 60, 2, 2)
    learner = Learner(make_params(vigilance=0.4), 2, 2).fit(X[:30], Y[:30])
    learner.fit(X[30:], Y[30:])
    fresh = Learner(make_params(vigilance=0.4), 2, 2).fit(X[30:], Y[30:])
    assert_balanced(learner)
    assert np.array_equal(learner.rules.W, fresh.rules.W)


def test_a_saved_and_a_pickled_learner_go_on_alike(rng):
    X, Y = random_rows(rng, 40, 2, 2, 0.8)
    learner = Learner(Params(prior=1.0, cases=5, vigilance=0.4), 2, 2).fit(X[:15], Y[:15])
    learner.learn(X[15:30], Y[15:30])
    facts, arrays = learner.state()
    others = [Learner.from_state(facts, arrays), pickle.loads(pickle.dumps(learner))]
    for one in (learner, *others):
        one.learn(X[30:], Y[30:])
        assert_identical(state_of(one), state_of(learner))
        assert np.array_equal(one.answer(X, Y), learner.answer(X, Y))


def test_warmup_runs_everything_and_says_nothing():
    assert warmup() is None
