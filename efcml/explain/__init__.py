"""Reading a model: its rules in words, why it says what it says of a row, how far that holds."""

from efcml.explain.background import name_all
from efcml.explain.columns import ColumnKinds, Group, find_flags
from efcml.explain.explaining import explain_row
from efcml.explain.explanation import Explanation
from efcml.explain.label_answer import LabelAnswer
from efcml.explain.rule import Rule
from efcml.explain.rulelist import RuleList, read_activations, read_rules, read_trust
from efcml.explain.trust import Trust, count_effective

__all__ = [
    "ColumnKinds",
    "Explanation",
    "Group",
    "LabelAnswer",
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
