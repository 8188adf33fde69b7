"""The slow twin against closed forms and finite differences, and the rivals of the benchmark."""

import numpy as np
import pytest
from helpers.streams import random_correlation, random_rows, start_variance
from naive import learner as naive
from numpy.testing import assert_allclose

FIXED = {"vigilance": 1e9, "merging": False}  # no births, no merges


def random_problem(rng, K=3, n=12):
    """Statistics of one rule: G, B, Delta, W_prior, label co-moments and weight."""
    X, Y = random_rows(rng, n, 3, K)
    R = np.column_stack([X, np.ones(n)])
    G, B, weight, _, cov = naive.batch_moments(R, Y, rng.uniform(0.05, 1.0, size=n))
    Delta = np.append(rng.uniform(0.2, 1.0, size=3), 0.05)
    return G, B, Delta, rng.normal(size=(4, K)), cov, weight


def make_learner(p, K, **changes):
    values = {"S_0": start_variance(p, K), "bandwidth": p} | FIXED | changes
    return naive.NaiveLearner(p=p, K=K, **values)


def test_activations_far_away_do_not_underflow():
    psi = naive.activations(np.array([1e6, 1e6 + 2.0, 1e9]), 1.0)
    assert_allclose(psi, [1.0 / (1.0 + np.exp(-1.0)), 1.0 / (1.0 + np.exp(1.0)), 0.0], rtol=1e-9)


def test_radius_by_hand():
    assert_allclose(naive.radius(0.5, 1, 1.0), 0.5 * 16.0)
    assert_allclose(naive.radius(0.3, 4, 1e15), 0.3 * 4.0 ** (1.0 / np.sqrt(2.0)))


