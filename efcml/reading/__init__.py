"""Reading a model: its rules in words, and why it says what it says of a row."""

from efcml.reading.background import name_all
from efcml.reading.explanation import Explanation, explain_row
from efcml.reading.rule import Rule
from efcml.reading.rulelist import RuleList, read_rules

__all__ = ["Explanation", "Rule", "RuleList", "explain_row", "name_all", "read_rules"]
