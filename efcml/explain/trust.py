"""How far what is read off the rules is what the model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.document import Block, as_text
from efcml.explain.phrases import count, percent, short

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


@dataclass(frozen=True)
class Trust:
    """Shares of decisions (rows times labels) that are the model's own, by simpler readings."""

    rows: int  # that were looked at
    source: str  # "learned row", if these are the last that the model has learned; else "row"
    strongest: float  # share of decisions that the strongest rule of the row would take alone
    sparse: float  # the same, if of its planes only what is printed counts
    rules: float  # share of decisions that all rules would take without the cases
    correction: float  # how far the cases, and what errors taught after them, move a score
    effective: float  # effective number of rules per row, median
    taught: bool = False  # whether errors taught trust, time or stages of one's own anything

    @property
    def turned(self) -> float:
        """Share of decisions that the cases turn, and what errors taught."""
        return 1.0 - self.rules

    @property
    def block(self) -> Block:
        """The same in words, one sentence each."""
        rows = count(self.rows, "row")
        rows = f"the last {rows} that it has learned" if self.source == "learned row" else rows
        after = "cases and what errors taught turn" if self.taught else "cases turn"
        sentences = [
            f"by {rows}: {share(self.strongest)} of all decisions "
            f"are those of the strongest rule alone, {share(self.sparse)} by what is printed of "
            f"its slopes",
            f"{share(self.rules)} are those of all rules without cases; {after} the rest, and "
            f"move a score by {short(self.correction)} on average",
            f"half of the rows are decided by at most {self.effective:.1f} effective rules",
        ]
        return Block("how far to trust the reading", [(1, sentence) for sentence in sentences])

    def __str__(self) -> str:
        return as_text([self.block])


def share(value: float) -> str:
    """Return a share in percent that says 100 % only if nothing is missing.

    Examples
    --------
    >>> share(1.0), share(0.9999), share(0.0), share(0.00004)
    ('100 %', '99.9 %', '0 %', '0.004 %')
    """
    return "99.9 %" if 0.995 < value < 1.0 else percent(value)


def count_effective(activations: Floats) -> Floats:
    """Return how many rules share each answer: exp of the entropy of the activations (n,)."""
    logs = np.log(np.where(activations > 0.0, activations, 1.0))
    return np.exp(-(activations * logs).sum(axis=1))
