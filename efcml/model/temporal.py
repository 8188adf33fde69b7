"""TemporalStage: how far the stages before are trusted, and what the last rows say."""

import numpy as np

from efcml.kernels import temporal as kernel
from efcml.kernels.planes import GAIN, SPREAD, WEIGHT
from efcml.kernels.temporal import DELAY, LATE, LONG_AGO, REMEMBERED, TARGET, TIME
from efcml.model.stages import Stage
from efcml.model.tables import TEMPORAL, Temporal

MOST_ROWS = 3000  # of a batch; the newest are enough
HINT = 5.0  # rows that a batch counts as: rows to come follow each other in another way
PROOF = 30.0  # likewise, its evidence


def new_scratch():
    """Return what kernels write on their way: a system to solve, what is read, answers, x."""
    sizes = (TARGET + 1, TARGET + 1), 4 + TARGET, 3, TARGET + 1
    return tuple(map(np.empty, sizes))


class TemporalStage(Stage):
    """Trust and time, learned from the errors of the stages before."""

    table = TEMPORAL

    def __init__(self, n_features, n_labels):
        self.arrays = Temporal(**TEMPORAL.allocate({"K": n_labels}))
        self.arrays.ago[:] = LONG_AGO
        self.late = -1  # rows since a row that was passed, -1 for the next one

    @property
    def _stride(self):
        """How many rows lie between two that are remembered."""
        return 1 + int(self.arrays.clock[DELAY]) // (REMEMBERED - 1)

    def come_late(self, delay, *, gone_by):
        """Say how many rows lie between an answer and its labels, for all rows that follow.

        ``gone_by``: they were passed before, and come when somebody answers. Then about the median
        of their delays is followed.
        """
        clock, tally = self.arrays.clock, self.arrays.tally
        self.late = delay if gone_by else -1
        step = 1 + int(clock[DELAY]) // 8
        usual = clock[DELAY] + np.clip(delay - clock[DELAY], -step, step) if gone_by else delay
        if usual * tally[WEIGHT] > 2 * tally[LATE] + tally[WEIGHT]:
            # Begin anew about time: the last rows say other things of the next than older ones do.
            a = self.arrays
            a.sums[1:TARGET], a.sums[TARGET, 1:TARGET] = 0.0, 0.0
            a.evidence[TIME], tally[[GAIN, SPREAD]] = 0.0, 0.0
            tally[LATE] = usual * tally[WEIGHT]
        clock[DELAY] = usual

    def begin(self, rows, scores, Y, weights):
        """Go through the batch as a first stream; then it is no more than a hint."""
        arrays, known = self.arrays, ~np.isnan(Y)
        arrays.ones[:], arrays.seen[:] = weights @ np.where(known, Y, 0.0), weights @ known
        new, out = slice(-MOST_ROWS, None), scores.copy()
        out[new] = self._learn(scores[new], Y[new], weights[new], own=True)
        rows = max(arrays.tally[WEIGHT], 1e-300)
        arrays.evidence[:] *= min(1.0, PROOF / rows)
        for sums in (arrays.sums, arrays.tally):
            sums *= min(1.0, HINT / rows)
        arrays.last[:], arrays.ago[:] = 0.0, LONG_AGO  # rows of a batch may be sorted
        arrays.past_row[:] = arrays.clock[:] = 0
        return out

    def _learn(self, scores, Y, weights, *, own):
        given, out = map(np.ascontiguousarray, (scores, Y, weights)), np.empty(scores.shape)
        steering = own, self.late, self._stride
        kernel.follow_temporal(*given, *steering, self.arrays, new_scratch(), out)
        return out

    def answer(self, rows, scores, ahead=0):
        """Return the scores of rows, each so many rows after the next one."""
        return self._answer(scores, ahead)[0]

    def _answer(self, scores, ahead):
        """Return the answers, and what was read of the sums for them."""
        scratch, out = new_scratch(), np.empty(scores.shape)
        given = np.ascontiguousarray(scores), np.full(len(scores), ahead), self._stride
        kernel.answer_temporal(*given, self.arrays, scratch, out)
        return out, scratch[1]

    def follow(self, rows, scores, Y, weights, kept):
        """Answer every row, then learn it."""
        return self._learn(scores, Y, weights, own=False)

    def pass_rows(self, count):
        """Let rows of the stream go by of which nothing is learned."""
        kernel.pass_rows(count, self._stride, self.arrays)

    def addends(self, scores, ahead=0):
        """Return what is added to scores (K,) at the next row, by its name."""
        a = self.arrays
        t, trusted, timed, phi, *c = self._answer(scores[None], ahead)[1]
        said = timed * phi ** np.maximum(0.0, a.ago - 1.0 + ahead - a.clock[DELAY])
        drawn = (1.0 - said) * trusted * (1.0 - t) + said * (1.0 - c[0])
        f = (a.ones + 0.5) / (a.seen + 1.0)
        return {
            "label frequencies": drawn * (f - scores),
            "the last errors": said * (c[1::2] @ a.last[0::2]),
            "the last labels": said * (c[2::2] @ a.last[1::2]),
        }

    def add_labels(self, count):
        """Take in labels that no row so far had."""
        old = len(self.arrays.ago)
        super().add_labels(count)
        a = self.arrays
        a.ago[old:] = a.ago[:old].min() if old else LONG_AGO
        a.past_ago[:, old:] = a.past_ago[:, :old].min(axis=1, keepdims=True) if old else LONG_AGO
        a.seen[old:] = a.seen[:old].max() if old else 0.0
