"""Correlation-aware, L1-regularised correction of one rule's consequents (method.md 4).

The penalty matrix M comes from the rule's own weighted label correlation. A proximal step needs an
upper bound of the curvature ``lambda_max(G + Delta)``: rank-one additions raise it by
``Psi |r|^2``, and a short warm-started power iteration brings it down when that has become loose.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_inline

SHIFT, LAPLACIAN, SIGNED, RAW, NONE = 0, 1, 2, 3, 4  # modes of `correlation`
POWER_STEPS = 4
MARGIN = 1.05  # power iteration approaches the largest eigenvalue from below
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
def derive_penalty(mode, corr, penalty):
    """Turn a correlation matrix into the penalty M; return its largest eigenvalue."""
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
    values = np.linalg.eigvalsh(penalty)
    if mode != SHIFT:
        return values[K - 1]
    for c in range(K):
        penalty[c, c] -= values[0]
    return values[K - 1] - values[0]


@kernel_inline
def refresh_curvature(G, Delta, row, curvature, direction, image):
    """Return a tighter bound of ``lambda_max(G + Delta)``, at most ``curvature``.

    ``direction`` keeps the vector of the power iteration from one call to the next.
    """
    d = row.shape[0]
    length = 0.0
    for i in range(d):
        length += direction[i] * direction[i]
    if length == 0.0:
        for i in range(d):
            direction[i] = row[i]
            length += row[i] * row[i]
        length = np.sqrt(length)
        for i in range(d):
            direction[i] /= length
    estimate = curvature
    for _ in range(POWER_STEPS):
        np.dot(G, direction, image)
        length = 0.0
        for i in range(d):
            image[i] += Delta[i] * direction[i]
            length += image[i] * image[i]
        estimate = np.sqrt(length)
        for i in range(d):
            direction[i] = image[i] / estimate
    return min(curvature, MARGIN * estimate)


@kernel_fast
def propose_step(W, D, WM, alpha, beta, length, known, first, last, step):
    """Write ``dW`` of one proximal step for the columns ``first:last``; return ``|dW|^2``.

    Gradient step of length ``1/L``, then soft threshold ``alpha/L``; the intercept, the last row,
    is neither correlated nor thresholded. Columns of unknown labels do not move.
    """
    slopes = W.shape[0] - 1
    cut = alpha * length
    total = 0.0
    for i in range(slopes + 1):
        for c in range(first, last):
            move = 0.0
            if known[c]:
                if i < slopes:
                    target = W[i, c] - length * (D[i, c] + beta * WM[i, c])
                    if target > cut:
                        target -= cut
                    elif target < -cut:
                        target += cut
                    else:
                        target = 0.0
                    move = target - W[i, c]
                else:
                    move = -length * D[i, c]
            step[i, c] = move
            total += move * move
    return total


@kernel_fast
def bend(step, Delta, product, first, last):
    """Complete ``product = (G + Delta) dW`` from ``G dW``; return ``<dW, product>``."""
    total = 0.0
    for i in range(step.shape[0]):
        for c in range(first, last):
            product[i, c] += Delta[i] * step[i, c]
            total += step[i, c] * product[i, c]
    return total


@kernel_fast
def take_step(W, D, step, product, first, last):
    """Add ``dW`` to W and ``(G + Delta) dW`` to D; return the largest ``|W|`` of those columns."""
    largest = 0.0
    for i in range(W.shape[0]):
        for c in range(first, last):
            W[i, c] += step[i, c]
            D[i, c] += product[i, c]
            size = abs(W[i, c])
            # Written so that NaN counts as large: the divergence guard must see it.
            if not size <= largest:
                largest = size
    return largest


@kernel_inline
def settle(P, B, Delta, W_prior, W, D, first, last, column, solution):
    """Reset columns to the least-squares solution ``P (B + Delta W_prior)``, where D is zero."""
    for c in range(first, last):
        for i in range(W.shape[0]):
            column[i] = B[i, c] + Delta[i] * W_prior[i, c]
        np.dot(P, column, solution)
        for i in range(W.shape[0]):
            W[i, c] = solution[i]
            D[i, c] = 0.0
