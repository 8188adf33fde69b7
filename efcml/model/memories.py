"""The brief memory of the rules: the same rules, with planes that forget (kernels/memory.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase

# What both memories have alike: kernels change it in the long one alone.
ANTECEDENT = "center joint_precision input_precision log_det support updates prior_share tested".split()


def follow_antecedents(brief: RuleBase, rules: RuleBase) -> None:
    """Give the brief memory the Gaussians that the rules have by now."""
    n = rules.n_rules
    for name in ANTECEDENT:
        getattr(brief.arrays, name)[:n] = getattr(rules.arrays, name)[:n]
