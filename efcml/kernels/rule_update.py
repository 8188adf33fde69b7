"""What follows least squares in a row: sums, checks of P, proximal steps.

The order within a row is that of how_it_works.md 4. ``row`` is r = [x, 1], ``known`` tells which
labels of it are known.
"""

import numpy as np

from efcml._jit import kernel, kernel_part, kernel_rare
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
from efcml.kernels.waiting import bring_G, bring_P

REFRESH_SHARE = 0.1  # M is derived anew when this share of the rule's weight is new
CHECK_EVERY = 256  # updates of a rule between two looks at P (G + Delta)
INVERSE_TOLERANCE = 1e-9
TINY = 1e-280  # squared steps below this have lost their digits
LATEST = 500  # rows: of the rows that a rule decided, 1 in so many is forgotten at every row
OF_LATE = 1.0 - 1.0 / LATEST
FADED = 1e-9  # rows; fewer are none


@kernel_part
def group_span(group, groups, K):
    """Return the columns ``first, last`` of a label group."""
    if groups == 1:
        return 0, K
    return group, group + 1


@kernel_part
def by_blas(n_planes):
    """Tell whether BLAS multiplies steps with G, of which it looks at both triangles."""
    return n_planes > 1


@kernel
def refresh_bounds(rule, row, known, correlation, rules, scratch):
    """Follow the curvature of the groups that learn; renew the penalty if it has become old.

    Where BLAS is to multiply steps with G, both triangles are filled.
    """
    weight = rules.weight[rule]
    if weight >= 1.0 and rules.penalty_slack[rule] >= REFRESH_SHARE * weight:
        correlate(rules.label_cov[rule], rules.label_weight[rule], scratch.corr)
        rules.penalty_top[rule] = derive_penalty(correlation, scratch.corr, rules.penalty[rule])
        rules.penalty_slack[rule] = 0.0
    groups = rules.P.shape[1]
    for group in range(groups):
        if groups == 1 or known[group]:
            bring_G(rule, group, rules.G, scratch)
            G = rules.G[rule, group]
            if groups == 1 and by_blas(scratch.step.shape[0]):
                mirror(G)
            bound = refresh_curvature(
                G,
                rules.Delta[rule, group],
                row,
                rules.curvature_direction[rule, group],
                scratch.image,
            )
            rules.curvature[rule, group] = bound
            for pair in range(scratch.bounds.shape[0]):
                scratch.bounds[pair, group] = bound


@kernel
def propose(rule, pair, first, last, known, rules, settings, scratch):
    """Write the step of one pair's planes of the labels ``first:last``, and its squared size.

    A pair without any penalty has nothing to correct and stays where least squares put it.
    """
    alpha, beta, K = settings.alpha[pair], settings.beta[pair], known.shape[0]
    bound = scratch.bounds[pair, first if last - first < K else 0]
    lipschitz = bound + beta * rules.penalty_top[rule]
    if not settings.exact_length:
        lipschitz = np.sqrt(lipschitz)
    length = 1.0 / lipschitz
    if alpha == 0.0 and beta == 0.0:
        length = 0.0
    low, high = pair * K + first, pair * K + last
    scratch.squares[pair] = propose_step(
        rules.W[rule, low:high],
        rules.D[rule, low:high],
        scratch.label_product[low:high],
        alpha,
        beta,
        length,
        known[first:last],
        scratch.step[low:high],
    )


@kernel
def multiply_step(G, step, product):
    """Write ``G dW`` of some planes; for BLAS G has both triangles (`refresh_bounds`)."""
    if by_blas(step.shape[0]):
        multiply_into(step, G, product)
    else:
        multiply(G, step[0], product[0])


@kernel
def step_group(rule, group, known, rules, settings, scratch):
    """One proximal step of one label group; return the squared size of its planes after it.

    All pairs (alpha, beta) share the product with G, one wide matrix product.
    """
    K, G, Delta = known.shape[0], rules.G[rule, group], rules.Delta[rule, group]
    step, product, squares, bounds = scratch.step, scratch.product, scratch.squares, scratch.bounds
    first, last = group_span(group, rules.P.shape[1], K)
    pairs = settings.alpha.shape[0]
    for pair in range(pairs):
        propose(rule, pair, first, last, known, rules, settings, scratch)
    if last - first == K:
        multiply_step(G, step, product)
    else:
        for k in range(first, pairs * K, K):
            multiply_step(G, step[k : k + 1], product[k : k + 1])
    total = 0.0
    for pair in range(pairs):
        low, high = pair * K + first, pair * K + last
        moved, image = step[low:high], product[low:high]
        bent = bend(moved, Delta, image)
        # The power iteration may have been too low; then <dW, (G + Delta) dW> shows it. Too small
        # a step tells nothing (its square underflows), nor does NaN.
        while (
            settings.exact_length
            and squares[pair] > TINY
            and bent > bounds[pair, group] * squares[pair] * (1.0 + 1e-12)
        ):
            bounds[pair, group] = MARGIN * bent / squares[pair]
            propose(rule, pair, first, last, known, rules, settings, scratch)
            multiply_step(G, moved, image)
            bent = bend(moved, Delta, image)
        total += take_step(rules.W[rule, low:high], rules.D[rule, low:high], moved, image)
    rules.curvature[rule, group] = bounds[0, group]
    return total


