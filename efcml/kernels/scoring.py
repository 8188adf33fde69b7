"""Scores and activations of whole blocks of rows; the state is only read."""

from efcml._jit import kernel, kernel_fast
from efcml.kernels.firing import activate, measure_distances


@kernel_fast
def blend(row, activation, W, n_rules, scores):
    """Write ``sum_i Psi_i r W_i`` for one extended row ``r = [x, 1]``."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
    for r in range(n_rules):
        share = activation[r]
        if share > 0.0:
            for i in range(row.shape[0]):
                factor = share * row[i]
                for c in range(scores.shape[0]):
                    scores[c] += factor * W[r, i, c]


@kernel
def fill_row(x, row):
    """Write ``r = [x, 1]``."""
    p = x.shape[0]
    for j in range(p):
        row[j] = x[j]
    row[p] = 1.0


@kernel
def score_rows(X, rules, n_rules, bandwidth, work, scores):
    """Write the K continuous outputs of every row of X (method.md 2)."""
    for t in range(X.shape[0]):
        measure_distances(
            X[t], rules.center, rules.input_precision, n_rules, work.e, work.distances
        )
        activate(work.distances, n_rules, bandwidth, work.activation)
        fill_row(X[t], work.row)
        blend(work.row, work.activation, rules.W, n_rules, scores[t])


@kernel
def activate_rows(X, rules, n_rules, bandwidth, work, activations):
    """Write the normalised activation of every rule for every row of X."""
    for t in range(X.shape[0]):
        measure_distances(
            X[t], rules.center, rules.input_precision, n_rules, work.e, work.distances
        )
        activate(work.distances, n_rules, bandwidth, work.activation)
        for r in range(n_rules):
            activations[t, r] = work.activation[r]
