"""Recursive weighted least squares and label moments of one rule."""

import numpy as np
import pytest
from helpers.streams import random_rows
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import consequent, waiting
from efcml.model.rulebase import RuleBase

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
    rules = RuleBase(d - 1, K, n_groups=groups)
    rule = rules.append()
    cons, work = rules.consequents, rules.consequent_work
    queue = work.waiting
    for name, value in {"P": P, "G": G, "B": B.T, "D": D.T, "Delta": Delta, "W": W.T}.items():
        getattr(cons, name)[rule] = value
    known = ~np.isnan(y)
    work.heights[rule] = cons.W[rule] @ row
    rates = np.array([psi]), np.array([forgetting**psi]), 1
    waiting.queue_row(row, *rates, known, queue.rows, queue.weight, queue.keep, queue.count)
    consequent.shrink_inverses(
        *rates, row, known, cons.P, cons.Delta, 0.0, cons.stale, queue.shrink, queue.scale,
        queue.roots, work.gain,
    )  # fmt: skip
    weights, keeps, _ = rates
    consequent.forget_sums(keeps, 1, known, cons.B, cons.D)
    consequent.learn_planes(
        weights, 1, row, work.heights, y, known, queue.shrink, queue.roots, cons.W, cons.B
    )
    waiting.bring_all(cons.P, cons.G, 1, work.row, work.gain, queue)
    B, D, W = (getattr(cons, name)[rule].T for name in ("B", "D", "W"))
    return rules.P[rule], rules.G[rule], B, D, cons.Delta[rule], W


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
    weights, keeps = np.full(4, np.nan), np.full(4, np.nan)
    activation = np.array([0.5, 0.2, 0.009, 0.3])
    consequent.weigh_rules(activation, 3, 1, 0.01, 0.81, weights, keeps)
    assert_allclose(weights, [0.5, 0.0, 0.0, np.nan])
    assert_allclose(keeps, [0.9, 1.0, 1.0, np.nan])


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
