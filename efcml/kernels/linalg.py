"""The few operations that everything is made of.

Of symmetric matrices the compiled code reads and writes the lower triangle alone: half of the
memory is gone through. `whole` fills in the other half for everybody else.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from efcml._jit import driver, leaf

TINY = 1e-9  # a pivot that is smaller is rounding

# Compiled; vectors may be longer than the first n entries that count


@leaf
def dot(a, b, n):
    """Return a'b."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@leaf
def multiply(A, n, v, out):
    """Write A v."""
    for i in range(n):
        total, factor = 0.0, v[i]
        for j in range(i):
            total += A[i, j] * v[j]
            out[j] += A[i, j] * factor
        out[i] = total + A[i, i] * factor


@leaf
def add_outer(A, n, keep, amount, v):
    """Replace A by ``keep A + amount v v'``."""
    for i in range(n):
        factor = amount * v[i]
        for j in range(i + 1):
            A[i, j] = keep * A[i, j] + factor * v[j]


@leaf
def shrink_twice(A, n, scale, a, v, b, u):
    """Replace A by ``scale (A - a v v') - b u u'``."""
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = scale * (A[i, j] - a * v[i] * v[j]) - b * u[i] * u[j]


@driver
def mirror(A):
    """Fill in the upper triangle."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]


@leaf
def squared_distance(x, center, precision, e):
    """Return ``(x - c)' S^-1 (x - c)``; ``e`` is a workspace.

    The size of the matrix tells the space: x may be a joint row of which the features count.
    """
    total = 0.0
    for i in range(precision.shape[0]):
        e[i] = x[i] - center[i]
        below = 0.0
        for j in range(i):
            below += precision[i, j] * e[j]
        total += e[i] * (2.0 * below + precision[i, i] * e[i])
    return max(total, 0.0)


# From outside: LAPACK counts columns first, so that its upper triangle is the lower one here


def whole(A):
    """Return a symmetric matrix, of which the lower triangle is given, with both triangles."""
    mirror(A)  # nobody minds: above the diagonal may stand anything
    return A


def factor(A):
    """Return the upper Cholesky factor of a lower triangle; below it may stand anything."""
    upper, info = dpotrf(A.T, lower=0, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return upper


def invert(A):
    """Return the inverse of a positive definite matrix, exactly symmetric."""
    return invert_factor(factor(A))


def invert_factor(upper):
    """Return the inverse of the matrix that ``upper`` is the factor of."""
    return whole(dpotri(upper, lower=0)[0].T)


def solve(upper, B):
    """Return ``A^-1 B`` of the matrix that ``upper`` is the factor of."""
    return dpotrs(upper, B, lower=0)[0]


def log_det(upper):
    """Return ``log|A|`` of the matrix that ``upper`` is the factor of."""
    return 2.0 * np.log(np.diagonal(upper)).sum()


def add_diagonal(A, diagonal):
    """Return A + diag(diagonal)."""
    A = A.copy()
    A.flat[:: len(A) + 1] += diagonal
    return A
