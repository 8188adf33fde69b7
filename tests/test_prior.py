"""What initial rows choose by cross-validation: strength of the prior, shared planes, share."""

from dataclasses import asdict

import numpy as np
import pytest
from helpers.streams import COMPILED, AsWritten, make_params, random_rows
from numpy.testing import assert_allclose, assert_array_equal

from efcml.model import batch, prior
from efcml.model.birth import start_variances
from efcml.model.learner import Learner
from efcml.model.scaler import Scaler
from efcml.model.sharing import next_renewal

pytestmark = pytest.mark.uncompiled

N = 40 if COMPILED else 24
P_, K_ = 3, 2


def ready_learner(X, K, **changes):
    """A learner that knows its scale but has no rules yet, and the scaled rows."""
    learner = Learner(make_params(**changes), X.shape[1], K)
    learner.scaler = Scaler.from_rows(X, 6.0)
    X = learner.scaler.transform(X)
    learner.start_variance = start_variances(X, K, 0.3)
    return learner, X


def choose(learner, X, Y, **changes):
    """What the rows say of the prior, if it is left to them; with ``changes`` of the share too."""
    params = make_params(**asdict(learner.params) | {"prior": "auto"} | changes)
    chosen, share = prior.choose_prior_and_share(learner._form_rules, X, Y, params, X)
    return (chosen, share) if changes else chosen


def slow_plane(X, Y, strength):
    """Ridge planes over all rows around flat ones at the label means, label by label."""
    planes = []
    for c in range(Y.shape[1]):
        known = ~np.isnan(Y[:, c])
        R, y = batch.extended(X[known]), Y[known, c]
        Delta = np.diag([*[strength] * X.shape[1], prior.INTERCEPT_SHARE * strength])
        flat = np.zeros(X.shape[1] + 1)
        flat[-1] = y.mean()
        planes.append(np.linalg.solve(R.T @ R + Delta, R.T @ y + Delta @ flat))
    return np.array(planes)


def slow_shared_strength(X, Y, folds):
    """The strength at which planes over all rows have the least held-out squared error."""
    losses = np.zeros(len(prior.STRENGTHS))
    edges = np.linspace(0, len(X), folds + 1).astype(int)
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        rest = np.r_[0:low, high : len(X)]
        for i, strength in enumerate(prior.STRENGTHS):
            W = slow_plane(X[rest], Y[rest], strength)
            losses[i] += np.nansum((batch.extended(X[low:high]) @ W.T - Y[low:high]) ** 2)
    return prior.STRENGTHS[int(np.argmin(losses))]


def slow_losses(X, Y, folds, priors, **changes):
    """Held-out squared error of whole fits, one for every fold and prior."""
    losses = np.zeros(len(priors))
    edges = np.linspace(0, len(X), folds + 1).astype(int)
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        rest = np.r_[0:low, high : len(X)]
        for i, held in enumerate(priors):
            learner = ready_learner(X, Y.shape[1], alpha=0.0, beta=0.0, **changes)[0]
            scaled = learner.scaler.transform(X)
            learner.build(scaled[rest], Y[rest], held, 1.0)
            # scores with the same floor of activations as in learning
            psi = batch.activations(learner.rules, scaled[low:high], learner.settings)
            planes = batch.extended(scaled[low:high]) @ AsWritten(learner.rules).W
            scores = np.einsum("tr,rtc->tc", psi, planes)
            losses[i] += np.nansum((scores - Y[low:high]) ** 2)
    return losses


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_losses_are_those_of_held_out_rows(rng, share):
    X, Y = random_rows(rng, N, 2, 2, share)
    changes = {"vigilance": 0.5}
    learner, scaled = ready_learner(X, 2, alpha=0.0, beta=0.0, **changes)
    shared = slow_shared_strength(scaled, Y, 5)
    priors = [prior.Prior(s, held) for held in (None, shared) for s in prior.STRENGTHS]
    expected = slow_losses(X, Y, 5, priors, **changes)
    edges = np.linspace(0, N, 6).astype(int)
    losses = np.zeros((2, len(prior.STRENGTHS)))
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        rest = np.r_[0:low, high:N]
        new = slice(low, high)
        rows = scaled[rest], Y[rest], scaled[new], Y[new], scaled[rest], scaled[new]
        losses += prior.fold_losses(learner._form_rules, 1.0, shared, prior.Part(*rows))
    assert_allclose(losses.ravel(), expected, rtol=1e-8)
    assert choose(learner, scaled, Y) == priors[int(np.argmin(expected))]
    assert not learner.fitted
    assert learner.counts["births"] == 0


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_shared_planes_are_ridge_over_all_rows(rng, share):
    X, Y = random_rows(rng, N, 3, 2, share)
    planes = prior.Prior(1.0, 5.0).planes(X, Y)
    assert_allclose(planes, slow_plane(X, Y, 5.0), rtol=1e-9)
    flat = prior.Prior(1.0).planes(X, Y)
    assert_array_equal(flat[:, :-1], 0.0)
    assert_allclose(flat[:, -1], np.nanmean(Y, axis=0))


