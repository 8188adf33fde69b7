"""How far what is read off the rules is what the model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from efcml.explain.words import Block, as_text, count, percent, short
from efcml.support.aliases import Floats

if TYPE_CHECKING:
    from efcml.explain.rules import Rule
    from efcml.model.learner import Learner


@dataclass(frozen=True)
class Trust:
    """Shares of decisions (rows times labels) that are the model's own, by simpler readings."""

    rows: int  # that were looked at
    learned: bool  # whether these are the last that the model has learned
    strongest: float  # share of decisions that the strongest rule of the row would take alone
    rules: float  # share of decisions that all rules would take without the cases
    correction: float  # how far cases, and what errors taught after them, move a score

    @property
    def block(self) -> Block:
        """The same in words, one sentence each."""
        rows = count(self.rows, "row")
        rows = f"the last {rows} that it has learned" if self.learned else rows
        sentences = [
            f"by {rows}: {percent(self.strongest)} of all decisions are those of the strongest "
            f"rule alone, {percent(self.rules)} those of all rules",
            "cases and what errors taught turn the rest, and move a score by "
            f"{short(self.correction)} on average",
        ]
        return Block("how far to trust the reading", [(1, sentence) for sentence in sentences])

    def __str__(self) -> str:
        return as_text([self.block])


def count_effective(activations: Floats) -> Floats:
    """Return how many rules share each answer: exp of the entropy of the activations (n,)."""
    return np.exp(entr(activations).sum(axis=1))


def measure_trust(
    learner: Learner, rules: Sequence[Rule], rows: Floats, *, learned: bool = False
) -> Trust:
    """Return how well simpler readings agree with a fitted learner at some scaled rows.

    ``rules`` are in the order of the learner's arrays.
    """
    scores, filled = learner.score_scaled(rows), learner.fill(rows)
    psi = learner.rules.activations(filled)
    winner = psi.argmax(axis=1)
    blended, alone = np.zeros_like(scores), np.zeros_like(scores)
    for r, rule in enumerate(rules):
        heights = filled @ rule.slopes.T + rule.scaled_weights[:, -1]
        blended += psi[:, [r]] * heights
        alone[winner == r] = heights[winner == r]
    # All are decided as the model decides, by its thresholds or as whole sets.
    decided = learner.answer_scores(scores).decisions
    strongest, together = (
        float((learner.answer_scores(part).decisions == decided).mean())
        for part in (alone, blended)
    )
    return Trust(len(rows), learned, strongest, together, float(np.abs(scores - blended).mean()))
