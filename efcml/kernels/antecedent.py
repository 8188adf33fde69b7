"""Birth test and update of one rule's Gaussian, joint and input space (how_it_works.md 3)."""

import numpy as np

from efcml._jit import kernel_inline
from efcml.kernels.linalg import add_to_covariance, add_to_variance

BIRTH_EXPONENT = 4.0  # m of the birth test


@kernel_inline
def is_novel(distance, dimension, support, vigilance):
    """Tell whether a squared distance lies beyond the tolerance radius of a rule.

    ``radius = fac * D^(1/sqrt 2) / (1 - 1/(k + 1))^m``
    """
    reach = vigilance * dimension ** (1.0 / np.sqrt(2.0))
    radius = reach / (1.0 - 1.0 / (support + 1.0)) ** BIRTH_EXPONENT
    return np.sqrt(distance) > radius


@kernel_inline
def move_rule(z, center, joint_precision, input_precision, log_det, support, e, v):
    """Let one rule absorb the joint row ``z``: center, both precisions, both log-determinants.

    Exact recursions of the (1/k) covariance with the deviation from the *old* center. The input
    precision obeys the same recursion with the x-part, so it stays the exact inverse of the
    marginal covariance.
    """
    q = z.shape[0]
    p = input_precision.shape[0]
    share = 1.0 / (support + 1.0)
    for j in range(q):
        e[j] = z[j] - center[j]
    log_det[0] += add_to_covariance(joint_precision, e[:q], share, v[:q])
    log_det[1] += add_to_covariance(input_precision, e[:p], share, v[:p])
    for j in range(q):
        center[j] += share * e[j]


@kernel_inline
def hold_variance(coordinate, amount, joint_precision, input_precision, log_det, v):
    """Add ``amount`` to the variance of one joint coordinate (the variance floor).

    One coordinate per update in turn keeps the covariance near ``cov + rho S_0`` at O(q^2).
    """
    q = joint_precision.shape[0]
    p = input_precision.shape[0]
    log_det[0] += add_to_variance(joint_precision, coordinate, amount, v[:q])
    if coordinate < p:
        log_det[1] += add_to_variance(input_precision, coordinate, amount, v[:p])
