"""Symmetric positive definite matrices through LAPACK's Cholesky routines."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri


def factor(matrix):
    """Return the upper Cholesky factor (the lower triangle is not cleared)."""
    upper, info = dpotrf(matrix, lower=0, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return upper


def invert(matrix):
    """Return the inverse, exactly symmetric."""
    return invert_factor(factor(matrix))


def invert_factor(upper):
    """Return the inverse of the matrix that ``upper`` is the factor of, exactly symmetric."""
    inverse, _ = dpotri(upper, lower=0)
    inverse = np.triu(inverse)
    return inverse + np.triu(inverse, 1).T


def log_det(upper):
    """Return the log-determinant of the matrix that ``upper`` is the factor of."""
    return 2.0 * np.log(np.diagonal(upper)).sum()
