"""Correlation-aware, L1-regularised correction of one rule's consequents (how_it_works.md 4).

The penalty matrix M comes from the rule's own weighted label correlation. A proximal step needs an
upper bound of the curvature ``lambda_max(G + Delta)``: one step of power iteration per row, started
where the last one ended, with a margin; a step that shows it to be too low is taken back.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_numpy
from efcml.kernels.constants import LAPLACIAN, RAW, SHIFT, SIGNED
from efcml.kernels.linalg import dot
from efcml.kernels.triangle import multiply

MARGIN = 1.1  # power iteration approaches the largest eigenvalue from below
NO_VARIANCE = 1e-12  # a label with less variance than this is constant in the rule


@kernel
def correlate(label_cov, label_weight, corr):
    """Write the weighted label correlation; 0 where a label is constant, never 0/0."""
    K = label_cov.shape[0]
    pairs = label_weight.shape[0] > 1
    for c in range(K):
        for k in range(c, K):
            g = c if pairs else 0
            if c == k:
                corr[c, k] = 1.0
                continue
            value = 0.0
            total = label_weight[g, k]
            own_c = label_weight[c if pairs else 0, c]
            own_k = label_weight[k if pairs else 0, k]
            if total > 0.0 and own_c > 0.0 and own_k > 0.0:
                var_c = label_cov[c, c] / own_c
                var_k = label_cov[k, k] / own_k
                if var_c >= NO_VARIANCE and var_k >= NO_VARIANCE:
                    value = label_cov[c, k] / total / np.sqrt(var_c * var_k)
            corr[c, k] = min(1.0, max(-1.0, value))
            corr[k, c] = corr[c, k]


@kernel
def shape_penalty(mode, corr, penalty):
    """Turn a correlation matrix into the penalty M, "shift" without its shift."""
    K = corr.shape[0]
    for c in range(K):
        degree = 0.0
        for k in range(K):
            if mode == SHIFT or mode == RAW:
                penalty[c, k] = 1.0 - corr[c, k]
            else:
                strength = 0.0
                if c != k:
                    strength = corr[c, k]
                    if mode == LAPLACIAN:
                        strength = max(strength, 0.0)
                degree += abs(strength)
                penalty[c, k] = -strength
        if mode == LAPLACIAN or mode == SIGNED:
            penalty[c, c] = degree
        else:
            penalty[c, c] = 0.0


@kernel
def shift_penalty(mode, values, penalty):
    """Shift a penalty of that mode by its smallest eigenvalue; return the largest one then."""
    K = values.shape[0]
    if mode != SHIFT:
        return values[K - 1]
    for c in range(K):
        penalty[c, c] -= values[0]
    return values[K - 1] - values[0]


@kernel_numpy
def derive_penalty(mode, corr, penalty):
    """Turn a correlation matrix into the penalty M; return its largest eigenvalue.

    In three parts, because outside of kernels the eigenvalues need no compiling.
    """
    shape_penalty(mode, corr, penalty)
    return shift_penalty(mode, np.linalg.eigvalsh(penalty), penalty)


@kernel
def refresh_curvature(G, Delta, row, direction, image):
    """Return an estimated bound of ``lambda_max(G + Delta)`` from one step of power iteration.

    ``direction`` keeps the vector from one row to the next; G changes little in between, so one
    step per row follows it. A fresh rule starts from the row itself.
    """
    d = row.shape[0]
    if dot(direction, direction) == 0.0:
        length = np.sqrt(dot(row, row))
        for i in range(d):
            direction[i] = row[i] / length
    multiply(G, direction, image)
    for i in range(d):
        image[i] += Delta[i] * direction[i]
    estimate = np.sqrt(dot(image, image))
    for i in range(d):
        direction[i] = image[i] / estimate
    return MARGIN * estimate


@kernel_fast
def propose_step(W, D, MW, alpha, beta, length, known, step):
    """Write ``dW`` of one proximal step, one plane for each entry of ``known``; return ``|dW|^2``.

    Gradient step of length ``1/L``, then soft threshold ``alpha/L``; the intercept, the last
    entry, is neither correlated nor thresholded. Planes of unknown labels do not move.
    """
    slopes = W.shape[1] - 1
    cut = alpha * length
    pull = beta * length
    total = 0.0
    for c in range(known.shape[0]):
        if not known[c]:
            for i in range(slopes + 1):
                step[c, i] = 0.0
            continue
        for i in range(slopes):
            target = W[c, i] - length * D[c, i] - pull * MW[c, i]
            shrunk = max(target - cut, 0.0) + min(target + cut, 0.0)
            step[c, i] = shrunk - W[c, i]
        step[c, slopes] = -length * D[c, slopes]
        for i in range(slopes + 1):
            total += step[c, i] * step[c, i]
    return total


@kernel_fast
def bend(step, Delta, product):
    """Complete ``product = (G + Delta) dW`` from ``G dW``; return ``<dW, product>``."""
    total = 0.0
    for c in range(step.shape[0]):
        for i in range(Delta.shape[0]):
            product[c, i] += Delta[i] * step[c, i]
            total += step[c, i] * product[c, i]
    return total


@kernel_fast
def take_step(W, D, step, product):
    """Add ``dW`` to W and ``(G + Delta) dW`` to D; return the squared size of the planes."""
    total = 0.0
    for c in range(W.shape[0]):
        for i in range(W.shape[1]):
            W[c, i] += step[c, i]
            D[c, i] += product[c, i]
            total += W[c, i] * W[c, i]
    return total


@kernel
def is_beyond(W, limit):
    """Tell whether some ``|W|`` is larger than ``limit`` or NaN."""
    for c in range(W.shape[0]):
        for i in range(W.shape[1]):
            if not abs(W[c, i]) <= limit:
                return True
    return False


@kernel
def settle(P, B, Delta, W_prior, W, D, target):
    """Reset planes to the least-squares solution ``P (B + Delta W_prior)``, where D is zero."""
    for c in range(B.shape[0]):
        for i in range(W.shape[1]):
            target[i] = B[c, i] + Delta[i] * W_prior[c, i]
            D[c, i] = 0.0
        multiply(P, target, W[c])
