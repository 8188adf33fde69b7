"""Which pair of rules should be looked at for a merge (how_it_works.md 3, "Merge").

The exact test costs O(q^3) and is done outside; here only what is due, and the cheap screen.
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.linalg import measure_distance

RETEST = 1.1  # a pair is looked at again when its joint support has grown by a tenth


@kernel
def center_gap(a, b, center, precision, e):
    """Return the smaller of the squared Mahalanobis distances between the centers of a and b."""
    n = precision.shape[1]
    return min(
        measure_distance(center[b, :n], center[a], precision[a], e),
        measure_distance(center[a, :n], center[b], precision[b], e),
    )


@kernel
def find_due_pair(winner, n_rules, rules, settings, e):
    """Return the first rule whose merge with the winner needs the exact test, or -1.

    Due is a pair of mature rules (with fewer samples than dimensions a covariance is mostly S_0)
    whose common number of samples has grown by a tenth since it was last tested (counted by
    ``updates``: forgetting caps the support). A pair whose centers alone are too far apart for the
    wanted overlap is marked as tested; this screen is a heuristic, it can pass over rules that
    cross each other at right angles.
    """
    precision = rules.joint_precision if settings.product_space else rules.input_precision
    center, updates, tested = rules.center, rules.updates, rules.tested
    mature = precision.shape[1]
    if updates[winner] + 1 < mature:
        return -1
    for r in range(n_rules):
        joint = updates[winner] + updates[r] + 2  # the birth sample counts too
        if r == winner or updates[r] + 1 < mature or joint < RETEST * tested[winner, r]:
            continue
        gap = center_gap(winner, r, center, precision, e)
        if np.exp(-gap / (8.0 * settings.joint_bandwidth)) >= settings.merge_overlap:
            return r
        tested[winner, r] = joint
        tested[r, winner] = joint
    return -1


@kernel
def find_closest_pair(n_rules, center, precision, e):
    """Return the two rules whose centers are nearest to each other by their own precisions.

    One precision after the other, so that each is read from far memory once.
    """
    best_a, best_b, best = -1, -1, np.inf
    n = precision.shape[1]
    for r in range(n_rules):
        for other in range(n_rules):
            if other == r:
                continue
            gap = measure_distance(center[other, :n], center[r], precision[r], e)
            a, b = min(r, other), max(r, other)
            if gap < best or (gap == best and (a, b) < (best_a, best_b)):
                best_a, best_b, best = a, b, gap
    return best_a, best_b
