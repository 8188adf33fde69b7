"""From scores to decisions and probabilities, row by row, and what their errors teach.

It comes after everything that makes scores, and nothing comes back: so a block of rows can be gone
through here after it was learned, as long as the rows stay in order.
"""

import numpy as np

from efcml._jit import kernel, kernel_part
from efcml.kernels.calibrate import calibrate_row, learn_calibration
from efcml.kernels.conditioning import condition, measure_sharpness
from efcml.kernels.constants import F1, SUBSET
from efcml.kernels.error_covariance import note_errors
from efcml.kernels.joint_decision import decide_set
from efcml.kernels.label_counts import count_row, find_thresholds

WILDEST = 1e3  # score; beyond, or NaN, planes run away, and their errors teach nothing


@kernel_part
def find_thresholds_for(decision, labels):
    """Find the thresholds by what is known so far, if decisions need any."""
    if decision == F1:
        find_thresholds(labels.thresholds, labels.thresholds.found)


@kernel
def decide_row(y, scores, given, decision, labels, decided):
    """Decide a row whose scores are ``given`` what is known of it, that is, not NaN in ``y``."""
    if decision == SUBSET:
        decide_set(y, scores, labels.together, decided)
        return
    found = labels.thresholds.found
    for k in range(decided.shape[0]):
        least = found[k] if decision == F1 else 0.5
        decided[k] = y[k]
        if np.isnan(y[k]):
            decided[k] = 1.0 if given[k] >= least else 0.0


@kernel
def label_row(y, scores, decision, labels, given, decided, probabilities):
    """Write scores given what is known of a row, decisions, and probabilities."""
    together = labels.together
    some = False
    for k in range(y.shape[0]):
        given[k] = scores[k]
        together.sharpness[k] = 1.0
        some = some or not np.isnan(y[k])
    if some:
        condition(y, together.covariance, together.left, given, together.matrix, together.line)
        covariance, left, matrix = together.covariance, together.left, together.matrix
        measure_sharpness(covariance, left, matrix, together.sharpness)
    calibrate_row(given, together.sharpness, labels.calibration, probabilities)
    for k in range(y.shape[0]):
        if not np.isnan(y[k]):
            probabilities[k] = y[k]
    decide_row(y, scores, given, decision, labels, decided)


@kernel
def label_rows(Y, scores, decision, labels, given, decided, probabilities):
    """Do `label_row` for every row; the state is only read."""
    find_thresholds_for(decision, labels)
    for t in range(scores.shape[0]):
        label_row(Y[t], scores[t], decision, labels, given[t], decided[t], probabilities[t])


@kernel
def note_row(y, scores, kept, labels):
    """Learn from the scores that a row had before it was learned; NaN in y is unknown."""
    together = labels.together
    errors, known, n_known = together.errors, together.known, 0
    for k in range(y.shape[0]):
        known[k] = not np.isnan(y[k]) and abs(scores[k]) <= WILDEST
        errors[k] = y[k] - scores[k] if known[k] else 0.0
        n_known += known[k]
    if n_known == 0:
        return
    note_errors(errors, known, n_known, kept, together)
    learn_calibration(scores, y, known, labels.calibration)
    count_row(scores, y, known, kept, labels.thresholds)


@kernel
def follow_rows(shown, learned, Y, kept, decision, labels, decided, probabilities):
    """Label the rows that are ``shown``, each before the row that was ``learned`` then is noted.

    Both are scores. ``shown`` may be shorter; ``kept`` is what each learned row leaves of those
    before it.
    """
    nothing, given = labels.together.nothing, labels.together.product
    for t in range(learned.shape[0]):
        if t < shown.shape[0]:
            find_thresholds_for(decision, labels)
            label_row(nothing, shown[t], decision, labels, given, decided[t], probabilities[t])
        note_row(Y[t], learned[t], kept[t], labels)
