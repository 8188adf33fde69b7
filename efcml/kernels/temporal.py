"""How far the scores are trusted, and what the last rows say of the next.

With s the score, f the label frequencies, g = s - f and [.] for what is cut to 0 and 1, three
answers are made, and mixed by what each got wrong so far:

    a_1 = s,    a_2 = f + t g,    a_3 = f + c_0 g + sum_i c_l,i l_i + c_v,i v_i

l_i, v_i are the last errors y - [s] and labels y - f, of the last row and faded; t and c are those
of least squares over all labels, held to "the score as it is".
"""

import numpy as np

from efcml._jit import driver, kernel

ERRORS, LABELS, ERRORS_BEFORE, LABELS_BEFORE = 0, 1, 2, 3  # entries of `last`
WEIGHT, ERROR, GAIN, SPREAD = 0, 1, 2, 3  # entries of `tally`: rows, their errors; sums of phi
FADES = (0.0, 0.8)  # what a row leaves of the last errors and labels, two ways to remember them
KEPT = 0.998  # what a row leaves of the sums of least squares
TRUST_HELD = 10.0  # rows of the usual spread of g that speak for the score as it is
TIME_HELD = 3.0  # rows of the usual error that speak against what the last rows say
MOST_PHI = 0.98  # or rows sorted by class would never let go of a class
LOSSES_KEPT = 0.995  # what a row leaves of the losses
LEANS = (0.0, -2.4, -3.0)  # logarithms of the shares before there is evidence
LEAST_SHARE = 0.1  # of the largest; smaller ones are 0
NEVER = 1_000_000  # rows ago; nothing is left of what was known then
TINY = 1e-9


@kernel
def clipped(x):
    """Return x within 0 and 1: a score beyond is as right as one there."""
    return min(1.0, max(0.0, x))


@kernel
def solve_from(first, S, c):
    """Solve ``S x = c`` for the unknowns from ``first`` on, by Cholesky, in place of both."""
    n = c.shape[0]
    for j in range(first, n):
        for i in range(j, n):
            for k in range(first, j):
                S[i, j] -= S[i, k] * S[j, k]
            S[i, j] = np.sqrt(max(S[j, j], TINY)) if i == j else S[i, j] / S[j, j]
    for i in range(first, n):
        for k in range(first, i):
            c[i] -= S[i, k] * c[k]
        c[i] /= S[i, i]
    for i in range(n - 1, first - 1, -1):
        for k in range(i + 1, n):
            c[i] -= S[k, i] * c[k]
        c[i] /= S[i, i]


@driver
def find_coefficients(moments, targets, tally, S, c):
    """Write c of a_3, held to (1, 0, ...) with c_0 within 0 and 1; return t of a_2 and phi."""
    spread, error = 1.0, 1.0
    if tally[WEIGHT] > 0.0:
        spread, error = moments[0, 0] / tally[WEIGHT], tally[ERROR] / tally[WEIGHT]
    trust_held, time_held = TRUST_HELD * spread + TINY, TIME_HELD * error + TINY
    for first in range(2):  # the second time only if c_0 is at a limit; the others make the best
        for i in range(c.shape[0]):
            for j in range(i + 1):
                S[i, j] = moments[i, j]
            S[i, i] += trust_held if i == 0 else time_held
            if i >= first:
                c[i] = targets[i] - (c[0] * moments[i, 0] if first == 1 else 0.0)
        if first == 0:
            c[0] += trust_held
        solve_from(first, S, c)
        if 0.0 <= c[0] <= 1.0:
            break
        c[0] = clipped(c[0])
    phi = 0.0
    if tally[SPREAD] > 0.0:
        phi = min(MOST_PHI, max(0.0, tally[GAIN] / (tally[SPREAD] + error)))
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
def write_answers(k, s, f, left, t, c, errors, labels, answers):
    """Write the three answers for label k; ``left`` is what is left of the last row."""
    answers[0, k] = s
    answers[1, k] = f + t * (s - f)
    answers[2, k] = f + c[0] * (s - f)
    for i in range(2):
        answers[2, k] += left * (c[1 + 2 * i] * errors[i, k] + c[2 + 2 * i] * labels[i, k])


