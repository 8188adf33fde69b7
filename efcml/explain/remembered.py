"""What remembered rows add to an answer: the cases, and the recent ones besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Ints

OLDER = -1  # number of a row that is no longer among the last ones, or had missing features


def remembered_by(learner: Learner, x: Floats) -> tuple[Floats, Ints, Floats]:
    """Return what each remembered row adds (m, K), its number and similarity, most similar first.

    ``x`` (1, p) is scaled, without gaps. A row that is a case and a recent case is there twice:
    recent cases reach further.
    """
    from efcml.model.cases import CaseStage  # not above: it loads numba

    adds, rows, similar = [np.zeros((0, learner.n_labels))], list[bytes](), [np.zeros(0)]
    for stage in learner.stages:
        if isinstance(stage, CaseStage):
            n = stage.n_cases
            similar.append(stage.similarity(x)[0])
            adds.append(stage.share * similar[-1][:, None] * stage.arrays.weights[:n])
            rows += [row.tobytes() for row in stage.arrays.rows[:n]]
    numbers, likeness = number_rows(learner), np.concatenate(similar)
    found = np.array([numbers.get(row, OLDER) for row in rows], dtype=int)
    order = np.argsort(-likeness, kind="stable")
    return np.concatenate(adds)[order], found[order], likeness[order]


def number_rows(learner: Learner) -> dict[bytes, int]:
    """Return the numbers of the last rows, by what a case would hold of them."""
    from efcml.kernels.cases import FAR  # not above: it loads numba

    rows = np.clip(learner.latest[0], -FAR, FAR)
    return {row.tobytes(): learner.rows_seen - len(rows) + i for i, row in enumerate(rows)}
