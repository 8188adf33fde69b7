"""What remembered rows add to the answer of the rules (docs/how_it_works.md 6).

The errors of the rules are a Gaussian process over the scaled features. It is kept by a bounded
number of remembered rows, the cases, as in the kernel recursive least-squares tracker (Van
Vaerenbergh et al. 2012), but by the weights of the cases rather than by the values there: mean and
covariance of the ``a`` in ``k(x)'a``, where ``k(x)`` is how similar each case is to x. An answer
then needs no matrix, and a row one. All labels share the covariance. Slots behind the last case are
zero; of matrices the lower triangle is kept.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast
from efcml.kernels.linalg import dot, find_least
from efcml.kernels.triangle import (
    add_outer,
    exchange,
    invert,
    multiply,
    read_line,
    shrink_and_multiply,
    write_line,
)

SIZE, CHANGES, PAUSE = 0, 1, 2  # entries of `count`
RENEWAL = 5  # once the memory is full, every so many rows the oldest case is replaced
LEAST_NOVELTY = 1e-3  # variance that the other cases leave open; below, a row is not worth a slot
FAR = 3.0  # scaled values beyond count as this: one wild value would make a row like no other
REFRESH = 1000  # changes after which the inverse is derived anew: its rounding errors add up


@kernel_fast
def measure_similarity(place, rows, size, width, similar):
    """Write the similarity ``exp(-|place - row|^2 / (2 p width))`` of every case."""
    p = place.shape[0]
    scale = -0.5 / (p * width)
    for j in range(size):
        distance = 0.0
        for i in range(p):
            e = place[i] - rows[j, i]
            distance += e * e
        similar[j] = np.exp(scale * distance)


@kernel_fast
def read_weights(similar, weights, size, expected):
    """Write what the cases say, each by its similarity and its weights."""
    for c in range(expected.shape[0]):
        expected[c] = 0.0
    for j in range(size):
        for c in range(expected.shape[0]):
            expected[c] += similar[j] * weights[j, c]


@kernel
def compare_with_cases(x, cases):
    """Fill ``place``, which is x without far values, ``similar`` and ``expected``.

    The rows of the cases had no far values when they came; the scale may have changed since.
    """
    for i in range(x.shape[0]):
        cases.place[i] = min(FAR, max(-FAR, x[i]))
    size = cases.count[SIZE]
    measure_similarity(cases.place, cases.rows, size, cases.width, cases.similar)
    read_weights(cases.similar, cases.weights, size, cases.expected)


@kernel
def recall(x, cases, scores):
    """Add the expected error of the rules at x to their scores."""
    if cases.rows.shape[0] > 0:
        compare_with_cases(x, cases)
        for c in range(scores.shape[0]):
            scores[c] += cases.expected[c]


@kernel
def forget(cases, forgetting):
    """Move the memory back towards what was expected before any row: no error anywhere."""
    bring_covariance(cases)
    root = np.sqrt(forgetting)
    for i in range(cases.count[SIZE]):
        for j in range(i + 1):
            kept = forgetting * cases.covariance[i, j]
            cases.covariance[i, j] = kept + (1.0 - forgetting) * cases.inverse[i, j]
        for c in range(cases.weights.shape[1]):
            cases.weights[i, c] *= root
    for c in range(cases.expected.shape[0]):
        cases.expected[c] *= root


@kernel
def bring_covariance(cases):
    """Carry out the change of the covariance that waits, if any (as in kernels/waiting.py)."""
    if cases.waits[0]:
        multiply_covariance(cases)


@kernel
def multiply_covariance(cases):
    """Fill ``gain``, the product of covariance and similarity; what waits is carried out."""
    size = cases.count[SIZE]
    if not cases.waits[0]:
        for i in range(size):
            cases.step[i] = 0.0
    shrink_and_multiply(cases.covariance, cases.step[:size], cases.similar[:size], cases.gain)
    cases.waits[0] = False


@kernel
def find_share(cases):
    """Fill ``share``, with which values at the cases would imply the one at the row.

    Returns its novelty: the variance that knowing all those values would leave open.
    """
    size = cases.count[SIZE]
    multiply(cases.inverse, cases.similar[:size], cases.share)
    return 1.0 - dot(cases.share[:size], cases.similar[:size])


@kernel
def known_variance(cases):
    """Return the variance of the error at the row as far as cases carry it."""
    size = cases.count[SIZE]
    return dot(cases.similar[:size], cases.gain[:size])


@kernel
def write_case(slot, number, cases):
    """Take the row into a slot; its similarity to itself is 1, its weights begin at 0."""
    cases.similar[slot] = 1.0
    write_line(cases.kernel, slot, cases.count[SIZE], 1.0, cases.similar)
    for i in range(cases.place.shape[0]):
        cases.rows[slot, i] = cases.place[i]
    cases.age[slot] = number
    cases.count[CHANGES] += 1
    cases.count[PAUSE] = 0


@kernel
def scale_share(slot, novelty, cases):
    """Fill ``step`` with what a case in this slot adds to inverse and covariance: step step'."""
    root = 1.0 / np.sqrt(novelty)
    cases.share[slot] = -1.0
    for j in range(cases.count[SIZE]):
        cases.step[j] = root * cases.share[j]


