"""Scores and activations of whole blocks of rows; the state is only read."""

from efcml._jit import kernel, kernel_fast, kernel_inline
from efcml.kernels.firing import activate, measure_distances


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
def score_row(
    x, center, input_precision, W, n_rules, bandwidth, e, distances, activation, row, scores
):
    """Write the K continuous outputs of one row (how_it_works.md 2)."""
    measure_distances(x, center, input_precision, n_rules, e, distances)
    activate(distances, n_rules, bandwidth, activation)
    fill_row(x, row)
    blend(row, activation, W, n_rules, scores)


@kernel
def score_rows(
    X, center, input_precision, W, n_rules, bandwidth, e, distances, activation, row, scores
):
    """Write the K continuous outputs of every row of X."""
    for t in range(X.shape[0]):
        score_row(
            X[t], center, input_precision, W, n_rules, bandwidth, e, distances, activation, row,
            scores[t],
        )  # fmt: skip


@kernel
def activate_rows(X, center, input_precision, n_rules, bandwidth, e, distances, activations):
    """Write the normalised activation of every rule for every row of X."""
    for t in range(X.shape[0]):
        measure_distances(X[t], center, input_precision, n_rules, e, distances)
        activate(distances, n_rules, bandwidth, activations[t])
