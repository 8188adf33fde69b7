"""Gaussian processes by the textbook formulas."""

import numpy as np

FAR = 3.0


def similarity(A, B, width):
    """``exp(-|a - b|^2 / (2 p width))`` for all pairs of rows, far values cut."""
    A, B = np.clip(A, -FAR, FAR), np.clip(B, -FAR, FAR)
    squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squares / (2.0 * A.shape[1] * width))


def process_posterior(X, errors, X_new, width, noise):
    """Mean of a Gaussian process at new rows, given errors at others."""
    K = similarity(X, X, width)
    weights = np.linalg.solve(K + noise * np.eye(len(X)), errors)
    return similarity(X_new, X, width) @ weights
