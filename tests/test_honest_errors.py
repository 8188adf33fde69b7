"""Errors of the whole model at rows of its batch: each against a fit without that row."""

import numpy as np
import pytest
from helpers.streams import make_params
from numpy.testing import assert_allclose
from test_batch import P_, N, refit, weighted_rules

from efcml.kernels.cases import learn_errors, remember_rows
from efcml.model import batch
from efcml.model import honest_errors as honest
from efcml.model.casebase import CaseBase
from efcml.model.honest_errors import HeldErrors, honest_errors
from efcml.model.learner import Learner
from efcml.model.prior import Prior, precision

pytestmark = pytest.mark.uncompiled

SHARED = 2.0


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


@pytest.mark.slow
def test_errors_of_the_whole_model_are_near_those_of_new_fits(rng):
    X, Y = some_rows(rng)
    learner, scaled = fitted(X, Y, 5.0, cases=40)
    found = honest_of(learner, scaled, Y)
    true, rows = [], range(0, 60, 3)
    for t in rows:
        others = np.arange(60) != t
        new, _ = fitted(X[others], Y[others], 5.0, cases=40)
        true.append(Y[t] - new.score(X[t : t + 1])[0])
    left = Y - learner.score(X)
    assert np.corrcoef(np.ravel(true), found[rows].ravel())[0, 1] > 0.95
    gaps = [np.mean((np.array(true) - other[rows]) ** 2) for other in (found, left)]
    assert gaps[0] < 0.2 * gaps[1]


def test_without_cases_and_shared_planes_they_are_those_of_the_rules(rng):
    X, Y = some_rows(rng)
    learner, scaled = fitted(X, Y, None, cases=0)
    expected = batch.errors_without_own_row(learner.rules, scaled, Y, learner.settings)
    np.testing.assert_array_equal(honest_of(learner, scaled, Y), expected)


def test_of_a_long_batch_the_newest_rows_are_asked(rng, monkeypatch):
    X, Y = some_rows(rng)
    Y[3, 1] = Y[-2, 0] = np.nan
    learner, scaled = fitted(X, Y, 5.0, cases=20)
    whole = honest_of(learner, scaled, Y)
    np.testing.assert_array_equal(np.isnan(whole), np.isnan(Y))
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
