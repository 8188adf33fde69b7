"""Weights of rows: what they do to rules, against a slow twin, repeated rows and refits."""

import numpy as np
import pytest
from helpers.models import freeze
from helpers.streams import (
    COMPILED,
    assert_identical,
    naive_learner,
    random_rows,
    state_of,
    unscaled_learner,
    with_gaps,
)
from helpers.study_files import model, rows
from helpers.twins import SHARED, SPLIT, assert_same
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, OneVsRestEFC
from efcml.model import batch
from efcml.model.honest_errors import HeldErrors

X, Y = rows()
W = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
START = 20
ONE = {"prior": 1.0, "max_rules": 1, "cases": 0, "alpha": 0.0, "beta": 0.0, "forgetting": 1.0}
TWINS = {
    "base": {},
    "forgetting, partial": {"forgetting": 0.9, "share": 0.7},
    "seldom corrected, no floors": {"step_interval": 0.8, "variance_floor": 0.0},
    "follows, cases, partial, splits": {**SPLIT, "forgetting": "auto", "cases": 6, "share": 0.6},
    "shared planes, many merges": {**SHARED, "vigilance": 0.5, "merge_overlap": 0.5},
    "caution and time": {"caution": True, "time": True, "cases": 6},
    "gaps, follows": {"gaps": True, "forgetting": "auto", "cases": 6},
}


@pytest.mark.parametrize(
    "variant", [pytest.param("base", marks=pytest.mark.uncompiled), *list(TWINS)[1:]]
)
def test_weights_of_a_stream_are_those_of_the_twin(variant):
    changes = dict(TWINS[variant])
    rng, n = np.random.default_rng(0), 80 if COMPILED else 20
    table, labels = random_rows(rng, n, 2, 3, changes.pop("share", 1.0))
    gaps = changes.pop("gaps", False)
    table = with_gaps(rng, table) if gaps else table
    learner, twin = unscaled_learner(2, 3, **changes), naive_learner(2, 3, gaps=gaps, **changes)
    weights = np.append(0.5, rng.uniform(0.2, 3.0, n - 1))
    for x, y, w in zip(table, labels, weights, strict=True):
        twin.weigh(w)
        twin.learn_row(x, y)
        learner.learn(x[None], y[None], None, np.array([w]))
        assert_same(learner, twin)
    assert learner.rules.n_rules > 1


@pytest.mark.filterwarnings("ignore::efcml.model.clipping.ClippingWarning")
def test_chunks_do_not_matter_while_rows_are_held():
    """A stream moves so far that rows are held until the scale is clear."""
    table = np.tile(X, (8, 1)) + 0.1 * np.random.default_rng(2).normal(size=(8 * len(X), 2))
    table[150:] += 30.0
    labels, w = np.tile(Y, (8, 1)), np.random.default_rng(3).uniform(0.2, 3.0, len(table))
    w[::9] = 0.0
    whole = model().fit(X, Y).partial_fit(table, labels, sample_weight=w)
    assert sum(whole.learner_.following.changes) == 1
    parts, held = model().fit(X, Y), []
    for low, high in [(0, 1), (1, 140), (140, 165), (165, 180), (180, len(table))]:
        parts.partial_fit(table[low:high], labels[low:high], sample_weight=w[low:high])
        held.append(parts.learner_.following.held_amounts)
    assert any(len(set(some)) > 1 for some in held)
    assert_identical(state_of(parts.learner_), state_of(whole.learner_))
    alike = model().fit(X, Y).partial_fit(table, labels)
    assert freeze(alike.learner_) != freeze(whole.learner_)


def test_rows_of_no_weight_are_left_out():
    some = np.where(np.arange(len(X)) % 3 == 0, 0.0, W)
    kept = some > 0.0
    found = model().fit(X, Y, some)
    assert freeze(found.learner_) == freeze(model().fit(X[kept], Y[kept], W[kept]).learner_)
    hidden = np.where(kept[:, None], Y, np.nan)
    found, wanted = model().fit(X, Y), model().fit(X, Y)
    found.partial_fit(X, Y, sample_weight=some)
    wanted.partial_fit(X, hidden, sample_weight=W)
    assert freeze(found.learner_) == freeze(wanted.learner_)


@pytest.fixture(scope="module")
def single():
    """A model of one rule that has learned a weighted batch."""
    return EFCMLClassifier(**ONE).fit(X, Y, W)


def solve(R, labels, w, prior=1.0):
    """Planes of weighted ridge regression, held to flat planes at the weighted means."""
    flat = np.zeros((R.shape[1], labels.shape[1]))
    flat[-1] = w @ labels / w.sum()
    Delta = np.diag([prior] * (R.shape[1] - 1) + [0.01 * prior])
    return np.linalg.solve(
        (w[:, None] * R).T @ R + Delta, (w[:, None] * R).T @ labels + Delta @ flat
    )


