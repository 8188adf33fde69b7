"""Everything one rule learns from one row: least squares, label moments, proximal steps.

The order within a row is that of how_it_works.md 4. ``cons`` are the consequent arrays of all
rules, ``work`` the scratch arrays; ``work.row`` holds r = [x, 1], ``work.known`` the known labels.
"""

import numpy as np

from efcml._jit import kernel, kernel_inline
from efcml.kernels.consequent import (
    absorb_label_pairs,
    absorb_labels,
    absorb_row,
    inverse_error,
    learn_labels,
)
from efcml.kernels.proximal import (
    MARGIN,
    NONE,
    bend,
    correlate,
    derive_penalty,
    is_beyond,
    propose_step,
    refresh_curvature,
    settle,
    take_step,
)

REFRESH_SHARE = 0.1  # M is derived anew when this share of the rule's weight is new
CHECK_EVERY = 256  # updates of a rule between two looks at P (G + Delta)
INVERSE_TOLERANCE = 1e-9
TINY = 1e-280  # squared steps below this have lost their digits


@kernel_inline
def group_span(group, groups, K):
    """Return the columns ``first, last`` of a label group."""
    if groups == 1:
        return 0, K
    return group, group + 1


@kernel_inline
def learn_group(rule, group, activation, keep, y, cons, prior_slope, work):
    """RFWLS of one label group of one rule."""
    P = cons.P[rule, group]
    G = cons.G[rule, group]
    Delta = cons.Delta[rule, group]
    first, last = group_span(group, cons.P.shape[1], y.shape[0])
    factor = absorb_row(P, G, Delta, work.row, activation, keep, work.gain, work.scaled)
    learn_labels(
        cons.W[rule], cons.B[rule], cons.D[rule], work.row, y, work.gain, factor, activation,
        keep, first, last,
    )  # fmt: skip
    cons.unchecked[rule, group] += 1
    if cons.unchecked[rule, group] >= CHECK_EVERY:
        cons.unchecked[rule, group] = 0
        off = inverse_error(P, G, Delta, work.row, work.gain, work.scaled)
        if not off <= INVERSE_TOLERANCE:  # NaN counts as an error
            cons.stale[rule] = 1
    if Delta[0] < 0.5 * prior_slope:
        cons.stale[rule] = 1


@kernel_inline
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
            cons.curvature[rule, group] = refresh_curvature(
                cons.G[rule, group], cons.Delta[rule, group], work.row,
                cons.curvature_direction[rule, group], work.gain,
            )  # fmt: skip


@kernel_inline
def step_group(rule, group, cons, settings, work):
    """One proximal step of one label group; return the squared size of its planes after it."""
    W = cons.W[rule]
    D = cons.D[rule]
    G = cons.G[rule, group]
    first, last = group_span(group, cons.P.shape[1], W.shape[0])
    bound = cons.curvature[rule, group]
    accepted = False
    while not accepted:
        lipschitz = bound + settings.beta * cons.penalty_top[rule]
        if not settings.exact_length:
            lipschitz = np.sqrt(lipschitz)
        squared = propose_step(
            W, D, work.label_product, settings.alpha, settings.beta, 1.0 / lipschitz,
            work.known, first, last, work.step,
        )  # fmt: skip
        if last - first == W.shape[0]:
            np.dot(work.step, G, work.product)
        else:
            np.dot(G, work.step[first], work.product[first])
        bent = bend(work.step, cons.Delta[rule, group], work.product, first, last)
        # The power iteration may have been too low; then <dW, (G + Delta) dW> shows it. Too small
        # a step tells nothing (its square underflows), nor does NaN.
        too_low = squared > TINY and bent > bound * squared * (1.0 + 1e-12)
        accepted = not settings.exact_length or not too_low
        if not accepted:
            bound = MARGIN * bent / squared
            cons.curvature[rule, group] = bound
    return take_step(W, D, work.step, work.product, first, last)


@kernel_inline
def correct_rule(rule, row_number, cons, settings, work):
    """All proximal steps of one rule for one row, with the divergence guard."""
    wanted = settings.correlation != NONE and (settings.alpha > 0.0 or settings.beta > 0.0)
    if not wanted or cons.stopped[rule] != 0:
        return
    refresh_bounds(rule, cons, settings.correlation, work)
    groups = cons.P.shape[1]
    for _ in range(settings.n_steps):
        if settings.beta > 0.0:
            np.dot(cons.penalty[rule], cons.W[rule], work.label_product)
        squared = 0.0
        for group in range(groups):
            if groups == 1 or work.known[group]:
                squared += step_group(rule, group, cons, settings, work)
        # The cheap sum of squares first; written so that NaN counts as too large.
        limit = settings.weight_limit
        if not squared <= limit * limit and is_beyond(cons.W[rule], limit):
            cons.stopped[rule] = row_number + 1
            for group in range(groups):
                first, last = group_span(group, groups, cons.W.shape[1])
                settle(
                    cons.P[rule, group], cons.B[rule], cons.Delta[rule, group],
                    cons.W_prior[rule], cons.W[rule], cons.D[rule], first, last, work.gain,
                )  # fmt: skip
            return


@kernel
def learn_rule(rule, activation, row_number, y, cons, settings, work):
    """Let one rule learn the row in ``work.row`` with the labels ``y``."""
    groups = cons.P.shape[1]
    keep = settings.forgetting**activation
    for group in range(groups):
        if groups == 1 or work.known[group]:
            learn_group(rule, group, activation, keep, y, cons, settings.prior_slope, work)
    cons.weight[rule] = keep * cons.weight[rule] + activation
    cons.penalty_slack[rule] = keep * cons.penalty_slack[rule] + activation
    weight, mean, cov = cons.label_weight[rule], cons.label_mean[rule], cons.label_cov[rule]
    if groups == 1:
        absorb_labels(y, activation, keep, weight, mean, cov, work.error)
    else:
        absorb_label_pairs(y, work.known, activation, keep, weight, mean, cov)
    correct_rule(rule, row_number, cons, settings, work)


@kernel
def polish_rule(rule, row_number, cons, settings, work):
    """Proximal steps of one rule outside the row loop, after a merge; all labels take part."""
    for c in range(work.known.shape[0]):
        work.known[c] = True
    for i in range(work.row.shape[0]):
        work.row[i] = 1.0
    correct_rule(rule, row_number, cons, settings, work)
