"""The drivers: learn rows one after the other until done or until Python must act.

`cluster_until_event` forms rules only, for the batch fit; `learn_until_event` is the stream.

An event is returned *before* the row has changed anything (birth, missing room for label groups) or
*after* the row is complete (pause: rules to repair, compare, split or take in), so that going on is
exact and the split of a stream into chunks cannot matter.

``model`` holds the arrays of all ``rules``, the ``cases``, the ``settings`` that steer the kernels,
``scratch`` arrays, in which a row is handed from one phase to the next, S_0, and the ``amounts``
that rows count for in rules: one for each, or none if all count once.
"""

import numpy as np

from efcml._jit import kernel, kernel_part
from efcml.kernels.cases import bring_covariance, compare_with_cases, learn_case
from efcml.kernels.consequent import (
    forget_sums,
    learn_moments,
    learn_planes,
    shrink_inverses,
    weigh_rules,
)
from efcml.kernels.constants import AHEAD, WAITING
from efcml.kernels.firing import activate_rules, look_ahead
from efcml.kernels.gaps import (
    has_gaps,
    measure_gapped,
)
from efcml.kernels.growth import find_idle, is_too_large
from efcml.kernels.linalg import measure_distance
from efcml.kernels.memory import (
    NEWS,
    RECENT,
    RECENT_WINDOW,
    compare_memories,
    count_trial,
    measure_forgetting,
    set_factors,
)
from efcml.kernels.pairs import find_due_pair
from efcml.kernels.rule_update import (
    check_inverses,
    correct_due_rules,
    count_decided,
    count_weights,
)
from efcml.kernels.scoring import add_up, answer_row, blend, score_row, view_row
from efcml.kernels.sequel import is_on, learn_sequel, pass_row
from efcml.kernels.waiting import bring_all, bring_all_G, queue_own_rows, queue_row
from efcml.kernels.winning import choose_winner, complete_joint_row, move_winner

DONE, BIRTH, SPLIT_GROUPS, PAUSE = 0, 1, 2, 3  # statuses of the drivers


@kernel
def note_known(y, known):
    """Mark the known labels of a row and return how many they are."""
    count = 0
    for c in range(y.shape[0]):
        known[c] = not np.isnan(y[c])
        count += known[c]
    return count


@kernel_part
def amount_of(t, amounts):
    """Return the weight of row t; rows count once where no weights are given."""
    return amounts[t] if t < amounts.shape[0] else 1.0


@kernel
def is_uneven(winner, row_number, n_rules, rules, settings):
    """Tell whether the winner of a row is to be split, or some rule to be taken in by another."""
    if is_too_large(winner, row_number, n_rules, rules, settings):
        return True
    return find_idle(row_number, n_rules, rules, settings) >= 0


@kernel
def cluster_until_event(X, Y, start, newborn, numbers, n_rules, model):
    """Let rows ``start..`` form rules; return ``(status, row, rule, other)``.

    ``newborn >= 0``: row ``start`` has just given birth to that rule and is done with.
    ``numbers`` are those of the rows in the whole stream.
    """
    rules, settings, scratch = model.rules, model.settings, model.scratch
    p, K, known, distances = X.shape[1], Y.shape[1], scratch.known, scratch.alone
    center, precision = rules.center, rules.input_precision
    for t in range(start + (newborn >= 0), X.shape[0]):
        x, y = X[t], Y[t]
        n_known = note_known(y, known)
        if n_known == 0:
            continue
        if n_rules == 0:
            return BIRTH, t, -1, -1
        scratch.amount[0] = amount_of(t, model.amounts)
        complete_joint_row(x, y, known, y, scratch.z)
        look_ahead(X, t, t + 1, center, precision, n_rules, scratch.e, distances)
        has_gaps(x, distances[0], n_rules, rules, settings, scratch)
        winner, novel = choose_winner(distances[0], n_known == K, n_rules, rules, settings, scratch)
        if novel:
            return BIRTH, t, winner, -1
        if n_known < K:  # without planes, the center says what a rule expects
            complete_joint_row(x, y, known, center[winner, p:], scratch.z)
        move_winner(winner, model)
        rules.last_won[winner] = numbers[t]
        if settings.merging:
            other = find_due_pair(winner, n_rules, rules, settings, scratch.e)
            if other >= 0:
                return PAUSE, t + 1, winner, other
        if is_uneven(winner, numbers[t], n_rules, rules, settings):
            return PAUSE, t + 1, winner, -1
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
def view_next_row(X, Y, t, first, last, n_rules, model, all_rows):
    """View row t; return which rows ``first:last`` have their distances in ``ahead``."""
    rules, scratch = model.rules, model.scratch
    ahead = scratch.ahead
    if t >= last:
        first, last = t, end_of_run(Y, t, all_rows)
        center, precision = rules.center, rules.input_precision
        look_ahead(X, first, last, center, precision, n_rules, scratch.e, ahead)
    view_row(X[t], ahead[t - first], n_rules, model)
    return first, last


