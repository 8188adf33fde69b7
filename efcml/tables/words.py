"""Fields of a table as words: gaps, yes and no, numbers; and what is said of wrong ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

GAPS = frozenset(("", "na", "n/a", "#n/a", "nan", "none", "null", "?", "-", "--", "<na>"))
YES_NO = (
    *(("1", "0"), ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off")),
    *(("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("oui", "non"), ("o", "n")),
    *(("vrai", "faux"), ("si", "no"), ("sí", "no"), ("s", "n")),
)
FLAGS = {no: 0.0 for _, no in YES_NO} | {yes: 1.0 for yes, _ in YES_NO} | {"x": 1.0}
TRUE_OR_FALSE = {"true": 1.0, "false": 0.0}  # also among numbers
OTHER_SIGN = {".": ",", ",": "."}
THOUSANDS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?", re.ASCII),
}
LISTED = 10  # problems that are told


def is_gap(text: str) -> bool:
    """Tell whether a field says that nothing is known."""
    return text.casefold() in GAPS


def to_number(text: str, decimal: str = ".") -> float:
    """Return a number, of which thousands may be separated; NaN if the text is none.

    Examples
    --------
    >>> to_number("1,234.5"), to_number("1.234,5", ","), to_number("1_000")
    (1234.5, 1234.5, nan)
    """
    if THOUSANDS[decimal].fullmatch(text):
        text = text.replace(OTHER_SIGN[decimal], "")
    elif "_" in text or (decimal == "," and "." in text):
        return math.nan  # Python reads 1_000 as a number; in a data file it is more likely a slip
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return math.nan


def plain_word(word: str, decimal: str = ".") -> str:
    """Return a word; of a number its shortest text, so that a code is one word everywhere."""
    number = to_number(word, decimal)
    if math.isnan(number):
        return word
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def short(text: object, length: int = 40) -> str:
    """Return a text in quotes, without its end if it is long."""
    text = str(text)
    return repr(text if len(text) <= length else text[:length] + "...")


def in_words(names: Iterable[object], length: int = 200) -> str:
    """Return names as a list for a sentence, in quotes, cut if it is long."""
    return short(", ".join(map(str, names)), length)


def table_error(where: str, problems: Sequence[str]) -> ValueError:
    """Return the error that tells, in one line, all problems of a table."""
    placed, n = re.match("(line|row) [0-9]", problems[0]), len(problems)
    told = [*problems[:LISTED], *([f"and {n - LISTED} more"] if n > LISTED else [])]
    return ValueError(f"{where}{', ' if placed else ': '}{'; '.join(told)}")
