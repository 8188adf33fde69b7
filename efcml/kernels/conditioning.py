"""What known labels say of the others: a Gaussian given some of its coordinates.

Labels are taken for a Gaussian around the scores, with the covariance of the errors. Each known
label changes scores and covariance of those that are left; after the last one they are what they
would be given all at once. Of the matrix the lower triangle is kept.
"""

import numpy as np

from efcml._jit import kernel, kernel_rare
from efcml.kernels.triangle import read_line

LEAST_OPEN = 1e-6  # share of a variance that stays open, at least; less is rounding


@kernel
def settle(label, value, left, scores, matrix, line):
    """Tell the labels that are ``left`` the value of one of them, which is then no longer left."""
    read_line(matrix, label, scores.shape[0], line)
    left[label] = False
    gap, pivot = value - scores[label], line[label]
    scores[label] = value
    if pivot <= 0.0:  # rounding: the others had said all about it
        return
    for i in range(scores.shape[0]):
        if left[i]:
            share, row = line[i] / pivot, matrix[i]
            scores[i] += share * gap
            for j in range(i + 1):
                if left[j]:
                    row[j] -= share * line[j]


@kernel_rare()
def condition(y, covariance, left, scores, matrix, line):
    """Turn scores into those given the labels that are not NaN in ``y``.

    Known labels become their own scores. ``matrix`` gets the covariance of those that are left.
    """
    K = y.shape[0]
    for i in range(K):
        left[i] = True
        for j in range(i + 1):
            matrix[i, j] = covariance[i, j]
    for i in range(K):
        if not np.isnan(y[i]):
            settle(i, y[i], left, scores, matrix, line)


@kernel_rare()
def measure_sharpness(covariance, left, matrix, sharpness):
    """Write by how much the deviation of each label was larger before others were known."""
    for i in range(sharpness.shape[0]):
        before = covariance[i, i]
        after = max(matrix[i, i], LEAST_OPEN * before)
        sharpness[i] = np.sqrt(before / after) if left[i] and before > 0.0 else 1.0
