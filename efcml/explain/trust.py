"""How far what is read off the rules is what the model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.words import Block, as_text, count, percent, short

if TYPE_CHECKING:
    from efcml.explain.rules import Rule
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats


@dataclass(frozen=True)
class Trust:
    """Shares of decisions (rows times labels) that are the model's own, by simpler readings."""

    rows: int  # that were looked at
    learned: bool  # whether these are the last that the model has learned
    strongest: float  # share of decisions that the strongest rule of the row would take alone
    sparse: float  # the same, if its planes had five features
    rules: float  # share of decisions that all rules would take without the cases
    correction: float  # how far cases, and what errors taught after them, move a score
    effective: float  # effective number of rules per row, median

    @property
    def block(self) -> Block:
        """The same in words, one sentence each."""
        rows = count(self.rows, "row")
        rows = f"the last {rows} that it has learned" if self.learned else rows
        sentences = [
            f"by {rows}: {share(self.strongest)} of all decisions are those of the strongest rule "
            f"alone, {share(self.sparse)} if its planes had only five features",
            f"{share(self.rules)} are those of all rules; cases and what errors taught turn the "
            f"rest, and move a score by {short(self.correction)} on average",
            f"half of the rows are decided by at most {self.effective:.1f} effective rules",
        ]
        return Block("how far to trust the reading", [(1, sentence) for sentence in sentences])

    def __str__(self) -> str:
        return as_text([self.block])


def share(value: float) -> str:
    """Return a share in percent that says 100 % only if nothing is missing."""
    return "99.9 %" if 0.995 < value < 1.0 else percent(value)


def count_effective(activations: Floats) -> Floats:
    """Return how many rules share each answer: exp of the entropy of the activations (n,)."""
    logs = np.log(np.where(activations > 0.0, activations, 1.0))
    return np.exp(-(activations * logs).sum(axis=1))


def measure_trust(
    learner: Learner, rules: Sequence[Rule], rows: Floats, *, learned: bool = False
) -> Trust:
    """Return how well simpler readings agree with a fitted learner at some scaled rows.

    ``rules`` are in the order of the learner's arrays.
    """
    scores, filled = learner.score_scaled(rows), learner.fill(rows)
    psi = learner.rules.activations(filled)
    winner = psi.argmax(axis=1)
    blended, alone, thin = (np.zeros_like(scores) for _ in range(3))
    for r, rule in enumerate(rules):
        heights = filled @ rule.slopes.T + rule.scaled_weights[:, -1]
        blended += psi[:, [r]] * heights
        own = winner == r
        alone[own] = heights[own]
        thin[own] = rule.answer + (filled[own] - rule.scaled_center) @ rule.sparse.T
    # All are decided as the model decides, by its thresholds or as whole sets.
    decided = learner.answer_scores(scores).decisions
    strongest, sparse, together = (
        float((learner.answer_scores(part).decisions == decided).mean())
        for part in (alone, thin, blended)
    )
    correction = float(np.abs(scores - blended).mean())
    effective = float(np.median(count_effective(psi)))
    return Trust(len(rows), learned, strongest, sparse, together, correction, effective)
