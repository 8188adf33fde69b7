"""Finding out what each column of a table is.

All rows say what kind a column is, as a person would look at the whole file. What is learned, such
as the values of a category or the first day, comes from the initial part alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from efcml.support.file_text import short, to_number
from efcml.tables.dates import FORMATS, WEEKDAYS, find_formats, read_date, say_day
from efcml.tables.problems import Problem
from efcml.tables.raw_tables import RawTable
from efcml.tables.table_columns import (
    CATEGORY,
    DATE,
    DAYS,
    FLAG,
    HOUR,
    LEFT_OUT,
    MISSING,
    NUMBER,
    OTHER,
    TableColumn,
)
from efcml.tables.words import is_gap, is_no_number, whole_code, yes_or_no

MOST_VALUES = 12  # of a category; the others are one value more
MOSTLY = 0.9  # of the fields: the rest are mistakes rather than words
ROWS_PER_VALUE = 5  # of a few values that come again and again: words, even if most are numbers


@dataclass(frozen=True)
class Choices:
    """What a person says of the columns."""

    drop: tuple[str, ...] = ()
    text_as_category: tuple[str, ...] = ()
    date: Mapping[str, str] = field(default_factory=dict)  # with the format, empty if it is found

    @property
    def said(self) -> list[str]:
        """All columns about which something is said."""
        return [*self.drop, *self.text_as_category, *self.date]

    def __bool__(self) -> bool:
        return bool(self.said)

    def check(self, raw: RawTable, labels: Sequence[str]) -> None:
        """Refuse columns that are not there, or about which two things are said."""
        for name in (said := self.said):
            if name not in raw.names:
                raise ValueError(
                    f"{raw.where} has no column {short(name)}: choose among"
                    f" {short(', '.join(raw.names), 200)}"
                )
            if name in labels or said.count(name) > 1:
                what = "a label" if name in labels else "named twice"
                raise ValueError(
                    f"{raw.where}: column {short(name)} is {what}: drop or encode features, each in"
                    " one way"
                )


@dataclass(frozen=True, eq=False)
class Sight:
    """A column as it is looked at."""

    raw: RawTable
    name: str
    n_learned: int  # rows of the initial part

    @cached_property
    def texts(self) -> list[str]:
        """All fields."""
        return self.raw.column(self.name)

    @cached_property
    def words(self) -> Counter[str]:
        """How often each field that is no gap is there."""
        counts = Counter(self.texts)
        return Counter({text: n for text, n in counts.items() if not is_gap(text)})

    @cached_property
    def numbers(self) -> Counter[str]:
        """The same without gaps among numbers."""
        return Counter({text: n for text, n in self.words.items() if not is_no_number(text)})

    @property
    def comes_again(self) -> bool:
        """Whether it has few values, each in several rows."""
        return len(self.words) <= min(MOST_VALUES, len(self.texts) // ROWS_PER_VALUE)

    def first(self, text: str) -> str:
        """Return where a text stands first."""
        return self.raw.place(self.texts.index(text))

    def column(self, kind: str, said: str, **learned: object) -> TableColumn:
        """Return what the column was found to be."""
        return TableColumn(self.name, kind, said, **learned)  # type: ignore[arg-type]

    @property
    def gaps(self) -> int:
        """How many fields are gaps, if it is no category."""
        return len(self.texts) - self.numbers.total()

    def with_gaps(self, what: str) -> str:
        """Return what the column is, with the number of its gaps."""
        return f"{what}, {self.gaps} gap{'s' * (self.gaps > 1)}" if self.gaps else what


def find_column(
    raw: RawTable, name: str, n_learned: int, choices: Choices
) -> TableColumn | Problem:
    """Return what a column is, or what is wrong with it."""
    sight = Sight(raw, name, n_learned)
    if name in choices.drop:
        return sight.column(LEFT_OUT, "left out as you say")
    if name in raw.odd:
        return raw.odd[name]
    if name in choices.text_as_category:
        return as_category(sight)
    if name in choices.date:
        return as_date(sight, choices.date[name])
    if not sight.numbers:
        return as_text(sight) if sight.words else sight.column(LEFT_OUT, "left out, it is empty")
    if all(yes_or_no(text) is not None for text in sight.numbers):
        return as_flag(sight)
    if mostly(sight, {text for text in sight.numbers if is_like_number(text)}):
        return as_number(sight)
    dated = {text for text, formats in find_formats(sight.numbers).items() if formats}
    if mostly(sight, dated):
        return as_date(sight, "")
    return as_text(sight)


def mostly(sight: Sight, good: set[str]) -> bool:
    """Tell whether nearly all fields are of a kind, so that others are mistakes.

    If all are good they are; among a few words that come again and again others are words, too.
    """
    if len(good) == len(sight.numbers):
        return True
    count = sum(sight.numbers[text] for text in good)
    return count >= MOSTLY * sight.numbers.total() and not sight.comes_again


def is_like_number(text: str) -> bool:
    """Tell whether Python takes a text for a number, infinite ones and 1_000 among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_number(sight: Sight) -> TableColumn:
    """Return a column of numbers, or one that is left out as it says nothing."""
    values = {to_number(text) for text in sight.numbers}
    if len(values) == 1 and None not in values and not sight.gaps:
        return constant(sight)
    return sight.column(NUMBER, sight.with_gaps("number"))


def as_flag(sight: Sight) -> TableColumn:
    """Return a column of yes and no."""
    if len({yes_or_no(text) for text in sight.numbers}) == 1:
        if not sight.gaps:
            return constant(sight)
        if not all(map(is_like_number, sight.numbers)):
            return as_category(sight)  # as boxes that are ticked or not
    return sight.column(FLAG, sight.with_gaps("yes or no"))


