"""Algorithm 1: consequents of all rules from a batch of rows, given their antecedents."""

import numpy as np

from efcml.kernels import proximal
from efcml.kernels.scoring import activate_rows
from efcml.rules.definite import invert

RESIDUAL = 1e-8  # relative proximal residual at which the optimiser stops
MAX_ITERATIONS = 5000
WORST_CONDITION = 1e12  # beyond it, gamma I is added to the least-squares Hessian


def activations(rules, X, settings):
    """Return Psi of every row and rule; activations below the floor count as 0."""
    psi = np.empty((len(X), rules.n_rules))
    arrays, work = rules.arrays, rules.work
    activate_rows(
        X, arrays.center, arrays.input_precision, rules.n_rules, settings.bandwidth, work.e,
        work.distances, psi,
    )  # fmt: skip
    psi[psi < settings.activation_floor] = 0.0
    return psi


def extended(X):
    """Return R, the rows [x, 1]."""
    return np.column_stack([X, np.ones(len(X))])


def set_statistics(rules, X, Y, psi):
    """Fill G, B, weight and the label moments of every rule from weighted rows."""
    arrays = rules.arrays
    R = extended(X)
    known = ~np.isnan(Y)
    Y = np.where(known, Y, 0.0)
    for r in range(rules.n_rules):
        weighted = psi[:, r, None] * R
        arrays.B[r] = Y.T @ weighted
        arrays.weight[r] = psi[:, r].sum()
        for group in range(rules.n_groups):
            rows = weighted if rules.n_groups == 1 else weighted * known[:, group, None]
            arrays.G[r, group] = symmetric(rows.T @ R)
        set_label_moments(arrays, r, Y, known, psi[:, r])


def set_label_moments(arrays, rule, Y, known, weights):
    """Weighted label means and co-moments of one rule, per pair of known labels if need be."""
    groups = arrays.label_weight.shape[1]
    if groups == 1:
        total = weights.sum()
        mean = weights @ Y / total if total > 0.0 else np.zeros(Y.shape[1])
        centered = Y - mean
        arrays.label_weight[rule, 0] = total
        arrays.label_mean[rule, 0] = mean
        arrays.label_cov[rule] = symmetric((weights[:, None] * centered).T @ centered)
        return
    both = known.astype(float)
    weighted = weights[:, None]
    total = (weighted * both).T @ both
    divisor = np.where(total > 0.0, total, 1.0)
    mean = (weighted * both).T @ Y / divisor  # [c, k]: mean of k over rows that know c and k
    product = (weighted * Y).T @ Y
    arrays.label_weight[rule] = total
    arrays.label_mean[rule] = mean
    arrays.label_cov[rule] = symmetric(product - total * mean * mean.T)


def label_means(Y):
    """Return the share of each label among the rows that know it; 0 where none does."""
    known = ~np.isnan(Y)
    count = known.sum(axis=0)
    return np.where(known, Y, 0.0).sum(axis=0) / np.maximum(count, 1)


def prior_planes(Y, n_features):
    """Return W_prior of a batch fit: flat planes at the label means."""
    planes = np.zeros((Y.shape[1], n_features + 1))
    planes[:, -1] = label_means(Y)
    return planes


def symmetric(A):
    """Return the symmetric part."""
    return 0.5 * (A + A.T)


def ridge_needed(H):
    """Return gamma >= 0 that keeps the condition of ``H + gamma I`` below the limit."""
    values = np.linalg.eigvalsh(H)
    excess = values[-1] - WORST_CONDITION * values[0]
    return max(0.0, excess / (WORST_CONDITION - 1.0))


def set_weights(rules, prior_precision, prior_weights, settings):
    """Solve for the consequents of every rule; P, D, penalty and bounds follow.

    Returns the rules whose optimiser ran away (only the printed formulas do); those keep their
    least-squares solution.
    """
    arrays = rules.arrays
    diverged = []
    for r in range(rules.n_rules):
        arrays.W_prior[r] = prior_weights
        hessians = []
        for group in range(rules.n_groups):
            labels = slice(None) if rules.n_groups == 1 else slice(group, group + 1)
            Delta = prior_precision.copy()
            Delta += ridge_needed(arrays.G[r, group] + np.diag(Delta))
            H = arrays.G[r, group] + np.diag(Delta)
            hessians.append(H)
            arrays.Delta[r, group] = Delta
            arrays.P[r, group] = invert(H)
            target = arrays.B[r, labels] + Delta * prior_weights[labels]
            arrays.W[r, labels] = np.linalg.solve(H, target.T).T
            values, vectors = np.linalg.eigh(H)
            arrays.curvature[r, group] = values[-1]
            arrays.curvature_direction[r, group] = vectors[:, -1]
        arrays.D[r] = 0.0
        if settings.correlation != proximal.NONE and (settings.alpha > 0 or settings.beta > 0):
            proximal.correlate(
                arrays.label_cov[r], arrays.label_weight[r], rules.consequent_work.corr
            )
            if arrays.weight[r] >= 1.0:
                arrays.penalty_top[r] = proximal.derive_penalty(
                    settings.correlation, rules.consequent_work.corr, arrays.penalty[r]
                )
            if not optimise(rules, r, np.stack(hessians), settings):
                diverged.append(r)
    return diverged


def optimise(rules, r, hessians, settings):
    """Minimise J of one rule by FISTA with restarts, from W and D = 0; False if it ran away.

    The momentum is dropped whenever it points uphill (O'Donoghue and Candes 2015), which gives
    linear convergence on these strongly convex problems.
    """
    arrays = rules.arrays
    start, M = arrays.W[r].copy(), arrays.penalty[r]
    lipschitz = arrays.curvature[r][:, None] + settings.beta * arrays.penalty_top[r]
    if not settings.exact_length:
        lipschitz = np.sqrt(lipschitz)

    def product(V):
        if len(hessians) == 1:
            return V @ hessians[0]
        return np.einsum("cij,cj->ci", hessians, V)

    # Printed formulas may run away here before the limit is seen.
    with np.errstate(over="ignore", invalid="ignore"):
        return descend(arrays, r, product, start, lipschitz, M, settings)


def descend(arrays, r, product, start, lipschitz, M, settings):
    """Iterate from ``start``, where D is zero; write W and D of the rule unless it ran away."""
    target = product(start)  # the start is the least-squares solution, so H W_0 = B + Delta W_prior
    W, V, D_W, D_V, momentum = start, start, np.zeros_like(start), np.zeros_like(start), 1.0
    for _ in range(MAX_ITERATIONS):
        gradient = D_V.copy()
        gradient[:, :-1] += settings.beta * M @ V[:, :-1]
        new = V - gradient / lipschitz
        cut = settings.alpha / lipschitz
        slopes = new[:, :-1]
        new[:, :-1] = np.sign(slopes) * np.maximum(np.abs(slopes) - cut, 0.0)
        if not np.abs(new).max() <= settings.weight_limit:
            return False
        residual = np.abs(lipschitz * (V - new)).max()
        D_new = product(new) - target
        if ((V - new) * (new - W)).sum() > 0.0:
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        push = (momentum - 1.0) / grown
        V, D_V = new + push * (new - W), D_new + push * (D_new - D_W)
        W, D_W, momentum = new, D_new, grown
        if residual <= RESIDUAL * max(1.0, np.abs(target).max()):
            break
    arrays.W[r], arrays.D[r] = W, D_W
    return True
