"""What an active learner says: a question about one row, and a line of its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats


class Asker:
    """Stands for one active learner in its questions; a copy stands for the copy."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is wanted of one row. True if any label is.

    Attributes
    ----------
    row : int
        Number of the row in the stream of the active learner, from 0.
    labels : bool array of shape (K,)
        The labels to give; all False if nothing is asked.
    reasons : tuple of str
        The criteria that fired.
    thresholds : dict
        By criterion, as they were when this was decided.
    scores : array of shape (K,)
        What the model says of the row.
    """

    row: int
    labels: Bools
    reasons: tuple[str, ...]
    thresholds: dict[str, float]
    scores: Floats
    x: Floats = field(repr=False)  # (1, p), checked, not scaled
    after: Floats = field(repr=False)  # state of the active learner once the row is counted
    asker: Asker = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.labels.any())


class Query(NamedTuple):
    """One line of the log: a question that was asked.

    ``spent`` counts rows or labels, this question included; ``share`` is that over all rows or
    labels so far.
    """

    row: int
    reasons: tuple[str, ...]
    labels: Bools
    thresholds: dict[str, float]
    spent: int
    share: float
