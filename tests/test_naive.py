"""The references of naive.py against closed forms, finite differences and general solvers."""

import copy

import numpy as np
import pytest
from naive import learner as naive
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

pytestmark = pytest.mark.uncompiled

pytestmark = pytest.mark.slow  # nothing of efcml runs here: the uncompiled run would only repeat it


def random_rows(rng, n, p, K):
    """Features and correlated 0/1 labels."""
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, size=p)
    latent = X @ rng.normal(size=(p, K)) + rng.normal(size=(n, K)) + rng.normal(size=(n, 1))
    return X, (latent > 0.0).astype(float)


def random_covariance(rng, n):
    A = rng.normal(size=(n, n + 3))
    return A @ A.T / n + 0.1 * np.eye(n)


def random_problem(rng, p=3, K=3, n=12):
    """Statistics of one rule: G, B, Delta, W_prior, label co-moments and weight."""
    X, Y = random_rows(rng, n, p, K)
    R = np.column_stack([X, np.ones(n)])
    G, B, weight, _, cov = naive.batch_moments(R, Y, rng.uniform(0.05, 1.0, size=n))
    Delta = np.append(rng.uniform(0.2, 1.0, size=p), 0.05)
    return G, B, Delta, rng.normal(size=(p + 1, K)), cov, weight


def random_correlation(rng, K, n=30):
    _, Y = random_rows(rng, n, 2, K)
    return naive.correlation(np.cov(Y.T, bias=True).reshape(K, K), 1.0)


def top_curvature(G, Delta):
    return np.linalg.eigvalsh(G + np.diag(Delta))[-1:]


def assert_same_rules(actual, expected, rtol=1e-8, atol=1e-9, without=()):
    assert len(actual["support"]) == len(expected["support"])
    for name in [name for name in naive.FIELD_NAMES if name not in without]:
        assert_allclose(actual[name], expected[name], rtol=rtol, atol=atol, err_msg=name)


def parameters(p, K, **changes):
    """Constructor arguments of a learner that gives no birth and merges nothing."""
    S_0 = np.append(np.linspace(0.5, 2.0, p), np.full(K, 0.25))
    values = {"p": p, "K": K, "S_0": S_0, "vigilance": 1e9, "merging": False, "bandwidth": p}
    return values | changes


def start_rules(rng, n_rules, groups=1, **arguments):
    """Young rules at random places, with different consequents."""
    maker = naive.NaiveLearner(**arguments)
    maker.groups = groups
    shape = (maker.d, maker.K)
    return [
        maker.new_rule(rng.normal(size=maker.q), rng.normal(size=shape)) for _ in range(n_rules)
    ]


# Activation and inference


def test_distances_and_activations():
    rng = np.random.default_rng(1)
    centers, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    covariances = [random_covariance(rng, 3) for _ in range(4)]
    m2 = naive.distances(x, centers, [np.linalg.inv(S) for S in covariances])
    log_density = [
        stats.multivariate_normal(c, S).logpdf(x) for c, S in zip(centers, covariances, strict=True)
    ]
    constant = [-0.5 * np.linalg.slogdet(2.0 * np.pi * S)[1] for S in covariances]
    assert_allclose(-0.5 * m2, np.subtract(log_density, constant), rtol=1e-10)
    assert_allclose(naive.activations(m2, 1.7), special.softmax(-m2 / 3.4), rtol=1e-12)


def test_activations_far_away_do_not_underflow():
    psi = naive.activations(np.array([1e6, 1e6 + 2.0, 1e9]), 1.0)
    assert_allclose(psi, [1.0 / (1.0 + np.exp(-1.0)), 1.0 / (1.0 + np.exp(1.0)), 0.0], rtol=1e-9)


def test_scores_are_blended_planes():
    rng = np.random.default_rng(2)
    X, centers = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))
    precisions = [random_covariance(rng, 2) for _ in range(3)]
    W = rng.normal(size=(3, 3, 4))
    scores = naive.score_rows(X, centers, precisions, W, 2.0)
    for x, score in zip(X, scores, strict=True):
        e = x - centers
        psi = special.softmax(-np.einsum("ci,cij,cj->c", e, np.array(precisions), e) / 4.0)
        assert_allclose(score, psi @ (x @ W[:, :2] + W[:, 2]), rtol=1e-10)


# Antecedents


def test_radius_by_hand():
    assert_allclose(naive.radius(0.5, 1, 1.0), 0.5 * 16.0)
    assert_allclose(naive.radius(0.3, 4, 1e15), 0.3 * 4.0 ** (1.0 / np.sqrt(2.0)))


@pytest.mark.parametrize("k", [1, 2, 17])
def test_incremental_gaussian_is_the_batch_one(k):
    rng = np.random.default_rng(k)
    q, p = 5, 3
    Z = rng.normal(size=(k, q)) @ rng.normal(size=(q, q)) + 3.0
    S_0 = rng.uniform(0.1, 1.0, size=q)
    center, precision, log_det = Z[0], np.diag(1.0 / S_0), np.log(S_0).sum()
    marginal, log_det_x = np.diag(1.0 / S_0[:p]), np.log(S_0[:p]).sum()
    for i in range(1, k):
        _, marginal, log_det_x = naive.update_gaussian(
            center[:p], marginal, log_det_x, float(i), Z[i, :p]
        )
        center, precision, log_det = naive.update_gaussian(
            center, precision, log_det, float(i), Z[i]
        )
    mean, S = naive.batch_gaussian(Z, S_0)
    direct = np.diag(S_0) / k + np.cov(Z.T, bias=True) if k > 1 else np.diag(S_0)
    assert_allclose(S, direct, rtol=1e-10, atol=1e-12)
    assert_allclose(center, mean, rtol=1e-10)
    assert_allclose(precision @ S, np.eye(q), atol=1e-9)
    assert_allclose(marginal @ S[:p, :p], np.eye(p), atol=1e-9)
    assert_allclose(log_det, np.linalg.slogdet(S)[1], rtol=1e-9)
    assert_allclose(log_det_x, np.linalg.slogdet(S[:p, :p])[1], rtol=1e-9)


