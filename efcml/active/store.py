"""Questions that wait for their answer: a bounded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from efcml.active.question import Question


class OpenQuestions:
    """Open questions by row number. When it is full the oldest one expires.

    Examples
    --------
    >>> store = OpenQuestions(1)
    >>> store.add(3, "first")
    >>> store.add(8, "second")
    >>> store.rows, sorted(store.expired)
    ((8,), [3])
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting: dict[int, Question] = {}  # in the order of the rows
        self.expired: set[int] = set()  # rows

    @property
    def rows(self) -> tuple[int, ...]:
        """Row numbers of the open questions, oldest first."""
        return tuple(self.waiting)

    def add(self, row: int, question: Question) -> None:
        """Keep a question; the oldest one goes if there is no room."""
        self.waiting[row] = question
        if len(self.waiting) > self.size:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            self.expired.add(oldest)

    def find(self, row: int, *, was_asked: bool) -> Question:
        """Return an open question, or say why there is none."""
        if row in self.waiting:
            return self.waiting[row]
        if row in self.expired:
            why = f"has expired: more than open_questions={self.size} were open"
        elif was_asked:
            why = "was answered already"
        else:
            why = "was never asked"
        raise ValueError(f"no answer is expected for row {row}: it {why}.")

    def settle(self, row: int) -> None:
        """Take out a question that has its answer."""
        del self.waiting[row]