def as_text(sight: Sight) -> TableColumn:
    """Return a category; or left out, if all is the same or all is different."""
    if len(sight.words) == 1 and not sight.gaps:
        return constant(sight)
    if len(sight.words) == sight.words.total() or (
        len(sight.words) > max(MOST_VALUES, len(sight.texts) // 2)
    ):
        all_of_them = len(sight.words) == sight.words.total()
        how_many = "all" if all_of_them else f"{len(sight.words)} of {sight.words.total()}"
        said = f"left out as a name or free text: {how_many} are different"
        return sight.column(LEFT_OUT, said + doubt_commas(sight))
    return as_category(sight)


def doubt_commas(sight: Sight) -> str:
    """Return a hint where nearly all fields would be numbers, had they points for commas."""
    good = {text for text in sight.words if to_number(text.replace(",", ".")) is not None}
    doubtful = mostly(sight, good) and any("," in text for text in good)
    return "; if these are numbers, write points for commas" if doubtful else ""


def constant(sight: Sight) -> TableColumn:
    """Return a column that is left out as it says nothing."""
    text = next(iter(sight.words))
    return sight.column(LEFT_OUT, f"left out, it is always {short(text)}")


def as_category(sight: Sight) -> TableColumn:
    """Return a category with the most frequent values of the initial part."""
    learned = [whole_code(text) for text in sight.texts[: sight.n_learned]]
    counts = Counter(text for text in learned if not is_gap(text) and text not in (OTHER, MISSING))
    taken = sorted(text for text, _ in counts.most_common(MOST_VALUES))
    rare = len(counts) > len(taken) or OTHER in learned
    gaps = MISSING in learned or any(map(is_gap, learned))
    values = [*taken, *([OTHER] if rare else []), *([MISSING] if gaps else [])]
    if len(values) < 2 and OTHER not in values:
        values.append(OTHER)  # what the first rows do not have may come later
    said = f"category: {short(', '.join(values), 100)[1:-1]}"
    if len(counts) > len(taken):
        said = (
            f"category: the {len(taken)} most frequent of {len(counts)} values, the rest is other"
        )
    said += doubt_commas(sight)
    numbers = [text for text in sight.words if to_number(text) is not None]
    if 0 < len(numbers) < len(sight.words):
        word = next(text for text in sight.words if to_number(text) is None)
        said += f" (not numbers, as {short(word)} in {sight.first(word)} is none)"
    return sight.column(CATEGORY, said, values=tuple(values), group=sight.name)


def as_date(sight: Sight, how: str) -> TableColumn | Problem:
    """Return a date of a format, which is found if it is empty; or say what is wrong with it."""
    doubt = ""
    if not how:
        fits = find_formats(sight.numbers)
        votes = {
            one: sum(n for text, n in sight.numbers.items() if one in fits[text]) for one in FORMATS
        }
        how, *rest = sorted(FORMATS, key=lambda one: -votes[one])  # the first of equals
        others = [text for text in sight.numbers if fits[text] and how not in fits[text]]
        if others:
            return two_formats(sight, how, others, min(fits[others[0]], key=[*FORMATS].index))
        if votes[rest[0]] == votes[how]:
            doubt = f" rather than {rest[0]}: say the format if that is wrong"
    read = [read_date(text, how) for text in sight.numbers]
    moments = {moment for moment in read if moment is not None}
    if not moments:
        format_ = f" of the format {how}" if "%" in how else " of a known format"
        said = f"column {short(sight.name)} has no date{format_}: name another column or format"
        return Problem("", said)
    if len(moments) == 1 and not sight.gaps:
        return constant(sight)
    learned = [read_date(text, how) for text in sight.texts[: sight.n_learned]]
    origin = float(min((one.days for one in learned if one), default=min(moments).days) // 1.0)
    weekdays = sorted({moment.weekday for moment in moments})
    hours = len({moment.hour for moment in moments}) > 1
    return sight.column(
        DATE,
        sight.with_gaps(f"date ({how}{doubt})"),
        values=tuple(WEEKDAYS[day] for day in weekdays) if len(weekdays) > 1 else (),
        group="day of week" if len(weekdays) > 1 else "",
        parts=(DAYS, HOUR) if hours else (DAYS,),
        how=how,
        origin=origin,
    )


def two_formats(sight: Sight, how: str, others: list[str], other: str) -> Problem:
    """Return that a column has dates in two formats, and where."""
    ours = [text for text in sight.numbers if text not in others]
    return Problem(
        "",
        f"column {short(sight.name)} has dates in two formats, {how} in"
        f" {sight.raw.places_of(sight.texts, ours)} and {other} in"
        f" {sight.raw.places_of(sight.texts, others)}: write all in one format",
    )


def name_features(columns: Sequence[TableColumn]) -> list[TableColumn]:
    """Return the columns with names of their features; those of several dates say of which."""
    names = {column.name for column in columns}
    dates = [column for column in columns if column.kind == DATE]
    found = []
    for column in columns:
        numbers, group = [column.name] * (column.kind in (NUMBER, FLAG)), column.group
        if column.kind == DATE:
            said = {DAYS: f"days since {say_day(column.origin)}", HOUR: "hour"}
            alone = len(dates) == 1 and not names & {*said.values(), group}
            prefix = "" if alone else f"{column.name}: "
            numbers = [prefix + said[part] for part in column.parts]
            group = prefix + group if group else ""
            became = ", ".join([*numbers, *([group] if group else [])])
            column = replace(column, said=f"{column.said}, as {became}", group=group)
        flags = [f"{group}={value}" for value in column.values]
        found.append(replace(column, features=(*numbers, *flags)))
    return found