@kernel
def open_slot(number, novelty, cases):
    """Make a case of the row, in the slot behind the last one."""
    slot = cases.count[SIZE]
    cases.count[SIZE] = size = slot + 1
    cases.gain[slot] = 0.0
    scale_share(slot, novelty, cases)
    add_outer(cases.inverse, cases.step[:size])
    add_outer(cases.covariance, cases.step[:size])
    write_case(slot, number, cases)


@kernel
def leave_out(slot, cases):
    """Take a case out of all vectors; the values at the others stay what they are.

    With ``b`` its line in the inverse, the inverse loses ``b b' / b_i`` and the covariance becomes
    ``(I - b e_i'/b_i) A (I - e_i b'/b_i)``. Both changes have the form ``b t' + t b'``. Afterwards
    ``line`` is b and ``turn`` is the t of the covariance; that of the inverse is ``-b / (2 b_i)``.
    """
    size, b, turn, weights = cases.count[SIZE], cases.line, cases.turn, cases.weights
    read_line(cases.inverse, slot, size, b)
    read_line(cases.covariance, slot, size, turn)
    scale = 1.0 / b[slot]
    own = turn[slot] * scale
    moved = cases.share[slot] * scale
    lost = cases.gain[slot] * scale - moved * own
    for j in range(size):
        cases.gain[j] -= lost * b[j] + moved * turn[j]
        cases.share[j] -= moved * b[j]
        turn[j] = scale * (0.5 * own * b[j] - turn[j])
        if j != slot:
            for c in range(weights.shape[1]):
                weights[j, c] -= scale * b[j] * weights[slot, c]
    for c in range(weights.shape[1]):
        cases.expected[c] -= moved * weights[slot, c]
        weights[slot, c] = 0.0
    cases.share[slot] = cases.gain[slot] = cases.similar[slot] = 0.0


@kernel
def renew_slot(number, cases):
    """Make a case of the row in place of the oldest; return the novelty it then has."""
    size, step, line, turn = cases.count[SIZE], cases.step, cases.line, cases.turn
    slot = find_least(cases.age, size)
    leave_out(slot, cases)
    novelty = 1.0 - dot(cases.share[:size], cases.similar[:size])
    scale_share(slot, novelty, cases)
    exchange(cases.covariance, line[:size], turn, step)
    half = -0.5 / line[slot]
    for j in range(size):
        turn[j] = half * line[j]
    exchange(cases.inverse, line[:size], turn, step)
    root = step[slot]  # of the slot's line nothing old is left, not even its rounding
    write_line(cases.covariance, slot, size, root, step)
    write_line(cases.inverse, slot, size, root, step)
    write_case(slot, number, cases)
    return novelty


