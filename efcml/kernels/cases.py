"""What remembered rows add to the answer of the rules (docs/how_it_works.md 6).

The errors of the rules are a Gaussian process over the scaled features. It is kept by its values at
a bounded number of remembered rows, the cases: their mean and covariance given all rows that were
learned, as in the kernel recursive least-squares tracker (Van Vaerenbergh et al. 2012). All labels
share the covariance. Slots behind the last case are zero; of matrices the lower triangle is kept.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_inline
from efcml.kernels.linalg import dot, find_least
from efcml.kernels.triangle import (
    add_outer,
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


@kernel
def compare_with_cases(x, cases):
    """Fill ``place``, which is x without far values, and its ``similar`` and ``share``.

    The rows of the cases have no far values either.
    """
    for i in range(x.shape[0]):
        cases.place[i] = min(FAR, max(-FAR, x[i]))
    size = cases.count[SIZE]
    measure_similarity(cases.place, cases.rows, size, cases.width, cases.similar)
    multiply(cases.inverse, cases.similar[:size], cases.share)


@kernel_fast
def read_answer(share, answer, size, scores):
    """Add what the cases say, each with its share, to the scores."""
    for j in range(size):
        for c in range(scores.shape[0]):
            scores[c] += share[j] * answer[j, c]


@kernel
def recall(x, cases, scores):
    """Add the expected error of the rules at x to their scores."""
    size = cases.count[SIZE]
    if size == 0:
        return
    compare_with_cases(x, cases)
    read_answer(cases.share, cases.answer, size, scores)


@kernel_inline
def forget(cases, forgetting):
    """Move the memory back towards what was expected before any row: no error anywhere."""
    bring_covariance(cases)
    root = np.sqrt(forgetting)
    for i in range(cases.count[SIZE]):
        for j in range(i + 1):
            kept = forgetting * cases.covariance[i, j]
            cases.covariance[i, j] = kept + (1.0 - forgetting) * cases.kernel[i, j]
        for c in range(cases.answer.shape[1]):
            cases.answer[i, c] *= root


@kernel_inline
def bring_covariance(cases):
    """Carry out the change of the covariance that waits, if any (as in kernels/waiting.py)."""
    if cases.waits[0]:
        multiply_covariance(cases)


@kernel_inline
def multiply_covariance(cases):
    """Fill ``gain``, the product of covariance and share, the change that waits carried out."""
    size = cases.count[SIZE]
    if not cases.waits[0]:
        cases.step[:size] = 0.0
    shrink_and_multiply(cases.covariance, cases.step[:size], cases.share[:size], cases.gain)
    cases.waits[0] = False


@kernel_inline
def clear_slot(slot, cases):
    """Take one case out; the others keep what they know.

    With zeros in the inverse its share is 0, so whatever else the slot holds counts no more.
    """
    inverse, size, step = cases.inverse, cases.count[SIZE], cases.step
    read_line(inverse, slot, size, step)
    root = 1.0 / np.sqrt(inverse[slot, slot])
    for j in range(size):
        step[j] *= root
    add_outer(inverse, step[:size], -1.0)
    write_line(inverse, slot, size, 0.0, step)


@kernel_inline
def fill_slot(slot, number, novelty, cases):
    """Remember the row behind ``place``, ``similar`` and ``share``; the share of the slot is 0."""
    inverse, share, size = cases.inverse, cases.share, cases.count[SIZE]
    root = 1.0 / np.sqrt(novelty)
    for j in range(size):
        cases.step[j] = root * share[j]
    add_outer(inverse, cases.step[:size], 1.0)
    write_line(inverse, slot, size, -1.0 / novelty, share)
    write_line(cases.kernel, slot, size, 1.0, cases.similar)
    inverse[slot, slot] = 1.0 / novelty
    cases.kernel[slot, slot] = 1.0
    for i in range(cases.place.shape[0]):
        cases.rows[slot, i] = cases.place[i]
    cases.age[slot] = number
    cases.count[CHANGES] += 1


@kernel_inline
def take_in(errors, known, n_known, variance, cases):
    """Let all cases learn the errors of a row at which their variance is ``variance``.

    ``gain`` must be the covariance of the cases with the row. The covariance is shared by the
    labels, so a row that knows some of them counts for that share there; each label learns from
    the rows that know it.
    """
    K, size = known.shape[0], cases.count[SIZE]
    root = 1.0 / np.sqrt(variance + cases.noise * K / n_known)
    for j in range(size):
        cases.step[j] = root * cases.gain[j]
    cases.waits[0] = True  # the covariance loses step step' when it is read next
    for c in range(errors.shape[0]):
        if known[c % K]:
            errors[c] = (errors[c] - cases.expected[c]) / (variance + cases.noise)
        else:
            errors[c] = 0.0
    for j in range(size):
        for c in range(errors.shape[0]):
            cases.answer[j, c] += cases.gain[j] * errors[c]


@kernel_inline
def read_expected(cases):
    """Fill ``expected`` for the row behind ``share``."""
    for c in range(cases.expected.shape[0]):
        cases.expected[c] = 0.0
    read_answer(cases.share, cases.answer, cases.count[SIZE], cases.expected)


@kernel_inline
def find_novelty(cases):
    """Return the variance that knowing all cases would leave to the error at the row."""
    size = cases.count[SIZE]
    return 1.0 - dot(cases.share[:size], cases.similar[:size])


@kernel_inline
def expect_errors(cases):
    """Fill ``expected`` and ``gain`` for the row behind ``similar`` and ``share``.

    Returns its novelty.
    """
    read_expected(cases)
    multiply_covariance(cases)
    return find_novelty(cases)


@kernel_inline
def known_variance(cases):
    """Return the variance of the error at the row behind ``share`` as far as cases carry it."""
    size = cases.count[SIZE]
    return dot(cases.share[:size], cases.gain[:size])


@kernel_inline
def open_slot(cases):
    """Return the slot behind the last case, which is in use from now on."""
    slot = cases.count[SIZE]
    cases.count[SIZE] += 1
    cases.similar[slot] = cases.share[slot] = 0.0
    return slot


@kernel_inline
def renew_slot(cases):
    """Take the oldest case out and return its slot; what is expected of the row is found anew."""
    size = cases.count[SIZE]
    slot = find_least(cases.age, size)
    clear_slot(slot, cases)
    multiply(cases.inverse, cases.similar[:size], cases.share)
    read_expected(cases)
    multiply(cases.covariance, cases.share[:size], cases.gain)  # nothing waits
    return slot


@kernel_inline
def make_case(slot, number, novelty, cases):
    """Make a case of the row that `expect_errors` was asked of, in an empty slot.

    The variance that the row's error has, given all rows learned so far, is returned.
    """
    variance = novelty + known_variance(cases)
    fill_slot(slot, number, novelty, cases)
    cases.gain[slot] = variance
    write_line(cases.covariance, slot, cases.count[SIZE], 1.0, cases.gain)
    for c in range(cases.answer.shape[1]):
        cases.answer[slot, c] = cases.expected[c]
    cases.count[PAUSE] = 0
    return variance


@kernel_inline
def remember(number, novelty, cases):
    """Make a case of the row that `expect_errors` was asked of, in place of the oldest if need be.

    The variance that the row's error has, given all rows learned so far, is returned.
    """
    if cases.count[SIZE] < cases.rows.shape[0]:
        slot = open_slot(cases)
    else:
        slot = renew_slot(cases)
        novelty = find_novelty(cases)
    variance = make_case(slot, number, novelty, cases)
    if cases.count[CHANGES] >= REFRESH:
        invert(cases.kernel, cases.inverse, cases.count[SIZE], cases.step)
        cases.count[CHANGES] = 0
    return variance


@kernel
def learn_case(errors, known, n_known, number, forgetting, cases):
    """Learn the errors (L,) that the rules made at a row, and remember it if it is its turn.

    The row must have been compared with the cases. ``errors`` is used up. ``number`` is the row's
    number in the stream.
    """
    if forgetting < 1.0:
        forget(cases, forgetting)
    count = cases.count
    novelty = expect_errors(cases)
    count[PAUSE] += 1
    turn = count[SIZE] < cases.rows.shape[0] or count[PAUSE] >= RENEWAL
    if turn and novelty > LEAST_NOVELTY:
        variance = remember(number, novelty, cases)
    else:
        variance = known_variance(cases)
    take_in(errors, known, n_known, variance, cases)


@kernel
def remember_rows(X, chosen, cases):
    """Take rows of a batch as cases, before any error is learned; there must be room for them."""
    for t in chosen:
        compare_with_cases(X[t], cases)
        novelty = expect_errors(cases)
        if novelty > LEAST_NOVELTY:
            slot = open_slot(cases)
            make_case(slot, t, novelty, cases)


@kernel
def learn_errors(X, errors, known, cases):
    """Let the cases learn the errors of all rows of a batch; ``errors`` is used up."""
    for t in range(X.shape[0]):
        n_known = 0
        for c in range(known.shape[1]):
            n_known += known[t, c]
        compare_with_cases(X[t], cases)
        expect_errors(cases)
        take_in(errors[t], known[t], n_known, known_variance(cases), cases)
    bring_covariance(cases)
