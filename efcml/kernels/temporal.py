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
from efcml.kernels.linalg import TINY
from efcml.kernels.planes import ERROR, GAIN, SPREAD, WEIGHT, share_of

TRUST, TIME = 0, 1  # entries of `evidence`: the steps to a_2, and on to a_3
LOG_RATIO = 0  # of each: how much likelier labels were
GAINS_SQUARED, LENGTHS = 1, 2  # sums of (d'e)^2 and q over blocks of rows, for v
BLOCK_GAIN, BLOCK_LENGTH = 3, 4  # d'e and q of the present block
PASSED, DELAY, DUE = 0, 1, 2  # entries of `clock`
LATE = 4  # entry of `tally`: delays of the learned rows, added up
TARGET = 5  # row of `sums`: labels, after the score and four of `last`
T, TRUSTED, TIMED, PHI, C = 0, 1, 2, 3, 4  # entries of `reading`; c from C on
REMEMBERED = 16  # rows of the past; where labels come later than that, evenly spread ones
FADES = (0.0, 0.8)  # what a row leaves of the last errors and labels, two ways to remember them
SUMS_KEPT = 0.995  # what a row leaves of all sums
TRUST_HELD = 10.0  # rows of the usual spread of g that speak for the score as it is
TIME_HELD = 3.0  # rows of the usual error that speak against what the last rows say
MOST_PHI = 0.98  # or rows sorted by class would never let go of a class
OUTWEIGHED = 7.0  # what evidence must be more than
LEAST_SHARE = 0.1  # smaller ones are 0
MOST_VARIANCE, BLOCKS = 0.25, 5.0  # of a label; blocks like the present one that show it
LONG_AGO = 1_000_000  # rows; nothing is left of what was known then


@kernel
def clipped(x):
    """Return x within 0 and 1: a score beyond is as right as one there."""
    return min(1.0, max(0.0, x))


