"""Take one answer of a model apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    score, p, K = learner.score(x)[0], learner.n_features, learner.n_labels
    if not rules:
        labels = answer_labels(learner, score, score, score, known)
        nothing, none = RuleList([], background), np.zeros((0, K))
        return Explanation(
            x[0].copy(), labels, nothing, none[:, 0], none, np.zeros((0, K, p)), none
        )
    scaled, scaler = learner.scaler.transform(x), learner.scaler
    taken = learner.fill(scaled)
    psi = learner.rules.activations(taken)[0]
    order = np.argsort(-psi, kind="stable")
    psi, rules = psi[order], [rules[r] for r in order]
    typical = psi[:, None] * [rule.answer for rule in rules]
    gaps = [rule.slopes * (taken[0] - rule.scaled_center) for rule in rules]
    contributions = psi[:, None, None] * gaps
    by_rule = typical + contributions.sum(axis=2)
    said = by_rule.sum(axis=0)
    cases, case_rows, similarity = remembered_by(learner, taken)
    return Explanation(
        x[0].copy(),
        answer_labels(learner, score, by_rule[0] / psi[0], said, known),
        RuleList(rules, background),
        psi,
        typical,
        contributions,
        cases,
        case_rows,
        similarity,
        np.abs(scaled[0]) >= scaler.clip,
        find_addends(learner, said + cases.sum(axis=0), score),
        np.where(np.isnan(x), scaler.mean + scaler.scale * taken, x)[0],
    )
