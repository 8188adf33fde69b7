"""The frozen standardisation: extreme features, constants, clipping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from efcml.model.scaler import Scaler


def test_features_are_standardised(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, -3.0]
    scaler = Scaler.from_rows(X, 1e9)
    assert_allclose(scaler.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
    assert_allclose(scaler.scale, X.std(axis=0), rtol=1e-10)
    scaled = scaler.transform(X)
    assert_allclose(scaled, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-9, atol=1e-12)
    assert scaled.flags.c_contiguous


def test_later_rows_do_not_move_the_scale(rng):
    X = rng.normal(size=(20, 2))
    scaler = Scaler.from_rows(X, 6.0)
    first = scaler.transform(X)
    scaler.transform(1e6 * X)
    assert np.array_equal(scaler.transform(X), first)


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


def test_overflow_is_clipped():
    X = np.array([[-1.0], [1.0]]) * 1e-150
    scaler = Scaler.from_rows(X, 3.0)
    rows = np.array([[1.7e308], [-1.7e308], [0.0], [np.inf]])
    assert scaler.transform(rows)[:, 0].tolist() == [3.0, -3.0, 0.0, 3.0]


def test_clip_counts_in_standard_deviations():
    X = np.array([[0.0], [2.0]])
    scaler = Scaler.from_rows(X, 2.5)
    rows = np.array([[1.0], [3.0], [3.5], [4.0], [-9.0]])
    assert scaler.transform(rows)[:, 0].tolist() == [0.0, 2.0, 2.5, 2.5, -2.5]


def test_one_row():
    scaler = Scaler.from_rows(np.array([[3.0, 0.0]]), 6.0)
    assert scaler.transform(np.array([[3.0, 0.0]])).tolist() == [[0.0, 0.0]]
