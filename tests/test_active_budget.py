"""Budgets: never passed, used up while criteria fire, and spent on the right rows."""

import numpy as np
import pytest
from helpers.streams import random_rows, unscaled_learner
from hypothesis import given
from hypothesis import strategies as st
from test_active_twins import run

from efcml.active import ActiveLearner

EVERY = ("novelty", "ambiguity", "instability")
MIXES = [EVERY, ("novelty",), ("ambiguity",), ("instability",), ("random",), ("all",)]


def stream(seed, n, p=2, K=3, start=15, **changes):
    """A learner that knows some rows, and the rest of the stream."""
    X, Y = random_rows(np.random.default_rng(seed), start + n, p, K)
    learner = unscaled_learner(p, K, **changes).learn(X[:start], Y[:start])
    return learner, X[start:], Y[start:]


def shares(queried):
    """Share asked at every prefix."""
    asked = queried.reshape(len(queried), -1)
    return np.cumsum(asked.sum(axis=1)) / (asked.shape[1] * np.arange(1, len(asked) + 1))


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 60),
    K=st.integers(1, 4),
    budget=st.one_of(st.sampled_from([0.1, 0.3, 1 / 3, 1.0]), st.floats(0.01, 1.0)),
    unit=st.sampled_from(["samples", "labels"]),
    criteria=st.sampled_from(MIXES),
    adaptation=st.sampled_from(["quantile", "multiplicative", "none"]),
    window=st.integers(1, 150),
)
def test_no_prefix_passes_the_budget(seed, n, K, budget, unit, criteria, adaptation, window):
    learner, X, Y = stream(seed, n, K=K)
    active = ActiveLearner(
        budget, unit, criteria, adaptation=adaptation, window=window, random_state=seed
    )
    _, queried = run(active, learner, X, Y)
    assert queried.shape == ((n, K) if unit == "labels" else (n,))
    assert (shares(queried) <= budget).all()
    assert active.spent == queried.sum()
    assert active.share == shares(queried)[-1]


# The multiplicative way aims at one question in two rows, whatever the budget.
SPENDING = [("quantile", b) for b in (0.02, 0.1, 0.3, 0.8)]
SPENDING += [("multiplicative", b) for b in (0.02, 0.1)]
# Either unit with every criterion and with every way of spending, but not with every pair of them.
LONG_STREAMS = [
    (criteria, budget, ("samples", "labels")[(i + j) % 2], adaptation)
    for i, criteria in enumerate([EVERY, ("ambiguity",), ("instability",), ("random",)])
    for j, (adaptation, budget) in enumerate(SPENDING)
]


@pytest.mark.slow
@pytest.mark.parametrize(("criteria", "budget", "unit", "adaptation"), LONG_STREAMS)
def test_a_long_stream_uses_the_budget(criteria, budget, unit, adaptation):
    learner, X, Y = stream(1, 4000 if budget < 0.1 else 1500, K=3, vigilance=0.4)
    active = ActiveLearner(budget, unit, criteria, adaptation=adaptation, random_state=0)
    _, queried = run(active, learner, X, Y)
    found = shares(queried)
    assert (found <= budget).all()
    assert found[-1] >= 0.9 * budget


@pytest.mark.slow
def test_saved_budget_is_not_spent_at_once():
    """After a quiet time the window lets through about its own share."""
    learner, X, Y = stream(2, 1500)
    quiet = np.tile(learner.rules.center[:1, :2], (1000, 1))
    active = ActiveLearner(0.1, criteria="novelty")
    run(active, learner, quiet, Y[:1000])
    assert active.spent <= 5
    _, queried = run(active, learner, 50.0 * X[:100], Y[:100])
    assert 10 <= queried.sum() <= 25


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3])
def test_questions_go_to_the_most_ambiguous_rows(budget):
    """Of the gain in ambiguity that the best choice would have, at least 80 % is reached."""
    learner, X, Y = stream(3, 6000, K=4, vigilance=1e9)
    active = ActiveLearner(budget, criteria="ambiguity")
    trace, queried = run(active, learner, X, Y)
    gaps = np.abs(trace.scores - 0.5).min(axis=1)[1000:]
    asked = queried[1000:]
    best = np.sort(gaps)[: asked.sum()].mean()
    mean = gaps.mean()
    assert gaps[asked].mean() < 0.4 * mean
    assert mean - gaps[asked].mean() >= 0.8 * (mean - best)


@pytest.mark.slow
def test_labels_asked_are_the_most_ambiguous_ones():
    learner, X, Y = stream(4, 6000, K=4, vigilance=1e9)
    active = ActiveLearner(0.1, "labels", "ambiguity")
    trace, queried = run(active, learner, X, Y)
    gaps, asked = np.abs(trace.scores - 0.5)[1000:], queried[1000:]
    best, mean = np.sort(gaps, axis=None)[: asked.sum()].mean(), gaps.mean()
    assert mean - gaps[asked].mean() >= 0.8 * (mean - best)


def test_thresholds_rest_while_the_budget_is_used_up():
    learner, X, _ = stream(5, 30)
    active = ActiveLearner(0.1)
    for x in X[:9]:  # the first question is allowed in row 10
        question = active.tell(learner, x)
        assert not question
        assert active.thresholds == {"ambiguity": 0.6, "instability": 0.075}
    active.tell(learner, X[9])
    assert active.thresholds["ambiguity"] != 0.6
    assert active.thresholds["instability"] != 0.075