@kernel
def find_and_move_winner(X, Y, t, first, last, n_known, n_rules, model):
    """Return the winner of row t, the one in view, and whether the row is novel to it.

    If it is not, the winner has moved, and its distances to this row and to those ahead are those
    from where it is now.
    """
    rules, settings, scratch = model.rules, model.settings, model.scratch
    x, y, known, expected = X[t], Y[t], scratch.known, scratch.expected
    complete_joint_row(x, y, known, y, scratch.z)
    all_known = n_known == y.shape[0]
    winner, novel = choose_winner(scratch.distances, all_known, n_rules, rules, settings, scratch)
    if not novel:
        if not all_known:  # a rule expects what its planes say at the row, clipped to [0, 1]
            for c in range(expected.shape[0]):
                expected[c] = min(1.0, max(0.0, scratch.answers[winner, c]))
            complete_joint_row(x, y, known, expected, scratch.z)
        move_winner(winner, model)
        center, precision = rules.center[winner], rules.input_precision[winner]
        for later in range(t, last):
            distance = measure_distance(X[later], center, precision, scratch.e)
            scratch.ahead[later - first, winner] = distance
        if scratch.gaps[0] > 0:
            measure_gapped(x, winner, rules, settings, scratch)
        else:
            scratch.distances[winner] = scratch.ahead[t - first, winner]
    return winner, novel


@kernel
def learn_consequents(y, newborn, row_number, n_rules, rules, settings, scratch, corrects):
    """Let the planes of every active rule learn the row, those of the newborn excepted.

    ``scratch.factors`` tell how much each forgets; ``corrects``, whether proximal steps follow.
    """
    weigh_rules(scratch.activation, n_rules, newborn, settings, scratch)
    if scratch.gaps[0] > 0:
        queue_own_rows(n_rules, rules.G, scratch)
    else:
        queue_row(n_rules, scratch)
    shrink_inverses(n_rules, settings.prior_slope, rules, scratch)
    if settings.follows or settings.forgetting < 1.0:
        forget_sums(n_rules, rules, scratch)
    learn_planes(n_rules, y, rules, scratch)
    learn_moments(n_rules, y, rules, scratch)
    count_weights(n_rules, rules, scratch)
    check_inverses(n_rules, rules, scratch)
    if corrects:
        correct_due_rules(row_number, n_rules, rules, settings, scratch)
    if scratch.count[0] == WAITING:
        bring_all_G(n_rules, rules.G, scratch)


@kernel
def learn_both(y, newborn, row_number, n_rules, model):
    """Let all memories learn the row, once they have been compared there."""
    rules, settings, scratch = model.rules, model.settings, model.scratch
    if settings.follows:
        brief = model.brief_scratch
        brief.amount[0] = scratch.amount[0]
        for rule in range(n_rules):
            brief.activation[rule] = scratch.activation[rule]
        for c in range(y.shape[0]):
            brief.known[c] = scratch.known[c]
        compare_memories(y, newborn, n_rules, model)
        learn_consequents(y, newborn, row_number, n_rules, model.brief, settings, brief, False)
    corrects = settings.corrects
    learn_consequents(y, newborn, row_number, n_rules, rules, settings, scratch, corrects)
    count_decided(y, n_rules, rules, scratch)


@kernel
def learn_errors_of_rules(x, y, n_known, compared, row_number, n_rules, model):
    """Let the cases, if there are any, learn what the rules, which have just fired, get wrong.

    ``compared`` tells whether the row has been compared with them before, for its scores.
    """
    scratch, cases, K = model.scratch, model.cases, y.shape[0]
    if cases.rows.shape[0] == 0:
        return
    blend(scratch.activation, scratch.answers, n_rules, cases.errors)
    for c in range(cases.errors.shape[0]):
        cases.errors[c] = y[c % K] - cases.errors[c]
    seen = scratch.filled if scratch.gaps[0] > 0 else x
    if not compared:
        compare_with_cases(seen, cases)
    if model.recent.rows.shape[0] > 0:
        if not compared:
            compare_with_cases(seen, model.recent)
        learn_errors_of_cases(n_known, row_number, model)
    kept = measure_forgetting(n_rules, scratch)
    cases.amount[0] = scratch.amount[0]
    learn_case(cases.errors, scratch.known, float(n_known), row_number, kept, cases)


@kernel
def learn_errors_of_cases(n_known, row_number, model):
    """Let the recent cases learn what rules and cases together get wrong, and how they did."""
    cases, recent, known = model.cases, model.recent, model.scratch.known
    for c in range(recent.errors.shape[0]):
        recent.errors[c] = cases.errors[c] - cases.expected[c]
    weight = recent.amount[0] = model.scratch.amount[0]
    count_trial(recent.errors, recent.expected, known, weight, RECENT_WINDOW, model.recent_trial)
    learn_case(recent.errors, known, float(n_known), row_number, RECENT, recent)


