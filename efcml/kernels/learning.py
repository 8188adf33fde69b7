"""The drivers: learn rows one after the other until done or until Python must act.

An event is returned *before* the row has changed anything (birth, missing room for label groups) or
*after* the row is complete (pause: rules to repair, a pair to compare), so that going on is exact
and the split of a stream into chunks cannot matter.
"""

import numpy as np

from efcml._jit import kernel, kernel_inline
from efcml.kernels.antecedent import hold_variance, is_novel, move_rule
from efcml.kernels.consequent import (
    absorb_label_pairs,
    absorb_labels,
    absorb_row,
    inverse_error,
    learn_columns,
)
from efcml.kernels.firing import activate, find_nearest, measure_distances
from efcml.kernels.linalg import dot
from efcml.kernels.pairs import find_due_pair
from efcml.kernels.proximal import (
    MARGIN,
    NONE,
    bend,
    correlate,
    derive_penalty,
    propose_step,
    refresh_curvature,
    settle,
    take_step,
)
from efcml.kernels.scoring import blend, fill_row

DONE, BIRTH, SPLIT_GROUPS, PAUSE = 0, 1, 2, 3  # statuses of learn_until_event

REFRESH_SHARE = 0.1  # M and the curvature bound are renewed when this share of them is new
CHECK_EVERY = 256  # updates of a rule between two looks at P (G + Delta)
INVERSE_TOLERANCE = 1e-9


@kernel_inline
def choose_winner(rules, n_rules, all_known, settings, work):
    """Return the nearest rule and whether the row in ``work.z`` is novel to it.

    Joint space when all labels are known, else input space, where the distance is the smallest
    one that any labels could give.
    """
    p = rules.input_precision.shape[1]
    if settings.product_space and all_known:
        z = work.z
        measure_distances(z, rules.center, rules.joint_precision, n_rules, work.e, work.distances)
    else:
        z = work.z[:p]
        measure_distances(z, rules.center, rules.input_precision, n_rules, work.e, work.distances)
    winner = find_nearest(work.distances, n_rules)
    dimension = float(z.shape[0])
    novel = is_novel(
        work.distances[winner], dimension, rules.support[winner], settings.vigilance
    )
    return winner, novel


@kernel_inline
def update_winner(winner, rules, start_variance, settings, work):
    """Move the winner towards ``work.z``, count the sample, hold the variance floor."""
    move_rule(
        work.z,
        rules.center[winner],
        rules.joint_precision[winner],
        rules.input_precision[winner],
        rules.log_det[winner],
        rules.support[winner],
        work.e,
        work.v,
    )
    grown = rules.support[winner] + 1.0
    support = min(grown, settings.max_support)
    rules.support[winner] = support
    rules.prior_share[winner] *= support / grown
    rules.updates[winner] += 1
    if settings.variance_floor > 0.0:
        q = start_variance.shape[0]
        j = rules.updates[winner] % q
        hold_variance(
            j,
            settings.variance_floor * q * start_variance[j] / support,
            rules.joint_precision[winner],
            rules.input_precision[winner],
            rules.log_det[winner],
            work.v,
        )


@kernel_inline
def learn_group(rule, group, first, last, y, rules, settings, work):
    """RFWLS of one label group of one rule, and the bound of its curvature."""
    activation = work.activation[rule]
    keep = settings.forgetting**activation
    factor = absorb_row(
        rules.P[rule, group],
        rules.G[rule, group],
        rules.Delta[rule, group],
        work.row,
        activation,
        keep,
        work.gain,
        work.scaled,
    )
    learn_columns(
        rules.W[rule],
        rules.B[rule],
        rules.D[rule],
        work.row,
        y,
        work.gain,
        factor,
        activation,
        keep,
        first,
        last,
        work.error,
    )
    raised = activation * dot(work.row, work.row)
    rules.curvature[rule, group] = keep * rules.curvature[rule, group] + raised
    rules.curvature_slack[rule, group] = keep * rules.curvature_slack[rule, group] + raised
    rules.unchecked[rule, group] += 1
    if rules.unchecked[rule, group] >= CHECK_EVERY:
        rules.unchecked[rule, group] = 0
        off = inverse_error(
            rules.P[rule, group],
            rules.G[rule, group],
            rules.Delta[rule, group],
            work.row,
            work.gain,
            work.scaled,
        )
        # A NaN counts as an error.
        if not off <= INVERSE_TOLERANCE:
            rules.stale[rule] = 1
    if rules.Delta[rule, group, 0] < 0.5 * settings.prior_slope:
        rules.stale[rule] = 1


