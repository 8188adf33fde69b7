"""From scores to probabilities: a logistic curve that all labels share, bent for each of them.

    p_k = sigma(t_0 + d_k0 + (t_1 + d_k1) 4 (s_k - .5))

The four numbers of a label are found by Newton steps with the information kept from row to row:
first those that are shared, then the label's own, which are held to 0 more strongly. Information
fades towards that of the prior, so that the newest rows always count (how_it_works.md 10).
Information is kept as its three different entries.
"""

import numpy as np

from efcml._jit import kernel, kernel_part

LEVEL, SLOPE = 0, 1  # entries of `shared` and of a row of `own`
SHARED_PRIOR, OWN_PRIOR = 1.0, 20.0  # information before any row
KEPT = 0.995  # of the information, after a row
LEAST_SLOPE = 0.05  # probabilities rise with scores whatever was learned
LEAST_VARIANCE = 1e-6  # p (1 - p), below which a label would tell nothing
MIDDLE, STRETCH = 0.5, 4.0  # a score s goes in as 4 (s - .5): so its own logit rises at .5
FAR = 35.0  # logits beyond are 0 or 1, but for rounding


@kernel_part
def feature_of(score):
    """Return a score as the curve takes it."""
    return STRETCH * (score - MIDDLE)


@kernel_part
def logit_of(label, score, shared, own):
    """Return the logit that the curve of a label has at a score."""
    slope = max(shared[SLOPE] + own[label, SLOPE], LEAST_SLOPE)
    return shared[LEVEL] + own[label, LEVEL] + slope * feature_of(score)


@kernel_part
def probability_of(logit):
    """Return the probability of a logit."""
    return 1.0 / (1.0 + np.exp(-min(max(logit, -FAR), FAR)))


@kernel
def calibrate_row(scores, sharpness, calibration, probabilities):
    """Write the probability of every label; known others make it sharper (kernels/conditioning)."""
    for k in range(scores.shape[0]):
        logit = logit_of(k, scores[k], calibration.shared, calibration.own)
        probabilities[k] = probability_of(sharpness[k] * logit)


@kernel
def fade_information(kept, prior, information):
    """Move information towards that of the prior."""
    lost = (1.0 - kept) * prior
    information[0] = kept * information[0] + lost
    information[1] = kept * information[1]
    information[2] = kept * information[2] + lost


@kernel
def step(information, level, slope, curve):
    """Take the Newton step of a gradient (level, slope)."""
    a, b, c = information[0], information[1], information[2]
    size = 1.0 / (a * c - b * b)
    curve[LEVEL] += size * (c * level - b * slope)
    curve[SLOPE] += size * (a * slope - b * level)


@kernel_part
def add_information(variance, feature, information):
    """Add what one label tells."""
    information[0] += variance
    information[1] += variance * feature
    information[2] += variance * feature * feature


@kernel
def learn_calibration(scores, y, known, calibration):
    """Learn from a row how probable labels with such scores are."""
    shared, own, gaps = calibration.shared, calibration.own, calibration.gaps
    information = calibration.shared_information
    fade_information(KEPT, SHARED_PRIOR, information)
    level = slope = 0.0
    for k in range(known.shape[0]):
        if known[k]:
            p = probability_of(logit_of(k, scores[k], shared, own))
            feature, variance = feature_of(scores[k]), max(p * (1.0 - p), LEAST_VARIANCE)
            gaps[k] = y[k] - p
            level += gaps[k]
            slope += gaps[k] * feature
            add_information(variance, feature, information)
            fade_information(KEPT, OWN_PRIOR, calibration.own_information[k])
            add_information(variance, feature, calibration.own_information[k])
    step(information, level, slope, shared)
    for k in range(known.shape[0]):
        if known[k]:
            slope = gaps[k] * feature_of(scores[k])
            step(calibration.own_information[k], gaps[k], slope, own[k])
