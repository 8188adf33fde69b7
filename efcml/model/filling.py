"""Rows of a batch with what rules expect of missing features (how_it_works.md 11).

Rows without gaps are returned as they are, not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.kernels.gaps import fill_rows, fill_rows_of

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats


def rows_for(rules: RuleBase, rule: int, X: Floats) -> Floats:
    """Return scaled rows as one rule expects them."""
    if not np.isnan(X).any():
        return X
    filled = np.empty_like(X)
    fill_rows_of(np.ascontiguousarray(X), rule, rules.arrays, rules.scratch, filled)
    return filled


def row_for(rules: RuleBase, rule: int, x: Floats) -> Floats:
    """Return one scaled row as a rule expects it; -1 if there is none: then as the mean."""
    return rows_for(rules, rule, x[None])[0] if rule >= 0 else np.where(np.isnan(x), 0.0, x)


def rows_for_all(rules: RuleBase, X: Floats, settings: Any) -> Floats:
    """Return scaled rows as all rules together expect them."""
    if not np.isnan(X).any():
        return X
    filled = np.empty_like(X)
    X = np.ascontiguousarray(X)
    fill_rows(X, rules.n_rules, rules.arrays, settings, rules.scratch, filled)
    return filled
