"""Reading a model: its rules in words, why it says what it says of a row, how far that holds."""

from efcml.explain.background import ColumnKinds, Group, find_flags, name_all
from efcml.explain.explanation import Explanation, explain_row
from efcml.explain.rules import Rule, RuleList, read_activations, read_rules, read_trust
from efcml.explain.trust import Trust, count_effective

__all__ = [
    "ColumnKinds",
    "Explanation",
    "Group",
    "Rule",
    "RuleList",
    "Trust",
    "count_effective",
    "explain_row",
    "find_flags",
    "name_all",
    "read_activations",
    "read_rules",
    "read_trust",
]
