"""What rows would do to the rules of a model, which are only read."""

import numpy as np

from efcml._jit import driver
from efcml.kernels.gaussian import activate
from efcml.kernels.linalg import dot, multiply
from efcml.kernels.planes import SLOW


@driver
def look_at_rows(X, n_rules, floor, by_determinant, rules, s, likeliest, distance, instability):
    """Write for every row its likeliest rule, the squared distance to it, and the instability.

    That is the largest share that an update with the row would take from P of a rule whose
    activation reaches ``floor``: of the trace over the slopes, or of the determinant, in closed
    form and without forgetting. Where labels have a P of their own, a rule counts by those that it
    has learned least: every row takes something away from P, so that theirs has most left. To look
    at all of them would cost as much as several full updates.
    """
    center, marginal, facts, d = rules.center, rules.marginal, rules.facts, X.shape[1] + 1
    work, by_rule, row = np.zeros((3, d)), np.zeros((2, n_rules)), np.ones(d)
    distances, psi, v, z = by_rule[0], by_rule[1], work[1], work[2]
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
            if psi[i] < floor:
                continue
            known, least = rules.label_sums[i, 0], 0
            for c in range(1, rules.group.shape[0]):
                if known[c, c] < known[least, least]:
                    least = c
            P = rules.P[i, SLOW, rules.group[least]]
            multiply(P, d, row, v)
            height = psi[i] * dot(row, v, d)
            share = height / (1.0 + height)
            if not by_determinant:
                trace = 0.0
                for j in range(d - 1):
                    trace += P[j, j]
                share = psi[i] * dot(v, v, d - 1) / ((1.0 + height) * trace) if trace > 0.0 else 0.0
            instability[t] = max(instability[t], share)
