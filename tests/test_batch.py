"""Batch statistics and the minimiser of every rule's objective."""

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    AsWritten,
    learner_with_rules,
    make_params,
    prior_precision,
    random_rows,
)
from naive import learner as naive
from naive.cases import process_posterior
from numpy.testing import assert_allclose
from scipy import optimize

from efcml.model import batch
from efcml.model.learner import Learner

N, P_, K_ = 40, 2, 3
PENALTIES = [(0.3, 0.0), (0.0, 2.0), (0.3, 2.0)]


def weighted_rules(rng, share=1.0, n_rules=2, **changes):
    """A learner whose rules hold the statistics of some rows, and those rows."""
    learner = learner_with_rules(rng, n_rules, P_, K_, **changes)
    X, Y = random_rows(rng, N, P_, K_, share)
    if share < 1.0:
        learner.rules.split_groups()
    psi = batch.activations(learner.rules, X, learner.settings)
    batch.set_statistics(learner.rules, X, Y, psi)
    return learner, X, Y, psi


def test_activations_below_the_floor_are_zero(rng):
    learner = learner_with_rules(rng, 3, P_, K_, activation_floor=0.1, bandwidth=0.5)
    X = rng.normal(size=(20, P_))
    psi = batch.activations(learner.rules, X, learner.settings)
    learner.settings = learner.settings.replace(activation_floor=0.0)
    full = batch.activations(learner.rules, X, learner.settings)
    assert_allclose(full.sum(axis=1), 1.0)
    assert ((psi == 0.0) == (full < 0.1)).all()
    assert (psi == 0.0).any()


def test_statistics_of_fully_labelled_rows(rng):
    learner, X, Y, psi = weighted_rules(rng)
    rules, R = AsWritten(learner.rules), batch.extended(X)
    for i in range(2):
        G, B, weight, mean, cov = naive.batch_moments(R, Y, psi[:, i])
        assert_allclose(rules.G[i, 0], G, rtol=1e-10, atol=1e-12)
        assert np.array_equal(rules.G[i, 0], rules.G[i, 0].T)
        assert_allclose(rules.B[i], B, rtol=1e-10, atol=1e-12)
        assert_allclose(rules.weight[i], weight)
        assert_allclose(rules.label_weight[i], [np.full(K_, weight)])
        assert_allclose(rules.label_mean[i, 0], mean)
        assert_allclose(rules.label_cov[i], cov, atol=1e-12)


def test_statistics_of_partly_labelled_rows(rng):
    learner, X, Y, psi = weighted_rules(rng, share=0.6)
    rules, R = AsWritten(learner.rules), batch.extended(X)
    for i in range(2):
        for c in range(K_):
            for e in range(K_):
                both = ~np.isnan(Y[:, [c, e]]).any(axis=1)
                G, B, weight, mean, cov = naive.batch_moments(
                    R[both], Y[both][:, [c, e]], psi[both, i]
                )
                assert_allclose(rules.label_weight[i, c, e], weight)
                assert_allclose(rules.label_mean[i, c, e], mean[1])
                assert_allclose(rules.label_cov[i, c, e], cov[0, 1], atol=1e-10)
                if c == e:
                    assert_allclose(rules.G[i, c], G, rtol=1e-10, atol=1e-12)
                    assert_allclose(rules.B[i][:, c], B[:, 0], rtol=1e-10, atol=1e-12)


def test_statistics_of_a_rule_that_never_fires(rng):
    for share in (1.0, 0.6):
        learner, X, Y, psi = weighted_rules(rng, share)
        psi[:, 1] = 0.0
        batch.set_statistics(learner.rules, X, Y, psi)
        names = ("G", "B", "weight", "label_weight", "label_mean", "label_cov")
        assert not any(getattr(learner.rules, name)[1].any() for name in names)


# Weights


def solve(learner, base=None):
    base = np.zeros((P_ + 1, K_)) if base is None else base
    base = np.ascontiguousarray(base.T)
    return batch.set_weights(learner.rules, prior_precision(P_), base, learner.settings)


