"""Several pairs (alpha, beta) carried along in one pass against one learner for each."""

import numpy as np
import pytest
from helpers.streams import COMPILED, make_params, random_rows
from numpy.testing import assert_allclose

from efcml.model.fields import FIELDS
from efcml.model.learner import Learner
from efcml.model.trace import Trace

PAIRS = [(0.0, 0.0), (0.1, 0.0), (0.0, 5.0), (0.02, 0.5), (1.0, 50.0), (10.0, 100.0)]
PAIRS = PAIRS if COMPILED else PAIRS[:4]
WIDE = [field.name for field in FIELDS if "L" in field.dims]
# Rounded in the products of each pair, or left behind by the first pair's last step.
APART = {*WIDE, "curvature"}
P_, K_ = 3, 3
ROWS = 120 if COMPILED else 60

VARIANTS = {
    "base": {},
    "merges": {"vigilance": 0.5, "merge_overlap": 0.4, "merge_volume": 2.0},
    "printed merge of weights": {"merge_consequents": "paper", "merge_overlap": 0.4},
    "laplacian, two steps": {"correlation": "laplacian", "n_steps": 2},
    "signed, input space": {"correlation": "signed", "product_space": False},
    "forgetting": {"forgetting": 0.9},
    "cap": {"max_rules": 4, "vigilance": 0.3, "merging": False},
    "prior by cross-validation": {"prior": "auto"},
    "no correction": {"correlation": "none"},
}
EVENTS = {"merges": "merges", "printed merge of weights": "merges", "cap": "drops"}


def fit_and_learn(params, X, Y, pairs=None):
    half = len(X) // 2
    learner = Learner(params, P_, K_, pairs=pairs).fit(X[:half], Y[:half])
    trace = Trace.for_rows(len(X) - half, K_ * learner.n_pairs)
    learner.learn(X[half:], Y[half:], trace=trace)
    return learner, trace


@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_learn_as_if_alone(rng, variant):
    X, Y = random_rows(rng, ROWS, P_, K_)
    changes = {"vigilance": 0.4} | VARIANTS[variant]
    wide, wide_trace = fit_and_learn(make_params(**changes), X, Y, PAIRS)
    for index, (alpha, beta) in enumerate(PAIRS):
        params = make_params(**(changes | {"alpha": alpha, "beta": beta}))
        alone, trace = fit_and_learn(params, X, Y)
        columns = slice(index * K_, (index + 1) * K_)
        scores = wide_trace.scores[:, columns]
        assert_allclose(scores, trace.scores, rtol=1e-10, atol=1e-10)
        assert wide_trace.events == trace.events
        assert np.array_equal(wide_trace.rules, trace.rules)
        assert_allclose(wide.score(X)[:, columns], alone.score(X), rtol=1e-10, atol=1e-10)
        for name in WIDE:
            actual = getattr(wide.rules, name)[:, columns]
            assert_allclose(actual, getattr(alone.rules, name), rtol=1e-8, atol=1e-10)
        for field in FIELDS:
            if field.name in APART or field.name.startswith("penalty"):
                continue
            actual, expected = getattr(wide.rules, field.name), getattr(alone.rules, field.name)
            if field.name == "curvature_direction" and (alpha, beta) == (0.0, 0.0):
                continue  # alone it needs none
            assert np.array_equal(actual, expected), field.name
    if variant in EVENTS:
        assert wide.counts[EVENTS[variant]] > 0
    assert wide.counts["births"] > 3


def test_pairs_differ(rng):
    X, Y = random_rows(rng, 40, P_, K_)
    _, trace = fit_and_learn(make_params(), X, Y, PAIRS)
    scores = trace.scores.reshape(len(trace.scores), len(PAIRS), K_)
    apart = np.abs(scores[:, :, None] - scores[:, None]).max(axis=(0, 3))
    assert (apart[~np.eye(len(PAIRS), dtype=bool)] > 1e-6).all()


def test_pairs_wait_for_the_warm_up(rng):
    X, Y = random_rows(rng, 30, P_, K_)
    learner = Learner(make_params(warmup_rows=20), P_, K_, pairs=PAIRS[:2])
    learner.learn(X[:10], Y[:10])
    assert_allclose(learner.score(X[:1])[0], np.tile(Y[:10].mean(axis=0), 2))
    learner.learn(X[10:], Y[10:])
    assert learner.fitted
    assert learner.score(X).shape == (30, 2 * K_)
