"""The warning that a rule's consequents ran away."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.model.rulebase import RuleBase


class DivergenceWarning(RuntimeWarning):
    """A rule's consequents ran away under a printed formula; the guard stopped its steps."""


def warn_of_divergence(rules: RuleBase, params: Params) -> bool:
    """Warn if the guard has stopped a rule, naming the first one; return whether it has."""
    stopped = rules.stopped
    if not stopped.any():
        return False
    rule = int(np.flatnonzero(stopped)[np.argmin(stopped[stopped > 0])])
    causes = []
    if params.correlation == "paper":
        causes.append("correlation='paper' is not convex")
    if params.lipschitz == "paper":
        causes.append("lipschitz='paper' steps too far")
    warnings.warn(
        f"rule {int(rules.uid[rule])} passed max |W| = {params.weight_limit:g} at "
        f"row {int(stopped[rule]) - 1} ({' and '.join(causes) or 'steps too large'}); it and "
        "any further such rule go on without proximal steps.",
        DivergenceWarning,
        stacklevel=4,
    )
    return True