def problem(rules, i):
    """G, B, Delta, W_prior and M of one rule."""
    return rules.G[i], rules.B[i], rules.Delta[i], rules.W_prior[i], rules.penalty[i]


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize(("alpha", "beta"), PENALTIES)
@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_weights_are_the_minimum(rng, mode, alpha, beta, share):
    learner, *_ = weighted_rules(rng, share, correlation=mode, alpha=alpha, beta=beta)
    base = np.zeros((P_ + 1, K_))
    base[-1] = 0.4
    assert solve(learner, base) == []
    rules = AsWritten(learner.rules)
    for i in range(2):
        corr = naive.correlation(rules.label_cov[i], rules.label_weight[i])
        M, top = naive.penalty(corr, mode)
        assert_allclose(rules.penalty[i], M, atol=1e-10)
        assert_allclose(rules.penalty_top[i], top, rtol=1e-9, atol=1e-12)
        expected = naive.fit_weights(*problem(rules, i), alpha, beta, tolerance=1e-12)
        assert_allclose(rules.W[i], expected, atol=1e-7)
        assert_allclose(rules.W_prior[i], base)
        given = problem(rules, i)[:3]
        D = naive.gradient(*given, rules.W[i], base)
        assert_allclose(rules.D[i], D, atol=1e-8)
        check_bounds(rules, i)


