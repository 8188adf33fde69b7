"""Symmetric positive definite matrices through LAPACK's Cholesky routines.

LAPACK counts columns first. The matrices here are symmetric, so their transpose is handed over:
the same matrix, in the order that needs no turning round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from efcml.kernels.linalg import mirror

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def whole(matrices: Floats) -> Floats:
    """Return symmetric matrices, of which the lower triangle is given, with both triangles."""
    result = np.array(matrices)
    for index in np.ndindex(result.shape[:-2]):
        mirror(result[index])
    return result


def factor(matrix: Floats) -> Floats:
    """Return the upper Cholesky factor (what lies below is not cleared) of a lower triangle."""
    upper, info = dpotrf(matrix.T, lower=0, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return upper


def invert(matrix: Floats) -> Floats:
    """Return the inverse, exactly symmetric."""
    return invert_factor(factor(matrix))


def invert_factor(upper: Floats) -> Floats:
    """Return the inverse of the matrix that ``upper`` is the factor of, exactly symmetric."""
    inverse = dpotri(upper, lower=0)[0].T
    mirror(inverse)
    return inverse


def squared_length(upper: Floats, e: Floats) -> float:
    """Return ``e' S^-1 e`` of the matrix S that ``upper`` is the factor of."""
    return e @ dpotrs(upper, e, lower=0)[0]


def solve_factored(upper: Floats, B: Floats) -> Floats:
    """Return ``S^-1 B`` of the matrix S that ``upper`` is the factor of."""
    return dpotrs(upper, B, lower=0)[0]


def log_det(upper: Floats) -> float:
    """Return the log-determinant of the matrix that ``upper`` is the factor of."""
    return 2.0 * np.log(np.diagonal(upper)).sum()
