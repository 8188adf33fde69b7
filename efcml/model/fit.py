"""Planes of all rules from a batch of rows: sums, prior by cross-validation, held-out scores."""

from typing import NamedTuple

import numpy as np

from efcml.kernels.planes import SLOW
from efcml.kernels.rows import MOST_WEIGHT
from efcml.model.reshape import (
    derive,
    flat_planes,
    precision,
    renew_penalty,
    solve_planes,
)
from efcml.support.statistics import label_means

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
FOLDS = 5
HALVES = slice(0, None, 2), slice(1, None, 2)  # of the folds: rules are formed without one of them
HELD_OUT = 5  # folds of held-out scores
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart
MOST_GROUPS = 16  # of labels that the prior is chosen by; of more, unknown labels are their mean
COARSE, FINE = 0.3, 0.2  # shares of all rows at which rules are split, if nothing is given
REGIONS_PAY = 0.03  # less error than one plane for all rows: then the finer rules are taken
SORTED = 3.0  # times the variance by chance that label means of contiguous folds may have
RESIDUAL, MOST_STEPS = 1e-8, 5000  # of the proximal gradient
WORST_CONDITION = 1e12  # beyond it, gamma I is added to the least-squares Hessian
LEAST_PSI = 1e-12  # activation of which nothing is left in a score


class Prior(NamedTuple):
    """How strongly planes are held, and to what: flat planes, or shared ones of that strength."""

    strength: float
    shared: float | None = None


class Batch(NamedTuple):
    """Rows ``r = [x, 1]``, labels, weights, and groups of labels known in the same rows.

    Labels of a group have G in common; so every label is solved for by the rows that know it.
    """

    R: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    groups: list[np.ndarray]

    @classmethod
    def of(cls, X, Y, weights):
        """Extend rows and find the groups."""
        _, group = np.unique(~np.isnan(Y), axis=1, return_inverse=True)
        group = group.reshape(-1)
        groups = [np.flatnonzero(group == g) for g in range(group.max(initial=0) + 1)]
        return cls(np.column_stack([X, np.ones(len(X))]), Y, weights, groups)

    def sums(self, weights):
        """Return ``G = R'QR`` (g, d, d) and ``B = Y'QR`` (K, d) of weighted rows."""
        there = weights > 0.0
        R, Y, weights = self.R[there], self.Y[there], weights[there, None]
        known, weighted = ~np.isnan(Y), weights * R
        parts = [known[:, labels[0]] for labels in self.groups]
        if len(parts) == 1 and parts[0].all():
            G = (weighted.T @ R)[None]
        else:
            G = np.stack([weighted[part].T @ R[part] for part in parts])
        return 0.5 * (G + G.transpose(0, 2, 1)), np.where(known, Y, 0.0).T @ weighted

    def base(self, prior):
        """Return what every rule is held to."""
        return base_planes(*self.sums(self.weights), prior, self.groups)


def base_planes(G, B, prior, groups):
    """Return flat planes, or those of all rows, from the sums over all rows."""
    flat = np.empty_like(B)
    for g, labels in enumerate(groups):
        flat[labels] = flat_planes(G[g], B[labels])
    if prior.shared is None:
        return flat
    return solve_groups(G, B, precision(prior.shared, G.shape[-1] - 1), flat, groups)


def solve_groups(G, B, Delta, W_0, groups):
    """Do `solve_planes` for every group of labels, G (groups, d, d)."""
    W = np.empty_like(W_0)
    for g, labels in enumerate(groups):
        W[labels] = solve_planes(G[g], B[labels], Delta, W_0[labels])
    return W


# The prior, by cross-validation of the rule model itself


