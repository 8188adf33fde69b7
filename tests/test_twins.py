"""The compiled learner against its slow twin: scores, decisions, probabilities, events."""

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    NaiveLearner,
    make_params,
    naive_learner,
    random_rows,
    unscaled_learner,
    with_gaps,
)
from naive.learner import minimise, objective
from naive.rules import Memory, penalty_of
from numpy.testing import assert_allclose

from efcml.kernels.linalg import whole
from efcml.model import fit as fit_module
from efcml.model.learner import Learner
from efcml.model.scaler import Scaler
from efcml.model.trace import Trace

pytestmark = pytest.mark.uncompiled


def rows_for(seed, n, p, K, *, known=1.0, weights=False, drift=False):
    rng = np.random.default_rng(seed)
    X, Y = random_rows(rng, n, p, K, known)
    if drift:
        Y[n // 2 :] = 1.0 - Y[n // 2 :]
    w = rng.uniform(0.3, 3.0, size=n) if weights else np.ones(n)
    if weights:
        w[::17] = 0.0
    return X, Y, w


def assert_same_rules(rules, twin):
    """Compare all that the two remember of rules."""
    assert rules.n_rules == len(twin.rules)
    for i, rule in enumerate(twin.rules):
        near = {"rtol": 1e-7, "atol": 1e-9, "err_msg": f"rule {i}"}
        assert rules.uid[i] == rule.uid
        assert rules.updates[i] == rule.updates
        p = rules.p
        known = slice(None if rules.joint.size else p)  # labels have no place without the rest
        assert_allclose(rules.center[i, known], rule.center[known], **near)
        if rules.joint.size:
            assert_allclose(np.linalg.inv(whole(rules.joint[i].copy())), rule.S, **near)
            assert_allclose(rules.log_det[i], np.linalg.slogdet(rule.S)[1], **near)
        assert_allclose(np.linalg.inv(whole(rules.marginal[i].copy())), rule.S[:p, :p], **near)
        assert_allclose(rules.log_det_x[i], np.linalg.slogdet(rule.S[:p, :p])[1], **near)
        names = ("support", "prior_share", "weight", "use", "unstepped", "penalty_age")
        for name in names if twin.correlates else names[:-1]:
            assert_allclose(getattr(rules, name)[i], getattr(rule, name), **near)
        if twin.correlates:
            assert_allclose(rules.label_sums[i], rule.labels, **near)
        assert_allclose(rules.planes[i], rule.planes, **near)
        for m, memory in enumerate(rule.memories):
            G, P = (whole(a[i, m].copy()) for a in (rules.G, rules.P))
            assert_allclose(G, memory.G, **near)
            assert_allclose(P, memory.P, rtol=1e-6, atol=1e-9)
            assert_allclose(rules.Delta[i, m], memory.Delta, **near)
            assert_allclose(rules.seen[i, m], memory.seen, **near)
            assert_allclose(rules.B[i, m], memory.B, **near)
            assert_allclose(rules.W[i, m], memory.W, **near)
            assert_allclose(rules.W_0[i, m], memory.W_0, **near)


def follow_both(learner, twin, X, Y, w):
    trace = Trace.for_rows(*Y.shape)
    learner.learn(X, Y, trace, w)
    scores, decisions, probabilities = twin.learn(X, Y, w)
    assert_allclose(trace.scores, scores, rtol=1e-8, atol=1e-8)
    assert_allclose(trace.probabilities, probabilities, rtol=1e-8, atol=1e-8)
    assert np.array_equal(trace.decisions, decisions)
    told = [(kind, uid) for _, kind, uid in trace.events]
    assert told == [(kind, uid) for _, kind, uid in twin.rules.events]
    assert_same_rules(learner.rules, twin.rules)
    return {kind for kind, _ in told}


UNKNOWN = {"known": 0.7, "weights": True}
STREAMS = {
    "as it is": {},
    "labels are unknown": {"known": 0.7},
    "weights": {"weights": True},
    "laplacian": {"correlation": "laplacian"} | UNKNOWN,
    "signed": {"correlation": "signed", "beta": 2.0},
    "none": {"correlation": "none"} | UNKNOWN,
    "printed penalty": {"correlation": "paper", "beta": 0.05},
    "no penalty": {"alpha": 0.0, "beta": 0.0},
    "sparse": {"alpha": 2.0, "beta": 0.0},
    "sparse alone": {"alpha": 1.0, "correlation": "none"},
    "forgetting": {"forgetting": 0.97, "known": 0.8},
    "two memories": {"forgetting": "auto", "drift": True},
    "two memories, unknown": {"forgetting": "auto", "drift": True} | UNKNOWN,
    "splits": {"splitting": "labels", "vigilance": 1.5, "n": 200},
    "splits along axes": {"splitting": "axis", "vigilance": 1.5, "n": 200} | UNKNOWN,
    "halves drift": {"splitting": "labels", "vigilance": 1.5, "forgetting": "auto", "n": 200},
    "shared planes": {"shared": 2.0},
    "shared, two memories": {"shared": 2.0, "forgetting": "auto"} | UNKNOWN,
    "cap": {"max_rules": 4, "vigilance": 0.3},
    "cap without merges": {"max_rules": 4, "vigilance": 0.3, "merging": False},
    "one rule": {"max_rules": 1, "splitting": "labels"},
    "printed merges": {"merge_consequents": "paper", "merge_overlap": 0.5},
    "printed volume": {"merge_volume": "paper", "merge_overlap": 0.5},
    "features only": {"product_space": False, "bandwidth": "dimension"} | UNKNOWN,
    "features split": {"product_space": False, "splitting": "axis", "vigilance": 1.5, "n": 200}
    | {"correlation": "none"},
    "labels split": {"product_space": False, "splitting": "labels", "vigilance": 1.5, "n": 200},
    "distance": {"activation": "distance", "vigilance": 0.9},
    "printed update": {"update": "paper", "activation_floor": 0.0},
    "no floor": {"variance_floor": 0.0, "forgetting": "auto"},
    "cases": {"cases": 8},
    "recent cases": {"cases": 8, "forgetting": "auto", "drift": True} | UNKNOWN,
    "time": {"time": True} | UNKNOWN,
    "f1": {"decision": "f1", "time": True, "cases": 5},
    "subset": {"decision": "subset", "time": True, "known": 0.9},
    "one feature": {"p": 1, "K": 2},
    "one label": {"p": 2, "K": 1, "cases": 5, "time": True, "splitting": "labels"},
}
DATA = ("known", "weights", "drift")


@pytest.mark.parametrize("name", STREAMS)
def test_streams_from_nothing(name):
    changes = dict(STREAMS[name])
    seed, n = list(STREAMS).index(name), changes.pop("n", 90)
    p, K = changes.pop("p", 3), changes.pop("K", 3)
    data = {part: changes.pop(part) for part in DATA if part in changes}
    X, Y, w = rows_for(seed, n, p, K, **data)
    kinds = follow_both(unscaled_learner(p, K, **changes), naive_learner(p, K, **changes), X, Y, w)
    if name.startswith(("splits", "halves")) or name.endswith("split"):
        assert "split" in kinds
    if "cap" in name:
        assert ("drop" if "without" in name else "merge") in kinds


@pytest.mark.parametrize("seed", range(6 if COMPILED else 2))
def test_streams_with_any_parameters(seed):
    rng = np.random.default_rng(100 + seed)
    changes = {
        "vigilance": rng.uniform(0.3, 1.5),
        "alpha": rng.choice([0.0, 0.1]),
        "beta": rng.uniform(0.0, 1.0),
        "correlation": rng.choice(["shift", "laplacian", "signed"]).item(),
        "bandwidth": rng.uniform(0.3, 3.0),
        "activation": rng.choice(["density", "distance"]).item(),
        "forgetting": "auto" if rng.random() < 0.5 else 0.98,
        "prior": 10.0 ** rng.uniform(-1.0, 1.0),
        "variance_floor": rng.uniform(0.05, 0.3),
        "merge_overlap": rng.uniform(0.4, 0.9),
        "product_space": bool(rng.random() < 0.7),
        "splitting": rng.choice(["labels", "axis", "off"]).item(),
        "max_rules": int(rng.integers(3, 20)),
        "cases": int(rng.integers(0, 8)),
        "time": bool(rng.random() < 0.5),
        "shared": 3.0 if rng.random() < 0.5 else None,
        "decision": rng.choice(["hamming", "f1", "subset"]).item(),
    }
    p, K = (int(size) for size in rng.integers(1, 5, size=2))
    X, Y, w = rows_for(seed, 120, p, K, known=rng.choice([1.0, 0.7]), weights=True, drift=True)
    follow_both(unscaled_learner(p, K, **changes), naive_learner(p, K, **changes), X, Y, w)


def four_clusters(rng, n, centers):
    at = np.array([[3.0, 3.0], [-3.0, -3.0], [3.0, -3.0], [-3.0, 3.0]])
    which = rng.choice(centers, size=n)
    X = at[which] + 0.5 * rng.normal(size=(n, 2))
    return X, np.column_stack([which % 2, X[:, 0] + 0.3 * rng.normal(size=n) > at[which, 0]]) * 1.0


def test_idle_and_silent_rules():
    """Rules at places where rows no longer come: kept, until the cap needs the room."""
    rng = np.random.default_rng(3)
    changes = {"splitting": "labels", "vigilance": 1.2, "max_rules": 5, "forgetting": "auto"}
    changes |= {"bandwidth": 0.5, "split_share": 0.3, "merge_overlap": 0.9}
    learner, twin = unscaled_learner(2, 2, **changes), naive_learner(2, 2, **changes)
    learner.rules._settings = lambda: learner.rules.settings
    learner.rules.settings = learner.rules.settings._replace(least_share=0.1)  # silent after 100
    twin.rules.least_share = 0.1
    parts = [four_clusters(rng, 120, [0, 1, 2, 3]), four_clusters(rng, 220, [0, 2])]
    X, Y = (np.concatenate(part) for part in zip(*parts, strict=True))
    X[5] = [20.0, 20.0]  # nobody comes there again
    kinds = follow_both(learner, twin, X, Y, np.ones(len(X)))
    assert {"merge", "drop", "split"} <= kinds


def test_drift_is_noted():
    changes = {"forgetting": "auto", "max_rules": 1, "correlation": "none"}
    rng = np.random.default_rng(4)
    X = rng.normal(size=(160, 2))
    Y = (X > 0.0).astype(float)
    Y[80:] = 1.0 - Y[80:]
    learner, twin = unscaled_learner(2, 2, **changes), naive_learner(2, 2, **changes)
    assert follow_both(learner, twin, X, Y, np.ones(160)) == {"birth", "drift"}


BATCHES = {
    "as it is": {},
    "unknown": {"known": 0.8, "weights": True},
    "everything": {"correlation": "none", "cases": 10, "time": True, "forgetting": "auto"}
    | {"known": 0.9, "weights": True},
    "missing features": {"gaps": 0.2, "cases": 10},
    "prior and share": {"prior": "auto", "split_share": "auto", "splitting": "labels"},
    "sorted": {"prior": "auto", "sorted": True, "known": 0.9, "weights": True},
    "subset": {"decision": "subset", "cases": 10, "time": True, "gaps": 0.1},
    "f1": {"decision": "f1", "alpha": 0.5, "correlation": "signed", "known": 0.9},
}


@pytest.mark.parametrize("name", BATCHES)
def test_batch_and_stream(name, monkeypatch):
    monkeypatch.setattr(fit_module, "RESIDUAL", 1e-13)
    monkeypatch.setattr(fit_module, "MOST_STEPS", 100_000)
    changes, seed = dict(BATCHES[name]), list(BATCHES).index(name)
    gaps, is_sorted = changes.pop("gaps", 0.0), changes.pop("sorted", False)
    data = {part: changes.pop(part) for part in DATA if part in changes}
    X, Y, w = rows_for(seed, 90, 3, 3, **data)
    w = np.maximum(w, 0.1)
    if gaps:
        X = with_gaps(np.random.default_rng(seed), X, gaps)
    first, then = slice(0, 50), slice(50, None)
    if is_sorted:
        order = np.argsort(np.nan_to_num(Y[first]) @ [4.0, 2.0, 1.0], kind="stable")
        X[first], Y[first] = X[first][order], Y[first][order]
    params = make_params(**changes)
    learner = Learner(params, 3, 3).fit(X[first], Y[first], w[first])
    twin = NaiveLearner(params, 3, 3).fit(X[first], Y[first], w[first])
    assert tuple(learner.rules.prior) == twin.rules.prior
    assert_same_rules(learner.rules, twin.rules)
    assert_allclose(learner.labels.arrays.covariance, twin.labels.covariance, atol=1e-9)
    assert_allclose(learner.labels.arrays.curve[:-1], twin.labels.own, atol=1e-8)
    assert_allclose(learner.labels.arrays.curve[-1], twin.labels.shared, atol=1e-8)
    follow_both(learner, twin, X[then], Y[then], w[then])


@pytest.mark.parametrize("mode", ["shift", "laplacian", "signed"])
def test_the_least_of_the_objective(rng, mode):
    """Accelerated steps find what many plain ones find; nothing nearby is better."""
    X, Y = random_rows(rng, 40, 3, 4)
    params = make_params(alpha=1.0, beta=2.0, correlation=mode)
    R, memory = np.insert(X, 3, 1.0, axis=1), Memory(np.zeros((4, 4)), np.array([1, 1, 1, 0.1]))
    memory.G[:], memory.B[:] = R.T @ R, Y.T @ R
    memory.solve()
    ones = np.ones((4, 4)) * Y[:, :, None].sum(axis=0)
    penalty = penalty_of(np.stack([np.full((4, 4), 40.0), ones, Y.T @ Y]), mode)
    arguments = memory.G, memory.B, memory.Delta, memory.W_0, params
    found = fit_module.minimise(*arguments, penalty, memory.W)
    best = minimise(memory, penalty, 1.0, 2.0)
    assert_allclose(found, best, atol=1e-6)
    least = objective(memory, best, penalty, 1.0, 2.0)
    for scale in (1e-3, 0.1):
        other = best + scale * rng.normal(size=best.shape)
        assert objective(memory, other, penalty, 1.0, 2.0) > least


def test_scaled_rows_are_their_formula(rng):
    mean, scale, X = rng.normal(size=4), rng.uniform(0.5, 2.0, 4), rng.normal(size=(40, 4))
    X[::3], X[1::7] = 10.0 * X[::3], np.nan
    X[2], spread, ignored = 1e308, np.array([1, 1, 0, 1]) == 1, np.arange(4) == 3
    found = Scaler(mean, scale, 2.0, spread, ignored).transform(np.asfortranarray(X))
    z = (X - mean) / scale
    z[ignored & (np.abs(z) > 2.0)] = 0.0
    wild = spread & (np.abs(z) > 6.0)
    assert np.array_equal(found, np.where(wild, np.nan, np.clip(z, -2.0, 2.0)), equal_nan=True)
