"""What happens while a learner goes through rows, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from efcml.model.labels import Answer, plain_answer
from efcml.support.aliases import Bools, Events, Floats, Ints
from efcml.support.guard import interrupts_held

BLOCK = 256  # rows; between blocks a stream can be interrupted


@dataclass
class Trace:
    """What happened while rows were learned, one entry per row or event."""

    scores: Floats  # (n, K), before learning the row
    decisions: Floats  # (n, K), 0 or 1; NaN where the learner has none of its own
    probabilities: Floats  # (n, K), likewise
    rules: Ints  # (n,), after learning the row
    events: Events = field(default_factory=list)
    rows: Floats | None = None  # (n, p), to be scored in place of the rows that are learned
    ahead: int = 0  # how many rows `rows` come after those that are learned
    delay: int = 0  # how many rows lie between the answers and the labels that are learned
    seconds: float = 0.0  # spent in the model
    heard: bool = True  # else nobody asks, and nothing is noted

    @classmethod
    def for_rows(cls, n: int, n_labels: int) -> Self:
        """Return an empty trace of n rows."""
        answers = np.full((3, n, n_labels), np.nan)
        answers[0] = 0.0
        return cls(answers[0], answers[1], answers[2], np.zeros(n, dtype=np.int64))

    def part(self, block: slice) -> Trace:
        """Return the trace of a slice of the rows, over the same arrays and without events."""
        if not self.heard:
            return self
        rows = None if self.rows is None else self.rows[block]
        answers = self.scores[block], self.decisions[block], self.probabilities[block]
        return Trace(*answers, self.rules[block], rows=rows, ahead=self.ahead, delay=self.delay)

    def take_answer(self, answer: Answer, block: slice = slice(None)) -> None:
        """Note what is said of some rows."""
        if self.heard:
            self.scores[block], self.decisions[block] = answer.scores, answer.decisions
            self.probabilities[block] = answer.probabilities

    def take_rules(self, first: int, n_rules: Ints, events: Events) -> None:
        """Note how many rules there are after each row from ``first`` on, and what became of them.

        Rows of events are counted from there.
        """
        if self.heard:
            self.rules[first : first + len(n_rules)] = n_rules
            self.events += [(first + row, kind, uid) for row, kind, uid in events]

    def note(self, row: int, events: Iterable[tuple[str, int]], n_rules: int) -> None:
        """Note what else became of rules after a row, and how many there are now."""
        if self.heard:
            self.rules[row] = n_rules
            self.events += [(row, kind, uid) for kind, uid in events]

    def complete(self) -> tuple[Bools, Floats]:
        """Return decisions and probabilities; where there are none, those that scores imply."""
        plain, missing = plain_answer(self.scores), np.isnan(self.decisions)
        decisions = np.where(missing, plain.decisions, self.decisions)
        return decisions == 1.0, np.where(missing, plain.probabilities, self.probabilities)

    def take_events(self, part: Trace, first: int) -> None:
        """Add events of a part that begins at row ``first``."""
        if self.heard:
            self.events += [(first + row, kind, uid) for row, kind, uid in part.events]


UNHEARD = Trace.for_rows(0, 0)
UNHEARD.heard = False


def learn_in_blocks(
    learn: Callable, X: Floats, Y: Floats, trace: Trace | None, start: int, weights: Floats
) -> None:
    """Call ``learn(X, Y, trace, weights)`` for blocks of rows; interrupts wait for their ends."""
    for first in range(start, len(Y), BLOCK):
        block = slice(first, first + BLOCK)
        part = None if trace is None else trace.part(block)
        with interrupts_held():
            learn(X[block], Y[block], part, weights[block])
        if trace is not None and part is not None:
            trace.take_events(part, first)
