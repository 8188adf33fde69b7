"""Which rows of a stream are worth a question, and about which labels (docs/active.md).

The state of an active learner is one small array; the constants below name its entries. Nothing
but this array and the outputs is written: the rules are only read.

Amounts are counted in units: rows, or single labels.
"""

import numpy as np

from efcml._jit import kernel
from efcml.kernels.antecedent import is_novel
from efcml.kernels.firing import INPUT, find_likeliest
from efcml.kernels.linalg import dot
from efcml.kernels.scoring import score_row
from efcml.kernels.triangle import multiply

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
    multiply(P, row, v)
    height = activation * dot(row, v)
    if kind == DETERMINANT:
        return height / (1.0 + height)
    squared, trace = 0.0, 0.0
    for j in range(row.shape[0] - 1):
        squared += v[j] * v[j]
        trace += P[j, j]
    return activation * squared / ((1.0 + height) * trace)


@kernel
def least_known(label_weight):
    """Return the label group that a rule has learned least; ``label_weight`` is (g, K)."""
    least = 0
    for group in range(1, label_weight.shape[0]):
        if label_weight[group, group] < label_weight[least, least]:
            least = group
    return least


@kernel
def largest_instability(kind, floor, n_rules, rules, scratch):
    """Return the largest instability over the rules whose activation reaches ``floor``.

    Where every label has a P of its own, a rule counts by the label that it has learned least:
    every row takes something away from P, so that one has most left. To look at all of them would
    cost as much as several full updates.
    """
    largest = 0.0
    for rule in range(n_rules):
        activation = scratch.activation[rule]
        if activation >= floor:
            P = rules.P[rule, least_known(rules.label_weight[rule])]
            row = scratch.own[rule] if scratch.gaps[0] > 0 else scratch.row
            found = instability_of(kind, activation, P, row, scratch.image)
            largest = max(largest, found)
    return largest


@kernel
def count_ambiguous(scores, threshold):
    """Return how many scores lie strictly between ``1 - threshold`` and ``threshold``."""
    count = 0
    for c in range(scores.shape[0]):
        if abs(scores[c] - 0.5) < threshold - 0.5:
            count += 1
    return count


@kernel
def find_reasons(x, scores, n_ambiguous, draw, n_rules, model, ask, state):
    """Return the bits of all criteria that fire for a row that was just scored."""
    rules, settings, scratch = model.rules, model.settings, model.scratch
    reasons = ALWAYS if ask.always else 0
    if ask.novelty:
        nearest = find_likeliest(scratch.distances, INPUT, n_rules, rules, settings)
        support = rules.support[nearest]
        gapped, present = scratch.gaps[0] > 0, float(x.shape[0] - scratch.gaps[0])
        distance = scratch.marginal[nearest] if gapped else scratch.distances[nearest]
        if is_novel(distance, present, support, settings.vigilance):
            reasons |= NOVELTY
    if ask.ambiguity and n_ambiguous > 0:
        reasons |= AMBIGUITY
    if ask.instability != 0:
        floor = settings.activation_floor
        found = largest_instability(ask.instability, floor, n_rules, rules, scratch)
        if found > state[INSTABILITY_THRESHOLD]:
            reasons |= INSTABILITY
    if ask.chance:
        if draw < ask.budget + saved_rows(ask, state, scores.shape[0]) / CATCH_UP:
            reasons |= CHANCE
    return reasons


@kernel
def choose_labels(scores, allowed, radius, wanted):
    """Mark up to ``allowed`` labels with ``|score - 0.5| < radius``, most ambiguous first.

    Of equally ambiguous labels the lower index comes first. Returns how many were marked.
    """
    K = scores.shape[0]
    for c in range(K):
        wanted[c] = False
    count = 0
    while count < allowed:
        best, least = -1, radius
        for c in range(K):
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


@kernel
def scan_rows(X, draws, start, n_rules, model, asking, scores):
    """Score rows ``start..`` until one is worth a question; return its index and the reasons.

    The row that is returned has been counted; ``asking.wanted`` marks the labels to ask. When no
    row is left, the index is the number of rows and the reasons are 0. ``draws`` are random
    numbers in [0, 1), one per row.
    """
    ask, state, wanted, K = asking.ask, asking.state, asking.wanted, scores.shape[1]
    for t in range(start, X.shape[0]):
        score_row(X, t, t - start, n_rules, model, scores[t])  # nothing was learned since
        allowed = allowance(ask, state, K)
        state[USED_AMBIGUITY_THRESHOLD] = state[AMBIGUITY_THRESHOLD]
        state[USED_INSTABILITY_THRESHOLD] = state[INSTABILITY_THRESHOLD]
        asked, reasons = 0.0, 0
        if allowed > 0.0:
            threshold = state[AMBIGUITY_THRESHOLD]
            n_ambiguous = count_ambiguous(scores[t], threshold)
            reasons = find_reasons(
                X[t], scores[t], n_ambiguous, draws[t], n_rules, model, ask, state
            )
            if reasons != 0:
                if ask.by_label:
                    radius = threshold - 0.5 if reasons == AMBIGUITY else np.inf
                    asked = choose_labels(scores[t], allowed, radius, wanted)
                else:
                    asked = 1.0
                    for c in range(K):
                        wanted[c] = True
            share = n_ambiguous / K if ask.by_label else float(min(n_ambiguous, 1))
            adapt(ask, state, saved_rows(ask, state, K), share, reasons)
        count_row(ask, state, K, asked)
        if asked > 0.0:
            return t, reasons
    return X.shape[0], 0
