"""Choose the prior strength delta by cross-validating the rule model itself (how_it_works.md 3)."""

import numpy as np

from efcml import batch
from efcml.folds import contiguous_folds, without

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
INTERCEPT_SHARE = 0.01  # delta_0 / delta: the intercept's prior is weak
FOLDS = 5
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart


def choose_prior(learner, X, Y):
    """Return the strength with the least squared error over contiguous folds of scaled rows.

    Antecedents do not depend on delta, so every fold forms its rules once. The ridge that suits
    one global plane would be too strong for a rule by about the number of rules.
    """
    X, Y = X[-MOST_ROWS:], Y[-MOST_ROWS:]
    folds = min(FOLDS, len(X) // 2)
    if folds < 2:
        return 1.0
    losses = np.zeros(len(STRENGTHS))
    for fold in contiguous_folds(len(X), folds):
        losses += fold_losses(learner, without(X, fold), without(Y, fold), X[fold], Y[fold])
    return STRENGTHS[int(np.argmin(losses))]


def fold_losses(learner, X, Y, X_new, Y_new):
    """Return the summed squared error on new rows for every strength."""
    trial = learner.copy()
    trial.pairs = None
    losses = np.empty(len(STRENGTHS))
    trial.cluster(X, Y, 1.0)
    psi = batch.activations(trial.rules, X, trial.settings)
    psi_new = batch.activations(trial.rules, X_new, trial.settings)
    batch.set_statistics(trial.rules, X, Y, psi)
    R_new = batch.extended(X_new)
    known = ~np.isnan(Y_new)
    base = batch.prior_planes(Y, X.shape[1])
    for i, delta in enumerate(STRENGTHS):
        Delta = np.full(X.shape[1] + 1, delta)
        Delta[-1] *= INTERCEPT_SHARE
        scores = np.zeros_like(Y_new)
        for r in range(trial.rules.n_rules):
            W = ridge_weights(trial.rules, r, Delta, base)
            scores += psi_new[:, r, None] * (R_new @ W.T)
        losses[i] = ((scores - Y_new)[known] ** 2).sum()
    return losses


def ridge_weights(rules, rule, Delta, base):
    """Return the least-squares consequents of a rule under one prior."""
    target = rules.B[rule] + Delta * base
    if rules.n_groups == 1:
        return np.linalg.solve(rules.G[rule, 0] + np.diag(Delta), target.T).T
    H = rules.G[rule] + np.diag(Delta)
    return np.linalg.solve(H, target[:, :, None])[:, :, 0]
