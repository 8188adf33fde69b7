"""Words that stand for something else in a table: gaps, yes and no."""

from __future__ import annotations

import re

WHOLE_WITH_DECIMALS = re.compile(r"-?\d+\.0+", re.ASCII)
GAPS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--", "<na>"))
NO_NUMBERS = GAPS | {"none"}  # among words "none" is one of them, among numbers it is a gap
TRUE_OR_FALSE = {"true": 1.0, "false": 0.0}  # in a table of numbers
ANSWERS_YES_OR_NO = {
    **dict.fromkeys(("1", "true", "yes", "y", "t", "on"), 1.0),
    **dict.fromkeys(("0", "false", "no", "n", "f", "off"), 0.0),
}


def is_gap(text: str) -> bool:
    """Tell whether a field says that nothing is known.

    Examples
    --------
    >>> is_gap("n/a"), is_gap("none")
    (True, False)
    """
    return text.lower() in GAPS


def is_no_number(text: str) -> bool:
    """Tell the same of a field among numbers or dates."""
    return text.lower() in NO_NUMBERS


def yes_or_no(text: str) -> float | None:
    """Return 1 for yes, 0 for no, None for any other word.

    Examples
    --------
    >>> yes_or_no("TRUE"), yes_or_no("off"), yes_or_no("maybe")
    (1.0, 0.0, None)
    """
    return ANSWERS_YES_OR_NO.get(text.lower())


def whole_code(text: str) -> str:
    """Return a whole number without its decimals, which gaps in a column put there; else the text.

    Examples
    --------
    >>> whole_code("3.0"), whole_code("3.5"), whole_code("v3.0")
    ('3', '3.5', 'v3.0')
    """
    return text.partition(".")[0] if WHOLE_WITH_DECIMALS.fullmatch(text) else text