@kernel
def correct_rule(rule, row_number, row, known, rules, settings, scratch):
    """All proximal steps of one rule, with the divergence guard."""
    rules.uncorrected[rule] = 0.0
    if rules.stopped[rule] != 0:
        return
    refresh_bounds(rule, row, known, settings.correlation, rules, scratch)
    groups, K = rules.P.shape[1], known.shape[0]
    for _ in range(settings.n_steps):
        for pair in range(settings.beta.shape[0]):
            if settings.beta[pair] > 0.0:
                low, high = pair * K, pair * K + K
                W = rules.W[rule, low:high]
                multiply_into(rules.penalty[rule], W, scratch.label_product[low:high])
        squared = 0.0
        for group in range(groups):
            if groups == 1 or known[group]:
                squared += step_group(rule, group, known, rules, settings, scratch)
        # The cheap sum of squares first; written so that NaN counts as too large.
        limit = settings.weight_limit
        if not squared <= limit * limit and is_beyond(rules.W[rule], limit):
            rules.stopped[rule] = row_number + 1
            for group in range(groups):
                settle_group(rule, group, rules, scratch)
            return


@kernel_rare()
def settle_group(rule, group, rules, scratch):
    """Put the planes of a label group back to least squares."""
    first, last = group_span(group, rules.P.shape[1], rules.B.shape[1])
    bring_P(rule, group, rules.P, scratch)
    settle(
        rules.P[rule, group],
        rules.B[rule, first:last],
        rules.Delta[rule, group],
        rules.W_prior[rule, first:last],
        rules.W[rule, first:last],
        rules.D[rule, first:last],
        scratch.image,
    )


@kernel
def count_weights(n_rules, rules, scratch):
    """Add what every rule learns to its sums."""
    for rule in range(n_rules):
        weight, keep = scratch.weights[rule], scratch.keeps[rule]
        rules.weight[rule] = keep * rules.weight[rule] + weight
        rules.penalty_slack[rule] = keep * rules.penalty_slack[rule] + weight
        rules.use[rule] += weight


@kernel
def fade(sums):
    """Forget a little of sums over rows; what is left of long ago becomes nothing."""
    for i in range(sums.shape[0]):
        sums[i] = OF_LATE * sums[i] if abs(sums[i]) > FADED else 0.0


@kernel
def count_decided(y, n_rules, rules, scratch):
    """Count the row, its features and its labels for the rule that is the strongest there.

    Nothing is learned from these sums: they are what a reader is told.
    """
    fade(rules.decided[:n_rules])
    strongest = 0
    for rule in range(n_rules):
        fade(rules.decided_sum[rule])
        fade(rules.decided_known[rule])
        fade(rules.decided_ones[rule])
        if scratch.activation[rule] > scratch.activation[strongest]:
            strongest = rule
    amount = scratch.amount[0]
    row = scratch.own[strongest] if scratch.gaps[0] > 0 else scratch.row
    rules.decided[strongest] += amount
    for i in range(rules.decided_sum.shape[1]):
        rules.decided_sum[strongest, i] += amount * row[i]
    for c in range(y.shape[0]):
        if scratch.known[c]:
            rules.decided_known[strongest, c] += amount
            rules.decided_ones[strongest, c] += amount * y[c]


@kernel
def check_inverses(n_rules, rules, scratch):
    """Compare P with G + Delta along the row, for every group whose turn it is."""
    groups = rules.P.shape[1]
    for rule in range(n_rules):
        for group in range(groups):
            if scratch.weights[rule] == 0.0 or (groups > 1 and not scratch.known[group]):
                continue
            rules.unchecked[rule, group] += 1
            if rules.unchecked[rule, group] >= CHECK_EVERY:
                rules.unchecked[rule, group] = 0
                bring_P(rule, group, rules.P, scratch)
                bring_G(rule, group, rules.G, scratch)
                row = scratch.own[rule] if scratch.gaps[0] > 0 else scratch.row
                off = inverse_error(
                    rules.P[rule, group],
                    rules.G[rule, group],
                    rules.Delta[rule, group],
                    row,
                    scratch.image,
                    scratch.back,
                )
                if not off <= INVERSE_TOLERANCE:  # NaN counts as an error
                    rules.stale[rule] = 1


@kernel
def correct_due_rules(row_number, n_rules, rules, settings, scratch):
    """Let the rules that have learned enough since the last time take proximal steps.

    RFWLS leaves D as it is, so a rule that waits loses nothing but the steps themselves.
    """
    for rule in range(n_rules):
        weight = scratch.weights[rule]
        rules.uncorrected[rule] += weight
        if weight > 0.0 and rules.uncorrected[rule] >= settings.step_interval:
            row = scratch.own[rule] if scratch.gaps[0] > 0 else scratch.row
            correct_rule(rule, row_number, row, scratch.known, rules, settings, scratch)
