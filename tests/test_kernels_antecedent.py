"""Birth test and Gaussian updates of one rule."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from streams import random_covariance

from efcml.kernels import antecedent

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


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize("support", [1.0, 3.7, 1e4])
def test_move_is_exact_in_both_spaces(rng, p, K, support):
    q = p + K
    center, S, joint, marginal, log_det = random_rule(rng, p, K)
    z = rng.normal(size=q)
    wanted = naive.update_gaussian(center, joint, log_det[0], support, z)
    wanted_x = naive.update_gaussian(center[:p], marginal, log_det[1], support, z[:p])
    antecedent.move_rule(z, center, joint, marginal, log_det, support, np.zeros(q), np.zeros(q))
    assert_allclose(center, wanted[0], rtol=1e-12)
    assert_allclose(joint, wanted[1], rtol=1e-9, atol=1e-12)
    assert_allclose(marginal, wanted_x[1], rtol=1e-9, atol=1e-12)
    assert_allclose(log_det, [wanted[2], wanted_x[2]], rtol=1e-9, atol=1e-12)
    # The marginal precision is that of the x-block of the covariance, not of the precision.
    assert_allclose(np.linalg.inv(joint)[:p, :p], np.linalg.inv(marginal), rtol=1e-8)


@pytest.mark.parametrize(("p", "K"), SHAPES)
def test_held_variance_is_lifted_in_both_spaces(rng, p, K):
    for j in range(p + K):
        _, S, joint, marginal, log_det = random_rule(rng, p, K)
        antecedent.hold_variance(j, 0.3, joint, marginal, log_det, np.zeros(p + K))
        S[j, j] += 0.3
        assert_allclose(joint @ S, np.eye(p + K), atol=1e-8)
        assert_allclose(marginal @ S[:p, :p], np.eye(p), atol=1e-8)
        expected = np.linalg.slogdet(S)[1], np.linalg.slogdet(S[:p, :p])[1]
        assert_allclose(log_det, expected, rtol=1e-9, atol=1e-12)
