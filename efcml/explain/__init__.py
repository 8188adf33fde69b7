"""Reading a model: its rules in words, and why it says what it says of a row."""

from efcml.explain.background import name_all
from efcml.explain.explanation import Explanation, explain_row
from efcml.explain.rule import Rule
from efcml.explain.rulelist import RuleList, read_rules

__all__ = ["Explanation", "Rule", "RuleList", "explain_row", "name_all", "read_rules"]
