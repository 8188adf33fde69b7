"""What a stream leaves behind equals the batch formulas over all of its rows."""

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    FIXED_RULES,
    AsWritten,
    learn_rows,
    learner_with_rules,
    make_params,
    polish,
    prior_precision,
    random_rows,
    start_variance,
    unscaled_learner,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels.rule_update import CHECK_EVERY
from efcml.model import batch
from efcml.model.learner import Learner

SHORT = 400 if COMPILED else 80
# Some rounds of CHECK_EVERY updates for each of three rules; what only a million rows show is for
# experiments/soak.
LONG = 8 * CHECK_EVERY
LENGTHS = [SHORT, pytest.param(LONG, marks=pytest.mark.slow)]
RTOL = 1e-8


def follow(learner, X, Y):
    """Learn row by row; return the activations (n, rules) and the winner of every row."""
    psi, winners = np.empty((len(X), learner.n_rules)), np.empty(len(X), dtype=int)
    updates = learner.rules.updates.copy()
    for t in learn_rows(learner, X, Y):
        # The consequents use the antecedents as they are after the row.
        psi[t] = batch.activations(learner.rules, X[t : t + 1], learner.settings)[0]
        winners[t] = np.flatnonzero(learner.rules.updates - updates)[0]
        updates[winners[t]] += 1
    return psi, winners


def fixed_stream(rng, n, p=3, K=2, n_rules=3, share=1.0, **changes):
    """A learner with a fixed number of rules, its first centers, its rows, and what happened."""
    learner = learner_with_rules(rng, n_rules, p, K, **(FIXED_RULES | changes))
    first, W = learner.rules.center.copy(), AsWritten(learner.rules).W.copy()
    X, Y = random_rows(rng, n, p, K, share)
    psi, winners = follow(learner, X, Y)
    assert learner.n_rules == n_rules
    return learner, first, W, X, Y, psi, winners


def extended(X):
    return np.column_stack([X, np.ones(len(X))])


# Antecedents


def row_shares(n, cap):
    """Share of the birth row and each later row in center and covariance; that of S_0."""
    support, shares = 1.0, np.ones(1)
    for _ in range(n):
        share = 1.0 / (support + 1.0)
        shares = np.append(shares * (1.0 - share), share)
        support = min(support + 1.0, cap)
    return shares, support


@pytest.mark.parametrize(
    ("n", "forgetting"),
    [
        (SHORT, 1.0),
        (SHORT, 0.95),
        pytest.param(LONG, 1.0, marks=pytest.mark.slow),
        pytest.param(LONG, 0.995, marks=pytest.mark.slow),
    ],
)
def test_gaussians_are_those_of_the_rows_won(rng, n, forgetting):
    p, K = 3, 2
    learner, first, _, X, Y, _, winners = fixed_stream(rng, n, p, K, forgetting=forgetting)
    S_0 = np.diag(start_variance(p, K))
    for i, rules in enumerate([learner.rules] * 3):
        Z = np.vstack([first[i], np.column_stack([X, Y])[winners == i]])
        shares, support = row_shares(len(Z) - 1, learner.params.max_support)
        center = shares @ Z
        S = (shares * (Z - center).T) @ (Z - center) + shares[0] * S_0
        if forgetting == 1.0:
            plain = naive.batch_gaussian(Z, np.diag(S_0))
            assert_allclose(center, plain[0], rtol=RTOL, atol=1e-12)
            assert_allclose(S, plain[1], rtol=RTOL, atol=1e-12)
        assert rules.updates[i] == len(Z) - 1
        assert_allclose(rules.support[i], support)
        assert_allclose(rules.prior_share[i], shares[0] * support, rtol=RTOL, atol=1e-300)
        assert_allclose(rules.center[i], center, rtol=RTOL, atol=1e-10)
        assert_allclose(np.linalg.inv(rules.joint_precision[i]), S, rtol=RTOL, atol=1e-10)
        marginal = np.linalg.inv(rules.input_precision[i])
        assert_allclose(marginal, S[:p, :p], rtol=RTOL, atol=1e-10)
        log_dets = naive.log_determinant(S), naive.log_determinant(S[:p, :p])
        assert_allclose(rules.log_det[i], log_dets, rtol=RTOL, atol=1e-9)
    assert (np.bincount(winners, minlength=3) > 0).all()


