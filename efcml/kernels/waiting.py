"""Changes of P and G that wait until the matrix is read again.

A row changes every entry of P and G of every active rule. To carry this out at once means to go
through each matrix twice a row, and with many features memory is what takes the time. So

- the change ``P := scale (P - w w')`` waits for the next product ``P r`` and is carried out on the
  way, entry by entry, unless forgetting scales it;
- rows wait for G, which is read much less often, and up to ``ROWS`` of them are added in one go.

Each entry sees the same operations in the same order whenever they are carried out, so where a
stream is cut cannot matter. Outside the driver (kernels/learning.py) nothing waits.
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.triangle import (
    add_four_outer,
    add_outer,
    scale_and_add_outer,
    shrink,
    shrink_and_multiply,
)

ROWS = 4  # more gain little: the sums then take the time
NOTHING = 0.0  # as a scale: no change waits


@kernel
def multiply_P(P, shrinks, scale, rule, group, row, product):
    """Write ``P r`` of a label group, the change that waits carried out.

    The product is always made by the same kernel, so that it always rounds alike.
    """
    w, waits = shrinks[rule, group], scale[rule, group]
    if waits != NOTHING and waits != 1.0:
        shrink(P[rule, group], w, waits)
    if waits != 1.0:
        for i in range(w.shape[0]):
            w[i] = 0.0
    shrink_and_multiply(P[rule, group], w, row, product)
    scale[rule, group] = NOTHING


@kernel
def carry_out_shrink(P, shrinks, scale, rule, group, row, product):
    """Carry out the change of one P that waits; ``product`` is a workspace."""
    waits = scale[rule, group]
    if waits == 1.0:
        multiply_P(P, shrinks, scale, rule, group, row, product)
    elif waits != NOTHING:
        shrink(P[rule, group], shrinks[rule, group], waits)
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
    learned, forgets = 0, False
    for s in range(ROWS):
        root = np.sqrt(weight[s]) if first <= s < last else 0.0
        learned += root > 0.0
        forgets = forgets or (root > 0.0 and keep[s] != 1.0)
        for i in range(rows.shape[1]):
            scaled[s, i] = root * rows[s, i]
    if learned > 1 and not forgets:
        add_four_outer(G, scaled)  # a row of zeros changes nothing, to the last bit
    elif learned > 0:
        for s in range(first, last):
            if weight[s] > 0.0 and keep[s] == 1.0:
                add_outer(G, scaled[s])
            elif weight[s] > 0.0:
                scale_and_add_outer(G, scaled[s], keep[s])


@kernel
def bring_G(G, rule, group, waiting):
    """Add the rows that wait for one G."""
    first, last = waiting.done[rule, group], waiting.count[0]
    if first < last:
        add_rows(
            G[rule, group], waiting.rows, waiting.weight[rule, group], waiting.keep[rule, group],
            first, last, waiting.scaled,
        )  # fmt: skip
        waiting.done[rule, group] = last


@kernel
def bring_all_G(G, n_rules, waiting):
    """Add all rows that wait for any G."""
    for rule in range(n_rules):
        for group in range(G.shape[1]):
            bring_G(G, rule, group, waiting)
            waiting.done[rule, group] = 0
    waiting.count[0] = 0


@kernel
def bring_all(P, G, n_rules, row, product, waiting):
    """Carry out everything that waits; ``row`` and ``product`` are workspaces."""
    bring_all_G(G, n_rules, waiting)
    for rule in range(n_rules):
        for group in range(P.shape[1]):
            carry_out_shrink(P, waiting.shrink, waiting.scale, rule, group, row, product)
