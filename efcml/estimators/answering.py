"""What a model says of rows that have been checked, whichever learner it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from efcml.support.statistics import squash

if TYPE_CHECKING:
    from efcml.model.labels import Answer
    from efcml.support.aliases import Floats


def answer_checked(
    learner: Any, rows: Floats, known: Floats | None = None, *, flat: bool = False
) -> Answer:
    """Return scores, decisions and probabilities (n, K), given known labels.

    A learner that has no decisions of its own says a label from 0.5 on. A flat target keeps the
    bent score as its probability, because its likelier class must be the one that is predicted.
    """
    if not hasattr(learner, "answer"):
        from efcml.model.labels import plain_answer  # not above: it loads numba

        return plain_answer(learner.score(rows))
    answer = learner.answer(rows, known)
    return answer._replace(probabilities=squash(answer.scores)) if flat else answer
