"""Derive P anew from G + Delta where rounding or forgetting asks for it (how_it_works.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.model.definite import invert

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats


ROUNDING = 1e-12  # of the largest entry of G: a prior below that may be lost beside it


def restore_inverse(rules: RuleBase, rule: int, group: int, prior_precision: Floats) -> None:
    """Re-derive P of one label group; put the prior back first if forgetting has halved it.

    Without that floor the directions that no sample excites would wind up: P grows as 1/Delta. If
    rounding has taken the prior, which needs values of a million deviations and a prior of next to
    nothing, it is raised to what can be told from rounding.
    """
    arrays = rules.arrays
    if (arrays.Delta[rule, group] < 0.5 * prior_precision).any():
        change_prior(rules, rule, group, prior_precision)
    G = arrays.G[rule, group]
    try:
        arrays.P[rule, group] = invert(G + np.diag(arrays.Delta[rule, group]))
    except np.linalg.LinAlgError:
        least = ROUNDING * G.diagonal().max()
        change_prior(rules, rule, group, np.maximum(arrays.Delta[rule, group], least))
        arrays.P[rule, group] = invert(G + np.diag(arrays.Delta[rule, group]))
    arrays.unchecked[rule, group] = 0


def change_prior(rules: RuleBase, rule: int, group: int, precision: Floats) -> None:
    """Give the planes of a label group another prior; they stay what they are, and D follows."""
    arrays = rules.arrays
    labels = rules.labels_of(group)
    pull = arrays.W[rule, labels] - arrays.W_prior[rule, labels]
    arrays.D[rule, labels] += (precision - arrays.Delta[rule, group]) * pull
    arrays.Delta[rule, group] = precision


def repair_stale(rules: RuleBase, prior_precision: Floats) -> int:
    """Repair every rule that the kernels marked; return how many there were."""
    marked = np.flatnonzero(rules.stale).tolist()
    for rule in marked:
        for group in range(rules.n_groups):
            restore_inverse(rules, rule, group, prior_precision)
        rules.arrays.stale[rule] = 0
    return len(marked)
