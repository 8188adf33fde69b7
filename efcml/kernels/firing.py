"""Which rules fire for a row: distances to all rules, the nearest one, normalised activation.

Shapes: center (rules, q), precision (rules, n, n) with n = q (joint) or p (input).
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.linalg import find_least, quadratic_form


@kernel
def measure_distances(z, center, precision, n_rules, e, distances):
    """Write the squared Mahalanobis distance of ``z`` to every rule.

    The length of ``z`` chooses the space: a joint row [x, y] or the input part x alone, which is
    the leading part of every center.
    """
    n = z.shape[0]
    for r in range(n_rules):
        for j in range(n):
            e[j] = z[j] - center[r, j]
        distances[r] = quadratic_form(precision[r], e[:n])


@kernel
def fire(x, ante, n_rules, settings, work):
    """Write the activation of every rule for the row ``x`` into ``work.activation``.

    ``work.distances`` then holds the squared distances in the input space.

    With ``settings.density`` a rule counts by its Gaussian density, not by the distance alone:
    the log-determinant of its input covariance joins the squared distance, so that a wide rule
    does not drown a narrow one where both are near.
    """
    measure_distances(x, ante.center, ante.input_precision, n_rules, work.e, work.distances)
    for r in range(n_rules):
        work.activation[r] = work.distances[r]
        if settings.density:
            work.activation[r] += ante.log_det[r, 1]
    activate(work.activation, n_rules, settings.bandwidth, work.activation)


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