def test_gaussian_update_is_the_printed_rank_one_form():
    rng = np.random.default_rng(3)
    q, k = 4, 6.0
    A, z, c = np.linalg.inv(random_covariance(rng, q)), rng.normal(size=q), rng.normal(size=q)
    log_det = -np.linalg.slogdet(A)[1]
    a, e = 1.0 / (k + 1.0), z - c
    v = A @ e
    center, precision, moved = naive.update_gaussian(c, A, log_det, k, z)
    assert_allclose(precision, (A - a * np.outer(v, v) / (1 + a * e @ v)) / (1 - a), rtol=1e-9)
    assert_allclose(moved, log_det + q * np.log(1 - a) + np.log(1 + a * e @ v), rtol=1e-9)
    assert_allclose(center, (k * c + z) / (k + 1.0), rtol=1e-12)


def test_floor_variance():
    rng = np.random.default_rng(4)
    S = random_covariance(rng, 4)
    precision, log_det = naive.floor_variance(np.linalg.inv(S), np.linalg.slogdet(S)[1], 2, 0.7)
    lifted = S + np.diag([0.0, 0.0, 0.7, 0.0])
    assert_allclose(precision @ lifted, np.eye(4), atol=1e-10)
    assert_allclose(log_det, np.linalg.slogdet(lifted)[1], rtol=1e-10)
    s = np.linalg.inv(S)[:, 2]
    assert_allclose(precision, np.linalg.inv(S) - 0.7 * np.outer(s, s) / (1 + 0.7 * s[2]))


def test_variance_floor_keeps_the_unexcited_directions_open():
    arguments = parameters(2, 1, variance_floor=0.3)
    rule = start_rules(np.random.default_rng(5), 1, **arguments)[0]
    learner = naive.NaiveLearner.from_rules([rule], **arguments)
    for _ in range(3000):
        learner.update_antecedent(learner.rules[0], rule.center)
    S = learner.rules[0].joint_covariance()
    assert_allclose(np.diag(S), 0.3 * learner.S_0, rtol=0.02)
    assert_allclose(learner.rules[0].log_det[0], np.linalg.slogdet(S)[1], rtol=1e-8)
    assert_allclose(learner.rules[0].input_covariance(), S[:2, :2], rtol=1e-8, atol=1e-12)


def test_capped_support_keeps_track_of_the_prior_share():
    rng = np.random.default_rng(6)
    arguments = parameters(2, 1, forgetting=0.9)
    rule = start_rules(rng, 1, **arguments)[0]
    learner = naive.NaiveLearner.from_rules([rule], **arguments)
    share_free = copy.deepcopy(rule)
    share_free.joint_precision = share_free.joint_precision / 4.0
    other = naive.NaiveLearner.from_rules([share_free], **arguments)
    for _ in range(25):
        z = rng.normal(size=3)
        learner.update_antecedent(learner.rules[0], z)
        other.update_antecedent(other.rules[0], z)
    one, two = learner.rules[0], other.rules[0]
    assert_allclose(one.support, 10.0)
    # Starting from 4 S_0 instead of S_0 changes k S by 3 times what is left of the prior.
    left = one.support * (two.joint_covariance() - one.joint_covariance())
    assert_allclose(left, 3.0 * one.prior_share * np.diag(learner.S_0), rtol=1e-7, atol=1e-10)


# Least squares and moments


@pytest.mark.parametrize("lam", [1.0, 0.97])
def test_rfwls_is_the_ridge_closed_form(lam):
    rng = np.random.default_rng(7)
    p, K, n = 3, 2, 25
    X, Y = random_rows(rng, n, p, K)
    R, psi = np.column_stack([X, np.ones(n)]), rng.uniform(0.01, 1.0, size=n)
    prior, W_prior = np.array([0.7, 0.2, 1.1, 0.05]), rng.normal(size=(p + 1, K))
    P, G, B, D = np.diag(1 / prior), np.zeros((4, 4)), np.zeros((4, K)), np.zeros((4, K))
    Delta, W = prior, W_prior
    for r, y, w in zip(R, Y, psi, strict=True):
        P, G, B, D, Delta, W = naive.rfwls(P, G, B, D, Delta, W, r, y, w, lam)
    weights, left = naive.row_weights(psi, lam)
    assert_allclose(Delta, prior * left)
    batch_G, batch_B, *_ = naive.batch_moments(R, Y, psi, lam)
    assert_allclose(G, batch_G, rtol=1e-10)
    assert_allclose(B, batch_B, rtol=1e-10, atol=1e-12)
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


@pytest.mark.parametrize("lam", [1.0, 0.95])
def test_rfwls_leaves_the_gradient_alone(lam):
    rng = np.random.default_rng(9)
    G, B, Delta, W_prior, _, _ = random_problem(rng)
    W, P = rng.normal(size=W_prior.shape), np.linalg.inv(G + np.diag(Delta))
    D = naive.gradient(G, B, Delta, W, W_prior)
    left = 1.0
    start = D
    for _ in range(10):
        psi = rng.uniform()
        left *= lam**psi
        r, y = rng.normal(size=4), rng.uniform(size=3)
        P, G, B, D, Delta, W = naive.rfwls(P, G, B, D, Delta, W, r, y, psi, lam)
    assert_allclose(naive.gradient(G, B, Delta, W, W_prior), left * start, rtol=1e-9, atol=1e-10)
    assert_allclose(D, left * start, rtol=1e-12)


def test_restore_prior_keeps_the_state_consistent():
    rng = np.random.default_rng(10)
    G, B, prior, W_prior, _, _ = random_problem(rng)
    Delta, W = 0.4 * prior, rng.normal(size=W_prior.shape)
    D = naive.gradient(G, B, Delta, W, W_prior)
    P, restored, D = naive.restore_prior(G, Delta, D, W, W_prior, prior)
    assert_allclose(restored, prior)
    assert_allclose(D, naive.gradient(G, B, prior, W, W_prior), rtol=1e-10, atol=1e-12)
    assert_allclose(P @ (G + np.diag(prior)), np.eye(4), atol=1e-10)


