"""Rows, learners and comparisons that several test files share.

Parameters of a learner are set here, so that tests do not depend on defaults.
"""

import os

import numpy as np
from naive import learner as naive
from naive.following import NaiveFollower
from naive.gaps import NaiveGapped, NaiveGappedFollower
from numpy.testing import assert_allclose

from efcml.model import merging
from efcml.model.birth import give_birth
from efcml.model.casebase import CaseBase
from efcml.model.fields import FIELDS
from efcml.model.learner import Learner
from efcml.model.memories import begin_brief, follow_antecedents
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

# (features, labels, rules)
SIZES = [(1, 1, 1), (1, 3, 2), (3, 1, 4), (4, 3, 6)]

# A parameter that is not named has its default.
PARAMETERS = {name: getattr(Params, name) for name in Params.names()} | {
    "vigilance": 0.6,
    "alpha": 0.05,
    "beta": 0.5,
    "correlation": "shift",
    "bandwidth": 2.0,
    "activation": "density",
    "lipschitz": "exact",
    "n_steps": 1,
    "step_interval": 0.0,
    "forgetting": 1.0,
    "prior": 1.0,
    "birth_width": 0.3,
    "variance_floor": 0.1,
    "merging": True,
    "merge_overlap": 0.7,
    "merge_volume": 1.1,
    "merge_consequents": "exact",
    "product_space": True,
    "splitting": "off",
    "split_share": 0.4,
    "least_share": 0.0,
    "max_rules": 1000,
    "activation_floor": 1e-4,
    "clip": 6.0,
    "scaling": "follow",
    "warmup_rows": 20,
    "provisional": True,
    "birth_learning": True,
    "birth_plane": "nearest",
    "cases": 0,
    "case_width": 0.25,
    "case_noise": 1.0,
    "caution": False,
    "time": False,
    "weight_limit": 1e6,
}
NOT_IN_NAIVE = (
    "birth_width",
    "clip",
    "scaling",
    "warmup_rows",
    "provisional",
    "max_rules",
    "decision",
)
STORED_BY_LABEL = [
    field.name for field in FIELDS if field.dims[-1:] == ("d",) and field.dims[1] in "KL"
]
FIXED_RULES = {"vigilance": 1e9, "merging": False, "variance_floor": 0.0}


class AsWritten:
    """A rule base with its arrays as the formulas have them, (d, K), to read and to write.

    Symmetric matrices are to be read only.
    """

    def __init__(self, rules):
        self.rules = rules

    def __getattr__(self, name):
        array = getattr(self.rules, name)
        return array.swapaxes(1, 2) if name in STORED_BY_LABEL else array


class Unscaled:
    """A scaler that changes nothing."""

    def transform(self, X):
        return np.ascontiguousarray(X)

    def count_clipped(self, scaled):
        return np.zeros(scaled.shape[1])


def random_rows(rng, n, p, K, share=1.0):
    """Features and correlated 0/1 labels, of which a share is known."""
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, size=p)
    latent = X @ rng.normal(size=(p, K)) + rng.normal(size=(n, K)) + rng.normal(size=(n, 1))
    Y = (latent > 0.0).astype(float)
    return X, np.where(rng.uniform(size=Y.shape) <= share, Y, np.nan)


def with_gaps(rng, X, share=0.3):
    """Rows without a share of their values; every eleventh row has none at all."""
    X = np.where(rng.uniform(size=X.shape) < share, np.nan, X)
    X[7::11] = np.nan
    return X


def random_covariance(rng, n):
    A = rng.normal(size=(n, n + 3))
    return A @ A.T / n + 0.1 * np.eye(n)


def random_precisions(rng, n_rules, n):
    return np.array([np.linalg.inv(random_covariance(rng, n)) for _ in range(n_rules)])


def random_correlation(rng, K, n=30):
    _, Y = random_rows(rng, n, 2, K)
    return naive.correlation(np.cov(Y.T, bias=True).reshape(K, K), 1.0)


def start_variance(p, K):
    return np.append(np.linspace(0.5, 2.0, p), np.full(K, 0.25))


def prior_precision(p, prior=1.0):
    return np.append(np.full(p, prior), 0.01 * prior)


def make_params(**changes):
    return Params(**(PARAMETERS | changes))


