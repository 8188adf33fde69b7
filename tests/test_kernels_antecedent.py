"""Birth test and Gaussian updates of one rule."""

import numpy as np
import pytest
from helpers.rules import rules_with, settings_with
from helpers.streams import random_covariance
from hypothesis import given
from hypothesis import strategies as st
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import antecedent
from efcml.model.definite import whole

pytestmark = pytest.mark.uncompiled

SHAPES = [(1, 1), (1, 3), (4, 1), (3, 3)]


@given(st.floats(0.01, 10.0), st.integers(1, 50), st.floats(1.0, 1e6), st.floats(0.5, 2.0))
def test_novelty_is_beyond_the_radius(vigilance, dimension, support, share):
    radius = naive.radius(vigilance, dimension, support)
    distance = (share * radius) ** 2
    if abs(share - 1.0) > 1e-9:
        novel = antecedent.is_novel(distance, float(dimension), support, vigilance)
        assert novel == (share > 1.0)


def test_a_row_on_the_radius_is_not_novel():
    # radius 1 * 1 / (1 - 1/2)^4 = 16, without rounding
    assert not antecedent.is_novel(256.0, 1.0, 1.0, 1.0)
    assert antecedent.is_novel(256.0 * (1.0 + 1e-12), 1.0, 1.0, 1.0)


def random_rule(rng, p, K):
    """Center, covariance, both precisions and both log-determinants."""
    S = random_covariance(rng, p + K)
    precisions = np.linalg.inv(S), np.linalg.inv(S[:p, :p])
    log_det = np.array([np.linalg.slogdet(S)[1], np.linalg.slogdet(S[:p, :p])[1]])
    return rng.normal(size=p + K), S, *precisions, log_det


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("k", [1.0, 2.5, 400.0])
@pytest.mark.parametrize("amount", [0.0, 0.37])
def test_a_precision_is_the_inverse_of_the_updated_covariance(rng, n, k, amount):
    precision = np.linalg.inv(random_covariance(rng, n))
    e = rng.normal(size=n)
    for j in range(n):
        _, expected, change = naive.update_gaussian(np.zeros(n), precision, 0.0, k, e)
        if amount > 0.0:
            expected, change = naive.floor_variance(expected, change, j, amount)
        actual = precision.copy()
        actual[np.triu_indices(n, 1)] = np.nan
        moved = antecedent.add_to_covariance(
            actual, e, 1.0 / (k + 1.0), j, amount, np.zeros(n), np.zeros(n)
        )
        assert_allclose(whole(actual), expected, rtol=1e-9, atol=1e-12)
        assert_allclose(moved, change, rtol=1e-9, atol=1e-12)


def test_thousand_updates_stay_exact_and_definite(rng):
    n, S = 3, np.diag([0.5, 1.0, 2.0])
    precision, log_det = np.linalg.inv(S), np.linalg.slogdet(S)[1]
    w, u = np.zeros((2, n))
    for k in range(1, 1001):
        share, e = 1.0 / (k + 1.0), rng.normal(size=n) * [1.0, 1e-2, 1e2]
        log_det += antecedent.add_to_covariance(precision, e, share, k % n, 1e-3, w, u)
        S = (1.0 - share) * (S + share * np.outer(e, e))
        S[k % n, k % n] += 1e-3
    precision = whole(precision)
    assert (np.linalg.eigvalsh(precision) > 0.0).all()
    assert_allclose(precision @ S, np.eye(n), atol=1e-9)
    assert_allclose(log_det, np.linalg.slogdet(S)[1], rtol=1e-10)


def move(z, center, joint, marginal, log_det, support, j, amount):
    """Let a rule absorb a row; return its center, whole precisions and log-determinants."""
    p = len(marginal)
    rules = rules_with(
        p,
        len(z) - p,
        center=center,
        joint_precision=joint,
        input_precision=marginal,
        log_det=log_det,
        support=support,
    )
    rules.scratch.z[:] = z
    antecedent.move_rule(0, j, amount, rules.arrays, rules.scratch)
    assert rules.support[0] == support
    return rules.center[0], rules.joint_precision[0], rules.input_precision[0], rules.log_det[0]


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize("support", [1.0, 3.7, 1e4])
def test_move_is_exact_in_both_spaces(rng, p, K, support):
    q = p + K
    center, S, joint, marginal, log_det = random_rule(rng, p, K)
    z = rng.normal(size=q)
    wanted = naive.update_gaussian(center, joint, log_det[0], support, z)
    wanted_x = naive.update_gaussian(center[:p], marginal, log_det[1], support, z[:p])
    center, joint, marginal, log_det = move(z, center, joint, marginal, log_det, support, 0, 0.0)
    assert_allclose(center, wanted[0], rtol=1e-12)
    assert_allclose(joint, wanted[1], rtol=1e-9, atol=1e-12)
    assert_allclose(marginal, wanted_x[1], rtol=1e-9, atol=1e-12)
    assert_allclose(log_det, [wanted[2], wanted_x[2]], rtol=1e-9, atol=1e-12)
    # The marginal precision is that of the x-block of the covariance, not of the precision.
    assert_allclose(np.linalg.inv(joint)[:p, :p], np.linalg.inv(marginal), rtol=1e-8)


@pytest.mark.parametrize(("p", "K"), SHAPES)
def test_held_variance_is_lifted_in_both_spaces(rng, p, K):
    for j in range(p + K):
        center, S, joint, marginal, log_det = random_rule(rng, p, K)
        z, share = rng.normal(size=p + K), 1.0 / 4.0
        S = (1.0 - share) * (S + share * np.outer(z - center, z - center))
        _, joint, marginal, log_det = move(z, center, joint, marginal, log_det, 3.0, j, 0.3)
        S[j, j] += 0.3
        assert_allclose(joint @ S, np.eye(p + K), atol=1e-8)
        assert_allclose(marginal @ S[:p, :p], np.eye(p), atol=1e-8)
        expected = np.linalg.slogdet(S)[1], np.linalg.slogdet(S[:p, :p])[1]
        assert_allclose(log_det, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("max_support", [1e9, 4.0])
def test_the_winner_counts_the_row_and_holds_its_variance(rng, max_support):
    p, K, floor = 2, 1, 0.2
    q, S_0 = p + K, np.array([1.0, 2.0, 3.0])
    rules = rules_with(p, K, 3, support=4.0, updates=[7, 8, 9], prior_share=0.5)
    S = random_covariance(rng, q)
    rules.arrays.joint_precision[1] = np.linalg.inv(S)
    rules.arrays.input_precision[1] = np.linalg.inv(S[:p, :p])
    others = rules.copy()
    rules.scratch.z[:] = z = rng.normal(size=q)
    settings = settings_with(p, K, variance_floor=floor, max_support=max_support)
    antecedent.update_winner(1, S_0, rules.arrays, settings, rules.scratch)
    support = min(5.0, max_support)
    assert rules.updates.tolist() == [7, 9, 9]
    assert rules.support.tolist() == [4.0, support, 4.0]
    assert_allclose(rules.prior_share, [0.5, 0.5 * support / 5.0, 0.5])
    S = 0.8 * (S + 0.2 * np.outer(z, z))
    S[0, 0] += floor * q * S_0[0] / support  # update 9 is the turn of the first coordinate
    assert_allclose(rules.joint_precision[1] @ S, np.eye(q), atol=1e-9)
    for name in ("center", "joint_precision", "input_precision", "log_det"):
        kept, old = getattr(rules, name), getattr(others, name)
        assert np.array_equal(kept[[0, 2]], old[[0, 2]]), name
