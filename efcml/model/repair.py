"""Derive P anew from G + Delta where rounding or forgetting asks for it (how_it_works.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.model.definite import invert

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats


def restore_inverse(rules: RuleBase, rule: int, group: int, prior_precision: Floats) -> None:
    """Re-derive P of one label group; put the prior back first if forgetting has halved it.

    Without that floor the directions that no sample excites would wind up: P grows as 1/Delta.
    """
    arrays = rules.arrays
    Delta = arrays.Delta[rule, group]
    if (Delta < 0.5 * prior_precision).any():
        added = prior_precision - Delta
        labels = rules.labels_of(group)
        pull = arrays.W[rule, labels] - arrays.W_prior[rule, labels]
        arrays.D[rule, labels] += added * pull
        arrays.Delta[rule, group] = prior_precision
    arrays.P[rule, group] = invert(arrays.G[rule, group] + np.diag(arrays.Delta[rule, group]))
    arrays.unchecked[rule, group] = 0


def repair_stale(rules: RuleBase, prior_precision: Floats) -> int:
    """Repair every rule that the kernels marked; return how many there were."""
    marked = np.flatnonzero(rules.stale).tolist()
    for rule in marked:
        for group in range(rules.n_groups):
            restore_inverse(rules, rule, group, prior_precision)
        rules.arrays.stale[rule] = 0
    return len(marked)
