"""Scores and activations of whole blocks of rows; the state is only read."""

from efcml._jit import kernel, kernel_fast, kernel_inline
from efcml.kernels.cases import recall
from efcml.kernels.firing import fire


@kernel_fast
def blend(row, activation, W, n_rules, scores):
    """Write ``sum_i Psi_i r W_i`` for one extended row ``r = [x, 1]``."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
    for r in range(n_rules):
        share = activation[r]
        if share > 0.0:
            for c in range(scores.shape[0]):
                height = 0.0
                for i in range(row.shape[0]):
                    height += row[i] * W[r, c, i]
                scores[c] += share * height


@kernel_inline
def fill_row(x, row):
    """Write ``r = [x, 1]``."""
    p = x.shape[0]
    for j in range(p):
        row[j] = x[j]
    row[p] = 1.0


@kernel
def score_row(x, ante, W, n_rules, settings, work, row, cases, scores):
    """Write the continuous outputs of one row (how_it_works.md 2), corrected by the cases."""
    fire(x, ante, n_rules, settings, work)
    fill_row(x, row)
    blend(row, work.activation, W, n_rules, scores)
    recall(x, cases, scores)


@kernel
def score_rows(X, ante, W, n_rules, settings, work, row, cases, scores):
    """Write the continuous outputs of every row of X."""
    for t in range(X.shape[0]):
        score_row(X[t], ante, W, n_rules, settings, work, row, cases, scores[t])


@kernel
def activate_rows(X, ante, n_rules, settings, work, activations):
    """Write the normalised activation of every rule for every row of X."""
    for t in range(X.shape[0]):
        fire(X[t], ante, n_rules, settings, work)
        for r in range(n_rules):
            activations[t, r] = work.activation[r]
