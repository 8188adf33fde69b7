"""Thousands of sparse features, hundreds of labels: what the projection earns, and what others do.

`compared.py` has it among its studies, so ``python experiments/evidence.py wide`` makes the record.
All models learn the same initial rows and then, but for batch ridge, each row after its answer.
"""

from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator

from efcml import EFCMLClassifier, datasets
from efcml.model import projection
from efcml.model.watch import DUE, RISEN, WHY
from efcml.studies import Variant
from peer_models import Moa, Plane, River

STRENGTHS = np.exp(np.linspace(np.log(1e-2), np.log(30.0), 14))  # times the mean eigenvalue


# Sets: the rows of each are drawn by a seed


def shares(n, first):
    """Return how frequent n words or labels are, by Zipf's law."""
    found = 1.0 / (np.arange(n) + first)
    return found / found.sum()


def draw_texts(n, p, K, n_initial, others, labels, noise):
    """Draw texts with words of their own for every label; a share of the labels is wrong."""
    rng, words, usual = np.random.default_rng(0), shares(p, 10.0), shares(K, 3.0)
    rare = words**0.5 / (words**0.5).sum()
    own = [rng.choice(p, 15, replace=False, p=rare) for _ in range(K)]
    rows, Y = [], np.zeros((n, K))
    for y in Y:
        there = rng.choice(K, 1 + rng.poisson(labels - 1.0), replace=False, p=usual)
        row = {*rng.choice(p, max(2, rng.poisson(others)), p=words).tolist()}
        for label in there:
            row.update(rng.choice(own[label], rng.integers(1, 6)).tolist())
        y[there] = rng.random(len(there)) > noise
        y[rng.choice(K, p=usual)] += rng.random() < noise
        rows.append(sorted(row))
    ends = np.cumsum([0, *map(len, rows)])
    X = csr_array((np.ones(ends[-1]), np.concatenate(rows), ends), (n, p))
    return datasets.from_arrays(X, np.minimum(Y, 1.0), n_initial=n_initial)


def draw_scenes(n, p, K, n_initial, kinds=60):
    """Draw images of eight visual words and two to five labels, both by the kind of scene."""
    rng = np.random.default_rng(0)
    words, labels = (rng.dirichlet(np.full(*size), kinds) for size in ((p, 0.03), (K, 0.02)))
    X, Y = np.zeros((n, p)), np.zeros((n, K))
    for t, kind in enumerate(rng.integers(kinds, size=n)):
        X[t, rng.choice(p, 8, p=0.6 * words[kind] + 0.4 / p)] = 1.0
        chance = 0.75 * labels[kind] + 0.25 * shares(K, 5.0)
        Y[t, rng.choice(K, rng.integers(2, 6), replace=False, p=chance)] = 1.0
    return datasets.from_arrays(csr_array(X), Y, n_initial=n_initial)


def draw_patches(n, p, K, n_initial, latent=25):
    """Draw dense features, rectified mixtures of what labels are made of, partly by products."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(n, latent))
    X = np.maximum(H @ rng.normal(size=(latent, p)) + 2.0 * rng.normal(size=(n, p)), 0.0)
    first, second = H @ rng.normal(size=(2, latent, K)) / np.sqrt(latent)
    scores = first + 0.7 * first * second + 0.3 * rng.normal(size=(n, K))
    return datasets.from_arrays(X, (scores > 1.0).astype(float), n_initial=n_initial)


# Models


@contextmanager
def replaced(name, value):
    """Put another value in place of one of the projection."""
    before = getattr(projection, name)
    setattr(projection, name, value)
    try:
        yield
    finally:
        setattr(projection, name, before)


class NotRenewed(EFCMLClassifier):
    """The directions of the initial rows stay."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        watch = self.learner_.watch
        watch[WHY], watch[DUE] = RISEN, 2**50  # no challenger is called in so many rows
        return self


class LabelsAlone(NotRenewed):
    """All directions are those of labels, as many as there are."""

    def fit(self, X, y, sample_weight=None):
        with replaced("PRINCIPAL", 0), replaced("MOST", 128):
            return super().fit(X, y, sample_weight)


class PrincipalAlone(NotRenewed):
    """All directions are principal."""

    def fit(self, X, y, sample_weight=None):
        find = projection.find_directions
        with replaced("find_directions", lambda A, mean, E, d: find(A, mean, 0.0 * E, d)):
            return super().fit(X, y, sample_weight)


