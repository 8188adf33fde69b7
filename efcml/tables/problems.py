"""All that is wrong with a table, told at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LISTED = 10  # problems that are told one by one
IN_ONE_LINE = 3


class Problem(NamedTuple):
    """A sentence about a row or, if no place is named, about the whole."""

    place: str  # such as "line 7"
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class TableProblems(ValueError):
    """A table that cannot be taken, with all reasons.

    Its text is one line, as that of every error; ``lines`` has a line for each problem.
    """

    def __init__(self, where: str, problems: Iterable[Problem]) -> None:
        self.where, self.problems = where, tuple(problems)
        super().__init__(where, self.problems)  # so that it can be pickled

    @property
    def lines(self) -> list[str]:
        """The one problem; or how many there are, then the first of them and what is left out."""
        if len(self.problems) == 1:
            return [str(self)]
        told = [f"{self.where}: {len(self.problems)} things to correct", *self.problems[:LISTED]]
        left = len(self.problems) - LISTED
        return [*map(str, told), *([f"and {left} more"] if left > 0 else [])]

    def __str__(self) -> str:
        first, *others = self.problems
        if not others:
            return f"{self.where}{', ' if first.place else ': '}{first}"
        told = "; ".join(map(str, self.problems[:IN_ONE_LINE]))
        more = "; ..." if len(self.problems) > IN_ONE_LINE else ""
        return f"{self.where}: {len(self.problems)} things to correct: {told}{more}"
