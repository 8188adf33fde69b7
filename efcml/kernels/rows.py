"""The driver of the rules: rows one after the other, until done or until Python must act.

An event comes *before* the row has changed anything (birth) or *after* it is complete, so any split
of a stream into calls gives the same bits.
"""

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
    FAST,
    FAST_KEPT,
    NEWS,
    SLOW,
    WINDOW,
    add_sums,
    answer,
    count_known,
    count_labels,
    count_trial,
    learn_planes,
    listen,
    note_drift,
)
from efcml.kernels.proximal import step_planes

DONE, BIRTH, MERGE, SPLIT, IDLE, UPKEEP, DIVERGED = range(7)  # events
ROWS, RENEWAL = 0, 1  # entries of `clock`: rows learned; rows at which planes are shared anew
RENEW_PENALTY = 0.1  # M is derived anew when this share of the rule's weight is new
DERIVE_EVERY = 256  # updates, after which P is derived anew: rounding adds up
MOST_WEIGHT = 1e6  # |W|; beyond, which only printed formulas reach, a rule takes no more steps


@kernel
def blend(psi, answers, n_rules, scores):
    """Write ``score = sum_i Psi_i r W_i`` (eq. 3)."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
        for i in range(n_rules):
            scores[c] += psi[i] * answers[i, c]


@kernel
def needs_upkeep(n_rules, stale, facts, correlates):
    """Tell whether some P or M is to be derived anew, or a drift to be noted."""
    for i in range(n_rules):
        for m in range(stale.shape[1]):
            if stale[i, m] >= DERIVE_EVERY:
                return True
        old = facts[i].penalty_age >= RENEW_PENALTY * facts[i].weight
        if correlates and old and facts[i].weight >= 1.0:
            return True
        if facts[i].drifting == NEWS:
            return True
    return False


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
def forget_by(shares, n_rules, follows, forgetting, left):
    """Write what a row that only it learns leaves of each rule.

    The more the fast memory is trusted, the more the slow one forgets.
    """
    for i in range(n_rules):
        left[i] = FAST_KEPT ** (shares[i] ** 2) if follows else forgetting


@kernel
def choose_winner(
    z, distances, K, n_known, n_rules, center, joint, facts, product_space, density, vigilance, e,
):  # fmt: skip
    """Return what must happen before a row can be learned, DONE if nothing, and its winner."""
    if n_rules == 0:
        return BIRTH, -1
    whole = product_space and n_known == K
    winner, distance = find_winner(z, distances, n_rules, center, joint, facts, whole, density, e)
    dimension = float(z.shape[0] if whole else z.shape[0] - K)
    if is_novel(distance, dimension, facts[winner].support, vigilance):
        return BIRTH, winner
    return DONE, winner


@kernel
def compare_memories(y, known, weight, share, heights, expected, fact, trial, work):
    """Count how both memories of a rule did at a row that they are about to learn."""
    errors, steps = work[0], work[1]
    for c in range(y.shape[0]):
        errors[c] = y[c] - heights[SLOW, c] - expected[0, c]
        steps[c] = heights[FAST, c] - heights[SLOW, c] - expected[1, c]
    count_trial(errors, steps, known, weight, WINDOW**weight, trial)
    note_drift(fact, share)


@kernel
def hear(y, known, psi, heights, n_rules, level, echo, work):
    """Do `listen` for the slow memories of all rules together, and the way to the fast ones."""
    errors, steps, fast = work[0], work[1], heights.shape[1] - 1
    if n_rules == 0 or fast == SLOW:
        return
    for c in range(y.shape[0]):
        errors[c], steps[c] = y[c], 0.0
        for i in range(n_rules):
            errors[c] -= psi[i] * heights[i, SLOW, c]
            steps[c] += psi[i] * (heights[i, FAST, c] - heights[i, SLOW, c])
    listen(errors, steps, known, level, echo, work[2:])


@kernel
def learn_memories(
    row, y, known, w, left, s, stale, heights, seen, P, G, Delta, B, W, v, told
):  # fmt: skip
    """Let all memories of a rule learn a row with weight w; ``left`` is kept of the slow one.

    Where forgetting leaves too little of the prior, P is to be derived anew.
    """
    for m in range(W.shape[0]):
        keep, most = (left if m == SLOW else FAST_KEPT) ** w, G[m, -1, -1]
        stale[m] += 1
        count_known(
            row, y, known, w, keep, heights[m], P[m], most, Delta[m, 0], seen[m], v, told
        )  # fmt: skip
        lost = learn_planes(row, told, w, keep, heights[m], P[m], W[m], v)
        add_sums(row, told, w, keep, G[m], Delta[m], B[m])
        if lost or Delta[m, 0] < s.least_prior:
            stale[m] = DERIVE_EVERY


@kernel
def count_weight(fact, w, keep):
    """Add the weight of a row to the sums of a rule."""
    fact.weight = keep * fact.weight + w
    fact.penalty_age = keep * fact.penalty_age + w
    fact.use += w
    fact.unstepped += w


@kernel
def find_event(t, winner, resumed, n_rules, center, compared, facts, tested, stale, clock, s, e):
    """Return the event that is due after row t, DONE if none is."""
    now = clock[ROWS]
    if s.merges and not resumed:
        other = find_pair(winner, n_rules, center, compared, facts, tested, s.most_gap, e)
        if other >= 0:
            return MERGE, t + 1, winner, other
    if is_too_large(winner, now, n_rules, facts, s.split_share, s.least_share, s.max_rules):
        return SPLIT, t + 1, winner, -1
    idle = find_idle(now, n_rules, facts, s.least_share)
    if idle >= 0:
        return IDLE, t + 1, idle, -1
    if now >= clock[RENEWAL] or needs_upkeep(n_rules, stale, facts, s.beta > 0.0):
        return UPKEEP, t + 1, -1, -1
    return DONE, t + 1, -1, -1


@driver
def learn_rows(X, Y, weights, start, newborn, n_rules, with_planes, rules, s, scores, kept):
    """Answer and learn rows from ``start`` on; return ``(event, row, rule, other)``.

    A row of weight 0, or of which no label is known, is only answered. ``newborn >= 0``: row
    ``start`` has just given birth to that rule. Without planes the rows form rules only, for the
    batch. ``s`` are the settings. ``scores`` (n, K) and ``kept`` (n,) are written: what was
    answered, and what each row leaves of those before.
    """
    facts, center, joint, marginal, tested, P, G, Delta, B, W, W_0, stale = rules[:12]
    trial, label_sums, penalty, seen, clock, level, echo = rules[12:]
    n, a, (R, M, K, d) = X.shape[0], s.axes.shape[0], W.shape
    work, by_rule, by_label = np.zeros((4, d + K)), np.zeros((4, R)), np.zeros((4, K))
    z, e, v, u = work[0, : a + K], work[1], work[2], work[3]
    distances, psi, left, shares = by_rule[0], by_rule[1], by_rule[2], by_rule[3]
    heights, answers, known = np.zeros((R, M, K)), np.zeros((R, K)), np.zeros(K, dtype=np.bool_)
    D, MW, row = np.zeros((K, d)), np.zeros((K, d)), np.ones(d)
    for t in range(start, n):
        x, y, weight, resumed = X[t], Y[t], weights[t], t == start and newborn >= 0
        n_known = read_row(x, y, s.axes, z, row, known)
        activate(z, n_rules, center, marginal, facts, s.bandwidth, s.density, e, distances, psi)
        answer(row, n_rules if with_planes else 0, W, trial, heights, answers, shares)
        if not resumed:
            blend(psi, answers, n_rules, scores[t])
            kept[t] = 1.0
        if n_known == 0 or weight == 0.0:
            continue
        forget_by(shares, n_rules, s.follows, s.forgetting, left)
        winner = newborn
        if not resumed:
            event, winner = choose_winner(
                z, distances, K, n_known, n_rules, center, joint, facts, s.product_space, s.density,
                s.vigilance, e,
            )  # fmt: skip
            if event != DONE:
                return event, t, winner, -1
            expect_unknown(known, answers[winner] if with_planes else center[winner, a:], z)
            caps = left[winner] < 1.0 and s.antecedents_forget
            most = 1.0 / (1.0 - left[winner]) if caps else np.inf
            move(
                z, weight, most, s.variance_floor, s.S_0, center[winner], joint[winner],
                marginal[winner], facts[winner], e, v, u,
            )  # fmt: skip
            facts[winner].last_won = clock[ROWS]
            distances[winner] = squared_distance(z, center[winner], marginal[winner], e)
            normalise(distances, n_rules, facts, s.bandwidth, s.density, psi)
        hear(y, known, psi, heights, n_rules if with_planes else 0, level, echo, by_label)
        fade, diverged = 0.0, -1
        for i in range(n_rules if with_planes and (s.learns_at_birth or not resumed) else 0):
            fade += weight * psi[i] * np.log(left[i])
            if psi[i] < s.activation_floor or (i == newborn and resumed):
                continue
            w, fact = weight * psi[i], facts[i]
            if s.follows:
                compare_memories(
                    y, known, w, shares[i], heights[i], by_label[2:], fact, trial[i], by_label
                )  # fmt: skip
            learn_memories(
                row, y, known, w, left[i], s, stale[i], heights[i], seen[i], P[i], G[i], Delta[i],
                B[i], W[i], v, by_label[0],
            )  # fmt: skip
            count_weight(fact, w, left[i] ** w)
            count_labels(y, known, w, left[i] ** w, label_sums[i])
            if s.corrects and fact.stopped == 0 and fact.unstepped >= s.step_interval:
                fact.unstepped = 0.0
                largest = step_planes(
                    known, G[i, SLOW], Delta[i, SLOW], B[i, SLOW], W_0[i, SLOW], penalty[i],
                    fact.penalty_top, s.alpha, s.beta, s.exact_length, W[i, SLOW], D, MW,
                )  # fmt: skip
                diverged = i if largest > MOST_WEIGHT else diverged
        kept[t] = np.exp(fade / n_rules)
        clock[ROWS] += 1
        if diverged >= 0:
            return DIVERGED, t + 1, diverged, -1
        compared = joint if s.product_space else marginal
        due = find_event(
            t, winner, resumed, n_rules, center, compared, facts, tested, stale, clock, s, e
        )
        if due[0] != DONE:
            return due
    return DONE, n, -1, -1


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
