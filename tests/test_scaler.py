"""The standardisation: extreme features, constants, wild values, clipping."""

import numpy as np
import pytest
from helpers.streams import with_gaps
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from efcml.model.following_scale import FollowingScale
from efcml.model.scaler import LEAST_ROWS, Scaler, find_wild, is_resting

pytestmark = pytest.mark.uncompiled


@given(st.floats(-150.0, 150.0), st.floats(-3.0, 3.0))
def test_huge_and_tiny_features(exponent, offset):
    unit = 10.0**exponent
    x = np.array([-1.0, 0.5, 2.0, 3.5, -0.25])
    X = ((x + offset) * unit)[:, None]
    scaler = Scaler.from_rows(X, 6.0)
    assert_allclose(scaler.transform(X)[:, 0], (x - x.mean()) / x.std(), rtol=1e-9, atol=1e-12)
    far = scaler.transform(np.array([[1e308], [-1e308]]))
    assert far.tolist() == [[6.0], [-6.0]]


@pytest.mark.parametrize("value", [0.0, 5.0, -1e150, 1e-150, 0.1])
def test_constant_features_are_zero(value):
    X = np.full((7, 1), value)
    scaler = Scaler.from_rows(X, 6.0)
    assert not scaler.transform(X).any() or np.abs(scaler.transform(X)).max() < 1e-12
    assert np.isfinite(scaler.transform(X + 1.0)).all()
    assert (scaler.scale > 0.0).all()


def test_clip_counts_in_standard_deviations():
    X = np.array([[0.0], [2.0]])
    scaler = Scaler.from_rows(X, 2.5)
    rows = np.array([[1.0], [3.0], [3.5], [4.0], [-9.0]])
    assert scaler.transform(rows)[:, 0].tolist() == [0.0, 2.0, 2.5, 2.5, -2.5]


@pytest.mark.parametrize("offset", [1e9, 1e13, -1e13])
def test_a_large_offset_is_no_constant(rng, offset):
    x = rng.normal(size=(400, 1))
    X = x + offset
    rounded = X - offset
    scaler = Scaler.from_rows(X, 6.0)
    assert_allclose(scaler.scale, rounded.std(axis=0), rtol=1e-3)
    assert np.abs(scaler.mean - offset - rounded.mean(axis=0)) < 0.01
    assert not is_resting(X).any()


def test_rounding_is_no_variation():
    X = np.array([[0.3], [0.1 + 0.2], [0.3], [0.3], [0.3]])
    assert X[1] != X[0]
    assert is_resting(X).all()
    assert Scaler.from_rows(X, 6.0).scale[0] == np.abs(X).max()


@pytest.mark.parametrize("wild", [1e9, -1e9, 1e300])
def test_one_wild_value_does_not_decide(rng, wild):
    X = rng.normal(size=(200, 2))
    clean = Scaler.from_rows(np.delete(X, 7, axis=0), 6.0)
    X[7, 0] = wild
    scaler = Scaler.from_rows(X, 6.0)
    assert_allclose([scaler.mean[0], scaler.scale[0]], [clean.mean[0], clean.scale[0]], rtol=1e-9)
    assert find_wild(X).sum() == find_wild(X[:50]).sum() == 1
    X[9, 0] = wild  # one in a hundred may be, but no more
    assert find_wild(X).sum() == 2
    assert find_wild(X[:50]).sum() == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 50])
def test_without_wild_values_mean_and_deviation_are_the_plain_ones(rng, n):
    """To the last bit: results that were published must not move."""
    X = rng.standard_t(3, size=(n, 3)) * [1.0, 1e3, 1e-3]
    unit = np.abs(X).max(axis=0)
    mean = (X / unit).mean(axis=0)
    spread = (X / unit - mean).std(axis=0)
    scaler = Scaler.from_rows(X, 6.0)
    assert np.array_equal(scaler.mean, mean * unit)
    if n > 1:
        assert np.array_equal(scaler.scale, spread * unit)


def test_rare_values_of_a_column_of_zeros_are_not_wild():
    X = np.zeros((300, 1))
    X[5] = 40.0
    assert not find_wild(X).any()
    assert not find_wild(np.array([[0.0], [1.0], [1e9]])).any()  # fewer than LEAST_ROWS
    assert LEAST_ROWS == 4


def test_a_scale_ignores_what_is_missing(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 1e3]
    X[3, 2] = 1e12  # wild
    gapped = with_gaps(rng, X)
    scaler = Scaler.from_rows(gapped, 6.0)
    for j in range(3):
        there = gapped[~np.isnan(gapped[:, j]), j][:, None]
        alone = Scaler.from_rows(there, 6.0)
        assert (scaler.mean[j], scaler.scale[j]) == (alone.mean[0], alone.scale[0])
    scaled = scaler.transform(gapped)
    assert_array_equal(np.isnan(scaled), np.isnan(gapped))
    assert scaler.count_clipped(scaled).sum() == (np.abs(np.nan_to_num(scaled)) >= 6.0).sum()


def test_rest_and_life_ignore_what_is_missing():
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [1.0, np.nan, np.nan]])
    assert is_resting(X).tolist() == [True, True, False]
    following = FollowingScale.from_rows(X, X, 2)
    assert following.arrays.asleep.tolist() == [True, True, False]
    assert following.arrays.lively.tolist() == [False, False, True]
