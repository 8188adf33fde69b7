"""TemporalStage: how far the stages before are trusted, and what the last rows say."""

import numpy as np

from efcml.kernels import temporal as kernel
from efcml.kernels.temporal import DELAY, LEARNED_AT, LOSSES_KEPT, NEVER, ROWS
from efcml.model.stages import Stage
from efcml.model.tables import TEMPORAL, Temporal

MOST_ROWS = 3000  # of a batch; the newest are enough
WORTH = 30.0  # rows that a batch counts as: its errors are a little better than those to come


class TemporalStage(Stage):
    """Trust and time, learned from the errors of the stages before."""

    table = TEMPORAL

    def __init__(self, n_features, n_labels):
        self.arrays = Temporal(**TEMPORAL.allocate({"K": n_labels}))
        self.arrays.ago[:] = NEVER
        self.late = -1  # rows since a row that was passed, -1 for the next one

    def come_late(self, delay, *, gone_by):
        """Say how many rows lie between an answer and its labels, for all rows that follow.

        ``gone_by``: they were passed before, and come when somebody answers. Then about the median
        of their delays is followed.
        """
        clock, self.late = self.arrays.clock, delay if gone_by else -1
        step = 1 + int(clock[DELAY]) // 8
        usual = clock[DELAY] + np.clip(delay - clock[DELAY], -step, step) if gone_by else delay
        if usual > 2 * clock[LEARNED_AT] + 1:
            # Begin anew about time: the last rows say other things of the next than older ones do.
            a = self.arrays
            a.moments[1:], a.moments[:, 1:], a.targets[1:] = 0.0, 0.0, 0.0
            a.losses[2], a.tally[[kernel.GAIN, kernel.SPREAD]] = a.losses.max(), 0.0
            clock[LEARNED_AT] = usual
        clock[DELAY] = usual

    def begin(self, rows, scores, Y, weights):
        """Go through the batch as a first stream; then it is no more than a hint."""
        arrays, known = self.arrays, ~np.isnan(Y)
        arrays.ones[:], arrays.seen[:] = weights @ np.where(known, Y, 0.0), weights @ known
        new, out = slice(-MOST_ROWS, None), scores.copy()
        self._learn(scores[new], Y[new], weights[new], True, out[new])
        factor = min(1.0, WORTH / max(arrays.tally[kernel.WEIGHT], 1e-300))
        for sums in (arrays.moments, arrays.targets, arrays.tally):
            sums *= factor
        in_losses = (1.0 - LOSSES_KEPT ** known[new].mean(axis=1).sum()) / (1.0 - LOSSES_KEPT)
        arrays.losses[:] *= min(1.0, WORTH / max(in_losses, 1e-300))
        arrays.last[:], arrays.ago[:] = 0.0, NEVER  # rows of a batch may be sorted
        arrays.past_row[:] = arrays.clock[ROWS] = 0
        return out

    def _learn(self, scores, Y, weights, own, out):
        scores, Y = np.ascontiguousarray(scores), np.ascontiguousarray(Y)
        weights = np.ascontiguousarray(weights)
        kernel.follow_temporal(scores, Y, weights, own, self.late, self.arrays, out)

    def answer(self, rows, scores, ahead=0):
        """Return the scores of rows that follow the last learned one."""
        out = np.empty(scores.shape)
        kernel.answer_temporal(np.ascontiguousarray(scores), ahead, self.arrays, out)
        return out

    def follow(self, rows, scores, Y, weights, kept):
        """Answer every row, then learn it."""
        out = np.empty_like(scores)
        self._learn(scores, Y, weights, False, out)
        return out

    def pass_rows(self, count):
        """Let rows of the stream go by of which nothing is learned."""
        kernel.pass_rows(count, self.arrays)

    def addends(self, scores, ahead=0):
        """Return what is added to scores (K,) at the next row, by its name."""
        a, K = self.arrays, len(scores)
        c, shares, plain = np.zeros(5), np.zeros(3), np.zeros(3)
        delay = int(a.clock[DELAY])
        t, phi = kernel.find_coefficients(a.moments, a.targets, a.tally, delay, np.zeros((5, 5)), c)
        kernel.find_shares(a.losses, shares, plain)
        left = phi ** np.maximum(0.0, a.ago - 1.0 + ahead - delay)
        drawn = (1.0 - left) * plain[1] * (1.0 - t)
        drawn += left * (shares[1] * (1.0 - t) + shares[2] * (1.0 - c[0]))
        f = (a.ones + 0.5) / (a.seen + 1.0)
        return {
            "label frequencies": drawn * (f - scores),
            "the last errors": left * shares[2] * (c[1::2] @ a.last[kernel.ERRORS].reshape(2, K)),
            "the last labels": left * shares[2] * (c[2::2] @ a.last[kernel.LABELS].reshape(2, K)),
        }

    def add_labels(self, count):
        """Take in labels that no row so far had."""
        old = len(self.arrays.ago)
        super().add_labels(count)
        a = self.arrays
        a.ago[old:] = a.ago[:old].min() if old else NEVER
        a.past_ago[:, old:] = a.past_ago[:, :old].min(axis=1, keepdims=True) if old else NEVER
        a.seen[old:] = a.seen[:old].max() if old else 0.0
