"""Label correlation, penalties, curvature bounds and proximal steps."""

import faulthandler

import numpy as np
import pytest
from helpers.streams import (
    AsWritten,
    assert_same_rules,
    learn_rows,
    learner_with_rules,
    naive_learner,
    polish,
    random_correlation,
    random_rows,
    unscaled_learner,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import learning, proximal, rule_update
from efcml.model.params import CORRELATIONS

pytestmark = pytest.mark.uncompiled

SHAPES = [(1, 1), (1, 3), (4, 1), (3, 3)]


@pytest.fixture
def no_hanging():
    """End the run with a traceback, where an endless loop of compiled code could not be stopped."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


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
    direction, wanted = np.zeros(p + 1), np.zeros(p + 1)
    for _ in range(30):  # from the row, then from where it stopped
        estimate, wanted = naive.power_iteration(G, Delta, wanted, row)
        bound = proximal.refresh_curvature(G, Delta, row, direction, image)
        assert_allclose(bound, proximal.MARGIN * estimate, rtol=1e-12)
        assert_allclose(direction, wanted, rtol=1e-9, atol=1e-12)
    assert bound > np.linalg.eigvalsh(G + np.diag(Delta))[-1]


# Steps; W, D and the like are stored with one row per label


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.7), (0.4, 0.0), (0.4, 0.7)])
def test_proposed_step_of_all_labels(rng, p, K, alpha, beta):
    W, D = rng.normal(size=(2, K, p + 1))
    M, _ = naive.penalty(random_correlation(rng, K), "shift")
    known = rng.uniform(size=K) < 0.7
    step = np.full((K, p + 1), np.nan)
    squared = proximal.propose_step(W, D, M @ W, alpha, beta, 1.0 / 2.5, known, step)
    expected = np.where(known, naive.proximal_move(W.T, D.T, M, beta, alpha, 2.5), 0.0)
    assert_allclose(step, expected.T, rtol=1e-12, atol=1e-14)
    assert_allclose(squared, (expected**2).sum(), rtol=1e-12)


def test_proposed_step_of_some_labels_leaves_the_rest(rng):
    W, D = rng.normal(size=(2, 4, 3))
    step = np.full((4, 3), 9.0)
    known, MW, one = np.ones(4, dtype=bool), np.zeros((4, 3)), slice(1, 2)
    parts = W[one], D[one], MW[one]
    proximal.propose_step(*parts, 0.1, 0.0, 0.5, known[one], step[one])
    assert (step[[0, 2, 3]] == 9.0).all()
    expected = naive.proximal_move(W.T, D.T, np.zeros((4, 4)), 0.0, 0.1, 2.0)
    assert_allclose(step[1], expected[:, 1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("span", [(0, 3), (1, 2)])
def test_bend_and_take_step(rng, span):
    labels = slice(*span)
    G, Delta = random_problem(rng, 2, 3)[0][0], np.array([0.1, 0.2, 0.3])
    step, W, D = rng.normal(size=(3, 3, 3))
    product = step @ G
    before, W_old, D_old = product.copy(), W.copy(), D.copy()
    energy = proximal.bend(step[labels], Delta, product[labels])
    bent = step @ (G + np.diag(Delta))
    assert_allclose(product[labels], bent[labels], rtol=1e-12)
    assert_allclose(energy, (step * bent)[labels].sum(), rtol=1e-12)
    size = proximal.take_step(W[labels], D[labels], step[labels], product[labels])
    assert_allclose(W[labels], (W_old + step)[labels], rtol=1e-14)
    assert_allclose(D[labels], (D_old + bent)[labels], rtol=1e-12)
    assert_allclose(size, (W[labels] ** 2).sum(), rtol=1e-12)
    others = [c for c in range(3) if not span[0] <= c < span[1]]
    for actual, old in ((product, before), (W, W_old), (D, D_old)):
        assert np.array_equal(actual[others], old[others])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 11.0, -11.0])
def test_guard_sees_large_weights_and_nan(value):
    W = np.array([[1.0, -10.0], [3.0, 4.0]])
    assert not proximal.is_beyond(W, 10.0)
    W[1, 0] = value
    assert proximal.is_beyond(W, 10.0)
    zero = np.zeros((2, 2))
    assert not proximal.take_step(W, zero.copy(), zero, zero) <= 100.0


def test_settle_is_the_ridge_solution(rng):
    G, B, Delta, W_prior = random_problem(rng, 3, 4)
    P = np.linalg.inv(G[0] + np.diag(Delta[0]))
    W, D = rng.normal(size=(2, 4, 4))
    old = W[0].copy()
    B_rows, prior_rows = (np.ascontiguousarray(part.T)[1:] for part in (B, W_prior))
    stored = B_rows, Delta[0], prior_rows
    proximal.settle(P, *stored, W[1:], D[1:], np.zeros(4))
    expected = naive.ridge(G, B, Delta, W_prior)
    assert_allclose(W[1:].T, expected[:, 1:], rtol=1e-9)
    assert (D[1:] == 0.0).all()
    assert np.array_equal(W[0], old)


def one_rule(rng, p, K, groups, **changes):
    """A learner with one rule that has learned something, and its Hessians' largest directions."""
    learner = learner_with_rules(rng, 1, p, K, **changes)
    if groups > 1:
        learner.rules.split_groups()
    rules = AsWritten(learner.rules)
    G, B, Delta, W_prior = random_problem(rng, p, K, groups)
    rules.B[0], rules.Delta[0], rules.W_prior[0] = B, Delta, W_prior
    learner.rules.arrays.G[0] = np.tril(G)
    learner.rules.arrays.P[0] = [np.linalg.inv(H) for H in naive.hessians(G, Delta, K)[:groups]]
    rules.W[0] = rng.normal(size=(p + 1, K))
    rules.D[0] = naive.gradient(G, B, Delta, rules.W[0], W_prior)
    corr = random_correlation(rng, K)
    rules.penalty[0], rules.penalty_top[0] = naive.penalty(corr, learner.params.correlation)
    for g, H in enumerate(naive.hessians(G, Delta, K)[:groups]):
        values, vectors = np.linalg.eigh(H)
        rules.curvature[0, g], rules.curvature_direction[0, g] = values[-1], vectors[:, -1]
    return learner


@pytest.mark.parametrize("low", [False, True], ids=["true bound", "bound too low"])
@pytest.mark.parametrize("lipschitz", ["exact", "paper"])
@pytest.mark.parametrize(("p", "K", "groups"), [(1, 1, 1), (3, 3, 1), (2, 3, 3)])
def test_step_with_the_guard_of_the_bound(rng, p, K, groups, lipschitz, low):
    changes = {"lipschitz": lipschitz, "alpha": 0.1, "beta": 0.6}
    learner = one_rule(rng, p, K, groups, **changes)
    rules = AsWritten(learner.rules)
    H = [G + np.diag(Delta) for G, Delta in zip(rules.G[0], rules.Delta[0], strict=True)]
    if low:  # the power iteration starts at the smallest eigenvalue
        rules.curvature_direction[0] = [np.linalg.eigh(A)[1][:, 0] for A in H]
    twin = naive_learner(p, K, **changes)
    (one,) = naive.unstack_rules({name: getattr(rules, name) for name in naive.FIELD_NAMES})
    twin.correct(one, np.ones(p + 1), np.ones(K, dtype=bool))
    polish(learner, 0)
    assert_same_rules(learner.rules, [one], rtol=1e-9, atol=1e-11)
    margin = rules.curvature[0] / [np.linalg.eigvalsh(A)[0 if low else -1] for A in H]
    if low and lipschitz == "exact":
        assert (margin > 1.01 * proximal.MARGIN).all()
    else:
        assert_allclose(margin, proximal.MARGIN, rtol=1e-9)


@pytest.mark.usefixtures("no_hanging")
def test_a_vanishing_step_does_not_spoil_the_bound(rng):
    # With one label there is nothing to correlate: D only shrinks, by a factor a row, until the
    # square of a step underflows while that times the curvature does not.
    learner = one_rule(rng, 2, 1, 1, alpha=0.0, beta=0.5)
    rules = learner.rules
    W = rules.W.copy()
    bound = proximal.MARGIN * rules.curvature[0]
    for size in 2.0 ** -np.arange(500.0, 560.0):
        rules.D[0] = [[0.0, 0.0, size]]
        polish(learner, 0)
        assert_allclose(rules.curvature[0], bound, rtol=1e-9)
    assert np.array_equal(rules.W, W)


@pytest.mark.usefixtures("no_hanging")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_gradient_stops_the_rule(rng, value):
    learner = one_rule(rng, 2, 2, 1, weight_limit=np.inf)
    rules = AsWritten(learner.rules)
    rules.D[0, 0, 1] = value
    with np.errstate(invalid="ignore"):
        polish(learner, 0)
        polish(learner, 0)
    assert rules.stopped[0] > 0
    expected = naive.ridge(rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0])
    assert_allclose(rules.W[0], expected, rtol=1e-9)


# Groups of labels


def test_spans_of_groups():
    assert rule_update.group_span(0, 1, 5) == (0, 5)
    assert rule_update.group_span(3, 5, 5) == (3, 4)


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
