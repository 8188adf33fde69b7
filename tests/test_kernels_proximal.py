"""Label correlation, penalties, curvature bounds and proximal steps."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from streams import (
    learn_rows,
    learner_with_rules,
    polish,
    random_correlation,
    random_rows,
    unscaled_learner,
)

from efcml.kernels import learning, proximal
from efcml.params import CORRELATIONS

SHAPES = [(1, 1), (1, 3), (4, 1), (3, 3)]


def random_problem(rng, p, K, groups=1, n=12):
    """G, B, Delta per group, W_prior of one rule."""
    X, Y = random_rows(rng, n, p, K)
    R = np.column_stack([X, np.ones(n)])
    G = np.array([(rng.uniform(0.1, 1.0, size=n) * R.T) @ R for _ in range(groups)])
    G = 0.5 * (G + G.transpose(0, 2, 1))
    Delta = rng.uniform(0.2, 1.0, size=(groups, p + 1))
    return G, R.T @ Y, Delta, rng.normal(size=(p + 1, K))


# Correlation and penalty


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_correlation_is_that_of_the_moments(rng, K, share):
    _, Y = random_rows(rng, 30, 2, K, share)
    weight, mean, cov = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for y in Y:
        weight, mean, cov = naive.label_moments_pairs(
            weight, mean, cov, y, rng.uniform(0.1, 1.0), 1.0, ~np.isnan(y)
        )
    if share == 1.0:
        weight = weight[:1]
    corr = np.full((K, K), np.nan)
    proximal.correlate(cov, weight, corr)
    assert_allclose(corr, naive.correlation(cov, weight), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("pairs", [False, True])
def test_constant_and_unseen_labels_are_uncorrelated(pairs):
    cov = np.array([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0], [0.9, 0.0, 0.5]])
    weight = np.full((3, 3), 2.0)
    expected = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])  # clipped to 1
    if pairs:
        weight[0, 2] = weight[2, 0] = 0.0  # never known together
        expected[0, 2] = expected[2, 0] = 0.0
    corr = np.full((3, 3), np.nan)
    proximal.correlate(cov, weight if pairs else weight[:1], corr)
    assert_allclose(corr, expected)
    proximal.correlate(np.zeros((3, 3)), np.zeros((1, 3)), corr)
    assert np.array_equal(corr, np.eye(3))


@pytest.mark.parametrize("mode", ["shift", "laplacian", "signed", "paper"])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_penalty_of_every_mode(rng, mode, K):
    corr = random_correlation(rng, K)
    M = np.full((K, K), np.nan)
    top = proximal.derive_penalty(CORRELATIONS[mode], corr, M)
    expected, expected_top = naive.penalty(corr, mode)
    assert_allclose(M, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(top, expected_top, rtol=1e-10, atol=1e-12)


# Curvature


@pytest.mark.parametrize("p", [1, 4])
def test_curvature_is_a_power_iteration(rng, p):
    G, _, Delta, _ = (a[0] for a in random_problem(rng, p, 1))
    row, image = np.append(rng.normal(size=p), 1.0), np.zeros(p + 1)
    direction = np.zeros(p + 1)
    wanted = np.zeros(p + 1)
    for _ in range(3):  # from the row, then twice from where it stopped
        estimate, wanted = naive.power_iteration(G, Delta, wanted, row)
        bound = proximal.refresh_curvature(G, Delta, row, 1e9, direction, image)
        assert_allclose(bound, 1.05 * estimate, rtol=1e-12)
        assert_allclose(direction, wanted, rtol=1e-9, atol=1e-12)
    assert proximal.refresh_curvature(G, Delta, row, 1e-3, direction, image) == 1e-3


# Steps


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.7), (0.4, 0.0), (0.4, 0.7)])
def test_proposed_step_of_all_columns(rng, p, K, alpha, beta):
    W, D = rng.normal(size=(2, p + 1, K))
    M, _ = naive.penalty(random_correlation(rng, K), "shift")
    known = rng.uniform(size=K) < 0.7
    step = np.full((p + 1, K), np.nan)
    squared = proximal.propose_step(W, D, W @ M, alpha, beta, 1.0 / 2.5, known, 0, K, step)
    expected = np.where(known, naive.proximal_move(W, D, M, beta, alpha, 2.5), 0.0)
    assert_allclose(step, expected, rtol=1e-12, atol=1e-14)
    assert_allclose(squared, (expected**2).sum(), rtol=1e-12)


def test_proposed_step_of_some_columns_leaves_the_rest(rng):
    W, D = rng.normal(size=(2, 3, 4))
    step = np.full((3, 4), 9.0)
    known = np.ones(4, dtype=bool)
    proximal.propose_step(W, D, np.zeros((3, 4)), 0.1, 0.0, 0.5, known, 1, 2, step)
    assert (step[:, [0, 2, 3]] == 9.0).all()
    expected = naive.proximal_move(W, D, np.zeros((4, 4)), 0.0, 0.1, 2.0)
    assert_allclose(step[:, 1], expected[:, 1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("span", [(0, 3), (1, 2)])
def test_bend_and_take_step(rng, span):
    columns = slice(*span)
    G, Delta = random_problem(rng, 2, 3)[0][0], np.array([0.1, 0.2, 0.3])
    step, W, D = rng.normal(size=(3, 3, 3))
    product = G @ step
    before, W_old, D_old = product.copy(), W.copy(), D.copy()
    energy = proximal.bend(step, Delta, product, *span)
    bent = (G + np.diag(Delta)) @ step
    assert_allclose(product[:, columns], bent[:, columns], rtol=1e-12)
    assert_allclose(energy, (step * bent)[:, columns].sum(), rtol=1e-12)
    largest = proximal.take_step(W, D, step, product, *span)
    assert_allclose(W[:, columns], (W_old + step)[:, columns], rtol=1e-14)
    assert_allclose(D[:, columns], (D_old + bent)[:, columns], rtol=1e-12)
    assert largest == np.abs(W[:, columns]).max()
    others = [c for c in range(3) if not span[0] <= c < span[1]]
    for actual, old in ((product, before), (W, W_old), (D, D_old)):
        assert np.array_equal(actual[:, others], old[:, others])


def test_largest_weight_shows_infinity_and_nan():
    for value in (np.inf, -np.inf, np.nan):
        W = np.array([[1.0, 2.0], [3.0, 4.0]])
        step = np.zeros((2, 2))
        step[1, 1] = value
        assert not proximal.take_step(W, np.zeros((2, 2)), step, step, 0, 2) <= 1e300


def test_settle_is_the_ridge_solution(rng):
    G, B, Delta, W_prior = random_problem(rng, 3, 4)
    P = np.linalg.inv(G[0] + np.diag(Delta[0]))
    W, D = rng.normal(size=(2, 4, 4))
    old = W[:, 0].copy()
    proximal.settle(P, B, Delta[0], W_prior, W, D, 1, 4, np.zeros(4), np.zeros(4))
    expected = naive.ridge(G, B, Delta, W_prior)
    assert_allclose(W[:, 1:], expected[:, 1:], rtol=1e-9)
    assert (D[:, 1:] == 0.0).all()
    assert np.array_equal(W[:, 0], old)


def one_rule(rng, p, K, groups, **changes):
    """A learner with one rule that has learned something, and a curvature bound."""
    learner = learner_with_rules(rng, 1, p, K, **changes)
    rules = learner.rules
    if groups > 1:
        rules.split_groups()
    G, B, Delta, W_prior = random_problem(rng, p, K, groups)
    rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0] = G, B, Delta, W_prior
    rules.W[0] = rng.normal(size=(p + 1, K))
    rules.D[0] = naive.gradient(G, B, Delta, rules.W[0], W_prior)
    corr = random_correlation(rng, K)
    rules.penalty[0], rules.penalty_top[0] = naive.penalty(corr, learner.params.correlation)
    tops = [np.linalg.eigvalsh(H)[-1] for H in naive.hessians(G, Delta, K)]
    rules.curvature[0] = tops[:groups]
    return learner


@pytest.mark.parametrize("bound", [1.0, 0.2], ids=["true bound", "bound too low"])
@pytest.mark.parametrize("lipschitz", ["exact", "paper"])
@pytest.mark.parametrize(("p", "K", "groups"), [(1, 1, 1), (3, 3, 1), (2, 3, 3)])
def test_step_with_the_guard_of_the_bound(rng, p, K, groups, lipschitz, bound):
    learner = one_rule(rng, p, K, groups, lipschitz=lipschitz, alpha=0.1, beta=0.6)
    rules = learner.rules
    rules.curvature[0] *= bound
    names = ("W", "D", "G", "Delta", "penalty", "penalty_top", "curvature")
    state = [np.copy(getattr(rules, name)[0]) for name in names]
    expected = naive.proximal_step(*state, 0.1, 0.6, None, lipschitz)
    polish(learner, 0)
    for name, value in zip(("W", "D", "curvature"), expected, strict=True):
        assert_allclose(getattr(rules, name)[0], value, rtol=1e-9, atol=1e-11)
    raised = rules.curvature[0] > state[-1]
    assert raised.all() if (bound < 1.0 and lipschitz == "exact") else not raised.any()


def test_a_vanishing_step_does_not_spoil_the_bound(rng):
    # With one label there is nothing to correlate: D only shrinks, by a factor a row, until the
    # square of a step underflows while that times the curvature does not.
    learner = one_rule(rng, 2, 1, 1, alpha=0.0, beta=0.5)
    rules = learner.rules
    bound = rules.curvature[0].copy()
    for size in 2.0 ** -np.arange(500.0, 560.0):
        rules.D[0] = [[0.0], [0.0], [size]]
        polish(learner, 0)
        assert np.array_equal(rules.curvature[0], bound)


# Groups of labels


def test_spans_of_groups():
    assert learning.group_span(0, 1, 5) == (0, 5)
    assert learning.group_span(3, 5, 5) == (3, 4)


def test_known_labels_are_counted():
    known = np.zeros(3, dtype=bool)
    assert learning.note_known(np.array([0.0, np.nan, 1.0]), known) == 2
    assert known.tolist() == [True, False, True]


# Modes


@pytest.mark.parametrize("changes", [{"correlation": "none"}, {"alpha": 0.0, "beta": 0.0}])
def test_mode_without_steps_never_moves(rng, changes):
    learner = one_rule(rng, 2, 2, 1, **changes)
    W, D = learner.rules.W.copy(), learner.rules.D.copy()
    polish(learner, 0)
    assert np.array_equal(learner.rules.W, W)
    assert np.array_equal(learner.rules.D, D)


def test_stopped_rules_are_not_polished(rng):
    learner = one_rule(rng, 2, 2, 1)
    learner.rules.stopped[0] = 5
    W = learner.rules.W.copy()
    polish(learner, 0)
    assert np.array_equal(learner.rules.W, W)


@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_penalty_of_a_stream_is_renewed_as_weight_grows(rng, mode):
    learner = unscaled_learner(2, 3, correlation=mode, vigilance=1e9, merging=False)
    X, Y = random_rows(rng, 30, 2, 3)
    for _ in learn_rows(learner, X, Y):
        rules = learner.rules
        if rules.weight[0] < 1.0:
            assert not rules.penalty.any()
        else:
            assert rules.penalty_slack[0] < 0.1 * rules.weight[0]