@pytest.mark.parametrize("lam", [1.0, 0.9])
def test_label_moments_are_the_weighted_covariance(lam):
    rng = np.random.default_rng(11)
    X, Y = random_rows(rng, 20, 2, 4)
    psi = rng.uniform(0.01, 1.0, size=20)
    weight, mean, cov = np.zeros(4), np.zeros(4), np.zeros((4, 4))
    for y, w in zip(Y, psi, strict=True):
        weight, mean, cov = naive.label_moments(weight, mean, cov, y, w, lam**w)
    weights, _ = naive.row_weights(psi, lam)
    assert_allclose(weight, weights.sum())
    assert_allclose(mean, np.average(Y, axis=0, weights=weights), rtol=1e-10)
    direct = np.cov(Y.T, aweights=weights, ddof=0) * weights.sum()
    assert_allclose(cov, direct, rtol=1e-9, atol=1e-12)
    R = np.column_stack([X, np.ones(20)])
    _, _, batch_weight, batch_mean, batch_cov = naive.batch_moments(R, Y, psi, lam)
    assert_allclose(batch_weight, weights.sum())
    assert_allclose(batch_mean, mean, rtol=1e-10)
    assert_allclose(batch_cov, direct, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("lam", [1.0, 0.9])
def test_pair_moments_are_those_of_the_rows_with_both_labels(share, lam):
    rng = np.random.default_rng(12)
    K = 3
    _, Y = random_rows(rng, 30, 2, K)
    psi, known = rng.uniform(0.01, 1.0, size=30), rng.uniform(size=(30, K)) <= share
    weight, mean, cov = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for y, w, mask in zip(Y, psi, known, strict=True):
        y = np.where(mask, y, np.nan)
        weight, mean, cov = naive.label_moments_pairs(weight, mean, cov, y, w, lam**w, mask)
    for c in range(K):
        for e in range(K):
            rows = known[:, c] & known[:, e]
            weights, _ = naive.row_weights(psi[rows], lam)
            pair = Y[rows][:, [c, e]]
            assert_allclose(weight[c, e], weights.sum())
            assert_allclose(mean[c, e], np.average(pair[:, 1], weights=weights), rtol=1e-10)
            direct = np.cov(pair.T, aweights=weights, ddof=0)[0, 1] * weights.sum()
            assert_allclose(cov[c, e], direct, rtol=1e-9, atol=1e-12)
    assert_allclose(cov, cov.T, atol=1e-12)


# Correlation and penalty


def test_correlation_is_pearson():
    rng = np.random.default_rng(13)
    _, Y = random_rows(rng, 40, 2, 4)
    psi = rng.uniform(size=40)
    cov = np.cov(Y.T, aweights=psi, ddof=0)
    expected = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert_allclose(naive.correlation(cov * psi.sum(), np.full((1, 4), psi.sum())), expected)


def test_correlation_of_constant_and_unseen_labels_is_zero():
    cov = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(naive.correlation(cov, 4.0)[2], [0.0, 0.0, 1.0])
    weight = np.array([[4.0, 0.0, 4.0], [0.0, 4.0, 4.0], [4.0, 4.0, 4.0]])
    assert_allclose(naive.correlation(cov, weight)[0], [1.0, 0.0, 0.0])
    assert_allclose(naive.correlation(np.zeros((2, 2)), 0.0), np.eye(2))
    assert_allclose(naive.correlation(np.array([[1.0, 3.0], [3.0, 1.0]]), 1.0)[0, 1], 1.0)


@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_convex_penalties_are_positive_semidefinite(mode):
    rng = np.random.default_rng(14)
    for K in (1, 2, 3, 6):
        M, top = naive.penalty(random_correlation(rng, K), mode)
        values = np.linalg.eigvals(M)
        assert_allclose(M, M.T, atol=1e-14)
        assert values.real.min() >= -1e-12
        assert_allclose(top, values.real.max(), atol=1e-12)


def test_penalties_by_hand():
    corr = np.array([[1.0, 0.6, -0.2], [0.6, 1.0, 0.0], [-0.2, 0.0, 1.0]])
    A = np.array([[0.0, 0.4, 1.2], [0.4, 0.0, 1.0], [1.2, 1.0, 0.0]])
    assert_allclose(naive.penalty(corr, "paper")[0], A)
    shifted = naive.penalty(corr, "shift")[0]
    assert_allclose(shifted - np.diag(np.diag(shifted)), A)
    assert_allclose(np.diag(shifted), -np.linalg.eigvals(A).real.min())
    laplacian = [[0.6, -0.6, 0.0], [-0.6, 0.6, 0.0], [0.0, 0.0, 0.0]]
    signed = [[0.8, -0.6, 0.2], [-0.6, 0.6, 0.0], [0.2, 0.0, 0.2]]
    assert_allclose(naive.penalty(corr, "laplacian")[0], laplacian)
    assert_allclose(naive.penalty(corr, "signed")[0], signed)
    assert not naive.penalty(corr, "none")[0].any()
    with pytest.raises(ValueError, match="unknown"):
        naive.penalty(corr, "other")


def test_laplacian_penalties_are_sums_of_squares():
    rng = np.random.default_rng(15)
    corr, W = random_correlation(rng, 4), rng.normal(size=(3, 4))
    sums = {"laplacian": 0.0, "signed": 0.0}
    for c in range(4):
        for e in range(c):
            value = corr[c, e]
            apart = W[:, c] - W[:, e]
            mirrored = W[:, c] - np.sign(value) * W[:, e]
            sums["laplacian"] += max(value, 0.0) * apart @ apart
            sums["signed"] += abs(value) * mirrored @ mirrored
    for mode, expected in sums.items():
        M, _ = naive.penalty(corr, mode)
        assert_allclose(np.trace(M @ W.T @ W), expected, rtol=1e-10)


def test_paper_penalty_is_indefinite_and_unbounded():
    rng = np.random.default_rng(16)
    corr = random_correlation(rng, 4)
    A, top = naive.penalty(corr, "paper")
    values, vectors = np.linalg.eigh(A)
    assert values[0] < -1e-3
    assert (values > 1e-12).sum() == 1
    assert_allclose(top, values[-1])
    assert_allclose(values.sum(), 0.0, atol=1e-12)
    G, B, Delta, W_prior, _, _ = random_problem(rng, K=4)
    direction = np.vstack([np.outer(np.ones(3), vectors[:, 0]), np.zeros(4)])
    values = [
        naive.objective(t * direction, G, B, Delta, W_prior, A, 0.1, 100.0) for t in (1e2, 1e4)
    ]
    assert values[1] < 100.0 * values[0] < 0.0


# Proximal steps


def test_objective_is_the_sum_over_rows():
    rng = np.random.default_rng(17)
    X, Y = random_rows(rng, 15, 3, 2)
    R, psi = np.column_stack([X, np.ones(15)]), rng.uniform(size=15)
    G, B, *_ = naive.batch_moments(R, Y, psi)
    Delta, W_prior, W = rng.uniform(size=4), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    M, _ = naive.penalty(random_correlation(rng, 2), "shift")
    total = 0.5 * np.sum(psi[:, None] * (Y - R @ W) ** 2)
    total += 0.5 * np.sum(Delta[:, None] * (W - W_prior) ** 2) + 0.3 * np.abs(W[:3]).sum()
    total += 0.5 * 0.7 * sum(M[c, e] * W[:3, c] @ W[:3, e] for c in range(2) for e in range(2))
    constant = 0.5 * np.sum(psi[:, None] * Y**2)
    value = naive.objective(W, G, B, Delta, W_prior, M, 0.3, 0.7)
    assert_allclose(value + constant, total, rtol=1e-10)


@pytest.mark.parametrize("mode", ["shift", "paper"])
@pytest.mark.parametrize("grouped", [False, True])
def test_gradient_is_that_of_the_objective(mode, grouped):
    rng = np.random.default_rng(18)
    problems = [random_problem(rng) for _ in range(3)]
    _, B, _, W_prior, cov, weight = problems[0]
    M, _ = naive.penalty(naive.correlation(cov, weight), mode)
    G = np.array([each[0] for each in problems]) if grouped else problems[0][0]
    Delta = np.array([each[2] for each in problems]) if grouped else problems[0][2]
    W, beta = rng.normal(size=W_prior.shape), 0.8
    D = naive.gradient(G, B, Delta, W, W_prior)
    exact = naive.smooth_gradient(D, W, M, beta)
    for index in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[index] = 1e-4
        up = naive.objective(W + step, G, B, Delta, W_prior, M, 0.0, beta)
        down = naive.objective(W - step, G, B, Delta, W_prior, M, 0.0, beta)
        assert_allclose((up - down) / 2e-4, exact[index], rtol=1e-6, atol=1e-7)


def test_soft_threshold():
    V = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    assert_allclose(naive.soft_threshold(V, 1.0), [-1.0, 0.0, 0.0, 0.0, 1.0])
    value = optimize.minimize_scalar(lambda w: 0.5 * (w - 1.7) ** 2 + 0.4 * abs(w)).x
    assert_allclose(naive.soft_threshold(1.7, 0.4), value, rtol=1e-6)


def test_power_iteration():
    rng = np.random.default_rng(19)
    G, _, Delta, *_ = random_problem(rng)
    r, top = rng.normal(size=4), top_curvature(G, Delta)[0]
    few, v = naive.power_iteration(G, Delta, np.zeros(4), r)
    many, u = few, v
    for _ in range(500):
        many, u = naive.power_iteration(G, Delta, u, r)
    assert r @ (G + np.diag(Delta)) @ r / (r @ r) <= few <= top * (1 + 1e-12)
    assert_allclose(np.linalg.norm(v), 1.0)
    assert_allclose(many, top, rtol=1e-10)


@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
@pytest.mark.parametrize("bound", [1.0, 0.05])
def test_proximal_step_does_not_increase_the_objective(mode, bound):
    rng = np.random.default_rng(20)
    for _ in range(10):
        G, B, Delta, W_prior, cov, weight = random_problem(rng)
        M, top = naive.penalty(naive.correlation(cov, weight), mode)
        W, alpha, beta = rng.normal(size=W_prior.shape), 0.3, rng.choice([0.1, 1.0, 10.0])
        D = naive.gradient(G, B, Delta, W, W_prior)
        # A bound that is far too small must be caught by the guard.
        curvature = bound * top_curvature(G, Delta)
        value = naive.objective(W, G, B, Delta, W_prior, M, alpha, beta)
        for _ in range(5):
            W, D, curvature = naive.proximal_step(
                W, D, G[None], Delta[None], M, top, curvature, alpha, beta
            )
            assert_allclose(D, naive.gradient(G, B, Delta, W, W_prior), rtol=1e-9, atol=1e-9)
            new = naive.objective(W, G, B, Delta, W_prior, M, alpha, beta)
            assert new <= value + 1e-10 * abs(value)
            value = new


def test_proximal_step_leaves_the_intercept_to_least_squares():
    rng = np.random.default_rng(21)
    G, B, Delta, W_prior, cov, weight = random_problem(rng)
    M, top = naive.penalty(naive.correlation(cov, weight), "shift")
    W = naive.ridge(G, B, Delta, W_prior)
    D, curvature = np.zeros_like(W), top_curvature(G, Delta)
    stepped, *_ = naive.proximal_step(W, D, G[None], Delta[None], M, top, curvature, 1e6, 0.5)
    assert_allclose(stepped[-1], W[-1])
    assert not stepped[:-1].any()


def test_paper_step_is_the_printed_one():
    rng = np.random.default_rng(22)
    G, B, Delta, W_prior, cov, weight = random_problem(rng)
    M, top = naive.penalty(naive.correlation(cov, weight), "paper")
    W = rng.normal(size=W_prior.shape)
    D, curvature = naive.gradient(G, B, Delta, W, W_prior), top_curvature(G, Delta)
    stepped, _, same = naive.proximal_step(
        W, D, G[None], Delta[None], M, top, curvature, 0.0, 2.0, lipschitz="paper"
    )
    lip = np.sqrt(curvature + 2.0 * top)
    slope = G @ W + Delta[:, None] * (W - W_prior) - B
    slope[:3] += 2.0 * W[:3] @ M
    assert_allclose(stepped, W - slope / lip, rtol=1e-10)
    assert_allclose(same, curvature)


def test_grouped_step_with_equal_groups_is_the_shared_one():
    rng = np.random.default_rng(23)
    G, B, Delta, W_prior, cov, weight = random_problem(rng)
    M, top = naive.penalty(naive.correlation(cov, weight), "shift")
    W, curvature = rng.normal(size=W_prior.shape), top_curvature(G, Delta)
    D = naive.gradient(G, B, Delta, W, W_prior)
    shared = naive.proximal_step(W, D, G[None], Delta[None], M, top, curvature, 0.2, 0.7)
    groups = np.array([G] * 3), np.array([Delta] * 3)
    grouped = naive.proximal_step(W, D, *groups, M, top, np.repeat(curvature, 3), 0.2, 0.7)
    assert_allclose(grouped[0], shared[0], rtol=1e-12)
    assert_allclose(grouped[1], shared[1], rtol=1e-10, atol=1e-12)
    known = np.array([True, False, True])
    partly = naive.proximal_step(W, D, *groups, M, top, np.repeat(curvature, 3), 0.2, 0.7, known)
    assert_allclose(partly[0], np.where(known, shared[0], W), rtol=1e-12)
    assert_allclose(partly[1], np.where(known, shared[1], D), rtol=1e-10, atol=1e-12)


def test_grouped_step_does_not_increase_the_objective():
    rng = np.random.default_rng(24)
    for _ in range(10):
        problems = [random_problem(rng) for _ in range(3)]
        G, Delta = (np.array([each[i] for each in problems]) for i in (0, 2))
        _, B, _, W_prior, cov, weight = problems[0]
        M, top = naive.penalty(naive.correlation(cov, weight), "signed")
        W = rng.normal(size=W_prior.shape)
        D = naive.gradient(G, B, Delta, W, W_prior)
        before = naive.objective(W, G, B, Delta, W_prior, M, 0.2, 3.0)
        known = rng.uniform(size=3) < 0.7
        W, D, _ = naive.proximal_step(W, D, G, Delta, M, top, np.full(3, 0.1), 0.2, 3.0, known)
        after = naive.objective(W, G, B, Delta, W_prior, M, 0.2, 3.0)
        assert after <= before + 1e-10 * abs(before)
        assert_allclose(D, naive.gradient(G, B, Delta, W, W_prior), rtol=1e-9, atol=1e-9)


def split_minimum(G, B, Delta, W_prior, M, alpha, beta):
    """Minimum of J by a general solver: slopes as differences of two non-negative parts."""
    p, K = len(B) - 1, B.shape[1]

    def weights(parts):
        up, down, intercept = np.split(parts, [p * K, 2 * p * K])
        return np.vstack([(up - down).reshape(p, K), intercept])

    def value(parts):
        W = weights(parts)
        smooth = naive.objective(W, G, B, Delta, W_prior, M, 0.0, beta)
        D = G @ W + Delta[:, None] * (W - W_prior) - B
        D[:-1] += beta * W[:-1] @ M
        slope = D[:-1].ravel()
        total = smooth + alpha * parts[: 2 * p * K].sum()
        return total, np.concatenate([slope + alpha, alpha - slope, D[-1]])

    bounds = [(0.0, None)] * (2 * p * K) + [(None, None)] * K
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 40}
    start = np.zeros(2 * p * K + K)
    result = optimize.minimize(
        value, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    return weights(result.x), result.fun


@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.5), (0.4, 2.0)])
def test_fit_weights_is_the_minimum_of_a_general_solver(mode, alpha, beta):
    rng = np.random.default_rng(25)
    G, B, Delta, W_prior, cov, weight = random_problem(rng)
    M, _ = naive.penalty(naive.correlation(cov, weight), mode)
    problem = (G, B, Delta, W_prior, M, alpha, beta)
    W = naive.fit_weights(*problem)
    general, minimum = split_minimum(*problem)
    value = naive.objective(W, *problem)
    assert value <= minimum + 1e-10 * abs(minimum)
    assert_allclose(W, general, atol=2e-4)
    # Optimality: the gradient is -alpha sign(w) on non-zero slopes, within alpha on zero ones.
    slope = naive.smooth_gradient(naive.gradient(G, B, Delta, W, W_prior), W, M, beta)
    assert_allclose(slope[-1], 0.0, atol=1e-9)
    assert np.all(np.abs(slope[:-1]) <= alpha + 1e-9)
    used = W[:-1] != 0.0
    assert_allclose(slope[:-1][used], -alpha * np.sign(W[:-1][used]), atol=1e-9)