@pytest.mark.parametrize("n", LENGTHS)
def test_gaussians_stay_definite_when_old_rows_are_forgotten(rng, n):
    # A label that rests for hundreds of rows has lost all variance but the floor.
    changes = {"forgetting": 0.9, "variance_floor": 0.01}
    learner = learner_with_rules(rng, 2, 3, 2, **(FIXED_RULES | changes))
    X, Y = random_rows(rng, n, 3, 2)
    Y[np.arange(n) % 1000 < 500, 0] = 0.0
    learner.learn(X, Y)
    for i, rules in enumerate([learner.rules] * 2):
        joint, marginal = rules.joint_precision[i], rules.input_precision[i]
        assert np.array_equal(joint, joint.T)
        assert (np.linalg.eigvalsh(joint) > 0.0).all()
        S = np.linalg.inv(joint)
        assert_allclose(np.linalg.inv(marginal), S[:3, :3], rtol=1e-7, atol=1e-9)
        log_dets = naive.log_determinant(S), naive.log_determinant(S[:3, :3])
        assert_allclose(rules.log_det[i], log_dets, rtol=1e-8, atol=1e-8)


def test_variance_floor_keeps_the_covariance_open(rng):
    learner = learner_with_rules(rng, 1, 2, 1, **(FIXED_RULES | {"variance_floor": 0.3}))
    z = learner.rules.center[0].copy()
    X, Y = np.tile(z[:2], (900, 1)), np.tile(z[2:], (900, 1))
    learner.learn(X, Y)
    S = np.linalg.inv(learner.rules.joint_precision[0])
    assert_allclose(np.diag(S), 0.3 * start_variance(2, 1), rtol=0.05)
    assert_allclose(learner.rules.log_det[0, 0], naive.log_determinant(S), rtol=1e-8)


# Consequents


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
@pytest.mark.parametrize("n", LENGTHS)
def test_statistics_are_those_of_the_weighted_rows(rng, n, forgetting):
    learner, _, W_prior, X, Y, psi, _ = fixed_stream(rng, n, forgetting=forgetting)
    rules = AsWritten(learner.rules)
    for i in range(3):
        G, B, weight, mean, cov = naive.batch_moments(extended(X), Y, psi[:, i], forgetting)
        assert_allclose(rules.G[i, 0], G, rtol=RTOL, atol=1e-9)
        assert_allclose(rules.B[i], B, rtol=RTOL, atol=1e-9)
        assert_allclose(rules.weight[i], weight, rtol=RTOL)
        assert_allclose(rules.label_weight[i, 0], weight, rtol=RTOL)
        assert_allclose(rules.label_mean[i, 0], mean, rtol=RTOL)
        assert_allclose(rules.label_cov[i], cov, rtol=RTOL, atol=1e-9)
        H = G + np.diag(rules.Delta[i, 0])
        assert_allclose(rules.P[i, 0], np.linalg.inv(H), rtol=1e-7, atol=1e-12)
        D = naive.gradient(G, B, rules.Delta[i, 0], rules.W[i], W_prior[i])
        assert_allclose(rules.D[i], D, rtol=1e-7, atol=RTOL * np.abs(B).max())
    assert_allclose(psi.sum(axis=1), 1.0, atol=3e-4)  # all but what lies below the floor


@pytest.mark.parametrize("n", LENGTHS)
def test_least_squares_is_the_weighted_ridge(rng, n):
    learner, _, W_prior, X, Y, psi, _ = fixed_stream(rng, n, alpha=0.0, beta=0.0)
    R, Delta = extended(X), prior_precision(3)
    for i in range(3):
        H = (psi[:, i] * R.T) @ R + np.diag(Delta)
        W = np.linalg.solve(H, (psi[:, i] * R.T) @ Y + Delta[:, None] * W_prior[i])
        assert_allclose(AsWritten(learner.rules).W[i], W, rtol=RTOL, atol=1e-9)
    assert not learner.rules.D.any()


