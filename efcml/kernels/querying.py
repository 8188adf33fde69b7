"""Which rows of a stream are worth a question, and about which labels (docs/active.md).

The state of an active learner is one small array; the constants below name its entries. Nothing
but this array and the outputs is written: the rules are only read.

Amounts are counted in units: rows, or single labels.
"""

from typing import NamedTuple

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.gaussian import activate
from efcml.kernels.linalg import dot, multiply
from efcml.kernels.planes import SLOW

ROWS = 0  # rows seen
ROOM = 1  # units that could have been asked
SPENT = 2  # units that were asked
RECENT = 3  # rows asked, the older the less they count
AMBIGUITY_THRESHOLD, INSTABILITY_THRESHOLD = 4, 5
USED_AMBIGUITY_THRESHOLD, USED_INSTABILITY_THRESHOLD = 6, 7  # before the last row moved them
STATE_SIZE = 8

NOVELTY, AMBIGUITY, INSTABILITY, CHANCE, ALWAYS = 1, 2, 4, 8, 16  # reasons, one bit each
TRACE, DETERMINANT = 1, 2  # kinds of instability; 0 is none
QUANTILE, MULTIPLICATIVE = 1, 2  # kinds of adaptation; 0 is none

RELATIVE_STEP = 10.0  # steps of the instability threshold, in steps of the other one
LEAST_INSTABILITY = 1e-9  # of the threshold, so that relative steps can lift it again
MOST_BOOST = 0.5  # of the aim of ambiguity while budget is saved; more would pick worse rows
CATCH_UP = 10.0  # rows over which chance makes up for what it has not spent


class Ask(NamedTuple):
    """What an active learner wants; the words behind the numbers are above."""

    budget: float
    by_label: bool
    window: float
    step: float
    adaptation: int
    novelty: bool
    ambiguity: bool
    instability: int
    chance: bool
    always: bool


@kernel
def allowance(ask, state, K):
    """Return how many units may be asked of the next row.

    At every prefix ``spent / room <= budget``. Besides, the recent share stays below the budget,
    so that what was saved in a quiet time is not spent at once.
    """
    size = float(K) if ask.by_label else 1.0
    if ask.budget < 1.0 and state[RECENT] / ask.window >= ask.budget:
        return 0.0
    room = state[ROOM] + size
    count = min(size, np.floor(ask.budget * room) + 1.0 - state[SPENT])
    while count > 0.0 and (state[SPENT] + count) / room > ask.budget:
        count -= 1.0
    return max(count, 0.0)


@kernel
def saved_rows(ask, state, K):
    """Return how many rows the budget up to the next row has left."""
    size = float(K) if ask.by_label else 1.0
    return ask.budget * (state[ROWS] + 1.0) - state[SPENT] / size


@kernel
def instability_of(kind, activation, P, row, v):
    """Return the share of P that one update with this row would take away.

    Of the trace over the slopes, or of the determinant; closed forms of the rank-one update
    without forgetting. ``v`` is a workspace.
    """
    d = row.shape[0]
    multiply(P, d, row, v)
    height = activation * dot(row, v, d)
    if kind == DETERMINANT:
        return height / (1.0 + height)
    trace = 0.0
    for j in range(d - 1):
        trace += P[j, j]
    if not trace > 0.0:  # an update of one's own may leave P alone
        return 0.0
    return activation * dot(v, v, d - 1) / ((1.0 + height) * trace)


@kernel
def least_known(label_sums, group):
    """Return the group of labels that a rule has learned least; ``label_sums`` is (3, K, K)."""
    least = 0
    for c in range(1, group.shape[0]):
        if label_sums[0, c, c] < label_sums[0, least, least]:
            least = c
    return group[least]


@driver
def look_at_rows(X, n_rules, kind, floor, rules, s, likeliest, distance, instability):
    """Write for every row its likeliest rule, the squared distance to it, and the instability.

    That is the largest over the rules whose activation reaches ``floor``; of kind 0 there is none.
    Where labels have a P of their own, a rule counts by those that it has learned least: every row
    takes something away from P, so that theirs has most left. To look at all of them would cost as
    much as several full updates.
    """
    center, marginal, facts, d = rules.center, rules.marginal, rules.facts, X.shape[1] + 1
    work, by_rule, row = np.zeros((2, d)), np.zeros((2, n_rules)), np.ones(d)
    distances, psi = by_rule[0], by_rule[1]
    for t in range(X.shape[0]):
        row[: d - 1] = X[t]
        activate(
            X[t], n_rules, center, marginal, facts, s.bandwidth, s.density, work[0], distances, psi
        )
        likeliest[t], instability[t] = np.argmax(psi), 0.0
        distance[t] = distances[likeliest[t]]
        for i in range(n_rules if kind != 0 else 0):
            if psi[i] >= floor:
                P = rules.P[i, SLOW, least_known(rules.label_sums[i], rules.group)]
                found = instability_of(kind, psi[i], P, row, work[1])
                instability[t] = max(instability[t], found)


