"""How far what is read off the rules is what the model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain.activity import activate_scaled, count_effective, rows_as_taken
from efcml.explain.phrases import count, percent, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from efcml.explain.rule import Rule
    from efcml.support.aliases import Floats

REMEMBERED = "remembered row"
GIVEN = "row"


@dataclass(frozen=True)
class Trust:
    """Shares of decisions (rows times labels) that are the model's own, by simpler readings.

    Attributes
    ----------
    rows : int
        Rows that were looked at.
    source : str
        "remembered row", if these are the cases of the model, which it has learned; else "row".
    strongest : float
        Share of decisions that the strongest rule of the row would take alone.
    sparse : float
        The same, if of its planes only what is printed counts: at most five features.
    rules : float
        Share of decisions that all rules would take without the cases.
    correction : float
        How far the cases, and what errors taught after them, move a score, in the mean.
    effective : float
        Effective number of rules per row, median.
    taught : bool
        Whether errors taught anything that moves scores: caution or time.
    """

    rows: int
    source: str
    strongest: float
    sparse: float
    rules: float
    correction: float
    effective: float
    taught: bool = False

    @property
    def turned(self) -> float:
        """Share of decisions that the cases turn, and what errors taught."""
        return 1.0 - self.rules

    @property
    def sentences(self) -> list[str]:
        """The same in words, one sentence each."""
        seen = " that it has learned" if self.source == REMEMBERED else ""
        after = "cases and what errors taught turn" if self.taught else "cases turn"
        return [
            f"by {count(self.rows, self.source)}{seen}: {share(self.strongest)} of all decisions "
            f"are those of the strongest rule alone, {share(self.sparse)} by what is printed of "
            f"its slopes",
            f"{share(self.rules)} are those of all rules without cases; {after} the rest, and "
            f"move a score by {short(self.correction)} on average",
            f"half of the rows are decided by at most {self.effective:.1f} effective rules",
        ]

    def __str__(self) -> str:
        return "\n".join(["how far to trust the reading", *(f"  {s}" for s in self.sentences)])


def share(value: float) -> str:
    """Return a share in percent that says 100 % only if nothing is missing.

    Examples
    --------
    >>> share(1.0), share(0.9999), share(0.0), share(0.00004)
    ('100 %', '99.9 %', '0 %', '0.004 %')
    """
    return "99.9 %" if 0.995 < value < 1.0 else percent(value)


def measure_trust(learner: Any, rules: Sequence[Rule], X: Floats, source: str) -> Trust:
    """Return how well simpler readings agree with a fitted learner at some rows.

    ``rules`` are in the order of the learner's arrays.
    """
    scores, scaled = learner.score(X), learner.scaler.transform(X)
    psi, (taken, _) = activate_scaled(learner, scaled), rows_as_taken(learner, scaled)
    winner = psi.argmax(axis=1)
    blended, alone, thin = (np.zeros_like(scores) for _ in range(3))
    for r, rule in enumerate(rules):
        heights = taken[r] @ rule.slopes.T + rule.scaled_weights[:, -1]
        blended += psi[:, [r]] * heights
        own = winner == r
        alone[own] = heights[own]
        thin[own] = rule.answer + (taken[r][own] - rule.scaled_center) @ rule.sparse.slopes.T
    # All are decided as the model decides, by its thresholds or as whole sets.
    decided, alone, thin, blended_decided = (
        learner.answer_scores(part).decisions for part in (scores, alone, thin, blended)
    )
    return Trust(
        len(X),
        source,
        agreement(alone, decided),
        agreement(thin, decided),
        agreement(blended_decided, decided),
        float(np.abs(scores - blended).mean()),
        float(np.median(count_effective(psi))),
        taught=has_taught(learner, scores[0]),
    )


def has_taught(learner: Any, score: Floats) -> bool:
    """Tell whether caution or time move a score."""
    sequel = learner.sequel
    return sequel.is_on and any(added.any() for added in sequel.addends(score).values())


def agreement(decisions: Floats, decided: Floats) -> float:
    """Return the share of decisions that are the same."""
    return float((decisions == decided).mean())
