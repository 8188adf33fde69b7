"""The driver of the rules: rows one after the other, until done or until Python must act.

An event comes *before* the row has changed anything (birth) or *after* it is complete, so any split
of a stream into calls gives the same bits.
"""

from collections import namedtuple
from functools import cache

import numpy as np

from efcml._jit import driver, kernel, with_names
from efcml.kernels.gaussian import (
    activate,
    find_idle,
    find_pair,
    find_winner,
    is_novel,
    is_too_large,
    move,
    normalise,
)
from efcml.kernels.linalg import squared_distance
from efcml.kernels.planes import (
    DERIVE_EVERY,
    FAST,
    FAST_KEPT,
    FAST_TRUST_KEPT,
    NEWS,
    SLOW,
    Memory,
    answer,
    count_row,
    count_trust,
    learn_memories,
    learn_planes,
    memory_of,
    note_drift,
    update_echo,
)
from efcml.kernels.proximal import step_planes

DONE, BIRTH, MERGE, SPLIT, IDLE, UPKEEP, DIVERGED = range(7)  # events
LEARNED, RENEWAL = 0, 1  # entries of `clock`: rows; and at how many planes are shared anew
RENEW_PENALTY = 0.1  # M is derived anew when this share of the rule's weight is new
MOST_WEIGHT = 1e6  # |W|; beyond, which only printed formulas reach, a rule takes no more steps

Scratch = namedtuple(
    "Scratch",
    "z row known spare distances psi rule_retention shares heights answers"
    " errors steps expected y_effective D MW",
)


def scratch_for(R, M, K, d, a):
    """Return what the driver writes to, for a call."""
    by_rule, by_label, planes = np.zeros((4, R)), np.zeros((3, K)), np.zeros((2, K, d))
    errors, steps, y_effective = by_label
    known, spare, expected = np.zeros(K, np.bool_), np.zeros((3, d + K)), np.zeros((2, K))
    sizes = np.zeros(a + K), np.ones(d), known, spare, *by_rule
    answers = np.zeros((R, M, K)), np.zeros((R, K))
    return Scratch(*sizes, *answers, errors, steps, expected, y_effective, *planes)