def folds_of(Y):
    """Return folds: contiguous ones, and interleaved ones besides if rows are sorted by labels.

    Contiguous folds are like a stream that moves; but where rows are sorted, every such fold lacks
    a label that the others have, and tells nothing of a stream that is not.
    """
    n = len(Y)
    count = min(FOLDS, n // 2)
    edges = [fold * n // count for fold in range(count + 1)]
    contiguous = [np.arange(low, high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    known = ~np.isnan(Y)
    ones, total = np.where(known, Y, 0.0), known.sum(axis=0)
    mean = ones.sum(axis=0) / np.maximum(total, 1)
    between = np.zeros(Y.shape[1])
    for fold in contiguous:
        rows = known[fold].sum(axis=0)
        between += (ones[fold].sum(axis=0) - rows * mean) ** 2 / np.maximum(rows, 1)
    variance = mean * (1.0 - mean)
    varies = variance > 0.0
    ratio = (between[varies] / variance[varies]).mean() / (count - 1) if varies.any() else 0.0
    if ratio <= SORTED:
        return [contiguous]
    return [contiguous, [np.arange(fold, n, count) for fold in range(count)]]


def choose_prior(form_rules, X, Y, weights, params):
    """Return how planes are held and at which share of the rows rules are split.

    ``form_rules(X, Y, weights, share)`` returns a function from rows to activations. Rules are
    split finely if regions with planes of their own are clearly better than one plane for all.
    Planes are learned without one fold, rules, which cost most, without every other one. Where
    there are two kinds of folds, the logarithms of their losses are added.
    """
    shares = (FINE, COARSE) if params.split_share == "auto" else (float(params.split_share),)
    if params.splitting == "off":
        shares = (1.0,)
    given = params.prior
    X, Y, weights = X[-MOST_ROWS:], Y[-MOST_ROWS:], weights[-MOST_ROWS:]
    if len(X) < 4 or (given != "auto" and len(shares) == 1):
        return Prior(1.0 if given == "auto" else float(given)), shares[-1]
    R, taught = np.column_stack([X, np.ones(len(X))]), Y
    if len(np.unique(np.isnan(Y), axis=1).T) > MOST_GROUPS:
        taught = np.where(np.isnan(Y), label_means(Y, weights), Y)
    kinds, one = [], 0.0
    for folds in folds_of(Y):
        rests = [np.delete(np.arange(len(X)), out) for out in folds]
        batches = [Batch.of(X[rest], taught[rest], weights[rest]) for rest in rests]
        kinds.append(list(zip(folds, rests, batches, strict=True)))
        one += np.log(sum(losses_of_one_plane(b, R[out], Y[out]) for out, _, b in kinds[-1]))
    shared = STRENGTHS[int(np.argmin(one))]
    for share in shares:
        losses = 0.0
        for parts in kinds:
            wrong = 0.0
            for half in HALVES:
                rest = np.delete(np.arange(len(X)), np.concatenate([p[0] for p in parts[half]]))
                psi = form_rules(X[rest], Y[rest], weights[rest], share)(X)
                for out, r, batch in parts[half]:
                    wrong += losses_of_rules(shared, batch, psi[r], R[out], Y[out], psi[out])
            losses += np.log(wrong)
        if losses.min() < len(kinds) * np.log(1.0 - REGIONS_PAY) + one.min():
            break
    if given != "auto":
        return Prior(float(given)), share
    base, strength = np.unravel_index(np.argmin(losses), losses.shape)
    return Prior(STRENGTHS[strength], shared if base else None), share


def losses_of_one_plane(batch, R_new, Y_new):
    """Return the squared error of one plane for all rows at new ones, by strength."""
    sums = batch.sums(batch.weights)
    scores = [R_new @ base_planes(*sums, Prior(1.0, s), batch.groups).T for s in STRENGTHS]
    return np.array([np.nansum((s - Y_new) ** 2) for s in scores]) + 1e-300


def losses_of_rules(shared, batch, psi, R_new, Y_new, psi_new):
    """Return the squared error of rules at new rows, (bases, strengths): flat and shared planes."""
    bases = np.vstack([batch.base(Prior(1.0, held)) for held in (None, shared)])
    K, psi = len(bases) // 2, psi * batch.weights[:, None]
    groups = [np.concatenate([labels, labels + K]) for labels in batch.groups]  # both at once
    scores = np.zeros((len(STRENGTHS), len(R_new), 2 * K))
    for i in range(psi.shape[1]):
        near = psi_new[:, i] > 0.0
        if not near.any():
            continue
        G, B = batch.sums(psi[:, i])
        for found, strength in zip(scores, STRENGTHS, strict=True):
            Delta = precision(strength, R_new.shape[1] - 1)
            W = solve_groups(G, np.tile(B, (2, 1)), Delta, bases, groups)
            found[near] += psi_new[near, i, None] * (R_new[near] @ W.T)
    wrong = np.nansum((scores - np.tile(Y_new, (1, 2))) ** 2, axis=1)
    return np.stack([wrong[:, :K].sum(axis=1), wrong[:, K:].sum(axis=1)]) + 1e-300


# Fit


def ridge_needed(H):
    """Return gamma >= 0 that keeps the condition of ``H + gamma I`` below the limit."""
    values = np.linalg.eigvalsh(H)
    return max(0.0, (values[-1] - WORST_CONDITION * values[0]) / (WORST_CONDITION - 1.0))


def fit_planes(rules, n_rules, X, Y, psi, prior, params):
    """Fill sums and planes of all rules in all memories from weighted rows (Algorithm 1).

    An unknown label counts as what the planes of the known ones say, as in the stream. Returns the
    rules whose optimiser ran away, which only the printed formulas do.
    """
    batch, known = Batch.of(X, Y, psi.sum(axis=1)), ~np.isnan(Y)
    ones, W_0, ran_away = np.where(known, Y, 0.0), batch.base(prior), []
    rules.W_0[:n_rules] = W_0
    for i in range(n_rules):
        w = psi[:, i, None]
        G, B = batch.sums(psi[:, i])
        whole = G[0] if len(G) == 1 else batch.R.T @ (w * batch.R)
        Delta = precision(prior.strength, X.shape[1])
        Delta += ridge_needed(whole + np.diag(Delta))
        W = solve_groups(G, B, Delta, W_0, batch.groups)
        for g, labels in enumerate(batch.groups):
            B[labels] += W[labels] @ (whole - G[g])
        rules.G[i], rules.B[i], rules.Delta[i], rules.W[i] = whole, B, Delta, W
        rules.seen[i] = psi[:, i] @ known
        rules.facts["weight"][i] = rules.facts["use"][i] = psi[:, i].sum()
        pairs = (known * w).T @ known, (ones * w).T @ known, (ones * w).T @ ones
        rules.label_sums[i] = np.stack(pairs)
        for m in range(rules.G.shape[1]):
            derive(rules, i, m, Delta)
        if params.correlation == "none" or params.alpha + params.beta == 0.0:
            continue
        if rules.facts["weight"][i] >= 1.0:
            renew_penalty(rules, i, params.correlation)
        W = minimise(whole, B, Delta, W_0, params, rules.penalty[i], W)
        if W is None:
            ran_away.append(i)
        else:
            rules.W[i, SLOW] = W
    return ran_away


def minimise(G, B, Delta, W_0, params, penalty, W):
    """Minimise J(W) by accelerated proximal gradient with restarts, from the least squares W.

    The momentum is dropped when it points uphill (O'Donoghue and Candes 2015). None if it runs
    away.
    """
    alpha, penalty = params.alpha, params.beta * penalty
    H, target = G + np.diag(Delta), B + Delta * W_0
    slopes = np.append(np.ones(W.shape[1] - 1), 0.0)  # the intercept has no penalty
    L = np.linalg.eigvalsh(H)[-1] + max(np.linalg.eigvalsh(penalty)[-1], 0.0)
    L = L if params.lipschitz == "exact" else np.sqrt(L)
    goal, momentum, V = RESIDUAL * max(1.0, np.abs(target).max()), 1.0, W
    for _ in range(MOST_STEPS):
        step = V - (V @ H - target + penalty @ (V * slopes)) / L
        new = np.sign(step) * np.maximum(np.abs(step) - alpha / L * slopes, 0.0)
        if not np.abs(new).max() <= MOST_WEIGHT:
            return None
        if np.abs(L * (V - new)).max() <= goal:
            return new
        if ((V - new) * (new - W)).sum() > 0.0:
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        V, W, momentum = new + (momentum - 1.0) / grown * (new - W), new, grown
    return W


def held_out_scores(rules, X, Y, psi, fires, prior):
    """Return scores of the rows of a batch by planes that have not learned them: every fifth row.

    Antecedents and the strength of the prior are those of all rows; planes are of least squares.
    """
    scores, batch = np.zeros(Y.shape), Batch.of(X, Y, psi.sum(axis=1))
    for fold in range(min(HELD_OUT, len(X))):
        out = np.arange(fold, len(X), HELD_OUT)
        rest = np.delete(np.arange(len(X)), out)
        part = batch._replace(R=batch.R[rest], Y=Y[rest], weights=batch.weights[rest])
        W_0 = part.base(prior)
        for i in range(psi.shape[1]):
            near = out[fires[out, i] > LEAST_PSI]
            if len(near):
                sums = part.sums(psi[rest, i])
                W = solve_groups(*sums, rules.Delta[i, SLOW], W_0, batch.groups)
                scores[near] += fires[near, i, None] * (batch.R[near] @ W.T)
    return scores
