"""Rows, learners and comparisons that several test files share.

Parameters of a learner are set here, so that tests do not depend on defaults.
"""

import os

import numpy as np
from naive.learner import NaiveLearner
from naive.rules import NaiveRules
from naive.stages import NaiveCases, NaiveLabels, NaiveTemporal

from efcml.model import reshape
from efcml.model.fit import Prior
from efcml.model.labels import LabelLayer
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.scaler import Scaler

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

# A parameter that is not named has its default.
PARAMETERS = {name: getattr(Params, name) for name in Params.names()} | {
    "vigilance": 0.6,
    "alpha": 0.05,
    "beta": 0.5,
    "correlation": "shift",
    "bandwidth": 2.0,
    "activation": "density",
    "lipschitz": "exact",
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
    "max_rules": 40,
    "update": "rls",
    "activation_floor": 1e-4,
    "clip": 6.0,
    "scaling": "frozen",
    "warmup_rows": 20,
    "cases": 0,
    "time": False,
    "relevance": "off",
}


def make_params(**changes):
    return Params(**(PARAMETERS | changes))


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


def start_variance(p, K):
    return np.append(np.linspace(0.5, 2.0, p), np.full(K, 0.25))


def unscaled_learner(p, K, *, shared=None, **changes):
    """A learner without rules that takes features as they are, and knows S_0 and its prior."""
    params = make_params(**changes)
    learner = Learner(params, p, K)
    learner.scaler = Scaler(np.zeros(p), np.ones(p), params.clip, *np.zeros((2, p), dtype=bool))
    learner.stages = learner._make_stages()
    learner.labels = LabelLayer(K, params.decision)
    rules = learner.rules
    rules.S_0, rules.prior = start_variance(p, K), Prior(params.prior, shared)
    rules.split_share = params.split_share
    rules.arrays = rules.room_for(params.max_rules + 1)
    if shared is not None:
        reshape.set_renewal(rules.arrays)
    rules.settings = rules._settings()
    return learner


def naive_learner(p, K, *, shared=None, **changes):
    """The slow twin of `unscaled_learner`."""
    params = make_params(**changes)
    twin = NaiveLearner(params, p, K)
    twin.mean, twin.deviation = np.zeros(p), np.ones(p)
    prior = params.prior, shared
    twin.rules = NaiveRules(params, p, K, start_variance(p, K), prior, params.split_share)
    if shared is not None:
        twin.rules.set_renewal()
    twin.cases = [NaiveCases(p, K, params.cases)] if params.cases else []
    if params.cases and params.follows:
        twin.cases.append(NaiveCases(p, K, 25, recent=True))
    twin.time = NaiveTemporal(K) if params.time else None
    twin.labels = NaiveLabels(K, params.decision)
    return twin


def state_of(learner):
    """Everything that learning changes, as a dictionary of copies."""
    facts, arrays = learner.state()
    return {name: value for name, value in facts.items() if name != "params"} | arrays


def assert_identical(actual, expected):
    """Compare two states of `state_of` bit for bit."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            assert actual[name].tobytes() == value.tobytes(), f"{name} differs"
        else:
            assert actual[name] == value, name


def assert_balanced(learner):
    counts = learner.rules.counts
    come, gone = counts["birth"] + counts["split"], counts["merge"] + counts["drop"]
    assert come - gone == learner.n_rules