@kernel
def blend(psi, answers, n_rules, scores):
    """Write ``score = sum_i Psi_i r W_i`` (eq. 3)."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
        for i in range(n_rules):
            scores[c] += psi[i] * answers[i, c]


@kernel
def read_row(x, y, axes, z, row, known):
    """Write ``z = [x, y]``, ``r = [x, 1]`` and which labels are known; return how many they are.

    Of x, z has the features ``axes``, which rules are formed over.
    """
    a, n_known = axes.shape[0], 0
    for j in range(x.shape[0]):
        row[j] = x[j]
    for j in range(a):
        z[j] = x[axes[j]]
    for c in range(y.shape[0]):
        known[c] = not np.isnan(y[c])
        n_known += known[c]
        z[a + c] = y[c]
    return n_known


@kernel
def expect_unknown(known, expected, z):
    """Let an unknown label be what the winner expects, within 0 and 1."""
    p = z.shape[0] - known.shape[0]
    for c in range(known.shape[0]):
        if not known[c]:
            z[p + c] = min(1.0, max(0.0, expected[c]))


@kernel
def forget_by(shares, n_rules, s, rule_retention):
    """Write what a row that only it learns leaves of each rule.

    The more the fast memory is trusted, the more the slow one forgets.
    """
    for i in range(n_rules):
        rule_retention[i] = FAST_KEPT ** (shares[i] ** 2) if s.follows else s.forgetting


@kernel
def choose_winner(z, n_known, n_rules, distances, center, joint, facts, s, e):
    """Return what must happen before a row can be learned, DONE if nothing, and its winner."""
    if n_rules == 0:
        return BIRTH, -1
    a = s.axes.shape[0]
    whole = s.product_space and n_known == z.shape[0] - a
    winner, distance = find_winner(z, distances, n_rules, center, joint, facts, whole, s.density, e)
    dimension = float(z.shape[0] if whole else a)
    if is_novel(distance, dimension, facts[winner].support, s.vigilance):
        return BIRTH, winner
    return DONE, winner


@kernel
def echo_of_rules(y, known, psi, heights, n_rules, level, echo, errors, steps, expected):
    """Do `update_echo` for the slow memories of all rules together, and the way to fast ones."""
    if n_rules == 0 or heights.shape[1] == 1:
        return
    for c in range(y.shape[0]):
        errors[c], steps[c] = y[c], 0.0
        for i in range(n_rules):
            errors[c] -= psi[i] * heights[i, SLOW, c]
            steps[c] += psi[i] * (heights[i, FAST, c] - heights[i, SLOW, c])
    update_echo(errors, steps, known, level, echo, expected)


@kernel
def compare_memories(y, known, weight, heights, trust_sums, errors, steps, expected):
    """Count how both memories of a rule did at a row that they are about to learn."""
    for c in range(y.shape[0]):
        errors[c], steps[c] = y[c] - heights[SLOW, c], heights[FAST, c] - heights[SLOW, c]
    count_trust(errors, steps, expected, known, weight, FAST_TRUST_KEPT**weight, trust_sums)


@kernel
def needs_upkeep(n_rules, updates, facts, correlates):
    """Tell whether some P or M is to be derived anew, or a drift to be noted."""
    for i in range(n_rules):
        for m in range(updates.shape[1]):
            if updates[i, m] >= DERIVE_EVERY:
                return True
        old = facts[i].penalty_age >= RENEW_PENALTY * facts[i].weight
        if correlates and old and facts[i].weight >= 1.0:
            return True
        if facts[i].drifting == NEWS:
            return True
    return False


@kernel
def find_event(winner, n_rules, center, compared, facts, tested, updates, clock, s, e):
    """Return the event that is due after a row, DONE if none is, and its rules."""
    now = clock[LEARNED]
    if s.merges:
        other = find_pair(winner, n_rules, center, compared, facts, tested, s.most_gap, e)
        if other >= 0:
            return MERGE, winner, other
    if is_too_large(winner, now, n_rules, facts, s.split_share, s.least_share, s.max_rules):
        return SPLIT, winner, -1
    idle = find_idle(now, n_rules, facts, s.least_share)
    if idle >= 0:
        return IDLE, idle, -1
    if now >= clock[RENEWAL] or needs_upkeep(n_rules, updates, facts, s.beta > 0.0):
        return UPKEEP, -1, -1
    return DONE, -1, -1


@driver
def learn_rows(
    X, Y, weights, start, newborn, n_rules, with_planes, rules, s, scratch, scores, row_retention
):  # fmt: skip
    """Answer and learn rows from ``start`` on; return ``(event, row, rule, other)``.

    A row of weight 0, or of which no label is known, is only answered. ``newborn >= 0``: row
    ``start`` has just given birth to that rule. Without planes the rows form rules only, for the
    batch. ``s`` are the settings. ``scores`` (n, K) and ``row_retention`` (n,) are written: what
    was answered, and what each row leaves of those before.
    """
    facts, center, joint, marginal, tested, P, G, Delta, B, W, W_0, updates = rules[:12]
    trust_sums, label_sums, penalty, seen, clock, level, echo = rules[12:]
    z, row, known, spare, distances, psi, rule_retention, shares, heights, answers = scratch[:10]
    errors, steps, expected, y_effective, D, MW = scratch[10:]
    e, v, a = spare[0], spare[1], s.axes.shape[0]
    for t in range(start, X.shape[0]):
        x, y, weight, resumed = X[t], Y[t], weights[t], t == start and newborn >= 0
        n_planes = n_rules if with_planes else 0
        n_known = read_row(x, y, s.axes, z, row, known)
        activate(z, n_rules, center, marginal, facts, s.bandwidth, s.density, e, distances, psi)
        answer(row, n_planes, W, trust_sums, heights, answers, shares)
        if not resumed:
            blend(psi, answers, n_rules, scores[t])
            row_retention[t] = 1.0
        if n_known == 0 or weight == 0.0:
            continue
        forget_by(shares, n_rules, s, rule_retention)
        winner = newborn
        if not resumed:
            event, winner = choose_winner(
                z, n_known, n_rules, distances, center, joint, facts, s, e
            )
            if event != DONE:
                return event, t, winner, -1
            expect_unknown(known, answers[winner] if with_planes else center[winner, a:], z)
            left = rule_retention[winner]
            most = 1.0 / (1.0 - left) if left < 1.0 and s.antecedents_forget else np.inf
            move(
                z, weight, most, s, center[winner], joint[winner], marginal[winner], facts[winner],
                spare,
            )  # fmt: skip
            facts[winner].last_won = clock[LEARNED]
            distances[winner] = squared_distance(z, center[winner], marginal[winner], e)
            normalise(distances, n_rules, facts, s.bandwidth, s.density, psi)
        echo_of_rules(y, known, psi, heights, n_planes, level, echo, errors, steps, expected)
        fade, diverged = 0.0, -1
        for i in range(n_planes if s.learns_at_birth or not resumed else 0):
            fade += weight * psi[i] * np.log(rule_retention[i])
            if psi[i] < s.activation_floor or (i == newborn and resumed):
                continue
            w, fact = weight * psi[i], facts[i]
            rule = Memory(P[i], G[i], Delta[i], B[i], W[i], seen[i], updates[i])
            if s.follows:
                compare_memories(y, known, w, heights[i], trust_sums[i], errors, steps, expected)
                note_drift(fact, shares[i])
            keep = rule_retention[i] ** w
            learn_memories(row, y, known, w, keep, s.least_prior, heights[i], rule, v, y_effective)
            count_row(y, known, w, keep, fact, label_sums[i])
            if s.corrects and fact.stopped == 0 and fact.unstepped >= s.step_interval:
                fact.unstepped = 0.0
                slow, top = memory_of(rule, SLOW), fact.penalty_top
                largest = step_planes(known, slow, W_0[i, SLOW], penalty[i], top, s, D, MW)
                diverged = i if largest > MOST_WEIGHT else diverged
        row_retention[t] = np.exp(fade / n_rules)
        clock[LEARNED] += 1
        if diverged >= 0:
            return DIVERGED, t + 1, diverged, -1
        compared = joint if s.product_space else marginal
        event, rule, other = find_event(
            winner, n_rules, center, compared, facts, tested, updates, clock, s, e
        )
        if event != DONE:
            return event, t + 1, rule, other
    return DONE, X.shape[0], -1, -1


@cache
def driver_with(birth_test, update):
    """Return `learn_rows` with another birth test or consequent update, both compiled functions.

    It is compiled for them when it first runs, once in a process, and not kept on disk.
    """
    if birth_test is is_novel and update is learn_planes:
        return learn_rows
    chooses = with_names(choose_winner, is_novel=birth_test)
    learns = with_names(learn_memories, learn_planes=update)
    return with_names(learn_rows, choose_winner=chooses, learn_memories=learns)