@kernel
def remember(number, novelty, cases):
    """Make a case of the row, in place of the oldest if need be.

    ``share`` and ``gain`` are used up; the gain becomes that of all cases, the new one included.
    The variance that the row's error has, given all rows learned so far, is returned.
    """
    if cases.count[SIZE] < cases.rows.shape[0]:
        variance = known_variance(cases)
        open_slot(number, novelty, cases)
    else:
        novelty = renew_slot(number, cases)
        variance = known_variance(cases)  # the gain of the new case is still 0
    for j in range(cases.count[SIZE]):
        cases.gain[j] -= cases.share[j]
    if cases.count[CHANGES] >= REFRESH:
        invert(cases.kernel, cases.inverse, cases.count[SIZE], cases.step)
        cases.count[CHANGES] = 0
    return variance + novelty


@kernel
def take_in(errors, known, n_known, variance, cases):
    """Let all cases learn the errors of a row at which their variance is ``variance``.

    ``gain`` must be the covariance of the weights with the row. It is shared by the labels, so a
    row that knows some of them counts for that share there; each label learns from the rows that
    know it. At a row of weight w the noise is divided by w. Where rounding leaves no variance there
    is nothing to learn: to go on would let what is below zero grow, without end.
    """
    K, size, noise = known.shape[0], cases.count[SIZE], cases.noise / cases.amount[0]
    if variance <= 0.0:
        return
    root = 1.0 / np.sqrt(variance + noise * K / n_known)
    for j in range(size):
        cases.step[j] = root * cases.gain[j]
    cases.waits[0] = True  # the covariance loses step step' when it is read next
    for c in range(errors.shape[0]):
        if known[c % K]:
            errors[c] = (errors[c] - cases.expected[c]) / (variance + noise)
        else:
            errors[c] = 0.0
    for j in range(size):
        for c in range(errors.shape[0]):
            cases.weights[j, c] += cases.gain[j] * errors[c]


@kernel
def learn_case(errors, known, n_known, number, forgetting, cases):
    """Learn the errors (L,) that the rules made at a row, and remember it if it is its turn.

    The row must have been compared with the cases. ``errors`` is used up. ``number`` is the row's
    number in the stream.
    """
    if forgetting < 1.0:
        forget(cases, forgetting)
    count = cases.count
    multiply_covariance(cases)
    count[PAUSE] += 1
    novelty = 0.0
    if count[SIZE] < cases.rows.shape[0] or count[PAUSE] >= RENEWAL:
        novelty = find_share(cases)
    if novelty > LEAST_NOVELTY:
        variance = remember(number, novelty, cases)
    else:
        variance = known_variance(cases)
    take_in(errors, known, n_known, variance, cases)


@kernel
def remember_rows(X, chosen, cases):
    """Take rows of a batch as cases, before any error is learned; there must be room for them."""
    for t in chosen:
        compare_with_cases(X[t], cases)
        novelty = find_share(cases)
        if novelty > LEAST_NOVELTY:
            open_slot(t, novelty, cases)


@kernel
def learn_errors(X, errors, known, amounts, cases):
    """Let the cases learn the errors of all rows of a batch; ``errors`` is used up.

    Without ``amounts`` all rows have the weight 1.
    """
    for t in range(X.shape[0]):
        cases.amount[0] = amounts[t] if t < amounts.shape[0] else 1.0
        n_known = 0.0
        for c in range(known.shape[1]):
            n_known += known[t, c]
        compare_with_cases(X[t], cases)
        multiply_covariance(cases)
        take_in(errors[t], known[t], n_known, known_variance(cases), cases)
    bring_covariance(cases)


@kernel
def learn_batch(X, chosen, errors, known, amounts, cases):
    """Take the chosen rows of a batch as cases, then learn the errors of all."""
    remember_rows(X, chosen, cases)
    learn_errors(X, errors, known, amounts, cases)
