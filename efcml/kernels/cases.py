"""Remembered rows learn what the stages before get wrong: a Gaussian process on the errors.

The errors of a label are a Gaussian process with the covariance ``k(x, x') = exp(-|x - x'|^2 /
(2 p width))``; a row shows its error with the variance ``noise``. It is kept by the weights ``a``
of m remembered rows Z, ``score + k(Z, x)'a``, and their covariance A, before any row ``K^-1``: the
kernel recursive least-squares tracker (Van Vaerenbergh et al. 2012).
"""

import numpy as np

from efcml._jit import driver, kernel, leaf
from efcml.kernels.linalg import add_outer, dot, multiply
from efcml.kernels.planes import count_trust, share_of, update_echo

SIZE, CHANGES, SINCE_NEW, LEARNED = 0, 1, 2, 3  # entries of `count`
REPLACED = 5  # once the memory is full, every so many rows the oldest case is
LEAST_NOVELTY = 1e-3  # variance that the other cases leave open; below, a row is not worth a slot
FAR = 3.0  # scaled values beyond count as this: one wild value would make a row like no other
REFRESH = 1000  # changes after which the inverse is derived anew
OWED = 0.99  # forgetting waits until cases change, or until it is more than this
CASES_TRUST_KEPT = 0.99  # what a row leaves of what tells how far cases are trusted


@leaf
def compare(x, rows, size, width, similar):
    """Write the similarity k of every case to a row."""
    p = x.shape[0]
    for j in range(size):
        distance = 0.0
        for i in range(p):
            e = min(FAR, max(-FAR, x[i])) - rows[j, i]
            distance += e * e
        similar[j] = np.exp(-0.5 / (p * width) * distance)


@leaf
def recall(similar, weights, size, expected):
    """Write k'a."""
    for c in range(expected.shape[0]):
        expected[c] = 0.0
    for j in range(size):
        for c in range(expected.shape[0]):
            expected[c] += similar[j] * weights[j, c]


@leaf
def forget(A, inverse, size, kept, weights):
    """Move the memory back towards no error anywhere: ``A <- f A + (1 - f) K^-1, a <- f^1/2 a``."""
    for i in range(size):
        for j in range(i + 1):
            A[i, j] = kept * A[i, j] + (1.0 - kept) * inverse[i, j]
        for c in range(weights.shape[1]):
            weights[i, c] *= np.sqrt(kept)


@kernel
def leave_out(slot, size, inverse, weights, A, b, t):
    """Take a case out; the values at the others stay what they are.

    With b the column of K^-1 over its entry d on the diagonal:

        a <- a - b a_i,  K^-1 <- K^-1 - d b b',  A <- J A J' = A - b t' - t b',  J = I - b e_i'
    """
    for j in range(size):
        high, low = max(j, slot), min(j, slot)
        b[j], t[j] = inverse[high, low], A[high, low]
    d, own = b[slot], t[slot]
    for j in range(size):
        b[j] /= d
        t[j] -= 0.5 * own * b[j]
    for i in range(size):
        for j in range(i + 1):
            A[i, j] -= b[i] * t[j] + t[i] * b[j]
    add_outer(inverse, size, 1.0, -d, b)
    for j in range(size):
        high, low = max(j, slot), min(j, slot)
        A[high, low] = inverse[high, low] = 0.0
        if j != slot:
            for c in range(weights.shape[1]):
                weights[j, c] -= b[j] * weights[slot, c]
    for c in range(weights.shape[1]):
        weights[slot, c] = 0.0


@kernel
def remember(x, similar, Z, inverse, weights, A, age, count, scratch):
    """Make a row a case, if the others leave something open; it changes no answer.

    K^-1 and A grow by ``t t' / n``, with ``t = [s, -1]``, ``s = K^-1 k`` and ``n = 1 - s'k``, which
    is what the others leave open. Where there is no room the oldest case goes.
    """
    size, share = count[SIZE], scratch[0]
    multiply(inverse, size, similar, share)
    novelty, slot = 1.0 - dot(share, similar, size), size
    if novelty > LEAST_NOVELTY and size == Z.shape[0]:
        slot = size - 1
        for j in range(size - 1):
            if age[j] < age[slot]:
                slot = j
        leave_out(slot, size, inverse, weights, A, scratch[1], scratch[2])
        similar[slot] = 0.0
        multiply(inverse, size, similar, share)
        novelty = 1.0 - dot(share, similar, size)
    if novelty <= LEAST_NOVELTY:
        return
    size = max(size, slot + 1)
    share[slot], similar[slot] = -1.0, 1.0
    add_outer(inverse, size, 1.0, 1.0 / novelty, share)
    add_outer(A, size, 1.0, 1.0 / novelty, share)
    for i in range(x.shape[0]):
        Z[slot, i] = min(FAR, max(-FAR, x[i]))
    count[SIZE], count[SINCE_NEW] = size, 0
    count[CHANGES] += 1
    age[slot] = count[LEARNED]


@driver
def follow_cases(X, scores, Y, row_weights, row_retention, start, cases, steering, scratch, out):
    """Answer and learn rows from ``start`` on; return the row where K^-1 is to be derived anew.

    A row of weight 0 is only answered.

        g = A k,  v = k'g,  a <- a + g (e - k'a) / (v + noise),  A <- A - g g' / (v + noise)
    """
    Z, inverse, weights, A, age, count, owed, trust_sums, level, echo = cases
    width, noise, fade, against, towards, discounts_echo = steering
    known, errors, expected, echoed, similar, g, by_case = scratch
    m, K = Z.shape[0], Y.shape[1]
    for t in range(start, X.shape[0]):
        w, n_known = row_weights[t], 0
        compare(X[t], Z, count[SIZE], width, similar)
        recall(similar, weights, count[SIZE], expected)
        trust = share_of(trust_sums, against, towards)
        for c in range(K):
            out[t, c] = scores[t, c] + trust * expected[c]
            known[c] = not np.isnan(Y[t, c])
            errors[c] = Y[t, c] - scores[t, c]
            n_known += known[c]
        if n_known == 0 or w == 0.0:
            continue
        if discounts_echo:
            update_echo(errors, expected, known, level, echo, echoed)
        keep = CASES_TRUST_KEPT**w
        count_trust(errors, expected, echoed, known, w, keep, trust_sums)
        owed[0] *= min(row_retention[t], fade**w)
        count[SINCE_NEW] += 1
        count[LEARNED] += 1
        new = count[SIZE] < m or count[SINCE_NEW] >= REPLACED
        if owed[0] < OWED or (new and owed[0] < 1.0):
            forget(A, inverse, count[SIZE], owed[0], weights)
            owed[0] = 1.0
        if new:
            remember(X[t], similar, Z, inverse, weights, A, age, count, by_case)
        size = count[SIZE]
        recall(similar, weights, size, expected)
        multiply(A, size, similar, g)
        v = dot(similar, g, size)
        if v > 0.0:  # else rounding: there is nothing to learn
            own = noise / w
            # Labels share A: a row that knows some of them counts for that share.
            add_outer(A, size, 1.0, -1.0 / (v + own * K / n_known), g)
            for c in range(K):
                expected[c] = (errors[c] - expected[c]) / (v + own) if known[c] else 0.0
            for j in range(size):
                for c in range(K):
                    weights[j, c] += g[j] * expected[c]
        if count[CHANGES] >= REFRESH:
            return t + 1
    return X.shape[0]