@kernel_inline
def step_group(rule, group, first, last, rules, settings, work):
    """One proximal step of one label group; return the largest ``|W|`` after it."""
    W = rules.W[rule]
    D = rules.D[rule]
    G = rules.G[rule, group]
    Delta = rules.Delta[rule, group]
    bound = rules.curvature[rule, group]
    while True:
        lipschitz = bound + settings.beta * rules.penalty_top[rule]
        if not settings.exact_length:
            lipschitz = np.sqrt(lipschitz)
        squared = propose_step(
            W,
            D,
            work.label_product,
            settings.alpha,
            settings.beta,
            1.0 / lipschitz,
            work.known,
            first,
            last,
            work.step,
        )
        if last - first == W.shape[1]:
            np.dot(G, work.step, work.product)
        else:
            for i in range(W.shape[0]):
                work.gain[i] = work.step[i, first]
            np.dot(G, work.gain, work.scaled)
            for i in range(W.shape[0]):
                work.product[i, first] = work.scaled[i]
        bent = bend(work.step, Delta, work.product, first, last)
        # The power iteration may have been too low; then <dW, (G + Delta) dW> shows it.
        if settings.exact_length and bent > bound * squared * (1.0 + 1e-12):
            bound = MARGIN * bent / squared
            rules.curvature[rule, group] = bound
            continue
        return take_step(W, D, work.step, work.product, first, last)


@kernel
def group_span(group, groups, K):
    """Return the columns ``first, last`` of a label group."""
    if groups == 1:
        return 0, K
    return group, group + 1


@kernel_inline
def refresh_bounds(rule, rules, settings, work):
    """Renew the penalty and the curvature bounds of a rule where they have become old."""
    weight = rules.weight[rule]
    if weight >= 1.0 and rules.penalty_slack[rule] >= REFRESH_SHARE * weight:
        correlate(rules.label_cov[rule], rules.label_weight[rule], work.corr)
        rules.penalty_top[rule] = derive_penalty(
            settings.correlation, work.corr, rules.penalty[rule]
        )
        rules.penalty_slack[rule] = 0.0
    for group in range(rules.P.shape[1]):
        if rules.curvature_slack[rule, group] > REFRESH_SHARE * rules.curvature[rule, group]:
            rules.curvature[rule, group] = refresh_curvature(
                rules.G[rule, group],
                rules.Delta[rule, group],
                work.row,
                rules.curvature[rule, group],
                rules.curvature_direction[rule, group],
                work.gain,
            )
            rules.curvature_slack[rule, group] = 0.0


@kernel_inline
def correct_rule(rule, row_number, rules, settings, work):
    """All proximal steps of one rule for one row, with the divergence guard."""
    K = rules.W.shape[2]
    groups = rules.P.shape[1]
    for _ in range(settings.n_steps):
        if settings.beta > 0.0:
            np.dot(rules.W[rule], rules.penalty[rule], work.label_product)
        largest = 0.0
        for group in range(groups):
            first, last = group_span(group, groups, K)
            if groups == 1 or work.known[group]:
                reached = step_group(rule, group, first, last, rules, settings, work)
                if not reached <= largest:
                    largest = reached
        if not largest <= settings.weight_limit:
            rules.stopped[rule] = row_number + 1
            for group in range(groups):
                first, last = group_span(group, groups, K)
                settle(
                    rules.P[rule, group],
                    rules.B[rule],
                    rules.Delta[rule, group],
                    rules.W_prior[rule],
                    rules.W[rule],
                    rules.D[rule],
                    first,
                    last,
                    work.gain,
                    work.scaled,
                )
            return


@kernel
def learn_rule(rule, row_number, y, rules, settings, work):
    """Everything one rule learns from one row: RFWLS, label moments, proximal steps."""
    K = rules.W.shape[2]
    groups = rules.P.shape[1]
    for group in range(groups):
        first, last = group_span(group, groups, K)
        if groups == 1 or work.known[group]:
            learn_group(rule, group, first, last, y, rules, settings, work)
    activation = work.activation[rule]
    keep = settings.forgetting**activation
    rules.weight[rule] = keep * rules.weight[rule] + activation
    rules.penalty_slack[rule] = keep * rules.penalty_slack[rule] + activation
    weight, mean, cov = rules.label_weight[rule], rules.label_mean[rule], rules.label_cov[rule]
    if groups == 1:
        absorb_labels(y, activation, keep, weight, mean, cov, work.error)
    else:
        absorb_label_pairs(y, work.known, activation, keep, weight, mean, cov)
    steps = settings.correlation != NONE and (settings.alpha > 0.0 or settings.beta > 0.0)
    if steps and rules.stopped[rule] == 0:
        refresh_bounds(rule, rules, settings, work)
        correct_rule(rule, row_number, rules, settings, work)