def test_fit_weights_without_penalties_is_the_ridge():
    rng = np.random.default_rng(26)
    G, B, Delta, W_prior, _, _ = random_problem(rng)
    W = naive.fit_weights(G, B, Delta, W_prior, np.zeros((3, 3)), 0.0, 0.0)
    assert_allclose(W, naive.ridge(G, B, Delta, W_prior), rtol=1e-9)
    assert_allclose(naive.gradient(G, B, Delta, W, W_prior), 0.0, atol=1e-9)


def test_repeated_steps_end_at_the_fit():
    rng = np.random.default_rng(27)
    G, B, Delta, W_prior, cov, weight = random_problem(rng)
    M, top = naive.penalty(naive.correlation(cov, weight), "shift")
    W, D, curvature = np.array(W_prior), naive.gradient(G, B, Delta, W_prior, W_prior), [0.1]
    for _ in range(5000):
        W, D, curvature = naive.proximal_step(
            W, D, G[None], Delta[None], M, top, curvature, 0.3, 0.6
        )
    fitted = naive.fit_weights(G, B, Delta, W_prior, M, 0.3, 0.6)
    assert_allclose(W, fitted, atol=1e-7)


# Merging


def test_bhattacharyya_in_one_dimension():
    c1, c2, s1, s2 = np.array([0.3]), np.array([1.1]), np.array([[0.5]]), np.array([[2.0]])
    grid = np.linspace(-30.0, 30.0, 200_001)
    root = np.sqrt(stats.norm(0.3, 0.5**0.5).pdf(grid) * stats.norm(1.1, 2.0**0.5).pdf(grid))
    overlap = root.sum() * (grid[1] - grid[0])
    assert_allclose(np.exp(-naive.bhattacharyya(c1, s1, c2, s2)), overlap, rtol=1e-8)


