"""The set of labels that is most likely as a whole, ``decision="subset"`` (how_it_works.md 10).

It is the y of zeros and ones with the least ``(y - s)' F (y - s)``, where F is the inverse of the
covariance of errors. Single labels are flipped while that lowers the form, from two starts: every
label by itself, and the surest label first, then the surest given it, and so on. The better end is
taken. Labels that are known stay.
"""

import numpy as np

from efcml._jit import kernel, kernel_rare
from efcml.kernels.conditioning import condition, settle
from efcml.kernels.linalg import quadratic_form
from efcml.kernels.triangle import multiply, read_line

LEAST_GAIN = 1e-9  # of a flip, as a share of its own entry of F; less is rounding
ROUNDS = 10  # flips for each label, at most: rounding must not let them go round in circles


@kernel
def decide_alone(left, scores, labels):
    """Decide each label that is left from .5 on; the others are their scores."""
    for i in range(labels.shape[0]):
        labels[i] = scores[i]
        if left[i]:
            labels[i] = 1.0 if scores[i] >= 0.5 else 0.0


@kernel
def decide_greedily(left, scores, matrix, line, labels):
    """Decide the surest label, tell the others, and go on; what is given is used up."""
    K = labels.shape[0]
    for i in range(K):
        labels[i] = scores[i]
    for _ in range(K):
        surest = -1
        for i in range(K):
            if left[i] and (surest < 0 or abs(scores[i] - 0.5) > abs(scores[surest] - 0.5)):
                surest = i
        if surest < 0:
            return
        labels[surest] = 1.0 if scores[surest] >= 0.5 else 0.0
        settle(surest, labels[surest], left, scores, matrix, line)


@kernel
def measure_gaps(labels, scores, gaps):
    """Write ``y - s``."""
    for i in range(gaps.shape[0]):
        gaps[i] = labels[i] - scores[i]


@kernel
def flip_while_better(y, scores, form, labels, gaps, slope, line):
    """Flip single labels that are NaN in ``y``, the best first, while that lowers the form."""
    K = labels.shape[0]
    measure_gaps(labels, scores, gaps)
    multiply(form, gaps, slope)
    for _ in range(ROUNDS * K):
        best, least = -1, 0.0
        for i in range(K):
            if np.isnan(y[i]):
                change = 2.0 * (1.0 - 2.0 * labels[i]) * slope[i] + form[i, i]
                if change < min(least, -LEAST_GAIN * form[i, i]):
                    best, least = i, change
        if best < 0:
            return
        turn = 1.0 - 2.0 * labels[best]
        labels[best] += turn
        read_line(form, best, K, line)
        for i in range(K):
            slope[i] += turn * line[i]


@kernel_rare()
def decide_set(y, scores, together, labels):
    """Write the most likely set of labels, given those that are not NaN in ``y``."""
    K, form, gaps = labels.shape[0], together.form, together.part
    left, given, line, other = together.left, together.given, together.line, together.other
    for i in range(K):
        given[i] = scores[i]
    condition(y, together.covariance, left, given, together.matrix, line)
    decide_alone(left, given, labels)
    decide_greedily(left, given, together.matrix, line, other)
    flip_while_better(y, scores, form, labels, gaps, together.product, line)
    measure_gaps(labels, scores, gaps)
    alone = quadratic_form(form, gaps)
    flip_while_better(y, scores, form, other, gaps, together.product, line)
    measure_gaps(other, scores, gaps)
    if quadratic_form(form, gaps) < alone:
        for i in range(K):
            labels[i] = other[i]


@kernel
def decide_sets(Y, scores, together, labels):
    """Do `decide_set` for every row."""
    for t in range(scores.shape[0]):
        decide_set(Y[t], scores[t], together, labels[t])
