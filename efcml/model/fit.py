"""Planes of all rules from a batch of rows: sums, prior by cross-validation, held-out scores."""

from typing import NamedTuple

import numpy as np

from efcml.kernels.planes import SLOW
from efcml.kernels.rows import MOST_WEIGHT
from efcml.model.reshape import derive, precision, renew_penalty, solve_planes
from efcml.support.statistics import label_means

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
FOLDS = 5  # of cross-validation, and of held-out scores
HALVES = slice(0, None, 2), slice(1, None, 2)  # of the folds: rules are formed without one of them
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart
MOST_GROUPS = 16  # of labels that the prior is chosen by; of more, unknown labels are their mean
COARSE, FINE = 0.3, 0.2  # shares of all rows at which rules are split, if nothing is given
REGIONS_PAY = 0.03  # less error than one plane for all rows: then the finer rules are taken
SORTED = 3.0  # times the variance by chance that label means of contiguous folds may have
RESIDUAL, MOST_STEPS = 1e-8, 5000  # of the proximal gradient
ROUNDING = 1e-13  # of the largest eigenvalue
WORST_CONDITION = 1e12  # beyond it, gamma I is added to the least-squares Hessian


class Prior(NamedTuple):
    """How strongly planes are held, and to what: flat planes, or shared ones of that strength."""

    strength: float
    shared: float | None = None


class Batch(NamedTuple):
    """Rows ``r = [x, 1]``, labels, weights, and to which group of labels each belongs.

    Labels of a group are known in the same rows and have G in common; so every label is solved for
    by the rows that know it.
    """

    R: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    group: np.ndarray

    @classmethod
    def of(cls, X, Y, weights):
        """Extend rows and find the groups."""
        patterns = [known.tobytes() for known in ~np.isnan(Y.T)]  # quicker than columns
        _, group = np.unique(patterns, return_inverse=True)
        return cls(np.column_stack([X, np.ones(len(X))]), Y, weights, group)

    def sums(self, weights, rows=slice(None)):
        """Return ``G = R'QR`` (groups, d, d) and ``B = Y'QR`` (K, d) of some rows, weighted."""
        R, Y, weights = self.R[rows], self.Y[rows], weights[rows]
        there = weights > 0.0
        R, known = R[there], ~np.isnan(Y[there])
        weighted, firsts = weights[there, None] * R, np.unique(self.group, return_index=True)[1]
        G = np.stack([(known[:, [label]] * weighted).T @ R for label in firsts])
        return G, np.where(known, Y[there], 0.0).T @ weighted

    def solve(self, G, B, Delta, W_0):
        """Return the planes of least squares held to W_0."""
        W = np.empty_like(W_0)
        for g, own in enumerate(G):
            mine = self.group == g
            W[mine] = solve_planes(own, B[mine], Delta, W_0[mine])
        return W

    def base(self, G, B, shared):
        """Return what every rule is held to: flat planes, or those of all rows, held to flat."""
        planes = np.zeros_like(B)
        planes[:, -1] = B[:, -1] / np.maximum(G[self.group, -1, -1], 1e-300)
        if shared is None:
            return planes
        return self.solve(G, B, precision(shared, B.shape[1] - 1), planes)

    def scores(self, R, bases, weights, rows):
        """Return scores (strengths, bases, n, K) at R by planes of weighted rows, held to a base.

        One decomposition serves all strengths s. With ``U'GU`` diagonal, l, and ``U'DU = I``, D the
        prior of strength 1, it is ``R (W_0 + U (l + s)^-1 U'(B - W_0 G)')``.
        """
        rows = rows[weights[rows] > 0.0]
        root, unit = np.sqrt(weights[rows]), 1.0 / np.sqrt(precision(1.0, R.shape[1] - 1))
        out = np.stack([R @ bases.swapaxes(1, 2)] * len(STRENGTHS))
        for label in np.unique(self.group, return_index=True)[1]:
            mine, known = self.group == self.group[label], ~np.isnan(self.Y[rows, label])
            at, w = rows[known], root[known, None]
            values, U = spectrum(w * self.R[at] * unit)
            errors = w * (self.Y[at][:, mine] - self.R[at] @ bases[:, mine].swapaxes(1, 2))
            place, towards = R * unit @ U, U.T @ ((w * self.R[at] * unit).T @ errors)
            for scores, strength in zip(out, STRENGTHS, strict=True):
                scores[..., mine] += place @ (towards / (values + strength)[:, None])
        return out


def spectrum(A):
    """Return the eigenvalues of A'A above rounding and their vectors, by its smaller side."""
    few = len(A) < A.shape[1]
    values, U = np.linalg.eigh(A @ A.T if few else A.T @ A)
    real = values > ROUNDING * values.max(initial=0.0)
    values, U = values[real], U[:, real]
    return values, A.T @ U / np.sqrt(values) if few else U


# The prior, by cross-validation of the rule model itself