class Ridge(BaseEstimator):
    """Ridge regression over all features, plain or standardised, by leave-one-out errors."""

    def fit(self, X, Y):
        X, mean_y = X.toarray() if issparse(X) else X, np.mean(Y, axis=0)
        mean, deviation, least = X.mean(axis=0), X.std(axis=0), np.inf
        for scale in (np.ones(X.shape[1]), 1.0 / np.where(deviation > 1e-9, deviation, np.inf)):
            A = (X - mean) * scale
            values, V = np.linalg.eigh(A @ A.T)
            values, VY = values.clip(0.0), V.T @ (Y - mean_y)
            for strength in STRENGTHS * values.mean():
                kept = values / (values + strength)
                left = 1.0 - (V * V) @ kept - 1.0 / len(Y)
                loss = (((Y - mean_y - V @ (kept[:, None] * VY)) / left[:, None]) ** 2).sum()
                if loss < least:
                    least, weights = loss, V @ (VY / (values + strength)[:, None])
                    self.W_ = scale[:, None] * (A.T @ weights)
        self.level_ = mean_y - mean @ self.W_
        return self

    def predict_proba(self, X):
        return X @ self.W_ + self.level_


class HashedPlane(Plane):
    """One plane per label by recursive least squares over hashed features."""

    def __init__(self, columns=512, prior=3.0):
        self.columns, self.prior = columns, prior

    def fit(self, X, Y):
        rng, p, d = np.random.default_rng(0), X.shape[1], self.columns
        parts = rng.choice([-1.0, 1.0], p), (np.arange(p), rng.integers(d, size=p))
        self.hash_ = csr_array(parts, (p, d))
        self.P_, self.W_ = np.eye(d + 1) / self.prior, np.zeros((d + 1, np.shape(Y)[1]))
        return self.partial_fit(X, Y)

    def _extend(self, X):
        hashed = X @ self.hash_
        return np.c_[hashed.toarray() if issparse(hashed) else hashed, np.ones(X.shape[0])]


def river_models():
    """Return models of river that take words as they come."""
    from river import linear_model, multioutput, naive_bayes, optim

    logistic = linear_model.LogisticRegression(optimizer=optim.SGD(0.1))
    return {
        "river, logistic regression per label": River(multioutput.PerOutputClassifier(logistic)),
        "river, Bayes per label": River(multioutput.PerOutputClassifier(naive_bayes.BernoulliNB())),
    }


def wide(quick):
    """Rows that are projected, by number and kind of directions, and others that take such rows."""
    models = {"default": EFCMLClassifier()}
    models |= {f"{d} directions": EFCMLClassifier(projection=d) for d in (32, 64, 128)}
    halves = {"not renewed": NotRenewed()}
    halves |= {"not renewed, labels alone": LabelsAlone()}
    halves |= {"not renewed, principal alone": PrincipalAlone()}
    others = {"batch ridge": Variant(Ridge(), learn=False), "RLS, hashed": HashedPlane()}
    dense = models | others  # the default projects none of them
    others |= river_models() if find_spec("river") else {}
    if find_spec("capymoa"):
        others |= {"MOA, Bayes per label": Moa("bayes")}
        others |= {"MOA, logistic regression per label": Moa("logistic")}
    texts = models | halves | others
    size = (150, 400, 8, 100) if quick else (978, 1449, 45, 333)
    reports = {"reports": draw_texts(*size, 8, 1.25, 0.15)}
    studies = [{"models": texts, "data": reports, "orders": 1 if quick else 3}]
    if quick:
        return studies
    slow = "river, Bayes per label"  # it looks at every word for every label
    texts = {name: model for name, model in texts.items() if name != slow}
    studies.append({"models": texts, "data": ["drifting-topics"], "orders": 1})
    studies.append({"models": models, "data": ["birds"], "orders": 3})
    patches = {"patches": draw_patches(4000, 600, 45, 800)}
    studies.append({"models": dense, "data": patches, "orders": 1})
    large = {"tags": draw_texts(5000, 1836, 159, 3300, 42, 2.4, 0.2)}
    large |= {"scenes": draw_scenes(5000, 499, 374, 3500)}
    return [*studies, {"models": texts, "data": large, "orders": 1}]
