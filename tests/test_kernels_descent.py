"""Accelerated proximal steps of the batch fit."""

import numpy as np
import pytest
from helpers.streams import random_correlation
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import descent
from efcml.model import batch

pytestmark = pytest.mark.uncompiled

PAIRS = [(0.0, 0.0), (0.3, 0.0), (0.0, 2.0), (0.5, 1.0)]


def random_planes(rng, K, d):
    return rng.normal(size=(len(PAIRS), K, d))


def random_strengths(rng, K):
    alpha, beta = np.array(PAIRS).T.copy()
    return alpha, beta, rng.uniform(5.0, 9.0, size=(len(PAIRS), K))


@pytest.mark.parametrize(("K", "d"), [(1, 2), (3, 4), (4, 2)])
def test_proposed_steps(rng, K, d):
    V, D = random_planes(rng, K, d), random_planes(rng, K, d)
    M = naive.penalty(random_correlation(rng, K), "shift")[0]
    alpha, beta, lipschitz = random_strengths(rng, K)
    V[1, 0, 0] = D[1, 0, 0] / lipschitz[1, 0]  # within the threshold
    new, residuals = np.full_like(V, np.nan), np.full(len(V), np.nan)
    workspace = np.full((K, d), np.nan)
    strengths = np.column_stack([alpha, beta])
    size = descent.propose_all(V, D, M, strengths, lipschitz, workspace, new, residuals)
    for m in range(len(PAIRS)):
        slopes = np.append(np.ones(d - 1), 0.0)
        gradient = D[m] + beta[m] * (M @ V[m]) * slopes
        target = V[m] - gradient / lipschitz[m][:, None]
        cut = alpha[m] / lipschitz[m][:, None] * slopes
        expected = np.sign(target) * np.maximum(np.abs(target) - cut, 0.0)
        assert_allclose(new[m], expected, rtol=1e-12, atol=1e-14)
        off = np.abs(lipschitz[m][:, None] * (V[m] - expected)).max()
        assert_allclose(residuals[m], off, rtol=1e-10)
    assert_allclose(size, np.abs(new).max())
    assert (new[1] == 0.0).any()


def test_accepted_steps_are_extrapolated(rng):
    shape = (6, 2, 3)
    new, product, W, D_W, V, D_V = (rng.normal(size=shape) for _ in range(6))
    target, momentum = rng.normal(size=shape[1:]), rng.uniform(1.0, 4.0, size=6)
    uphill = ((V - new) * (new - W)).sum(axis=(1, 2)) > 0.0
    assert uphill.any() and not uphill.all()
    old = np.where(uphill, 1.0, momentum)
    grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * old**2))
    push = ((old - 1.0) / grown)[:, None, None]
    D_new = product - target
    expected = new + push * (new - W), D_new + push * (D_new - D_W)
    descent.push_all(new, product, target, W, D_W, V, D_V, momentum)
    assert_allclose(momentum, grown, rtol=1e-14)
    assert_allclose(V, expected[0], rtol=1e-12, atol=1e-14)
    assert_allclose(D_V, expected[1], rtol=1e-12, atol=1e-14)
    assert_allclose(W, new)
    assert_allclose(D_W, D_new)


@pytest.mark.parametrize("groups", [1, 3])
def test_pairs_are_minimised_as_if_alone(rng, groups):
    K, d = 3, 4
    A = rng.normal(size=(groups, d, 9))
    hessians = A @ A.swapaxes(1, 2) + np.eye(d)
    M = naive.penalty(random_correlation(rng, K), "shift")[0]
    target = rng.normal(size=(K, d))
    start = (
        np.linalg.solve(hessians, target[:, :, None])[:, :, 0]
        if groups > 1
        else (np.linalg.solve(hessians[0], target.T).T)
    )
    start = np.tile(start, (len(PAIRS), 1, 1))
    top = np.linalg.eigvalsh(hessians)[:, -1].max() * np.ones((len(PAIRS), K))
    alpha, beta = np.array(PAIRS).T.copy()
    lipschitz = top + beta[:, None] * np.linalg.eigvalsh(M)[-1]
    strengths = np.column_stack([alpha, beta]), lipschitz
    W, D = batch.minimise(start, hessians, M, strengths, 1e6)
    for m in range(len(PAIRS)):
        part = tuple(np.ascontiguousarray(s[m : m + 1]) for s in strengths)
        alone, D_alone = batch.minimise(start[m : m + 1], hessians, M, part, 1e6)
        assert_allclose(W[m], alone[0], rtol=1e-12, atol=1e-13)
        assert_allclose(D[m], D_alone[0], rtol=1e-10, atol=1e-11)
    assert_allclose(W[0], start[0])
    assert np.abs(W[1:] - start[1:]).max(axis=(1, 2)).min() > 1e-3
    assert batch.minimise(start, hessians, M, strengths, 1e-6) is None


def test_the_last_iterate_is_kept_when_there_is_no_end(rng, monkeypatch):
    monkeypatch.setattr(batch, "MAX_ITERATIONS", 2)
    hessians = np.diag([100.0, 1.0, 1.0])[None]
    start = rng.normal(size=(1, 2, 3))
    strengths = np.array([[0.1, 0.0]]), np.full((1, 2), 100.0)
    W, D = batch.minimise(start, hessians, np.zeros((2, 2)), strengths, 1e6)
    assert not np.array_equal(W, start)
    assert_allclose(D[0], (W[0] - start[0]) @ hessians[0], atol=1e-12)
