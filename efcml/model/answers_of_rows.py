"""What is said of rows: scores, decisions, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efcml.support.probability import squash

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


class Answer(NamedTuple):
    """All of shape (n, K)."""

    scores: Floats  # given the labels that are known
    decisions: Floats  # 0 or 1
    probabilities: Floats


def plain_answer(scores: Floats, known: Floats | None = None) -> Answer:
    """Return what scores say by themselves; known labels (not NaN) are what they are."""
    parts = scores, (scores >= 0.5).astype(np.float64), squash(scores)
    if known is not None:
        parts = tuple(np.where(np.isnan(known), part, known) for part in parts)  # type: ignore[assignment]
    return Answer(*parts)
