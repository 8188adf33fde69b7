"""From the scores of a row to what is said of its labels: known ones, thresholds, whole sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.afterwards import LEAST_TOLD
from efcml.explain.phrases import short, signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from efcml.model.learner import Learner
    from efcml.support.aliases import Bools, Floats, Ints

MOST_KNOWN = 5  # known labels whose effect is told
MOST_TURNED = 8  # labels that a threshold or the whole set has turned


@dataclass(frozen=True, eq=False)
class LabelAnswer:
    """What was decided of a row, and what known labels had to do with it.

    Attributes
    ----------
    kind : str
        The parameter ``decision``; "hamming" before there are rules.
    score : array of shape (K,)
        Given what is known.
    decision : int array of shape (K,)
    alone, without_cases : int array of shape (K,)
        What is decided in the same way by the scores of the strongest rule, and of all rules.
    thresholds : array of shape (K,)
        The score from which on a label is said; for "subset" no more than where it would be.
    known : array of shape (K,)
        Labels that were given; NaN for the others.
    added : dict
        What each known label adds to all, (K,), by its number; to itself, what it lacked.
    """

    kind: str
    score: Floats
    decision: Ints
    alone: Ints
    without_cases: Ints
    thresholds: Floats
    known: Floats
    added: Mapping[int, Floats] = field(default_factory=dict)

    @property
    def is_known(self) -> Bools:
        """Which labels were given (K,)."""
        return ~np.isnan(self.known)

    @property
    def all_added(self) -> Floats:
        """What all known labels add together (K,)."""
        return sum(self.added.values(), np.zeros(len(self.score)))


def answer_labels(
    learner: Learner, score: Floats, alone: Floats, rules: Floats, known: Floats | None
) -> LabelAnswer:
    """Return what a learner makes of a row with this ``score`` (K,).

    ``alone`` and ``rules`` are what the strongest rule and all rules say of it; ``known`` has the
    shape (1, K).
    """
    scores = np.stack([score, alone, rules])
    answer = learner.answer_scores(scores, None if known is None else np.repeat(known, 3, axis=0))
    layer = learner.labels
    kind = "hamming" if layer is None else learner.params.decision
    thresholds = np.full(len(score), 0.5) if layer is None else layer.thresholds()
    given = np.full(len(score), np.nan) if known is None else known[0]
    decision, by_strongest, by_rules = answer.decisions.astype(int)
    return LabelAnswer(
        kind,
        answer.scores[0],
        decision,
        by_strongest,
        by_rules,
        thresholds,
        given,
        add_known(learner, score, given),
    )


def add_known(learner: Learner, score: Floats, known: Floats) -> dict[int, Floats]:
    """Return what each known label adds to all, E_uk E_kk^-1 (y_k - s_k) by column, by its number.

    What labels say of each other is linear in the gaps between truth and score, so a gap of 1 of
    each known label, and of 0 of the others, gives the columns. Before there are rules a known
    label tells of itself alone.
    """
    places = np.flatnonzero(~np.isnan(known))
    gaps = np.full((len(places), len(known)), np.nan)
    gaps[:, places] = np.eye(len(places))
    if learner.labels is None:
        columns = np.nan_to_num(gaps)
    else:
        columns, _ = learner.labels.condition(np.zeros_like(gaps), gaps)
    found = zip(places.tolist(), columns, strict=True)
    return {k: column * (known[k] - score[k]) for k, column in found}


# -- words ----------------------------------------------------------------------------------


def tell_known(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say what each known label moves most, the strongest first."""
    others = np.flatnonzero(~answer.is_known)
    if not answer.added or not len(others):
        return []
    moved = {k: others[np.abs(added[others]).argmax()] for k, added in answer.added.items()}
    sizes = {k: abs(answer.added[k][other]) for k, other in moved.items()}
    told = [
        f"knowing that {label_names[k]} is {'there' if answer.known[k] else 'not there'} moves "
        f"{label_names[moved[k]]} most, by {signed(answer.added[k][moved[k]])}"
        for k in sorted(sizes, key=lambda k: -sizes[k])[:MOST_KNOWN]
        if sizes[k] >= LEAST_TOLD
    ]
    return told or ["what is known says next to nothing of the other labels"]


def tell_turned(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say which labels are decided otherwise than from a score of .5 on, and why."""
    turned = (answer.decision != (answer.score >= 0.5)) & ~answer.is_known
    told = []
    for k in np.flatnonzero(turned)[:MOST_TURNED]:
        said, name = answer.decision[k], label_names[k]
        if answer.kind == "subset":
            told.append(f"{name} is {'' if said else 'not '}said because of the set as a whole")
        else:
            told.append(
                f"{name} is said {'' if said else 'only '}from {short(answer.thresholds[k])} on"
            )
    return told
