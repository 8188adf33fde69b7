"""Kernels of rows that lack features, against covariances and np.linalg."""

import numpy as np
import pytest
from helpers.streams import (
    learner_with_rules,
    make_params,
    random_covariance,
    random_rows,
    with_gaps,
)
from naive.gaps import left_open, marginal
from numpy.testing import assert_allclose

from efcml.kernels import gaps
from efcml.model.definite import whole
from efcml.model.filling import row_for, rows_for, rows_for_all
from efcml.model.learner import Learner

pytestmark = pytest.mark.uncompiled

P, K = 5, 2


@pytest.fixture
def learner(rng):
    """Three rules with Gaussians that know how features go together."""
    learner = learner_with_rules(rng, 3, P, K)
    arrays = learner.rules.arrays
    for r in range(3):
        S = random_covariance(rng, P + K)
        arrays.joint_precision[r], arrays.input_precision[r] = (
            np.tril(np.linalg.inv(part)) for part in (S, S[:P, :P])
        )
        arrays.log_det[r] = [np.linalg.slogdet(part)[1] for part in (S, S[:P, :P])]
        arrays.support[r] = 5.0 + r
    return learner


def covariance(learner, rule):
    return np.linalg.inv(whole(learner.rules.arrays.joint_precision[rule]))


def look_at(learner, x):
    """Note what is missing in a row, as the drivers do."""
    learner.rules.scratch.gaps[0] = gaps.find_missing(x, learner.rules.scratch)


@pytest.mark.parametrize("missing", [[0], [4], [1, 3], [0, 1, 2, 3, 4], [0, 2, 3, 4]])
def test_distance_size_and_expectation_are_those_of_the_marginal(rng, learner, missing):
    x = rng.normal(size=P)
    x[missing] = np.nan
    look_at(learner, x)
    scratch, arrays = learner.rules.scratch, learner.rules.arrays
    gaps.view_gaps(x, 3, arrays, learner.settings, scratch)
    expected = [marginal(x, arrays.center[r, :P], covariance(learner, r)[:P, :P]) for r in range(3)]
    for r, (distance, size, filled) in enumerate(expected):
        assert_allclose(scratch.marginal[r], distance, atol=1e-10)
        assert_allclose(scratch.distances[r] + arrays.log_det[r, 1], distance + size, atol=1e-9)
        assert_allclose(scratch.own[r], np.append(filled, 1.0), rtol=1e-9)
        assert_allclose(row_for(learner.rules, r, x), filled, rtol=1e-9)
    values = np.array([distance + size for distance, size, _ in expected])
    psi = np.exp((values.min() - values) / (2.0 * learner.settings.bandwidth))
    together = (psi / psi.sum()) @ [filled for _, _, filled in expected]
    assert_allclose(scratch.filled, together, rtol=1e-9)
    assert_allclose(rows_for_all(learner.rules, x[None], learner.settings)[0], together, rtol=1e-9)


@pytest.mark.parametrize("missing", [[2], [0, 4], [0, 1, 2, 3, 4]])
def test_the_winner_learns_what_is_there(rng, learner, missing):
    z = rng.normal(size=P + K)
    z[missing] = np.nan
    look_at(learner, z[:P])
    learner.rules.scratch.z[:] = z
    arrays, S = learner.rules.arrays, covariance(learner, 1)
    center, a = arrays.center[1].copy(), 1.0 / (arrays.support[1] + 1.0)
    e = marginal(z, center, S)[2] - center
    expected = (1.0 - a) * (S + a * np.outer(e, e)) + a * left_open(z, S)
    turn = (arrays.updates[1] + 1) % (P + K)
    if turn not in missing:
        floor = learner.settings.variance_floor * (P + K) * learner.start_variance[turn]
        expected[turn, turn] += floor / (arrays.support[1] + 1.0)
    gaps.update_gapped_winner(
        1, learner.start_variance, arrays, learner.settings, learner.rules.scratch
    )
    assert_allclose(arrays.center[1], center + a * e, rtol=1e-9)
    assert_allclose(covariance(learner, 1), expected, rtol=1e-8, atol=1e-10)
    marginal_precision = whole(arrays.input_precision[1])
    assert_allclose(np.linalg.inv(marginal_precision), expected[:P, :P], rtol=1e-8, atol=1e-10)
    sizes = [np.linalg.slogdet(part)[1] for part in (expected, expected[:P, :P])]
    assert_allclose(arrays.log_det[1], sizes, atol=1e-9)


def test_what_is_missing_stays_as_open_as_it_was(rng, learner):
    """The rule learns of x_o for long; what it knows of x_m given the rest does not change."""
    before = left_open(np.r_[np.nan, np.zeros(P + K - 1)], covariance(learner, 0))[0, 0]
    settings = learner.settings.replace(variance_floor=0.0)
    for _ in range(50):
        z = rng.normal(size=P + K)
        z[0] = np.nan
        look_at(learner, z[:P])
        learner.rules.scratch.z[:] = z
        scratch, arrays = learner.rules.scratch, learner.rules.arrays
        gaps.update_gapped_winner(0, learner.start_variance, arrays, settings, scratch)
    after = left_open(np.r_[np.nan, np.zeros(P + K - 1)], covariance(learner, 0))[0, 0]
    assert_allclose(after, before, rtol=1e-9)


def test_rows_without_gaps_are_not_copied(rng, learner):
    X = rng.normal(size=(4, P))
    assert rows_for(learner.rules, 0, X) is X
    assert rows_for_all(learner.rules, X, learner.settings) is X


def test_statistics_of_a_batch_are_those_of_filled_rows(rng):
    X, Y = random_rows(rng, 60, 3, 2)
    X = with_gaps(rng, X)
    learner = Learner(make_params(vigilance=0.3), 3, 2).fit(X, Y)
    rules, scaled = learner.rules, learner.scaler.transform(X)
    assert rules.n_rules > 1
    for r in range(rules.n_rules):
        S = np.linalg.inv(whole(rules.arrays.input_precision[r]))
        filled = [marginal(x, rules.center[r, :3], S)[2] for x in scaled]
        R = np.column_stack([filled, np.ones(60)])
        values = np.array(
            [sum(marginal(x, c[:3], S_r)[:2]) for x in scaled for c, S_r in of(rules)]
        )
        values = values.reshape(60, -1)
        psi = np.exp(
            (values.min(axis=1, keepdims=True) - values) / (2.0 * learner.settings.bandwidth)
        )
        psi = (psi / psi.sum(axis=1, keepdims=True))[:, r]
        psi[psi < learner.settings.activation_floor] = 0.0
        assert_allclose(whole(rules.arrays.G[r, 0]), (psi[:, None] * R).T @ R, rtol=1e-6, atol=1e-8)
        assert_allclose(rules.B[r], (psi[:, None] * Y).T @ R, rtol=1e-6, atol=1e-8)


def of(rules):
    """Center and input covariance of every rule."""
    precisions = (whole(matrix) for matrix in rules.arrays.input_precision[: rules.n_rules])
    return [(c, np.linalg.inv(A)) for c, A in zip(rules.center, precisions, strict=True)]
