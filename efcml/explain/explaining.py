"""Take one answer of a model apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.activity import activate_scaled, rows_as_taken
from efcml.explain.afterwards import find_addends
from efcml.explain.explanation import Explanation
from efcml.explain.label_answer import answer_labels
from efcml.explain.learner_rules import read_in_order
from efcml.explain.remembered import remembered_by
from efcml.explain.rulelist import RuleList
from efcml.support.blas import one_blas_thread
from efcml.support.guard import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from efcml.explain.columns import ColumnKinds
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats


@one_at_a_time
@one_blas_thread()
def explain_row(
    learner: Learner,
    x: Floats,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
    known: Floats | None = None,
) -> Explanation:
    """Return why a learner says what it says of the row ``x`` of shape (1, p), not scaled.

    Parameters
    ----------
    learner : Learner
    x : array of shape (1, p)
    feature_names, label_names, columns
        As in `read_rules`.
    known : array of shape (1, K), optional
        Labels that are known already, NaN where they are not.

    Returns
    -------
    Explanation
    """
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    score = learner.score(x)[0]
    if not rules:
        shape = 0, learner.n_labels
        return Explanation(
            x[0].copy(),
            answer_labels(learner, score, score, score, known),
            RuleList([], background),
            np.zeros(0),
            np.zeros(shape),
            np.zeros((*shape, learner.n_features)),
            np.zeros(shape),
            np.zeros(0, dtype=int),
            np.zeros(0),
            np.zeros(learner.n_features, dtype=bool),
        )
    scaled = learner.scaler.transform(x)
    psi, (own, together) = activate_scaled(learner, scaled), rows_as_taken(learner, scaled)
    order = np.argsort(-psi[0], kind="stable")
    psi, rules = psi[0, order], [rules[r] for r in order]
    typical = np.array([share * rule.answer for share, rule in zip(psi, rules, strict=True)])
    contributions = np.array(
        [
            share * rule.slopes * (own[r][0] - rule.scaled_center)
            for share, rule, r in zip(psi, rules, order, strict=True)
        ]
    )
    clipped = np.abs(scaled[0]) >= learner.scaler.clip
    cases, case_rows, similarity = remembered_by(learner, together[0])
    by_rule = typical + contributions.sum(axis=2)
    by_rules = by_rule.sum(axis=0)
    return Explanation(
        x[0].copy(),
        answer_labels(learner, score, by_rule[0] / psi[0], by_rules, known),
        RuleList(rules, background),
        psi,
        typical,
        contributions,
        cases,
        case_rows,
        similarity,
        clipped,
        find_addends(learner, by_rules + cases.sum(axis=0)),
        np.where(np.isnan(x), learner.scaler.mean + learner.scaler.scale * together, x)[0],
    )
