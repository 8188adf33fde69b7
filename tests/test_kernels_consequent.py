"""Recursive weighted least squares and label moments of one rule."""

import numpy as np
import pytest
from helpers.rules import rules_with, set_row, settings_with
from helpers.streams import random_rows
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import consequent, waiting

pytestmark = pytest.mark.uncompiled

SHAPES = [(1, 1), (1, 3), (4, 1), (3, 3)]
FORGETTING = [1.0, 0.9]


def random_state(rng, p, K, n=12):
    """P, G, B, D, Delta, W of a rule that has learned a few rows."""
    X, Y = random_rows(rng, n, p, K)
    R = np.column_stack([X, np.ones(n)])
    G, B, *_ = naive.batch_moments(R, Y, rng.uniform(0.05, 1.0, size=n))
    Delta = rng.uniform(0.2, 1.0, size=p + 1)
    W = rng.normal(size=(p + 1, K))
    D = naive.gradient(G, B, Delta, W, rng.normal(size=(p + 1, K)))
    P = np.linalg.inv(G + np.diag(Delta))
    return 0.5 * (P + P.T), G, B, D, Delta, W


def learn(P, G, B, D, Delta, W, row, y, psi, forgetting, groups=1):
    """What one rule learns from one row, nothing left to wait; (d, K) as the formulas have it."""
    d, K = W.shape
    fields = {"P": P, "G": G, "B": B.T, "D": D.T, "Delta": Delta, "W": W.T}
    rules = rules_with(d - 1, K, n_groups=groups, **fields)
    arrays, scratch = rules.arrays, rules.scratch
    set_row(rules, row, psi, forgetting**psi, ~np.isnan(y))
    waiting.queue_row(1, scratch)
    consequent.shrink_inverses(1, 0.0, arrays, scratch)
    consequent.forget_sums(1, arrays, scratch)
    consequent.learn_planes(1, y, arrays, scratch)
    waiting.bring_all(1, arrays, scratch)
    assert not rules.stale.any()
    B, D, W = (getattr(rules, name)[0].T for name in ("B", "D", "W"))
    return rules.P[0], rules.G[0], B, D, rules.Delta[0], W


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize("forgetting", FORGETTING)
@pytest.mark.parametrize("psi", [1.0, 0.3, 1e-5])
def test_least_squares_of_all_labels(rng, p, K, forgetting, psi):
    state = random_state(rng, p, K)
    row, y = np.append(rng.normal(size=p), 1.0), rng.integers(0, 2, size=K).astype(float)
    wanted = naive.rfwls(*state, row, y, psi, forgetting)
    learned = learn(*state, row, y, psi, forgetting)
    for actual, expected in zip(learned, wanted, strict=True):
        assert_allclose(np.squeeze(actual), np.squeeze(expected), rtol=1e-9, atol=1e-11)
    P, G = learned[0][0], learned[1][0]
    assert np.array_equal(P, P.T)
    assert np.array_equal(G, G.T)


def test_rules_that_do_not_fire_and_the_newborn_learn_nothing():
    scratch = rules_with(1, 1, 4).scratch
    scratch.weights[:] = scratch.keeps[:] = np.nan
    activation = np.array([0.5, 0.2, 0.009, 0.3])
    settings = settings_with(1, 1, activation_floor=0.01)
    scratch.factors[:] = 0.81
    consequent.weigh_rules(activation, 3, 1, settings, scratch)
    assert_allclose(scratch.weights, [0.5, 0.0, 0.0, np.nan])
    assert_allclose(scratch.keeps, [0.9, 1.0, 1.0, np.nan])


@pytest.mark.parametrize("groups", [1, 2])
def test_a_prior_that_is_half_forgotten_and_a_large_shrink_mark_a_rule(groups):
    row, known = np.array([1.0, 1.0]), np.array([True, False])
    for Delta, P, expected in ((0.6, 1.0, 0), (0.5, 1.0, 1), (0.6, 1e8, 1)):
        fields = {"Delta": Delta, "P": P * np.eye(2)}
        rules = rules_with(1, 2, 2, n_groups=groups, **fields)
        set_row(rules, row, [1.0, 0.0], [0.9, 1.0], known)  # the second rule does not learn
        consequent.shrink_inverses(2, 1.0, rules.arrays, rules.scratch)
        assert rules.stale.tolist() == [expected, 0]
        learned = np.zeros((2, groups), dtype=bool)
        learned[0, 0] = True
        kept = np.where(learned, 0.9 * Delta, Delta)
        assert_allclose(rules.Delta, np.stack([kept, kept], axis=-1))
        assert np.array_equal(rules.scratch.scale != waiting.NOTHING, learned)


