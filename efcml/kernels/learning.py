"""The drivers: learn rows one after the other until done or until Python must act.

`cluster_until_event` forms rules only, for the batch fit; `learn_until_event` is the stream.

An event is returned *before* the row has changed anything (birth, missing room for label groups) or
*after* the row is complete (pause: rules to repair, a pair to compare), so that going on is exact
and the split of a stream into chunks cannot matter.
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.antecedent import is_novel, move_rule
from efcml.kernels.cases import bring_covariance, compare_with_cases, learn_case
from efcml.kernels.consequent import (
    forget_sums,
    learn_moments,
    learn_planes,
    shrink_inverses,
    weigh_rules,
)
from efcml.kernels.firing import (
    AHEAD,
    activate_rules,
    find_nearest,
    look_ahead,
    measure_distances,
)
from efcml.kernels.linalg import find_least, measure_distance
from efcml.kernels.pairs import find_due_pair
from efcml.kernels.rule_update import check_inverses, correct_due_rules, count_weights
from efcml.kernels.scoring import answer_row, blend, score_row, view_row
from efcml.kernels.waiting import ROWS, bring_all, bring_all_G, queue_row

DONE, BIRTH, SPLIT_GROUPS, PAUSE = 0, 1, 2, 3  # statuses of the drivers


@kernel
def note_known(y, known):
    """Mark the known labels of a row and return how many they are."""
    count = 0
    for c in range(y.shape[0]):
        known[c] = not np.isnan(y[c])
        count += known[c]
    return count


@kernel
def complete_joint_row(x, y, known, expected, z):
    """Fill ``z`` with [x, y]; an unknown label is what is expected of it."""
    p = x.shape[0]
    for j in range(p):
        z[j] = x[j]
    for c in range(y.shape[0]):
        z[p + c] = y[c] if known[c] else expected[c]


@kernel
def expect_labels(heights, expected):
    """Write what a rule expects of the labels: its planes at the row, clipped to [0, 1]."""
    for c in range(expected.shape[0]):
        expected[c] = min(1.0, max(0.0, heights[c]))


@kernel
def choose_winner(ante, n_rules, all_known, settings, work):
    """Return the nearest rule and whether the row in ``work.z`` is novel to it.

    Joint space when all labels are known, else input space, where the distance is the smallest
    one that any labels could give. The distances in the input space must be known.
    """
    if settings.product_space and all_known:
        winner, distance = find_nearest(
            work.z, ante.center, ante.joint_precision, work.distances, n_rules, work.e
        )
        dimension = float(work.z.shape[0])
    else:
        winner = find_least(work.distances, n_rules)
        distance = work.distances[winner]
        dimension = float(ante.input_precision.shape[1])
    return winner, is_novel(distance, dimension, ante.support[winner], settings.vigilance)


@kernel
def update_winner(winner, ante, start_variance, max_support, variance_floor, work):
    """Move the winner towards ``work.z``, count the sample, hold the variance floor."""
    grown = ante.support[winner] + 1.0
    support = min(grown, max_support)
    ante.updates[winner] += 1
    q = start_variance.shape[0]
    turn = ante.updates[winner] % q
    amount = variance_floor * q * start_variance[turn] / support
    move_rule(
        work.z, ante.center[winner], ante.joint_precision[winner], ante.input_precision[winner],
        ante.log_det[winner], ante.support[winner], turn, amount, work.e, work.v, work.u,
    )  # fmt: skip
    ante.support[winner] = support
    ante.prior_share[winner] *= support / grown


@kernel
def look_for_merge(winner, ante, n_rules, settings, work):
    """Return a rule whose merge with the winner is worth the exact test, or -1."""
    precision = ante.joint_precision if settings.product_space else ante.input_precision
    return find_due_pair(
        winner, n_rules, ante.center, precision, ante.updates, ante.tested,
        settings.joint_bandwidth, settings.merge_overlap, work.e,
    )  # fmt: skip


@kernel
def learn_consequents(newborn, row_number, y, cons, n_rules, settings, work, cons_work):
    """Let every active rule learn the row, the newborn excepted; the rules have fired for it."""
    row, known, waiting = cons_work.row, cons_work.known, cons_work.waiting
    weights, keeps = cons_work.weights, cons_work.keeps
    weigh_rules(
        work.activation, n_rules, newborn, settings.activation_floor, settings.forgetting, weights,
        keeps,
    )  # fmt: skip
    queue_row(
        row, weights, keeps, n_rules, known, waiting.rows, waiting.weight, waiting.keep,
        waiting.count,
    )  # fmt: skip
    shrink_inverses(
        weights, keeps, n_rules, row, known, cons.P, cons.Delta, settings.prior_slope, cons.stale,
        waiting.shrink, waiting.scale, waiting.roots, cons_work.gain,
    )  # fmt: skip
    if settings.forgetting < 1.0:
        forget_sums(keeps, n_rules, known, cons.B, cons.D)
    learn_planes(
        weights, n_rules, row, cons_work.heights, y, known, waiting.shrink, waiting.roots, cons.W,
        cons.B,
    )  # fmt: skip
    learn_moments(
        weights, keeps, n_rules, y, known, cons.label_weight, cons.label_mean, cons.label_cov,
        cons_work.error,
    )  # fmt: skip
    count_weights(weights, keeps, n_rules, cons.weight, cons.use, cons.penalty_slack)
    check_inverses(weights, n_rules, cons, cons_work)
    if settings.corrects:
        correct_due_rules(row_number, n_rules, cons, settings, cons_work)
    if waiting.count[0] == ROWS:
        bring_all_G(cons.G, n_rules, waiting)


@kernel
def any_stale(stale, n_rules):
    """Tell whether the P of some rule is to be derived anew."""
    for rule in range(n_rules):
        if stale[rule] != 0:
            return True
    return False


@kernel
def learn_errors_of_rules(x, y, n_known, recalled, row_number, n_rules, settings, work, cons_work,
                          cases):  # fmt: skip
    """Let the cases, if there are any, learn what the rules, which have just fired, get wrong."""
    if cases.rows.shape[0] > 0:
        blend(work.activation, cons_work.heights, n_rules, cases.errors)
        K = y.shape[0]
        for c in range(cases.errors.shape[0]):
            cases.errors[c] = y[c % K] - cases.errors[c]
        # Activations sum to one, so this is how much a rule forgets on average.
        kept = settings.forgetting ** (1.0 / n_rules)
        if not recalled:
            compare_with_cases(x, cases)
        known = cons_work.known
        learn_case(cases.errors, known, float(n_known), row_number, kept, cases)


@kernel
def cluster_until_event(X, Y, start, newborn, ante, n_rules, start_variance, settings, work, known):
    """Let rows ``start..`` form rules; return ``(status, row, rule, other)``.

    ``newborn >= 0``: row ``start`` has just given birth to that rule and is done with.
    """
    p, K = X.shape[1], Y.shape[1]
    for t in range(start + (newborn >= 0), X.shape[0]):
        x, y = X[t], Y[t]
        n_known = note_known(y, known)
        if n_known == 0:
            continue
        if n_rules == 0:
            return BIRTH, t, -1, -1
        complete_joint_row(x, y, known, y, work.z)
        measure_distances(x, ante.center, ante.input_precision, n_rules, work.e, work.distances)
        winner, novel = choose_winner(ante, n_rules, n_known == K, settings, work)
        if novel:
            return BIRTH, t, winner, -1
        if n_known < K:  # without planes, the center says what a rule expects
            complete_joint_row(x, y, known, ante.center[winner, p:], work.z)
        floor = settings.variance_floor
        update_winner(winner, ante, start_variance, settings.max_support, floor, work)
        if settings.merging:
            other = look_for_merge(winner, ante, n_rules, settings, work)
            if other >= 0:
                return PAUSE, t + 1, winner, other
    return DONE, X.shape[0], -1, -1


@kernel
def end_of_run(Y, first, all_rows):
    """Return where the next rows that are to be viewed end; rows without any label need not be."""
    end = min(first + AHEAD, Y.shape[0])
    if all_rows:
        return end
    for last in range(first + 1, end):
        known = False
        for c in range(Y.shape[1]):
            known = known or not np.isnan(Y[last, c])
        if not known:
            return last
    return end


@kernel
def view_next_row(X, Y, t, first, last, ante, W, n_rules, work, cons_work, all_rows):
    """View row t; return which rows ``first:last`` have their distances in ``work.ahead``."""
    if t >= last:
        first, last = t, end_of_run(Y, t, all_rows)
        look_ahead(X, first, last, ante.center, ante.input_precision, n_rules, work.e, work.ahead)
    view_row(X[t], work.ahead[t - first], W, n_rules, work, cons_work.row, cons_work.heights)
    return first, last


@kernel
def find_obstacle(n_known, K, groups, n_rules):
    """Return what Python must do before a row can be learned, or DONE."""
    if n_known < K and groups == 1:
        return SPLIT_GROUPS
    if n_rules == 0:
        return BIRTH
    return DONE


@kernel
def find_and_move_winner(X, Y, t, first, last, n_known, ante, n_rules, start_variance, settings,
                         work, cons_work):  # fmt: skip
    """Return the winner of row t, which was viewed, and whether the row is novel to it.

    If it is not, the winner has moved, and its distances to this row and to those ahead are those
    from where it is now.
    """
    x, y, known = X[t], Y[t], cons_work.known
    complete_joint_row(x, y, known, y, work.z)
    winner, novel = choose_winner(ante, n_rules, n_known == y.shape[0], settings, work)
    if not novel:
        if n_known < y.shape[0]:
            expect_labels(cons_work.heights[winner], cons_work.error)
            complete_joint_row(x, y, known, cons_work.error, work.z)
        floor = settings.variance_floor
        update_winner(winner, ante, start_variance, settings.max_support, floor, work)
        center, precision = ante.center[winner], ante.input_precision[winner]
        for later in range(t, last):
            work.ahead[later - first, winner] = measure_distance(
                X[later], center, precision, work.e
            )
        work.distances[winner] = work.ahead[t - first, winner]
    return winner, novel


@kernel
def learn_viewed_row(x, y, n_known, recalled, newborn, row_number, ante, cons, n_rules, settings,
                     work, cons_work, cases):  # fmt: skip
    """Let cases and planes learn a row; the antecedents have done so."""
    activate_rules(ante, n_rules, settings, work)
    learn_errors_of_rules(
        x, y, n_known, recalled, row_number, n_rules, settings, work, cons_work, cases
    )
    learn_consequents(newborn, row_number, y, cons, n_rules, settings, work, cons_work)


@kernel
def learn_rows(
    X, Y, start, newborn, numbers, ante, cons, n_rules, start_variance, settings, work,
    cons_work, cases, watch,
):  # fmt: skip
    """Learn rows until an event; changes of P, G and the cases may wait (see below)."""
    K = Y.shape[1]
    first = last = start  # the rows whose distances are known
    for t in range(start, X.shape[0]):
        x, y = X[t], Y[t]
        resumed = t == start and newborn >= 0
        watched = t < watch.rows.shape[0] and not resumed
        if watched and not watch.own:
            score_row(
                watch.rows[t], ante, cons.W, n_rules, settings, work, cons_work.row,
                cons_work.heights, cases, watch.scores[t],
            )  # fmt: skip
            watched = False
        n_known = note_known(y, cons_work.known)
        if n_known == 0 and not watched:
            continue
        first, last = view_next_row(
            X, Y, t, first, last, ante, cons.W, n_rules, work, cons_work, watch.own
        )
        if watched:
            answer_row(x, ante, n_rules, settings, work, cons_work.heights, cases, watch.scores[t])
        if n_known == 0:
            continue
        winner, other = newborn, -1
        if not resumed:
            obstacle = find_obstacle(n_known, K, cons.P.shape[1], n_rules)
            if obstacle != DONE:
                return obstacle, t, -1, -1
            winner, novel = find_and_move_winner(
                X, Y, t, first, last, n_known, ante, n_rules, start_variance, settings, work,
                cons_work,
            )  # fmt: skip
            if novel:
                return BIRTH, t, winner, -1
        if not resumed or settings.birth_learning:
            learn_viewed_row(
                x, y, n_known, watched, newborn if resumed else -1, numbers[t], ante, cons,
                n_rules, settings, work, cons_work, cases,
            )  # fmt: skip
        if settings.merging and not resumed:
            other = look_for_merge(winner, ante, n_rules, settings, work)
        if other >= 0 or any_stale(cons.stale, n_rules):
            return PAUSE, t + 1, winner, other
    return DONE, X.shape[0], -1, -1


@kernel
def learn_until_event(
    X, Y, start, newborn, numbers, ante, cons, n_rules, start_variance, settings, work,
    cons_work, cases, watch,
):  # fmt: skip
    """Learn rows ``start..`` in order; return ``(status, row, rule, other)``.

    ``newborn >= 0`` resumes row ``start`` after Python gave birth to that rule. ``numbers`` are
    those of the rows in the whole stream. Before row t is learned, row t of ``watch.rows``, if
    there is one, gets its scores. Nothing waits afterwards.
    """
    event = learn_rows(
        X, Y, start, newborn, numbers, ante, cons, n_rules, start_variance, settings, work,
        cons_work, cases, watch,
    )  # fmt: skip
    bring_all(cons.P, cons.G, n_rules, cons_work.row, cons_work.gain, cons_work.waiting)
    bring_covariance(cases)
    return event
