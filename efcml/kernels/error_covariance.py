"""The covariance of the errors of all labels, and how far it is trusted (how_it_works.md 10).

Kept are the sums ``T`` of ``e e'`` and how many rows know each label, ``n``. With a diagonal prior
``v`` that counts for ``h = K + 2`` rows,

    E_ij = (T_ij + h v_i [i = j]) / sqrt((n_i + h) (n_j + h))

which is positive definite whichever labels are unknown. A label that few rows know together with
another is taken to be less correlated with it. What lies beside the diagonal counts by the share m,
found as in kernels/memory.py: ``d_k = e_k - (E^-1 e)_k / (E^-1)_kk`` is what the other labels say
of the error ``e_k``.

The matrices that answers need are derived anew from time to time. All are kept by their lower
triangle.
"""

import numpy as np

from efcml._jit import kernel, kernel_part, kernel_rare
from efcml.kernels.memory import brief_share, count_trial
from efcml.kernels.triangle import invert, multiply, scale_and_add_outer

ROWS, RENEWAL = 0, 1  # entries of `count`
GROWTH = 0.03  # of the rows that are remembered, after which the matrices are derived anew
MORE = 2.0  # rows that the prior counts beyond one for each label


@kernel_part
def prior_rows(n_labels):
    """Return for how many rows the prior counts."""
    return n_labels + MORE


@kernel
def derive_covariance(sums, rows, variance, matrix):
    """Write E, all of it trusted."""
    K = rows.shape[0]
    held = prior_rows(K)
    for i in range(K):
        for j in range(i + 1):
            matrix[i, j] = sums[i, j] / np.sqrt((rows[i] + held) * (rows[j] + held))
        matrix[i, i] += held * variance[i] / (rows[i] + held)


@kernel
def renew_matrices(together):
    """Derive from the sums what answers need: E by the share m, its inverse, and that of E."""
    K, matrix = together.rows.shape[0], together.covariance
    derive_covariance(together.sums, together.rows, together.variance, matrix)
    invert(matrix, together.precision, K, together.line)
    share, most = brief_share(together.trial), 0.0
    for i in range(K):
        most = max(most, together.rows[i])
        for j in range(i):
            matrix[i, j] *= share
    invert(matrix, together.form, K, together.line)
    together.count[RENEWAL] = together.count[ROWS] + 1 + max(K, int(GROWTH * most))


@kernel
def ask_others(errors, precision, size, product, said):
    """Write what all other labels say of the error of each, from the inverse of E."""
    multiply(precision, errors[:size], product)
    for i in range(size):
        said[i] = errors[i] - product[i] / precision[i, i]


@kernel_rare()
def ask_known_others(errors, known, together):
    """Do `ask_others` for a row that knows some labels: cubic in their number."""
    size, part, places = 0, together.part, together.places
    derive_covariance(together.sums, together.rows, together.variance, together.matrix)
    for i in range(known.shape[0]):
        together.said[i] = 0.0
        if known[i]:
            places[size], part[size] = i, errors[i]
            size += 1
    for a in range(size):
        for b in range(a + 1):
            together.matrix[a, b] = together.matrix[places[a], places[b]]
    invert(together.matrix, together.inverse, size, together.line)
    ask_others(part, together.inverse, size, together.product, together.line)
    for a in range(size):
        together.said[places[a]] = together.line[a]


@kernel
def note_errors(errors, known, n_known, kept, together):
    """Take in the errors (K,) of a row, 0 where a label is unknown; ``kept`` is left of the others.

    What the labels say of each other is asked before.
    """
    K = known.shape[0]
    if n_known == K:
        ask_others(errors, together.precision, K, together.product, together.said)
    else:
        ask_known_others(errors, known, together)
    count_trial(errors, together.said, known, 1.0, kept, together.trial)
    scale_and_add_outer(together.sums, errors, kept)
    for i in range(K):
        together.rows[i] = kept * together.rows[i] + known[i]
    together.count[ROWS] += 1
    if together.count[ROWS] >= together.count[RENEWAL]:
        renew_matrices(together)
