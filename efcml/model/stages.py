"""What a stage is: the model is a chain of them, and none writes back into the one before.

The rules come first, then the cases, what they and time have shown (temporal), stages of one's own,
and last the label layer, which makes decisions and probabilities of scores.
"""

from typing import Any, Protocol, Self

import numpy as np

from efcml.model.tables import Table


class Stage(Protocol):
    """Takes the scores of the stages before it and returns better ones.

    Rows are scaled features (n, p), none missing; scores and Y are (n, K), Y is NaN where a label
    is unknown; weights (n,) say for how many rows each row counts. Any split of a stream into calls
    of ``follow`` must give the same answers, to the last bit: go through rows one by one.
    """

    def begin(self, rows, scores, Y, weights) -> np.ndarray:
        """Start from a batch, from nothing; return scores of rows as if they were not learned.

        ``scores`` are those that the stages before give to rows that they have not learned.
        """

    def answer(self, rows, scores, ahead=0) -> np.ndarray:
        """Return the scores of rows that follow the last learned one; the state is only read.

        The first of them comes ``ahead`` rows after the next.
        """

    def follow(self, rows, scores, Y, weights, kept) -> np.ndarray:
        """Answer every row, then learn it; return the answers.

        ``scores`` are what the stages before answered; ``kept`` (n,) what each row leaves of the
        rows before it: forgetting.
        """

    def add_labels(self, count) -> None:
        """Take in labels that no row so far had."""

    def change_units(self, change) -> None:
        """Take rows that are ``change.rows(x)`` from now on (model/rescaling.py)."""

    def copy(self) -> "Stage":
        """Return an independent copy."""

    def state(self) -> dict[str, np.ndarray]:
        """Return a copy of everything that is remembered, as arrays by name."""

    def restore(self, state) -> None:
        """Take over what `state` returned."""


class ArrayStage:
    """A stage whose whole memory is one table of arrays, ``self.arrays``."""

    table: Table
    arrays: Any

    def answer(self, rows, scores, ahead=0):
        """Return the scores of rows: of weight 0, so nothing is learned."""
        nothing, kept = np.zeros(len(rows)), np.ones(len(rows))
        return self.follow(rows, scores, np.full(scores.shape, np.nan), nothing, kept)

    def change_units(self, change):
        """Nothing here is in units of the features."""

    def copy(self) -> Self:
        """Return an independent copy."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.arrays = type(self.arrays)(*(array.copy() for array in self.arrays))
        return other

    def __setstate__(self, state):
        """Take over a pickle; arrays that joblib maps into memory are read-only, and copied."""
        vars(self).update(state)
        arrays = (a if a.flags.writeable else np.array(a) for a in self.arrays)
        self.arrays = type(self.arrays)(*arrays)

    def state(self):
        """Return a copy of all arrays."""
        return {name: array.copy() for name, array in self.arrays._asdict().items()}

    def restore(self, state):
        """Take over what `state` returned."""
        self.arrays = type(self.arrays)(**{name: state[name].copy() for name in self.table.names})
