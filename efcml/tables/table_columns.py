"""What a column of a table is, and the features that are made of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from efcml.support.file_text import short, to_number
from efcml.tables.dates import WEEKDAYS, Moment, read_date
from efcml.tables.words import is_gap, is_no_number, whole_code, yes_or_no

NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT = "number", "yes or no", "date", "category", "left out"
KINDS = (NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT)
OTHER, MISSING = "other", "missing"  # values of a category
DAYS, HOUR = "days", "hour"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its kind and what was learned of it.

    ``parts`` are the features of a date that are numbers; ``values`` those of a category, or the
    weekdays of a date, of which each is a feature of 0 and 1. ``features`` names all of them.
    """

    name: str
    kind: str
    said: str  # what became of the column
    features: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    group: str = ""  # what the values are values of
    parts: tuple[str, ...] = ()
    how: str = ""  # the format of a date
    origin: float = 0.0  # the day from which days are counted

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"

    def read(self, text: str) -> list[float] | None:
        """Return the features of a field, NaN where it is a gap; None if it does not belong here.

        A gap among words is a value of its own.
        """
        return _READERS[self.kind](self, text)

    def refuse(self, text: str) -> str:
        """Return why a field cannot be taken."""
        wanted = {DATE: f"no date ({self.how})", FLAG: "neither yes nor no"}
        return f"{short(text)} in column {short(self.name)} is {wanted.get(self.kind, 'no number')}"


def _read_number(column: TableColumn, text: str) -> list[float] | None:
    value = to_number(text)
    if value is None and is_no_number(text):
        value = math.nan
    return None if value is None else [value]


def _read_flag(column: TableColumn, text: str) -> list[float] | None:
    value = yes_or_no(whole_code(text))
    if value is None and is_no_number(text):
        value = math.nan
    return None if value is None else [value]


def _read_date(column: TableColumn, text: str) -> list[float] | None:
    moment = read_date(text, column.how)
    if moment is None and is_no_number(text):
        moment = Moment(math.nan, math.nan, -1)
    if moment is None:
        return None
    numbers = {DAYS: moment.days - column.origin, HOUR: moment.hour}
    flags = [float(moment.weekday == WEEKDAYS.index(day)) for day in column.values]
    if math.isnan(moment.days):
        flags = [math.nan] * len(flags)
    return [numbers[part] for part in column.parts] + flags


def _read_category(column: TableColumn, text: str) -> list[float]:
    text = MISSING if is_gap(text) else text
    if text not in column.values:
        text = whole_code(text)
    if text not in column.values:
        text = OTHER  # if that is no value either, the row has none of them
    return [float(value == text) for value in column.values]


_READERS: dict[str, Callable[[TableColumn, str], list[float] | None]] = {
    NUMBER: _read_number,
    FLAG: _read_flag,
    DATE: _read_date,
    CATEGORY: _read_category,
}
