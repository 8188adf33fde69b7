"""What each column of a table is, learned from the first rows, and the numbers made of all rows."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from efcml.support.aliases import Floats, PathLike
from efcml.support.statistics import UNUSED
from efcml.tables.reading import (
    CLOCKS,
    FLAGS,
    ISO,
    LOOKED_AT,
    MOSTLY,
    OTHER_SIGN,
    THOUSANDS,
    UNKNOWN,
    UNNAMED,
    YES_NO,
    ZEROS,
    Dialect,
    Fields,
    Table,
    find_date_formats,
    in_words,
    plain_word,
    read_chunks,
    short,
    split_unit,
    to_number,
)

NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT = "number", "yes or no", "date", "category", "left out"
LABEL = "label"
OTHER, MISSING = "other", "missing"  # values of a category
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DROP = "drop"  # what a person may say of a column, or CATEGORY, DATE, or the format of a date
MOST_VALUES = 12  # of a category; all others are one value more
ROWS_PER_VALUE = 5  # of a few words that come again and again, even if most are numbers
SPARES = 4  # features that are kept for words which come later
ENOUGH = 20  # rows that have a new word, before it is a feature
MOST_NEW, MOST_KNOWN = 100, 200  # new words that are counted; known ones that are no feature
A_HABIT = 3  # rows with the same word among numbers: it is no slip
Labels = Sequence[str] | str | int
IN_ANOTHER_WAY = ", drop the column or take it as a category, or say missing={!r}"
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
    zoned: bool = False  # whether its moments are told with a time zone
    yes: str = ""  # the word for 1 of a label, if a person has said it: all others are 0
    empty_is_no: bool = False  # for a label that is ticked or not
    unit: str = ""  # of all numbers, such as EUR
    gaps: tuple[str, ...] = ()  # words that say that nothing is known
    known: tuple[str, ...] = ()  # words of a category that are no values
    takes_new: bool = False  # whether a new word of a category may become a feature
    sign: str = field(default="", compare=False)  # the decimal sign, if it is not that of the table

    def fields(self, table: Table) -> Fields:
        """Return the fields of this column of a table."""
        return table.fields(self.name, self.unit, self.gaps)

    def encode(self, fields: Fields, late: Sequence[str] = ()) -> Floats:
        """Return numbers for every row, NaN where nothing is known or a field is wrong.

        ``late`` words of a category are features, too, the last ones.
        """
        if self.kind == NUMBER:
            return fields.numbers[:, None]
        if self.kind in (FLAG, LABEL):
            return fields.map(self._read_flag)[:, None]
        numbers: list[Floats] = []
        if self.kind == DATE:
            moments = fields.moments(self.how)
            parts = date_parts(moments, self.start)
            numbers = [parts[part] for part in self.parts]
            found = np.asarray(moments.day_of_week, dtype=float)
            codes = [WEEKDAYS.index(day) for day in self.values]
        else:
            places = {word: i for i, word in enumerate((*self.values, *late))}
            other = places.get(OTHER, -1)  # without one, a new word is none of the known values
            found = fields.map(lambda word: places.get(word, other))
            found[fields.missing] = places.get(MISSING, math.nan)
            codes = [*places.values()]
        encoded = np.empty((len(fields), len(numbers) + len(codes)))
        for i, feature in enumerate([*numbers, *(found == code for code in codes)]):
            encoded[:, i] = feature
        encoded[np.isnan(found)] = np.nan
        return encoded

    def _read_flag(self, word: str) -> float:
        if not word:
            return 0.0 if self.empty_is_no else math.nan
        if self.yes:
            return float(word.casefold() == self.yes.casefold())
        return FLAGS.get(word.casefold(), math.nan)

    def find_wrong(self, fields: Fields, encoded: Floats) -> tuple[str, int, str]:
        """Return a field that is not of this kind, its row, and what is wrong; or nothing."""
        wrong = ~np.isfinite(encoded[:, :1]).all(axis=1)
        if self.kind == DATE and self.how == ISO:
            wrong |= fields.zoned != self.zoned
        rows = [] if self.kind == CATEGORY else np.flatnonzero(wrong & ~fields.missing).tolist()
        if not rows:
            return "", -1, ""
        text, other = fields.text(rows[0]), OTHER_SIGN[fields.decimal]
        if self.kind == LABEL:
            problem = f"label {short(self.name)} is {short(text)}: {LABELS_ARE}"
            return text, rows[0], problem
        kinds = {NUMBER: "no number", FLAG: "neither yes nor no", DATE: f"no date ({self.how})"}
        why = f"is {kinds[self.kind]}{f' in {self.unit}' if self.unit else ''}: replace it"
        unit, number = split_unit(text)
        if self.kind == NUMBER and unit == self.unit and math.isfinite(to_number(number, other)):
            why = f"has another decimal sign than {fields.decimal!r}: say decimal={other!r}"
        if self.kind == DATE and np.isfinite(encoded[rows[0], 0]):
            has, others = ("no", "has one") if self.zoned else ("a", "has none")
            why = f"has {has} time zone, and what was learned {others}: write all in one way"
        return text, rows[0], f"{short(text)} in column {short(self.name)} {why}"


@dataclass(frozen=True, repr=False)
class TableEncoder:
    """What was learned of a table: what each column is and which features it becomes.

    Made by `datasets.from_csv` and `datasets.from_frame`, and part of the model file. Printed, it
    says what became of each column.

    A few features are kept for words of categories that are new: they are 0 until a word has come
    often enough (`follow`).
    """

    columns: tuple[Column, ...]
    labels: tuple[Column, ...] = ()
    spares: int = 0  # features for words that are new
    late: tuple[tuple[str, str], ...] = ()  # columns and words that have such a feature
    new: tuple[tuple[str, str, int], ...] = ()  # columns, new words and their rows
    delimiter: str = field(default="", compare=False)
    decimal: str = field(default="", compare=False)

    @classmethod
    def learn(
        cls,
        table: Table,
        labels: Sequence[str],
        n_learned: int,
        kinds: Mapping[str, str],
        yes: str,
        gaps: Iterable[str] = (),
    ) -> Self:
        """Find out what each column is; values and first days are those of some first rows.

        ``kinds`` says what columns are: "drop", "category", "date" or the format of one; ``gaps``
        are words that say that nothing is known.
        """
        names = [name for name in table.names if name not in labels]
        gaps = tuple(sorted({gap.casefold() for gap in gaps}))
        for name, kind in kinds.items():
            if name not in names:
                known = f"choose among the columns {in_words(names)}"
                raise ValueError(f"{table.where}: {short(name)} cannot be taken as {kind}: {known}")
        first = table.part(0, n_learned)
        columns = []
        for name in names:
            fields, learned = (one.fields(name, gaps=gaps) for one in (table, first))
            try:
                column = find_column(name, fields, learned, kinds.get(name, ""))
            except ValueError as error:
                raise ValueError(f"{table.where}: column {short(name)} {error}") from None
            columns.append(replace(column, sign=table.dialect.signs.get(name, "")))
        found = [
            replace(find_label(name, table.fields(name, gaps=gaps), plain_word(yes)), gaps=gaps)
            for name in labels
        ]
        spares = SPARES * any(column.takes_new for column in columns)
        how = table.dialect.delimiter, table.dialect.decimal
        encoder = cls(tuple(columns), tuple(found), spares, (), (), *how)
        if not encoder.used:
            left = in_words(encoder.lines, 150)[1:-1]
            raise ValueError(f"{table.where}: no features are left ({left}): give other columns")
        for some in (encoder.labels, encoder.used):
            encoder._encode(table, some, IN_ANOTHER_WAY)
        return encoder

    @property
    def dialect(self) -> Dialect:
        """How files are written that this table was learned from."""
        texts = (one.name for one in self.columns if one.kind != NUMBER or one.unit or one.gaps)
        signs = {one.name: one.sign for one in self.columns if one.sign}
        return Dialect(self.delimiter, self.decimal, signs, frozenset(texts))

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        late = [f"{name}={word}" for name, word in self.late]
        free = [f"{UNUSED}{i}" for i in range(len(late) + 1, self.spares + 1)]
        return (*(name for column in self.used for name in column.features), *late, *free)

    @property
    def special(self) -> list[Column]:
        """The columns that are more than a number and the labels that are more than 0 and 1."""
        return [one for one in (*self.columns, *self.labels) if one.said not in (NUMBER, LABEL)]

    @property
    def lines(self) -> list[str]:
        """What became of each column; numbers without gaps share a line."""
        plain = ", ".join(column.name for column in self.columns if column.said == NUMBER)
        told = [f"{column.name}: {column.said}" for column in self.special]
        told += [f"{plain}: {NUMBER}"] if plain else []
        late = [f"{name}={word}" for name, word in self.late]
        told += [f"new words that are features by now: {', '.join(late)}"] if late else []
        return told

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        counts = len(self.columns), len(self.feature_names), len(self.labels)
        return "TableEncoder({} columns, {} features, {} labels)".format(*counts)

    def encode(
        self, table: PathLike | pd.DataFrame, decimal: str | None = None
    ) -> Floats | pd.DataFrame:
        """Return the features of the rows of a file or a data frame like the first one (n, p).

        Of a data frame they are one, too. Further columns, such as labels, may be there. A value
        that a category did not have is "other". A file that is written otherwise than the first one
        is refused, unless you say its ``decimal`` sign.
        """
        return self.encode_with_labels(table, (), decimal)[0]

    def encode_with_labels(
        self,
        table: PathLike | pd.DataFrame | Table,
        labels: Labels | None = None,
        decimal: str | None = None,
    ) -> tuple[Any, Any]:
        """Return the features and the labels of such rows, to go on learning from them.

        ``labels`` are columns of 0 and 1, or yes and no: names, names with commas, or how many of
        the last columns; those of the first table if not given. A gap is not known, NaN.
        """
        rows = self._rows(table, decimal)
        known = {label.name: label for label in self.labels}
        labels = [*known] if labels is None else labels
        names = [] if labels in ((), []) else find_labels(rows.names, labels, rows.where)
        Y = self._encode(rows, [known.get(name, Column(name, LABEL, LABEL)) for name in names])
        X = self._encode(rows, self.used)
        if not isinstance(table, pd.DataFrame):
            return X, Y
        both = (X, [*self.feature_names]), (Y, names)
        X, Y = (pd.DataFrame(one, index=table.index, columns=named) for one, named in both)
        return X, Y

    def follow(
        self,
        table: PathLike | pd.DataFrame | Table,
        labels: Labels | None = None,
        decimal: str | None = None,
        first: int = 0,
    ) -> tuple[Floats, Floats, Self]:
        """Return features and labels of rows that are learned, and the encoder after them.

        New words of categories are counted, from row ``first`` on. One that has come in 20 rows is
        a feature from the next row on, as long as features are kept for new words. Any split into
        tables gives the same.
        """
        rows, now, done, parts = self._rows(table, decimal), self, 0, []
        counts = {(name, word): count for name, word, count in self.new}
        for row, name, text in self.new_words(rows):
            word = name, text
            if row + rows.first < first or word in now.late:
                continue
            if word in counts or len(counts) < MOST_NEW:
                counts[word] = counts.get(word, 0) + 1
            is_free = len(now.late) < self.spares and f"{name}={text}" not in now.feature_names
            if counts.get(word, 0) >= ENOUGH and is_free:
                parts.append(now.encode_with_labels(rows.part(done, row + 1), labels))
                now, done = replace(now, late=(*now.late, word)), row + 1
        parts.append(now.encode_with_labels(rows.part(done, len(rows)), labels))
        X, Y = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
        return X, Y, replace(now, new=tuple((*word, count) for word, count in counts.items()))

    def new_words(self, table: Table) -> list[tuple[int, str, str]]:
        """Return row, column and word wherever a category has a word that is no feature yet."""
        found = []
        for column in self.used:
            if column.takes_new and column.name in table.names:
                fields = column.fields(table)
                late = {word for name, word in self.late if name == column.name}
                new = sorted(fields.counts.keys() - {*column.values, *column.known} - late)
                place = {word: i for i, word in enumerate(new)}.get
                which = fields.map(lambda word, at=place: at(word, -1))  # type: ignore[misc]
                rows = np.flatnonzero(which >= 0.0).tolist() if new else []
                found += [(row, column.name, new[int(which[row])]) for row in rows]
        return sorted(found)

    def news(self, since: TableEncoder) -> list[str]:
        """Return what is to be said of words that are new since this encoder was another one."""
        before, notes = {(name, word): count for name, word, count in since.new}, []
        left = f"{ENOUGH} rows make it a feature"
        if len(self.late) == self.spares:
            left = "no feature is left for it, so learn all rows anew to have one"
        for name, word, count in self.new:
            if more := count - before.get((name, word), 0):
                is_late = (name, word) in self.late
                what = "is a feature from now on" if is_late else f"counts as {OTHER}: {left}"
                rows = f"{more} row{'s' * (more > 1)}"
                notes.append(f"{short(word)} is new in column {short(name)} ({rows}) and {what}")
        return notes

    def _rows(self, table: PathLike | pd.DataFrame | Table, decimal: str | None) -> Table:
        """Return all rows of a table."""
        if isinstance(table, Table):
            return table
        return next(read_chunks(table, decimal=decimal, known=self.dialect))

    def _encode(self, table: Table, columns: Sequence[Column], otherwise: str = "") -> Floats:
        """Return the numbers of some columns, or refuse the first that is wrong."""
        absent = [column.name for column in columns if column.name not in table.names]
        if absent:
            raise ValueError(
                f"{table.where} has no column {in_words(absent)}, which the model needs; its"
                f" columns are {in_words(table.names)}"
            )
        sizes = [1 if column.kind == LABEL else len(column.features) for column in columns]
        n_late = self.spares if columns == self.used else 0
        numbers, last = np.zeros((len(table), sum(sizes) + n_late)), 0
        for column, size in zip(columns, sizes, strict=True):
            late = {word: i for i, (name, word) in enumerate(self.late) if name == column.name}
            fields = column.fields(table)
            encoded = column.encode(fields, [*late])
            text, row, problem = column.find_wrong(fields, encoded)
            if problem:
                problem += "" if column.kind == LABEL else otherwise.format(text)
                raise ValueError(f"{table.where}, {table.place(row)}: {problem}")
            numbers[:, last : last + size] = encoded[:, :size]
            numbers[:, [sum(sizes) + i for i in late.values()]] = encoded[:, size:]
            last += size
        return numbers

    @classmethod
    def from_facts(cls, facts: Any) -> Self:
        """Return an encoder that was kept as facts, or refuse what cannot have been learned."""
        kept = as_tuples(facts)
        parts = {part: tuple(Column(**one) for one in kept[part]) for part in ("columns", "labels")}
        encoder = cls(**{**kept, **parts})
        every = (*encoder.columns, *encoder.labels)
        for one in (encoder, *every):
            for name, kind in get_type_hints(type(one)).items():
                if not is_a(getattr(one, name), kind):
                    raise ValueError(f"{name} of the table is of another kind")
        if not (
            {name for name, *_ in (*encoder.late, *encoder.new)}
            <= {one.name for one in encoder.columns if one.takes_new and one.kind == CATEGORY}
            and len(encoder.late) <= encoder.spares <= SPARES
            and {one.kind for one in encoder.columns} <= {NUMBER, FLAG, DATE, CATEGORY, LEFT_OUT}
            and {one.kind for one in encoder.labels} <= {LABEL}
            and {encoder.decimal, *(one.sign for one in every)} <= {"", ".", ","}
        ):
            raise ValueError("it has kinds, signs or new words that no table can have")
        nothing = Fields(pd.Series([], dtype=object))
        # Otherwise rows would have another length than is told, and kernels check no index.
        for one in encoder.used:
            if one.encode(nothing).shape[1] != len(one.features):
                raise ValueError(f"the column {short(one.name)} has other features than values")
        return encoder


def as_tuples(facts: Any) -> Any:
    """Return facts with tuples for lists."""
    if isinstance(facts, Mapping):
        return {name: as_tuples(value) for name, value in facts.items()}
    return tuple(map(as_tuples, facts)) if isinstance(facts, list | tuple) else facts


def is_a(value: Any, kind: Any) -> bool:
    """Tell whether a value is of the kind that a field is declared to have."""
    if get_origin(kind) is not tuple:
        return type(value) is kind
    kinds = get_args(kind)
    kinds = kinds[:1] * len(value) if kinds[-1] is ... and type(value) is tuple else kinds
    return type(value) is tuple and len(value) == len(kinds) and all(map(is_a, value, kinds))


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
    if name == UNNAMED and not said:
        return Column(name, LEFT_OUT, "left out, it has no name: numbers of rows")
    is_plain = fields.is_category or fields.are_moments or fields.are_numbers
    unit, gaps = ("", fields.gaps) if said or is_plain else find_habits(fields)
    fields, learned = fields.read_as(unit, gaps), learned.read_as(unit, gaps)
    column = find_kind(name, fields, learned, said)
    return replace(column, unit=unit, gaps=tuple(sorted(gaps)))


def find_habits(fields: Fields) -> tuple[str, frozenset[str]]:
    """Return the unit of numbers, and the words that stand for a gap among numbers or dates."""
    units = Counter(split_unit(word)[0] for word in [*fields.tally][:LOOKED_AT])
    unit = next((one for one, n in units.items() if one and n >= MOSTLY * units.total()), "")
    fields = fields.read_as(unit, fields.gaps)
    words = Counter[str]()
    for word, count in fields.tally.items():
        words[word.casefold()] += count * fields.is_word(word)
    gaps = {*+words} & UNKNOWN
    if len(+words) == 1 and len(fields.tally) > MOST_VALUES:
        gaps |= {word for word, count in words.items() if count >= A_HABIT and word.isalpha()}
    rest = [word for word in fields.tally if word.casefold() not in gaps]
    # Elsewhere "unknown" is a word of a category.
    among = rest and gaps and (not any(map(fields.is_word, rest)) or find_date_formats(rest))
    return unit, fields.gaps | gaps if among else fields.gaps


def find_kind(name: str, fields: Fields, learned: Fields, said: str) -> Column:
    """Return what a column is, once it is known which of its words are gaps."""
    gaps = int(fields.missing.sum())
    n_known = len(fields) - gaps
    note = f", {gaps} gap{'s' * (gaps > 1)}" if gaps else ""
    note += f" with {in_words(sorted(fields.gaps))}" if gaps and fields.gaps else ""
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
    is_code = any(map(ZEROS.fullmatch, words))
    n_numbers = 0 if is_code else int((~np.isnan(fields.numbers)).sum())
    # Among a few words that come again and again others are words, too, elsewhere mistakes.
    again = len(words) <= min(MOST_VALUES, len(fields) // ROWS_PER_VALUE)
    if n_numbers >= (n_known if again else MOSTLY * n_known):
        in_unit = f", in {fields.unit}" if fields.unit else ""
        return number_column(name, in_unit + note + thousands(fields))
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
    known = tuple(sorted({*words[MOST_VALUES:], OTHER, MISSING} - {*values}))
    takes_new = len(known) <= MOST_KNOWN  # else nobody knows which words are new
    features = tuple(f"{name}={one}" for one in values)
    known = known if takes_new else ()
    return Column(name, CATEGORY, said, features, tuple(values), known=known, takes_new=takes_new)


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
    start = "" if hows[0] in CLOCKS else start
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
    kind = DATE if start else "time of day"
    zoned = hows[0] == ISO and bool(np.mean(fields.zoned[~fields.missing]) > 0.5)
    told = f"{kind} ({hows[0]}{doubt}){note}, as {became}"
    titles += [f"day of week={day}" for day in weekdays]
    features = tuple(f"{name}: {title}" for title in titles)
    return Column(name, DATE, told, features, weekdays, varying, hows[0], start, zoned)


def date_parts(moments: pd.DatetimeIndex, start: str) -> dict[str, Floats]:
    """Return days since a first one, month and hour; only the hour of a time of day."""
    hours = moments.hour + moments.minute / 60 + moments.second / 3600
    parts = {"hour": hours}
    if start:
        days = (moments - pd.Timestamp(start)) / pd.Timedelta(days=1)
        parts = {"days": days, "month": moments.month, "hour": hours}
    return {part: np.asarray(values, dtype=float) for part, values in parts.items()}


def thousands(fields: Fields) -> str:
    """Return a note where thousands are separated, as that may be a decimal sign."""
    other, texts = OTHER_SIGN[fields.decimal], (split_unit(word)[1] for word in fields.tally)
    if any(map(THOUSANDS[fields.decimal].fullmatch, texts)):
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
    if not isinstance(labels, str):
        labels = [str(name) for name in labels]
    else:
        whole = labels.strip()
        labels = [whole] if whole in names else [part.strip() for part in whole.split(",")]
    absent = ", ".join(short(name) for name in labels if name not in names)
    if absent:
        known = f"choose the labels among {in_words(names)}"
        raise ValueError(f"{where} has no column {absent}: {known}")
    if not 0 < len(set(labels)) == len(labels) < len(names):
        raise ValueError(f"{where}: name each label column once, at least one, but not all columns")
    return list(labels)
