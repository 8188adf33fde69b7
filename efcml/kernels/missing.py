"""What rules expect of features that are missing.

A rule is a Gaussian, so it knows how far away a row is by the features ``o`` that are there, and
what it expects of the missing ones ``m``. With its precision L and e = x - c:

    e_m = -L_mm^-1 L_mo e_o,    distance e'L e,    log|S_oo| = log|S| + log|L_mm|

With this e_m the form e'L e is the marginal distance ``e_o'(L_oo - L_om L_mm^-1 L_mo) e_o``. Every
rule counts by its density at what is there; the row is filled with what they expect together.
"""

import numpy as np

from efcml._jit import driver, kernel, leaf
from efcml.kernels.linalg import squared_distance

LEAST_PIVOT = 1e-14  # share of a diagonal entry; less of it is rounding


@leaf
def factor_block(block, count):
    """Replace a positive definite matrix by its Cholesky factor; return its log-determinant."""
    log_det = 0.0
    for a in range(count):
        for b in range(a):
            total = block[a, b]
            for k in range(b):
                total -= block[a, k] * block[b, k]
            block[a, b] = total / block[b, b]
        total = block[a, a]
        for k in range(a):
            total -= block[a, k] * block[a, k]
        pivot = max(total, LEAST_PIVOT * block[a, a])
        log_det += np.log(pivot)
        block[a, a] = np.sqrt(pivot)
    return log_det


@leaf
def solve_block(block, count, right):
    """Solve ``C C' x = right``, C a Cholesky factor, in place."""
    for a in range(count):
        for b in range(a):
            right[a] -= block[a, b] * right[b]
        right[a] /= block[a, a]
    for a in range(count - 1, -1, -1):
        for b in range(a + 1, count):
            right[a] -= block[b, a] * right[b]
        right[a] /= block[a, a]


@kernel
def expect(x, center, precision, missing, count, block, right, own):
    """Write the row as one rule expects it; return its squared distance, and log|L_mm|."""
    p = x.shape[0]
    for j in range(p):
        own[j] = center[j] if np.isnan(x[j]) else x[j]
    for a in range(count):
        m, total = missing[a], 0.0
        for j in range(p):
            entry = precision[m, j] if j <= m else precision[j, m]
            total -= entry * (own[j] - center[j])
        right[a] = total
        for b in range(a + 1):
            block[a, b] = precision[m, missing[b]]
    opened = factor_block(block, count)
    solve_block(block, count, right)
    for a in range(count):
        own[missing[a]] += right[a]
    return opened


@driver
def fill_row(x, n_rules, center, marginal, facts, bandwidth, density, filled):
    """Write a row with what all rules together expect of its missing features."""
    p, count = x.shape[0], 0
    missing, right, e = np.zeros(p, np.int64), np.zeros(p), np.zeros(p)
    for j in range(p):
        if np.isnan(x[j]):
            missing[count] = j
            count += 1
    block, own, size = np.zeros((count, count)), np.zeros((n_rules, p)), np.zeros(n_rules)
    least, total = np.inf, 0.0
    for i in range(n_rules):
        opened = expect(x, center[i], marginal[i], missing, count, block, right, own[i])
        if count == p:
            opened = -facts[i].log_det_x  # but for rounding, which must not choose a rule
        size[i] = squared_distance(own[i], center[i], marginal[i], e)
        if density:
            size[i] += facts[i].log_det_x + opened
        least = min(least, size[i])
    for i in range(n_rules):
        size[i] = np.exp((least - size[i]) / (2.0 * bandwidth))
        total += size[i]
    for j in range(p):
        filled[j] = x[j]
        if np.isnan(x[j]):
            filled[j] = 0.0
            for i in range(n_rules):
                filled[j] += size[i] / total * own[i, j]
