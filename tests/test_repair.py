"""P is derived anew from G + Delta, also where rounding has taken the prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from efcml.model.definite import invert, whole
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.repair import ROUNDING, restore_inverse


@pytest.fixture
def rules():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X[:, :2] > 0.0).astype(float)
    return Learner(Params(prior=1e-6, cases=0), 3, 2).fit(X, Y).rules


def gradient(rules):
    """The gradient of what the planes of the first rule minimise, by its definition."""
    arrays = rules.arrays
    pull = (arrays.W - arrays.W_prior)[0] * arrays.Delta[0, 0]
    return arrays.D[0] - pull  # what depends on G, which no repair changes


def test_a_prior_that_is_there_is_left_alone(rules):
    arrays = rules.arrays
    Delta, D = arrays.Delta[0, 0].copy(), arrays.D[0].copy()
    arrays.P[0, 0] = 0.0
    restore_inverse(rules, 0, 0, Delta)
    assert_allclose(whole(arrays.P[0, 0]), invert(arrays.G[0, 0] + np.diag(Delta)), rtol=1e-12)
    assert (arrays.Delta[0, 0] == Delta).all()
    assert (arrays.D[0] == D).all()


def test_a_prior_that_rounding_took_is_raised(rules):
    arrays = rules.arrays
    far = np.array([1e6, 3e6, -2e6, 1.0])
    G = np.outer(far, far)
    arrays.G[0, 0], arrays.Delta[0, 0] = G, 1e-9
    with pytest.raises(np.linalg.LinAlgError):
        invert(G + np.diag(arrays.Delta[0, 0]))
    before, planes = gradient(rules), arrays.W[0].copy()
    restore_inverse(rules, 0, 0, np.full(4, 1e-9))
    assert (arrays.Delta[0, 0] == ROUNDING * G.max()).all()
    P = whole(arrays.P[0, 0])
    assert (np.linalg.eigvalsh(P) > 0.0).all()
    assert (arrays.W[0] == planes).all()
    assert_allclose(gradient(rules), before, rtol=1e-9)