def test_forgetting_ridge_weighs_the_rows_by_age(rng):
    # Short enough for the prior to stay above the half at which it is restored.
    changes = {"alpha": 0.0, "beta": 0.0, "forgetting": 0.98}
    learner, _, W_prior, X, Y, psi, _ = fixed_stream(rng, 30, **changes)
    assert learner.counts["repairs"] == 0
    R = extended(X)
    for i in range(3):
        weights, left = naive.row_weights(psi[:, i], 0.98)
        Delta = left * prior_precision(3)
        W = naive.ridge((weights * R.T) @ R, (weights * R.T) @ Y, Delta, W_prior[i])
        assert_allclose(learner.rules.Delta[i, 0], Delta, rtol=1e-12)
        assert_allclose(AsWritten(learner.rules).W[i], W, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", LENGTHS)
def test_unknown_labels_leave_each_label_its_own_rows(rng, n):
    X, Y = random_rows(rng, n, 2, 3, 0.6)
    learner = learner_with_rules(rng, 2, 2, 3, **(FIXED_RULES | {"alpha": 0.0, "beta": 0.0}))
    W_prior, psi = AsWritten(learner.rules).W.copy(), np.zeros((n, 2))
    for t in learn_rows(learner, X, Y):
        psi[t] = batch.activations(learner.rules, X[t : t + 1], learner.settings)[0]
    R, rules = extended(X), AsWritten(learner.rules)
    for i in range(2):
        for c in range(3):
            known = ~np.isnan(Y[:, c])
            G, B, weight, mean, cov = naive.batch_moments(
                R[known], Y[known, c : c + 1], psi[known, i]
            )
            W = naive.ridge(G, B, prior_precision(2), W_prior[i][:, c : c + 1])
            assert_allclose(rules.G[i, c], G, rtol=RTOL, atol=1e-9)
            assert_allclose(rules.B[i][:, c], B[:, 0], rtol=RTOL, atol=1e-9)
            assert_allclose(rules.W[i][:, c], W[:, 0], rtol=1e-7, atol=1e-9)
            assert_allclose(rules.label_weight[i, c, c], weight, rtol=RTOL)
            assert_allclose(rules.label_mean[i, c, c], mean[0], rtol=RTOL)
            assert_allclose(rules.label_cov[i, c, c], cov[0, 0], rtol=RTOL)
            for e in range(3):
                both = known & ~np.isnan(Y[:, e])
                _, _, weight, mean, cov = naive.batch_moments(
                    R[both], Y[both][:, [c, e]], psi[both, i]
                )
                assert_allclose(rules.label_weight[i, c, e], weight, rtol=RTOL)
                assert_allclose(rules.label_mean[i, c, e], mean[1], rtol=RTOL)
                assert_allclose(rules.label_cov[i, c, e], cov[0, 1], rtol=RTOL, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "share"),
    [
        (SHORT, 1.0),
        (SHORT, 0.7),
        pytest.param(20_000, 1.0, marks=pytest.mark.slow),
        pytest.param(20_000, 0.7, marks=pytest.mark.slow),
    ],
)
def test_inverse_stays_true_under_forgetting(rng, n, share):
    forgetting = 0.99 if n > SHORT else 0.9
    learner = learner_with_rules(rng, 3, 3, 2, **(FIXED_RULES | {"forgetting": forgetting}))
    X, Y = random_rows(rng, n, 3, 2, share)
    X[:, 0] *= np.where(np.arange(n) % 500 < 250, 1.0, 1e-3)  # a direction that falls asleep
    learner.learn(X, Y)
    assert learner.counts["repairs"] > 0
    for i in range(3):
        for P, G, Delta in zip(
            learner.rules.P[i], learner.rules.G[i], learner.rules.Delta[i], strict=True
        ):
            assert np.array_equal(P, P.T)
            assert (np.linalg.eigvalsh(P) > 0.0).all()
            assert_allclose(P @ (G + np.diag(Delta)), np.eye(4), atol=1e-7)
            assert (Delta >= 0.5 * prior_precision(3)).all()


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_an_inverse_that_has_drifted_is_derived_anew(rng, share):
    learner = learner_with_rules(rng, 2, 3, 2, **FIXED_RULES)
    X, Y = random_rows(rng, 30, 3, 2, share)
    learner.learn(X, Y)
    rules = learner.rules
    rules.arrays.P[1] *= 1.0 + 1e-6
    rules.unchecked[:] = CHECK_EVERY - 3
    for t in range(3):
        assert learner.counts["repairs"] == 0
        learner.learn(X[t : t + 1], np.ones((1, 2)))
    assert learner.counts["repairs"] == 1
    assert not rules.stale.any()
    assert not rules.unchecked.any()
    for P, G, Delta in zip(rules.P[1], rules.G[1], rules.Delta[1], strict=True):
        assert_allclose(P @ (G + np.diag(Delta)), np.eye(4), atol=1e-10)


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize(("prior", "repaired"), [(1.0, False), (1e-7, True)])
def test_an_update_that_takes_most_digits_is_made_good(rng, prior, repaired, share):
    """The first rows take from P nearly all that a weak prior has given it."""
    learner = unscaled_learner(2, 2, **(FIXED_RULES | {"prior": prior}))
    rng = np.random.default_rng(3)
    for t in range(12):
        learner.learn(*random_rows(rng, 1, 2, 2, share if t else 1.0))
        rules = learner.rules
        for P, G, Delta in zip(rules.P[0], rules.G[0], rules.Delta[0], strict=True):
            H = G + np.diag(Delta)
            atol = 1e-8 + 20 * np.finfo(float).eps * np.linalg.cond(H)
            assert_allclose(P @ H, np.eye(3), atol=atol)
    assert (learner.counts["repairs"] > 0) == repaired