@pytest.mark.uncompiled
def test_a_batch_is_weighted_ridge_regression(single):
    R = batch.extended(single.learner_.scaler.transform(X))
    rules = single.learner_.rules
    assert_allclose(rules.W[0].T, solve(R, Y, W), rtol=1e-9, atol=1e-10)
    assert_allclose(rules.weight[0], W.sum())
    assert_allclose(rules.label_mean[0, 0], W @ Y / W.sum())


def test_errors_without_the_own_row_are_those_of_refits(single):
    learner = single.learner_
    rows = learner.scaler.transform(X)
    facts = learner.rules, rows, Y, learner.settings
    found = batch.errors_without_own_row(*facts, amounts=W)
    R, flat = batch.extended(rows), learner.rules.W_prior[0].T
    Delta = np.diag([1.0] * 2 + [0.01])
    for t in range(0, len(X), 7):
        w = np.where(np.arange(len(X)) == t, 0.0, W)
        weighed = w[:, None] * R
        planes = np.linalg.solve(weighed.T @ R + Delta, weighed.T @ Y + Delta @ flat)
        assert_allclose(found[t], Y[t] - R[t] @ planes, rtol=1e-8, atol=1e-9)


@pytest.mark.uncompiled
def test_shared_planes_without_the_own_row(single):
    """Planes that rules are held to, fitted without the row; its weight counts in how far."""
    learner = single.learner_
    rows = learner.scaler.transform(X)
    held = HeldErrors(learner.rules, 1.0, rows, Y, len(X), W)
    R = batch.extended(rows)
    left = Y - R @ learner.rules.W_prior[0].T
    P = np.linalg.inv((W[:, None] * R).T @ R + np.diag([1.0] * 2 + [0.01]))
    leverage = W * np.einsum("ti,ij,tj->t", R, P, R)
    assert_allclose(held.errors, left / (1.0 - leverage)[:, None], rtol=1e-9)
    assert_allclose(held.moves[0], W[:, None] * (R @ P), rtol=1e-9)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.full(len(X), -1.0), "finite and not below 0"),
        (np.full(len(X), np.nan), "finite and not below 0"),
        (np.full(len(X), np.inf), "finite and not below 0"),
        (
            np.where(np.arange(len(X)) == 3, 1e20, 1.0),
            "above 1e.09: divide all weights by the same",
        ),
        (np.ones(3), "one number for each of 44 rows"),
        (np.ones((len(X), 1)), "one number for each of 44 rows"),
        (["much"] * len(X), "must hold numbers"),
        (np.zeros(len(X)), "no known label.*weight above zero"),
    ],
)
def test_bad_weights(weight, words):
    with pytest.raises(ValueError, match=words):
        EFCMLClassifier().fit(X, Y, weight)
    if "label" not in words:
        clf = model().fit(X, Y)
        before = freeze(clf)
        with pytest.raises(ValueError, match=words):
            clf.partial_fit(X, Y, sample_weight=weight)
        assert freeze(clf) == before


def test_who_takes_no_weights_says_so():
    for clf in (EFCMLClassifier(), EFCMLClassifier().partial_fit(X, Y)):
        before = freeze(clf)
        with pytest.raises(ValueError, match="sample_weight needs rules: call fit"):
            clf.partial_fit(X, Y, sample_weight=W)
        assert freeze(clf) == before
    with pytest.raises(TypeError, match="every row counts alike"):
        OneVsRestEFC().fit(X, Y, sample_weight=W)


def test_weights_in_river():
    pytest.importorskip("river")
    from efcml.compat.river import RiverEFCML

    found = RiverEFCML(prior=1.0, warmup_rows=START)
    pairs = [(dict(enumerate(x)), dict(enumerate(y == 1))) for x, y in zip(X, Y, strict=True)]
    for x, y in pairs[:START]:
        found.learn_one(x, y)
    twin = EFCMLClassifier(prior=1.0, warmup_rows=START).partial_fit(X[:START], Y[:START])
    for (x, y), w in zip(pairs[START:], W[START:], strict=True):
        found.learn_one(x, y, w=w)
        found.learn_one(x, y, w=0)
    twice = [np.repeat(part[START:], 2, axis=0) for part in (X, Y)]
    weights = np.stack([W[START:], np.zeros(len(W) - START)], axis=1).ravel()
    twin.partial_fit(*twice, sample_weight=weights)
    assert freeze(found.learner) == freeze(twin.learner_)
    for w in (-1.0, 1e200, float("nan")):
        with pytest.raises(ValueError, match="w must be a number from 0 to 1e\\+09"):
            found.learn_one(x, y, w=w)
    with pytest.raises(ValueError, match="warm-up count alike"):
        RiverEFCML().learn_one(x, y, w=2.0)
