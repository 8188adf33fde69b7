"""Accelerated proximal steps of a batch fit, for many pairs (alpha, beta) of one rule at once.

Shapes: the leading axis is the pair; W and its kin are (pairs, K, d), ``lipschitz`` (pairs, K). The
product with the Hessian, shared by all pairs, is left to the caller.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast
from efcml.kernels.linalg import multiply_into


@kernel_fast
def shrink_step(V, D, MV, alpha, beta, lipschitz, new):
    """Write the proximal step of one pair from V, where the least-squares gradient is D.

    Returns the largest ``|L (V - new)|`` and the largest ``|new|``.
    """
    slopes = V.shape[1] - 1
    residual, size = 0.0, 0.0
    for c in range(V.shape[0]):
        length = 1.0 / lipschitz[c]
        cut = alpha * length
        for i in range(slopes):
            target = V[c, i] - length * (D[c, i] + beta * MV[c, i])
            new[c, i] = max(target - cut, 0.0) + min(target + cut, 0.0)
        new[c, slopes] = V[c, slopes] - length * D[c, slopes]
        for i in range(slopes + 1):
            residual = max(residual, abs(lipschitz[c] * (V[c, i] - new[c, i])))
            size = max(size, abs(new[c, i]))
    return residual, size


@kernel
def propose_all(V, D, penalty, strengths, lipschitz, MV, new, residuals):
    """Write the proximal steps of all pairs into ``new`` and their residuals; MV is a workspace.

    ``strengths`` (pairs, 2) are alpha and beta.

    Returns the largest ``|new|``: steps that run away pass any limit long before they overflow.
    """
    largest = 0.0
    for m in range(V.shape[0]):
        alpha, beta = strengths[m, 0], strengths[m, 1]
        if beta > 0.0:
            multiply_into(penalty, V[m], MV)
        else:
            for c in range(MV.shape[0]):
                for i in range(MV.shape[1]):
                    MV[c, i] = 0.0
        residual, size = shrink_step(V[m], D[m], MV, alpha, beta, lipschitz[m], new[m])
        residuals[m] = residual
        largest = max(largest, size)
    return largest


@kernel_fast
def push_on(new, D_new, W, D_W, V, D_V, momentum):
    """Accept ``new`` of one pair and extrapolate; return its next momentum.

    The momentum is dropped when it points uphill. The gradient is linear in W, so D_V follows
    from the same combination.
    """
    uphill = 0.0
    for c in range(new.shape[0]):
        for i in range(new.shape[1]):
            uphill += (V[c, i] - new[c, i]) * (new[c, i] - W[c, i])
    if uphill > 0.0:
        momentum = 1.0
    grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
    push = (momentum - 1.0) / grown
    for c in range(new.shape[0]):
        for i in range(new.shape[1]):
            V[c, i] = new[c, i] + push * (new[c, i] - W[c, i])
            D_V[c, i] = D_new[c, i] + push * (D_new[c, i] - D_W[c, i])
            W[c, i] = new[c, i]
            D_W[c, i] = D_new[c, i]
    return grown


@kernel
def push_all(new, product, target, W, D_W, V, D_V, momentum):
    """Accept the steps of all pairs; ``product`` is (G + Delta) new and becomes its gradient."""
    for m in range(new.shape[0]):
        for c in range(new.shape[1]):
            for i in range(new.shape[2]):
                product[m, c, i] -= target[c, i]
        momentum[m] = push_on(new[m], product[m], W[m], D_W[m], V[m], D_V[m], momentum[m])