def test_bhattacharyya_is_symmetric_and_zero_for_equals():
    rng = np.random.default_rng(28)
    S1, S2 = random_covariance(rng, 3), random_covariance(rng, 3)
    c1, c2 = rng.normal(size=(2, 3))
    one, two = naive.bhattacharyya(c1, S1, c2, S2), naive.bhattacharyya(c2, S2, c1, S1)
    assert_allclose(one, two)
    assert one > 0.0
    assert_allclose(naive.bhattacharyya(c1, S1, c1, S1), 0.0, atol=1e-12)


def test_merged_gaussian_is_that_of_the_union():
    rng = np.random.default_rng(29)
    S_0 = rng.uniform(0.1, 1.0, size=4)
    Z1, Z2 = rng.normal(size=(7, 4)), rng.normal(size=(12, 4)) * 2.0 + 1.0
    c1, S1 = naive.batch_gaussian(Z1, S_0)
    c2, S2 = naive.batch_gaussian(Z2, S_0)
    c, S, k, s = naive.merge_gaussians(c1, S1, 7.0, 1.0, c2, S2, 12.0, 1.0, S_0)
    center, union = naive.batch_gaussian(np.vstack([Z1, Z2]), S_0)
    assert (k, s) == (19.0, 1.0)
    assert_allclose(c, center, rtol=1e-10)
    assert_allclose(S, union, rtol=1e-10, atol=1e-12)
    e = c1 - c2
    printed = 7 * S1 + 12 * S2 + 7 * 12 / 19 * np.outer(e, e) - np.diag(S_0)
    assert_allclose(19 * S, printed, rtol=1e-10, atol=1e-12)