def check_bounds(rules, i):
    for P, G, Delta, bound, direction in zip(
        *(getattr(rules, name)[i] for name in ("P", "G", "Delta", "curvature")),
        rules.curvature_direction[i],
        strict=True,
    ):
        H = G + np.diag(Delta)
        assert_allclose(P @ H, np.eye(P_ + 1), atol=1e-9)
        assert_allclose(bound, np.linalg.eigvalsh(H)[-1], rtol=1e-9)
        assert_allclose(H @ direction, bound * direction, atol=1e-8)


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("mode", naive.CONVEX_MODES)
def test_weights_are_those_of_a_general_solver(rng, mode, share):
    alpha, beta = 0.3, 2.0
    learner, *_ = weighted_rules(rng, share, 1, correlation=mode, alpha=alpha, beta=beta)
    solve(learner)
    rules = AsWritten(learner.rules)
    G, B, Delta, W_prior, M = problem(rules, 0)
    shape, n_slopes = B.shape, P_ * K_

    # |w| = u + v with w = u - v and u, v >= 0 makes the problem smooth.
    def split(parts):
        slopes = (parts[:n_slopes] - parts[n_slopes : 2 * n_slopes]).reshape(P_, K_)
        return np.vstack([slopes, parts[2 * n_slopes :]])

    def value(parts):
        W = split(parts)
        smooth = naive.objective(W, G, B, Delta, W_prior, M, 0.0, beta)
        D = naive.gradient(G, B, Delta, W, W_prior)
        slope = naive.smooth_gradient(D, W, M, beta)
        change = np.concatenate([slope[:-1].ravel(), -slope[:-1].ravel(), slope[-1]])
        change[: 2 * n_slopes] += alpha
        return smooth + alpha * parts[: 2 * n_slopes].sum(), change

    bounds = [(0.0, None)] * (2 * n_slopes) + [(None, None)] * K_
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-10}
    start = np.zeros(2 * n_slopes + K_)
    found = optimize.minimize(
        value, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    assert_allclose(rules.W[0], split(found.x).reshape(shape), atol=1e-5)
    reached = naive.objective(rules.W[0], G, B, Delta, W_prior, M, alpha, beta)
    assert reached <= found.fun + 1e-9


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("changes", [{"correlation": "none"}, {"alpha": 0.0, "beta": 0.0}])
def test_weights_without_penalties_are_the_ridge(rng, changes, share):
    learner, *_ = weighted_rules(rng, share, **changes)
    base = rng.normal(size=(P_ + 1, K_))
    solve(learner, base)
    rules = AsWritten(learner.rules)
    for i in range(2):
        expected = naive.ridge(rules.G[i], rules.B[i], rules.Delta[i], base)
        assert_allclose(rules.W[i], expected, rtol=1e-9, atol=1e-11)
    assert not rules.D.any()
    assert not rules.penalty.any()


def test_light_rules_have_no_penalty_yet(rng):
    learner, X, Y, psi = weighted_rules(rng, alpha=0.0, beta=2.0)
    batch.set_statistics(learner.rules, X, Y, psi * [1e-3, 1.0])
    solve(learner)
    assert learner.rules.weight[0] < 1.0 <= learner.rules.weight[1]
    assert not learner.rules.penalty[0].any()
    assert learner.rules.penalty[1].any()


@pytest.mark.parametrize(
    "changes",
    [{"correlation": "paper", "beta": 500.0}, {"lipschitz": "paper", "beta": 2.0}],
    ids=["correlation", "lipschitz"],
)
def test_printed_formulas_keep_least_squares_when_they_run_away(rng, changes):
    learner, *_ = weighted_rules(rng, weight_limit=1e4, **changes)
    assert solve(learner) == [0, 1]
    rules = AsWritten(learner.rules)
    for i in range(2):
        expected = naive.ridge(rules.G[i], rules.B[i], rules.Delta[i], rules.W_prior[i])
        assert_allclose(rules.W[i], expected, rtol=1e-9, atol=1e-11)
    assert not rules.D.any()


def test_optimiser_stops_at_its_last_iteration(rng, monkeypatch):
    learner, *_ = weighted_rules(rng, alpha=0.3, beta=2.0)
    monkeypatch.setattr(batch, "MAX_ITERATIONS", 2)
    assert solve(learner) == []
    rules = AsWritten(learner.rules)
    for i in range(2):  # not the minimum, but W and D belong together
        D = naive.gradient(rules.G[i], rules.B[i], rules.Delta[i], rules.W[i], rules.W_prior[i])
        assert_allclose(rules.D[i], D, atol=1e-9)


@pytest.mark.parametrize("smallest", [0.0, 1e-20, 1e-3, 1.0])
def test_ridge_caps_the_condition(rng, smallest):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    H = batch.symmetric(Q @ np.diag([smallest, 2.0, 100.0]) @ Q.T)
    gamma = batch.ridge_needed(H)
    values = np.linalg.eigvalsh(H + gamma * np.eye(3))
    assert values[-1] <= 1.01 * batch.WORST_CONDITION * values[0]
    assert (gamma == 0.0) == (smallest >= 1e-3)
    assert gamma < 1e-9


def test_ill_conditioned_rows_get_the_ridge(rng, monkeypatch):
    monkeypatch.setattr(batch, "WORST_CONDITION", 100.0)
    learner, *_ = weighted_rules(rng, alpha=0.0, beta=0.0)
    G = learner.rules.arrays.G[0, 0]
    G *= [[1e4], [1.0], [1.0]]
    G[:] = batch.symmetric(G + np.diag([1e6, 0.0, 0.0]))
    solve(learner)
    H = learner.rules.G[0, 0] + np.diag(learner.rules.Delta[0, 0])
    assert np.linalg.cond(H) < 101.0
    added = learner.rules.Delta[0, 0] - prior_precision(P_)
    assert (added > 0.0).all()
    assert_allclose(added, added[0])


# The whole fit


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_fit_is_rules_then_statistics_then_weights(rng, share):
    n = 200 if COMPILED else 60
    X, Y = random_rows(rng, n, P_, K_, share)
    Y[4] = np.nan
    learner = Learner(make_params(vigilance=0.4, prior=3.0), P_, K_).fit(X, Y)
    rules, labelled = AsWritten(learner.rules), ~np.isnan(Y).all(axis=1)
    assert learner.rows_seen == labelled.sum()
    assert rules.n_rules > 1
    assert rules.n_groups == (1 if share == 1.0 else K_)
    Z = learner.scaler.transform(X[labelled])
    Y = Y[labelled]
    centers = rules.center[:, :P_]
    psi = np.array(
        [naive.activations(naive.densities(z, centers, rules.input_precision), 2.0) for z in Z]
    )
    psi[psi < 1e-4] = 0.0
    R = batch.extended(Z)
    base = np.zeros((P_ + 1, K_))
    base[-1] = np.nanmean(Y, axis=0)
    for i in range(rules.n_rules):
        assert_allclose(rules.W_prior[i], base)
        assert_allclose(rules.Delta[i], np.tile(prior_precision(P_, 3.0), (rules.n_groups, 1)))
        for c in range(K_):
            known = ~np.isnan(Y[:, c])
            G, B, *_ = naive.batch_moments(R[known], Y[known, c : c + 1], psi[known, i])
            assert_allclose(rules.G[i, c % rules.n_groups], G, rtol=1e-8, atol=1e-9)
            assert_allclose(rules.B[i][:, c], B[:, 0], rtol=1e-8, atol=1e-9)
        expected = naive.fit_weights(*problem(rules, i), 0.05, 0.5, tolerance=1e-12)
        assert_allclose(rules.W[i], expected, atol=1e-6)


def test_antecedents_of_a_fit_are_those_of_a_stream_without_consequents(rng):
    X, Y = random_rows(rng, 50, P_, K_)
    learner = Learner(make_params(vigilance=0.4), P_, K_).fit(X, Y)
    stream = learner.copy()
    stream.cluster(learner.scaler.transform(X), Y, 1.0, 1.0)
    names = ("center", "joint_precision", "input_precision", "log_det", "support", "updates")
    for name in names:
        assert np.array_equal(getattr(stream.rules, name), getattr(learner.rules, name))
    assert not stream.rules.G.any()


def refit(learner, X, Y, psi, base, prior=0.3):
    """Statistics and planes of some rows."""
    batch.set_statistics(learner.rules, X, Y, psi)
    batch.set_weights(learner.rules, prior_precision(P_, prior), base, learner.settings)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_errors_without_own_row_are_those_of_a_fit_without_it(rng, share):
    """Antecedents and the prior held fixed, every row is left out in turn."""
    changes = {"correlation": "none", "activation_floor": 0.1, "bandwidth": 0.5}
    learner, X, Y, psi = weighted_rules(rng, share, n_rules=3, **changes)
    assert (psi == 0.0).any()  # such rules answer but have not learned the row
    base, full = batch.prior_planes(Y, P_), learner.settings.replace(activation_floor=0.0)
    refit(learner, X, Y, psi, base)
    errors = batch.errors_without_own_row(learner.rules, X, Y, learner.settings)
    blending, R = batch.activations(learner.rules, X, full), batch.extended(X)
    for t in range(0, N, 4):
        others = np.arange(N) != t
        refit(learner, X[others], Y[others], psi[others], base)
        planes = np.tensordot(blending[t], learner.rules.W, axes=1)
        assert_allclose(errors[t], Y[t] - planes @ R[t], rtol=1e-8, atol=1e-10)


def test_errors_of_several_pairs_are_those_of_each_alone(rng):
    X, Y = random_rows(rng, N, P_, K_)
    pairs = [(0.0, 0.0), (0.1, 2.0)]

    def errors(params, pairs=None):
        learner = Learner(params, P_, K_, pairs=pairs).fit(X, Y)
        scaled = learner.scaler.transform(X)
        return batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)

    alone = [errors(make_params(alpha=alpha, beta=beta)) for alpha, beta in pairs]
    assert_allclose(errors(make_params(), pairs), np.hstack(alone), rtol=1e-6, atol=1e-8)


