"""What follows least squares in a row: sums, checks of P, proximal steps.

The order within a row is that of how_it_works.md 4. ``cons`` are the consequent arrays of all
rules, ``work`` the scratch arrays; ``work.row`` holds r = [x, 1], ``work.known`` the known labels.
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.consequent import inverse_error
from efcml.kernels.linalg import mirror, multiply_into
from efcml.kernels.proximal import (
    MARGIN,
    bend,
    correlate,
    derive_penalty,
    is_beyond,
    propose_step,
    refresh_curvature,
    settle,
    take_step,
)
from efcml.kernels.triangle import multiply
from efcml.kernels.waiting import bring_G, carry_out_shrink

REFRESH_SHARE = 0.1  # M is derived anew when this share of the rule's weight is new
CHECK_EVERY = 256  # updates of a rule between two looks at P (G + Delta)
INVERSE_TOLERANCE = 1e-9
TINY = 1e-280  # squared steps below this have lost their digits


@kernel
def group_span(group, groups, K):
    """Return the columns ``first, last`` of a label group."""
    if groups == 1:
        return 0, K
    return group, group + 1


@kernel
def bring_P(rule, group, cons, work):
    """Carry out the change of P that waits; ``work.gain`` is a workspace."""
    waiting = work.waiting
    carry_out_shrink(cons.P, waiting.shrink, waiting.scale, rule, group, work.row, work.gain)


@kernel
def by_blas(groups, n_planes):
    """Tell whether BLAS multiplies steps with G, of which it looks at both triangles."""
    return groups == 1 and n_planes > 1


@kernel
def refresh_bounds(rule, cons, correlation, work):
    """Follow the curvature of the groups that learn; renew the penalty if it has become old."""
    weight = cons.weight[rule]
    if weight >= 1.0 and cons.penalty_slack[rule] >= REFRESH_SHARE * weight:
        correlate(cons.label_cov[rule], cons.label_weight[rule], work.corr)
        cons.penalty_top[rule] = derive_penalty(correlation, work.corr, cons.penalty[rule])
        cons.penalty_slack[rule] = 0.0
    groups = cons.P.shape[1]
    for group in range(groups):
        if groups == 1 or work.known[group]:
            bring_G(cons.G, rule, group, work.waiting)
            if by_blas(groups, work.step.shape[0]):
                mirror(cons.G[rule, group])
            cons.curvature[rule, group] = refresh_curvature(
                cons.G[rule, group], cons.Delta[rule, group], work.row,
                cons.curvature_direction[rule, group], work.gain,
            )  # fmt: skip
            for pair in range(work.bounds.shape[0]):
                work.bounds[pair, group] = cons.curvature[rule, group]


@kernel
def propose(rule, pair, first, last, bound, cons, settings, work):
    """Write the step of one pair's planes ``first:last``; return its squared size.

    A pair without any penalty has nothing to correct and stays where least squares put it.
    """
    lipschitz = bound + settings.beta[pair] * cons.penalty_top[rule]
    if not settings.exact_length:
        lipschitz = np.sqrt(lipschitz)
    length = 1.0 / lipschitz
    if settings.alpha[pair] == 0.0 and settings.beta[pair] == 0.0:
        length = 0.0
    return propose_step(
        cons.W[rule], cons.D[rule], work.label_product, settings.alpha[pair], settings.beta[pair],
        length, work.known, first, last, work.step,
    )  # fmt: skip


@kernel
def multiply_step(G, first, last, work):
    """Write ``G dW`` of the planes ``first:last``; `refresh_bounds` has made G whole for BLAS."""
    if by_blas(1, last - first):
        multiply_into(work.step[first:last], G, work.product[first:last])
    else:
        multiply(G, work.step[first], work.product[first])


@kernel
def step_group(rule, group, cons, settings, work):
    """One proximal step of one label group; return the squared size of its planes after it.

    All pairs (alpha, beta) share the product with G, one wide matrix product.
    """
    K = work.known.shape[0]
    G, Delta = cons.G[rule, group], cons.Delta[rule, group]
    first, last = group_span(group, cons.P.shape[1], K)
    pairs = settings.alpha.shape[0]
    for pair in range(pairs):
        low, high, bound = pair * K + first, pair * K + last, work.bounds[pair, group]
        work.squares[pair] = propose(rule, pair, low, high, bound, cons, settings, work)
    if last - first == K:
        multiply_step(G, 0, pairs * K, work)
    else:
        for k in range(first, pairs * K, K):
            multiply_step(G, k, k + 1, work)
    total = 0.0
    for pair in range(pairs):
        low, high = pair * K + first, pair * K + last
        bent = bend(work.step, Delta, work.product, low, high)
        # The power iteration may have been too low; then <dW, (G + Delta) dW> shows it. Too small
        # a step tells nothing (its square underflows), nor does NaN.
        while (
            settings.exact_length
            and work.squares[pair] > TINY
            and bent > work.bounds[pair, group] * work.squares[pair] * (1.0 + 1e-12)
        ):
            bound = MARGIN * bent / work.squares[pair]
            work.bounds[pair, group] = bound
            work.squares[pair] = propose(rule, pair, low, high, bound, cons, settings, work)
            multiply_step(G, low, high, work)
            bent = bend(work.step, Delta, work.product, low, high)
        total += take_step(cons.W[rule], cons.D[rule], work.step, work.product, low, high)
    cons.curvature[rule, group] = work.bounds[0, group]
    return total


@kernel
def correct_rule(rule, row_number, cons, settings, work):
    """All proximal steps of one rule, with the divergence guard."""
    cons.uncorrected[rule] = 0.0
    if cons.stopped[rule] != 0:
        return
    refresh_bounds(rule, cons, settings.correlation, work)
    groups = cons.P.shape[1]
    K = work.known.shape[0]
    for _ in range(settings.n_steps):
        for pair in range(settings.beta.shape[0]):
            if settings.beta[pair] > 0.0:
                low, high = pair * K, pair * K + K
                W = cons.W[rule, low:high]
                multiply_into(cons.penalty[rule], W, work.label_product[low:high])
        squared = 0.0
        for group in range(groups):
            if groups == 1 or work.known[group]:
                squared += step_group(rule, group, cons, settings, work)
        # The cheap sum of squares first; written so that NaN counts as too large.
        limit = settings.weight_limit
        if not squared <= limit * limit and is_beyond(cons.W[rule], limit):
            cons.stopped[rule] = row_number + 1
            for group in range(groups):
                first, last = group_span(group, groups, K)
                bring_P(rule, group, cons, work)
                settle(
                    cons.P[rule, group], cons.B[rule], cons.Delta[rule, group],
                    cons.W_prior[rule], cons.W[rule], cons.D[rule], first, last, work.gain,
                )  # fmt: skip
            return


@kernel
def count_weights(weights, keeps, n_rules, weight, use, penalty_slack):
    """Add what every rule learns to its sums."""
    for rule in range(n_rules):
        weight[rule] = keeps[rule] * weight[rule] + weights[rule]
        penalty_slack[rule] = keeps[rule] * penalty_slack[rule] + weights[rule]
        use[rule] += weights[rule]


@kernel
def check_inverses(weights, n_rules, cons, work):
    """Compare P with G + Delta along the row, for every group whose turn it is."""
    groups = cons.P.shape[1]
    for rule in range(n_rules):
        for group in range(groups):
            if weights[rule] == 0.0 or (groups > 1 and not work.known[group]):
                continue
            cons.unchecked[rule, group] += 1
            if cons.unchecked[rule, group] >= CHECK_EVERY:
                cons.unchecked[rule, group] = 0
                bring_P(rule, group, cons, work)
                bring_G(cons.G, rule, group, work.waiting)
                off = inverse_error(
                    cons.P[rule, group], cons.G[rule, group], cons.Delta[rule, group], work.row,
                    work.gain, work.scaled,
                )  # fmt: skip
                if not off <= INVERSE_TOLERANCE:  # NaN counts as an error
                    cons.stale[rule] = 1


@kernel
def correct_due_rules(row_number, n_rules, cons, settings, work):
    """Let the rules that have learned enough since the last time take proximal steps.

    RFWLS leaves D as it is, so a rule that waits loses nothing but the steps themselves.
    """
    for rule in range(n_rules):
        cons.uncorrected[rule] += work.weights[rule]
        if work.weights[rule] > 0.0 and cons.uncorrected[rule] >= settings.step_interval:
            correct_rule(rule, row_number, cons, settings, work)
