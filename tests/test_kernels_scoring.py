"""Scores and activations of blocks of rows."""

import numpy as np
import pytest
from helpers.streams import SIZES, AsWritten, learner_with_rules, random_precisions
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import scoring
from efcml.model import batch

pytestmark = pytest.mark.uncompiled


def random_learner(rng, p, K, n_rules, **changes):
    changes = {"bandwidth": 1.5, "activation_floor": 0.01} | changes
    learner = learner_with_rules(rng, n_rules, p, K, **changes)
    precisions = random_precisions(rng, n_rules, p)
    learner.rules.arrays.input_precision[:n_rules] = precisions
    learner.rules.log_det[:, 1] = -np.linalg.slogdet(precisions)[1]
    return learner


@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
@pytest.mark.parametrize("activation", ["density", "distance"])
def test_scores_and_activations_of_rows(rng, p, K, n_rules, activation):
    learner = random_learner(rng, p, K, n_rules, activation=activation)
    measure = naive.densities if activation == "density" else naive.distances
    rules, X = AsWritten(learner.rules), rng.normal(size=(7, p))
    centers = rules.center[:, :p]
    expected = naive.score_rows(X, centers, rules.input_precision, rules.W, 1.5, measure)
    assert_allclose(learner.score(X), expected, rtol=1e-10, atol=1e-12)
    psi = batch.activations(learner.rules, X, learner.settings)
    for x, row in zip(X, psi, strict=True):
        wanted = naive.activations(measure(x, centers, rules.input_precision), 1.5)
        assert_allclose(row, np.where(wanted < 0.01, 0.0, wanted), rtol=1e-10)


def test_blend_passes_over_rules_that_do_not_fire():
    W = np.array([[[1.0, 2.0]], [[np.inf, np.nan]]])
    scores = np.full(1, np.nan)
    scoring.blend(np.array([1.0, 0.0]), W @ np.array([3.0, 1.0]), 2, scores)
    assert scores[0] == 5.0


def test_a_view_is_distances_the_row_extended_by_one_and_heights(rng):
    learner = random_learner(rng, 2, 2, 3)
    rules, scratch = learner.rules, learner.rules.scratch
    for array in (scratch.row, scratch.distances, scratch.heights):
        array[:] = np.nan
    scoring.view_row(np.array([2.0, -3.0]), np.array([7.0, 8.0, 9.0]), 2, learner.model)
    assert scratch.row.tolist() == [2.0, -3.0, 1.0]
    assert scratch.distances[:2].tolist() == [7.0, 8.0]
    assert_allclose(scratch.heights[:2], rules.W[:2] @ scratch.row, rtol=1e-12)
    assert np.isnan(scratch.distances[2])
    assert np.isnan(scratch.heights[2]).all()


def test_a_row_alone_is_scored_as_among_others(rng):
    learner = random_learner(rng, 3, 2, 4, cases=3)
    X = rng.normal(size=(12, 3))
    learner.cases.fill(X, rng.normal(size=(12, 2)))
    learner.rules.scratch.ahead[:] = 5.0
    for t, expected in enumerate(learner.score(X)):
        learner.rules.scratch.ahead[:] = 5.0
        scores = np.full(2, np.nan)
        scoring.score_row(X, t, 0, 4, learner.model, scores)
        assert np.array_equal(scores, expected)
        assert (learner.rules.scratch.ahead == 5.0).all()  # rows that are ahead keep theirs


@pytest.mark.parametrize("labels", [False, True])
def test_order_of_features_or_labels_does_not_matter(rng, labels):
    p, K, n_rules = 3, 3, 4
    learner = random_learner(rng, p, K, n_rules)
    rules, X = AsWritten(learner.rules), rng.normal(size=(5, p))
    before = learner.score(X)
    order = np.array([2, 0, 1])
    if labels:
        rules.W[:] = rules.W[:, :, order]
        assert_allclose(learner.score(X), before[:, order], rtol=1e-12)
    else:
        rules.center[:, :p] = rules.center[:, order]
        precision = rules.input_precision[:, order][:, :, order]
        learner.rules.arrays.input_precision[:n_rules] = precision
        rules.W[:, :p] = rules.W[:, order]
        assert_allclose(learner.score(np.ascontiguousarray(X[:, order])), before, rtol=1e-10)
