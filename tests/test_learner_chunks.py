"""Neither the split into chunks, nor the capacity, nor a trace can change what is learned."""

import pickle

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    assert_balanced,
    assert_identical,
    make_params,
    random_rows,
    state_of,
    unscaled_learner,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from efcml.model.learner import Learner
from efcml.model.trace import Trace

ROWS = 150
SPLITS = {"splitting": "labels", "vigilance": 1.5, "bandwidth": 0.5}

# What must happen in a stream, and the parameters that make it happen.
STREAMS = {
    "births and merges": (("births", "merges"), {"vigilance": 0.5, "merge_overlap": 0.5}),
    "drops": (("drops",), {"vigilance": 0.2, "max_rules": 3, "merging": False}),
    "merges at the cap": (
        ("merges", "drops"),
        {"vigilance": 0.2, "max_rules": 4, "merge_overlap": 0.9, "merge_volume": "paper"},
    ),
    "repairs": (("repairs", "merges"), {"vigilance": 0.6, "forgetting": 0.8, "bandwidth": 4.0}),
    "partial labels": (("merges",), {"vigilance": 0.5, "share": 0.8, "merge_overlap": 0.5}),
    "all at once": (
        ("merges", "drops", "repairs"),
        {
            "vigilance": 0.3,
            "share": 0.8,
            "forgetting": 0.7,
            "max_rules": 3,
            "merge_overlap": 0.9,
            "merge_volume": "paper",
        },
    ),
    "splits": (("splits",), {**SPLITS, "cases": 7}),
    "splits, partial labels": (("splits",), {**SPLITS, "share": 0.8, "forgetting": 0.98}),
    "shared planes": (("births",), {"vigilance": 0.4, "shared": 2.0, "renewal": 9}),
    "shared planes, partial": (
        ("births",),
        {"vigilance": 0.4, "shared": 2.0, "renewal": 9, "share": 0.8},
    ),
    "takes in": (("merges",), {"vigilance": 0.4, "merging": False, "least_share": 0.1}),
    "cases": (("births",), {"vigilance": 0.5, "cases": 7, "forgetting": 0.95}),
    "cases, partial labels": (("births",), {"vigilance": 0.5, "cases": 7, "share": 0.8}),
    "nobody learns a birth row": (("births",), {"vigilance": 0.3, "birth_learning": False}),
    "input space": (
        ("merges",),
        {"vigilance": 0.4, "product_space": False, "n_steps": 2, "merge_overlap": 0.5},
    ),
    "steps that wait": (("births",), {"vigilance": 0.4, "step_interval": 0.7}),
    "steps that wait, forgetting": (
        ("births",),
        {"vigilance": 0.4, "step_interval": 0.7, "forgetting": 0.98},
    ),
    "steps that wait, partial labels": (
        ("births",),
        {"vigilance": 0.4, "step_interval": 0.7, "share": 0.8},
    ),
}


