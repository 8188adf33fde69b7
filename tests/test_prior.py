"""The choice of the prior strength by cross-validation."""

from dataclasses import asdict

import numpy as np
import pytest
from helpers.streams import COMPILED, AsWritten, make_params, random_rows

from efcml.model import batch, prior
from efcml.model.birth import start_variances
from efcml.model.learner import Learner
from efcml.model.scaler import Scaler

N = 100 if COMPILED else 40


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
    np.testing.assert_allclose(losses.ravel(), expected, rtol=1e-8)
    assert choose(learner, scaled, Y) == priors[int(np.argmin(expected))]
    assert not learner.fitted
    assert learner.counts["births"] == 0


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_shared_planes_are_ridge_over_all_rows(rng, share):
    X, Y = random_rows(rng, N, 3, 2, share)
    planes = prior.Prior(1.0, 5.0).planes(X, Y)
    np.testing.assert_allclose(planes, slow_plane(X, Y, 5.0), rtol=1e-9)
    flat = prior.Prior(1.0).planes(X, Y)
    np.testing.assert_array_equal(flat[:, :-1], 0.0)
    np.testing.assert_allclose(flat[:, -1], np.nanmean(Y, axis=0))


def test_rules_share_a_plane_where_all_rows_have_one(rng):
    """One plane holds everywhere, in many features: too many for a rule to find it alone."""
    X = rng.normal(size=(N, 12))
    Y = (X @ rng.normal(size=(12, 2)) > 0.0).astype(float)
    learner, scaled = ready_learner(X, 2, vigilance=0.3)
    chosen = choose(learner, scaled, Y)
    assert chosen.shared is not None
    fitted = Learner(make_params(prior="auto", vigilance=0.3, birth_width=0.3), 12, 2).fit(X, Y)
    assert fitted.rules.n_rules > 1
    shared = chosen.planes(scaled, Y)
    np.testing.assert_allclose(fitted.rules.W_prior, np.tile(shared, (fitted.rules.n_rules, 1, 1)))


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


def test_clusters_with_planes_of_their_own_are_told_from_one_plane(rng):
    """Two groups of rows, told by the first label, in which a feature means the opposite."""
    X = rng.normal(size=(200, 3))
    side = np.sign(X[:, 0])
    X[:, 0] += 3.0 * side
    auto = {"splitting": "labels", "split_share": "auto"}
    for sign, share in ((side, prior.FINE), (1.0, prior.COARSE)):
        Y = np.column_stack([side, sign * (X[:, 1] + 2.0 * rng.normal(size=200))]) > 0.0
        learner, scaled = ready_learner(X, 2, vigilance=9.0, bandwidth=0.5, **auto)
        assert choose(learner, scaled, Y.astype(float), **auto)[1] == share


def test_noise_asks_for_a_stronger_prior(rng):
    X = rng.normal(size=(N, 3))
    signal = (X[:, :1] > 0.0).astype(float)
    noise = rng.integers(0, 2, size=(N, 1)).astype(float)
    chosen = []
    for Y in (signal, noise):
        learner, scaled = ready_learner(X, 1, vigilance=2.0)
        chosen.append(choose(learner, scaled, Y).strength)
    assert chosen[0] < chosen[1]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_too_few_rows_leave_it_at_one(rng, n):
    X, Y = random_rows(rng, n, 2, 2)
    learner, scaled = ready_learner(X, 2)
    assert choose(learner, scaled, Y) == prior.Prior(1.0)


def test_two_folds_are_enough(rng):
    X, Y = random_rows(rng, 4, 2, 2)
    learner, scaled = ready_learner(X, 2)
    assert choose(learner, scaled, Y).strength in prior.STRENGTHS


def test_only_the_newest_rows_count(rng, monkeypatch):
    monkeypatch.setattr(prior, "MOST_ROWS", 20)
    X, Y = random_rows(rng, 50, 2, 2)
    learner, scaled = ready_learner(X, 2)
    old = choose(learner, scaled, Y)
    scaled[:30], Y[:30] = 3.0, 1.0
    assert choose(learner, scaled, Y) == old


@pytest.mark.parametrize("delta", ["auto", 7.0])
def test_fit_uses_it_with_a_weak_intercept(rng, delta):
    X, Y = random_rows(rng, N, 2, 2)
    learner = Learner(make_params(prior=delta, vigilance=0.5), 2, 2).fit(X, Y)
    chosen = learner.prior_precision
    if delta == "auto":
        assert chosen[0] in prior.STRENGTHS
    else:
        assert chosen[0] == 7.0
    assert chosen[1] == chosen[0]
    assert chosen[2] == prior.INTERCEPT_SHARE * chosen[0]
    assert learner.settings.prior_slope == chosen[0]