# How much a rule is used


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_use_forgets_nothing(rng, forgetting):
    changes = FIXED_RULES | {"forgetting": forgetting, "activation_floor": 0.0}
    learner = learner_with_rules(rng, 3, 2, 2, **changes)
    learner.learn(*random_rows(rng, 40, 2, 2))
    assert_allclose(learner.rules.use.sum(), 40.0)
    assert np.array_equal(learner.rules.use, learner.rules.weight) == (forgetting == 1.0)


def test_use_is_the_weight_where_nothing_is_forgotten(rng):
    """Also after a batch, births, merges and drops."""
    X, Y = random_rows(rng, 90, 2, 2)
    params = make_params(vigilance=0.3, max_rules=4, merge_overlap=0.4)
    learner = Learner(params, 2, 2).fit(X[:30], Y[:30]).learn(X[30:], Y[30:])
    assert learner.counts["merges"] > 0
    assert np.array_equal(learner.rules.use, learner.rules.weight)


# The objective


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("mode", naive.MODES)
def test_gradient_of_a_stream_is_that_of_the_objective(rng, mode, share):
    learner = learner_with_rules(rng, 2, 2, 3, correlation=mode, **FIXED_RULES)
    learner.learn(*random_rows(rng, 40, 2, 3, share))
    rules = AsWritten(learner.rules)
    for i in range(2):
        G, B, Delta, W_prior = rules.G[i], rules.B[i], rules.Delta[i], rules.W_prior[i]
        M, beta = rules.penalty[i], learner.params.beta

        def smooth(W, given=(G, B, Delta, W_prior, M, 0.0, beta)):
            return naive.objective(W, *given)

        expected = naive.smooth_gradient(rules.D[i], rules.W[i], M, beta)
        for index in np.ndindex(*expected.shape):
            step = np.zeros_like(expected)
            step[index] = 1e-3
            slope = (smooth(rules.W[i] + step) - smooth(rules.W[i] - step)) / 2e-3
            assert_allclose(slope, expected[index], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_objective_never_rises_along_a_stream(rng, mode, n_steps, share):
    changes = {"correlation": mode, "alpha": 0.2, "beta": 2.0, "n_steps": n_steps}
    learner = learner_with_rules(rng, 2, 2, 3, **(FIXED_RULES | changes))
    X, Y = random_rows(rng, 100 if COMPILED else 40, 2, 3, share)
    lower = 0
    for t in range(len(X)):
        without = learner.copy()
        without.settings = learner.settings.replace(corrects=False)
        without.learn(X[t : t + 1], Y[t : t + 1])
        learner.learn(X[t : t + 1], Y[t : t + 1])
        rules = AsWritten(learner.rules)
        for i in range(2):
            given = (rules.G[i], rules.B[i], rules.Delta[i], rules.W_prior[i], rules.penalty[i])
            before = naive.objective(AsWritten(without.rules).W[i], *given, 0.2, 2.0)
            after = naive.objective(rules.W[i], *given, 0.2, 2.0)
            assert after <= before + 1e-10 * (1.0 + abs(before))
            lower += after < before
    assert lower > len(X)  # the steps do something in most rows


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_repeated_steps_end_at_the_minimum(rng, mode, share):
    changes = {"correlation": mode, "alpha": 0.2, "beta": 2.0, "n_steps": 50}
    learner = learner_with_rules(rng, 1, 2, 3, **(FIXED_RULES | changes))
    learner.learn(*random_rows(rng, 40, 2, 3, share))
    rules = AsWritten(learner.rules)
    for _ in range(40 if COMPILED else 12):
        polish(learner, 0)
    given = (rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0], rules.penalty[0])
    expected = naive.fit_weights(*given, 0.2, 2.0)
    assert_allclose(rules.W[0], expected, atol=1e-6)


def test_labels_permute(rng):
    order = np.array([2, 0, 1])
    X, Y = random_rows(rng, 60, 2, 3)
    one, two = (unscaled_learner(2, 3, vigilance=0.5, variance_floor=0.0) for _ in range(2))
    one.learn(X, Y)
    two.learn(X, np.ascontiguousarray(Y[:, order]))
    assert one.counts == two.counts
    assert one.counts["births"] > 2
    assert_allclose(two.score(X), one.score(X)[:, order], rtol=1e-7, atol=1e-8)


def test_features_permute(rng):
    order = np.array([1, 2, 0])
    X, Y = random_rows(rng, 60, 3, 2)
    one, two = (unscaled_learner(3, 2, vigilance=0.5, variance_floor=0.0) for _ in range(2))
    two.start_variance = np.append(one.start_variance[order], one.start_variance[3:])
    one.learn(X, Y)
    two.learn(np.ascontiguousarray(X[:, order]), Y)
    assert one.counts == two.counts
    scores = two.score(np.ascontiguousarray(X[:, order]))
    assert_allclose(scores, one.score(X), rtol=1e-7, atol=1e-8)
