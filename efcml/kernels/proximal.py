"""Correlation and sparsity: one proximal step of the planes of a rule (eq. 14 to 18).

    J(W) = 1/2 ||Y - R W||^2_Q + 1/2 ||W - W_0||^2_Delta + beta/2 tr(W_s' M W_s) + alpha ||W_s||_1

where W_s are the slopes: the intercept is neither correlated nor thresholded.
"""

import numpy as np

from efcml._jit import kernel, leaf
from efcml.kernels.linalg import multiply


@leaf
def largest_row(G, Delta, sums):
    """Return ``max_i sum_j |G + Delta|_ij``, which is never below the largest eigenvalue."""
    largest = 0.0
    for i in range(Delta.shape[0]):
        sums[i], total = 0.0, 0.0
        for j in range(i):
            total += abs(G[i, j])
            sums[j] += abs(G[i, j])
        sums[i] = total + abs(G[i, i])
    for i in range(Delta.shape[0]):
        largest = max(largest, sums[i] + Delta[i])
    return largest


@leaf
def mix_planes(penalty, W, MW):
    """Write M W."""
    for c in range(W.shape[0]):
        for i in range(W.shape[1]):
            MW[c, i] = 0.0
        for k in range(W.shape[0]):
            factor = penalty[c, k]
            for i in range(W.shape[1]):
                MW[c, i] += factor * W[k, i]


@kernel
def step_planes(known, memory, W_0, penalty, top, s, D, MW):
    """Take one step: length 1/L, then soft threshold alpha/L. Returns the largest ``|W|``.

        D = (G + Delta) W - (B + Delta W_0),  W <- soft(W - (D + beta M W_s) / L, alpha / L)

    L bounds the curvature; not exact, it is the printed square root, and steps run away. ``top`` is
    the largest eigenvalue of M. Planes of labels that are not known stay.
    """
    G, Delta, B, W = memory.G, memory.Delta, memory.B, memory.W
    slopes, largest = W.shape[1] - 1, 0.0
    if s.beta > 0.0:
        mix_planes(penalty, W, MW)
    bound = largest_row(G, Delta, D[0]) + s.beta * top
    length = 1.0 / (bound if s.exact_length else np.sqrt(bound))
    near = s.alpha * length
    for c in range(W.shape[0]):
        if not known[c]:
            continue
        multiply(G, slopes + 1, W[c], D[c])
        for i in range(slopes + 1):
            D[c, i] += Delta[i] * (W[c, i] - W_0[c, i]) - B[c, i]
        for i in range(slopes):
            target = W[c, i] - length * (D[c, i] + s.beta * MW[c, i])
            W[c, i] = max(target - near, 0.0) + min(target + near, 0.0)
            if not abs(W[c, i]) <= largest:
                largest = abs(W[c, i]) if abs(W[c, i]) > largest else np.inf  # NaN
        W[c, slopes] -= length * D[c, slopes]
    return largest
