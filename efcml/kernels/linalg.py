"""Symmetric matrices and vectors: the few operations that everything else is made of.

Matrices are full and symmetric. Rank-one changes are written as ``w w'`` with one scaled vector, so
that both triangles see the same rounding and stay exactly equal.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast


@kernel_fast
def dot(a, b):
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel
def find_least(values, n):
    """Return the index of the smallest of the first ``n`` values, the lowest index on ties."""
    best = 0
    for i in range(1, n):
        if values[i] < values[best]:
            best = i
    return best


@kernel_fast
def quadratic_form(A, e):
    """Return ``e' A e`` of a symmetric matrix, reading its lower triangle only."""
    total = 0.0
    for i in range(e.shape[0]):
        below = 0.0
        for j in range(i):
            below += A[i, j] * e[j]
        total += e[i] * (2.0 * below + A[i, i] * e[i])
    return total


@kernel_fast
def downdate(A, w, scale):
    """Replace A by ``scale * (A - w w')``."""
    n = w.shape[0]
    for i in range(n):
        row = A[i]
        factor = w[i]
        for j in range(n):
            row[j] = scale * (row[j] - factor * w[j])


@kernel
def scale_and_add_outer(A, w, scale):
    """Replace A by ``scale * A + w w'``; never in another order (kernels/waiting.py)."""
    n = w.shape[0]
    for i in range(n):
        row = A[i]
        factor = w[i]
        for j in range(n):
            row[j] = scale * row[j] + factor * w[j]


@kernel
def add_to_covariance(precision, e, share, v):
    """Give a precision matrix the sample deviation ``e`` with share ``a``.

    The covariance becomes ``(1 - a)(S + a e e')``; its inverse by Sherman and Morrison
    (how_it_works.md 3). ``v`` is a workspace. Returns the change of the covariance's log-det.
    """
    np.dot(precision, e, v)
    growth = 1.0 + share * dot(e, v)
    root = np.sqrt(share / growth)
    for i in range(v.shape[0]):
        v[i] *= root
    downdate(precision, v, 1.0 / (1.0 - share))
    return v.shape[0] * np.log(1.0 - share) + np.log(growth)


@kernel
def add_to_variance(precision, coordinate, amount, v):
    """Add ``amount`` to the variance of one coordinate of a precision matrix.

    ``v`` is a workspace. Returns the change of the covariance's log-det.
    """
    growth = 1.0 + amount * precision[coordinate, coordinate]
    root = np.sqrt(amount / growth)
    for i in range(v.shape[0]):
        v[i] = root * precision[coordinate, i]
    downdate(precision, v, 1.0)
    return np.log(growth)