@pytest.mark.parametrize("groups", [1, 3])
def test_moments_of_all_rules_that_learn(rng, groups):
    K, forgetting = 3, 0.9
    rules = rules_with(1, K, 3, n_groups=groups)
    shape = (groups, K)[groups == 1 :]
    twins = [(np.zeros(shape), np.zeros(shape), np.zeros((K, K))) for _ in range(3)]
    for _ in range(15):
        psi = rng.uniform(0.1, 1.0, size=3) * [1.0, 0.0, 1.0]
        known = rng.uniform(size=K) < (0.6 if groups > 1 else 1.0)
        y = np.where(known, rng.integers(0, 2, size=K), np.nan)
        set_row(rules, np.ones(2), psi, forgetting**psi, known)
        consequent.learn_moments(3, y, rules.arrays, rules.scratch)
        for r in (0, 2):
            rates = psi[r], forgetting ** psi[r]
            if groups == 1:
                twins[r] = naive.label_moments(*twins[r], y, *rates)
            else:
                twins[r] = naive.label_moments_pairs(*twins[r], y, *rates, known)
    for r, twin in enumerate(twins):
        found = rules.label_weight[r], rules.label_mean[r], rules.label_cov[r]
        for actual, expected in zip(found, twin, strict=True):
            wanted = np.reshape(expected, actual.shape)
            assert_allclose(actual, wanted, rtol=1e-10, atol=1e-12)


def test_least_squares_of_one_label_leaves_the_others(rng):
    p, K, c = 3, 4, 2
    P, G, B, D, Delta, W = state = random_state(rng, p, K)
    before = [a.copy() for a in (B, D, W)]
    row, y = np.append(rng.normal(size=p), 1.0), np.full(K, np.nan)
    y[c] = 1.0
    B, D, W = (a[:, [c]] for a in (B, D, W))
    wanted = naive.rfwls(P, G, B, D, Delta, W, row, y[[c]], 0.4, 0.9)
    learned = learn(*state, row, y, 0.4, 0.9, groups=K)
    others = np.arange(K) != c
    for old, index in zip((P, G, Delta), (0, 1, 4), strict=True):
        assert_allclose(learned[index][c], wanted[index], rtol=1e-9, atol=1e-12)
        assert all(np.array_equal(part, old) for part in learned[index][others])
    for old, index in zip(before, (2, 3, 5), strict=True):
        assert_allclose(learned[index][:, c], wanted[index][:, 0], rtol=1e-9, atol=1e-12)
        assert np.array_equal(learned[index][:, others], old[:, others])


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("forgetting", FORGETTING)
def test_label_moments_of_a_stream(rng, K, forgetting):
    weight, mean, cov = np.zeros((1, K)), np.zeros((1, K)), np.zeros((K, K))
    twin = np.zeros(K), np.zeros(K), np.zeros((K, K))
    for _ in range(15):
        y, psi = rng.integers(0, 2, size=K).astype(float), rng.uniform(1e-3, 1.0)
        keep = forgetting**psi
        consequent.absorb_labels(y, psi, keep, weight, mean, cov, np.zeros(K))
        twin = naive.label_moments(*twin, y, psi, keep)
        for actual, expected in zip((weight[0], mean[0], cov), twin, strict=True):
            assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)
    assert np.array_equal(cov, cov.T)


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("forgetting", FORGETTING)
def test_pair_moments_of_a_stream(rng, K, forgetting):
    state = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    twin = tuple(a.copy() for a in state)
    for _ in range(25):
        known = rng.uniform(size=K) < 0.6
        y = np.where(known, rng.integers(0, 2, size=K), np.nan)
        psi = rng.uniform(1e-3, 1.0)
        keep = forgetting**psi
        consequent.absorb_label_pairs(y, known, psi, keep, *state)
        twin = naive.label_moments_pairs(*twin, y, psi, keep, known)
        for actual, expected in zip(state, twin, strict=True):
            assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)
    assert np.array_equal(state[2], state[2].T)


@pytest.mark.parametrize("p", [1, 4])
def test_inverse_error_along_a_row(rng, p):
    P, G, _, _, Delta, _ = random_state(rng, p, 1)
    row, gain, back = np.append(rng.normal(size=p), 1.0), np.zeros(p + 1), np.zeros(p + 1)
    assert consequent.inverse_error(P, G, Delta, row, gain, back) < 1e-12
    P[0, -1] = P[-1, 0] = P[-1, 0] + 0.01
    off = P @ (G + np.diag(Delta)) @ row - row
    expected = np.linalg.norm(off) / np.linalg.norm(row)
    actual = consequent.inverse_error(P, G, Delta, row, gain, back)
    assert_allclose(actual, expected, rtol=1e-9)
    P[0, 0] = np.nan
    assert np.isnan(consequent.inverse_error(P, G, Delta, row, gain, back))
