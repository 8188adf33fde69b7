"""How far rules and cases are trusted, and what the last rows say of the next (how_it_works.md 9).

``s`` is the score of rules and cases, ``f`` the label frequencies, ``g = s - f``. Four answers are
kept: the score as it is; ``f + t g``; the same with a share of its own and what the last errors and
labels, of the last row and faded, say of the label; and that with what the last labels say of the
others. Each has a share by what it got wrong so far. Coefficients are those of least squares over
all labels, held to "the score as it is".

All of it is learned on the way. Where nothing speaks for the other answers, the first has the whole
share and a score stays what it is, to the last bit.
"""

import numpy as np

from efcml._jit import kernel, kernel_part
from efcml.kernels.linalg import dot
from efcml.kernels.triangle import multiply, shrink

AS_IT_IS, TRUSTED, TIMED, LINKED = 0, 1, 2, 3  # the answers
WEIGHT, ERROR = 0, 1  # entries of `tally`: rows, and their squared errors by the third answer
GAIN, SPREAD = 0, 1  # entries of `decay`
TRUST, PHI = 0, 1  # entries of `steering`

FADES = (0.0, 0.8)  # what a row leaves of the last errors and labels, two ways to remember them
KEPT = 0.998  # what a row leaves of the sums of least squares
TRUST_HELD = 10.0  # rows of the usual spread of g that speak for the score as it is
TIME_HELD = 3.0  # rows of the usual error that speak against what the last rows say
MOST_PHI = 0.98  # or rows sorted by class would never let go of a class
LOSSES_KEPT = 0.995  # what a row leaves of the losses
LEANS = (0.0, -2.4, -3.0, -5.0)  # logarithms of the shares before there is evidence
LEAST_SHARE = 0.1  # of the largest; smaller ones are 0, and so are all leans below it
LINKS_KEPT = 0.999  # what a row leaves of what last labels say of others
LINKS_HELD = 100.0  # rows of the usual variance of a label that speak for nothing
NEVER = 1_000_000  # rows ago; nothing is left of what was known then
TINY = 1e-9  # keeps the system of least squares solvable where nothing varies


@kernel_part
def clipped(x):
    """Return x within 0 and 1: a score beyond is as right as one there."""
    return min(1.0, max(0.0, x))


@kernel_part
def is_on(sequel):
    """Tell whether there is anything to do."""
    return sequel.trusts or sequel.times


@kernel_part
def takes_part(answer, sequel):
    """Tell whether an answer can have a share."""
    return answer == AS_IT_IS or (sequel.trusts if answer == TRUSTED else sequel.times)


# What steers the answers


@kernel
def load_system(trust_held, time_held, sequel):
    """Write the lower triangle of A and what holds the coefficients to (1, 0, 0, 0, 0)."""
    A, system = sequel.moments, sequel.system
    for i in range(system.shape[0]):
        for j in range(i + 1):
            system[i, j] = A[i, j]
        system[i, i] += trust_held if i == 0 else time_held


@kernel
def solve_from(first, system, c):
    """Solve ``system x = c`` for the unknowns from ``first`` on, by Cholesky, in place of c."""
    n = c.shape[0]
    for j in range(first, n):
        for i in range(j, n):
            value = system[i, j]
            for k in range(first, j):
                value -= system[i, k] * system[j, k]
            system[i, j] = np.sqrt(max(value, TINY)) if i == j else value / system[j, j]
    for i in range(first, n):
        for k in range(first, i):
            c[i] -= system[i, k] * c[k]
        c[i] /= system[i, i]
    for i in range(n - 1, first - 1, -1):
        for k in range(i + 1, n):
            c[i] -= system[k, i] * c[k]
        c[i] /= system[i, i]


