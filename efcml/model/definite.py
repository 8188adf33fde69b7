"""Symmetric positive definite matrices through LAPACK's Cholesky routines.

LAPACK counts columns first. The matrices here are symmetric, so their transpose is handed over:
the same matrix, in the order that needs no turning round.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from efcml.kernels.linalg import mirror


def whole(matrices):
    """Return symmetric matrices, of which the lower triangle is given, with both triangles."""
    result = np.array(matrices)
    for index in np.ndindex(result.shape[:-2]):
        mirror(result[index])
    return result


def factor(matrix):
    """Return the upper Cholesky factor (what lies below is not cleared) of a lower triangle."""
    upper, info = dpotrf(matrix.T, lower=0, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return upper


def invert(matrix):
    """Return the inverse, exactly symmetric."""
    return invert_factor(factor(matrix))


def invert_factor(upper):
    """Return the inverse of the matrix that ``upper`` is the factor of, exactly symmetric."""
    inverse = dpotri(upper, lower=0)[0].T
    mirror(inverse)
    return inverse


def squared_length(upper, e):
    """Return ``e' S^-1 e`` of the matrix S that ``upper`` is the factor of."""
    return e @ dpotrs(upper, e, lower=0)[0]


def log_det(upper):
    """Return the log-determinant of the matrix that ``upper`` is the factor of."""
    return 2.0 * np.log(np.diagonal(upper)).sum()
