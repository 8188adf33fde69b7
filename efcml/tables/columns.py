"""What a column of a table is, and the numbers that are made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from efcml.tables.fields import ISO, MOSTLY, Fields, find_date_formats
from efcml.tables.words import FLAGS, OTHER_SIGN, THOUSANDS, YES_NO, in_words, short, to_number

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
            moments = fields.moments(self.how)
            parts = date_parts(moments, self.start)
            found = np.asarray(moments.day_of_week, dtype=float)
            numbers, codes = [parts[part] for part in self.parts], map(WEEKDAYS.index, self.values)
        else:
            places = {value: place for place, value in enumerate(self.values)}
            other = places.get(OTHER, -1)  # without one, a new word is none of the known values
            found = fields.map(lambda word: places.get(word, other))
            found[fields.missing] = places.get(MISSING, math.nan)
            numbers, codes = [np.empty((len(found), 0))], range(len(self.values))
        flags = found[:, None] == np.array([*codes])
        return np.column_stack([*numbers, np.where(np.isnan(found)[:, None], np.nan, flags)])

    def _read_flag(self, word: str) -> float:
        if not word:
            return 0.0 if self.empty_is_no else math.nan
        if self.yes:
            return float(word.casefold() == self.yes.casefold())
        return FLAGS.get(word.casefold(), math.nan)

    def find_wrong(self, fields: Fields, encoded: Floats) -> list[int]:
        """Return the rows of fields that are neither missing nor of this kind."""
        if self.kind == CATEGORY:
            return []
        return np.flatnonzero(~np.isfinite(encoded[:, 0]) & ~fields.missing).tolist()

    def refuses(self, fields: Fields) -> str:
        """Return what a field is that is wrong."""
        if self.kind == NUMBER:
            return "no number" if fields.decimal == "." else "no number with a decimal comma"
        return "neither yes nor no" if self.kind == FLAG else f"no date ({self.how})"


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
    n_known = int((~fields.missing).sum())
    if not n_known:
        return Column(name, LEFT_OUT, "left out, it is empty")
    if said == CATEGORY or fields.categories is not None:
        return category_column(name, fields, learned)
    if said or fields.are_moments:
        return date_column(name, fields, learned, said if "%" in said else "")
    if fields.are_numbers:
        return Column(name, NUMBER, with_gaps(NUMBER, fields), (name,))
    words = fields.counts
    if {word.casefold() for word in words} in [set(pair) for pair in YES_NO[1:]]:
        return Column(name, FLAG, with_gaps(FLAG, fields), (name,))
    if holds_numbers(fields, n_known):
        return Column(name, NUMBER, with_gaps(NUMBER, fields) + thousands(fields), (name,))
    if len(words) == 1 and n_known == len(fields):
        return Column(name, LEFT_OUT, f"left out, it is always {short(next(iter(words)))}")
    if find_date_formats([*words]):
        return date_column(name, fields, learned)
    total = words.total()
    if len(words) == total > 1 or len(words) > max(MOST_VALUES, len(fields) // 2):
        how_many = "all" if len(words) == total else f"{len(words)} of {total}"
        why = f"left out as a name or free text: {how_many} are different"
        return Column(name, LEFT_OUT, why)
    return category_column(name, fields, learned)


def holds_numbers(fields: Fields, n_known: int) -> bool:
    """Tell whether all fields are numbers, or so many that the others are mistakes.

    Among a few words that come again and again others are words, too.
    """
    n_numbers = int((~np.isnan(fields.numbers)).sum())
    again = len(fields.counts) <= min(MOST_VALUES, len(fields) // ROWS_PER_VALUE)
    return n_numbers >= (n_known if again else MOSTLY * n_known)


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
    others = [word for word in fields.counts if math.isnan(to_number(word))]
    if 0 < len(others) < len(fields.counts):
        said += f" (not numbers, as {short(others[0])} is none)"
    features = tuple(f"{name}={value}" for value in values)
    return Column(name, CATEGORY, said, features, tuple(values))


def date_column(name: str, fields: Fields, learned: Fields, said: str = "") -> Column:
    """Return a date, of which those parts become features that vary."""
    hows = [ISO] if fields.are_moments else [said] if said else []
    hows = hows or find_date_formats([*fields.counts], 0.1) or [ISO]
    moments = fields.moments(hows[0])
    if not moments.notna().any():
        raise ValueError(
            f"has no date of {said or 'a known format'}: name another column or format"
        )
    if moments.nunique() == 1 and not fields.missing.any():
        return Column(name, LEFT_OUT, f"left out, it is always {short(fields.text(0))}")
    first = learned.moments(hows[0])
    start = (first if first.notna().any() else moments).min().strftime("%Y-%m-%d")
    parts = date_parts(moments, start)
    varying = tuple(p for p, v in parts.items() if p == DAYS or np.nanmin(v) < np.nanmax(v))
    days = sorted({*moments.day_of_week[moments.notna()].astype(int)})
    weekdays = tuple(WEEKDAYS[day] for day in days) if len(days) > 1 else ()
    titles = [f"days since {start}" if part == DAYS else part for part in varying]
    doubt = ""
    if len(hows) > 1 and hows[0].startswith("%d/%m") and hows[1].startswith("%m/%d"):
        both = (fields.moments(hows[1]).notna() == moments.notna()).all()
        doubt = f" rather than {hows[1]}: say the format if that is wrong" if both else ""
    became = ", ".join([*titles, *["day of week"][: len(weekdays)]])
    return Column(
        name,
        DATE,
        f"{with_gaps(f'date ({hows[0]}{doubt})', fields)}, as {became}",
        features=tuple(
            f"{name}: {title}" for title in [*titles, *(f"day of week={day}" for day in weekdays)]
        ),
        values=weekdays,
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


def with_gaps(note: str, fields: Fields) -> str:
    """Return a note with the number of gaps."""
    gaps = int(fields.missing.sum())
    return f"{note}, {gaps} gap{'s' * (gaps > 1)}" if gaps else note


def thousands(fields: Fields) -> str:
    """Return a note where thousands are separated, as that may be a decimal sign."""
    other, texts = OTHER_SIGN[fields.decimal], fields.column.dropna().astype(str)
    if any(THOUSANDS[fields.decimal].fullmatch(text.strip()) for text in texts):
        return f", {other!r} separates thousands: say decimal={other!r} if that is wrong"
    return ""