def test_variance_floor_keeps_the_unexcited_directions_open():
    learner = make_learner(2, 1, variance_floor=0.3)
    rule = learner.new_rule(np.zeros(3), np.zeros((3, 1)))
    for _ in range(2000):
        learner.update_antecedent(rule, np.zeros(3))
    S = rule.joint_covariance()
    assert_allclose(np.diag(S), 0.3 * learner.S_0, rtol=0.02)
    assert_allclose(rule.log_det[0], np.linalg.slogdet(S)[1], rtol=1e-8)
    assert_allclose(rule.input_covariance(), S[:2, :2], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("lam", [1.0, 0.97])
def test_rfwls_is_the_ridge_closed_form(lam):
    rng, p, K, n = np.random.default_rng(7), 3, 2, 25
    X, Y = random_rows(rng, n, p, K)
    R, psi = np.column_stack([X, np.ones(n)]), rng.uniform(0.01, 1.0, size=n)
    prior, W_prior = np.array([0.7, 0.2, 1.1, 0.05]), rng.normal(size=(p + 1, K))
    state = np.diag(1 / prior), np.zeros((4, 4)), np.zeros((4, K)), np.zeros((4, K)), prior, W_prior
    for r, y, w in zip(R, Y, psi, strict=True):
        state = naive.rfwls(*state, r, y, w, lam)
    P, G, B, D, Delta, W = state
    weights, left = naive.row_weights(psi, lam)
    assert_allclose(Delta, prior * left)
    # The same fit as plain least squares on rows scaled by the roots of their weights.
    design = np.vstack([np.sqrt(weights)[:, None] * R, np.diag(np.sqrt(Delta))])
    target = np.vstack([np.sqrt(weights)[:, None] * Y, np.sqrt(Delta)[:, None] * W_prior])
    direct = np.linalg.lstsq(design, target, rcond=None)[0]
    assert_allclose(W, direct, rtol=1e-8, atol=1e-10)
    assert_allclose(naive.ridge(G, B, Delta, W_prior), direct, rtol=1e-8, atol=1e-10)
    assert_allclose(P, np.linalg.inv(design.T @ design), rtol=1e-8)
    assert_allclose(D, 0.0, atol=1e-10)


def test_rfwls_is_the_gain_form():
    rng = np.random.default_rng(8)
    G, B, Delta, W, _, _ = random_problem(rng)
    P, r, y, psi, lam = np.linalg.inv(G + np.diag(Delta)), rng.normal(size=4), np.ones(3), 0.4, 0.9
    new = naive.rfwls(P, G, B, np.zeros((4, 3)), Delta, W, r, y, psi, lam)
    gain = psi * P @ r / (lam**psi + psi * r @ P @ r)
    assert_allclose(new[-1], W + np.outer(gain, y - r @ W), rtol=1e-9)
    assert_allclose(new[0], (P - np.outer(gain, r @ P)) / lam**psi, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lam", [1.0, 0.9])
def test_label_moments_are_the_weighted_covariance(lam):
    rng = np.random.default_rng(11)
    _, Y = random_rows(rng, 20, 2, 4)
    psi = rng.uniform(0.01, 1.0, size=20)
    state = np.zeros(4), np.zeros(4), np.zeros((4, 4))
    for y, w in zip(Y, psi, strict=True):
        state = naive.label_moments(*state, y, w, lam**w)
    weights, _ = naive.row_weights(psi, lam)
    assert_allclose(state[0], weights.sum())
    assert_allclose(state[1], np.average(Y, axis=0, weights=weights), rtol=1e-10)
    direct = np.cov(Y.T, aweights=weights, ddof=0) * weights.sum()
    assert_allclose(state[2], direct, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_convex_penalties_are_positive_semidefinite(mode):
    rng = np.random.default_rng(14)
    for K in (1, 2, 6):
        M, top = naive.penalty(random_correlation(rng, K), mode)
        values = np.linalg.eigvals(M).real
        assert values.min() >= -1e-12
        assert_allclose(top, values.max(), atol=1e-12)


def test_laplacian_penalties_are_sums_of_squares():
    rng = np.random.default_rng(15)
    corr, W = random_correlation(rng, 4), rng.normal(size=(3, 4))
    sums = {"laplacian": 0.0, "signed": 0.0}
    for c, e in zip(*np.tril_indices(4, -1), strict=True):
        mirrored = W[:, c] - np.sign(corr[c, e]) * W[:, e]
        sums["laplacian"] += max(corr[c, e], 0.0) * np.sum((W[:, c] - W[:, e]) ** 2)
        sums["signed"] += abs(corr[c, e]) * mirrored @ mirrored
    for mode, expected in sums.items():
        assert_allclose(np.trace(naive.penalty(corr, mode)[0] @ W.T @ W), expected, rtol=1e-10)


def test_paper_penalty_is_indefinite_and_unbounded():
    rng = np.random.default_rng(16)
    A, top = naive.penalty(random_correlation(rng, 4), "paper")
    values, vectors = np.linalg.eigh(A)
    assert values[0] < -1e-3 and (values > 1e-12).sum() == 1
    assert_allclose([top, values.sum()], [values[-1], 0.0], atol=1e-12)
    problem = random_problem(rng, K=4)[:4]
    direction = np.vstack([np.outer(np.ones(3), vectors[:, 0]), np.zeros(4)])
    near, far = (naive.objective(t * direction, *problem, A, 0.1, 100.0) for t in (1e2, 1e4))
    assert far < 100.0 * near < 0.0


@pytest.mark.parametrize("mode", ["shift", "paper"])
@pytest.mark.parametrize("grouped", [False, True])
def test_gradient_is_that_of_the_objective(mode, grouped):
    rng, beta = np.random.default_rng(18), 0.8
    problems = [random_problem(rng) for _ in range(3)]
    G, B, Delta, W_prior, cov, weight = problems[0]
    M, _ = naive.penalty(naive.correlation(cov, weight), mode)
    if grouped:
        G, Delta = (np.array([each[i] for each in problems]) for i in (0, 2))
    W = rng.normal(size=W_prior.shape)
    exact = naive.smooth_gradient(naive.gradient(G, B, Delta, W, W_prior), W, M, beta)
    for index in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[index] = 1e-4
        up, down = (
            naive.objective(W + move, G, B, Delta, W_prior, M, 0.0, beta) for move in (step, -step)
        )
        assert_allclose((up - down) / 2e-4, exact[index], rtol=1e-6, atol=1e-7)


def test_proximal_step_leaves_the_intercept_to_least_squares():
    G, B, Delta, W_prior, cov, weight = random_problem(np.random.default_rng(21))
    M, top = naive.penalty(naive.correlation(cov, weight), "shift")
    W, curvature = naive.ridge(G, B, Delta, W_prior), np.linalg.eigvalsh(G + np.diag(Delta))[-1:]
    given = W, np.zeros_like(W), G[None], Delta[None], M, top, curvature
    stepped, *_ = naive.proximal_step(*given, 1e6, 0.5)
    assert_allclose(stepped[-1], W[-1])
    assert not stepped[:-1].any()


def test_merge_test_accepts_twins_and_refuses_strangers():
    S_0, Z = np.full(3, 0.5), np.random.default_rng(30).normal(size=(400, 3))
    one, (center, S) = naive.batch_gaussian(Z[:200], S_0), naive.batch_gaussian(Z[200:], S_0)
    # The last has equal overlap, but the volume factor alone refuses.
    for moved, factor, allowed in ((0.0, 1.1, True), (3.0, 1.1, False), (0.0, 0.1, False)):
        pair = (*one, 200.0, 1.0, center + moved, S, 200.0, 1.0)
        assert naive.merge_allowed(*pair, S_0, 1.0, np.log(factor), 0.8) == allowed


def test_paper_merge_of_weights():
    W1, W2 = np.array([[10.0, 1.0], [0.5, 0.2]]), np.array([[-10.0, 1.0], [0.1, 0.4]])
    angle = np.arccos((-100.0 + 1.0) / 101.0)
    assert_allclose(naive.consequent_similarity(W1, W2), 1.0 - angle / np.pi)
    assert_allclose(naive.merge_weights_paper(W1, W2, 30.0, 10.0, 0.9), W1)
    averaged = naive.merge_weights_paper(W1, W2, 30.0, 10.0, 0.05)
    assert_allclose(averaged, 0.75 * W1 + 0.25 * W2)
    # Intercepts do not turn the normals.
    assert_allclose(naive.consequent_similarity(W1, W1 + [[0.0, 0.0], [9.0, -9.0]]), 1.0, atol=1e-7)


def test_merged_rule_is_the_rule_of_all_rows():
    rng, p, K = np.random.default_rng(32), 3, 2
    X, Y = random_rows(rng, 40, p, K)
    Z, W, found = np.column_stack([X, Y]), rng.normal(size=(p + 1, K)), []
    for rows in (range(25), range(25, 40), range(40)):
        learner = make_learner(p, K, alpha=0.05, beta=0.3, n_steps=2)
        rule = learner.new_rule(Z[rows[0]], W)
        for t in rows:
            # With one rule Psi is 1, so the rule holds the sums over exactly these rows.
            if t > rows[0]:
                learner.update_antecedent(rule, Z[t])
            learner.learn_consequent(rule, naive.extend(X[t]), Y[t], np.full(K, True), 1.0)
        found.append(rule)
    one, two, union = found
    merged = learner.merged_rule(one, two, 1.0)
    exact = "center joint_precision input_precision log_det support prior_share updates P G B Delta"
    for name in (*exact.split(), "W_prior", "weight", "label_weight", "label_mean", "label_cov"):
        actual, expected = getattr(merged, name), getattr(union, name)
        assert_allclose(actual, expected, rtol=1e-8, atol=1e-10, err_msg=name)
    D = naive.gradient(merged.G, merged.B, merged.Delta, merged.W, merged.W_prior)
    assert_allclose(merged.D, D, atol=1e-9)
    corr = naive.correlation(union.label_cov, union.label_weight)
    assert_allclose(merged.penalty, naive.penalty(corr, "shift")[0], atol=1e-9)


def test_nobody_learns_a_birth_row_without_birth_learning():
    learner = make_learner(1, 1, vigilance=0.1, bandwidth=1e6, birth_learning=False)
    learner.learn_row(np.zeros(1), np.zeros(1))
    learner.learn_row(np.full(1, 50.0), np.ones(1))
    assert [rule.weight for rule in learner.rules] == [0.0, 0.0]


SETTINGS = [
    {"alpha": 0.05, "beta": 0.5, "n_steps": 2, "correlation": "shift"},
    {"alpha": 0.02, "beta": 0.2, "forgetting": 0.8, "variance_floor": 0.1, "correlation": "signed"},
    {"beta": 0.5, "product_space": False, "step_interval": 0.5, "correlation": "laplacian"},
    {"beta": 10.0, "lipschitz": "paper", "weight_limit": 1e3, "correlation": "paper"},
    {"alpha": 0.5, "correlation": "none", "activation_floor": 0.05},
]


@pytest.mark.parametrize("rival", [naive.BatchedNumpyLearner, naive.LoopNumpyLearner])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting["correlation"])
def test_rivals_are_the_naive_learner(rival, setting):
    rng, learner = np.random.default_rng(40), make_learner(3, 3, **setting)
    for _ in range(4):
        learner.rules.append(learner.new_rule(rng.normal(size=6), rng.normal(size=(4, 3))))
    other = rival(learner.rules, p=3, K=3, S_0=learner.S_0, bandwidth=3, **setting)
    for x, y in zip(*random_rows(rng, 40, 3, 3), strict=True):
        assert_allclose(other.score(x), learner.score(x), rtol=1e-7, atol=1e-8)
        learner.learn_row(x, y)
        other.learn_row(x, y)
    assert other.stopped.any() == (setting["correlation"] == "paper")
    # Rivals drop no rule, derive no P anew and tell a reader nothing.
    counts = ("use", "unchecked", "decided", "decided_sum", "decided_known", "decided_ones")
    for name, expected in naive.stack_rules(learner.rules).items():
        if name in (*naive.GROUPED, "label_weight", "label_mean"):
            expected = expected[:, 0]
        if name not in counts and not (name == "uncorrected" and other.stopped.any()):
            assert_allclose(getattr(other, name), expected, rtol=1e-6, atol=1e-7, err_msg=name)