@kernel
def mix(k, shares, plain, answers):
    """Return the answer without time for label k, and what time adds to it."""
    base = plain[0] * answers[0, k] + plain[1] * answers[1, k]
    if shares[2] == 0.0:
        return base, 0.0
    mixed = shares[0] * answers[0, k] + shares[1] * answers[1, k] + shares[2] * answers[2, k]
    return base, mixed - base


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
def learn_label(k, y, s, f, left, weight, answers, x, moments, targets, tally, losses, last, ago):
    """Add a known label to the sums and losses, and remember it as the last."""
    x[0] = clipped(s) - f
    for i in range(2):
        x[1 + 2 * i] = left * last[ERRORS, i, k]
        x[2 + 2 * i] = left * last[LABELS, i, k]
    for i in range(5):
        targets[i] += weight * x[i] * (y - f)
        for j in range(5):
            moments[i, j] += weight * x[i] * x[j]
    for i in range(3):
        wrong = y - clipped(answers[i, k])
        losses[i] += weight * wrong * wrong
    tally[ERROR] += weight * (y - clipped(answers[2, k])) ** 2
    ago[k] = 1
    for i in range(2):
        fade = FADES[i]
        last[ERRORS_BEFORE, i, k] = last[ERRORS, i, k]
        last[LABELS_BEFORE, i, k] = last[LABELS, i, k]
        last[ERRORS, i, k] = fade * x[1 + 2 * i] + (1.0 - fade) * (y - clipped(s))
        last[LABELS, i, k] = fade * x[2 + 2 * i] + (1.0 - fade) * (y - f)


@driver
def follow_temporal(scores, Y, weights, learns, own, ahead, temporal, out):
    """Answer rows that follow each other and, if it ``learns``, learn each before the next.

    Without, the state is only read, and later rows know less of the last ones; the first comes
    ``ahead`` rows after the next. ``own``: the labels of the rows have been counted in the
    frequencies, and are taken out first.
    """
    moments, targets, tally, losses, last, ago, ones, seen = temporal
    n, K = scores.shape
    S, c, x = np.zeros((5, 5)), np.zeros(5), np.zeros(5)
    shares, plain, answers = np.zeros(3), np.zeros(3), np.zeros((3, K))
    f, left = np.zeros(K), np.zeros(K)
    for t in range(n):
        n_known, weight = 0, weights[t]
        for k in range(K):
            known = not np.isnan(Y[t, k])
            n_known += known
            if own and known:
                ones[k] -= weight * Y[t, k]
                seen[k] -= weight
        # Answer: base + phi^(h - 1) (mixture - base) by label, h rows after it was known
        trust, phi = find_coefficients(moments, targets, tally, S, c)
        find_shares(losses, shares, plain)
        for k in range(K):
            gone = ago[k] - 1 + (0 if learns else t + ahead)
            left[k] = 1.0 if gone == 0 else phi ** float(gone)
            f[k] = (ones[k] + 0.5) / (seen[k] + 1.0)
            write_answers(k, scores[t, k], f[k], 1.0, trust, c, last[ERRORS], last[LABELS], answers)
            base, added = mix(k, shares, plain, answers)
            out[t, k] = base + left[k] * added
        if not learns:
            continue
        if n_known == 0 or weight == 0.0:
            for k in range(K):
                ago[k] = min(ago[k] + 1, NEVER)
            continue
        fade_sums(n_known / K, weight, moments, targets, tally, losses)
        for k in range(K):
            y, s = Y[t, k], scores[t, k]
            if np.isnan(y):
                ago[k] = min(ago[k] + 1, NEVER)
                continue
            if shares[2] > 0.0 and ago[k] == 1:  # what time would have said a row later
                before = last[ERRORS_BEFORE], last[LABELS_BEFORE]
                write_answers(k, s, f[k], 1.0, trust, c, before[0], before[1], answers)
                base, added = mix(k, shares, plain, answers)
                tally[GAIN] += added * (y - base)
                tally[SPREAD] += added * added
            write_answers(k, s, f[k], left[k], trust, c, last[ERRORS], last[LABELS], answers)
            learn_label(
                k, y, s, f[k], left[k], weight, answers, x, moments, targets, tally, losses,
                last, ago,
            )  # fmt: skip
            ones[k] += weight * y
            seen[k] += weight
        least = min(losses[0], min(losses[1], losses[2]))
        for i in range(3):
            losses[i] -= least
