"""What a column of a table is, and the numbers that are made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from efcml.tables.fields import ISO, MOSTLY, Fields, are_mixed_dates, find_date_formats
from efcml.tables.words import (
    FLAGS,
    OTHER_SIGN,
    THOUSANDS,
    YES_NO,
    in_words,
    short,
    to_number,
)

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT = "number", "yes or no", "date", "category", "left out"
LABEL = "label"
OTHER, MISSING = "other", "missing"  # values of a category
DAYS, MONTH, HOUR = PARTS = "days", "month", "hour"  # of a date
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DROP = "drop"  # said of a column by a person
MOST_VALUES = 12  # of a category; all others are one value more
MOST_DECLARED = 50  # values that a category of pandas has before they are counted, too
INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity")
ROWS_PER_VALUE = 5  # of a few words that come again and again, even if most are numbers


@dataclass(frozen=True)
class Column:
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
    start: str = ""  # the day from which days are counted
    yes: str = ""  # the word for 1 of a label, if a person has said it: all others are 0
    empty_is_no: bool = False  # for a label that is ticked or not

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"

    def encode(self, fields: Fields) -> Floats:
        """Return numbers for every row, NaN where nothing is known or a field is wrong."""
        if self.kind == NUMBER:
            return fields.numbers[:, None]
        if self.kind in (FLAG, LABEL):
            return fields.map(self._read_flag)[:, None]
        if self.kind == DATE:
            return self._read_dates(fields)
        places = {value: place for place, value in enumerate(self.values)}
        other = places.get(OTHER, -1)  # without one, a new word is none of the known values
        found = fields.map(lambda word: places.get(word, other))
        found[fields.missing] = places.get(MISSING, math.nan)
        return np.where(np.isnan(found)[:, None], np.nan, found[:, None] == range(len(self.values)))

    def _read_flag(self, word: str) -> float:
        if not word:
            return 0.0 if self.empty_is_no else math.nan
        if self.yes:
            return float(word.casefold() == self.yes.casefold())
        return FLAGS.get(word.casefold(), math.nan)

    def _read_dates(self, fields: Fields) -> Floats:
        moments = fields.moments(self.how)
        parts = date_parts(moments, self.start)
        days = np.asarray(moments.day_of_week, dtype=float)
        flags = [np.where(np.isnan(days), np.nan, days == WEEKDAYS.index(v)) for v in self.values]
        return np.column_stack([*(parts[part] for part in self.parts), *flags])

    def find_wrong(self, fields: Fields, encoded: Floats) -> list[int]:
        """Return the rows of fields that are neither missing nor of this kind."""
        if self.kind == CATEGORY:
            return []
        known = ~(fields.missing if self.kind == LABEL else fields.no_numbers)
        return np.flatnonzero(np.isnan(encoded[:, 0]) & known).tolist()

    def refuses(self, fields: Fields) -> str:
        """Return what a field is that is wrong."""
        if self.kind == NUMBER:
            return "no number" if fields.decimal == "." else "no number with a decimal comma"
        return "neither yes nor no" if self.kind == FLAG else f"no date ({self.how})"

    @property
    def width(self) -> int:
        """How many numbers `encode` returns for a row, if it is a feature."""
        dates = len(self.parts) + len(self.values)
        widths = {
            NUMBER: 1,
            FLAG: 1,
            DATE: dates,
            CATEGORY: len(self.values),
            LEFT_OUT: 0,
            LABEL: 0,
        }
        return widths[self.kind]


def find_label(name: str, fields: Fields, yes: str = "") -> Column:
    """Return how the label column of the training rows is read."""
    words = {word.casefold() for word in fields.counts}
    if yes and (yes.casefold() in words or not words <= {*FLAGS}):
        return Column(name, LABEL, f"label, {short(yes)} is yes", yes=yes)
    if words == {"x"} and fields.missing.any():
        return Column(name, LABEL, "label, x is yes and empty is no", empty_is_no=True)
    return Column(name, LABEL, LABEL)


def find_column(name: str, fields: Fields, learned: Fields, said: str = "") -> Column:
    """Return what a column is, as the first rows say; values are those of rows to learn from.

    A person may have said what it is: "drop", "category", "date" or the format of a date.
    """
    if said == DROP:
        return Column(name, LEFT_OUT, "left out as you say")
    if said == CATEGORY:
        return category_column(name, fields, learned)
    n_known = int((~fields.no_numbers).sum())
    if said or (fields.are_moments and n_known):
        return date_column(name, fields, learned, said if "%" in said else "")
    if not (fields.are_numbers and n_known):
        return column_of_words(name, fields, learned, n_known)
    if n_known == len(fields) and fields.column.min() == fields.column.max():
        return Column(name, LEFT_OUT, f"left out, it is always {short(fields.text(0))}")
    return Column(name, NUMBER, with_gaps(NUMBER, fields), (name,))


def column_of_words(name: str, fields: Fields, learned: Fields, n_known: int) -> Column:
    """Return what a column of text is."""
    words = fields.counts
    if not words:
        return Column(name, LEFT_OUT, "left out, it is empty")
    if fields.categories is not None:
        return category_column(name, fields, learned)
    if len(words) == 1 and n_known == len(fields):
        return Column(name, LEFT_OUT, f"left out, it is always {short(next(iter(words)))}")
    if {word.casefold() for word in words} in [set(pair) for pair in YES_NO[1:]]:
        return Column(name, FLAG, with_gaps(FLAG, fields), (name,))
    if n_known and holds_numbers(fields, n_known):
        return Column(name, NUMBER, with_gaps(NUMBER, fields) + thousands(fields), (name,))
    dates = [word for word in words if word.casefold() != "none"]
    if find_date_formats(dates):
        return date_column(name, fields, learned)
    if are_mixed_dates(dates):
        raise ValueError(f"column {short(name)} has dates in several formats: write all in one")
    total = words.total()
    if len(words) == total > 1 or len(words) > max(MOST_VALUES, len(fields) // 2):
        how_many = "all" if len(words) == total else f"{len(words)} of {total}"
        note = f"left out as a name or free text: {how_many} are different"
        return Column(name, LEFT_OUT, note + sign_hint(fields))
    return category_column(name, fields, learned)


def holds_numbers(fields: Fields, n_known: int) -> bool:
    """Tell whether all fields are numbers, or so many that the others are mistakes.

    Infinite ones are mistakes. Among a few words that come again and again others are words, too.
    """
    good = ~np.isnan(fields.numbers)
    if int(good.sum()) == n_known:
        return True
    again = len(fields.counts) <= min(MOST_VALUES, len(fields) // ROWS_PER_VALUE)
    like = good | (fields.map(lambda word: word.casefold() in INFINITE) == 1.0)
    return int(like.sum()) >= (n_known if again else MOSTLY * n_known)


def number_column(name: str) -> Column:
    """Return a column of numbers of which nothing else is known."""
    return Column(name, NUMBER, NUMBER, (name,))


def category_column(name: str, fields: Fields, learned: Fields) -> Column:
    """Return a category with the most frequent words, one feature each."""
    counts, most = learned.counts or fields.counts, MOST_VALUES
    words = [word for word, _ in counts.most_common()]
    if fields.categories and len(fields.categories) <= MOST_DECLARED:
        words, most = fields.categories, MOST_DECLARED
    words = [word for word in words if word not in (OTHER, MISSING)]
    values = sorted(words[:most])
    if len(words) > most or OTHER in counts:
        values.append(OTHER)
    if learned.missing.any() or MISSING in counts:
        values.append(MISSING)
    if len(values) < 2 and OTHER not in values:
        values.append(OTHER)  # what the first rows do not have may come later
    said = f"category: {in_words(values, 100)[1:-1]}"
    if len(words) > most:
        said = f"category: the {most} most frequent of {len(words)} values, the rest is other"
    said += sign_hint(fields)
    others = [word for word in fields.counts if math.isnan(to_number(word))]
    if 0 < len(others) < len(fields.counts):
        said += f" (not numbers, as {short(others[0])} is none)"
    features = tuple(f"{name}={value}" for value in values)
    return Column(name, CATEGORY, said, features, tuple(values), group=name)


def date_column(name: str, fields: Fields, learned: Fields, said: str = "") -> Column:
    """Return a date, of which those parts become features that vary."""
    hows = [ISO] if fields.are_moments else [said] if said else []
    words = [word for word in fields.counts if word.casefold() != "none"]
    hows = hows or find_date_formats(words, 0.1) or [ISO]
    moments = fields.moments(hows[0])
    if not moments.notna().any():
        which = f" of the format {said}" if said else " of a known format"
        raise ValueError(f"column {short(name)} has no date{which}: name another column or format")
    if moments.nunique() == 1 and not fields.no_numbers.any():
        return Column(name, LEFT_OUT, f"left out, it is always {short(fields.text(0))}")
    first = learned.moments(hows[0])
    start = (first if first.notna().any() else moments).min().strftime("%Y-%m-%d")
    parts = date_parts(moments, start)
    varying = tuple(p for p, v in parts.items() if p == DAYS or np.nanmin(v) < np.nanmax(v))
    days = sorted(set(moments.day_of_week[moments.notna()].astype(int)))
    doubt = ""
    if len(hows) > 1 and hows[0].startswith("%d/%m") and hows[1].startswith("%m/%d"):
        both = (fields.moments(hows[1]).notna() == moments.notna()).all()
        doubt = f" rather than {hows[1]}: say the format if that is wrong" if both else ""
    return Column(
        name,
        DATE,
        with_gaps(f"date ({hows[0]}{doubt})", fields),
        values=tuple(WEEKDAYS[day] for day in days) if len(days) > 1 else (),
        group="day of week" if len(days) > 1 else "",
        parts=varying,
        how=hows[0],
        start=start,
    )


def date_parts(moments: pd.DatetimeIndex, start: str) -> dict[str, Floats]:
    """Return days since a first one, month and hour."""
    days = (moments - pd.Timestamp(start)) / pd.Timedelta(days=1)
    hours = moments.hour + moments.minute / 60 + moments.second / 3600
    values = dict(zip(PARTS, (days, moments.month, hours), strict=True))
    return {part: np.asarray(value, dtype=float) for part, value in values.items()}


def name_features(columns: Sequence[Column]) -> list[Column]:
    """Return the columns with names of what dates become; those of several dates say of which."""
    names = {column.name for column in columns}
    dates = [column for column in columns if column.kind == DATE]
    found = []
    for column in columns:
        if column.kind == DATE:
            told = {DAYS: f"days since {column.start}", MONTH: MONTH, HOUR: HOUR}
            alone = len(dates) == 1 and not names & {*told.values(), column.group}
            prefix = "" if alone else f"{column.name}: "
            numbers = [prefix + told[part] for part in column.parts]
            group = prefix + column.group if column.group else ""
            became = ", ".join([*numbers, *([group] if group else [])])
            features = (*numbers, *(f"{group}={value}" for value in column.values))
            said = f"{column.said}, as {became}"
            column = replace(column, said=said, group=group, features=features)
        found.append(column)
    return found


def with_gaps(note: str, fields: Fields) -> str:
    """Return a note with the number of gaps."""
    gaps = int(fields.no_numbers.sum())
    return f"{note}, {gaps} gap{'s' * (gaps > 1)}" if gaps else note


def thousands(fields: Fields) -> str:
    """Return a note where thousands are separated, as that may be a decimal sign."""
    other = OTHER_SIGN[fields.decimal]
    texts = () if fields.are_numbers else fields.column.dropna().astype(str)
    if any(THOUSANDS[fields.decimal].fullmatch(text.strip()) for text in texts):
        return f", {other!r} separates thousands: say decimal={other!r} if that is wrong"
    return ""


def sign_hint(fields: Fields) -> str:
    """Return a hint where nearly all words would be numbers with the other decimal sign."""
    other, words = OTHER_SIGN[fields.decimal], fields.counts
    found = sum(words[word] for word in words if not math.isnan(to_number(word, other)))
    if any(other in word for word in words) and found >= MOSTLY * words.total():
        return f"; if these are numbers, say decimal={other!r}"
    return ""
