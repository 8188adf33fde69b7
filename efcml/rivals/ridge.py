"""Choose the ridge of one global plane by cross-validation on the initial rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.support.folds import contiguous_folds, without
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0)
FOLDS = 5
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart


def choose_ridge(X: Floats, Y: Floats) -> float:
    """Return the ridge with the least squared error over contiguous folds.

    The intercept is not penalised. An unknown label counts as the mean of its label when planes
    are fitted, and not at all in the error.
    """
    X, Y = X[-MOST_ROWS:], Y[-MOST_ROWS:]
    folds = min(FOLDS, len(X) // 2)
    if folds < 2:
        return 1.0
    known = ~np.isnan(Y)
    filled = np.where(known, Y, label_means(Y))
    losses = np.zeros(len(RIDGES))
    for fold in contiguous_folds(len(X), folds):
        errors = fold_errors(without(X, fold), without(filled, fold), X[fold], filled[fold])
        losses += (errors**2 * known[fold]).sum(axis=(1, 2))
    return RIDGES[int(np.argmin(losses))]


def fold_errors(X: Floats, Y: Floats, X_new: Floats, Y_new: Floats) -> Floats:
    """Return the errors on new rows for every ridge, from one decomposition."""
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    centered = X - x_mean
    values, vectors = np.linalg.eigh(centered.T @ centered)
    target = vectors.T @ (centered.T @ (Y - y_mean))
    inputs = (X_new - x_mean) @ vectors
    planes = [target / (np.maximum(values, 0.0) + ridge)[:, None] for ridge in RIDGES]
    return np.array([y_mean + inputs @ plane - Y_new for plane in planes])