def folds_of(Y):
    """Return folds: contiguous ones, and interleaved ones besides if rows are sorted by labels.

    Contiguous folds are like a stream that moves; but where rows are sorted, every such fold lacks
    a label that the others have, and tells nothing of a stream that is not.
    """
    n, known, mean = len(Y), ~np.isnan(Y), label_means(Y)
    count, errors = min(FOLDS, n // 2), np.nan_to_num(Y - mean)
    contiguous = np.split(np.arange(n), [fold * n // count for fold in range(1, count)])
    between = np.zeros(Y.shape[1])
    for fold in contiguous:
        between += errors[fold].sum(axis=0) ** 2 / np.maximum(known[fold].sum(axis=0), 1)
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
    taught = Y
    if len(np.unique(np.isnan(Y), axis=1).T) > MOST_GROUPS:
        taught = np.where(np.isnan(Y), label_means(Y, weights), Y)
    batch, kinds, one = Batch.of(X, taught, weights), folds_of(Y), 0.0
    one = sum(np.log(losses_of_one_plane(batch, Y, folds)) for folds in kinds)
    shared = STRENGTHS[int(np.argmin(one))]
    for share in shares:
        losses = 0.0
        for folds in kinds:
            wrong = 0.0
            for half in HALVES:
                rest = np.delete(np.arange(len(X)), np.concatenate(folds[half]))
                psi = form_rules(X[rest], Y[rest], weights[rest], share)(X)
                wrong += losses_of_rules(batch, Y, folds[half], psi, shared)
            losses += np.log(wrong)
        if losses.min() < len(kinds) * np.log(1.0 - REGIONS_PAY) + one.min():
            break
    if given != "auto":
        return Prior(float(given)), share
    strength, base = np.unravel_index(np.argmin(losses), losses.shape)
    return Prior(STRENGTHS[strength], shared if base else None), share


def losses_of_one_plane(batch, Y, folds):
    """Return the squared error of one plane for all rows at those of the folds, by strength."""
    return losses_of_rules(batch, Y, folds, np.ones((len(Y), 1)))[:, 0]


def losses_of_rules(batch, Y, folds, psi, *shared):
    """Return the squared error of rules at the rows of folds, (strengths, bases).

    The bases are flat planes, and shared ones of this strength.
    """
    weights, wrong = psi * batch.weights[:, None], 1e-300
    for out in folds:
        rest = np.delete(np.arange(len(Y)), out)
        sums = batch.sums(batch.weights, rest)
        bases = np.stack([batch.base(*sums, held) for held in (None, *shared)])
        scores = np.zeros((len(STRENGTHS), len(bases), len(out), Y.shape[1]))
        for fires, w in zip(psi[out].T, weights.T, strict=True):
            near = fires > 0.0
            found = batch.scores(batch.R[out[near]], bases, w, rest)
            scores[:, :, near] += fires[near, None] * found
        wrong = wrong + np.nansum((scores - Y[out]) ** 2, axis=(2, 3))
    return wrong


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
    W_0 = batch.base(*batch.sums(batch.weights), prior.shared)
    ran_away = []
    rules.W_0[:n_rules] = W_0
    for i in range(n_rules):
        w = psi[:, i, None]
        weighted = w * batch.R
        G, Delta = weighted.T @ batch.R, precision(prior.strength, X.shape[1])
        Delta += ridge_needed(G + np.diag(Delta))
        W = batch.solve(*batch.sums(psi[:, i]), Delta, W_0)
        B = np.where(known, Y, batch.R @ W.T).T @ weighted
        rules.G[i], rules.B[i], rules.Delta[i], rules.W[i] = G, B, Delta, W
        rules.seen[i] = psi[:, i] @ known
        rules.facts["weight"][i] = rules.facts["use"][i] = psi[:, i].sum()
        if params.correlates:
            rules.label_sums[i] = pairs_of_labels(Y, psi[:, i])
        for m in range(rules.G.shape[1]):
            derive(rules, i, m, Delta)
        if not params.correlates and params.alpha == 0.0:
            continue
        if rules.facts["weight"][i] >= 1.0:
            renew_penalty(rules, i, params.correlation)
        W = minimise(G, B, Delta, W_0, params, rules.penalty[i], W)
        if W is None:
            ran_away.append(i)
        else:
            rules.W[i, SLOW] = W
    return ran_away


def pairs_of_labels(Y, weights):
    """Return the label sums (3, K, K) of rows: over those that know both labels of a pair."""
    known = ~np.isnan(Y)
    w, ones = weights[:, None], np.where(known, Y, 0.0)
    return np.stack([(known * w).T @ known, (ones * w).T @ known, (ones * w).T @ ones])


def minimise(G, B, Delta, W_0, params, penalty, W):
    """Minimise J(W) by accelerated proximal gradient with restarts, from the least squares W.

    The momentum is dropped when it points uphill (O'Donoghue and Candes 2015). None if it runs
    away.
    """
    alpha, K = params.alpha, len(W)
    penalty = params.beta * penalty if params.correlates else np.zeros((K, K))
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
    scores, R = np.zeros(Y.shape), np.column_stack([X, np.ones(len(X))])
    for fold in range(min(FOLDS, len(X))):
        out = np.arange(fold, len(X), FOLDS)
        rest = np.delete(np.arange(len(X)), out)
        batch = Batch.of(X[rest], Y[rest], psi[rest].sum(axis=1))
        W_0 = batch.base(*batch.sums(batch.weights), prior.shared)
        for i in range(psi.shape[1]):
            W = batch.solve(*batch.sums(psi[rest, i]), rules.Delta[i, SLOW], W_0)
            scores[out] += fires[out, i, None] * (R[out] @ W.T)
    return scores
