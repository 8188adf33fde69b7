"""Words that stand for something else in a table: gaps, yes and no."""

from __future__ import annotations

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
