"""What rows would do to the rules of a model, which are only read."""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.gaussian import activate
from efcml.kernels.linalg import dot, multiply
from efcml.kernels.planes import SLOW


@kernel
def instability_of(by_determinant, activation, P, row, v):
    """Return the share of P that one update with this row would take away.

    Of the trace over the slopes, or of the determinant; closed forms of the rank-one update
    without forgetting. ``v`` is a workspace.
    """
    d = row.shape[0]
    multiply(P, d, row, v)
    height = activation * dot(row, v, d)
    if by_determinant:
        return height / (1.0 + height)
    trace = 0.0
    for j in range(d - 1):
        trace += P[j, j]
    if not trace > 0.0:  # an update of one's own may leave P alone
        return 0.0
    return activation * dot(v, v, d - 1) / ((1.0 + height) * trace)


@kernel
def least_known(label_sums, group):
    """Return the group of labels that a rule has learned least; ``label_sums`` is (3, K, K)."""
    least = 0
    for c in range(1, group.shape[0]):
        if label_sums[0, c, c] < label_sums[0, least, least]:
            least = c
    return group[least]


@driver
def look_at_rows(X, n_rules, floor, by_determinant, rules, s, likeliest, distance, instability):
    """Write for every row its likeliest rule, the squared distance to it, and the instability.

    That is the largest over the rules whose activation reaches ``floor``. Where labels have a P of
    their own, a rule counts by those that it has learned least: every row takes something away
    from P, so that theirs has most left. To look at all of them would cost as much as several full
    updates.
    """
    center, marginal, facts, d = rules.center, rules.marginal, rules.facts, X.shape[1] + 1
    work, by_rule, row = np.zeros((3, d)), np.zeros((2, n_rules)), np.ones(d)
    distances, psi, z = by_rule[0], by_rule[1], work[2]
    for t in range(X.shape[0]):
        row[: d - 1] = X[t]
        for j in range(s.axes.shape[0]):
            z[j] = X[t, s.axes[j]]
        activate(
            z, n_rules, center, marginal, facts, s.bandwidth, s.density, work[0], distances, psi
        )
        likeliest[t], instability[t] = np.argmax(psi), 0.0
        distance[t] = distances[likeliest[t]]
        for i in range(n_rules):
            if psi[i] >= floor:
                P = rules.P[i, SLOW, least_known(rules.label_sums[i], rules.group)]
                share = instability_of(by_determinant, psi[i], P, row, work[1])
                instability[t] = max(instability[t], share)
