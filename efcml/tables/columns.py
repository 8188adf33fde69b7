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

    def encode(self, fields: Fields) -> Floats:
        """Return numbers for every row, NaN where nothing is known or a field is wrong."""
        if self.kind == NUMBER:
            return fields.numbers[:, None]
        if self.kind in (FLAG, LABEL):
            return fields.map(self._read_flag)[:, None]
        numbers: list[Floats] = [np.empty((len(fields), 0))]
        if self.kind == DATE:
            moments = fields.moments(self.how)
            parts = date_parts(moments, self.start)
            numbers += [parts[part] for part in self.parts]
            found = np.asarray(moments.day_of_week, dtype=float)
            codes = [WEEKDAYS.index(day) for day in self.values]
        else:
            codes = list(range(len(self.values)))
            places = dict(zip(self.values, codes, strict=True))
            other = places.get(OTHER, -1)  # without one, a new word is none of the known values
            found = fields.map(lambda word: places.get(word, other))
            found[fields.missing] = places.get(MISSING, math.nan)
        flags = np.where(np.isnan(found)[:, None], np.nan, found[:, None] == np.array(codes))
        return np.column_stack([*numbers, flags])

    def _read_flag(self, word: str) -> float:
        if not word:
            return 0.0 if self.empty_is_no else math.nan
        if self.yes:
            return float(word.casefold() == self.yes.casefold())
        return FLAGS.get(word.casefold(), math.nan)


def find_label(name: str, fields: Fields, yes: str) -> Column:
    """Return how the label column of the training rows is read."""
    words = {word.casefold() for word in fields.counts}
    if yes and (yes.casefold() in words or not words <= {*FLAGS}):
        return Column(name, LABEL, f"label, {short(yes)} is yes", yes=yes)
    if words == {"x"} and fields.missing.any():
        return Column(name, LABEL, "label, x is yes and empty is no", empty_is_no=True)
    return Column(name, LABEL, LABEL)


def find_column(name: str, fields: Fields, learned: Fields, said: str) -> Column:
    """Return what a column is, as the first rows say; values are those of rows to learn from.

    A person may have said what it is: "drop", "category", "date" or the format of a date.
    """
    if said == DROP:
        return Column(name, LEFT_OUT, "left out as you say")
    gaps = int(fields.missing.sum())
    n_known = len(fields) - gaps
    note = f", {gaps} gap{'s' * (gaps > 1)}" if gaps else ""
    if not n_known:
        return Column(name, LEFT_OUT, "left out, it is empty")
    if said == CATEGORY or fields.categories is not None:
        return category_column(name, fields, learned)
    if said or fields.are_moments:
        return date_column(name, fields, learned, said if "%" in said else "", note)
    if fields.are_numbers:
        return Column(name, NUMBER, NUMBER + note, (name,))
    words = fields.counts
    if {word.casefold() for word in words} in [set(pair) for pair in YES_NO[1:]]:
        return Column(name, FLAG, FLAG + note, (name,))
    n_numbers = int((~np.isnan(fields.numbers)).sum())
    # Among a few words that come again and again others are words, too, elsewhere mistakes.
    again = len(words) <= min(MOST_VALUES, len(fields) // ROWS_PER_VALUE)
    if n_numbers >= (n_known if again else MOSTLY * n_known):
        return Column(name, NUMBER, NUMBER + note + thousands(fields), (name,))
    if len(words) == 1 and not gaps:
        return Column(name, LEFT_OUT, f"left out, it is always {short(next(iter(words)))}")
    if find_date_formats([*words]):
        return date_column(name, fields, learned, "", note)
    if len(words) == n_known > 1 or len(words) > max(MOST_VALUES, len(fields) // 2):
        how_many = "all" if len(words) == n_known else f"{len(words)} of {n_known}"
        why = f"left out as a name or free text: {how_many} are different"
        return Column(name, LEFT_OUT, why)
    return category_column(name, fields, learned)


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
    return Column(name, CATEGORY, said, tuple(f"{name}={one}" for one in values), tuple(values))


def date_column(name: str, fields: Fields, learned: Fields, said: str, note: str) -> Column:
    """Return a date, of which those parts become features that vary."""
    hows = [ISO] if fields.are_moments else [said] if said else []
    hows = hows or find_date_formats([*fields.counts], 0.1) or [ISO]
    moments = fields.moments(hows[0])
    if not moments.notna().any():
        raise ValueError(f"has no date of {said or 'a known format'}: name another one")
    if moments.nunique() == 1 and moments.notna().all():
        return Column(name, LEFT_OUT, f"left out, it is always {short(fields.text(0))}")
    first = learned.moments(hows[0])
    start = (first if first.notna().any() else moments).min().strftime("%Y-%m-%d")
    parts = date_parts(moments, start)
    varying = tuple(p for p, v in parts.items() if p == "days" or np.nanmin(v) < np.nanmax(v))
    days = sorted({*moments.day_of_week[moments.notna()].astype(int)})
    weekdays = tuple(WEEKDAYS[day] for day in days) if len(days) > 1 else ()
    doubt = ""
    if [how[:5] for how in hows[:2]] == ["%d/%m", "%m/%d"]:
        both = (fields.moments(hows[1]).notna() == moments.notna()).all()
        doubt = f" rather than {hows[1]}: say the format if that is wrong" if both else ""
    titles = [f"days since {start}" if part == "days" else part for part in varying]
    became = ", ".join([*titles, *["day of week"][: len(weekdays)]])
    told = f"date ({hows[0]}{doubt}){note}, as {became}"
    titles += [f"day of week={day}" for day in weekdays]
    features = tuple(f"{name}: {title}" for title in titles)
    return Column(name, DATE, told, features, weekdays, varying, hows[0], start)


def date_parts(moments: pd.DatetimeIndex, start: str) -> dict[str, Floats]:
    """Return days since a first one, month and hour."""
    days = (moments - pd.Timestamp(start)) / pd.Timedelta(days=1)
    hours = moments.hour + moments.minute / 60 + moments.second / 3600
    parts = {"days": days, "month": moments.month, "hour": hours}
    return {part: np.asarray(values, dtype=float) for part, values in parts.items()}


def thousands(fields: Fields) -> str:
    """Return a note where thousands are separated, as that may be a decimal sign."""
    other, texts = OTHER_SIGN[fields.decimal], fields.column.dropna().astype(str)
    if any(THOUSANDS[fields.decimal].fullmatch(text.strip()) for text in texts):
        return f", {other!r} separates thousands: say decimal={other!r} if that is wrong"
    return ""
