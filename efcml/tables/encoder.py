"""What each column of a table is, learned from the first rows, and the numbers made of all rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from efcml.support.aliases import Floats, PathLike
from efcml.tables.reading import (
    FLAGS,
    ISO,
    MOSTLY,
    OTHER_SIGN,
    THOUSANDS,
    YES_NO,
    Fields,
    Table,
    find_date_formats,
    in_words,
    plain_word,
    read_chunks,
    short,
)

NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT = "number", "yes or no", "date", "category", "left out"
LABEL = "label"
OTHER, MISSING = "other", "missing"  # values of a category
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DROP = "drop"  # what a person may say of a column, or CATEGORY, DATE, or the format of a date
MOST_VALUES = 12  # of a category; all others are one value more
ROWS_PER_VALUE = 5  # of a few words that come again and again, even if most are numbers
Labels = Sequence[str] | str | int
IN_ANOTHER_WAY = ", drop the column or take it as a category"
LABELS_ARE = "labels are 0 or 1, yes or no, empty where unknown; or say which word is yes"


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

    def find_wrong(self, fields: Fields, encoded: Floats) -> tuple[int, str]:
        """Return the first row that is not of this kind, -1 if there is none, and what it holds."""
        wrong = ~np.isfinite(encoded[:, :1]).all(axis=1) & ~fields.missing
        rows = [] if self.kind == CATEGORY else np.flatnonzero(wrong).tolist()
        if not rows:
            return -1, ""
        text = short(fields.text(rows[0]))
        if self.kind == LABEL:
            return rows[0], f"label {short(self.name)} is {text}: {LABELS_ARE}"
        kinds = {NUMBER: "no number", FLAG: "neither yes nor no", DATE: f"no date ({self.how})"}
        return rows[0], f"{text} in column {short(self.name)} is {kinds[self.kind]}: replace it"


@dataclass(frozen=True, repr=False)
class TableEncoder:
    """What was learned of a table: what each column is and which features it becomes.

    Made by `datasets.from_csv` and `datasets.from_frame`, and part of the model file. Printed, it
    says what became of each column.
    """

    columns: tuple[Column, ...]
    labels: tuple[Column, ...] = ()

    @classmethod
    def learn(
        cls, table: Table, labels: Sequence[str], n_learned: int, kinds: Mapping[str, str], yes: str
    ) -> Self:
        """Find out what each column is; values and first days are those of some first rows.

        ``kinds`` says what columns are: "drop", "category", "date" or the format of one.
        """
        names = [name for name in table.names if name not in labels]
        for name, kind in kinds.items():
            if name not in names:
                known = f"choose among the columns {in_words(names)}"
                raise ValueError(f"{table.where}: {short(name)} cannot be taken as {kind}: {known}")
        first = replace(table, frame=table.frame.iloc[:n_learned])
        columns = []
        for name in names:
            try:
                kind = kinds.get(name, "")
                columns.append(find_column(name, table.fields(name), first.fields(name), kind))
            except ValueError as error:
                raise ValueError(f"{table.where}: column {short(name)} {error}") from None
        found = [find_label(name, table.fields(name), plain_word(yes)) for name in labels]
        encoder = cls(tuple(columns), tuple(found))
        if not encoder.used:
            left = in_words(encoder.lines, 150)[1:-1]
            raise ValueError(f"{table.where}: no features are left ({left}): give other columns")
        encoder._encode(table, (*found, *encoder.used), IN_ANOTHER_WAY)
        return encoder

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.used for name in column.features)

    @property
    def special(self) -> list[Column]:
        """The columns that are more than a number and the labels that are more than 0 and 1."""
        return [one for one in (*self.columns, *self.labels) if one.said not in (NUMBER, LABEL)]

    @property
    def lines(self) -> list[str]:
        """What became of each column; numbers without gaps share a line."""
        plain = ", ".join(column.name for column in self.columns if column.said == NUMBER)
        told = [f"{column.name}: {column.said}" for column in self.special]
        return [*told, *([f"{plain}: {NUMBER}"] if plain else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        counts = len(self.columns), len(self.feature_names), len(self.labels)
        return "TableEncoder({} columns, {} features, {} labels)".format(*counts)

    def encode(self, table: PathLike | pd.DataFrame) -> Floats | pd.DataFrame:
        """Return the features of the rows of a file or a data frame like the first one (n, p).

        Of a data frame they are one, too. Further columns, such as labels, may be there. A value
        that a category did not have is "other".
        """
        return self.encode_with_labels(table, ())[0]

    def encode_with_labels(
        self, table: PathLike | pd.DataFrame | Table, labels: Labels | None = None
    ) -> tuple[Any, Any]:
        """Return the features and the labels of such rows, to go on learning from them.

        ``labels`` are columns of 0 and 1, or yes and no: names, names with commas, or how many of
        the last columns; those of the first table if not given. A gap is not known, NaN.
        """
        rows = table if isinstance(table, Table) else next(read_chunks(table, None))
        known = {label.name: label for label in self.labels}
        labels = [*known] if labels is None else labels
        names = [] if labels in ((), []) else find_labels(rows.names, labels, rows.where)
        columns = [known.get(name, Column(name, LABEL, LABEL)) for name in names]
        both = self._encode(rows, (*columns, *self.used))
        if isinstance(table, pd.DataFrame):
            frame = pd.DataFrame(both, index=table.index, columns=[*names, *self.feature_names])
            return frame.iloc[:, len(names) :], frame.iloc[:, : len(names)]
        Y, X = np.split(both, [len(names)], axis=1)
        return np.ascontiguousarray(X), np.ascontiguousarray(Y)

    def _encode(self, table: Table, columns: Sequence[Column], otherwise: str = "") -> Floats:
        """Return the numbers of some columns, or refuse the first that is wrong."""
        absent = [column.name for column in columns if column.name not in table.names]
        if absent:
            raise ValueError(
                f"{table.where} has no column {in_words(absent)}, which the model needs; its"
                f" columns are {in_words(table.names)}"
            )
        blocks = [np.empty((len(table), 0))]
        for column in columns:
            fields = table.fields(column.name)
            blocks.append(column.encode(fields))
            row, problem = column.find_wrong(fields, blocks[-1])
            if problem:
                problem += "" if column.kind == LABEL else otherwise
                raise ValueError(f"{table.where}, {table.place(row)}: {problem}")
        return np.hstack(blocks)

    @classmethod
    def from_facts(cls, facts: Any) -> Self:
        """Return an encoder that was kept as facts, or refuse what cannot have been learned."""

        def column(kept: Mapping[str, Any]) -> Column:
            lists = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
            return Column(**{**kept, **lists})

        encoder = cls(*(tuple(map(column, facts[part])) for part in ("columns", "labels")))
        nothing = Fields(pd.Series([], dtype=object))
        sizes = [*(len(one.features) for one in encoder.columns), *[1] * len(encoder.labels)]
        # Otherwise rows would have another length than is told, and kernels check no index.
        for one, size in zip((*encoder.columns, *encoder.labels), sizes, strict=True):
            if one.encode(nothing).shape[1] != size:
                raise ValueError(f"the column {short(one.name)} has other features than values")
        return encoder


def find_label(name: str, fields: Fields, yes: str) -> Column:
    """Return how the label column of the training rows is read."""
    words = {word.casefold() for word in fields.counts}
    if yes and (yes.casefold() in words or not words <= {*FLAGS}):
        return Column(name, LABEL, f"label, {short(yes)} is yes", yes=yes)
    if words == {"x"} and fields.missing.any():
        return Column(name, LABEL, "label, x is yes and empty is no", empty_is_no=True)
    return Column(name, LABEL, LABEL)


def find_column(name: str, fields: Fields, learned: Fields, said: str) -> Column:
    """Return what a column is, as the first rows or a person say; ``learned`` has its values."""
    if said == DROP:
        return Column(name, LEFT_OUT, "left out as you say")
    gaps = int(fields.missing.sum())
    n_known = len(fields) - gaps
    note = f", {gaps} gap{'s' * (gaps > 1)}" if gaps else ""
    if not n_known:
        return Column(name, LEFT_OUT, "left out, it is empty")
    if said == CATEGORY or fields.is_category:
        return category_column(name, fields, learned)
    if said or fields.are_moments:
        return date_column(name, fields, learned, said.replace(DATE, ""), note)
    if fields.are_numbers:
        return number_column(name, note)
    words = fields.counts
    if {word.casefold() for word in words} in [set(pair) for pair in YES_NO[1:]]:
        return Column(name, FLAG, FLAG + note, (name,))
    n_numbers = int((~np.isnan(fields.numbers)).sum())
    # Among a few words that come again and again others are words, too, elsewhere mistakes.
    again = len(words) <= min(MOST_VALUES, len(fields) // ROWS_PER_VALUE)
    if n_numbers >= (n_known if again else MOSTLY * n_known):
        return number_column(name, note + thousands(fields))
    if len(words) == 1 and not gaps:
        return Column(name, LEFT_OUT, f"left out, it is always {short(next(iter(words)))}")
    if find_date_formats([*words]):
        return date_column(name, fields, learned, "", note)
    if len(words) == n_known > 1 or len(words) > max(MOST_VALUES, len(fields) // 2):
        how_many = "all" if len(words) == n_known else f"{len(words)} of {n_known}"
        why = f"left out as a name or free text: {how_many} are different"
        return Column(name, LEFT_OUT, why)
    return category_column(name, fields, learned)


def number_column(name: str, note: str = "") -> Column:
    """Return a column of numbers."""
    return Column(name, NUMBER, NUMBER + note, (name,))


def category_column(name: str, fields: Fields, learned: Fields) -> Column:
    """Return a category with the most frequent words, one feature each."""
    counts = learned.counts or fields.counts
    words = [word for word, _ in counts.most_common() if word not in (OTHER, MISSING)]
    values = sorted(words[:MOST_VALUES])
    if len(words) > MOST_VALUES or OTHER in counts:
        values.append(OTHER)
    if learned.missing.any() or MISSING in counts:
        values.append(MISSING)
    if len(values) < 2 and OTHER not in values:
        values.append(OTHER)  # what the first rows do not have may come later
    said = f"category: {in_words(values, 100)[1:-1]}"
    if len(words) > MOST_VALUES:
        said = (
            f"category: the {MOST_VALUES} most frequent of {len(words)} values, the rest is other"
        )
    return Column(name, CATEGORY, said, tuple(f"{name}={one}" for one in values), tuple(values))


def date_column(name: str, fields: Fields, learned: Fields, said: str, note: str) -> Column:
    """Return a date, of which those parts become features that vary."""
    hows = [ISO] if fields.are_moments else [said] if said else []
    hows = hows or find_date_formats([*fields.counts], 0.1) or [ISO]
    moments = fields.moments(hows[0])
    if not moments.notna().any():
        how = said or "a known format"
        raise ValueError(f"has no date of {how}: say drop, category, date, or another format")
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


def find_labels(names: Sequence[str], labels: Labels, where: str) -> list[str]:
    """Return the names of the label columns, which may be one text with commas, or a number."""
    if len(names) < 2:
        raise ValueError(f"{where}: only one column: give more, or say what separates them")
    if not isinstance(labels, Sequence):
        count = operator.index(labels)
        if not 0 < count < len(names):
            most = f"choose a number from 1 to {len(names) - 1}"
            raise ValueError(f"{where}: the last {count} columns cannot be labels: {most}")
        return list(names[-count:])
    if isinstance(labels, str):
        whole = labels.strip()
        labels = [whole] if whole in names else [part.strip() for part in whole.split(",")]
    absent = ", ".join(short(name) for name in labels if name not in names)
    if absent:
        known = f"choose the labels among {in_words(names)}"
        raise ValueError(f"{where} has no column {absent}: {known}")
    if not 0 < len(set(labels)) == len(labels) < len(names):
        raise ValueError(f"{where}: name each label column once, at least one, but not all columns")
    return list(labels)
