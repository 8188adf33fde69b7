"""Algorithm 1: consequents of all rules from a batch of rows, given their antecedents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from efcml.kernels import descent, proximal
from efcml.kernels.rule_update import LATEST
from efcml.kernels.scoring import activate_rows
from efcml.model.definite import invert
from efcml.model.filling import rows_for
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.model.honest_errors import HeldErrors
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Bools, Floats

Shapes: TypeAlias = "tuple[list[tuple[Floats, Floats]], Floats, Floats]"  # see `pull_shapes`

RESIDUAL = 1e-8  # relative proximal residual at which the optimiser stops
MAX_ITERATIONS = 5000
CROWDED = 0.8  # pairs that are done are taken out when fewer than this share is left
LEAST_KEPT = 1e-3  # of an error, after its row is learned; less is rounding of an exact fit
WORST_CONDITION = 1e12  # beyond it, gamma I is added to the least-squares Hessian


def activations(rules: RuleBase, X: Floats, settings: Any) -> Floats:
    """Return Psi of every row and rule; activations below the floor count as 0."""
    psi = np.empty((len(X), rules.n_rules))
    activate_rows(X, rules.n_rules, rules.arrays, settings, rules.scratch, psi)
    psi[psi < settings.activation_floor] = 0.0
    return psi


def extended(X: Floats) -> Floats:
    """Return R, the rows [x, 1]."""
    return np.column_stack([X, np.ones(len(X))])


def set_statistics(rules: RuleBase, X: Floats, Y: Floats, psi: Floats) -> None:
    """Fill G, B, weight and the label moments of every rule from weighted rows.

    Missing features are what the rule expects of them.
    """
    arrays = rules.arrays
    known = ~np.isnan(Y)
    Y = np.where(known, Y, 0.0)
    for r in range(rules.n_rules):
        R = extended(rows_for(rules, r, X))
        weighted = psi[:, r, None] * R
        arrays.B[r] = Y.T @ weighted
        arrays.weight[r] = arrays.use[r] = psi[:, r].sum()
        for group in range(rules.n_groups):
            rows = weighted if rules.n_groups == 1 else weighted * known[:, group, None]
            arrays.G[r, group] = symmetric(rows.T @ R)
        set_label_moments(arrays, r, Y, known, psi[:, r])


def set_decided(
    rules: RuleBase, X: Floats, Y: Floats, psi: Floats, amounts: Floats | None = None
) -> None:
    """Count, for every rule, the rows in which it is the strongest, their features and labels.

    They count alike, but together no more than those of a long stream, so that later rows do.
    """
    arrays, known = rules.arrays, ~np.isnan(Y)
    counts = np.ones(len(Y)) if amounts is None else amounts
    counts = counts * min(1.0, LATEST / counts.sum())
    decided = (psi.argmax(axis=1) == np.arange(rules.n_rules)[:, None]) * counts
    arrays.decided[: rules.n_rules] = decided.sum(axis=1)
    for r in range(rules.n_rules):
        arrays.decided_sum[r] = decided[r] @ rows_for(rules, r, X)
    arrays.decided_known[: rules.n_rules] = decided @ known
    arrays.decided_ones[: rules.n_rules] = decided @ np.where(known, Y, 0.0)


def set_label_moments(arrays: Any, rule: int, Y: Floats, known: Bools, weights: Floats) -> None:
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


def prior_planes(Y: Floats, n_features: int, amounts: Floats | None = None) -> Floats:
    """Return W_prior of a batch fit: flat planes at the label means."""
    planes = np.zeros((Y.shape[1], n_features + 1))
    planes[:, -1] = label_means(Y, amounts)
    return planes


def symmetric(A: Floats) -> Floats:
    """Return the symmetric part."""
    return 0.5 * (A + A.T)


def ridge_needed(H: Floats) -> float:
    """Return gamma >= 0 that keeps the condition of ``H + gamma I`` below the limit."""
    values = np.linalg.eigvalsh(H)
    excess = values[-1] - WORST_CONDITION * values[0]
    return max(0.0, excess / (WORST_CONDITION - 1.0))


def set_weights(
    rules: RuleBase, prior_precision: Floats, prior_weights: Floats, settings: Any
) -> list[int]:
    """Solve for the consequents of every rule; P, D, penalty and bounds follow.

    Returns the rules whose optimiser ran away (only the printed formulas do); those keep their
    least-squares solution.
    """
    arrays = rules.arrays
    diverged = []
    for r in range(rules.n_rules):
        arrays.W_prior[r] = np.tile(prior_weights, (rules.n_pairs, 1))
        hessians = []
        for group in range(rules.n_groups):
            labels = rules.labels_of(group)
            Delta = prior_precision.copy()
            Delta += ridge_needed(arrays.G[r, group] + np.diag(Delta))
            H = arrays.G[r, group] + np.diag(Delta)
            hessians.append(H)
            arrays.Delta[r, group] = Delta
            arrays.P[r, group] = invert(H)
            target = arrays.B[r, labels] + Delta * prior_weights[labels]
            W = np.linalg.solve(H, target.T).T
            arrays.W[r, labels] = np.tile(W, (rules.n_pairs, 1))
            values, vectors = np.linalg.eigh(H)
            arrays.curvature[r, group] = values[-1]
            arrays.curvature_direction[r, group] = vectors[:, -1]
        arrays.D[r] = 0.0
        if settings.corrects:
            corr = rules.scratch.corr
            proximal.correlate(arrays.label_cov[r], arrays.label_weight[r], corr)
            if arrays.weight[r] >= 1.0:
                mode, penalty = settings.correlation, arrays.penalty[r]
                proximal.shape_penalty(mode, corr, penalty)
                eigenvalues = np.linalg.eigvalsh(penalty)
                arrays.penalty_top[r] = proximal.shift_penalty(mode, eigenvalues, penalty)
            if not optimise(rules, r, np.stack(hessians), settings):
                diverged.append(r)
    return diverged


def errors_without_own_row(
    rules: RuleBase,
    X: Floats,
    Y: Floats,
    settings: Any,
    held: HeldErrors | None = None,
    amounts: Floats | float = 1.0,
) -> Floats:
    """Return what the rules would get wrong at each row, had their planes not learned it.

    NaN where a label is unknown. The planes of a rule that has learned a row keep a share of the
    error that they would make without it. Under alpha > 0 the share is not known, so the errors
    are those that are left. What rules are held to is taken as it is, unless ``held`` says what the
    row has done to it (model/honest_errors.py). ``amounts`` are the weights of rows.
    """
    blending = activations(rules, X, settings.replace(activation_floor=0.0))
    learned = np.where(blending < settings.activation_floor, 0.0, blending)
    known = ~np.isnan(Y)
    Y = np.where(known, Y, 0.0)
    parts = np.zeros((rules.n_pairs, *Y.shape))
    for r in range(rules.n_rules):
        R = extended(rows_for(rules, r, X))
        planes = rules.arrays.W[r].reshape(rules.n_pairs, Y.shape[1], R.shape[1])
        shapes = pull_shapes(rules, r, R)
        for part, W, alpha, beta in zip(parts, planes, settings.alpha, settings.beta, strict=True):
            error = Y - R @ W.T
            if not (settings.corrects and alpha > 0.0):
                if held is not None:
                    error += held.pull(rules, r)
                own = amounts * learned[:, r]
                error = divide_by_kept(error, own, shapes, beta * settings.corrects)
            part += blending[:, r, None] * error
    return np.hstack([np.where(known, part, np.nan) for part in parts])


def pull_shapes(rules: RuleBase, r: int, R: Floats) -> Shapes:
    """Return what tells how far a row moves the planes of a rule at the row itself.

    These are the curvatures of the rule along its main axes, the squared coordinates of the rows
    there, for each group of labels, and the main axes of the penalty, with its strength on each.
    Labels that have a group each are taken as if the penalty did not mix them.
    """
    penalty = rules.arrays.penalty[r]
    strengths, axes = np.diag(penalty), np.eye(len(penalty))
    if rules.n_groups == 1:
        strengths, axes = np.linalg.eigh(penalty)
    groups = []
    for P in rules.arrays.P[r]:
        values, vectors = np.linalg.eigh(P)
        groups.append((1.0 / values, (R @ vectors) ** 2))
    return groups, np.maximum(strengths, 0.0), axes


def divide_by_kept(error: Floats, learned: Floats, shapes: Shapes, beta: float) -> Floats:
    """Return the errors that one rule would make at rows that it had not learned.

    Without beta the share that it keeps is ``1 - Psi r'P r``, which is exact. A penalty beta M adds
    to the curvature, on each axis of M as much as M is there (and, not quite true, also for the
    intercept).
    """
    groups, strengths, axes = shapes
    turned = error @ axes
    for c, strength in enumerate(strengths):
        curvatures, squares = groups[c % len(groups)]
        moved = learned * (squares @ (1.0 / (curvatures + beta * strength)))
        turned[:, c] /= np.maximum(1.0 - moved, LEAST_KEPT)
    return turned @ axes.T


def optimise(rules: RuleBase, r: int, hessians: Floats, settings: Any) -> bool:
    """Minimise J of one rule for every pair (alpha, beta), from W and D = 0; False if it ran away.

    All pairs start from the least-squares solution and share the product with the Hessian.
    """
    arrays, d = rules.arrays, rules.n_features + 1
    start = arrays.W[r].reshape(rules.n_pairs, rules.n_labels, d)
    lipschitz = arrays.curvature[r] + settings.beta[:, None] * arrays.penalty_top[r]
    lipschitz = np.array(np.broadcast_to(lipschitz, start.shape[:2]))
    if not settings.exact_length:
        lipschitz = np.sqrt(lipschitz)
    strengths = np.column_stack([settings.alpha, settings.beta]), lipschitz
    solution = minimise(start, hessians, arrays.penalty[r], strengths, settings.weight_limit)
    if solution is None:
        return False
    arrays.W[r], arrays.D[r] = (part.reshape(-1, d) for part in solution)
    return True


def minimise(
    start: Floats,
    hessians: Floats,
    penalty: Floats,
    strengths: tuple[Floats, ...],
    weight_limit: float,
) -> tuple[Floats, Floats] | None:
    """Return W and D of every pair by FISTA with restarts, or None if one ran away.

    The momentum of a pair is dropped whenever it points uphill (O'Donoghue and Candes 2015), which
    gives linear convergence on these strongly convex problems. A pair that has converged is done.
    ``strengths`` are (alpha, beta) and the bound of the curvature, for each pair.
    """
    target = multiply(start[:1], hessians)[0]  # least squares: (G + Delta) W_0 = B + Delta W_prior
    goal = RESIDUAL * max(1.0, np.abs(target).max())
    done_W, done_D = start.copy(), np.zeros_like(start)
    pairs, is_open = np.arange(len(start)), np.ones(len(start), dtype=bool)
    # W and D there, V and D there, momentum; one row per pair that is still worked on.
    state: tuple[Floats, ...] = (
        start.copy(),
        np.zeros_like(start),
        start.copy(),
        np.zeros_like(start),
        np.ones(len(start)),
    )
    workspace = np.empty(start.shape[1:])
    for _ in range(MAX_ITERATIONS):
        W, D_W, V, D_V, momentum = state
        new, residuals = np.empty_like(V), np.empty(len(V))
        size = descent.propose_all(V, D_V, penalty, *strengths, workspace, new, residuals)
        if size > weight_limit:
            return None
        descent.push_all(new, multiply(new, hessians), target, W, D_W, V, D_V, momentum)
        closing = is_open & (residuals <= goal)
        if not closing.any():
            continue
        done_W[pairs[closing]], done_D[pairs[closing]] = W[closing], D_W[closing]
        is_open &= ~closing
        if not is_open.any():
            return done_W, done_D
        if is_open.mean() < CROWDED:
            pairs, state = pairs[is_open], tuple(part[is_open] for part in state)
            strengths, is_open = tuple(part[is_open] for part in strengths), is_open[is_open]
    done_W[pairs[is_open]], done_D[pairs[is_open]] = state[0][is_open], state[1][is_open]
    return done_W, done_D


def multiply(V: Floats, hessians: Floats) -> Floats:
    """Return (G + Delta) V of every pair; one Hessian for all labels or one for each."""
    if len(hessians) == 1:
        return (V.reshape(-1, V.shape[2]) @ hessians[0]).reshape(V.shape)
    return np.einsum("cij,mcj->mci", hessians, V)
