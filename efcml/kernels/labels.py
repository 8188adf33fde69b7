"""From scores to probabilities and decisions, and what their errors teach of the labels.

It comes after all stages and changes no score. Three parts: sums of the errors of labels (known
labels tell of others; the likeliest set), a logistic curve for each label (probabilities), and
counts by threshold (F1).
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.planes import count_trial

ROWS, RENEWAL = 0, 1  # entries of `clock`: rows, and at how many the matrices are derived anew
SHARED_PRIOR, OWN_PRIOR = 1.0, 20.0  # information of the curves before any row
CURVE_KEPT = 0.995  # of the information, after a row
LEAST_SLOPE, FAR = 0.05, 35.0  # probabilities rise with scores; logits beyond are 0 or 1
LEAST_VARIANCE = 1e-6  # p (1 - p), below which a label would tell nothing
LOWEST, STEP, N_THRESHOLDS = -0.1, 0.025, 41  # the grid of thresholds
F1_HELD = 20.0  # positives by which a label is held to all of them
WILDEST = 1e3  # score; beyond, planes run away, and their errors teach nothing
LEAST_GAIN = 1e-9  # of a flip, as a share of its own entry of the form; less is rounding


@kernel
def probability(k, score, sharpness, curve):
    """Return ``sigma(t_0 + d_k0 + (t_1 + d_k1) 4 (s - .5))``, t shared by all labels.

    Known labels make those of others sharper.
    """
    shared = curve.shape[0] - 1
    slope = max(curve[shared, 1] + curve[k, 1], LEAST_SLOPE)
    logit = sharpness * (curve[shared, 0] + curve[k, 0] + slope * 4.0 * (score - 0.5))
    return 1.0 / (1.0 + np.exp(-min(max(logit, -FAR), FAR)))


@driver
def write_probabilities(scores, sharpness, curve, chances):
    """Do `probability` for all rows and labels."""
    for t in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            chances[t, k] = probability(k, scores[t, k], sharpness[t, k], curve)


@kernel
def step_curve(information, level, slope, curve):
    """Take the Newton step of a gradient."""
    a, b, c = information[0], information[1], information[2]
    size = 1.0 / (a * c - b * b)
    curve[0] += size * (c * level - b * slope)
    curve[1] += size * (a * slope - b * level)


@kernel
def add_information(variance, x, information):
    """Add what one label tells of its curve at x."""
    information[0] += variance
    information[1] += variance * x
    information[2] += variance * x * x


@kernel
def learn_curves(y, scores, known, curve, information, gaps):
    """Take one Newton step of the shared curve, then of the own curve of every known label.

    Information fades towards that of the prior, so that the newest rows always count.
    """
    K, level, slope = known.shape[0], 0.0, 0.0
    for k in range(K + 1):
        if k == K or known[k]:
            lost = (1.0 - CURVE_KEPT) * (SHARED_PRIOR if k == K else OWN_PRIOR)
            for i in range(3):
                information[k, i] *= CURVE_KEPT
            information[k, 0] += lost
            information[k, 2] += lost
    for k in range(K):
        if known[k]:
            p, x = probability(k, scores[k], 1.0, curve), 4.0 * (scores[k] - 0.5)
            gaps[k] = y[k] - p
            level += gaps[k]
            slope += gaps[k] * x
            variance = max(p * (1.0 - p), LEAST_VARIANCE)
            add_information(variance, x, information[k])
            add_information(variance, x, information[K])
    step_curve(information[K], level, slope, curve[K])
    for k in range(K):
        if known[k]:
            step_curve(information[k], gaps[k], gaps[k] * 4.0 * (scores[k] - 0.5), curve[k])


@kernel
def count_thresholds(y, scores, known, kept, raised, hits, true):
    """Count at which thresholds each known label would have been raised, and rightly."""
    for k in range(known.shape[0]):
        true[k] = kept * true[k] + (y[k] if known[k] else 0.0)
        for g in range(N_THRESHOLDS):
            raises = known[k] and scores[k] >= LOWEST + STEP * g
            raised[k, g] = kept * raised[k, g] + raises
            hits[k, g] = kept * hits[k, g] + (y[k] if raises else 0.0)


@driver
def find_thresholds(raised, hits, true, found):
    """Write the threshold of every label with the largest F1, the lowest of equal ones.

        F1 = 2 (hits + h r) / (raised + h q + true + h)

    with the recall r of all labels together and what they raise for each true one, q.
    """
    K, total, best = true.shape[0], 0.0, np.zeros(true.shape[0])
    for k in range(K):
        total += true[k]
        found[k] = 0.5  # as long as no label was true
    total = max(total, 1.0)
    for g in range(N_THRESHOLDS):
        recall = effort = 0.0
        for k in range(K):
            recall += hits[k, g] / total
            effort += raised[k, g] / total
        for k in range(K):
            right = 2.0 * (hits[k, g] + F1_HELD * recall)
            value = right / (raised[k, g] + F1_HELD * effort + true[k] + F1_HELD)
            if value > best[k]:
                best[k], found[k] = value, LOWEST + STEP * g


@kernel
def count_errors(errors, known, kept, precision, sums, rows, trial, others):
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
    count_trial(errors, others, known, 1.0, kept, trial)
    for k in range(K):
        rows[k] = kept * rows[k] + known[k]
        for j in range(K):
            sums[k, j] = kept * sums[k, j] + errors[k] * errors[j]


@driver
def follow_labels(scores, Y, kept, start, by_f1, labels, chances, decided):
    """Write probabilities and decisions of rows, each before it is learned.

    Returns the row where E is to be derived anew.
    """
    sums, rows, _, trial, _, precision, _, curve, information, raised, hits, true, clock = labels
    n, K = Y.shape
    errors, others, gaps = np.zeros(K), np.zeros(K), np.zeros(K)
    known, least = np.zeros(K, np.bool_), np.zeros(K)
    for k in range(K):
        least[k] = 0.5
    for t in range(start, n):
        n_known = 0
        if by_f1:
            find_thresholds(raised, hits, true, least)
        for k in range(K):
            s = scores[t, k]
            chances[t, k] = probability(k, s, 1.0, curve)
            decided[t, k] = 1.0 if s >= least[k] else 0.0
            known[k] = not np.isnan(Y[t, k]) and abs(s) <= WILDEST
            errors[k] = Y[t, k] - s if known[k] else 0.0
            n_known += known[k]
        if n_known == 0:
            continue
        count_errors(errors, known, kept[t], precision, sums, rows, trial, others)
        learn_curves(Y[t], scores[t], known, curve, information, gaps)
        count_thresholds(Y[t], scores[t], known, kept[t], raised, hits, true)
        clock[ROWS] += 1
        if clock[ROWS] >= clock[RENEWAL]:
            return t + 1
    return n


@driver
def flip_while_better(scores, is_open, form, y):
    """Flip labels of every row, one or two at a time, while ``(y - s)' F (y - s)`` falls."""
    K, slope = y.shape[1], np.zeros(y.shape[1])
    for t in range(y.shape[0]):
        for _ in range(10 * K):  # rounding must not let it go round in circles
            for i in range(K):
                slope[i] = 0.0
                for j in range(K):
                    slope[i] += form[i, j] * (y[t, j] - scores[t, j])
            first, second, least = -1, -1, 0.0
            for i in range(K):
                a = 1.0 - 2.0 * y[t, i]
                alone = 2.0 * a * slope[i] + form[i, i]
                if is_open[t, i] and alone < min(least, -LEAST_GAIN * form[i, i]):
                    first, second, least = i, i, alone
                for j in range(i if is_open[t, i] else 0):
                    b = 1.0 - 2.0 * y[t, j]
                    both = alone + 2.0 * b * slope[j] + form[j, j] + 2.0 * a * b * form[i, j]
                    if is_open[t, j] and both < min(least, -LEAST_GAIN * form[i, i]):
                        first, second, least = i, j, both
            if first < 0:
                break
            y[t, first] = 1.0 - y[t, first]
            if second != first:
                y[t, second] = 1.0 - y[t, second]
