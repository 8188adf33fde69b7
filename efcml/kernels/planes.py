"""Planes of the rules: what they say, how they learn, slow and fast memory, label sums.

W, B and W_0 are (labels, d), intercept last. All labels of a rule share P, G and Delta; where some
are unknown, `count_known` says what a row tells of each.
"""

from collections import namedtuple

from efcml._jit import driver, kernel, leaf
from efcml.kernels.linalg import add_outer, dot, multiply

SLOW, FAST = 0, 1  # the memories
GAIN, SPREAD, ERROR, WEIGHT = 0, 1, 2, 3  # entries of `trust_sums`
MET, USUAL = 1, 2  # entries of `echo`, besides GAIN: squares of the means, of an error
ECHO_KEPT = 0.99  # of the echo, after a row
DERIVE_EVERY = 256  # updates, after which P is derived anew: rounding adds up
LEVEL = 10.0  # rows of the means of the last errors
FAST_KEPT = 0.97  # of the fast memory after a row that the rule learns alone
FAST_TRUST_KEPT = 0.98  # likewise, of what tells how far it is trusted
ERRORS_AGAINST = 5.0  # squared errors of a row that speak against the fast memory
ALL_KNOWN = 1.0 - 1e-9  # a larger share is rounding
MOST_SHRINK = 1e7  # of P along a row in one update; it loses as many digits
DRIFTS, CALM = 0.5, 0.25  # share from which on a rule drifts, and below which it has ended
STEADY, DRIFTING, NEWS = 0, 1, 2  # values of `drifting`; news are an event to be noted
PARTED = 3  # likewise: the rule was split, and waits until it is calm
PARTING = PARTED + 200  # counted down: rows in which halves part, which is no drift of the stream

# What the memories of a rule have learned, or one of them
Memory = namedtuple("Memory", "P G Delta B W seen updates")


@leaf
def read_planes(row, W, heights):
    """Write the height of every plane at ``r = [x, 1]``."""
    for c in range(W.shape[0]):
        total = 0.0
        for i in range(row.shape[0]):
            total += row[i] * W[c, i]
        heights[c] = total


# How far something is trusted, by least squares on its last errors


@kernel
def share_of(trust_sums, against, towards):
    """Return ``m = (sum e d + h m_0) / (sum d^2 + h)``, ``h = against mean(e^2)``, within 0 and 1.

    e are errors, d what would be taken off them; without evidence the share is m_0 = ``towards``.
    """
    if trust_sums[WEIGHT] <= 0.0:
        return towards
    h = against * trust_sums[ERROR] / trust_sums[WEIGHT]
    length = trust_sums[SPREAD] + h
    if length <= 0.0:
        return towards
    return min(1.0, max(0.0, (trust_sums[GAIN] + h * towards) / length))


@kernel
def count_trust(errors, steps, expected, known, weight, keep, trust_sums):
    """Add a row to the sums of a share: errors so far, and what would be taken off them.

    Of both counts what was not ``expected`` (2, K), see `update_echo`.
    """
    for s in range(4):
        trust_sums[s] *= keep
    for c in range(known.shape[0]):
        if known[c]:
            error, step = errors[c] - expected[0, c], steps[c] - expected[1, c]
            trust_sums[GAIN] += weight * error * step
            trust_sums[SPREAD] += weight * step * step
            trust_sums[ERROR] += weight * error * error
    trust_sums[WEIGHT] += weight


@kernel
def update_echo(errors, steps, known, level, echo, expected):
    """Write what the last errors tell of these, and of what would be taken off them.

    Errors that follow each other, as a level of the labels that wanders leaves them, are no
    evidence for what learns quickly: what the last row says is found out later (temporal.py). A
    part c of the means of the last ones is expected, by least squares over all labels.
    """
    c, length = 0.0, echo[MET] + echo[USUAL]
    if length > 0.0:
        c = min(1.0, max(0.0, echo[GAIN] / length))
    for i in range(3):
        echo[i] *= ECHO_KEPT
    for k in range(known.shape[0]):
        expected[0, k], expected[1, k] = c * level[0, k], c * level[1, k]
        if known[k]:
            echo[GAIN] += errors[k] * level[0, k]
            echo[MET] += level[0, k] * level[0, k]
            echo[USUAL] += (1.0 - ECHO_KEPT) * errors[k] * errors[k]
            level[0, k] += (errors[k] - level[0, k]) / LEVEL
            level[1, k] += (steps[k] - level[1, k]) / LEVEL


@kernel
def answer(row, n_rules, W, trust_sums, heights, answers, shares):
    """Write what every rule says: ``W_slow + m (W_fast - W_slow)`` at the row.

    Heights of the planes (rules, memories, K) and the shares m are kept for learning.
    """
    last = W.shape[1] - 1
    for i in range(n_rules):
        shares[i] = share_of(trust_sums[i], ERRORS_AGAINST, 0.0)
        for m in range(last + 1):
            read_planes(row, W[i, m], heights[i, m])
        for c in range(answers.shape[1]):
            gap = heights[i, last, c] - heights[i, SLOW, c]
            answers[i, c] = heights[i, SLOW, c] + shares[i] * gap


