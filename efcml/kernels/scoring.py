"""Scores and activations of whole blocks of rows; the state is only read."""

from efcml._jit import kernel, kernel_fast
from efcml.kernels.cases import recall
from efcml.kernels.firing import AHEAD, activate_rules, fire, look_ahead, measure_distances


@kernel
def blend(activation, heights, n_rules, scores):
    """Write ``sum_i Psi_i r W_i`` from the heights of all planes at a row."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
    for r in range(n_rules):
        share = activation[r]
        if share > 0.0:
            for c in range(scores.shape[0]):
                scores[c] += share * heights[r, c]


@kernel
def fill_row(x, row):
    """Write ``r = [x, 1]``."""
    p = x.shape[0]
    for j in range(p):
        row[j] = x[j]
    row[p] = 1.0


@kernel_fast
def measure_heights(row, W, n_rules, heights):
    """Write the height of every plane of every rule at the extended row ``r = [x, 1]``."""
    for r in range(n_rules):
        for c in range(W.shape[1]):
            height = 0.0
            for i in range(row.shape[0]):
                height += row[i] * W[r, c, i]
            heights[r, c] = height


@kernel
def view_row(x, distances, W, n_rules, work, row, heights):
    """Write what scoring and learning a row both need; its ``distances`` have been measured."""
    for r in range(n_rules):
        work.distances[r] = distances[r]
    fill_row(x, row)
    measure_heights(row, W, n_rules, heights)


@kernel
def answer_row(x, ante, n_rules, settings, work, heights, cases, scores):
    """Write the continuous outputs of a row that was viewed, corrected by the cases."""
    activate_rules(ante, n_rules, settings, work)
    blend(work.activation, heights, n_rules, scores)
    recall(x, cases, scores)


@kernel
def score_row(x, ante, W, n_rules, settings, work, row, heights, cases, scores):
    """Write the continuous outputs of one row (how_it_works.md 2)."""
    measure_distances(x, ante.center, ante.input_precision, n_rules, work.e, work.distances)
    fill_row(x, row)
    measure_heights(row, W, n_rules, heights)
    answer_row(x, ante, n_rules, settings, work, heights, cases, scores)


@kernel
def score_rows(X, ante, W, n_rules, settings, work, row, heights, cases, scores):
    """Write the continuous outputs of every row of X."""
    center, precision, n = ante.center, ante.input_precision, X.shape[0]
    for first in range(0, n, AHEAD):
        last = min(first + AHEAD, n)
        look_ahead(X, first, last, center, precision, n_rules, work.e, work.ahead)
        for t in range(first, last):
            view_row(X[t], work.ahead[t - first], W, n_rules, work, row, heights)
            answer_row(X[t], ante, n_rules, settings, work, heights, cases, scores[t])


@kernel
def activate_rows(X, ante, n_rules, settings, work, activations):
    """Write the normalised activation of every rule for every row of X."""
    for t in range(X.shape[0]):
        fire(X[t], ante, n_rules, settings, work)
        for r in range(n_rules):
            activations[t, r] = work.activation[r]