@kernel
def find_coefficients(sequel):
    """Fill ``coefficients``, and trust and phi of ``steering``."""
    A, b, c = sequel.moments, sequel.targets, sequel.coefficients
    weight, spread, error = sequel.tally[WEIGHT], 1.0, 1.0
    if weight > 0.0:
        spread, error = A[0, 0] / weight, sequel.tally[ERROR] / weight
    trust_held, time_held = TRUST_HELD * spread + TINY, TIME_HELD * error + TINY
    load_system(trust_held, time_held, sequel)
    for i in range(c.shape[0]):
        c[i] = b[i]
    c[0] += trust_held
    solve_from(0, sequel.system, c)
    if not 0.0 <= c[0] <= 1.0:  # it stays at the limit, and the others make the best of it
        load_system(trust_held, time_held, sequel)
        c[0] = clipped(c[0])
        for i in range(1, c.shape[0]):
            c[i] = b[i] - c[0] * A[i, 0]
        solve_from(1, sequel.system, c)
    sequel.steering[TRUST] = clipped((b[0] + trust_held) / (A[0, 0] + trust_held))
    decay, phi = sequel.decay, 0.0
    if decay[SPREAD] > 0.0:
        phi = min(MOST_PHI, max(0.0, decay[GAIN] / (decay[SPREAD] + error)))
    sequel.steering[PHI] = phi


@kernel
def find_shares(count, sequel, shares):
    """Write the shares of the first ``count`` answers by what they got wrong; others have none."""
    top, total = -np.inf, 0.0
    for i in range(count):
        if takes_part(i, sequel):
            top = max(top, LEANS[i] - sequel.losses[i])
    for i in range(shares.shape[0]):
        shares[i] = 0.0
        if i < count and takes_part(i, sequel):
            share = np.exp(LEANS[i] - sequel.losses[i] - top)
            shares[i] = share if share >= LEAST_SHARE else 0.0
        total += shares[i]
    for i in range(shares.shape[0]):
        shares[i] /= total


@kernel
def steer(ahead, sequel):
    """Fill all that an answer ``ahead`` rows after the next is made with.

    ``left`` is what is left, by label, of what was last known; ``plain`` are the shares of the
    answers that know no time.
    """
    find_coefficients(sequel)
    find_shares(4, sequel, sequel.shares)
    find_shares(2, sequel, sequel.plain)
    for k in range(sequel.ago.shape[0]):
        gone = sequel.ago[k] - 1 + ahead
        sequel.left[k] = 1.0 if gone == 0 else sequel.steering[PHI] ** float(gone)
        sequel.frequencies[k] = (sequel.ones[k] + 0.5) / (sequel.seen[k] + 1.0)


# The answers


@kernel
def follow_links(labels, sequel):
    """Fill ``linked`` with what last labels (K,), each against its frequency, say of the others."""
    linked, links = sequel.linked, sequel.links
    for k in range(linked.shape[0]):
        linked[k] = 0.0
    for i in range(links.shape[0]):
        if labels[i] != 0.0:
            for k in range(links.shape[1]):
                linked[k] += labels[i] * links[i, k]


@kernel
def write_answers(errors, labels, sequel):
    """Fill ``answers`` (4, K) from last errors and labels, ``linked`` and the scores."""
    c, t, answers = sequel.coefficients, sequel.steering[TRUST], sequel.answers
    for k in range(answers.shape[1]):
        f, s = sequel.frequencies[k], sequel.scores[k]
        g = s - f
        timed = f + c[0] * g
        for i in range(errors.shape[0]):
            timed += c[1 + 2 * i] * errors[i, k] + c[2 + 2 * i] * labels[i, k]
        answers[AS_IT_IS, k] = s
        answers[TRUSTED, k] = f + t * g
        answers[TIMED, k] = timed
        answers[LINKED, k] = timed + sequel.linked[k]


@kernel_part
def mix(k, shares, answers):
    """Return the answers for one label by their shares."""
    return (
        shares[AS_IT_IS] * answers[AS_IT_IS, k]
        + shares[TRUSTED] * answers[TRUSTED, k]
        + shares[TIMED] * answers[TIMED, k]
        + shares[LINKED] * answers[LINKED, k]
    )


