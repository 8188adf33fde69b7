"""Products and distances against numpy."""

import numpy as np
import pytest
from helpers.streams import random_covariance
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from efcml.kernels import linalg

pytestmark = pytest.mark.uncompiled

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@st.composite
def matrix_and_vector(draw):
    n = draw(st.integers(1, 5))
    A = draw(arrays(float, (n, n), elements=numbers))
    return A + A.T, draw(arrays(float, n, elements=numbers))


@given(matrix_and_vector())
def test_products_are_those_of_numpy(case):
    A, e = case
    tolerance = 1e-12 * (np.abs(A).sum() + 1.0) * (np.abs(e).sum() + 1.0) ** 2
    assert_allclose(linalg.dot(A[0].copy(), e), A[0] @ e, atol=tolerance)
    assert_allclose(linalg.quadratic_form(A, e), e @ A @ e, atol=tolerance)


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


@pytest.mark.parametrize("dtype", [float, np.int64])
def test_least_is_the_first_of_equals_among_the_used(dtype):
    values = np.array([3, 1, 1, 2, 0], dtype=dtype)
    assert linalg.find_least(values, 4) == 1
    assert linalg.find_least(values, 1) == 0
    assert linalg.find_least(values, 5) == 4
