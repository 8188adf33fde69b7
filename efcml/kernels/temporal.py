"""How far the scores are trusted, and what the last rows say of the next.

With s the score, f the label frequencies, g = s - f and [.] for what is cut to 0 and 1, there are
three answers:

    a_1 = s,    a_2 = f + t g,    a_3 = f + c_0 g + sum_i c_i l_i

l_i are the last errors y - [s] and labels y - f, of the last row and faded; t and c are those of
least squares over all labels, held to "the score as it is".

Trust moves from a_1 to a_2, and time from there to a_3, only as far as there is evidence: the
logarithm of how much likelier the labels of late were by the second of two answers. A step d with
d'd = q, after which errors e are left, adds (d'e + q/2) / v, where v is the variance d'e d'e / q
that was seen along such steps, so that labels that depend on each other count once. Where a step
is worth nothing, by Ville's inequality the evidence exceeds r with probability exp(-r) at most.

Labels may come some rows after the answer, the *delay*. Then a row teaches by what was known when
it was answered, of which some of the last rows are remembered.
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import TINY, solve_in_place
from efcml.kernels.planes import ERROR, GAIN, SPREAD, WEIGHT, share_of

TRUST, TIME = 0, 1  # entries of `evidence`: the steps to a_2, and on to a_3
RATIO, NOISE, STEPS, MET, OPEN = 0, 1, 2, 3, 4  # of each: log of likelihoods; sums for v; d'e, q
ROWS, DELAY, DUE = 0, 1, 2  # entries of `clock`
LATE = 4  # entry of `tally`: delays of the learned rows, added up
TARGET = 5  # row of `sums`: labels, after the score and four of `last`
REMEMBERED = 16  # rows of the past; where labels come later than that, evenly spread ones
FADES = (0.0, 0.8)  # what a row leaves of the last errors and labels, two ways to remember them
KEPT = 0.995  # what a row leaves of all sums
TRUST_HELD = 10.0  # rows of the usual spread of g that speak for the score as it is
TIME_HELD = 3.0  # rows of the usual error that speak against what the last rows say
MOST_PHI = 0.98  # or rows sorted by class would never let go of a class
DOUBT = 7.0  # what evidence must outweigh
LEAST_SHARE = 0.1  # smaller ones are 0
MOST_VARIANCE, BLOCKS = 0.25, 5.0  # of a label; blocks like the present one that show it
NEVER = 1_000_000  # rows ago; nothing is left of what was known then


@kernel
def clipped(x):
    """Return x within 0 and 1: a score beyond is as right as one there."""
    return min(1.0, max(0.0, x))


@kernel
def stride_of(delay):
    """Return how many rows lie between two that are remembered."""
    return 1 + delay // (REMEMBERED - 1)


@kernel
def find_past(row, temporal):
    """Return the slot of what was known before a row, or -1."""
    slot = (row // stride_of(temporal.clock[DELAY])) % REMEMBERED
    return slot if row >= 0 and temporal.past_row[slot] == row + 1 else -1


@driver
def pass_rows(count, temporal):
    """Let rows go by; what is known before them is remembered, if it is their turn."""
    clock, ago, stride = temporal.clock, temporal.ago, stride_of(temporal.clock[DELAY])
    for row in range(clock[ROWS], clock[ROWS] + count):
        turn, slot = row % stride == 0, (row // stride) % REMEMBERED
        if turn:
            temporal.past_row[slot] = row + 1
        for k in range(ago.shape[0]):
            if turn:  # entry by entry: slices take seconds to compile
                temporal.past_ago[slot, k] = ago[k]
                for i in range(4):
                    temporal.past[slot, i, k] = temporal.last[i, k]
            ago[k] = min(ago[k] + 1, NEVER)
    clock[ROWS] += count


@kernel
def share_after(ratio):
    """Return how far a step is taken after this evidence."""
    share = 1.0 / (1.0 + np.exp(min(50.0, DOUBT - ratio)))
    return share if share >= LEAST_SHARE else 0.0


@driver
def read_temporal(temporal):
    """Return t of a_2, c of a_3, the shares of both steps, and phi.

    c is held to (1, 0, ...) with c_0 within 0 and 1; a row later, phi is left of what time adds.
    """
    sums, tally, evidence = temporal.sums, temporal.tally, temporal.evidence
    spread, error = 1.0, 1.0
    if tally[WEIGHT] > 0.0:
        spread, error = sums[0, 0] / tally[WEIGHT], tally[ERROR] / tally[WEIGHT]
    trust_held, time_held = TRUST_HELD * spread + TINY, TIME_HELD * error + TINY
    S, c = np.zeros((TARGET, TARGET)), np.zeros(TARGET)
    for first in range(2):  # the second time only if c_0 is at a limit; the others make the best
        for i in range(first, TARGET):
            for j in range(i + 1):
                S[i, j] = sums[i, j] if j >= first else 0.0
            S[i, i] += trust_held if i == 0 else time_held
            c[i] = sums[TARGET, i] - (c[0] * sums[i, 0] if first == 1 else 0.0)
        if first == 0:
            c[0] += trust_held
        else:
            S[0, 0] = 1.0
        solve_in_place(S, c)
        if 0.0 <= c[0] <= 1.0:
            break
        c[0] = clipped(c[0])
    t = clipped((sums[TARGET, 0] + trust_held) / (sums[0, 0] + trust_held))
    phi = share_of(tally, 1.0, 0.0) ** (1.0 / stride_of(temporal.clock[DELAY]))
    trusted, timed = share_after(evidence[TRUST, RATIO]), share_after(evidence[TIME, RATIO])
    return t, c, trusted, timed, min(MOST_PHI, phi)


@kernel
def answer_label(k, s, f, left, last, read, answers):
    """Write the three answers for label k; return what is answered.

    ``last`` are the last errors and labels; of what they say ``left`` is left.
    """
    t, c, trusted, timed, _ = read
    drawn, said = f + t * (s - f), f + c[0] * (s - f)
    for i in range(4):
        said += c[1 + i] * last[i, k]
    answers[0], answers[1], answers[2] = s, drawn, drawn + left * (said - drawn)
    base = s + trusted * (drawn - s)
    return base + timed * left * (said - base)


@driver
def answer_temporal(scores, ahead, temporal, out):
    """Answer rows, each ``ahead`` rows after the next one."""
    answers, read = np.zeros(3), read_temporal(temporal)
    for t in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            left = read[4] ** float(max(0, temporal.ago[k] - 1 + ahead[t] - temporal.clock[DELAY]))
            f = (temporal.ones[k] + 0.5) / (temporal.seen[k] + 1.0)
            out[t, k] = answer_label(k, scores[t, k], f, left, temporal.last, read, answers)


@kernel
def fade(sums, kept):
    """Forget some of the sums."""
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            sums[i, j] *= kept


@kernel
def learn_label(k, y, f, left, weight, answers, before, x, temporal):
    """Add a known label to the sums; ``before`` is what was known before its row."""
    sums = temporal.sums
    x[0], x[TARGET] = clipped(answers[0]) - f, y - f
    for i in range(4):
        x[1 + i] = left * before[i, k]
    for i in range(TARGET + 1):
        for j in range(i + 1):
            sums[i, j] += weight * x[i] * x[j]
    for i in range(2):
        step, error = clipped(answers[i + 1]) - clipped(answers[i]), y - clipped(answers[i + 1])
        temporal.evidence[i, MET] += weight * step * error
        temporal.evidence[i, OPEN] += weight * step * step
    temporal.tally[ERROR] += weight * (y - clipped(answers[2])) ** 2


@kernel
def weigh_steps(block, evidence):
    """Close a block of so many rows: they count for or against either step."""
    for i in range(2):
        ratio, noise, steps = evidence[i, RATIO], evidence[i, NOISE], evidence[i, STEPS]
        met, spread = evidence[i, MET], evidence[i, OPEN]
        few = BLOCKS * spread + TINY
        variance = (noise + block * MOST_VARIANCE * few) / (steps + few)
        evidence[i, RATIO] = ratio + (met + 0.5 * spread) / variance
        evidence[i, NOISE], evidence[i, STEPS] = noise + met * met, steps + spread
        evidence[i, MET] = evidence[i, OPEN] = 0.0


@kernel
def note_label(k, y, s, f, gone, phi, temporal):
    """Let a label of ``gone`` rows before the next one be the last, if it is newer."""
    last, ago = temporal.last, temporal.ago
    if ago[k] <= gone:
        return
    left = phi ** float(ago[k] - gone - 1)
    for i in range(4):
        stays, new = FADES[i // 2], y - (clipped(s) if i % 2 == 0 else f)
        last[i, k] = stays * left * last[i, k] + (1.0 - stays) * new
    ago[k] = gone


@driver
def follow_temporal(scores, Y, weights, own, late, temporal, out):
    """Answer rows that follow each other, and learn each before the next.

    ``own``: the labels of the rows have been counted in the frequencies, and are taken out first.
    ``late``: how many rows went by since they did, -1 if they have not gone by yet.
    """
    clock, tally, past, past_ago = temporal.clock, temporal.tally, temporal.past, temporal.past_ago
    x, answers = np.zeros(TARGET + 1), np.zeros(3)
    delay = clock[DELAY]
    for t in range(scores.shape[0]):
        weight, missing = weights[t], 0
        for k in range(scores.shape[1]):
            missing += np.isnan(Y[t, k])
        part = 1.0 - missing / scores.shape[1]
        if late < 0:
            pass_rows(1, temporal)
        # What was known before this row is what the answer went by.
        row = clock[ROWS] - 1 - (delay if late < 0 else late)
        slot = find_past(row, temporal) if late <= 2 * delay + 1 else -1
        earlier = find_past(row - stride_of(delay), temporal)
        read = read_temporal(temporal)
        phi, learns = read[4], slot >= 0 and part > 0.0 and weight > 0.0
        if learns:
            fade(temporal.sums, KEPT**part)
            fade(temporal.evidence, KEPT**part)
            for i in range(tally.shape[0]):
                tally[i] *= KEPT**part
            tally[WEIGHT] += weight * part
            tally[LATE] += weight * part * delay
        for k in range(scores.shape[1]):
            y, s = Y[t, k], scores[t, k]
            known = not np.isnan(y)
            if known and own:
                temporal.ones[k] -= weight * y
                temporal.seen[k] -= weight
            f = (temporal.ones[k] + 0.5) / (temporal.seen[k] + 1.0)
            left = phi ** float(past_ago[slot, k] - 1) if slot >= 0 else 0.0
            out[t, k] = answer_label(k, s, f, left, past[slot], read, answers)
            if not known or weight == 0.0:
                continue
            if learns:
                learn_label(k, y, f, left, weight, answers, past[slot], x, temporal)
                if earlier >= 0 and past_ago[slot, k] == 1:  # what time would have said then
                    answer_label(k, s, f, 1.0, past[earlier], read, answers)
                    step = answers[2] - answers[1]
                    tally[GAIN] += weight * step * (y - answers[1])
                    tally[SPREAD] += weight * step * step
            note_label(k, y, s, f, 1 + max(late, 0), phi, temporal)
            temporal.ones[k] += weight * y
            temporal.seen[k] += weight
        if clock[ROWS] >= clock[DUE]:
            weigh_steps(1 + delay, temporal.evidence)
            clock[DUE] = clock[ROWS] + 1 + delay