@kernel
def answer_sequel(ahead, sequel, scores):
    """Replace the scores of rules and cases at a row, ``ahead`` rows after the next.

    Rows that wait to be learned are between. What is known of time fades by label; what the last
    labels say of others, by the label that says it.
    """
    for k in range(scores.shape[0]):
        sequel.scores[k] = scores[k]
    steer(ahead + sequel.waiting[0], sequel)
    shares, plain, answers = sequel.shares, sequel.plain, sequel.answers
    timed = shares[TIMED] + shares[LINKED] > 0.0
    fade_last_labels(sequel)
    if shares[LINKED] > 0.0:
        follow_links(sequel.faded_labels[0], sequel)
    write_answers(sequel.errors, sequel.labels, sequel)
    for k in range(scores.shape[0]):
        base = mix(k, plain, answers)
        scores[k] = base
        if timed:
            said = shares[LINKED] * sequel.linked[k] if shares[LINKED] > 0.0 else 0.0
            scores[k] = base + sequel.left[k] * (mix(k, shares, answers) - said - base) + said


@kernel
def fade_last_labels(sequel):
    """Fill ``faded_labels`` and ``faded_errors`` with what is left of the last ones."""
    for i in range(sequel.errors.shape[0]):
        for k in range(sequel.errors.shape[1]):
            sequel.faded_errors[i, k] = sequel.left[k] * sequel.errors[i, k]
            sequel.faded_labels[i, k] = sequel.left[k] * sequel.labels[i, k]


# Learning


@kernel
def count_decay(y, known, sequel):
    """Count how much of what time says is left a row later, for phi.

    The answers are those that the row before the last would have led to, for the labels that were
    known in the last row.
    """
    shares, decay, answers = sequel.shares, sequel.decay, sequel.answers
    decay[GAIN] *= KEPT
    decay[SPREAD] *= KEPT
    if shares[TIMED] + shares[LINKED] == 0.0:
        return
    if shares[LINKED] > 0.0:
        follow_links(sequel.labels_before[0], sequel)
    write_answers(sequel.errors_before, sequel.labels_before, sequel)
    for k in range(y.shape[0]):
        if known[k] and sequel.ago[k] == 1:
            base = mix(k, sequel.plain, answers)
            said = mix(k, shares, answers) - base
            decay[GAIN] += said * (y[k] - base)
            decay[SPREAD] += said * said


@kernel
def count_moments(k, target, sequel):
    """Add one label to the sums of least squares; the lower triangle is enough here."""
    x, A, b, weight = sequel.inputs, sequel.moments, sequel.targets, sequel.amount[0]
    x[0] = clipped(sequel.scores[k]) - sequel.frequencies[k]
    for i in range(sequel.faded_errors.shape[0]):
        x[1 + 2 * i] = sequel.faded_errors[i, k]
        x[2 + 2 * i] = sequel.faded_labels[i, k]
    for i in range(x.shape[0]):
        b[i] += weight * (x[i] * target)
        for j in range(i + 1):
            A[i, j] += weight * (x[i] * x[j])


@kernel
def fade_sums(part, sequel):
    """Forget some of the sums; a row of which a part of the labels is known counts as that part.

    Its weight is how much it adds, not how much it makes forget.
    """
    kept, losses_kept = KEPT**part, LOSSES_KEPT**part
    for i in range(sequel.moments.shape[0]):
        sequel.targets[i] *= kept
        for j in range(i + 1):
            sequel.moments[i, j] *= kept
    sequel.tally[WEIGHT] = kept * sequel.tally[WEIGHT] + sequel.amount[0] * part
    sequel.tally[ERROR] *= kept
    for i in range(sequel.losses.shape[0]):
        sequel.losses[i] *= losses_kept


