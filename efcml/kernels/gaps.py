"""Rows of which features are missing (how_it_works.md 11).

A rule is a Gaussian, so it knows how far away a row is by the features ``o`` that are there, and
what it expects of the missing ones ``m``. With its precision L and e = x - c:

    e_m = -L_mm^-1 L_mo e_o,    distance e'L e,    log|S_oo| = log|S| + log|L_mm|

With this e_m the form e'L e is the marginal distance ``e_o'(L_oo - L_om L_mm^-1 L_mo) e_o``. The
winner learns what is there; what it knows of ``x_m`` given the rest stays as it is.

``missing`` lists the missing features, ``absent`` marks them, ``gaps`` is their number: 0 for a row
that is complete.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_part, kernel_rare
from efcml.kernels.antecedent import is_novel, update_winner
from efcml.kernels.firing import INPUT, JOINT, activate_rules, find_likeliest, size_of
from efcml.kernels.linalg import quadratic_form
from efcml.kernels.triangle import read_line

LEAST_PIVOT = 1e-14  # share of a diagonal entry; less of it is rounding


@kernel
def find_missing(x, scratch):
    """Note which features of a row are missing; return how many they are."""
    count = 0
    for j in range(x.shape[0]):
        scratch.absent[j] = np.isnan(x[j])
        if scratch.absent[j]:
            scratch.missing[count] = j
            count += 1
    return count


@kernel
def take_block(A, scale, scratch, block):
    """Write the lower triangle of ``scale A_mm``; A is kept by its lower triangle, too."""
    missing = scratch.missing
    for a in range(scratch.gaps[0]):
        for b in range(a + 1):
            block[a, b] = scale * A[missing[a], missing[b]]


@kernel_fast
def factor_block(block, count):
    """Replace a positive definite matrix by its Cholesky factor; return its log-determinant."""
    log_det = 0.0
    for a in range(count):
        own = block[a]
        for b in range(a):
            other, total = block[b], 0.0
            for k in range(b):
                total += own[k] * other[k]
            own[b] = (own[b] - total) / other[b]
        total = 0.0
        for k in range(a):
            total += own[k] * own[k]
        pivot = max(own[a] - total, LEAST_PIVOT * own[a])
        log_det += np.log(pivot)
        own[a] = np.sqrt(pivot)
    return log_det


@kernel_fast
def solve_block(block, count, right):
    """Solve ``C C' x = right``, C a Cholesky factor, in place."""
    for a in range(count):
        own, total = block[a], right[a]
        for b in range(a):
            total -= own[b] * right[b]
        right[a] = total / own[a]
    for a in range(count - 1, -1, -1):
        own = block[a]
        right[a] /= own[a]
        for b in range(a):
            right[b] -= own[b] * right[a]


@kernel_fast
def multiply_lines(A, e, missing, count, product):
    """Write the missing entries of ``A e``."""
    n = e.shape[0]
    for a in range(count):
        m, total = missing[a], 0.0
        row = A[m]
        for j in range(m + 1):
            total += row[j] * e[j]
        for i in range(m + 1, n):
            total += A[i, m] * e[i]
        product[a] = total


@kernel
def complete_deviation(z, center, A, scratch):
    """Fill ``e`` with the deviation of a row, as expected where features are missing.

    The precision A chooses the space: x alone, or [x, y]. Returns the squared distance over what
    is there, and log|A_mm|.
    """
    n, e, missing, count = A.shape[0], scratch.e, scratch.missing, scratch.gaps[0]
    block, right = scratch.block, scratch.right
    for j in range(n):
        e[j] = 0.0 if scratch.absent[j] else z[j] - center[j]
    multiply_lines(A, e[:n], missing, count, right)
    take_block(A, 1.0, scratch, block)
    opened = factor_block(block, count)
    solve_block(block, count, right)
    for a in range(count):
        e[missing[a]] = -right[a]
    return max(0.0, quadratic_form(A, e[:n])), opened


@kernel_rare()
def measure_gapped(x, rule, rules, settings, scratch):
    """Write how far one rule is, by what is there; ``e`` is then the deviation as it expects it."""
    center, precision = rules.center[rule], rules.input_precision[rule]
    distance, opened = complete_deviation(x, center, precision, scratch)
    if scratch.gaps[0] == x.shape[0]:
        opened = -rules.log_det[rule, INPUT]  # but for rounding, which must not choose a winner
    scratch.marginal[rule] = distance
    scratch.distances[rule] = distance + (opened if settings.density else 0.0)


@kernel
def fill_own_row(x, rule, rules, scratch):
    """Write the row as one rule expects it, from ``e``."""
    own, p = scratch.own[rule], x.shape[0]
    for j in range(p):
        own[j] = rules.center[rule, j] + scratch.e[j] if scratch.absent[j] else x[j]
    own[p] = 1.0


@kernel_rare()
def view_gaps(x, n_rules, rules, settings, scratch):
    """Write distances of a row with gaps, the row as each rule and as all together expect it."""
    own, filled, missing, count = scratch.own, scratch.filled, scratch.missing, scratch.gaps[0]
    for rule in range(n_rules):
        measure_gapped(x, rule, rules, settings, scratch)
        fill_own_row(x, rule, rules, scratch)
    activate_rules(scratch.distances, n_rules, rules, settings, scratch.activation)
    for j in range(x.shape[0]):
        filled[j] = 0.0 if scratch.absent[j] else x[j]
    for rule in range(n_rules):
        for a in range(count):
            filled[missing[a]] += scratch.activation[rule] * own[rule, missing[a]]