@pytest.mark.parametrize(("gain", "expected"), [(0.02, prior.COARSE), (0.04, prior.FINE)])
def test_rules_are_fine_if_regions_are_clearly_better(rng, monkeypatch, gain, expected):
    X, Y = random_rows(rng, 20, 2, 2)
    asked = []

    def losses(form_rules, share, *_):
        asked.append(share)
        return (1.0 - gain) * np.ones((2, len(prior.STRENGTHS)))

    monkeypatch.setattr(prior, "shared_losses", lambda *_: np.ones(len(prior.STRENGTHS)))
    monkeypatch.setattr(prior, "fold_losses", losses)
    learner, scaled = ready_learner(X, 2)
    auto = {"splitting": "labels", "split_share": "auto"}
    assert choose(learner, scaled, Y, **auto)[1] == expected
    assert asked[-1] == expected
    given = {"splitting": "labels", "split_share": 0.37}
    assert choose(learner, scaled, Y, **given)[1] == 0.37
    assert choose(learner, scaled, Y, **given, prior=5.0) == (prior.Prior(5.0), 0.37)
    assert choose(learner, scaled, Y, **auto, prior=5.0) == (prior.Prior(5.0), expected)
    assert choose(learner, scaled, Y, splitting="off")[1] == 1.0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_too_few_rows_leave_it_at_one(rng, n):
    X, Y = random_rows(rng, n, 2, 2)
    learner, scaled = ready_learner(X, 2)
    assert choose(learner, scaled, Y) == prior.Prior(1.0)


def test_only_the_newest_rows_count(rng, monkeypatch):
    monkeypatch.setattr(prior, "MOST_ROWS", 16)
    X, Y = random_rows(rng, 26, 2, 2)
    learner, scaled = ready_learner(X, 2)
    old = choose(learner, scaled, Y)
    scaled[:10], Y[:10] = 3.0, 1.0
    assert choose(learner, scaled, Y) == old


@pytest.mark.parametrize("delta", ["auto", 7.0])
def test_fit_uses_it_with_a_weak_intercept(rng, delta):
    X, Y = random_rows(rng, 12, 2, 2)
    learner = Learner(make_params(prior=delta, vigilance=0.5), 2, 2).fit(X, Y)
    chosen = learner.prior_precision
    assert chosen[0] in (prior.STRENGTHS if delta == "auto" else (7.0,))
    assert chosen[1] == chosen[0]
    assert chosen[2] == prior.INTERCEPT_SHARE * chosen[0]
    assert learner.settings.prior_slope == chosen[0]


# Planes that all rules share go on learning


def test_renewals_come_with_more_rows_and_not_too_often_with_many_features():
    assert [next_renewal(rows, 4) for rows in (0, 1, 33, 34, 391)] == [1, 2, 34, 36, 403]
    assert [next_renewal(rows, 260) for rows in (0, 322, 5000)] == [33, 355, 5151]