@kernel
def count_ambiguous(scores, threshold):
    """Return how many scores lie strictly between ``1 - threshold`` and ``threshold``."""
    count = 0
    for c in range(scores.shape[0]):
        if abs(scores[c] - 0.5) < threshold - 0.5:
            count += 1
    return count


@kernel
def find_reasons(K, n_ambiguous, novel, instability, draw, ask, state):
    """Return the bits of all criteria that fire for a row."""
    reasons = ALWAYS if ask.always else 0
    if ask.novelty and novel:
        reasons |= NOVELTY
    if ask.ambiguity and n_ambiguous > 0:
        reasons |= AMBIGUITY
    if ask.instability != 0 and instability > state[INSTABILITY_THRESHOLD]:
        reasons |= INSTABILITY
    if ask.chance and draw < ask.budget + saved_rows(ask, state, K) / CATCH_UP:
        reasons |= CHANCE
    return reasons


@kernel
def choose_labels(scores, allowed, radius, wanted):
    """Mark up to ``allowed`` labels with ``|score - 0.5| < radius``, most ambiguous first.

    Of equally ambiguous labels the lower index comes first. Returns how many were marked.
    """
    wanted[:] = False
    count = 0
    while count < allowed:
        best, least = -1, radius
        for c in range(scores.shape[0]):
            gap = abs(scores[c] - 0.5)
            if not wanted[c] and gap < least:
                best, least = c, gap
        if best < 0:
            break
        wanted[best] = True
        count += 1
    return float(count)


@kernel
def adapt(ask, state, saved, ambiguous_share, reasons):
    """Move the thresholds of the criteria in use; called only while the budget allows a question.

    Quantile tracking moves each so that its criterion fires as often as the budget allows: for
    that share of rows, or of labels; more often while rows beyond the next one are saved. The
    other way follows Zliobaite et al. 2014: every question makes the criteria stricter, every row
    without one more lenient.
    """
    t2, t3 = state[AMBIGUITY_THRESHOLD], state[INSTABILITY_THRESHOLD]
    unstable = 1.0 if reasons & INSTABILITY else 0.0
    step = ask.step
    if ask.adaptation == QUANTILE:
        most = ask.budget * (1.0 + MOST_BOOST * (1.0 - ask.budget) ** 2)
        aim = min(1.0, ask.budget + max(0.0, saved - 1.0) / ask.window)
        t2 += step * (min(most, aim) - ambiguous_share)
        t3 *= np.exp(RELATIVE_STEP * step * (unstable - aim))
    elif ask.adaptation == MULTIPLICATIVE:
        t2 *= 1.0 - step if reasons != 0 else 1.0 + step
        t3 *= 1.0 + step if reasons != 0 else 1.0 - step
    if ask.ambiguity:
        state[AMBIGUITY_THRESHOLD] = min(1.0, max(0.5, t2))
    if ask.instability != 0:
        state[INSTABILITY_THRESHOLD] = min(1.0, max(LEAST_INSTABILITY, t3))


@kernel
def count_row(ask, state, K, asked):
    """Count one row of which ``asked`` units were asked."""
    size = float(K) if ask.by_label else 1.0
    state[ROWS] += 1.0
    state[ROOM] += size
    state[SPENT] += asked
    state[RECENT] = state[RECENT] * (ask.window - 1.0) / ask.window + asked / size


@driver
def scan_rows(scores, novel, instability, draws, ask, state, wanted):
    """Count rows until one is worth a question; return its index and the reasons.

    ``wanted`` marks the labels to ask. When no row is left, the index is the number of rows and
    the reasons are 0. ``draws`` are random numbers in [0, 1), one per row.
    """
    n, K = scores.shape
    for t in range(n):
        allowed, threshold = allowance(ask, state, K), state[AMBIGUITY_THRESHOLD]
        state[USED_AMBIGUITY_THRESHOLD] = threshold
        state[USED_INSTABILITY_THRESHOLD] = state[INSTABILITY_THRESHOLD]
        asked, reasons = 0.0, 0
        if allowed > 0.0:
            n_ambiguous = count_ambiguous(scores[t], threshold)
            reasons = find_reasons(K, n_ambiguous, novel[t], instability[t], draws[t], ask, state)
            if reasons != 0 and ask.by_label:
                radius = threshold - 0.5 if reasons == AMBIGUITY else np.inf
                asked = choose_labels(scores[t], allowed, radius, wanted)
            elif reasons != 0:
                asked, wanted[:] = 1.0, True
            share = n_ambiguous / K if ask.by_label else float(min(n_ambiguous, 1))
            adapt(ask, state, saved_rows(ask, state, K), share, reasons)
        count_row(ask, state, K, asked)
        if asked > 0.0:
            return t, reasons
    return n, 0
