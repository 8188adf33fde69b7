"""Scores that a trace gets on the way, of the learned rows or of others."""

import numpy as np
import pytest
from helpers.streams import assert_identical, make_params, random_rows, state_of

from efcml.model.learner import Learner
from efcml.model.trace import Trace

pytestmark = pytest.mark.uncompiled

P_, K_, ROWS = 2, 2, 50


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("others", [False, True])
def test_rows_are_scored_before_the_next_is_learned(rng, fitted, others):
    X, Y = random_rows(rng, ROWS + 20, P_, K_)
    learner = Learner(make_params(vigilance=0.3, warmup_rows=13), P_, K_)
    if fitted:
        learner.fit(X[:20], Y[:20])
    X, Y = X[20:], Y[20:]
    twin, trace = learner.copy(), Trace.for_rows(ROWS, K_)
    rows = rng.normal(size=X.shape) if others else X
    trace.rows = rows if others else None
    learner.learn(X, Y, trace=trace)
    for t in range(ROWS):
        assert np.array_equal(trace.scores[t], twin.score(rows[t : t + 1])[0]), t
        twin.learn(X[t : t + 1], Y[t : t + 1])
    assert_identical(state_of(learner), state_of(twin))
