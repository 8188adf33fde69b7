"""LabelsTogether: what the errors of labels have to do with each other (how_it_works.md 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.conditioning import condition, measure_sharpness
from efcml.kernels.error_covariance import ROWS, note_errors, prior_rows, renew_matrices
from efcml.kernels.joint_decision import decide_sets
from efcml.kernels.memory import brief_share
from efcml.model.arguments import Together
from efcml.model.kept_arrays import KeptArrays
from efcml.model.label_fields import TOGETHER_FIELDS, TOGETHER_SCRATCH

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats, Sizes

POOLED_ROWS = 2.0  # by which the variance of a label is held to that of all
LEAST_VARIANCE = 1e-6  # of a label that never was wrong
MOST_LEFT = 1e-6  # of a row that its own inverse leaves, at least, when it is taken out
MOST_PARTLY = 500  # rows of a batch with unknown labels that are asked: each costs a cube


class LabelsTogether(KeptArrays):
    """The covariance of the errors of all labels, and how far it is trusted."""

    FIELDS, SCRATCH, BUNDLE = TOGETHER_FIELDS, TOGETHER_SCRATCH, Together

    def __init__(self, n_labels: int) -> None:
        self._begin(self.sizes_of(n_labels))
        renew_matrices(self.arrays)

    @staticmethod
    def sizes_of(n_labels: int) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        return {"K": n_labels}

    @property
    def share(self) -> float:
        """How far what labels say of each other is trusted, m."""
        return float(brief_share(self.arrays.trial))

    def begin(self, errors: Floats) -> None:
        """Start from the errors (n, K) of a batch, those without the own row; NaN if unknown."""
        arrays, known = self.arrays, ~np.isnan(errors)
        errors = np.where(known, errors, 0.0)
        arrays.rows[:] = known.sum(axis=0)
        arrays.variance[:] = prior_variances(errors, arrays.rows)
        arrays.sums[:] = np.tril(errors.T @ errors)
        arrays.count[ROWS] = known.any(axis=1).sum()
        held = prior_rows(self.n_labels)
        sums = errors.T @ errors + held * np.diag(arrays.variance)
        if known.all():
            said = ask_without_own_row(errors, sums)
            arrays.trial[:] = trial_of(errors, said)
        else:
            arrays.trial[:] = trial_of_partly_known(errors, known, sums, arrays.rows + held)
        renew_matrices(arrays)

    def note(self, errors: Floats, kept: float = 1.0) -> None:
        """Take in the errors (K,) of a row before it was learned; NaN if unknown."""
        known = ~np.isnan(errors)
        if known.any():
            note_errors(np.where(known, errors, 0.0), known, known.sum(), kept, self.arrays)

    def condition(self, scores: Floats, Y: Floats) -> tuple[Floats, Floats]:
        """Return scores (n, K) given the labels that are not NaN in ``Y``, and how much sharper.

        The second is by how much the deviation of each label was larger before they were known.
        """
        given, sharpness = scores.copy(), np.ones_like(scores)
        for t in np.flatnonzero(~np.isnan(Y).all(axis=1)):
            arrays = self.arrays
            matrix, left = arrays.matrix, arrays.left
            condition(Y[t], arrays.covariance, left, given[t], matrix, arrays.line)
            measure_sharpness(arrays.covariance, left, matrix, sharpness[t])
        return given, sharpness

    def decide(self, scores: Floats, Y: Floats) -> Floats:
        """Return the most likely sets of labels (n, K), given those that are not NaN in ``Y``."""
        labels = np.empty_like(scores)
        decide_sets(Y, scores, self.arrays, labels)
        return labels

    def add_labels(self, count: int) -> None:
        """Take in labels about which no row so far was wrong; of variance they have the mean."""
        before, K = self.arrays, self.n_labels
        self._grow(count, "K")
        self.arrays.rows[K:] = before.rows.max(initial=0.0)
        if K:
            self.arrays.variance[K:] = before.variance.mean()
        renew_matrices(self.arrays)


def prior_variances(errors: Floats, rows: Floats) -> Floats:
    """Return the variance of the errors of each label, held to that of all together."""
    squares = (errors**2).sum(axis=0)
    mean = squares.sum() / max(rows.sum(), 1.0)
    variances = (squares + POOLED_ROWS * mean) / (rows + POOLED_ROWS)
    return np.maximum(variances, LEAST_VARIANCE)


def ask_without_own_row(errors: Floats, sums: Floats) -> Floats:
    """Return what the other labels of a row say of each error, by the sums without that row.

    To take ``e e'`` out of sums with the inverse Q, with ``h = e'Q e``, makes Q larger by
    ``Q e e'Q / (1 - h)``.
    """
    inverse = np.linalg.inv(sums)
    product = errors @ inverse
    left = np.maximum(1.0 - (errors * product).sum(axis=1), MOST_LEFT)[:, None]
    return errors - (product / left) / (np.diag(inverse) + product**2 / left)


def trial_of(errors: Floats, said: Floats, weight: float = 1.0) -> Floats:
    """Return the four sums of a trial (kernels/memory.py)."""
    sums = (errors * said).sum(), (said**2).sum(), (errors**2).sum(), len(errors)
    return weight * np.array(sums)


def trial_of_partly_known(errors: Floats, known: Bools, sums: Floats, rows: Floats) -> Floats:
    """Return the trial of rows that know some labels; of many, evenly spread ones stand for all."""
    there = np.flatnonzero(known.any(axis=1))
    chosen = there[np.linspace(0, len(there), min(len(there), MOST_PARTLY), False).astype(int)]
    said = np.zeros((len(chosen), errors.shape[1]))
    for line, t in zip(said, chosen, strict=True):
        labels = np.flatnonzero(known[t])
        e, roots = errors[t, labels], np.sqrt(np.maximum(rows[labels] - 1.0, 1.0))
        others = sums[np.ix_(labels, labels)] - np.outer(e, e)
        inverse = np.linalg.inv(others / np.outer(roots, roots))
        line[labels] = e - inverse @ e / np.diag(inverse)
    weight = len(there) / max(len(chosen), 1)
    return trial_of(errors[chosen], said, weight)
