"""Distances, and the softmax of activations."""

import numpy as np
import pytest
from helpers.rules import rules_with, settings_with
from helpers.streams import SIZES, random_precisions
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import firing
from efcml.kernels.constants import AHEAD
from efcml.kernels.linalg import measure_distance

pytestmark = pytest.mark.uncompiled

squares = st.floats(0.0, 1e6, allow_subnormal=False)


@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
@pytest.mark.parametrize("joint", [True, False])
def test_distances_to_the_used_rules(rng, p, K, n_rules, joint):
    q = p + K
    n = q if joint else p
    Z, center = rng.normal(size=(3, n)), rng.normal(size=(n_rules + 2, q))
    precision = random_precisions(rng, n_rules + 2, n)
    distances = np.full((1, n_rules + 2), -1.0)
    firing.look_ahead(Z, 1, 2, center, precision, n_rules, np.zeros(q), distances)
    expected = naive.distances(Z[1], center[:n_rules, :n], precision[:n_rules])
    assert_allclose(distances[0, :n_rules], expected, rtol=1e-12)
    assert (distances[0, n_rules:] == -1.0).all()


@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
def test_looking_ahead_is_measuring_row_by_row(rng, p, K, n_rules):
    X, center = rng.normal(size=(9, p)), rng.normal(size=(n_rules + 1, p + K))
    precision = random_precisions(rng, n_rules + 1, p)
    ahead = np.full((AHEAD, n_rules + 1), -1.0)
    firing.look_ahead(X, 2, 7, center, precision, n_rules, np.zeros(p + K), ahead)
    for t in range(2, 7):
        alone = np.full((1, n_rules + 1), -1.0)
        firing.look_ahead(X, t, t + 1, center, precision, n_rules, np.zeros(p + K), alone)
        assert np.array_equal(ahead[t - 2], alone[0])
        for r in range(n_rules):
            distance = measure_distance(X[t], center[r], precision[r], np.zeros(p + K))
            assert ahead[t - 2, r] == distance
    assert (ahead[5:] == -1.0).all()


@pytest.mark.parametrize("activation", ["density", "distance"])
@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
def test_winner_by_lower_bounds(rng, p, K, n_rules, activation):
    q, settings = p + K, settings_with(p, K, {"activation": activation})
    for _ in range(25):
        z, center = rng.normal(size=q), rng.normal(size=(n_rules + 1, q))
        joint = random_precisions(rng, n_rules + 1, q)
        marginal = np.linalg.inv(np.linalg.inv(joint)[:, :p, :p])
        sizes = np.column_stack([-np.linalg.slogdet(M)[1] for M in (joint, marginal)])
        fields = {"center": center, "joint_precision": joint, "log_det": sizes}
        rules = rules_with(p, K, n_rules + 1, **fields).arrays
        distances = naive.distances(z, center[:n_rules], joint[:n_rules])
        bounds = naive.distances(z[:p], center[:n_rules, :p], marginal[:n_rules])
        bounds = np.append(bounds, -1e9)  # of a rule that is not in use
        winner, distance = firing.find_winner(z, bounds, n_rules, rules, settings, np.zeros(q))
        value = distances + sizes[:n_rules, 0] * (activation == "density")
        assert winner == value.argmin()
        assert_allclose(distance, distances[winner], rtol=1e-12)
        value = bounds + sizes[:, 1] * (activation == "density")
        likeliest = firing.find_likeliest(bounds, firing.INPUT, n_rules, rules, settings)
        assert likeliest == value[:n_rules].argmin()


def test_of_two_equal_rules_the_first_wins():
    center, e = np.array([[3.0, 0.0], [1.0, 2.0], [1.0, -2.0]]), np.zeros(2)
    rules = rules_with(1, 1, 3, center=center, joint_precision=np.eye(2)).arrays
    bounds = np.array([9.0, 5.0, 1.0])  # the last is looked at first
    settings = settings_with(1, 1)
    assert firing.find_winner(np.zeros(2), bounds, 3, rules, settings, e) == (1, 5.0)


def test_rules_beyond_the_winner_are_not_looked_at():
    precision = np.array([[[np.nan] * 2] * 2, np.eye(2)])
    center = np.array([[2.0, 0.0], [1.0, 0.0]])
    rules = rules_with(1, 1, 2, center=center, joint_precision=precision).arrays
    settings, e = settings_with(1, 1), np.zeros(2)
    bounds = np.array([1.1, 0.5])
    assert firing.find_winner(np.zeros(2), bounds, 2, rules, settings, e) == (1, 1.0)


@given(arrays(float, st.integers(1, 6), elements=squares), st.floats(0.05, 100.0))
def test_activation_is_a_softmax(distances, bandwidth):
    psi = np.full(len(distances) + 1, -1.0)
    firing.activate(np.append(distances, 0.0), len(distances), bandwidth, psi)
    assert psi[-1] == -1.0
    psi = psi[:-1]
    assert_allclose(psi, naive.activations(distances, bandwidth), rtol=1e-9, atol=1e-300)
    assert_allclose(psi.sum(), 1.0, rtol=1e-12)
    assert psi.argmax() == distances.argmin() or psi.max() == psi[distances.argmin()]
    moved = np.empty_like(psi)
    firing.activate(distances + 8.0, len(distances), bandwidth, moved)
    assert_allclose(moved, psi, rtol=1e-6, atol=1e-300)


def test_activation_far_from_every_rule():
    psi = np.zeros(3)
    firing.activate(np.array([1e9 + 2.0, 1e9, 1e300]), 3, 1.0, psi)
    assert_allclose(psi, [np.exp(-1.0) / (1 + np.exp(-1.0)), 1 / (1 + np.exp(-1.0)), 0.0])


@pytest.mark.parametrize("density", [False, True])
def test_a_rule_may_count_by_its_density(density):
    rules = rules_with(1, 1, 3, log_det=[[9.0, 1.0], [9.0, 0.0], [9.0, -2.0]])
    settings = settings_with(1, 1, density=density, bandwidth=1.5)
    distances, psi = np.array([1.0, 2.0, 3.0]), np.full(3, -1.0)
    firing.activate_rules(distances, 2, rules.arrays, settings, psi)
    measured = distances[:2] + density * np.array([1.0, 0.0])
    assert_allclose(psi[:2], naive.activations(measured, 1.5), rtol=1e-12)
    assert psi[2] == -1.0
    assert distances.tolist() == [1.0, 2.0, 3.0]
