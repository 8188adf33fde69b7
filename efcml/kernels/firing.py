"""Which rules fire for a row: distances to all rules, the nearest one, normalised activation.

Shapes: center (rules, q), precision (rules, n, n) with n = q (joint) or p (input).
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.linalg import find_least, measure_distance

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


@kernel
def find_nearest(z, center, precision, least, n_rules, e):
    """Return the rule that is nearest to ``z``, the lowest of equals, and its squared distance.

    ``least`` are lower bounds of the distances: those in the input space, if ``z`` is a joint row.
    A rule whose bound lies beyond the nearest so far is not looked at.
    """
    nearest = find_least(least, n_rules)
    smallest = measure_distance(z, center[nearest], precision[nearest], e)
    first = nearest
    for r in range(n_rules):
        if r != first and least[r] * (1.0 - ROUNDING) <= smallest:
            distance = measure_distance(z, center[r], precision[r], e)
            if distance < smallest or (distance == smallest and r < nearest):
                nearest, smallest = r, distance
    return nearest, smallest


@kernel
def activate_rules(distances, n_rules, rules, settings, activation):
    """Write the activation of every rule from the distances in the input space.

    With ``settings.density`` a rule counts by its Gaussian density, not by the distance alone:
    the log-determinant of its input covariance joins the squared distance, so that a wide rule
    does not drown a narrow one where both are near.
    """
    for r in range(n_rules):
        activation[r] = distances[r]
        if settings.density:
            activation[r] += rules.log_det[r, 1]
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
