"""How far what is read off the rules is what the model does, and what is added to the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.wide import Reading
from efcml.explain.words import Block, as_text, count, percent, short

if TYPE_CHECKING:
    from efcml.explain.rules import Rule
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Ints

OLDER = -1  # number of a row that is no longer among the last ones, or had missing features


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
    """Return a share in percent that says 100 % only if nothing is missing."""
    return "99.9 %" if 0.995 < value < 1.0 else percent(value)


def count_effective(activations: Floats) -> Floats:
    """Return how many rules share each answer: exp of the entropy of the activations (n,)."""
    logs = np.log(np.where(activations > 0.0, activations, 1.0))
    return np.exp(-(activations * logs).sum(axis=1))


def measure_trust(learner: Learner, rules: Sequence[Rule], rows: Floats, source: str) -> Trust:
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
        thin[own] = rule.answer + (filled[own] - rule.scaled_center) @ rule.sparse.slopes.T
    # All are decided as the model decides, by its thresholds or as whole sets.
    decided = learner.answer_scores(scores).decisions
    strongest, sparse, together = (
        float((learner.answer_scores(part).decisions == decided).mean())
        for part in (alone, thin, blended)
    )
    first = blended[0] + remembered_by(learner, filled[:1])[0].sum(axis=0)
    return Trust(
        len(rows),
        source,
        strongest,
        sparse,
        together,
        float(np.abs(scores - blended).mean()),
        float(np.median(count_effective(psi))),
        bool(find_addends(learner, first, scores[0])),
    )


def remembered_by(learner: Learner, x: Floats) -> tuple[Floats, Ints, Floats]:
    """Return what each remembered row adds (m, K), its number and similarity, most similar first.

    ``x`` (1, p) is scaled, without gaps. A row that is a case and a recent case is there twice:
    recent cases reach further.
    """
    from efcml.kernels.cases import FAR
    from efcml.model.cases import CaseStage

    if isinstance(learner, Reading):
        learner, x = learner.learner, x @ learner.T
    adds, rows, similar = [np.zeros((0, learner.n_labels))], list[bytes](), [np.zeros(0)]
    for stage in learner.stages:
        if isinstance(stage, CaseStage):
            n = stage.n_cases
            similar.append(stage.similarity(x)[0])
            adds.append(stage.share * similar[-1][:, None] * stage.arrays.weights[:n])
            rows += [row.tobytes() for row in stage.arrays.rows[:n]]
    late = learner.rules.features.take(
        np.clip(learner.latest[0], -FAR, FAR)
    )  # as a case would hold them
    numbers = {row.tobytes(): learner.rows_seen - len(late) + i for i, row in enumerate(late)}
    known = np.array([numbers.get(row, OLDER) for row in rows], dtype=int)
    likeness = np.concatenate(similar)
    order = np.argsort(-likeness, kind="stable")
    return np.concatenate(adds)[order], known[order], likeness[order]


def find_addends(learner: Learner, scores: Floats, final: Floats) -> dict[str, Floats]:
    """Return what is added to ``scores`` (K,) of rules and cases of the next row, by name.

    What adds nothing to any label is left out. Stages of one's own are one addend: what is left.
    """
    from efcml.model.temporal import TemporalStage

    temporal = learner.stage(TemporalStage)
    addends = {} if temporal is None else temporal.addends(scores, learner.waiting)
    if learner.params.stages:
        addends["further stages"] = final - scores - sum(addends.values())
    return {name: added for name, added in addends.items() if added.any()}
