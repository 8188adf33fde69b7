"""Symmetric matrices and vectors: the few operations that everything else is made of.

Matrices are full and symmetric. Rank-one changes are written as ``w w'`` with one scaled vector, so
that both triangles see the same rounding and stay exactly equal.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_inline, kernel_numpy


@kernel_numpy
def multiply_into(A, B, out):
    """Write the product of two matrices, or of a matrix and a vector."""
    np.dot(A, B, out)


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
    """Return ``e' A e`` of a symmetric matrix, reading its lower triangle only.

    Four rows at a time: alone, each would load all of ``e`` again.
    """
    n, total = e.shape[0], 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        e0, e1, e2, e3 = e[i], e[i + 1], e[i + 2], e[i + 3]
        below0 = 0.0
        below1 = r1[i] * e0
        below2 = r2[i] * e0 + r2[i + 1] * e1
        below3 = r3[i] * e0 + r3[i + 1] * e1 + r3[i + 2] * e2
        for j in range(i):
            below0 += r0[j] * e[j]
            below1 += r1[j] * e[j]
            below2 += r2[j] * e[j]
            below3 += r3[j] * e[j]
        total += e0 * (2.0 * below0 + r0[i] * e0) + e1 * (2.0 * below1 + r1[i + 1] * e1)
        total += e2 * (2.0 * below2 + r2[i + 2] * e2) + e3 * (2.0 * below3 + r3[i + 3] * e3)
    for i in range(whole, n):
        below = 0.0
        for j in range(i):
            below += A[i, j] * e[j]
        total += e[i] * (2.0 * below + A[i, i] * e[i])
    return total


@kernel_inline
def measure_distance(z, center, precision, e):
    """Return the squared Mahalanobis distance of ``z`` to one rule; ``e`` is a workspace."""
    n = z.shape[0]
    for j in range(n):
        e[j] = z[j] - center[j]
    return quadratic_form(precision, e[:n])


@kernel
def mirror(A):
    """Copy the lower triangle of a matrix to its upper one."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]


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
    multiply_into(precision, e, v)
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
