"""What a stage is: the model is a chain of them, and none writes back into the one before.

The rules come first, then the cases, what they and time have shown (temporal), stages of one's own,
and last the label layer, which makes decisions and probabilities of scores.
"""

from collections import namedtuple
from typing import Any, Self

import numpy as np

from efcml.model.tables import Table

Nothing = namedtuple("Nothing", ())


class Stage:
    """Takes the scores of the stages before it and returns better ones.

    All that it remembers is in ``arrays``, a named tuple of arrays, which ``table`` may describe.
    Rows are scaled features (n, p), none missing; scores and Y are (n, K), Y is NaN where a label
    is unknown; weights (n,) say for how many rows each row counts. Any split of a stream into calls
    of ``follow`` must give the same answers, to the last bit: go through rows one by one. Every
    other method has a sensible default.
    """

    table: Table
    arrays: Any = Nothing()

    def begin(self, rows, scores, Y, weights) -> np.ndarray:
        """Start from a batch, from nothing; return scores of rows as if they were not learned.

        ``scores`` are those that the stages before give to rows that they have not learned.
        """
        return scores

    def follow(self, rows, scores, Y, weights, kept) -> np.ndarray:
        """Answer every row, then learn it; return the answers.

        ``scores`` are what the stages before answered; ``kept`` (n,) what each row leaves of the
        rows before it: forgetting. Of a row of weight 0, or without known labels, nothing is
        learned.
        """
        raise NotImplementedError

    def answer(self, rows, scores, ahead=0) -> np.ndarray:
        """Return the scores of rows that are not learned; the state is only read.

        Each comes ``ahead`` rows after the next one: a number, or one for each row (n,).
        """
        nothing, kept = np.zeros(len(rows)), np.ones(len(rows))
        return self.follow(rows, scores, np.full(scores.shape, np.nan), nothing, kept)

    def come_late(self, delay, *, gone_by):
        """Say how many rows lie between an answer and its labels, for all rows that follow.

        ``gone_by``: they were passed before (`pass_rows`), and come when somebody answers.
        """

    def pass_rows(self, count):
        """Let rows of the stream go by of which nothing is learned."""

    def add_labels(self, count):
        """Take in labels that no row so far had."""
        if self.arrays:
            if not hasattr(self, "table"):
                raise ValueError(
                    f"a label is new: {type(self).__name__} must have a table of its arrays, or "
                    "add_labels(count) of its own."
                )
            self.arrays = self.table.resized(self.arrays, K=count)

    def copy(self, into=None) -> Self:
        """Return an independent copy, in the arrays of an older one if they are as large."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        arrays, spare = self.arrays, (self if into is None else into).arrays
        copies = [
            np.zeros_like(old) if new is old or new.shape != old.shape else new
            for old, new in zip(arrays, spare, strict=True)
        ]
        for name, old, new in zip(arrays._fields, arrays, copies, strict=True):
            part = self.in_use(name)
            new[part] = old[part]
        other.arrays = type(arrays)(*copies)
        return other

    def in_use(self, name):
        """Return which entries of an array mean something."""
        return slice(None)

    def __setstate__(self, state):
        """Take over a pickle; arrays that joblib maps into memory are read-only, and copied."""
        vars(self).update(state)
        arrays = (a if a.flags.writeable else a.copy() for a in self.arrays)
        self.arrays = type(self.arrays)(*arrays)

    def state(self) -> dict[str, np.ndarray]:
        """Return a copy of everything that is remembered, as arrays by name."""
        return {name: array.copy() for name, array in self.arrays._asdict().items()}

    def restore(self, state):
        """Take over what `state` returned."""
        names = self.arrays._fields
        self.arrays = type(self.arrays)(*(state[name].copy() for name in names))
