"""Which rules fire for a row: distances to all rules, the one that wins, normalised activation.

Shapes: center (rules, q), precision (rules, n, n) with n = q (joint) or p (input).
"""

import numpy as np

from efcml._jit import kernel, kernel_part
from efcml.kernels.linalg import find_least, measure_distance

JOINT, INPUT = 0, 1  # spaces, and where their log-determinants stand
ROUNDING = 1e-9  # by which a lower bound may lie too high


@kernel
def look_ahead(X, first, last, center, precision, n_rules, e, ahead):
    """Write the squared distances of the rows ``first:last`` of X to every rule.

    The length of a row chooses the space: a joint row [x, y] or the input part x alone, which is
    the leading part of every center. One rule after the other, so that its matrix comes from far
    memory once for all rows.
    """
    for r in range(n_rules):
        for t in range(first, last):
            ahead[t - first, r] = measure_distance(X[t], center[r], precision[r], e)


@kernel_part
def size_of(rule, space, rules, settings):
    """Return what joins the squared distance to a rule: its log-determinant in one of the spaces.

    With ``settings.density`` a rule counts by its Gaussian density, not by the distance alone, so
    that a wide rule does not drown a narrow one where both are near.
    """
    return rules.log_det[rule, space] if settings.density else 0.0


@kernel
def find_likeliest(distances, space, n_rules, rules, settings):
    """Return the rule that counts most by its distance in a space, the lowest of equals."""
    likeliest, smallest = 0, np.inf
    for r in range(n_rules):
        value = distances[r] + size_of(r, space, rules, settings)
        if value < smallest:
            likeliest, smallest = r, value
    return likeliest


@kernel
def find_winner(z, least, n_rules, rules, settings, e):
    """Return the rule that counts most at the joint row ``z``, the lowest of equals, and how far.

    ``least`` are lower bounds of the squared distances: those in the input space. A rule that lies
    beyond the best so far even then is not looked at.
    """
    center, precision = rules.center, rules.joint_precision
    winner = first = find_likeliest(least, JOINT, n_rules, rules, settings)
    distance = measure_distance(z, center[first], precision[first], e)
    smallest = distance + size_of(first, JOINT, rules, settings)
    for r in range(n_rules):
        size = size_of(r, JOINT, rules, settings)
        if r != first and least[r] * (1.0 - ROUNDING) + size <= smallest:
            gap = measure_distance(z, center[r], precision[r], e)
            if gap + size < smallest or (gap + size == smallest and r < winner):
                winner, distance, smallest = r, gap, gap + size
    return winner, distance


@kernel
def activate_rules(distances, n_rules, rules, settings, activation):
    """Write the activation of every rule from the distances in the input space."""
    for r in range(n_rules):
        activation[r] = distances[r] + size_of(r, INPUT, rules, settings)
    activate(activation, n_rules, settings.bandwidth, activation)


@kernel
def activate(distances, n_rules, bandwidth, activation):
    """Write Psi = softmax(-distance / (2 tau)), in log space (how_it_works.md 2); in place too.

    ``exp`` of the plain distance underflows from about 100 features on.
    """
    smallest = distances[find_least(distances, n_rules)]
    total = 0.0
    for r in range(n_rules):
        activation[r] = np.exp((smallest - distances[r]) / (2.0 * bandwidth))
        total += activation[r]
    for r in range(n_rules):
        activation[r] /= total
