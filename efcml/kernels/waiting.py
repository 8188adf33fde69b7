"""Changes of P and G that wait until the matrix is read again.

A row changes every entry of P and G of every active rule. To carry this out at once means to go
through each matrix twice a row, and with many features memory is what takes the time. So

- the change ``P := scale (P - w w')`` waits for the next product ``P r`` and is carried out on the
  way, entry by entry, unless forgetting scales it;
- rows wait for G, which is read much less often, and up to ``WAITING`` of them are added in one go.

Each entry sees the same operations in the same order whenever they are carried out, so where a
stream is cut cannot matter. Outside the driver (kernels/learning.py) nothing waits.
"""

import numpy as np

from efcml._jit import kernel, kernel_rare
from efcml.kernels.constants import WAITING
from efcml.kernels.triangle import (
    add_four_outer,
    add_outer,
    scale_and_add_outer,
    shrink,
    shrink_and_multiply,
)

NOTHING = 0.0  # as a scale: no change waits


@kernel
def multiply_P(rule, group, row, P, scratch, product):
    """Write ``P r`` of a label group, the change that waits carried out.

    The product is always made by the same kernel, so that it always rounds alike.
    """
    w, waits = scratch.shrink[rule, group], scratch.scale[rule, group]
    if waits != NOTHING and waits != 1.0:
        shrink(P[rule, group], w, waits)
    if waits != 1.0:
        for i in range(w.shape[0]):
            w[i] = 0.0
    shrink_and_multiply(P[rule, group], w, row, product)
    scratch.scale[rule, group] = NOTHING


@kernel
def bring_P(rule, group, P, scratch):
    """Carry out the change of one P that waits."""
    waits = scratch.scale[rule, group]
    if waits == 1.0:
        multiply_P(rule, group, scratch.row, P, scratch, scratch.unused)
    elif waits != NOTHING:
        shrink(P[rule, group], scratch.shrink[rule, group], waits)
        scratch.scale[rule, group] = NOTHING


@kernel
def queue_row(n_rules, scratch):
    """Let the row wait for G of all rules, with its weight in each label group."""
    put_in_queue(scratch.row, n_rules, scratch)


@kernel
def put_in_queue(row, n_rules, scratch):
    """Take a row into the next slot."""
    slot = scratch.count[0]
    for i in range(row.shape[0]):
        scratch.rows[slot, i] = row[i]
    groups = scratch.row_weight.shape[1]
    for rule in range(n_rules):
        for group in range(groups):
            learns = groups == 1 or scratch.known[group]
            scratch.row_weight[rule, group, slot] = scratch.weights[rule] if learns else 0.0
            scratch.row_keep[rule, group, slot] = scratch.keeps[rule] if learns else 1.0
    scratch.count[0] = slot + 1


@kernel_rare()
def queue_own_rows(n_rules, G, scratch):
    """Let the row wait as each rule that learns it sees it (kernels/gaps.py)."""
    for owner in range(n_rules):
        if scratch.weights[owner] == 0.0:
            continue
        if scratch.count[0] == WAITING:
            bring_all_G(n_rules, G, scratch)
        slot = scratch.count[0]
        put_in_queue(scratch.own[owner], n_rules, scratch)
        for rule in range(n_rules):
            if rule != owner:
                for group in range(scratch.row_weight.shape[1]):
                    scratch.row_weight[rule, group, slot] = 0.0
                    scratch.row_keep[rule, group, slot] = 1.0


@kernel
def add_rows(G, rows, weight, keep, first, last, scaled):
    """Add the rows ``first:last``, each with its weight, to one G; ``scaled`` is a workspace."""
    learned, forgets = 0, False
    for s in range(WAITING):
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
def bring_G(rule, group, G, scratch):
    """Add the rows that wait for one G."""
    first, last = scratch.done[rule, group], scratch.count[0]
    if first < last:
        weight, keep = scratch.row_weight[rule, group], scratch.row_keep[rule, group]
        add_rows(G[rule, group], scratch.rows, weight, keep, first, last, scratch.scaled)
        scratch.done[rule, group] = last


@kernel
def bring_all_G(n_rules, G, scratch):
    """Add all rows that wait for any G."""
    for rule in range(n_rules):
        for group in range(G.shape[1]):
            bring_G(rule, group, G, scratch)
            scratch.done[rule, group] = 0
    scratch.count[0] = 0


@kernel
def bring_all(n_rules, rules, scratch):
    """Carry out everything that waits."""
    bring_all_G(n_rules, rules.G, scratch)
    for rule in range(n_rules):
        for group in range(rules.P.shape[1]):
            bring_P(rule, group, rules.P, scratch)
