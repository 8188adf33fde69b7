"""What remembered rows add to an answer: the cases, and the recent ones besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.kernels.memory import recent_share

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, Ints


def remembered_by(learner: Any, x: Floats) -> tuple[Floats, Ints, Floats]:
    """Return what each remembered row adds (m, K), its number and similarity, most similar first.

    A row that is remembered twice adds both. Its similarity is that of the cases, which is the
    smaller one: recent cases reach further.
    """
    adds, numbers, similar = learner.cases.similar_to(x)
    if not learner.recent.n_cases:
        return adds, numbers, similar
    more, others, alike = learner.recent.similar_to(x)
    more = recent_share(learner.recent_trial) * more
    for add, number in zip(more, others, strict=True):
        adds[numbers == number] += add
    new = ~np.isin(others, numbers)
    adds, numbers = np.concatenate([adds, more[new]]), np.concatenate([numbers, others[new]])
    similar = np.concatenate([similar, alike[new]])
    order = np.argsort(-similar, kind="stable")
    return adds[order], numbers[order], similar[order]
