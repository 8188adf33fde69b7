"""LabelThresholds: from which score on a label is said, for the largest F1 (how_it_works.md 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.label_counts import (
    LOWEST,
    N_THRESHOLDS,
    STEP,
    count_row,
    count_rows,
    find_thresholds,
)
from efcml.model.arguments import Thresholds
from efcml.model.kept_arrays import KeptArrays
from efcml.model.label_fields import THRESHOLD_FIELDS, THRESHOLD_SCRATCH

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, Sizes


class LabelThresholds(KeptArrays):
    """Counts of what would have been said at every threshold, for every label."""

    FIELDS, SCRATCH, BUNDLE = THRESHOLD_FIELDS, THRESHOLD_SCRATCH, Thresholds

    def __init__(self, n_labels: int) -> None:
        self._begin(self.sizes_of(n_labels))

    @staticmethod
    def sizes_of(n_labels: int) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        return {"K": n_labels, "t": N_THRESHOLDS}

    def begin(self, scores: Floats, Y: Floats) -> None:
        """Start from scores (n, K) of a batch, those without the own row; Y is NaN if unknown."""
        known = ~np.isnan(Y)
        count_rows(scores, np.where(known, Y, 0.0), known, self.arrays)

    def note(self, scores: Floats, y: Floats, kept: float = 1.0) -> None:
        """Count a row: scores (K,) from before it was learned, and labels, NaN if unknown."""
        known = ~np.isnan(y)
        if known.any():
            count_row(scores, np.where(known, y, 0.0), known, kept, self.arrays)

    def find(self) -> Floats:
        """Return the threshold of every label."""
        thresholds = np.empty(self.n_labels)
        find_thresholds(self.arrays, thresholds)
        return thresholds

    def add_labels(self, count: int) -> None:
        """Take in labels that no row so far had; the score of each was 0 there."""
        rows, K = self.arrays.rows.max(initial=0.0), self.n_labels
        self._grow(count, "K")
        at_zero = LOWEST + STEP * np.arange(N_THRESHOLDS) <= 0.0
        self.arrays.rows[K:] = rows
        self.arrays.said[K:] = rows * at_zero
