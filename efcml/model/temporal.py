"""TemporalStage: how far the stages before are trusted, and what the last rows say."""

import numpy as np

from efcml.kernels.temporal import (
    ERRORS,
    LABELS,
    LOSSES_KEPT,
    NEVER,
    WEIGHT,
    find_coefficients,
    find_shares,
    follow_temporal,
)
from efcml.model.stages import ArrayStage
from efcml.model.tables import TEMPORAL, Temporal

MOST_ROWS = 3000  # of a batch; the newest are enough
WORTH = 30.0  # rows that a batch counts as: its errors are a little better than those to come


class TemporalStage(ArrayStage):
    """Trust and time, learned from the errors of the stages before."""

    table = TEMPORAL

    def __init__(self, n_features, n_labels):
        self.arrays = Temporal(**TEMPORAL.allocate({"K": n_labels}))
        self.arrays.ago[:] = NEVER

    def begin(self, rows, scores, Y, weights):
        """Go through the batch as a first stream; then it is no more than a hint."""
        arrays, known = self.arrays, ~np.isnan(Y)
        arrays.ones[:], arrays.seen[:] = weights @ np.where(known, Y, 0.0), weights @ known
        new, out = slice(-MOST_ROWS, None), scores.copy()
        self._go(scores[new], Y[new], weights[new], True, True, 0, out[new])
        factor = min(1.0, WORTH / max(arrays.tally[WEIGHT], 1e-300))
        for sums in (arrays.moments, arrays.targets, arrays.tally):
            sums *= factor
        in_losses = (1.0 - LOSSES_KEPT ** known[new].mean(axis=1).sum()) / (1.0 - LOSSES_KEPT)
        arrays.losses[:] *= min(1.0, WORTH / max(in_losses, 1e-300))
        arrays.last[:], arrays.ago[:] = 0.0, NEVER  # rows of a batch may be sorted
        return out

    def _go(self, scores, Y, weights, learns, own, ahead, out):
        scores, Y = np.ascontiguousarray(scores), np.ascontiguousarray(Y)
        weights = np.ascontiguousarray(weights)
        follow_temporal(scores, Y, weights, learns, own, ahead, self.arrays, out)

    def answer(self, rows, scores, ahead=0):
        """Return the scores of rows that follow the last learned one."""
        out, unknown = np.empty_like(scores), np.full(scores.shape, np.nan)
        self._go(scores, unknown, np.ones(len(scores)), False, False, ahead, out)
        return out

    def follow(self, rows, scores, Y, weights, kept):
        """Answer every row, then learn it."""
        out = np.empty_like(scores)
        self._go(scores, Y, weights, True, False, 0, out)
        return out

    def pass_rows(self, count):
        """Let rows of the stream go by of which nothing is learned."""
        self.arrays.ago[:] = np.minimum(self.arrays.ago + count, NEVER)

    def addends(self, scores, ahead=0):
        """Return what is added to scores (K,) at the next row, by its name."""
        a, K = self.arrays, len(scores)
        c, shares, plain = np.zeros(5), np.zeros(3), np.zeros(3)
        t, phi = find_coefficients(a.moments, a.targets, a.tally, np.zeros((5, 5)), c)
        find_shares(a.losses, shares, plain)
        gone = a.ago - 1 + ahead
        left = np.where(gone == 0, 1.0, phi ** gone.astype(float))
        drawn = (1.0 - left) * plain[1] * (1.0 - t)
        drawn += left * (shares[1] * (1.0 - t) + shares[2] * (1.0 - c[0]))
        f = (a.ones + 0.5) / (a.seen + 1.0)
        return {
            "label frequencies": drawn * (f - scores),
            "the last errors": left * shares[2] * (c[1::2] @ a.last[ERRORS].reshape(2, K)),
            "the last labels": left * shares[2] * (c[2::2] @ a.last[LABELS].reshape(2, K)),
        }

    def add_labels(self, count):
        """Take in labels that no row so far had."""
        old = len(self.arrays.ago)
        self.arrays = arrays = TEMPORAL.grown(self.arrays, {"K": old + count})
        arrays.ago[old:] = arrays.ago[:old].min() if old else NEVER
        arrays.seen[old:] = arrays.seen[:old].max() if old else 0.0