def test_merge_test_accepts_twins_and_refuses_strangers():
    rng = np.random.default_rng(30)
    S_0, Z = np.full(3, 0.5), rng.normal(size=(400, 3))
    c1, S1 = naive.batch_gaussian(Z[:200], S_0)
    c2, S2 = naive.batch_gaussian(Z[200:], S_0)
    common = (S_0, 1.0, np.log(1.1), 0.8)
    assert naive.merge_allowed(c1, S1, 200.0, 1.0, c2, S2, 200.0, 1.0, *common)
    assert not naive.merge_allowed(c1, S1, 200.0, 1.0, c2 + 3.0, S2, 200.0, 1.0, *common)
    # Equal overlap, but the volume factor alone refuses.
    strict = (S_0, 1.0, np.log(0.1), 0.8)
    assert not naive.merge_allowed(c1, S1, 200.0, 1.0, c2, S2, 200.0, 1.0, *strict)


def test_merge_bandwidth():
    assert naive.merge_bandwidth(6, 2, "paper") == (1.0, np.log(6))
    assert_allclose(naive.merge_bandwidth(6, 2, 1.5), (8.0, 8.0 * np.log(1.5)))
    assert_allclose(naive.merge_bandwidth(6, 2, 1.5, False), (6.0, 6.0 * np.log(1.5)))


@pytest.mark.parametrize("pairs", [False, True])
def test_pooled_moments_are_those_of_the_union(pairs):
    rng = np.random.default_rng(31)
    K = 3
    _, Y = random_rows(rng, 30, 2, K)
    psi = rng.uniform(0.1, 1.0, size=30)
    known = rng.uniform(size=(30, K)) < (0.6 if pairs else 2.0)

    def moments(rows):
        shape = (K, K) if pairs else (K,)
        state = np.zeros(shape), np.zeros(shape), np.zeros((K, K))
        for t in rows:
            if pairs:
                state = naive.label_moments_pairs(*state, Y[t], psi[t], 1.0, known[t])
            else:
                state = naive.label_moments(*state, Y[t], psi[t], 1.0)
        return state

    pooled = naive.pool_moments(*moments(range(11)), *moments(range(11, 30)))
    for actual, expected in zip(pooled, moments(range(30)), strict=True):
        assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def test_pooled_moments_of_empty_rules_are_zero():
    empty = np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((2, 2))
    assert not any(np.any(part) for part in naive.pool_moments(*empty, *empty))


def test_paper_merge_of_weights():
    W1 = np.array([[10.0, 1.0], [0.5, 0.2]])
    W2 = np.array([[-10.0, 1.0], [0.1, 0.4]])
    angle = np.arccos((-100.0 + 1.0) / 101.0)
    assert_allclose(naive.consequent_similarity(W1, W2), 1.0 - angle / np.pi)
    assert_allclose(naive.merge_weights_paper(W1, W2, 30.0, 10.0, 0.9), W1)
    averaged = naive.merge_weights_paper(W1, W2, 30.0, 10.0, 0.05)
    assert_allclose(averaged, 0.75 * W1 + 0.25 * W2)
    # Intercepts do not turn the normals.
    assert_allclose(naive.consequent_similarity(W1, W1 + [[0.0, 0.0], [9.0, -9.0]]), 1.0, atol=1e-7)


def test_merged_rule_is_the_rule_of_all_rows():
    rng = np.random.default_rng(32)
    p, K = 3, 2
    arguments = parameters(p, K, alpha=0.05, beta=0.3, n_steps=2)
    X, Y = random_rows(rng, 40, p, K)
    W = rng.normal(size=(p + 1, K))
    learners = []
    for rows in (range(25), range(25, 40), range(40)):
        learner = naive.NaiveLearner(**arguments)
        learner.rules = [learner.new_rule(np.append(X[rows[0]], Y[rows[0]]), W)]
        for t in rows:
            # With one rule Psi is 1, so the rule holds the sums over exactly these rows.
            if t > rows[0]:
                learner.update_antecedent(learner.rules[0], np.append(X[t], Y[t]))
            learner.learn_consequent(
                learner.rules[0], naive.extend(X[t]), Y[t], np.ones(K, dtype=bool), 1.0
            )
        learners.append(learner)
    one, two, union = (learner.rules[0] for learner in learners)
    merged = learners[0].merged_rule(one, two, 1.0)
    exact = ("center", "joint_precision", "input_precision", "log_det", "support", "prior_share")
    exact += ("P", "G", "B", "Delta", "W_prior", "weight", "label_weight", "label_mean")
    exact += ("label_cov",)
    for name in exact:
        actual, expected = getattr(merged, name), getattr(union, name)
        assert_allclose(actual, expected, rtol=1e-8, atol=1e-10, err_msg=name)
    assert merged.updates == union.updates
    assert merged.curvature[0] >= top_curvature(merged.G[0], merged.Delta[0])[0]
    D = naive.gradient(merged.G, merged.B, merged.Delta, merged.W, merged.W_prior)
    assert_allclose(merged.D, D, atol=1e-9)
    corr = naive.correlation(union.label_cov, union.label_weight)
    assert_allclose(merged.penalty, naive.penalty(corr, "shift")[0], atol=1e-9)


def young_learner(centers, **changes):
    """Learner with young rules at given places, support 10, 11, 12 and so on."""
    arguments = parameters(2, 1, merging=True, merge_volume=2.0) | changes
    learner = naive.NaiveLearner(**arguments)
    for i, center in enumerate(centers):
        rule = learner.new_rule(np.append(center, 0.5), np.zeros((3, 1)))
        rule.support, rule.updates = 10.0 + i, 9 + i
        learner.rules.append(rule)
    return learner


def test_merge_keeps_the_smaller_index_and_fills_the_hole():
    learner = young_learner([[0.0, 0.0], [50.0, 0.0], [0.1, 0.0], [90.0, 0.0], [99.0, 0.0]])
    learner.tested = {frozenset((2, 1)): 23, frozenset((0, 1)): 21}
    assert learner.try_merge(2)
    # Rule 2 has the larger support, so the merged rule is known by its name.
    assert [rule.uid for rule in learner.rules] == [2, 1, 4, 3]
    assert learner.rules[0].support == 22.0
    assert_allclose(learner.rules[0].center, [(12.0 * 0.1) / 22.0, 0.0, 0.5])
    # What was tested of either part stays tested of both.
    history = {frozenset((2, 1)): 23, frozenset((2, 3)): 0, frozenset((2, 4)): 0}
    assert {pair: k for pair, k in learner.tested.items() if 2 in pair} == history


