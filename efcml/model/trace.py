"""What happens while a learner goes through rows, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from efcml.support.interrupts import interrupts_held

if TYPE_CHECKING:
    from efcml.support.aliases import Events, Floats, Ints

BLOCK = 256  # rows; between blocks a stream can be interrupted


@dataclass
class Trace:
    """What happened while rows were learned, one entry per row or event."""

    scores: Floats  # (n, K), before learning the row
    rules: Ints  # (n,), after learning the row
    events: Events = field(default_factory=list)
    rows: Floats | None = None  # (n, p), to be scored in place of the rows that are learned
    clipped: Floats | None = None  # (p,), values that were clipped; None if nobody counts
    ahead: int = 0  # how many rows `rows` come after those that are learned

    @classmethod
    def for_rows(cls, n: int, n_labels: int) -> Self:
        """Return an empty trace of n rows."""
        return cls(np.zeros((n, n_labels)), np.zeros(n, dtype=np.int64))

    def part(self, block: slice) -> Trace:
        """Return the trace of a slice of the rows, over the same arrays and without events."""
        rows = None if self.rows is None else self.rows[block]
        return Trace(self.scores[block], self.rules[block], rows=rows, ahead=self.ahead)

    def take_events(self, part: Trace, first: int) -> None:
        """Add events and clipped values of a part that begins at row ``first``."""
        self.events += [(first + row, kind, uid) for row, kind, uid in part.events]
        if part.clipped is not None:
            self.add_clipped(part.clipped)

    def add_clipped(self, counts: Floats) -> None:
        """Count further values that were clipped, by feature."""
        self.clipped = counts if self.clipped is None else self.clipped + counts


def learn_in_blocks(
    learn: Callable[[Floats, Floats, Trace | None], object],
    X: Floats,
    Y: Floats,
    trace: Trace | None,
    start: int = 0,
) -> None:
    """Call ``learn(X, Y, trace)`` for blocks of rows; interrupts take effect between blocks."""
    for first in range(start, len(X), BLOCK):
        block = slice(first, first + BLOCK)
        part = None if trace is None else trace.part(block)
        with interrupts_held():
            learn(X[block], Y[block], part)
        if trace is not None and part is not None:
            trace.take_events(part, first)
