"""Batch statistics, the minimiser of every rule's objective, and errors without the own row."""

import numpy as np
import pytest
from helpers.streams import (
    AsWritten,
    learner_with_rules,
    make_params,
    prior_precision,
    random_rows,
)
from naive import learner as naive
from naive.cases import process_posterior
from numpy.testing import assert_allclose, assert_array_equal

from efcml.kernels.cases import learn_errors, remember_rows
from efcml.model import batch
from efcml.model import honest_errors as honest
from efcml.model.casebase import CaseBase
from efcml.model.honest_errors import HeldErrors, honest_errors
from efcml.model.label_layer import LabelLayer
from efcml.model.learner import Learner
from efcml.model.prior import Prior, precision
from efcml.model.sequelbase import SequelBase

pytestmark = pytest.mark.uncompiled

N, P_, K_ = 40, 2, 3
SHARED = 2.0


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


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_statistics_are_those_of_the_rows_that_know_a_label(rng, share):
    learner, X, Y, psi = weighted_rules(rng, share)
    rules, R = AsWritten(learner.rules), batch.extended(X)
    for i in range(2):
        for c in range(K_):
            for e in range(K_):
                both = ~np.isnan(Y[:, [c, e]]).any(axis=1)
                G, B, weight, mean, cov = naive.batch_moments(
                    R[both], Y[both][:, [c, e]], psi[both, i]
                )
                group = c % rules.n_groups
                assert_allclose(rules.label_weight[i, group, e], weight)
                assert_allclose(rules.label_mean[i, group, e], mean[1])
                assert_allclose(rules.label_cov[i, c, e], cov[0, 1], atol=1e-10)
                if c == e:
                    assert_allclose(rules.weight[i], psi[:, i].sum())
                    assert_allclose(rules.G[i, group], G, rtol=1e-10, atol=1e-12)
                    assert_allclose(rules.B[i][:, c], B[:, 0], rtol=1e-10, atol=1e-12)


def test_statistics_of_a_rule_that_never_fires(rng):
    for share in (1.0, 0.6):
        learner, X, Y, psi = weighted_rules(rng, share)
        psi[:, 1] = 0.0
        batch.set_statistics(learner.rules, X, Y, psi)
        names = ("G", "B", "weight", "label_weight", "label_mean", "label_cov")
        assert not any(getattr(learner.rules, name)[1].any() for name in names)


@pytest.mark.parametrize("amounts", [None, np.linspace(0.5, 2.0, N)])
@pytest.mark.parametrize("most", [16.0, 1000.0])
def test_rows_count_for_the_rule_that_decides_them(rng, monkeypatch, most, amounts):
    monkeypatch.setattr(batch, "LATEST", most)
    learner, X, Y, psi = weighted_rules(rng, share=0.6)
    batch.set_decided(learner.rules, X, Y, psi, amounts)
    counts = np.ones(N) if amounts is None else amounts
    counts = counts * 16.0 / counts.sum() if most == 16.0 else counts
    for i in range(2):
        mine = psi[:, i] == psi.max(axis=1)
        found = {name: getattr(learner.rules, name)[i] for name in ("decided", "decided_sum")}
        assert_allclose(found["decided"], counts[mine].sum())
        assert_allclose(found["decided_sum"], counts[mine] @ X[mine])
        known = counts[mine] @ ~np.isnan(Y[mine])
        assert_allclose(learner.rules.decided_known[i], known)
        assert_allclose(learner.rules.decided_ones[i], counts[mine] @ np.nan_to_num(Y[mine]))


def solve(learner, base=None):
    base = np.zeros((P_ + 1, K_)) if base is None else base
    base = np.ascontiguousarray(base.T)
    return batch.set_weights(learner.rules, prior_precision(P_), base, learner.settings)


def problem(rules, i):
    """G, B, Delta, W_prior and M of one rule."""
    return rules.G[i], rules.B[i], rules.Delta[i], rules.W_prior[i], rules.penalty[i]


@pytest.mark.parametrize(
    ("mode", "alpha", "beta", "share"),
    [
        ("shift", 0.3, 2.0, 1.0),
        ("shift", 0.3, 2.0, 0.6),
        ("shift", 0.3, 0.0, 1.0),
        ("laplacian", 0.3, 2.0, 1.0),
        ("laplacian", 0.0, 2.0, 0.6),
        ("signed", 0.3, 2.0, 0.6),
    ],
)
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


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_fit_is_rules_then_statistics_then_weights(rng, share):
    X, Y = random_rows(rng, 60, P_, K_, share)
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


@pytest.mark.slow
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