def test_merge_tests_are_rationed():
    # A volume factor far below one refuses every pair, the screen refuses the far one.
    learner = young_learner([[50.0, 0.0], [0.0, 0.0], [0.1, 0.0], [0.2, 0.0]], merge_volume=1e-9)
    assert learner.try_merge(3) != "merge"
    # The far pair is marked, the first near one is tested, the second has to wait.
    assert learner.tested == {frozenset((3, 0)): 23, frozenset((3, 1)): 24}
    assert learner.try_merge(3) != "merge"
    assert learner.tested[frozenset((3, 2))] == 25
    learner.rules[3].updates += 2  # 25 < 1.1 * 23
    assert learner.try_merge(3) != "merge"
    assert sorted(learner.tested.values()) == [23, 24, 25]
    learner.rules[3].updates += 1
    assert learner.try_merge(3) != "merge"
    assert sorted(learner.tested.values()) == [25, 26, 27]


def test_young_rules_are_not_compared():
    learner = young_learner([[0.0, 0.0], [0.1, 0.0]])
    learner.rules[0].updates = 1  # two samples in three dimensions
    assert not learner.try_merge(0) and not learner.try_merge(1)
    learner.rules[0].updates += 1
    assert learner.try_merge(1)


def test_newborn_counts_as_tested():
    learner = young_learner([[0.0, 0.0], [9.0, 0.0]])
    learner.give_birth(np.array([0.1, 0.0, 0.5]), 0)
    assert learner.tested == {frozenset((2, 0)): 11, frozenset((2, 1)): 12}
    learner.rules[2].updates = 9  # mature, as many samples as rule 0
    learner.tested[frozenset((2, 0))] = 19
    assert not learner.try_merge(2)
    learner.rules[2].updates += 1
    assert learner.try_merge(2)


def test_merge_screen_by_hand():
    e, near, far = np.array([2.0, 0.0]), np.eye(2), 9.0 * np.eye(2)
    assert naive.merge_screen(e, near, far, 1.0, np.exp(-0.51))
    assert not naive.merge_screen(e, near, far, 1.0, np.exp(-0.49))
    assert naive.merge_screen(e, near, far, 2.0, np.exp(-0.26))


# The whole learner


def check_consistent(learner):
    """Everything that is tracked agrees with what it is tracked for."""
    for rule in learner.rules:
        S = rule.joint_covariance()
        S_x = S[: learner.p, : learner.p]
        assert_allclose(rule.log_det, [np.linalg.slogdet(A)[1] for A in (S, S_x)], atol=1e-7)
        assert_allclose(rule.input_precision @ S_x, np.eye(learner.p), atol=1e-7)
        for P, G, Delta in zip(rule.P, rule.G, rule.Delta, strict=True):
            assert_allclose(P @ (G + np.diag(Delta)), np.eye(learner.d), atol=1e-6)
            assert np.all(Delta >= 0.5 * learner.prior)
        D = naive.gradient(rule.G, rule.B, rule.Delta, rule.W, rule.W_prior)
        assert_allclose(rule.D, D, atol=1e-7)
        if len(rule.P) == 1:
            assert_allclose(rule.label_weight, rule.weight, rtol=1e-9)


