"""From scores to probabilities and decisions, and what their errors teach of the labels.

It comes after all stages and changes no score. Two parts: sums of the errors of labels (known
labels tell of others; the likeliest set), and a logistic curve for each label, which may bend
(probabilities).
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import TINY
from efcml.kernels.planes import count_trust

LEARNED, RENEWAL = 0, 1  # entries of `clock`: rows, and at how many the matrices are derived anew
SHARED_PRIOR, OWN_PRIOR = 1.0, 20.0  # information of the curves before any row
CURVE_KEPT = 0.995  # of the information, after a row
LEAST_SLOPE, MOST_LOGIT = 0.05, 35.0  # probabilities rise with scores; beyond, they are 0 or 1
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
    return 1.0 / (1.0 + np.exp(-min(max(logit, -MOST_LOGIT), MOST_LOGIT)))


@kernel
def step_curve(k, prior, gradient, information, curve):
    """Take the Newton step of a gradient; then the newest rows count more than older ones.

        b <- b + I^-1 gradient,  I <- l I + (1 - l) prior

    A score lies below the knee or above it, and tells of one slope: I_12 = 0.
    """
    below, above = information[k, 1, 1], information[k, 2, 2]
    to_below, to_above = information[k, 1, 0] / below, information[k, 2, 0] / above
    open_ = information[k, 0, 0]
    open_ -= to_below * information[k, 1, 0] + to_above * information[k, 2, 0]
    level = gradient[0] - to_below * gradient[1] - to_above * gradient[2]
    level /= max(TINY, open_)
    curve[k, 0] += level
    curve[k, 1] += gradient[1] / below - to_below * level
    curve[k, 2] += gradient[2] / above - to_above * level
    for i in range(3):
        for j in range(i + 1):
            information[k, i, j] *= CURVE_KEPT
        information[k, i, i] += (1.0 - CURVE_KEPT) * prior


@kernel
def count_errors(errors, known, weight, kept, precision, sums, rows, trust_sums, others):
    """Add the errors of a row, 0 where a label is unknown, to the sums of products.

    Before that, what the other labels say of each error is tried:
    d_k = e_k - (E^-1 e)_k / (E^-1)_kk
    """
    K = known.shape[0]
    for k in range(K):
        total = 0.0
        for j in range(K):
            total += precision[k, j] * errors[j]
        others[0, k] = errors[k] - total / precision[k, k]
    count_trust(errors, others[0], others[1:], known, weight, kept, trust_sums)
    for k in range(K):
        rows[k] = kept * rows[k] + (weight if known[k] else 0.0)
        for j in range(K):
            sums[k, j] = kept * sums[k, j] + weight * errors[k] * errors[j]


@driver
def follow_labels(scores, Y, weights, kept, start, labels, scratch, chances):
    """Write probabilities of rows, each before it is learned.

    The own curve of every known label takes one Newton step, then the shared one. Returns the row
    where E is to be derived anew.
    """
    sums, rows, trust_sums, precision, curve, information, clock = labels
    known, errors, others, x, own, shared = scratch
    n, K = Y.shape
    for t in range(start, n):
        w, n_known = weights[t], 0
        for k in range(K):
            s = scores[t, k]
            chances[t, k] = probability(k, s, curve)
            known[k] = not np.isnan(Y[t, k]) and abs(s) <= WILDEST
            errors[k] = Y[t, k] - s if known[k] else 0.0
            n_known += known[k]
        if n_known == 0 or w == 0.0:
            continue
        count_errors(errors, known, w, kept[t], precision, sums, rows, trust_sums, others)
        shared[0] = shared[1] = shared[2] = 0.0
        for k in range(K):
            if not known[k]:
                continue
            p, u = chances[t, k], 4.0 * (scores[t, k] - KNEE)
            x[0], x[1], x[2] = 1.0, min(u, 0.0), max(u, 0.0)
            variance = w * max(p * (1.0 - p), LEAST_VARIANCE)
            for i in range(3):
                own[i] = w * (Y[t, k] - p) * x[i]
                shared[i] += own[i]
                for j in range(i + 1):
                    information[k, i, j] += variance * x[i] * x[j]
                    information[K, i, j] += variance * x[i] * x[j]
            step_curve(k, OWN_PRIOR, own, information, curve)
        step_curve(K, SHARED_PRIOR, shared, information, curve)
        clock[LEARNED] += 1
        if clock[LEARNED] >= clock[RENEWAL]:
            return t + 1
    return n