@kernel
def learn_trust_and_time(x, y, n_known, answered, n_rules, model):
    """Let what follows rules and cases learn the row in view, before these do.

    So it has learned a row that is resumed after a birth. Returns whether the row has been compared
    with the cases: for this, or because it was ``answered``.
    """
    if not is_on(model.sequel):
        return answered
    if not answered:
        add_up(x, n_rules, model, model.sequel.scores)
    model.sequel.amount[0] = model.scratch.amount[0]
    learn_sequel(y, model.scratch.known, n_known, model.sequel)
    return True


@kernel_part
def find_obstacle(n_known, K, groups, n_rules):
    """Return what Python must do before a row can be learned, or DONE."""
    if n_known < K and groups == 1:
        return SPLIT_GROUPS
    if n_rules == 0:
        return BIRTH
    return DONE


@kernel
def note_scores(x, t, watched, n_rules, model, watch):
    """Keep the scores that the row in view has before it is learned, if somebody wants them.

    Returns whether the row has been compared with the cases by now.
    """
    if t >= watch.learned.shape[0]:
        return watched
    if watched:
        for c in range(watch.learned.shape[1]):
            watch.learned[t, c] = watch.scores[t, c]
    else:
        answer_row(x, 0, n_rules, model, watch.learned[t])
    return True


@kernel
def note_forgetting(t, n_rules, scratch, watch):
    """Keep what the row leaves of those before, if somebody wants to know."""
    if t < watch.kept.shape[0]:
        watch.kept[t] = measure_forgetting(n_rules, scratch)


@kernel
def learn_rows(X, Y, start, newborn, numbers, n_rules, model, watch):
    """Learn rows until an event; changes of P, G and the cases may wait (see below)."""
    rules, settings, scratch = model.rules, model.settings, model.scratch
    first = last = start  # the rows whose distances are known
    for t in range(start, X.shape[0]):
        x, y = X[t], Y[t]
        resumed = t == start and newborn >= 0
        watched = t < watch.rows.shape[0] and not resumed
        if watched and not watch.own:
            score_row(watch.rows, t, watch.ahead, n_rules, model, watch.scores[t])
            watched = False
        n_known = note_known(y, scratch.known)
        if n_known > 0 or watched:
            first, last = view_next_row(X, Y, t, first, last, n_rules, model, watch.own)
        if watched:
            answer_row(x, 0, n_rules, model, watch.scores[t])
        if n_known == 0:
            pass_row(model.sequel)
            continue
        compared = watched
        scratch.amount[0] = amount_of(t, model.amounts)
        winner, other = newborn, -1
        if not resumed:
            obstacle = find_obstacle(n_known, Y.shape[1], rules.P.shape[1], n_rules)
            if obstacle != DONE:
                return obstacle, t, -1, -1
            # Now: if a rule is born, the row is resumed.
            compared = note_scores(x, t, watched, n_rules, model, watch)
            compared = learn_trust_and_time(x, y, n_known, compared, n_rules, model)
            winner, novel = find_and_move_winner(X, Y, t, first, last, n_known, n_rules, model)
            if novel:
                return BIRTH, t, winner, -1
            rules.last_won[winner] = numbers[t]
        if not resumed or settings.birth_learning:
            activate_rules(scratch.distances, n_rules, rules, settings, scratch.activation)
            set_factors(n_rules, model)
            note_forgetting(t, n_rules, scratch, watch)
            learn_errors_of_rules(x, y, n_known, compared, numbers[t], n_rules, model)
            learn_both(y, newborn if resumed else -1, numbers[t], n_rules, model)
        if settings.merging and not resumed:
            other = find_due_pair(winner, n_rules, rules, settings, scratch.e)
        if other >= 0 or is_due(winner, numbers[t], n_rules, rules, model.brief, settings):
            return PAUSE, t + 1, winner, other
    return DONE, X.shape[0], -1, -1


@kernel
def is_due(winner, row_number, n_rules, rules, brief, settings):
    """Tell whether rules are to be split or taken in, derived anew, or have news to tell."""
    if row_number + 1 >= settings.renewal:
        return True
    for rule in range(n_rules):
        if rules.stale[rule] != 0 or brief.stale[rule] != 0 or rules.drifting[rule] == NEWS:
            return True
    return is_uneven(winner, row_number, n_rules, rules, settings)


@kernel
def learn_until_event(X, Y, start, newborn, numbers, n_rules, model, watch):
    """Learn rows ``start..`` in order; return ``(status, row, rule, other)``.

    ``newborn >= 0`` resumes row ``start`` after Python gave birth to that rule. ``numbers`` are
    those of the rows in the whole stream. Before row t is learned, row t of ``watch.rows``, if
    there is one, gets its scores; ``watch.own`` if these are the rows that are learned. Nothing
    waits afterwards.
    """
    event = learn_rows(X, Y, start, newborn, numbers, n_rules, model, watch)
    bring_all(n_rules, model.rules, model.scratch)
    if model.settings.follows:
        bring_all(n_rules, model.brief, model.brief_scratch)
    bring_covariance(model.cases)
    bring_covariance(model.recent)
    return event
