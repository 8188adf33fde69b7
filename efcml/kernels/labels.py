"""From scores to probabilities and decisions, and what their errors teach of the labels.

It comes after all stages and changes no score. Two parts: sums of the errors of labels (known
labels tell of others; the likeliest set), and a logistic curve for each label, which may bend
(probabilities).
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import solve_in_place
from efcml.kernels.planes import count_trial

ROWS, RENEWAL = 0, 1  # entries of `clock`: rows, and at how many the matrices are derived anew
SHARED_PRIOR, OWN_PRIOR = 1.0, 20.0  # information of the curves before any row
CURVE_KEPT = 0.995  # of the information, after a row
LEAST_SLOPE, FAR = 0.05, 35.0  # probabilities rise with scores; logits beyond are 0 or 1
LEAST_VARIANCE = 1e-6  # p (1 - p), below which a label would tell nothing
N_THRESHOLDS = 41  # by which decisions are counted
KNEE = 0.25  # score at which the slope of a curve may change
WILDEST = 1e3  # score; beyond, planes run away, and their errors teach nothing


@kernel
def probability(k, score, curve):
    """Return ``sigma(b_0 + b_1 min(u, 0) + b_2 max(u, 0))``, ``u = 4 (s - KNEE)``.

    b is what all labels share and what the label adds.
    """
    shared = curve.shape[0] - 1
    low = max(curve[shared, 1] + curve[k, 1], LEAST_SLOPE)
    high = max(curve[shared, 2] + curve[k, 2], LEAST_SLOPE)
    u = 4.0 * (score - KNEE)
    logit = curve[shared, 0] + curve[k, 0] + low * min(u, 0.0) + high * max(u, 0.0)
    return 1.0 / (1.0 + np.exp(-min(max(logit, -FAR), FAR)))


@kernel
def fade_information(prior, information):
    """Fade towards the information of the prior, so that the newest rows always count."""
    for i in range(3):
        for j in range(3):
            information[i, j] *= CURVE_KEPT
        information[i, i] += (1.0 - CURVE_KEPT) * prior


@kernel
def step_curve(information, gradient, S, curve):
    """Take the Newton step of a gradient, which is overwritten."""
    for i in range(3):
        for j in range(3):
            S[i, j] = information[i, j]
    solve_in_place(S, gradient)
    for i in range(3):
        curve[i] += gradient[i]


@kernel
def learn_curves(y, scores, known, weight, curve, information):
    """Take one Newton step of the own curve of every known label, then of the shared one."""
    K, x, S = known.shape[0], np.zeros(3), np.zeros((3, 3))
    own, shared = np.zeros(3), np.zeros(3)
    fade_information(SHARED_PRIOR, information[K])
    for k in range(K):
        if known[k]:
            p, u = probability(k, scores[k], curve), 4.0 * (scores[k] - KNEE)
            x[0], x[1], x[2] = 1.0, min(u, 0.0), max(u, 0.0)
            variance = weight * max(p * (1.0 - p), LEAST_VARIANCE)
            fade_information(OWN_PRIOR, information[k])
            for i in range(3):
                own[i] = weight * (y[k] - p) * x[i]
                shared[i] += own[i]
                for j in range(3):
                    information[k, i, j] += variance * x[i] * x[j]
                    information[K, i, j] += variance * x[i] * x[j]
            step_curve(information[k], own, S, curve[k])
    step_curve(information[K], shared, S, curve[K])


@kernel
def count_errors(errors, known, weight, kept, precision, sums, rows, trial, others):
    """Add the errors of a row, 0 where a label is unknown, to the sums of products.

    Before that, what the other labels say of each error is tried:
    d_k = e_k - (E^-1 e)_k / (E^-1)_kk
    """
    K = known.shape[0]
    for k in range(K):
        total = 0.0
        for j in range(K):
            total += precision[k, j] * errors[j]
        others[k] = errors[k] - total / precision[k, k]
    count_trial(errors, others, known, weight, kept, trial)
    for k in range(K):
        rows[k] = kept * rows[k] + (weight if known[k] else 0.0)
        for j in range(K):
            sums[k, j] = kept * sums[k, j] + weight * errors[k] * errors[j]


@driver
def follow_labels(scores, Y, weights, kept, start, labels, chances):
    """Write probabilities of rows, each before it is learned.

    Returns the row where E is to be derived anew.
    """
    sums, rows, _, trial, _, precision, _, curve, information, _, _, _, clock = labels
    n, K = Y.shape
    errors, others, known = np.zeros(K), np.zeros(K), np.zeros(K, np.bool_)
    for t in range(start, n):
        n_known = 0
        for k in range(K):
            s = scores[t, k]
            chances[t, k] = probability(k, s, curve)
            known[k] = not np.isnan(Y[t, k]) and abs(s) <= WILDEST
            errors[k] = Y[t, k] - s if known[k] else 0.0
            n_known += known[k]
        w = weights[t]
        if n_known == 0 or w == 0.0:
            continue
        count_errors(errors, known, w, kept[t], precision, sums, rows, trial, others)
        learn_curves(Y[t], scores[t], known, w, curve, information)
        clock[ROWS] += 1
        if clock[ROWS] >= clock[RENEWAL]:
            return t + 1
    return n
