"""Small data and models for the tests of studies, quick also where nothing is compiled."""

import numpy as np

from efcml import EFCMLClassifier, datasets

QUICK = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3, "splitting": "off"}
N_ROWS, N_INITIAL = 44, 20


def model(**parameters):
    return EFCMLClassifier(**(QUICK | parameters))


def rows(seed=0, n=N_ROWS, n_labels=3):
    """Return X and Y of a small set; one row has no label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = (X @ rng.normal(size=(2, n_labels)) + 0.3 * rng.normal(size=(n, n_labels)) > 0).astype(
        float
    )
    Y[-3] = 0.0
    return X, Y


def small_set(name="small", seed=0, n_initial=N_INITIAL, **more):
    return datasets.from_arrays(*rows(seed, **more), name=name, n_initial=n_initial)


def scores(study):
    """Return all scores and rules of a study, run by run."""
    return {
        (data, name, order): (found.scores, found.rules, found.events)
        for data in study.data
        for name in study.models
        for order in study.orders
        for found in [study.result(name, data, order)]
    }


def same(first, second):
    """Tell whether two studies gave the same, bit for bit."""
    first, second = scores(first), scores(second)
    return first.keys() == second.keys() and all(
        np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) and a[2] == b[2]
        for a, b in zip(first.values(), second.values(), strict=True)
    )