def unscaled_learner(p, K, *, capacity=8, shared=None, renewal=None, **changes):
    """A learner without rules that takes features as they are, and knows S_0 and its prior."""
    params = make_params(**changes)
    learner = Learner(params, p, K, capacity=capacity)
    learner.rules = RuleBase(p, K, capacity=capacity)
    learner.scaler = Unscaled()
    learner.start_variance = start_variance(p, K)
    learner.prior_precision = prior_precision(p, params.prior)
    learner.split_share, learner.shared, learner.renewal = params.split_share, shared, renewal
    learner._steer()
    learner.cases = CaseBase(p, K, params.cases, params.case_width, params.case_noise)
    learner._forget_recent(room=params.forgetting == "auto" and params.cases > 0)
    learner.sequel = learner._new_sequel()
    if params.forgetting == "auto":
        learner.brief = begin_brief(learner.rules)
    return learner


def naive_learner(p, K, *, gaps=False, **changes):
    """The slow twin of `unscaled_learner`; with ``gaps`` it takes rows that lack features."""
    values = PARAMETERS | changes
    values = {name: value for name, value in values.items() if name not in NOT_IN_NAIVE}
    values["prior_intercept"] = 0.01 * values["prior"]
    kinds = NaiveGapped, NaiveGappedFollower
    if not gaps:
        kinds = naive.NaiveLearner, NaiveFollower
    kind = kinds[values["forgetting"] == "auto"]
    return kind(p=p, K=K, S_0=start_variance(p, K), **values)


def learner_with_rules(rng, n_rules, p, K, **changes):
    """An unscaled learner with young rules at random places and random consequents."""
    learner = unscaled_learner(p, K, **changes)
    for _ in range(n_rules):
        add_rule(learner, rng.normal(size=p + K), rng.normal(size=(p + 1, K)))
    return learner


def add_rule(learner, z, W):
    """Give birth to a rule outside of a stream; counted, so that the balance stays true."""
    learner.counts["births"] += 1
    priors, W = (learner.start_variance, learner.prior_precision), np.ascontiguousarray(W.T)
    born = [give_birth(rules, z, W, learner.rows_seen, *priors) for rules in learner.memories]
    return born[0]


def polish(learner, rule):
    """Proximal steps of one rule outside of a stream."""
    merging.polish(learner.rules, rule, learner.rows_seen, learner.settings)


def state_of(learner):
    """Everything that learning changes, as a dictionary of copies."""
    state = {"counts": dict(learner.counts), "rows_seen": learner.rows_seen}
    state["held"] = [np.concatenate(pair) for pair in learner.held]
    if learner.fitted:
        state["n_groups"] = learner.rules.n_groups
        state["next_uid"] = learner.rules.next_uid
        for field in FIELDS:
            state[field.name] = np.array(getattr(learner.rules, field.name))
        if learner.brief is not None:
            follow_antecedents(learner.brief, learner.rules)
            for field in FIELDS:
                state[f"brief/{field.name}"] = np.array(getattr(learner.brief, field.name))
        state |= {f"cases/{name}": array for name, array in learner.cases.state().items()}
        state |= {f"recent/{name}": array for name, array in learner.recent.state().items()}
        state["recent_trial"] = learner.recent_trial.copy()
        state |= {f"sequel/{name}": array for name, array in learner.sequel.state().items()}
        if learner.following is not None:
            state |= {"mean": learner.scaler.mean, "scale": learner.scaler.scale}
            state |= {f"follow/{name}": a for name, a in learner.following.state().items()}
    return state


def assert_identical(actual, expected):
    """Compare two states of `state_of` bit for bit."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        gaps = name in ("held", "follow/labels", "follow/rows")
        same = np.array_equal(actual[name], value, equal_nan=gaps)
        assert same, f"{name} differs"


def assert_near(found, expected, rtol, atol, name):
    """Compare like assert_allclose, which takes longer than the learner: it only speaks here."""
    close = np.shape(found) == np.shape(expected) and (
        np.abs(found - expected) <= atol + rtol * np.abs(expected)
    )
    if not np.all(close):
        assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=name)
        assert np.shape(found) == np.shape(expected), name


def assert_same_rules(rules, twins, rtol=1e-6, atol=1e-7):
    """Compare a RuleBase with the list of rules of a naive learner, every field."""
    assert rules.n_rules == len(twins)
    rules = AsWritten(rules)
    if twins:
        for name, expected in naive.stack_rules(twins).items():
            assert_near(getattr(rules, name), expected, rtol, atol, name)


def assert_balanced(learner):
    counts = learner.counts
    come, gone = counts["births"] + counts["splits"], counts["merges"] + counts["drops"]
    assert come - gone == learner.n_rules