@kernel
def count_row(y, known, sequel):
    """Add the known labels of a row to the sums and losses; ``answers`` are those to the row."""
    losses, answers, weight = sequel.losses, sequel.answers, sequel.amount[0]
    for k in range(y.shape[0]):
        if known[k]:
            count_moments(k, y[k] - sequel.frequencies[k], sequel)
            for i in range(losses.shape[0]):
                wrong = y[k] - clipped(answers[i, k])
                losses[i] += weight * (wrong * wrong)
                if i == TIMED:
                    sequel.tally[ERROR] += weight * (wrong * wrong)
    least = min(min(losses[0], losses[1]), min(losses[2], losses[3]))
    for i in range(losses.shape[0]):
        losses[i] -= least
    for i in range(sequel.moments.shape[0]):
        for j in range(i):
            sequel.moments[j, i] = sequel.moments[i, j]


@kernel
def learn_links(y, known, part, sequel):
    """Let the links learn what the last answer got wrong: recursive least squares, forgetting."""
    links, P, gain, v = sequel.links, sequel.link_covariance, sequel.gain, sequel.faded_labels[0]
    K, root = links.shape[0], np.sqrt(LINKS_KEPT)
    for i in range(K):
        for j in range(i + 1):
            P[i, j] *= LINKS_KEPT
        P[i, i] += (1.0 - LINKS_KEPT) * sequel.link_start[0]
    multiply(P, v, gain)
    size = 1.0 + dot(v, gain)
    for i in range(K):
        for k in range(K):
            links[i, k] *= root
            if known[k]:
                links[i, k] += gain[i] / size * (y[k] - sequel.answers[LINKED, k])
    for i in range(K):
        gain[i] *= np.sqrt(part / size)
    shrink(P, gain, 1.0)


@kernel
def note_last_row(y, known, sequel):
    """Remember errors and labels of a row; unknown labels keep what they had, and grow older."""
    errors, labels = sequel.errors, sequel.labels
    for k in range(y.shape[0]):
        if not known[k]:
            sequel.ago[k] = min(sequel.ago[k] + 1, NEVER)
            continue
        sequel.ago[k] = 1
        error, label = y[k] - clipped(sequel.scores[k]), y[k] - sequel.frequencies[k]
        for i in range(errors.shape[0]):
            sequel.errors_before[i, k], sequel.labels_before[i, k] = errors[i, k], labels[i, k]
            fade = FADES[i]
            errors[i, k] = fade * sequel.faded_errors[i, k] + (1.0 - fade) * error
            labels[i, k] = fade * sequel.faded_labels[i, k] + (1.0 - fade) * label


@kernel
def count_labels(y, known, sequel):
    """Count the known labels of a row."""
    for k in range(y.shape[0]):
        if known[k]:
            sequel.ones[k] += sequel.amount[0] * y[k]
            sequel.seen[k] += sequel.amount[0]


@kernel
def learn_sequel(y, known, n_known, sequel):
    """Learn a row of which ``scores`` are those of rules and cases, before they learned it."""
    steer(0, sequel)
    part = n_known / y.shape[0]
    if sequel.times:
        count_decay(y, known, sequel)
    fade_last_labels(sequel)
    follow_links(sequel.faded_labels[0], sequel)
    write_answers(sequel.faded_errors, sequel.faded_labels, sequel)
    fade_sums(part, sequel)
    count_row(y, known, sequel)
    if sequel.times:
        learn_links(y, known, part, sequel)
        note_last_row(y, known, sequel)
    count_labels(y, known, sequel)


@kernel
def pass_row(sequel):
    """Let a row go by of which no label is known."""
    if sequel.times:
        for k in range(sequel.ago.shape[0]):
            sequel.ago[k] = min(sequel.ago[k] + 1, NEVER)


@kernel
def begin_sequel(scores, Y, known, amounts, sequel):
    """Learn the rows of a batch, whose labels have been counted already, as a first stream.

    ``scores`` are those of models that have not learned the row; nor have its frequencies.
    """
    for t in range(Y.shape[0]):
        n_known, weight = 0, amounts[t] if t < amounts.shape[0] else 1.0
        sequel.amount[0] = weight
        for k in range(Y.shape[1]):
            sequel.scores[k] = scores[t, k]
            if known[t, k]:
                n_known += 1
                sequel.ones[k] -= weight * Y[t, k]
                sequel.seen[k] -= weight
        learn_sequel(Y[t], known[t], n_known, sequel)
