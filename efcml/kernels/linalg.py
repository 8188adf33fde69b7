"""Products and distances: the few operations that everything else is made of."""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_fused, kernel_numpy


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


@kernel_fused
def last_rows_of_form(A, e, first):
    """Return what the rows from ``first`` on, at most three, add to ``e' A e``.

    Not `kernel_fast`: sums of so few rows were put together in one way by the compiler, and in
    another where the code was compiled into a caller.
    """
    n = e.shape[0]
    if first == n:
        return 0.0
    second, third = min(first + 1, n - 1), min(first + 2, n - 1)
    r0, r1, r2 = A[first], A[second], A[third]
    below0 = below1 = below2 = 0.0
    for j in range(first):
        below0 += r0[j] * e[j]
        below1 += r1[j] * e[j]
        below2 += r2[j] * e[j]
    total = e[first] * (2.0 * below0 + r0[first] * e[first])
    if second > first:
        below1 += r1[first] * e[first]
        total += e[second] * (2.0 * below1 + r1[second] * e[second])
    if third > second:
        below2 += r2[first] * e[first]
        below2 += r2[second] * e[second]
        total += e[third] * (2.0 * below2 + r2[third] * e[third])
    return total


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
    return total + last_rows_of_form(A, e, whole)


@kernel
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
