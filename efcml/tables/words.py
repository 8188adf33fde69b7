"""Fields of a table as words: gaps, yes and no, numbers; and what is said of wrong ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from efcml.support.aliases import PathLike

GAPS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--", "<na>"))
NO_NUMBERS = GAPS | {"none"}  # among words "none" is one of them, among numbers it is a gap
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
LISTED = 10  # problems that are told one by one
IN_ONE_LINE = 3


def is_gap(text: str) -> bool:
    """Tell whether a field says that nothing is known.

    Examples
    --------
    >>> is_gap("n/a"), is_gap("none")
    (True, False)
    """
    return text.casefold() in GAPS


def to_number(text: str, decimal: str = ".") -> float:
    """Return a finite number, thousands may be separated; NaN if the text is none.

    Examples
    --------
    >>> to_number("1,234.5"), to_number("1.234,5", ","), to_number("1_000")
    (1234.5, 1234.5, nan)
    """
    if THOUSANDS[decimal].fullmatch(text):
        text = text.replace(OTHER_SIGN[decimal], "")
    elif decimal == "," and "." in text:
        return math.nan
    try:
        number = float(text.replace(decimal, "."))
    except ValueError:
        return math.nan
    # Python reads 1_000 as a number; in a data file it is more likely a mistake.
    return number if math.isfinite(number) and "_" not in text else math.nan


def number_text(number: float) -> str:
    """Return the shortest text of a number: 3 for 3.0, so that a code is one word everywhere."""
    whole = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(number)


def short(text: object, length: int = 40) -> str:
    """Return a text in quotes, without its end if it is long."""
    text = str(text)
    return repr(text if len(text) <= length else text[:length] + "...")


def in_words(names: Iterable[object], length: int = 200) -> str:
    """Return names as a list for a sentence, in quotes, cut if it is long."""
    return short(", ".join(map(str, names)), length)


def check_file(path: PathLike) -> Path:
    """Return the path of a file that can be read, or say why it cannot."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file: check the path")
    try:
        with path.open("rb"):
            return path
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: make the file readable") from None


def find_encoding(path: Path) -> str:
    """Return UTF-8, or UTF-16 if the file says so, or what Windows writes in Western Europe."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            with path.open(encoding=encoding) as text:
                while text.read(2**20):
                    pass
            return encoding
        except UnicodeDecodeError:
            pass
    return "latin-1"


class TableProblems(ValueError):
    """A table that cannot be taken, with all reasons.

    Its text is one line, as that of every error; ``lines`` has a line for each problem.
    """

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.where, self.problems = where, tuple(problems)
        super().__init__(where, self.problems)  # so that it can be pickled

    @property
    def lines(self) -> list[str]:
        """The one problem; or how many there are, then the first of them and what is left out."""
        if len(self.problems) == 1:
            return [str(self)]
        told = [f"{self.where}: {len(self.problems)} things to correct", *self.problems[:LISTED]]
        left = len(self.problems) - LISTED
        return [*told, *([f"and {left} more"] if left > 0 else [])]

    def __str__(self) -> str:
        first, *others = self.problems
        if not others:
            placed = re.match(r"(line|row) \d", first)
            return f"{self.where}{', ' if placed else ': '}{first}"
        told = "; ".join(self.problems[:IN_ONE_LINE])
        more = "; ..." if len(self.problems) > IN_ONE_LINE else ""
        return f"{self.where}: {len(self.problems)} things to correct: {told}{more}"
