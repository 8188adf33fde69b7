"""Choose the prior of the planes by cross-validating the rule model itself (how_it_works.md 4)."""

from dataclasses import dataclass

import numpy as np

from efcml import batch
from efcml.folds import contiguous_folds, without
from efcml.rules.rulebase import RuleBase

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
INTERCEPT_SHARE = 0.01  # delta_0 / delta: the intercept's prior is weak
FOLDS = 5
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart
SHARED_GAIN = 0.005  # less error than with flat planes: strong priors are slow to follow a drift


@dataclass(frozen=True)
class Prior:
    """How strongly the planes of a rule are held, and to what.

    They are held to flat planes at the label means, or, with a number for ``shared``, to the planes
    that are fitted to all rows at once, themselves held to the flat ones with that strength.
    """

    strength: float
    shared: float | None = None

    def planes(self, X, Y):
        """Return what the planes of every rule are held to."""
        flat = batch.prior_planes(Y, X.shape[1])
        if self.shared is None:
            return flat
        return ridge_weights(one_rule(X, Y), 0, precision(self.shared, X.shape[1]), flat)


def precision(strength, n_features):
    """Return the diagonal of Delta."""
    diagonal = np.full(n_features + 1, float(strength))
    diagonal[-1] *= INTERCEPT_SHARE
    return diagonal


def choose_prior(learner, X, Y):
    """Return the prior with the least squared error over contiguous folds of scaled rows.

    Antecedents do not depend on it, so every fold forms its rules once. The strength that suits
    one plane for all rows is too much for a rule by about the number of rules. Shared planes must
    be clearly better than flat ones.
    """
    X, Y = X[-MOST_ROWS:], Y[-MOST_ROWS:]
    folds = min(FOLDS, len(X) // 2)
    if folds < 2:
        return Prior(1.0)
    parts = [
        (without(X, fold), without(Y, fold), X[fold], Y[fold])
        for fold in contiguous_folds(len(X), folds)
    ]
    shared = STRENGTHS[int(np.argmin(sum(shared_losses(*part) for part in parts)))]
    priors = [Prior(strength, held) for held in (None, shared) for strength in STRENGTHS]
    losses = sum(fold_losses(learner, priors, *part) for part in parts)
    losses[: len(STRENGTHS)] *= 1.0 - SHARED_GAIN
    return priors[int(np.argmin(losses))]


def shared_losses(X, Y, X_new, Y_new):
    """Return the summed squared error on new rows of the planes for all rows, by strength."""
    rules, flat, R_new = one_rule(X, Y), batch.prior_planes(Y, X.shape[1]), batch.extended(X_new)
    weights = (ridge_weights(rules, 0, precision(s, X.shape[1]), flat) for s in STRENGTHS)
    return np.array([np.nansum((R_new @ W.T - Y_new) ** 2) for W in weights])


def fold_losses(learner, priors, X, Y, X_new, Y_new):
    """Return the summed squared error on new rows for every prior."""
    trial = learner.copy()
    trial.pairs = None
    trial.cluster(X, Y, 1.0)
    batch.set_statistics(trial.rules, X, Y, batch.activations(trial.rules, X, trial.settings))
    psi_new = batch.activations(trial.rules, X_new, trial.settings)
    R_new = batch.extended(X_new)
    held_to = {shared: Prior(1.0, shared).planes(X, Y) for shared in {p.shared for p in priors}}
    losses = []
    for prior in priors:
        Delta = precision(prior.strength, X.shape[1])
        scores = np.zeros_like(Y_new)
        for r in range(trial.rules.n_rules):
            W = ridge_weights(trial.rules, r, Delta, held_to[prior.shared])
            scores += psi_new[:, r, None] * (R_new @ W.T)
        losses.append(np.nansum((scores - Y_new) ** 2))
    return np.array(losses)


def one_rule(X, Y):
    """Return a rule base with a single rule that is fully active at every row."""
    rules = RuleBase(X.shape[1], Y.shape[1], capacity=1)
    if Y.shape[1] > 1 and np.isnan(Y).any():
        rules.split_groups()
    rules.append()
    batch.set_statistics(rules, X, Y, np.ones((len(X), 1)))
    return rules


def ridge_weights(rules, rule, Delta, base):
    """Return the least-squares consequents of a rule under one prior."""
    target = rules.B[rule] + Delta * base
    if rules.n_groups == 1:
        return np.linalg.solve(rules.G[rule, 0] + np.diag(Delta), target.T).T
    H = rules.G[rule] + np.diag(Delta)
    return np.linalg.solve(H, target[:, :, None])[:, :, 0]