@kernel
def note_drift(fact, share):
    """Mark a rule whose fast memory has come to be trusted, until it no longer is.

    A rule that was split learns to differ from its other half, first in the fast memory; it is
    quiet for a while, and until it is calm.
    """
    if fact.drifting > PARTED:
        fact.drifting -= 1
    elif fact.drifting == STEADY and share > DRIFTS:
        fact.drifting = NEWS
    elif fact.drifting != STEADY and share < CALM:
        fact.drifting = STEADY


# Learning


@kernel
def count_known(row, y, known, weight, keep, heights, memory, v, y_effective):
    """Write what the labels of a row count as, and count the known ones in ``seen`` (K,).

    Had a label a Hessian of its own, it would be about the share ``a = (seen + prior) / (G_dd +
    prior)`` of that of all rows. So an unknown label counts as what the plane says, which moves
    nothing, and the error of a known one as more, the rarer it is: as the step it would take alone,

        y - h  becomes  (y - h) (l + Psi q) / (l a + Psi q),   q = r'P r
    """
    q, d, seen, prior = -1.0, row.shape[0], memory.seen, memory.Delta[0]
    most = memory.G[d - 1, d - 1]
    for c in range(y.shape[0]):
        share = (seen[c] + prior) / (most + prior)
        y_effective[c] = y[c] if known[c] else heights[c]
        if known[c]:
            seen[c] = keep * seen[c] + weight
            if share < ALL_KNOWN:
                if q < 0.0:
                    multiply(memory.P, d, row, v)
                    q = max(0.0, weight * dot(row, v, d))
                counts = (keep + q) / (keep * share + q)
                y_effective[c] = heights[c] + (y[c] - heights[c]) * counts


@driver
def learn_planes(row, y, weight, keep, heights, P, W, v):
    """Learn a row by recursive fuzzily weighted least squares (eq. 9 to 11).

    With the weight Psi and ``l = forgetting^Psi``:

        g = Psi P r / (l + Psi r'P r),  W <- W + g (y - r'W),  P <- (P - g r'P) / l

    ``heights`` are r'W, ``v`` is a workspace. Returns whether P is to be derived anew from the
    sums, which others keep. Another update takes the same arguments.
    """
    d = row.shape[0]
    multiply(P, d, row, v)
    gain = weight / (keep + weight * dot(row, v, d))
    add_outer(P, d, 1.0 / keep, -gain / keep, v)
    for c in range(y.shape[0]):
        step = gain * (y[c] - heights[c])
        for i in range(d):
            W[c, i] += step * v[i]
    return weight > MOST_SHRINK * keep * gain


@kernel
def add_sums(row, y, weight, keep, G, Delta, B):
    """Add a row: ``G <- l G + Psi r r'``, ``B <- l B + Psi y r``, ``Delta <- l Delta``."""
    d = row.shape[0]
    add_outer(G, d, keep, weight, row)
    for i in range(d):
        Delta[i] *= keep
    for c in range(y.shape[0]):
        push = weight * y[c]
        for i in range(d):
            B[c, i] = keep * B[c, i] + push * row[i]


@kernel
def memory_of(rule, m):
    """Return what one memory of a rule has learned."""
    parts = rule.P[m], rule.G[m], rule.Delta[m], rule.B[m], rule.W[m], rule.seen[m]
    return Memory(*parts, rule.updates)


@kernel
def learn_memories(row, y, known, weight, kept, least_prior, heights, rule, v, y_effective):
    """Let all memories of a rule learn a row; ``kept`` is left of what the slow one knew before.

    Where rounding or forgetting leave too little, P is to be derived anew.
    """
    for m in range(rule.W.shape[0]):
        keep, memory = kept if m == SLOW else FAST_KEPT**weight, memory_of(rule, m)
        count_known(row, y, known, weight, keep, heights[m], memory, v, y_effective)
        lost = learn_planes(row, y_effective, weight, keep, heights[m], memory.P, memory.W, v)
        add_sums(row, y_effective, weight, keep, memory.G, memory.Delta, memory.B)
        due = lost or memory.Delta[0] < least_prior
        rule.updates[m] = DERIVE_EVERY if due else rule.updates[m] + 1


@kernel
def count_row(y, known, weight, keep, fact, label_sums):
    """Add a row to the weight of a rule, and to its label sums if there are any (3, K, K).

    They are over rows that know both labels of a pair.
    """
    fact.weight = keep * fact.weight + weight
    fact.penalty_age = keep * fact.penalty_age + weight
    fact.use += weight
    fact.unstepped += weight
    for c in range(label_sums.shape[1]):
        for k in range(label_sums.shape[1]):
            if known[c] and known[k]:
                for s, value in enumerate((1.0, y[c], y[c] * y[k])):
                    label_sums[s, c, k] = keep * label_sums[s, c, k] + weight * value
