"""How far the scores are trusted, and what the last rows say of the next.

With s the score, f the label frequencies, g = s - f and [.] for what is cut to 0 and 1, three
answers are made, and mixed by what each got wrong so far:

    a_1 = s,    a_2 = f + t g,    a_3 = f + c_0 g + sum_i c_l,i l_i + c_v,i v_i

l_i, v_i are the last errors y - [s] and labels y - f, of the last row and faded; t and c are those
of least squares over all labels, held to "the score as it is".

Labels may come some rows after the answer, the *delay*. Then a row teaches by what was known when
it was answered, of which some of the last rows are remembered.
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import TINY, solve_in_place

ERRORS, LABELS = 0, 1  # entries of `last`
ROWS, DELAY, LEARNED_AT = 0, 1, 2  # entries of `clock`
REMEMBERED = 16  # rows of the past; where labels come later than that, evenly spread ones
WEIGHT, ERROR, GAIN, SPREAD = 0, 1, 2, 3  # entries of `tally`: rows, their errors; sums of phi
FADES = (0.0, 0.8)  # what a row leaves of the last errors and labels, two ways to remember them
KEPT = 0.998  # what a row leaves of the sums of least squares
TRUST_HELD = 10.0  # rows of the usual spread of g that speak for the score as it is
TIME_HELD = 3.0  # rows of the usual error that speak against what the last rows say
MOST_PHI = 0.98  # or rows sorted by class would never let go of a class
LOSSES_KEPT = 0.995  # what a row leaves of the losses
LEANS = (0.0, -4.0, -5.0)  # logarithms of the shares before there is evidence
LEAST_SHARE = 0.1  # of the largest; smaller ones are 0
NEVER = 1_000_000  # rows ago; nothing is left of what was known then


@kernel
def clipped(x):
    """Return x within 0 and 1: a score beyond is as right as one there."""
    return min(1.0, max(0.0, x))


@kernel
def stride_of(delay):
    """Return how many rows lie between two that are remembered."""
    return 1 + delay // (REMEMBERED - 1)


@driver
def remember(last, ago, past, past_ago, past_row, clock):
    """Remember what is known before the next row, if it is its turn."""
    stride = stride_of(clock[DELAY])
    if clock[ROWS] % stride != 0:
        return
    slot = (clock[ROWS] // stride) % REMEMBERED
    past_row[slot] = clock[ROWS] + 1
    for k in range(ago.shape[0]):
        past_ago[slot, k] = ago[k]
        for i in range(2):
            for j in range(2):
                past[slot, i, j, k] = last[i, j, k]


@kernel
def find_past(row, past_row, delay):
    """Return the slot of what was known before a row, or -1."""
    stride = stride_of(delay)
    slot = (row // stride) % REMEMBERED
    return slot if row >= 0 and past_row[slot] == row + 1 else -1


@driver
def find_coefficients(moments, targets, tally, delay, S, c):
    """Write c of a_3, held to (1, 0, ...) with c_0 within 0 and 1; return t of a_2 and phi.

    A row later, phi is left of what the last rows say.
    """
    spread, error = 1.0, 1.0
    if tally[WEIGHT] > 0.0:
        spread, error = moments[0, 0] / tally[WEIGHT], tally[ERROR] / tally[WEIGHT]
    trust_held = TRUST_HELD * spread + TINY
    time_held = TIME_HELD * error + TINY
    for first in range(2):  # the second time only if c_0 is at a limit; the others make the best
        for i in range(c.shape[0]):
            for j in range(i + 1):
                S[i, j] = moments[i, j]
            S[i, i] += trust_held if i == 0 else time_held
            if i >= first:
                c[i] = targets[i] - (c[0] * moments[i, 0] if first == 1 else 0.0)
        if first == 0:
            c[0] += trust_held
        solve_in_place(first, S, c)
        if 0.0 <= c[0] <= 1.0:
            break
        c[0] = clipped(c[0])
    phi = 0.0
    if tally[SPREAD] > 0.0:
        phi = max(0.0, tally[GAIN] / (tally[SPREAD] + error)) ** (1.0 / stride_of(delay))
        phi = min(MOST_PHI, phi)
    return clipped((targets[0] + trust_held) / (moments[0, 0] + trust_held)), phi


@driver
def find_shares(losses, shares, plain):
    """Write ``exp(lean_i - L_i)`` of the answers, as shares, small ones are 0; without time too."""
    for i in range(3):
        shares[i] = LEANS[i] - losses[i]
        plain[i] = shares[i] if i < 2 else -np.inf
    for values in (shares, plain):
        top, total = max(values[0], max(values[1], values[2])), 0.0
        for i in range(3):
            share = np.exp(values[i] - top)
            values[i] = share if share >= LEAST_SHARE else 0.0
            total += values[i]
        for i in range(3):
            values[i] /= total


@kernel
def answer_label(k, s, f, left, t, c, known, shares, plain, a):
    """Write the three answers for label k; return the one without time, and what time adds.

    ``known`` are the last errors and labels, ``left`` is what is left of them.
    """
    a[0], a[1], a[2] = s, f + t * (s - f), f + c[0] * (s - f)
    for i in range(2):
        a[2] += left * (c[1 + 2 * i] * known[ERRORS, i, k] + c[2 + 2 * i] * known[LABELS, i, k])
    base = plain[0] * a[0] + plain[1] * a[1]
    if shares[2] == 0.0:
        return base, 0.0
    return base, shares[0] * a[0] + shares[1] * a[1] + shares[2] * a[2] - base


@kernel
def fade_sums(part, weight, moments, targets, tally, losses):
    """Forget some of the sums; a row of which a part of the labels is known counts as that part."""
    kept, losses_kept = KEPT**part, LOSSES_KEPT**part
    tally[GAIN] *= KEPT
    tally[SPREAD] *= KEPT
    tally[WEIGHT] = kept * tally[WEIGHT] + weight * part
    tally[ERROR] *= kept
    for i in range(5):
        targets[i] *= kept
        for j in range(5):
            moments[i, j] *= kept
    for i in range(3):
        losses[i] *= losses_kept


@kernel
def learn_label(k, y, s, f, left, weight, answers, before, x, moments, targets, tally, losses):
    """Add a known label to the sums and losses; ``before`` is what was known before its row."""
    x[0] = clipped(s) - f
    for i in range(2):
        x[1 + 2 * i] = left * before[ERRORS, i, k]
        x[2 + 2 * i] = left * before[LABELS, i, k]
    for i in range(5):
        targets[i] += weight * x[i] * (y - f)
        for j in range(5):
            moments[i, j] += weight * x[i] * x[j]
    for i in range(3):
        wrong = y - clipped(answers[i])
        losses[i] += weight * wrong * wrong
    tally[ERROR] += weight * (y - clipped(answers[2])) ** 2


@kernel
def note_label(k, y, s, f, gone, phi, last, ago):
    """Let a label of ``gone`` rows before the next one be the last, if it is newer."""
    if ago[k] <= gone:
        return
    left = phi ** float(ago[k] - gone - 1)
    for i in range(2):
        fade = FADES[i] * left
        last[ERRORS, i, k] = fade * last[ERRORS, i, k] + (1.0 - FADES[i]) * (y - clipped(s))
        last[LABELS, i, k] = fade * last[LABELS, i, k] + (1.0 - FADES[i]) * (y - f)
    ago[k] = gone


@kernel
def pass_row(last, ago, past, past_ago, past_row, clock):
    """Let a row go by."""
    remember(last, ago, past, past_ago, past_row, clock)
    clock[ROWS] += 1
    for k in range(ago.shape[0]):
        ago[k] = min(ago[k] + 1, NEVER)


@driver
def pass_rows(count, temporal):
    """Let rows go by of which nothing is learned."""
    for _ in range(count):
        pass_row(temporal[4], temporal[5], temporal[6], temporal[7], temporal[8], temporal[9])


@driver
def answer_temporal(scores, ahead, temporal, out):
    """Answer rows that follow each other, the first ``ahead`` rows after the next."""
    moments, targets, tally, losses, last, ago, _, _, _, clock, ones, seen = temporal
    K = ago.shape[0]
    S, c = np.zeros((5, 5)), np.zeros(5)
    shares, plain, answers = np.zeros(3), np.zeros(3), np.zeros(3)
    trust, phi = find_coefficients(moments, targets, tally, clock[DELAY], S, c)
    find_shares(losses, shares, plain)
    for t in range(scores.shape[0]):
        for k in range(K):
            beyond = ago[k] - 1 + t + ahead - clock[DELAY]
            left = phi ** float(beyond) if beyond > 0 else 1.0
            f = (ones[k] + 0.5) / (seen[k] + 1.0)
            s = scores[t, k]
            base, added = answer_label(k, s, f, 1.0, trust, c, last, shares, plain, answers)
            out[t, k] = base + left * added


@kernel
def count_known(y, weight, ones, seen):
    """Return how many labels are known, and add them to the frequencies."""
    n_known = 0
    for k in range(y.shape[0]):
        if not np.isnan(y[k]):
            n_known += 1
            ones[k] += weight * y[k]
            seen[k] += weight
    return n_known


@driver
def follow_temporal(scores, Y, weights, own, late, temporal, out):
    """Answer rows that follow each other, and learn each before the next.

    ``own``: the labels of the rows have been counted in the frequencies, and are taken out first.
    ``late``: how many rows went by since they did, -1 if they have not gone by yet.
    """
    moments, targets, tally, losses, last, ago, past, past_ago, past_row, clock, ones, seen = (
        temporal
    )
    n, K = scores.shape
    S, c, x = np.zeros((5, 5)), np.zeros(5), np.zeros(5)
    shares, plain, answers = np.zeros(3), np.zeros(3), np.zeros(3)
    f, left, delay = np.zeros(K), np.zeros(K), clock[DELAY]
    for t in range(n):
        weight = weights[t]
        n_known = count_known(Y[t], -weight if own else 0.0, ones, seen)
        if late < 0:
            pass_row(last, ago, past, past_ago, past_row, clock)
        # What was known before this row is what the answer went by.
        row = clock[ROWS] - 1 - (delay if late < 0 else late)
        slot = find_past(row, past_row, delay) if late <= 2 * delay + 1 else -1
        trust, phi = find_coefficients(moments, targets, tally, delay, S, c)
        find_shares(losses, shares, plain)
        known_then = past[max(slot, 0)]
        for k in range(K):
            left[k] = phi ** float(past_ago[slot, k] - 1) if slot >= 0 else 0.0
            f[k] = (ones[k] + 0.5) / (seen[k] + 1.0)
            s = scores[t, k]
            base, added = answer_label(
                k, s, f[k], 1.0, trust, c, known_then, shares, plain, answers
            )
            out[t, k] = base + left[k] * added
        if n_known == 0 or weight == 0.0:
            continue
        if slot >= 0:
            fade_sums(n_known / K, weight, moments, targets, tally, losses)
        earlier = find_past(row - stride_of(delay), past_row, delay)
        for k in range(K):
            y, s = Y[t, k], scores[t, k]
            if np.isnan(y):
                continue
            if slot >= 0:
                if earlier >= 0 and shares[2] > 0.0 and past_ago[slot, k] == 1:
                    # What time would have said some rows later
                    base, added = answer_label(
                        k, s, f[k], 1.0, trust, c, past[earlier], shares, plain, answers
                    )
                    tally[GAIN] += added * (y - base)
                    tally[SPREAD] += added * added
                answer_label(k, s, f[k], left[k], trust, c, known_then, shares, plain, answers)
                learn_label(
                    k, y, s, f[k], left[k], weight, answers, known_then, x, moments, targets, tally,
                    losses,
                )  # fmt: skip
            note_label(k, y, s, f[k], 1 + max(late, 0), phi, last, ago)
        count_known(Y[t], weight, ones, seen)
        least = min(losses[0], min(losses[1], losses[2]))
        for i in range(3):
            losses[i] -= least