@driver
def pass_rows(count, stride, temporal):
    """Let rows go by; what is known before every ``stride``-th is remembered."""
    clock, ago, last = temporal.clock, temporal.ago, temporal.last
    for row in range(clock[PASSED], clock[PASSED] + count):
        if row % stride == 0:
            slot = (row // stride) % REMEMBERED
            temporal.past_row[slot] = row + 1
            for k in range(ago.shape[0]):  # entry by entry: slices take seconds to compile
                temporal.past_ago[slot, k] = ago[k]
                for i in range(4):
                    temporal.past[slot, i, k] = last[i, k]
        for k in range(ago.shape[0]):
            ago[k] += ago[k] < LONG_AGO
    clock[PASSED] += count


@kernel
def read_temporal(temporal, stride, S, reading):
    """Write t of a_2, c of a_3, the shares of both steps, and phi.

    c is held to (1, 0, ...) with c_0 within 0 and 1; a row later, phi is left of what time adds.
    """
    sums, tally = temporal.sums, temporal.tally
    spread, error = 1.0, 1.0
    if tally[WEIGHT] > 0.0:
        spread, error = sums[0, 0] / tally[WEIGHT], tally[ERROR] / tally[WEIGHT]
    for i in range(TARGET + 1):
        for j in range(i + 1):
            S[i, j] = sums[i, j]
        S[i, i] += (TRUST_HELD * spread if i == 0 else TIME_HELD * error) + TINY
    S[TARGET, 0] += TRUST_HELD * spread + TINY
    reading[T] = clipped(S[TARGET, 0] / S[0, 0])
    for i in range(TARGET - 1, 0, -1):  # eliminate c_i; at last c_0 is alone
        for j in range(i):
            share = S[i, j] / max(TINY, S[i, i])
            for r in range(j, i):
                S[r, j] -= share * S[i, r]
            S[TARGET, j] -= share * S[TARGET, i]
    for i in range(TARGET):  # where c_0 is held to a limit, the others make the best of it
        for j in range(i):
            S[TARGET, i] -= S[i, j] * reading[C + j]
        c = S[TARGET, i] / max(TINY, S[i, i])
        reading[C + i] = c if i > 0 else clipped(c)
    for i in range(2):
        doubt = min(50.0, OUTWEIGHED - temporal.evidence[i, LOG_RATIO])
        share = 1.0 / (1.0 + np.exp(doubt))
        reading[TRUSTED + i] = share if share >= LEAST_SHARE else 0.0
    reading[PHI] = min(MOST_PHI, share_of(tally, 1.0, 0.0) ** (1.0 / stride))


@kernel
def answer_label(k, s, f, left, last, reading, answers):
    """Write the three answers for label k; return what is answered.

    ``last`` are the last errors and labels; of what they say ``left`` is left.
    """
    drawn, said = f + reading[T] * (s - f), f + reading[C] * (s - f)
    for i in range(4):
        said += reading[C + 1 + i] * last[i, k]
    answers[0], answers[1], answers[2] = s, drawn, drawn + left * (said - drawn)
    base = s + reading[TRUSTED] * (drawn - s)
    return base + reading[TIMED] * left * (said - base)


@driver
def answer_temporal(scores, ahead, stride, temporal, scratch, out):
    """Answer rows, each ``ahead`` rows after the next one; the reading stays in ``scratch``."""
    S, reading, answers, _ = scratch
    read_temporal(temporal, stride, S, reading)
    for t in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            gone = max(0, temporal.ago[k] - 1 + ahead[t] - temporal.clock[DELAY])
            left = reading[PHI] ** float(gone)
            f = (temporal.ones[k] + 0.5) / (temporal.seen[k] + 1.0)
            out[t, k] = answer_label(k, scores[t, k], f, left, temporal.last, reading, answers)


@kernel
def fade(kept, sums, evidence, tally):
    """Forget a part of all sums."""
    for some in (sums, evidence):
        for i in range(some.shape[0]):
            for j in range(some.shape[1]):
                some[i, j] *= kept
    for i in range(tally.shape[0]):
        tally[i] *= kept


@kernel
def learn_label(k, y, f, left, weight, answers, before, x, temporal):
    """Add a known label to the sums; ``before`` is what was known before its row."""
    sums, evidence = temporal.sums, temporal.evidence
    x[0], x[TARGET] = clipped(answers[0]) - f, y - f
    for i in range(4):
        x[1 + i] = left * before[i, k]
    for i in range(TARGET + 1):
        for j in range(i + 1):
            sums[i, j] += weight * x[i] * x[j]
    for i in range(2):
        step, error = clipped(answers[i + 1]) - clipped(answers[i]), y - clipped(answers[i + 1])
        evidence[i, BLOCK_GAIN] += weight * step * error
        evidence[i, BLOCK_LENGTH] += weight * step * step
    temporal.tally[ERROR] += weight * (y - clipped(answers[2])) ** 2


@kernel
def weigh_steps(block, evidence):
    """Close a block of so many rows: they count for or against either step."""
    for i in range(2):
        gain, length = evidence[i, BLOCK_GAIN], evidence[i, BLOCK_LENGTH]
        few = BLOCKS * length + TINY
        chance = evidence[i, GAINS_SQUARED] + block * MOST_VARIANCE * few
        variance = chance / (evidence[i, LENGTHS] + few)
        evidence[i, LOG_RATIO] += (gain + 0.5 * length) / variance
        evidence[i, GAINS_SQUARED] += gain * gain
        evidence[i, LENGTHS] += length
        evidence[i, BLOCK_GAIN] = evidence[i, BLOCK_LENGTH] = 0.0


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
def follow_temporal(scores, Y, weights, own, late, stride, temporal, scratch, out):
    """Answer rows that follow each other, and learn each before the next.

    ``own``: the labels of the rows have been counted in the frequencies, and are taken out first.
    ``late``: how many rows went by since they did, -1 if they have not gone by yet.
    """
    clock, tally, evidence = temporal.clock, temporal.tally, temporal.evidence
    past, past_ago, delay = temporal.past, temporal.past_ago, clock[DELAY]
    S, reading, answers, x = scratch
    for t in range(scores.shape[0]):
        weight, missing = weights[t], 0
        for k in range(scores.shape[1]):
            missing += np.isnan(Y[t, k])
        part = 1.0 - missing / scores.shape[1]
        if late < 0:
            pass_rows(1, stride, temporal)
        read_temporal(temporal, stride, S, reading)
        # What was known before this row is what the answer went by; earlier, one stride before.
        row = clock[PASSED] - 1 - (delay if late < 0 else late)
        slot, earlier = (row // stride) % REMEMBERED, (row // stride - 1) % REMEMBERED
        recalled = late <= 2 * delay + 1 and 0 < row + 1 == temporal.past_row[slot]
        twice = 0 < row + 1 - stride == temporal.past_row[earlier]
        learns = recalled and part > 0.0 and weight > 0.0
        if learns:
            fade(SUMS_KEPT**part, temporal.sums, evidence, tally)
            tally[WEIGHT] += weight * part
            tally[LATE] += weight * part * delay
        for k in range(scores.shape[1]):
            y, s = Y[t, k], scores[t, k]
            known = not np.isnan(y)
            if known and own:
                temporal.ones[k] -= weight * y
                temporal.seen[k] -= weight
            f = (temporal.ones[k] + 0.5) / (temporal.seen[k] + 1.0)
            left = reading[PHI] ** float(past_ago[slot, k] - 1) if recalled else 0.0
            out[t, k] = answer_label(k, s, f, left, past[slot], reading, answers)
            if not known or weight == 0.0:
                continue
            if learns:
                learn_label(k, y, f, left, weight, answers, past[slot], x, temporal)
                if twice and past_ago[slot, k] == 1:  # what time would have said then
                    answer_label(k, s, f, 1.0, past[earlier], reading, answers)
                    step = answers[2] - answers[1]
                    tally[GAIN] += weight * step * (y - answers[1])
                    tally[SPREAD] += weight * step * step
            note_label(k, y, s, f, 1 + max(late, 0), reading[PHI], temporal)
            temporal.ones[k] += weight * y
            temporal.seen[k] += weight
        if clock[PASSED] >= clock[DUE]:
            weigh_steps(1 + delay, evidence)
            clock[DUE] = clock[PASSED] + 1 + delay