def test_errors_of_an_exact_fit_stay_small(rng):
    """Two rows, three numbers per plane, next to no prior: nothing is left to divide."""
    learner = learner_with_rules(rng, 1, P_, K_, correlation="none")
    X, Y = rng.normal(size=(2, P_)), np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    psi = batch.activations(learner.rules, X, learner.settings)
    base = batch.prior_planes(Y, P_)
    refit(learner, X, Y, psi, base, 1e-9)
    errors = batch.errors_without_own_row(learner.rules, X, Y, learner.settings)
    assert np.abs(errors).max() < 1e-3
    refit(learner, X, Y, psi, base, 0.001)  # a little is left, and says what it was
    R, P = batch.extended(X), learner.rules.P[0, 0]
    kept = 1.0 - np.diag(R @ P @ R.T)
    assert 0.001 < kept.min() < 0.05
    errors = batch.errors_without_own_row(learner.rules, X, Y, learner.settings)
    assert_allclose(errors, (Y - learner.score(X)) / kept[:, None], rtol=1e-8)


def test_errors_under_a_penalty_that_is_not_convex(rng):
    """Where the printed penalty lowers the curvature, planes move as without it."""
    changes = {"alpha": 0.0, "beta": 5.0, "correlation": "paper"}
    learner, X, Y, psi = weighted_rules(rng, n_rules=1, **changes)
    refit(learner, X, Y, psi, batch.prior_planes(Y, P_))
    strengths, axes = np.linalg.eigh(learner.rules.penalty[0])
    assert strengths[0] < -0.1
    errors, plain = (
        batch.errors_without_own_row(learner.rules, X, Y, settings) @ axes[:, 0]
        for settings in (learner.settings, learner.settings.replace(corrects=False))
    )
    assert_allclose(errors, plain, rtol=1e-8)


