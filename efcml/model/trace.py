"""What happens while a learner goes through rows, block by block."""

from dataclasses import dataclass, field

import numpy as np

from efcml.support.interrupts import interrupts_held

BLOCK = 256  # rows; between blocks a stream can be interrupted


@dataclass
class Trace:
    """What happened while rows were learned, one entry per row or event."""

    scores: np.ndarray  # (n, K), before learning the row
    rules: np.ndarray  # (n,), after learning the row
    events: list = field(default_factory=list)  # (row, "birth" | "merge" | "drop", uid)
    rows: np.ndarray | None = None  # (n, p), to be scored in place of the rows that are learned

    @classmethod
    def for_rows(cls, n, n_labels):
        """Return an empty trace of n rows."""
        return cls(np.zeros((n, n_labels)), np.zeros(n, dtype=np.int64))

    def part(self, block):
        """Return the trace of a slice of the rows, over the same arrays and without events."""
        rows = None if self.rows is None else self.rows[block]
        return Trace(self.scores[block], self.rules[block], rows=rows)

    def take_events(self, part, first):
        """Add the events of a part that begins at row ``first``."""
        self.events += [(first + row, kind, uid) for row, kind, uid in part.events]


def learn_in_blocks(learn, X, Y, trace, start=0):
    """Call ``learn(X, Y, trace)`` for blocks of rows; interrupts take effect between blocks."""
    for first in range(start, len(X), BLOCK):
        block = slice(first, first + BLOCK)
        part = None if trace is None else trace.part(block)
        with interrupts_held():
            learn(X[block], Y[block], part)
        if trace is not None:
            trace.take_events(part, first)
