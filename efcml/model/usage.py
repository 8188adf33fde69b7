"""Which rule is used least, when one has to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase


def find_least_used(rules: RuleBase, row_number: int, *, with_consequents: bool) -> int:
    """Return the rule with the least use per row of its age.

    A rule too young to judge counts as average: activations sum to one over the rules. Sums of
    which nothing is forgotten are compared: under forgetting, weight and support of every rule end
    at the same number, however little it is used, and the oldest rules would go, not the idle ones.
    """
    used = rules.use if with_consequents else rules.updates + 1.0
    age = row_number - rules.born
    return int(np.argmin((used + 1.0) / (age + rules.n_rules)))