def test_cases_of_a_fit_have_learned_errors_without_own_row(rng):
    X, Y = random_rows(rng, 12, P_, K_)
    width, noise = 0.05, 1.0  # so narrow that every row is novel
    changes = {"alpha": 0.0, "case_width": width, "case_noise": noise}
    learner = Learner(make_params(cases=12, **changes), P_, K_).fit(X, Y)
    alone = Learner(make_params(cases=0, alpha=0.0), P_, K_).fit(X, Y)
    assert learner.cases.n_cases == len(X)
    scaled = learner.scaler.transform(X)
    errors = batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)
    expected = process_posterior(scaled, errors, scaled, width, noise)
    assert_allclose(learner.score(X) - alone.score(X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("share", "at_most"), [(1.0, 0.3), (0.6, 0.6)])
def test_errors_without_own_row_under_a_penalty_are_close(rng, share, at_most):
    """Closer than those that are left after learning; the penalty makes planes move less."""
    learner, X, Y, psi = weighted_rules(rng, share, alpha=0.0, beta=20.0)
    base, R = batch.prior_planes(Y, P_), batch.extended(X)
    refit(learner, X, Y, psi, base)
    settings = learner.settings
    errors = batch.errors_without_own_row(learner.rules, X, Y, settings)
    plain = batch.errors_without_own_row(learner.rules, X, Y, settings.replace(corrects=False))
    left = Y - learner.score(X)
    refitted = np.empty_like(errors)
    for t in range(N):
        others = np.arange(N) != t
        refit(learner, X[others], Y[others], psi[others], base)
        refitted[t] = Y[t] - np.tensordot(psi[t], learner.rules.W, axes=1) @ R[t]

    def distance(other):
        return np.nanmean((other - refitted) ** 2) ** 0.5

    assert np.array_equal(np.isnan(errors), np.isnan(Y))
    assert distance(errors) < at_most * distance(left)
    assert distance(errors) < distance(plain)


def test_under_thresholds_errors_are_those_that_are_left(rng):
    X, Y = random_rows(rng, N, P_, K_)
    learner = Learner(make_params(alpha=0.5, cases=0), P_, K_).fit(X, Y)
    scaled = learner.scaler.transform(X)
    errors = batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)
    assert_allclose(errors, Y - learner.score(X), rtol=1e-10, atol=1e-12)