def shared_planes(X, Y, flat):
    """Planes of all rows at once, label by label, held to flat ones that are given."""
    R, planes = batch.extended(X), np.empty((Y.shape[1], X.shape[1] + 1))
    Delta = np.diag(precision(SHARED, X.shape[1]))
    for c in range(Y.shape[1]):
        rows = R[~np.isnan(Y[:, c])]
        target = rows.T @ Y[~np.isnan(Y[:, c]), c] + Delta @ flat[c]
        planes[c] = np.linalg.solve(rows.T @ rows + Delta, target)
    return planes


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_rules_that_share_planes_are_refitted_without_the_row(rng, share):
    """Antecedents, strengths and the flat planes held fixed, every row is left out in turn."""
    learner, X, Y, psi = weighted_rules(rng, share, n_rules=3, correlation="none", bandwidth=0.5)
    flat = batch.prior_planes(Y, P_)
    refit(learner, X, Y, psi, shared_planes(X, Y, flat), 10.0)
    rules, settings = learner.rules, learner.settings
    held = HeldErrors(rules, SHARED, X, Y, N)
    errors = batch.errors_without_own_row(rules, X, Y, settings, held)
    today = batch.errors_without_own_row(rules, X, Y, settings)
    full = settings.replace(activation_floor=0.0)
    blending, R = batch.activations(rules, X, full), batch.extended(X)
    wrong = 0.0
    for t in range(0, N, 4):
        others = np.arange(N) != t
        planes = shared_planes(X[others], Y[others], flat)
        refit(learner, X[others], Y[others], psi[others], planes, 10.0)
        expected = Y[t] - np.tensordot(blending[t], rules.W, axes=1) @ R[t]
        assert_allclose(errors[t], expected, rtol=1e-8, atol=1e-10)
        wrong = max(wrong, np.nanmax(np.abs(today[t] - expected)))
    assert wrong > 0.01


def test_cases_are_refitted_without_the_error(rng):
    """The same cases, filled with the errors of all rows but one."""
    X, errors = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    chosen = X[np.unique(np.linspace(0, 30, 12, endpoint=False).astype(int))]

    def with_errors(rows, targets):
        base = CaseBase(3, 2, 12, 0.3, 0.5)
        remember_rows(chosen, np.arange(len(chosen)), base.arrays)
        known = np.ones(targets.shape, dtype=bool)
        learn_errors(rows, targets.copy(), known, np.empty(0), base.arrays)
        return base

    found = with_errors(X, errors).errors_without_own_row(X, errors)
    for t in range(30):
        others = np.arange(30) != t
        base = with_errors(X[others], errors[others])
        adds, *_ = base.similar_to(X[t])
        assert_allclose(found[t], errors[t] - adds.sum(axis=0), rtol=1e-8, atol=1e-10)


def fitted(X, Y, shared, **changes):
    """A learner with rules, shared planes and cases, nothing chosen by cross-validation."""
    params = make_params(alpha=0.0, beta=0.0, correlation="none", **changes)
    learner = Learner(params, X.shape[1], Y.shape[1]).fit(X, Y)
    scaled = learner.scaler.transform(X)
    learner.build(scaled, Y, Prior(3.0, shared), 1.0)
    learner.cases = learner._new_cases()
    if learner.cases.capacity:
        errors = batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)
        learner.cases.fill(scaled, errors)
    return learner, scaled


def honest_of(learner, scaled, Y):
    return honest_errors(learner.rules, learner.cases, learner.shared, scaled, Y, learner.settings)


def some_rows(rng, n=60, p=6, K=3):
    X = rng.normal(size=(n, p))
    return X, (X @ rng.normal(size=(p, K)) + rng.normal(size=(n, K)) > 0).astype(float)


def test_of_a_long_batch_the_newest_rows_are_asked(rng, monkeypatch):
    X, Y = some_rows(rng)
    Y[3, 1] = Y[-2, 0] = np.nan
    learner, scaled = fitted(X, Y, 5.0, cases=20)
    whole = honest_of(learner, scaled, Y)
    assert_array_equal(np.isnan(whole), np.isnan(Y))
    monkeypatch.setattr(honest, "MOST_ROWS", 15)
    assert_allclose(honest_of(learner, scaled, Y), whole[-15:], rtol=1e-9, atol=1e-12)


def test_what_the_cases_take_off_is_taken_off_the_errors_without_the_row(rng):
    X, Y = some_rows(rng)
    learner, scaled = fitted(X, Y, 5.0, cases=20)
    without, _ = fitted(X, Y, 5.0, cases=0)
    filled = batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)
    taken_off = filled - learner.cases.errors_without_own_row(scaled, filled)
    expected = honest_of(without, scaled, Y) - taken_off
    assert_allclose(honest_of(learner, scaled, Y), expected, rtol=1e-9, atol=1e-12)
    assert np.abs(expected - filled + taken_off).max() > 0.01


def test_cases_of_a_batch_are_spread_evenly(rng):
    cases = CaseBase(2, 1, 4, 0.01, 1.0)
    cases.fill(rng.normal(size=(14, 2)), rng.normal(size=(14, 1)))
    assert cases.arrays.age.tolist() == [0, 3, 7, 10]


def test_what_errors_teach_begins_with_the_honest_ones_of_a_fit(rng):
    X, Y = random_rows(rng, 30, P_, K_)
    params = make_params(cases=10, caution=True, time=True)
    learner = Learner(params, P_, K_).fit(X, Y)
    errors = honest_of(learner, learner.scaler.transform(X), Y)
    sequel, labels = SequelBase(K_, trusts=True, times=True), LabelLayer(K_)
    sequel.begin(errors, Y)
    labels.begin(errors, Y)
    for found, expected in ((learner.sequel, sequel), (learner.labels, labels)):
        for name, array in expected.state().items():
            assert_array_equal(found.state()[name], array, err_msg=name)
