"""The state of all rules and the operations that change how many there are."""

from efcml.rules.rulebase import RuleBase

__all__ = ["RuleBase"]
