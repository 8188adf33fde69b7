"""The matrix operations of one learned row as plain BLAS calls: the time to measure ours by.

Every formula is one call over full matrices, as the method is written: nothing is fused, shared or
put off. The calls go straight to the BLAS that comes with scipy, without Python in between.
"""

import ctypes
from collections import namedtuple

import numpy as np
from numba import njit
from numba.extending import get_cython_function_address

POINTER = ctypes.c_void_p
SMALL = 1e-12  # factor of the rank-one changes: with 0 the routine would return at once


def blas(name, n_arguments):
    """Return a BLAS routine that compiled code can call."""
    address = get_cython_function_address("scipy.linalg.cython_blas", name)
    return ctypes.CFUNCTYPE(None, *[POINTER] * n_arguments)(address)


dgemv, dger, dgemm = blas("dgemv", 11), blas("dger", 9), blas("dgemm", 13)

Constants = namedtuple("Constants", "one zero small step plain turned m n k")
Matrices = namedtuple("Matrices", "joint marginal P G W B cov rows inverse covariance weights")
Vectors = namedtuple("Vectors", "x y out wide")


def make_constants():
    """Return what BLAS wants by address: factors, steps, letters, and room for sizes."""
    letters = np.frombuffer(b"NT", dtype=np.uint8).copy()
    sizes = [np.zeros(1, dtype=np.int32) for _ in range(3)]
    step = np.ones(1, dtype=np.int32)
    return Constants(
        np.ones(1), np.zeros(1), np.full(1, SMALL), step, letters[:1], letters[1:], *sizes
    )


@njit
def multiply(A, x, out, c):
    """Write ``A x`` (A is in C order, so BLAS sees its transpose)."""
    c.m[0], c.n[0] = A.shape[1], A.shape[0]
    dgemv(
        c.turned.ctypes,
        c.m.ctypes,
        c.n.ctypes,
        c.one.ctypes,
        A.ctypes,
        c.m.ctypes,
        x.ctypes,
        c.step.ctypes,
        c.zero.ctypes,
        out.ctypes,
        c.step.ctypes,
    )


@njit
def add_outer(A, x, y, c):
    """Add a small multiple of ``x y'`` to A."""
    c.m[0], c.n[0] = A.shape[1], A.shape[0]
    dger(
        c.m.ctypes,
        c.n.ctypes,
        c.small.ctypes,
        y.ctypes,
        c.step.ctypes,
        x.ctypes,
        c.step.ctypes,
        A.ctypes,
        c.m.ctypes,
    )


@njit
def multiply_matrices(A, B, out, c):
    """Write ``A B``."""
    c.m[0], c.n[0], c.k[0] = B.shape[1], A.shape[0], A.shape[1]
    dgemm(
        c.plain.ctypes,
        c.plain.ctypes,
        c.m.ctypes,
        c.n.ctypes,
        c.k.ctypes,
        c.one.ctypes,
        B.ctypes,
        c.m.ctypes,
        A.ctypes,
        c.k.ctypes,
        c.zero.ctypes,
        out.ctypes,
        c.m.ctypes,
    )


@njit
def score_rows(n, M, v, c):
    """Do the matrix operations of ``n`` scored rows: distances, heights, cases."""
    for _ in range(n):
        for r in range(M.marginal.shape[0]):
            multiply(M.marginal[r], v.x, v.out, c)
            multiply(M.W[r], v.x, v.out, c)
        if M.inverse.shape[0] > 0:
            multiply(M.rows, v.x, v.out, c)
            multiply(M.weights, v.x, v.out, c)


@njit
def update_rows(n, active, corrected, renewal, M, v, c):
    """Do the matrix operations of ``n`` learned rows.

    ``active`` rules learn in every row, and every row some take a proximal step, ``corrected`` on
    average. Every ``renewal`` rows one case is replaced.
    """
    rules, steps = M.joint.shape[0], 0.0
    for t in range(n):
        score_rows(1, M, v, c)
        for r in range(rules):
            multiply(M.joint[r], v.x, v.out, c)
        winner = t % rules
        for A in (M.joint[winner], M.marginal[winner]):
            multiply(A, v.x, v.out, c)
            add_outer(A, v.x, v.y, c)
            add_outer(A, v.x, v.y, c)  # the variance floor
        for r in range(active):
            multiply(M.P[r], v.x, v.out, c)
            add_outer(M.P[r], v.x, v.y, c)
            add_outer(M.G[r], v.x, v.y, c)
            add_outer(M.W[r], v.x, v.y, c)
            add_outer(M.B[r], v.x, v.y, c)
            add_outer(M.cov[r], v.x, v.y, c)
        steps += corrected
        while steps >= 1.0:
            steps -= 1.0
            r = int(steps) % rules
            multiply(M.G[r], v.x, v.out, c)
            multiply_matrices(M.W[r], M.G[r], v.wide, c)
        if M.inverse.shape[0] > 0:
            multiply(M.covariance, v.x, v.out, c)
            add_outer(M.covariance, v.x, v.y, c)
            add_outer(M.weights, v.x, v.y, c)
            if t % renewal == 0:  # the oldest leaves, the row comes in
                multiply(M.inverse, v.x, v.out, c)
                add_outer(M.weights, v.x, v.y, c)
                for A, changes in ((M.inverse, 2), (M.covariance, 3)):
                    for _ in range(changes):
                        add_outer(A, v.x, v.y, c)


def make_operands(learner):
    """Return matrices and vectors of the sizes of a learner; the matrices are copies."""
    rules, cases = learner.rules, learner.cases
    names = ("joint_precision", "input_precision", "P", "G", "W", "B", "label_cov")
    parts = [np.ascontiguousarray(getattr(rules, name)) for name in names]
    parts[2], parts[3] = parts[2][:, 0].copy(), parts[3][:, 0].copy()
    m = cases.n_cases
    state = cases.state()
    of_cases = [state[name].copy() for name in ("rows", "inverse", "covariance")]
    of_cases.append(np.ascontiguousarray(state["weights"].T))
    p, K = learner.n_features, learner.n_labels
    rng = np.random.default_rng(0)
    x, y, out = (rng.normal(size=max(p + K, m, 1)) for _ in range(3))
    wide = np.zeros((K, p + 1))
    return Matrices(*(part.copy() for part in parts), *of_cases), Vectors(x, y, out, wide)
