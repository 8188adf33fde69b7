"""Changes of P and G that wait until the matrix is read again.

A row changes every entry of P and G of every active rule. To carry this out at once means to go
through each matrix twice a row, and with many features memory is what takes the time. So

- the change ``P := scale (P - w w')`` waits for the next product ``P r`` and is carried out on the
  way, entry by entry;
- rows wait for G, which is read much less often, and up to ``ROWS`` of them are added in one go.

Each entry sees the same operations in the same order whenever they are carried out, so where a
stream is cut cannot matter. Outside the driver (kernels/learning.py) nothing waits.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_inline
from efcml.kernels.linalg import scale_and_add_outer

ROWS = 4  # more gain little: the sums then take the time
NOTHING = 0.0  # as a scale: no change waits


@kernel_fast
def shrink_and_multiply(P, w, scale, row, product):
    """Replace P by ``scale * (P - w w')`` and write ``P r``."""
    n = row.shape[0]
    for i in range(n):
        entries, factor, total = P[i], w[i], 0.0
        for j in range(n):
            value = scale * (entries[j] - factor * w[j])
            entries[j] = value
            total += value * row[j]
        product[i] = total


@kernel
def add_four_rows(G, w, keep):
    """Do `scale_and_add_outer` for four rows one after the other, in one go through G."""
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    k0, k1, k2, k3 = keep[0], keep[1], keep[2], keep[3]
    for i in range(w.shape[1]):
        entries = G[i]
        f0, f1, f2, f3 = w0[i], w1[i], w2[i], w3[i]
        for j in range(w.shape[1]):
            value = k0 * entries[j] + f0 * w0[j]
            value = k1 * value + f1 * w1[j]
            value = k2 * value + f2 * w2[j]
            entries[j] = k3 * value + f3 * w3[j]


@kernel_inline
def multiply_P(P, shrink, scale, rule, group, row, product):
    """Write ``P r`` of a label group, the change that waits carried out."""
    w = shrink[rule, group]
    waits = scale[rule, group]
    if waits == NOTHING:
        w[:] = 0.0
        waits = 1.0
    shrink_and_multiply(P[rule, group], w, waits, row, product)
    scale[rule, group] = NOTHING


@kernel
def queue_row(row, weights, keeps, n_rules, known, rows, weight, keep, count):
    """Let a row wait for G of all rules, with its weight in each label group."""
    slot = count[0]
    for i in range(row.shape[0]):
        rows[slot, i] = row[i]
    groups = weight.shape[1]
    for rule in range(n_rules):
        for group in range(groups):
            learns = groups == 1 or known[group]
            weight[rule, group, slot] = weights[rule] if learns else 0.0
            keep[rule, group, slot] = keeps[rule] if learns else 1.0
    count[0] = slot + 1


@kernel
def add_rows(G, rows, weight, keep, first, last, scaled):
    """Add the rows ``first:last``, each with its weight, to one G; ``scaled`` is a workspace."""
    some = False
    for s in range(first, last):
        root = np.sqrt(weight[s])
        some = some or root > 0.0
        for i in range(rows.shape[1]):
            scaled[s, i] = root * rows[s, i]
    if some and last - first == ROWS:
        add_four_rows(G, scaled, keep)
    elif some:
        for s in range(first, last):
            if weight[s] > 0.0:
                scale_and_add_outer(G, scaled[s], keep[s])


@kernel_inline
def bring_G(G, rule, group, waiting):
    """Add the rows that wait for one G."""
    first, last = waiting.done[rule, group], waiting.count[0]
    if first < last:
        add_rows(
            G[rule, group], waiting.rows, waiting.weight[rule, group], waiting.keep[rule, group],
            first, last, waiting.scaled,
        )  # fmt: skip
        waiting.done[rule, group] = last


@kernel_inline
def bring_all_G(G, n_rules, waiting):
    """Add all rows that wait for any G."""
    for rule in range(n_rules):
        for group in range(G.shape[1]):
            bring_G(G, rule, group, waiting)
            waiting.done[rule, group] = 0
    waiting.count[0] = 0


@kernel_inline
def bring_all(P, G, n_rules, row, product, waiting):
    """Carry out everything that waits; ``row`` and ``product`` are workspaces."""
    bring_all_G(G, n_rules, waiting)
    for rule in range(n_rules):
        for group in range(P.shape[1]):
            if waiting.scale[rule, group] != NOTHING:
                multiply_P(P, waiting.shrink, waiting.scale, rule, group, row, product)