SETTINGS = {
    "plain": {},
    "correlated": {"alpha": 0.05, "beta": 0.5, "n_steps": 2},
    "laplacian": {"alpha": 0.05, "beta": 0.5, "correlation": "laplacian"},
    "forgetting": {"alpha": 0.02, "beta": 0.2, "forgetting": 0.8, "variance_floor": 0.1},
    "marginal": {"beta": 0.5, "correlation": "signed", "product_space": False},
    "none": {"alpha": 0.5, "correlation": "none", "activation_floor": 0.05},
    "floor": {"alpha": 0.05, "beta": 0.5, "activation_floor": 0.2, "bandwidth": 1.0},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_stream_keeps_the_state_consistent(setting, share):
    rng = np.random.default_rng(33)
    p, K, n = 3, 3, 120
    arguments = parameters(p, K, vigilance=0.6, merging=True, merge_overlap=0.7)
    learner = naive.NaiveLearner(**(arguments | SETTINGS[setting]))
    X, Y = random_rows(rng, n, p, K)
    Y = np.where(rng.uniform(size=Y.shape) <= share, Y, np.nan)
    events = [learner.learn_row(x, y) for x, y in zip(X, Y, strict=True)]
    assert events.count("birth") == learner.births > 1
    assert len(learner.rules) == learner.births - learner.merges
    assert learner.groups == (1 if share == 1.0 else K)
    assert len({rule.uid for rule in learner.rules}) == len(learner.rules)
    check_consistent(learner)
    assert np.isfinite(learner.score(X[0])).all()


def test_streams_merge_somewhere():
    rng = np.random.default_rng(34)
    arguments = parameters(2, 2, vigilance=0.2, merging=True, merge_overlap=0.6, beta=0.1)
    for extra in ({}, {"merge_volume": "paper", "merge_consequents": "paper"}):
        learner = naive.NaiveLearner(**(arguments | extra))
        X, Y = random_rows(rng, 200, 2, 2)
        for x, y in zip(X, Y, strict=True):
            learner.learn_row(0.3 * x, y)
        assert learner.merges > 0
        check_consistent(learner)


def test_row_without_labels_changes_nothing():
    rng = np.random.default_rng(35)
    learner = naive.NaiveLearner(**parameters(2, 2))
    learner.learn_row(np.zeros(2), np.array([1.0, 0.0]))
    before = copy.deepcopy(naive.stack_rules(learner.rules))
    assert learner.learn_row(rng.normal(size=2), np.full(2, np.nan)) == "nothing"
    assert_same_rules(naive.stack_rules(learner.rules), before, rtol=0.0, atol=0.0)
    assert learner.groups == 1


def test_first_row_and_birth():
    learner = naive.NaiveLearner(**parameters(2, 2, vigilance=0.1))
    assert not learner.score(np.zeros(2)).any()
    assert learner.learn_row(np.zeros(2), np.array([1.0, np.nan])) == "birth"
    assert_allclose(learner.rules[0].center, [0.0, 0.0, 1.0, 0.5])
    assert learner.rules[0].weight == 0.0
    learner.learn_row(np.array([0.1, 0.0]), np.array([1.0, 0.0]))
    W = learner.rules[0].W.copy()
    assert learner.learn_row(np.array([50.0, 0.0]), np.array([0.0, 1.0])) == "birth"
    assert_allclose(learner.rules[1].W, W)
    assert_allclose(learner.rules[1].W_prior, W)
    assert learner.rules[0].weight < 1.0 + 1e-6


def test_nobody_learns_a_birth_row_without_birth_learning():
    arguments = parameters(1, 1, vigilance=0.1, bandwidth=1e6, birth_learning=False)
    learner = naive.NaiveLearner(**arguments)
    learner.learn_row(np.zeros(1), np.zeros(1))
    learner.learn_row(np.full(1, 50.0), np.ones(1))
    assert [rule.weight for rule in learner.rules] == [0.0, 0.0]


def test_one_rule_stream_is_the_batch_fit():
    rng = np.random.default_rng(36)
    p, K, n = 3, 2, 40
    arguments = parameters(p, K, correlation="none")
    learner = naive.NaiveLearner(**arguments)
    X, Y = random_rows(rng, n, p, K)
    for x, y in zip(X, Y, strict=True):
        learner.learn_row(x, y)
    rule = learner.rules[0]
    center, S = naive.batch_gaussian(np.column_stack([X, Y]), learner.S_0)
    assert_allclose(rule.center, center, rtol=1e-9)
    assert_allclose(rule.joint_covariance(), S, rtol=1e-7, atol=1e-10)
    R = np.column_stack([X[1:], np.ones(n - 1)])
    G, B, weight, mean, cov = naive.batch_moments(R, Y[1:], np.ones(n - 1))
    assert_allclose(rule.W, naive.ridge(G, B, learner.prior, np.zeros((p + 1, K))), rtol=1e-7)
    assert_allclose(rule.label_cov, cov, atol=1e-9)
    assert_allclose(rule.label_mean[0], mean, rtol=1e-9)
    assert_allclose(rule.weight, weight)


@pytest.mark.parametrize("setting", SETTINGS)
def test_groups_with_all_labels_known_are_the_shared_mode(setting, monkeypatch):
    # The guard looks at single columns in one mode and at all of them in the other, so the two
    # agree only while it is silent: with a true bound it always is.
    monkeypatch.setattr(
        naive, "power_iteration", lambda G, Delta, v, r: (top_curvature(G, Delta)[0], v)
    )
    rng = np.random.default_rng(37)
    p, K = 3, 3
    arguments = parameters(p, K, vigilance=0.7) | SETTINGS[setting]
    shared, grouped = naive.NaiveLearner(**arguments), naive.NaiveLearner(**arguments)
    X, Y = random_rows(rng, 60, p, K)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        if t == 20:
            grouped.switch_to_groups()
        assert shared.learn_row(x, y) == grouped.learn_row(x, y)
    assert grouped.groups == K
    shared.switch_to_groups()
    actual, expected = naive.stack_rules(grouped.rules), naive.stack_rules(shared.rules)
    assert_same_rules(actual, expected, rtol=1e-7, atol=1e-8)


def test_diverging_rule_stops_and_goes_on_as_least_squares():
    rng = np.random.default_rng(38)
    p, K = 3, 3
    arguments = parameters(p, K, beta=10.0, correlation="paper", lipschitz="paper")
    learner = naive.NaiveLearner(**arguments, weight_limit=1e3)
    X, Y = random_rows(rng, 80, p, K)
    for x, y in zip(X, Y, strict=True):
        learner.learn_row(x, y)
    rule = learner.rules[0]
    assert 1 < rule.stopped <= 80
    assert not rule.D.any()
    assert_allclose(rule.W, naive.ridge(rule.G, rule.B, rule.Delta, rule.W_prior), rtol=1e-6)


def test_rules_survive_stacking():
    rng = np.random.default_rng(39)
    rules = start_rules(rng, 3, **parameters(2, 2))
    again = naive.unstack_rules(naive.stack_rules(rules))
    assert_same_rules(naive.stack_rules(again), naive.stack_rules(rules), rtol=0.0, atol=0.0)


# Rivals


@pytest.mark.parametrize("rival", [naive.BatchedNumpyLearner, naive.LoopNumpyLearner])
@pytest.mark.parametrize("mode", naive.MODES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_rivals_are_the_naive_learner(rival, mode, setting):
    rng = np.random.default_rng(40)
    p, K, n = 3, 3, 50
    arguments = parameters(p, K) | SETTINGS[setting] | {"correlation": mode}
    rules = start_rules(rng, 4, **arguments)
    learner = naive.NaiveLearner.from_rules(rules, **arguments)
    del arguments["vigilance"], arguments["merging"]
    other = rival(rules, **arguments)
    X, Y = random_rows(rng, n, p, K)
    for x, y in zip(X, Y, strict=True):
        assert_allclose(other.score(x), learner.score(x), rtol=1e-7, atol=1e-8)
        learner.learn_row(x, y)
        other.learn_row(x, y)
    expected = naive.stack_rules(learner.rules)
    shared = (*naive.GROUPED, "label_weight", "label_mean")
    expected = {k: v[:, 0] if k in shared else v for k, v in expected.items()}
    actual = {name: getattr(other, name) for name in naive.FIELD_NAMES}
    # Rivals drop no rule, derive no P anew and tell a reader nothing.
    counts = ("use", "unchecked", "decided", "decided_sum", "decided_known", "decided_ones")
    assert_same_rules(actual, expected, rtol=1e-7, atol=1e-8, without=counts)


@pytest.mark.parametrize("rival", [naive.BatchedNumpyLearner, naive.LoopNumpyLearner])
def test_rivals_stop_diverging_rules_too(rival):
    rng = np.random.default_rng(41)
    arguments = parameters(3, 3, beta=10.0, correlation="paper", lipschitz="paper")
    arguments["weight_limit"] = 1e3
    rules = start_rules(rng, 2, **arguments)
    learner = naive.NaiveLearner.from_rules(rules, **arguments)
    del arguments["vigilance"], arguments["merging"]
    other = rival(rules, **arguments)
    X, Y = random_rows(rng, 60, 3, 3)
    for x, y in zip(X, Y, strict=True):
        learner.learn_row(x, y)
        other.learn_row(x, y)
    assert_allclose(other.stopped, [rule.stopped for rule in learner.rules])
    assert other.stopped.all()
    assert_allclose(other.W, [rule.W for rule in learner.rules], rtol=1e-6)
