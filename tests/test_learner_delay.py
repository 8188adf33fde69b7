"""Scores of a model whose labels come late, or of rows other than the learned ones."""

import numpy as np
import pytest
from streams import assert_identical, make_params, random_rows, state_of

from efcml.learner import Learner, Trace

P_, K_, ROWS = 2, 2, 50


def rows_and_learner(rng, fitted):
    X, Y = random_rows(rng, ROWS + 20, P_, K_)
    learner = Learner(make_params(vigilance=0.3, warmup_rows=13), P_, K_)
    if fitted:
        learner.fit(X[:20], Y[:20])
    return learner, X[20:], Y[20:]


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("delay", [0, 1, 7, 13, ROWS - 1, ROWS, ROWS + 5])
def test_delayed_scores(rng, fitted, delay):
    learner, X, Y = rows_and_learner(rng, fitted)
    twin = learner.copy()
    trace = Trace.for_rows(ROWS, K_)
    learner.learn(X, Y, trace=trace, delay=delay)
    for t in range(ROWS):  # row t is known to a model that has seen rows 0 .. t - delay - 1
        if t > delay:
            twin.learn(X[t - delay - 1 : t - delay], Y[t - delay - 1 : t - delay])
        assert np.array_equal(trace.scores[t], twin.score(X[t : t + 1])[0]), t
    rest = max(ROWS - delay - 1, 0)
    twin.learn(X[rest:], Y[rest:])
    assert_identical(state_of(learner), state_of(twin))


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("delay", [0, 3])
def test_other_rows_are_scored_on_the_way(rng, fitted, delay):
    learner, X, Y = rows_and_learner(rng, fitted)
    other = rng.normal(size=X.shape)
    twin = learner.copy()
    trace = Trace.for_rows(ROWS, K_)
    trace.rows = other
    learner.learn(X, Y, trace=trace, delay=delay)
    for t in range(ROWS):
        if t > delay:
            twin.learn(X[t - delay - 1 : t - delay], Y[t - delay - 1 : t - delay])
        assert np.array_equal(trace.scores[t], twin.score(other[t : t + 1])[0]), t
