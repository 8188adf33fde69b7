"""Symmetric matrices that are kept by their lower triangle; here nobody looks at the upper one.

Those of features and of cases are: half of the memory is gone through, half of the entries change.
The products take four rows at a time: a row alone would load and store the result for every entry.
Two of them look alike because a prediction must not write, and may run beside others.
"""

from efcml._jit import kernel, kernel_fast, kernel_fused

BLOCK = 4  # rows at a time; the loops below are written out for it


@kernel
def read_line(A, k, size, line):
    """Write row k, which is column k as well."""
    for j in range(k):
        line[j] = A[k, j]
    for i in range(k, size):
        line[i] = A[i, k]


@kernel
def write_line(A, k, size, scale, line):
    """Replace row and column k by ``scale * line``."""
    for j in range(k):
        A[k, j] = scale * line[j]
    for i in range(k, size):
        A[i, k] = scale * line[i]


@kernel_fused
def add_outer(A, w):
    """Replace A by ``A + w w'``."""
    for i in range(w.shape[0]):
        row, factor = A[i], w[i]
        for j in range(i + 1):
            row[j] += factor * w[j]


@kernel_fused
def add_four_outer(A, w):
    """Do `add_outer` for the four rows of w one after the other, in one go through A."""
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    for i in range(w.shape[1]):
        row = A[i]
        f0, f1, f2, f3 = w0[i], w1[i], w2[i], w3[i]
        for j in range(i + 1):
            value = row[j] + f0 * w0[j]
            value = value + f1 * w1[j]
            value = value + f2 * w2[j]
            row[j] = value + f3 * w3[j]


@kernel_fast
def shrink(A, w, scale):
    """Replace A by ``scale * (A - w w')``."""
    for i in range(w.shape[0]):
        row, factor = A[i], w[i]
        for j in range(i + 1):
            row[j] = scale * (row[j] - factor * w[j])


@kernel_fast
def shrink_twice(A, w, u, scale):
    """Replace A by ``scale * (A - w w') - u u'``."""
    for i in range(w.shape[0]):
        row, a, b = A[i], w[i], u[i]
        for j in range(i + 1):
            row[j] = scale * (row[j] - a * w[j]) - b * u[j]


@kernel
def scale_and_add_outer(A, w, scale):
    """Replace A by ``scale * A + w w'``."""
    for i in range(w.shape[0]):
        row, factor = A[i], w[i]
        for j in range(i + 1):
            row[j] = scale * row[j] + factor * w[j]


@kernel_fast
def exchange(A, v, t, w):
    """Replace A by ``A + v t' + t v' + w w'``."""
    for i in range(v.shape[0]):
        row, a, b, c = A[i], v[i], t[i], w[i]
        for j in range(i + 1):
            row[j] += a * t[j] + b * v[j] + c * w[j]


@kernel_fast
def multiply(A, v, product):
    """Write the leading part of ``A v``; v may be shorter than A."""
    n = v.shape[0]
    for i in range(0, n, BLOCK):
        begin, end = i, min(i + BLOCK, n)
        if end - i == BLOCK:
            r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
            f0, f1, f2, f3 = v[i], v[i + 1], v[i + 2], v[i + 3]
            t0 = t1 = t2 = t3 = 0.0
            for j in range(i):
                x = v[j]
                t0 += r0[j] * x
                t1 += r1[j] * x
                t2 += r2[j] * x
                t3 += r3[j] * x
                product[j] += r0[j] * f0 + r1[j] * f1 + r2[j] * f2 + r3[j] * f3
            product[i], product[i + 1], product[i + 2], product[i + 3] = t0, t1, t2, t3
        else:
            begin = 0
            for k in range(i, end):
                product[k] = 0.0
        for k in range(i, end):  # what is left of these rows, up to the diagonal
            row, factor, total = A[k], v[k], product[k]
            for j in range(begin, k):
                total += row[j] * v[j]
                product[j] += row[j] * factor
            product[k] = total + row[k] * factor


@kernel_fast
def shrink_and_multiply(A, w, v, product):
    """Replace A by ``A - w w'`` and write the leading part of ``A v``."""
    n = v.shape[0]
    for i in range(0, n, BLOCK):
        begin, end = i, min(i + BLOCK, n)
        if end - i == BLOCK:
            r0, r1, r2, r3 = A[i], A[i + 1], A[i + 2], A[i + 3]
            f0, f1, f2, f3 = v[i], v[i + 1], v[i + 2], v[i + 3]
            w0, w1, w2, w3 = w[i], w[i + 1], w[i + 2], w[i + 3]
            t0 = t1 = t2 = t3 = 0.0
            for j in range(i):
                x, y = v[j], w[j]
                a0, a1, a2, a3 = r0[j] - w0 * y, r1[j] - w1 * y, r2[j] - w2 * y, r3[j] - w3 * y
                r0[j], r1[j], r2[j], r3[j] = a0, a1, a2, a3
                t0 += a0 * x
                t1 += a1 * x
                t2 += a2 * x
                t3 += a3 * x
                product[j] += a0 * f0 + a1 * f1 + a2 * f2 + a3 * f3
            product[i], product[i + 1], product[i + 2], product[i + 3] = t0, t1, t2, t3
        else:
            begin = 0
            for k in range(i, end):
                product[k] = 0.0
        for k in range(i, end):  # what is left of these rows, up to the diagonal
            row, factor, own, total = A[k], v[k], w[k], product[k]
            for j in range(begin, k):
                value = row[j] - own * w[j]
                row[j] = value
                total += value * v[j]
                product[j] += value * factor
            row[k] -= own * own
            product[k] = total + row[k] * factor


@kernel
def invert(A, inverse, size, line):
    """Write the inverse of the leading part of A by sweeping every diagonal entry."""
    for i in range(size):
        for j in range(i + 1):
            inverse[i, j] = A[i, j]
    for k in range(size):
        read_line(inverse, k, size, line)
        pivot = 1.0 / line[k]
        for i in range(size):
            if i != k:
                row, factor = inverse[i], line[i] * pivot
                for j in range(i + 1):
                    row[j] -= factor * line[j]
        write_line(inverse, k, size, pivot, line)
        inverse[k, k] = -pivot
    for i in range(size):
        for j in range(i + 1):
            inverse[i, j] = -inverse[i, j]