@kernel_inline
def learn_consequents(newborn, row_number, x, y, rules, n_rules, settings, work):
    """Let every active rule learn the row, the newborn excepted; return whether one needs repair."""
    measure_distances(x, rules.center, rules.input_precision, n_rules, work.e, work.distances)
    activate(work.distances, n_rules, settings.bandwidth, work.activation)
    fill_row(x, work.row)
    repair = False
    for rule in range(n_rules):
        if rule != newborn and work.activation[rule] >= settings.activation_floor:
            learn_rule(rule, row_number, y, rules, settings, work)
            repair = repair or rules.stale[rule] != 0
    return repair


@kernel_inline
def complete_joint_row(x, y, winner, with_consequents, rules, work):
    """Fill ``work.z`` with [x, y]; an unknown label is what the winner expects of it."""
    p = x.shape[0]
    for j in range(p):
        work.z[j] = x[j]
    for c in range(y.shape[0]):
        value = y[c]
        if not work.known[c]:
            value = rules.center[winner, p + c]
            if with_consequents:
                value = rules.W[winner, p, c]
                for j in range(p):
                    value += x[j] * rules.W[winner, j, c]
                value = min(1.0, max(0.0, value))
        work.z[p + c] = value


@kernel
def note_known(y, known):
    """Mark the known labels of a row and return how many they are."""
    count = 0
    for c in range(y.shape[0]):
        known[c] = not np.isnan(y[c])
        count += known[c]
    return count


@kernel
def learn_until_event(
    X, Y, start, newborn, row_offset, with_consequents, rules, n_rules, start_variance,
    settings, work, scores,
):  # fmt: skip
    """Learn rows ``start..`` in order; return ``(status, row, rule, other)``.

    ``newborn >= 0`` resumes row ``start`` after Python gave birth to that rule. A ``scores`` array
    with rows receives each row's scores as they were before learning it.
    """
    K = Y.shape[1]
    for t in range(start, X.shape[0]):
        x, y = X[t], Y[t]
        resumed = t == start and newborn >= 0
        if scores.shape[0] > 0 and not resumed:
            measure_distances(
                x, rules.center, rules.input_precision, n_rules, work.e, work.distances
            )
            activate(work.distances, n_rules, settings.bandwidth, work.activation)
            fill_row(x, work.row)
            blend(work.row, work.activation, rules.W, n_rules, scores[t])
        known = note_known(y, work.known)
        if known == 0:
            continue
        winner = newborn
        if not resumed:
            if known < K and K > 1 and rules.P.shape[1] == 1 and with_consequents:
                return SPLIT_GROUPS, t, -1, -1
            if n_rules == 0:
                return BIRTH, t, -1, -1
            complete_joint_row(x, y, 0, False, rules, work)
            winner, novel = choose_winner(rules, n_rules, known == K, settings, work)
            if novel:
                return BIRTH, t, winner, -1
            complete_joint_row(x, y, winner, with_consequents, rules, work)
            update_winner(winner, rules, start_variance, settings, work)
        repair = False
        if with_consequents and (not resumed or settings.birth_learning):
            row_number = row_offset + t
            skip = newborn if resumed else -1
            repair = learn_consequents(skip, row_number, x, y, rules, n_rules, settings, work)
        other = -1
        if settings.merging and not resumed:
            other = look_for_merge(winner, rules, n_rules, settings, work)
        if repair or other >= 0:
            return PAUSE, t + 1, winner, other
    return DONE, X.shape[0], -1, -1


@kernel_inline
def look_for_merge(winner, rules, n_rules, settings, work):
    """Return a rule whose merge with the winner is worth the exact test, or -1."""
    precision = rules.joint_precision
    if not settings.product_space:
        precision = rules.input_precision
    return find_due_pair(
        winner,
        n_rules,
        rules.center,
        precision,
        rules.updates,
        rules.tested,
        settings.joint_bandwidth,
        settings.merge_overlap,
        work.e,
    )


@kernel
def polish_rule(rule, row_number, rules, settings, work):
    """Proximal steps of one rule outside the row loop, after a merge; all labels take part."""
    for c in range(work.known.shape[0]):
        work.known[c] = True
    for i in range(work.row.shape[0]):
        work.row[i] = 1.0
    if settings.correlation != NONE and (settings.alpha > 0.0 or settings.beta > 0.0):
        if rules.stopped[rule] == 0:
            refresh_bounds(rule, rules, settings, work)
            correct_rule(rule, row_number, rules, settings, work)
