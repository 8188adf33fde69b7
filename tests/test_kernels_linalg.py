"""Operations on symmetric matrices against numpy and the naive covariance forms."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from streams import random_covariance

from efcml.kernels import linalg

SIZES = [1, 2, 3, 7]
numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@st.composite
def matrix_and_vector(draw):
    n = draw(st.integers(1, 5))
    A = draw(arrays(float, (n, n), elements=numbers))
    return A + A.T, draw(arrays(float, n, elements=numbers)), draw(numbers)


@given(matrix_and_vector())
def test_products_are_those_of_numpy(case):
    A, e, scale = case
    tolerance = 1e-12 * (np.abs(A).sum() + 1.0) * (np.abs(e).sum() + 1.0) ** 2
    assert_allclose(linalg.dot(A[0].copy(), e), A[0] @ e, atol=tolerance)
    assert_allclose(linalg.quadratic_form(A, e), e @ A @ e, atol=tolerance)
    smaller, larger = A.copy(), A.copy()
    linalg.downdate(smaller, e, scale)
    linalg.scale_and_add_outer(larger, e, scale)
    tolerance *= 1.0 + abs(scale)
    assert_allclose(smaller, scale * (A - np.outer(e, e)), atol=tolerance)
    assert_allclose(larger, scale * A + np.outer(e, e), atol=tolerance)
    assert np.array_equal(smaller, smaller.T)
    assert np.array_equal(larger, larger.T)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11])
def test_quadratic_form_reads_one_triangle(rng, n):
    A, e = random_covariance(rng, n), rng.normal(size=n)
    expected = e @ A @ e
    A[np.triu_indices(n, 1)] = np.nan
    assert_allclose(linalg.quadratic_form(A, e), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_mirrored_matrices_are_symmetric(rng, n):
    A = rng.normal(size=(n, n))
    lower = np.tril(A)
    linalg.mirror(A)
    assert np.array_equal(A, A.T)
    assert np.array_equal(np.tril(A), lower)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("k", [1.0, 2.5, 400.0])
def test_add_to_covariance_is_the_inverse_of_the_updated_covariance(rng, n, k):
    precision = np.linalg.inv(random_covariance(rng, n))
    e = rng.normal(size=n)
    _, expected, change = naive.update_gaussian(np.zeros(n), precision, 0.0, k, e)
    actual = precision.copy()
    moved = linalg.add_to_covariance(actual, e, 1.0 / (k + 1.0), np.zeros(n))
    assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(moved, change, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_add_to_variance_is_the_inverse_of_the_lifted_covariance(rng, n):
    precision = np.linalg.inv(random_covariance(rng, n))
    for j in range(n):
        expected, change = naive.floor_variance(precision, 0.0, j, 0.37)
        actual = precision.copy()
        moved = linalg.add_to_variance(actual, j, 0.37, np.zeros(n))
        assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
        assert_allclose(moved, change, rtol=1e-9, atol=1e-12)


def test_thousand_updates_stay_exact_symmetric_and_definite(rng):
    n, S = 3, np.diag([0.5, 1.0, 2.0])
    precision, log_det = np.linalg.inv(S), np.linalg.slogdet(S)[1]
    v = np.zeros(n)
    for k in range(1, 1001):
        share, e = 1.0 / (k + 1.0), rng.normal(size=n) * [1.0, 1e-2, 1e2]
        log_det += linalg.add_to_covariance(precision, e, share, v)
        log_det += linalg.add_to_variance(precision, k % n, 1e-3, v)
        S = (1.0 - share) * (S + share * np.outer(e, e))
        S[k % n, k % n] += 1e-3
    assert np.array_equal(precision, precision.T)
    assert (np.linalg.eigvalsh(precision) > 0.0).all()
    assert_allclose(precision @ S, np.eye(n), atol=1e-9)
    assert_allclose(log_det, np.linalg.slogdet(S)[1], rtol=1e-10)


@pytest.mark.parametrize("dtype", [float, np.int64])
def test_least_is_the_first_of_equals_among_the_used(dtype):
    values = np.array([3, 1, 1, 2, 0], dtype=dtype)
    assert linalg.find_least(values, 4) == 1
    assert linalg.find_least(values, 1) == 0
    assert linalg.find_least(values, 5) == 4