def rows_of(name, seed=3):
    """Rows of a stream: fully labelled up to the middle, some unlabelled, partial afterwards."""
    rng = np.random.default_rng(seed)
    share = STREAMS[name][1].get("share", 1.0)
    X, Y = random_rows(rng, ROWS, 2, 3, share)
    if share < 1.0:
        _, Y[: ROWS // 2] = random_rows(rng, ROWS // 2, 2, 3)
    Y[5::17] = np.nan
    return X, Y


def make_learner(name, capacity=8):
    changes = {key: value for key, value in STREAMS[name][1].items() if key != "share"}
    return unscaled_learner(2, 3, capacity=capacity, **changes)


def learn_in_chunks(learner, X, Y, edges):
    for low, high in zip([0, *edges], [*edges, len(X)], strict=True):
        learner.learn(X[low:high], Y[low:high])
    return state_of(learner)


@pytest.fixture(scope="module", params=list(STREAMS))
def stream(request):
    """Name, rows, and the state after learning them as one chunk."""
    name = request.param
    X, Y = rows_of(name)
    learner = make_learner(name)
    learner.learn(X, Y)
    return name, X, Y, state_of(learner)


def test_stream_holds_its_events(stream):
    name, _, _, expected = stream
    for event in STREAMS[name][0]:
        assert expected["counts"][event] > 0, event
    assert expected["n_groups"] == (3 if "share" in STREAMS[name][1] else 1)


def test_row_by_row(stream):
    name, X, Y, expected = stream
    assert_identical(learn_in_chunks(make_learner(name), X, Y, range(1, ROWS)), expected)


@pytest.mark.parametrize("seed", range(2))
def test_random_chunks(stream, seed):
    name, X, Y, expected = stream
    edges = np.sort(np.random.default_rng(seed).integers(0, ROWS, size=9))
    assert_identical(learn_in_chunks(make_learner(name), X, Y, edges), expected)


@pytest.mark.uncompiled
@pytest.mark.skipif(not COMPILED, reason="what compilers do with sums of many terms")
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("p", [13, 18, 35])
def test_many_features(p, forgetting):
    """Sums over features are long enough here for the compiled code to reorder them."""
    X, Y = random_rows(np.random.default_rng(p), 90, p, 3)
    changes = {"vigilance": 0.6, "step_interval": 0.7, "forgetting": forgetting, "cases": 40}
    states = []
    for edges in ([], range(1, 90), [1, 6, 20, 21, 37]):
        states.append(learn_in_chunks(unscaled_learner(p, 3, **changes), X, Y, edges))
    assert states[0]["counts"]["births"] > 1
    for state in states[1:]:
        assert_identical(state, states[0])


@pytest.mark.parametrize("capacity", [1, 64])
def test_capacity(stream, capacity):
    name, X, Y, expected = stream
    learner = make_learner(name, capacity)
    assert_identical(learn_in_chunks(learner, X, Y, [7, 8]), expected)
    assert learner.rules.capacity >= learner.n_rules


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_no_room_beyond_the_cap(rng, most):
    X, Y = rng.normal(size=(60, 2)), (rng.random((60, 3)) < 0.5).astype(float)
    learner = Learner(make_params(vigilance=0.2, max_rules=most, merging=False), 2, 3)
    learner.fit(X[:30], Y[:30]).learn(X[30:], Y[30:])
    assert learner.n_rules == learner.rules.capacity == most
    learner = pickle.loads(pickle.dumps(learner))
    learner.learn(X, Y)
    assert learner.rules.capacity == most


def test_order_of_memory(stream):
    name, X, Y, expected = stream
    learner = make_learner(name)
    learner.learn(np.asfortranarray(X), np.asfortranarray(Y))
    assert_identical(state_of(learner), expected)


def test_copies_go_on_alike(stream):
    name, X, Y, expected = stream
    learner = make_learner(name)
    learner.learn(X[:20], Y[:20])
    copy, frozen = learner.copy(), state_of(learner)
    copy.learn(X[20:], Y[20:])
    assert_identical(state_of(copy), expected)
    assert_identical(state_of(learner), frozen)
    learner.learn(X[20:], Y[20:])
    assert_identical(state_of(learner), expected)


def test_trace_changes_nothing_and_scores_come_first(stream):
    name, X, Y, expected = stream
    learner, watched = make_learner(name), make_learner(name)
    trace = Trace.for_rows(*Y.shape)
    watched.learn(X, Y, trace)
    assert_identical(state_of(watched), expected)
    for t in range(ROWS):
        if learner.n_rules:
            assert np.array_equal(trace.scores[t], learner.score(X[t : t + 1])[0])
        else:
            assert not trace.scores[t].any()
        learner.learn(X[t : t + 1], Y[t : t + 1])
        assert trace.rules[t] == learner.n_rules
    check_events(trace.events, expected["counts"])


def check_events(events, counts):
    rows = [row for row, _, _ in events]
    assert rows == sorted(rows)
    for kind in ("birth", "merge", "drop"):
        assert sum(event[1] == kind for event in events) == counts[kind + "s"]


def test_trace_in_chunks_is_the_trace_of_the_whole(stream):
    name, X, Y, _ = stream
    whole, learner = Trace.for_rows(*Y.shape), make_learner(name)
    learner.learn(X, Y, whole)
    scores, rules, events, learner = [], [], [], make_learner(name)
    for low in range(0, ROWS, 13):
        rows = slice(low, low + 13)
        part = Trace.for_rows(*Y[rows].shape)
        learner.learn(X[rows], Y[rows], part)
        scores.append(part.scores)
        rules.append(part.rules)
        events += [(row + low, kind, uid) for row, kind, uid in part.events]
    assert np.array_equal(np.concatenate(scores), whole.scores)
    assert np.array_equal(np.concatenate(rules), whole.rules)
    assert events == whole.events


# The warm-up without fit

WARM = 60


def warm_rows():
    X, Y = random_rows(np.random.default_rng(8), WARM, 2, 3, 0.9)
    Y[3] = Y[11] = np.nan
    return 100.0 * X + 7.0, Y


def warm_learner(prior=1.0):
    return Learner(make_params(vigilance=0.5, warmup_rows=25, prior=prior), 2, 3)


@pytest.fixture(scope="module")
def warm_state():
    return learn_in_chunks(warm_learner(), *warm_rows(), [])


@settings(max_examples=40)
@given(edges=st.lists(st.integers(0, WARM), max_size=6))
def test_warm_up_in_chunks(warm_state, edges):
    X, Y = warm_rows()
    assert_identical(learn_in_chunks(warm_learner(), X, Y, sorted(edges)), warm_state)


def test_warm_up_is_a_fit_of_the_labelled_rows():
    X, Y = warm_rows()
    learner = warm_learner()
    learner.learn(X[:26], Y[:26])
    assert not learner.fitted  # two of the rows have no label
    assert learner.n_rules == 0
    learner.learn(X[26:27], Y[26:27])
    assert learner.fitted
    assert learner.held == []
    fitted = warm_learner().fit(X[:27], Y[:27])
    assert_identical(state_of(learner), state_of(fitted))
    learner.learn(X[27:], Y[27:])
    fitted.learn(X[27:], Y[27:])
    assert_identical(state_of(learner), state_of(fitted))
    assert_balanced(learner)


def test_warm_up_answers_with_label_frequencies():
    X, Y = warm_rows()
    learner = warm_learner()
    assert not learner.score(X[:2]).any()
    learner.learn(X[:10], Y[:10])
    assert np.allclose(learner.score(X[:2]), np.nanmean(Y[:10], axis=0))


def test_trace_of_a_warm_up():
    X, Y = warm_rows()
    learner, watched = warm_learner(), warm_learner()
    trace = Trace.for_rows(*Y.shape)
    watched.learn(X, Y, trace)
    for t in range(WARM):
        assert np.array_equal(trace.scores[t], learner.score(X[t : t + 1])[0])
        learner.learn(X[t : t + 1], Y[t : t + 1])
        assert trace.rules[t] == learner.n_rules
    assert_identical(state_of(watched), state_of(learner))


def test_warm_up_with_a_chosen_prior():
    X, Y = warm_rows()
    expected = learn_in_chunks(warm_learner("auto"), X, Y, [])
    assert_identical(learn_in_chunks(warm_learner("auto"), X, Y, [10, 24, 28]), expected)


def test_order_of_chunks_of_nothing():
    X, Y = warm_rows()
    learner = warm_learner()
    learner.learn(X[:0], Y[:0])
    assert not learner.fitted
    learner.learn(X, Y)
    before = state_of(learner)
    learner.learn(X[:0], Y[:0])
    assert_identical(state_of(learner), before)
