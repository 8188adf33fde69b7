"""What rules expect of features that are missing.

A rule is a Gaussian, so it knows how far away a row is by the features ``o`` that are there, and
what it expects of the missing ones ``m``. With its precision L and e = x - c:

    e_m = -L_mm^-1 L_mo e_o,    distance e'L e,    log|S_oo| = log|S| + log|L_mm|

With this e_m the form e'L e is the marginal distance ``e_o'(L_oo - L_om L_mm^-1 L_mo) e_o``. Every
rule counts by its density at what is there; the row is filled with what they expect together.
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import solve_in_place, squared_distance


@kernel
def expect(x, center, precision, missing, count, block, right, own):
    """Write the row as one rule expects it; return its squared distance, and log|L_mm|."""
    p, opened = x.shape[0], 0.0
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
    solve_in_place(0, block, right)
    for a in range(count):
        own[missing[a]] += right[a]
        opened += 2.0 * np.log(block[a, a])
    return opened


@driver
def fill_row(x, n_rules, center, marginal, facts, bandwidth, density, filled):
    """Write a row with what all rules together expect of its missing features."""
    p, count = x.shape[0], 0
    missing, e = np.zeros(p, np.int64), np.zeros(p)
    for j in range(p):
        if np.isnan(x[j]):
            missing[count] = j
            count += 1
    block, right = np.zeros((count, count)), np.zeros(count)
    own, size = np.zeros((n_rules, p)), np.zeros(n_rules)
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
