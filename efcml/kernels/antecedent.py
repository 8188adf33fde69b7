"""Birth test and update of one rule's Gaussian, joint and input space (how_it_works.md 3)."""

import numpy as np

from efcml._jit import kernel, kernel_part
from efcml.kernels.linalg import dot
from efcml.kernels.memory import most_support
from efcml.kernels.triangle import multiply, read_line, shrink_twice

BIRTH_EXPONENT = 4.0  # m of the birth test


@kernel_part
def is_novel(distance, dimension, support, vigilance):
    """Tell whether a squared distance lies beyond the tolerance radius of a rule.

    ``radius = fac * D^(1/sqrt 2) / (1 - 1/(k + 1))^m``
    """
    reach = vigilance * dimension ** (1.0 / np.sqrt(2.0))
    radius = reach / (1.0 - 1.0 / (support + 1.0)) ** BIRTH_EXPONENT
    return np.sqrt(distance) > radius


@kernel
def add_to_covariance(precision, e, share, coordinate, amount, w, u):
    """Give a precision matrix the sample deviation ``e`` with share ``a``, and one more variance.

    The covariance becomes ``(1 - a)(S + a e e')`` and then ``amount`` larger at one coordinate of
    the diagonal; its inverse by Sherman and Morrison, twice, in one go through the matrix
    (how_it_works.md 3). ``w`` and ``u`` are workspaces. Returns the change of the log-det of S.
    """
    n = e.shape[0]
    multiply(precision, e, w)
    growth = 1.0 + share * dot(e, w)
    root, scale = np.sqrt(share / growth), 1.0 / (1.0 - share)
    change = n * np.log(1.0 - share) + np.log(growth)
    for i in range(n):
        w[i] *= root
        u[i] = 0.0
    if amount > 0.0:
        read_line(precision, coordinate, n, u)
        height = w[coordinate]
        for i in range(n):
            u[i] = scale * (u[i] - height * w[i])
        growth = 1.0 + amount * u[coordinate]
        root = np.sqrt(amount / growth)
        for i in range(n):
            u[i] *= root
        change += np.log(growth)
    shrink_twice(precision, w, u, scale)
    return change


@kernel
def move_rule(rule, coordinate, amount, rules, scratch):
    """Let one rule absorb the joint row ``z``: center, both precisions, both log-determinants.

    A row of weight w is a share ``w / (k + w)`` of the rule.

    Exact recursions of the (1/k) covariance with the deviation from the *old* center. The input
    precision obeys the same recursion with the x-part, so it stays the exact inverse of the
    marginal covariance.

    Then ``amount`` is added to the variance of one joint coordinate (the variance floor): one per
    update in turn keeps the covariance near ``cov + rho S_0`` at O(q^2).
    """
    z, e, w, u = scratch.z, scratch.e, scratch.v, scratch.u
    center, log_det = rules.center[rule], rules.log_det[rule]
    joint, marginal = rules.joint_precision[rule], rules.input_precision[rule]
    p = marginal.shape[0]
    weight = scratch.amount[0]
    share = weight / (rules.support[rule] + weight)
    for j in range(z.shape[0]):
        e[j] = z[j] - center[j]
    log_det[0] += add_to_covariance(joint, e, share, coordinate, amount, w, u)
    within = amount if coordinate < p else 0.0
    log_det[1] += add_to_covariance(marginal, e[:p], share, coordinate, within, w[:p], u[:p])
    for j in range(z.shape[0]):
        center[j] += share * e[j]


@kernel
def update_winner(winner, start_variance, rules, settings, scratch):
    """Move the winner towards the joint row, count the sample, hold the variance floor."""
    grown = rules.support[winner] + scratch.amount[0]
    most = most_support(rules.trial[winner]) if settings.gaussians_follow else settings.max_support
    support = min(grown, most)
    rules.updates[winner] += 1
    q = start_variance.shape[0]
    turn = rules.updates[winner] % q
    amount = scratch.amount[0] * (settings.variance_floor * q * start_variance[turn] / support)
    if scratch.gaps[0] > 0 and scratch.absent[turn]:
        amount = 0.0  # a variance that no row makes smaller needs no floor
    move_rule(winner, turn, amount, rules, scratch)
    rules.support[winner] = support
    rules.prior_share[winner] *= support / grown