@kernel
def has_gaps(x, distances, n_rules, rules, settings, scratch):
    """Tell whether features of a row are missing; if so, view it.

    ``distances`` were measured as if none were: with a gap they are NaN.
    """
    scratch.gaps[0] = 0
    if n_rules == 0 or not np.isnan(distances[0]):
        return False
    scratch.gaps[0] = find_missing(x, scratch)
    if scratch.gaps[0] > 0:
        view_gaps(x, n_rules, rules, settings, scratch)
    return scratch.gaps[0] > 0


@kernel_part
def find_joint_winner(n_rules, rules, settings, scratch):
    """Return the rule that counts most at the joint row, x_m integrated out, and how far it is."""
    winner, distance, smallest = 0, 0.0, np.inf
    for rule in range(n_rules):
        center, precision = rules.center[rule], rules.joint_precision[rule]
        gap, opened = complete_deviation(scratch.z, center, precision, scratch)
        value = gap
        if settings.density:
            value += size_of(rule, JOINT, rules, settings) + opened
        if value < smallest:
            winner, distance, smallest = rule, gap, value
    return winner, distance


@kernel_rare("Tuple((int64, boolean))")
def choose_gapped_winner(all_known, n_rules, rules, settings, scratch):
    """Return the rule that wins the joint row with gaps, and whether the row is novel to it."""
    if settings.product_space and all_known:
        winner, distance = find_joint_winner(n_rules, rules, settings, scratch)
        dimension = scratch.z.shape[0] - scratch.gaps[0]
    else:
        winner = find_likeliest(scratch.distances, INPUT, n_rules, rules, settings)
        distance = scratch.marginal[winner]
        dimension = rules.input_precision.shape[1] - scratch.gaps[0]
    return winner, is_novel(distance, float(dimension), rules.support[winner], settings.vigilance)


@kernel_fast
def take_off_lines(A, n, lines, count):
    """Replace A by ``A - V'V``, V the first ``count`` lines."""
    for i in range(n):
        row = A[i]
        for a in range(count):
            line = lines[a]
            factor = line[i]
            for j in range(i + 1):
                row[j] -= factor * line[j]


@kernel
def open_block(A, scratch):
    """Give a covariance with the precision A more variance C where features are missing.

    ``held`` is C^-1. Woodbury: ``A - A_:m (C^-1 + A_mm)^-1 A_m:``. Returns log|C^-1 + A_mm|.
    """
    n, count, missing = A.shape[0], scratch.gaps[0], scratch.missing
    block, lines = scratch.block, scratch.lines
    take_block(A, 1.0, scratch, block)
    for a in range(count):
        for b in range(a + 1):
            block[a, b] += scratch.held[a, b]
    log_det = factor_block(block, count)
    for a in range(count):
        line = lines[a]
        read_line(A, missing[a], n, line)
        for b in range(a):
            factor, other = block[a, b], lines[b]
            for j in range(n):
                line[j] -= factor * other[j]
        for j in range(n):
            line[j] /= block[a, a]
    take_off_lines(A, n, lines, count)
    return log_det


@kernel_rare()
def update_gapped_winner(winner, start_variance, rules, settings, scratch):
    """Move the winner towards a joint row with gaps.

    It takes in what it expects of x_m, given x_o and y. That alone would take the missing features
    for surer than they are, so both covariances get ``a L_mm^-1`` there (a the share of the row, L
    the joint precision before): the expected square of what is left open (how_it_works.md 11).
    """
    z, count, log_det = scratch.z, scratch.gaps[0], rules.log_det[winner]
    joint, marginal = rules.joint_precision[winner], rules.input_precision[winner]
    weight = scratch.amount[0]
    share = weight / (rules.support[winner] + weight)
    opened = complete_deviation(z, rules.center[winner], joint, scratch)[1]
    for a in range(count):
        m = scratch.missing[a]
        z[m] = rules.center[winner, m] + scratch.e[m]
    take_block(joint, 1.0 / share, scratch, scratch.held)
    opened -= count * np.log(share)
    update_winner(winner, start_variance, rules, settings, scratch)
    log_det[0] += open_block(joint, scratch) - opened
    log_det[1] += open_block(marginal, scratch) - opened


@kernel
def fill_rows_of(X, rule, rules, scratch, filled):
    """Write the rows of a batch as one rule expects them."""
    p = X.shape[1]
    for t in range(X.shape[0]):
        scratch.gaps[0] = find_missing(X[t], scratch)
        if scratch.gaps[0] > 0:
            center, precision = rules.center[rule], rules.input_precision[rule]
            complete_deviation(X[t], center, precision, scratch)
            fill_own_row(X[t], rule, rules, scratch)
        for j in range(p):
            filled[t, j] = scratch.own[rule, j] if scratch.gaps[0] > 0 else X[t, j]


@kernel
def fill_rows(X, n_rules, rules, settings, scratch, filled):
    """Write the rows of a batch as all rules together expect them."""
    p = X.shape[1]
    for t in range(X.shape[0]):
        scratch.gaps[0] = find_missing(X[t], scratch)
        if scratch.gaps[0] > 0:
            view_gaps(X[t], n_rules, rules, settings, scratch)
        for j in range(p):
            filled[t, j] = scratch.filled[j] if scratch.gaps[0] > 0 else X[t, j]
