"""Matrices kept by their lower triangle, against numpy on the whole ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from efcml.kernels import triangle

pytestmark = pytest.mark.uncompiled

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 64]
SPARE = 3  # rows of the array beyond the part in use


def make(rng, n):
    """Return a symmetric matrix, and an array with its lower triangle and NaN elsewhere."""
    whole = rng.normal(size=(n, n))
    whole = whole @ whole.T + n * np.eye(n)
    kept = np.full((n + SPARE, n + SPARE), np.nan)
    kept[np.tril_indices(n)] = whole[np.tril_indices(n)]
    return whole, kept


def assert_holds(kept, whole):
    """See that the lower triangle holds the matrix, and that nothing else was touched."""
    n = len(whole)
    lower = np.tril_indices(n)
    assert_allclose(kept[lower], whole[lower], rtol=1e-12, atol=1e-12)
    rest = np.ones(kept.shape, dtype=bool)
    rest[lower] = False
    assert np.isnan(kept[rest]).all()


@pytest.mark.parametrize("n", SIZES)
def test_products(rng, n):
    whole, kept = make(rng, n)
    v, product = rng.normal(size=n), np.full(n + SPARE, 7.0)
    triangle.multiply(kept, v, product)
    assert_allclose(product[:n], whole @ v, rtol=1e-11, atol=1e-11)
    assert (product[n:] == 7.0).all()
    assert_holds(kept, whole)


@pytest.mark.parametrize("n", SIZES)
def test_a_change_on_the_way_of_a_product(rng, n):
    whole, kept = make(rng, n)
    v, w, product = rng.normal(size=n), rng.normal(size=n), np.full(n + SPARE, 7.0)
    triangle.shrink_and_multiply(kept, w, v, product)
    whole -= np.outer(w, w)
    assert_allclose(product[:n], whole @ v, rtol=1e-11, atol=1e-11)
    assert_holds(kept, whole)


def test_no_change_is_exactly_none(rng):
    whole, kept = make(rng, 11)
    triangle.shrink_and_multiply(kept, np.zeros(11), rng.normal(size=11), np.zeros(11))
    assert np.array_equal(kept[np.tril_indices(11)], whole[np.tril_indices(11)])


def test_outer_products(rng):
    whole, kept = make(rng, 9)
    w = rng.normal(size=9)
    triangle.add_outer(kept, w)
    assert_holds(kept, whole + np.outer(w, w))


@pytest.mark.parametrize("n", [1, 2, 7, 16, 61])
def test_four_outer_products_are_four_times_one_bit_for_bit(rng, n):
    A, w = rng.normal(size=(n, n)), rng.normal(size=(4, n))
    one, four = A.copy(), A.copy()
    for s in range(4):
        triangle.add_outer(one, w[s])
    triangle.add_four_outer(four, w)
    assert np.array_equal(one, four)
    lower = np.tril_indices(n)
    assert_allclose(one[lower], (A + w.T @ w)[lower], rtol=1e-10, atol=1e-12)
    w[[0, 2]] = 0.0
    triangle.add_four_outer(four, w)
    for s in (1, 3):
        triangle.add_outer(one, w[s])
    assert np.array_equal(one, four)


@pytest.mark.parametrize("n", SIZES)
def test_scaled_changes(rng, n):
    whole, kept = make(rng, n)
    w, u = rng.normal(size=(2, n))
    triangle.shrink(kept, w, 1.5)
    whole = 1.5 * (whole - np.outer(w, w))
    assert_holds(kept, whole)
    triangle.shrink_twice(kept, u, w, 0.5)
    whole = 0.5 * (whole - np.outer(u, u)) - np.outer(w, w)
    assert_holds(kept, whole)
    triangle.scale_and_add_outer(kept, w, 0.9)
    assert_holds(kept, 0.9 * whole + np.outer(w, w))


@pytest.mark.parametrize("n", SIZES)
def test_one_in_and_one_out(rng, n):
    whole, kept = make(rng, n)
    v, t, w = rng.normal(size=(3, n))
    triangle.exchange(kept, v, t, w)
    assert_holds(kept, whole + np.outer(v, t) + np.outer(t, v) + np.outer(w, w))


@pytest.mark.parametrize("k", [0, 3, 6])
def test_lines(rng, k):
    whole, kept = make(rng, 7)
    line = np.zeros(7)
    triangle.read_line(kept, k, 7, line)
    assert np.array_equal(line, whole[k])
    fresh = rng.normal(size=7)
    triangle.write_line(kept, k, 7, 0.5, fresh)
    whole[k] = whole[:, k] = 0.5 * fresh
    assert_holds(kept, whole)


@pytest.mark.parametrize("n", SIZES)
def test_inverses(rng, n):
    whole, kept = make(rng, n)
    inverse = np.full(kept.shape, np.nan)
    triangle.invert(kept, inverse, n, np.zeros(n))
    assert_holds(inverse, np.linalg.inv(whole))
    assert_holds(kept, whole)
