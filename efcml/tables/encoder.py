"""From tables to features and labels: learned from the first rows, the same for all later ones."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from efcml.tables.columns import (
    DROP,
    FLAG,
    LABEL,
    LEFT_OUT,
    NUMBER,
    Column,
    category_column,
    find_column,
    find_label,
    name_features,
    number_column,
)
from efcml.tables.fields import Fields, plain_word
from efcml.tables.reading import Table, read_table
from efcml.tables.words import TableProblems, in_words, short

if TYPE_CHECKING:
    from efcml.support.aliases import Facts, Floats, PathLike

IN_ANOTHER_WAY = ", drop the column or take it as a category"
LABELS_ARE = "labels are 0 or 1, yes or no, empty where unknown; or say which word is yes"


@dataclass(frozen=True)
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
    ) -> TableEncoder:
        """Find out what each column is; values and first days are those of some first rows.

        ``kinds`` says what columns are: "drop", "category", "date" or the format of one. All that
        is wrong with the table is told at once.
        """
        first = table.head(n_learned)
        columns, problems = [], []
        for name in table.names:
            seen, kind = table.fields(name), kinds.get(name, "")
            try:
                if kind != DROP:
                    refuse_odd(table, name, seen)
                if name not in labels:
                    columns.append(find_column(name, seen, first.fields(name), kind))
            except ValueError as error:
                problems.append(str(error))
        found = tuple(find_label(name, table.fields(name), plain_word(yes)) for name in labels)
        encoder = cls(tuple(name_features(columns)), found)
        twice = [name for name, count in Counter(encoder.feature_names).items() if count > 1]
        if twice:
            problems.append(f"two features are called {short(twice[0])}: rename a column")
        if not problems and not kinds and encoder._takes_all_as_numbers(table):
            numbers = (c if c.kind == NUMBER else number_column(c.name) for c in encoder.columns)
            encoder = cls(tuple(numbers), found)
        if not (encoder.used or problems):
            left = in_words(encoder.lines, 150)[1:-1]
            problems.append(f"no features are left ({left}): give other columns")
        encoder._encode(table, (*encoder.labels, *encoder.used), problems, IN_ANOTHER_WAY)
        return encoder

    @classmethod
    def learn_categories(cls, frame: pd.DataFrame) -> TableEncoder | None:
        """Return how the categories of a frame of features are read; None if it has none."""
        columns = []
        for place, given in enumerate(frame.columns):
            name, seen = str(given), Fields(frame.iloc[:, place])
            if seen.categories == []:
                raise ValueError(f"column {name} is a category without any value: drop it.")
            is_category = seen.categories is not None
            columns.append(
                category_column(name, seen, seen) if is_category else number_column(name)
            )
        return cls(tuple(columns)) if any(column.values for column in columns) else None

    def _takes_all_as_numbers(self, table: Table) -> bool:
        """Tell whether a table holds nothing but numbers without gaps: all of it is taken then."""
        return all(
            (column.kind in (NUMBER, FLAG, LEFT_OUT))
            and not np.isnan(table.fields(column.name).numbers).any()
            for column in self.columns
        )

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.used for name in column.features)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels."""
        return tuple(label.name for label in self.labels)

    @property
    def is_plain(self) -> bool:
        """Whether it says no more than that every column is a number and every label 0 or 1."""
        every = (*self.columns, *self.labels)
        return all(column.said in (NUMBER, LABEL) for column in every)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Features that are the values of one thing, by its name, as `name_columns` takes them."""
        return {
            column.group: column.features[-len(column.values) :]
            for column in self.used
            if column.values
        }

    @property
    def lines(self) -> list[str]:
        """What became of each column; numbers without gaps share a line."""
        plain = [column.name for column in self.columns if column.said == NUMBER]
        told = [str(column) for column in self.columns if column.said != NUMBER]
        told += [str(label) for label in self.labels if label.said != LABEL]
        return [*told, *([f"{', '.join(plain)}: {NUMBER}"] if plain else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def encode(
        self, table: PathLike | pd.DataFrame | Table, *, delimiter: str | None = None
    ) -> Floats | pd.DataFrame:
        """Return the features of the rows of a file or a data frame like the first one (n, p).

        Of a data frame they are one, too. Further columns, such as labels, may be there. A value
        that a category did not have is "other".
        """
        rows = table if isinstance(table, Table) else read_table(table, delimiter)
        return like(table, self._encode(rows, self.used), self.feature_names)

    def encode_with_labels(
        self,
        table: PathLike | pd.DataFrame | Table,
        labels: str | Sequence[str] | int | None = None,
        *,
        delimiter: str | None = None,
    ) -> tuple[Any, Any]:
        """Return the features and the labels of such rows, to go on learning from them.

        ``labels`` are columns of 0 and 1, or yes and no: names, names with commas, or how many of
        the last columns; those of the first table if not given. A gap is not known, NaN.
        """
        rows = table if isinstance(table, Table) else read_table(table, delimiter)
        names = self.label_names if labels is None else find_labels(rows.names, labels, rows.where)
        X, Y = self.encode_both(rows, names)
        return like(table, X, self.feature_names), like(table, Y, names)

    def encode_both(self, table: Table, labels: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the features and the labels of a table that has been read."""
        known = {label.name: label for label in self.labels}
        columns = [known.get(name, Column(name, LABEL, LABEL)) for name in labels]
        Y, X = np.split(self._encode(table, (*columns, *self.used)), [len(labels)], axis=1)
        return np.ascontiguousarray(X), np.ascontiguousarray(Y)

    def _encode(
        self,
        table: Table,
        columns: Sequence[Column],
        problems: Sequence[str] = (),
        otherwise: str = "",
    ) -> Floats:
        """Return the numbers of some columns, or these problems and all others."""
        absent = [column.name for column in columns if column.name not in table.names]
        if absent:
            raise ValueError(
                f"{table.where} has no column {in_words(absent)}, which the model needs; its"
                f" columns are {in_words(table.names)}"
            )
        blocks, problems = [np.empty((len(table), 0))], list(problems)
        for column in columns:
            seen = table.fields(column.name)
            blocks.append(column.encode(seen))
            problems += find_wrong(table, column, seen, blocks[-1], otherwise)
        if problems:
            raise TableProblems(table.where, problems)
        return np.ascontiguousarray(np.hstack(blocks))

    def check_yes(self, yes: str, first: Table, Y: Floats) -> None:
        """Refuse a word for yes that is not there, by which labels would always be 0."""
        there = [
            bool(label.yes) and (column == 1).any()
            for label, column in zip(self.labels, Y.T, strict=True)
        ]
        for label, good in zip(self.labels, there, strict=True):
            words = [*first.fields(label.name).counts]
            if not good and (not any(there) or (label.yes and len(words) > 1)):
                raise ValueError(
                    f"{first.where}: label {short(label.name)} is never {short(yes)}, only"
                    f" {in_words(words)}: say which of these is yes"
                )

    def facts(self) -> Facts:
        """Return all of it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Any) -> TableEncoder:
        """Return an encoder that was kept as facts, or refuse what cannot have been learned."""

        def column(kept: Mapping[str, Any]) -> Column:
            lists = {name: value for name, value in kept.items() if isinstance(value, list | tuple)}
            return Column(**{**kept, **{name: tuple(value) for name, value in lists.items()}})

        encoder = cls(*(tuple(map(column, facts[part])) for part in ("columns", "labels")))
        every = [*encoder.columns, *encoder.labels]
        for names in ([one.name for one in every], encoder.feature_names):
            if len(set(names)) < len(names):
                raise ValueError("a table has two columns of one name")
        for one in every:  # what is wrong here would give rows of another length than is told
            if one.width != len(one.features) or (one.kind == LABEL) != (one in encoder.labels):
                raise ValueError(f"the column {short(one.name)} has other features than values")
        return encoder


def refuse_odd(table: Table, name: str, seen: Fields) -> None:
    """Refuse a column of other things than numbers, words and dates."""
    row = seen.find_odd()
    if row is not None:
        raise ValueError(
            f"{table.place(row)}: column {short(name)} of type {seen.column.dtype} holds other"
            " things than numbers, words and dates: encode it or drop it"
        )


def find_wrong(
    table: Table, column: Column, seen: Fields, encoded: Floats, otherwise: str
) -> Iterator[str]:
    """Yield what is wrong with the fields of a column: words out of place."""
    rows = column.find_wrong(seen, encoded)
    if not rows:
        return
    place, text = table.place(rows[0]), short(seen.text(rows[0]))
    if column.kind == LABEL:
        n = len({seen.text(row) for row in rows}) - 1
        more = f" and {n} other thing{'s' * (n > 1)} elsewhere" if n else ""
        yield f"{place}: label {short(column.name)} is {text}{more}: {LABELS_ARE}"
        return
    n = len(rows) - 1
    others = f" here and in {n} other row{'s' * (n > 1)}" if n else ""
    reason = f"{column.refuses(seen)}{others}: replace it{otherwise}"
    yield f"{place}: {text} in column {short(column.name)} is {reason}"


def like(table: Any, X: Floats, names: Sequence[str]) -> Any:
    """Return rows as a data frame with the index of another; as they are if it is none."""
    if isinstance(table, pd.DataFrame):
        return pd.DataFrame(X, index=table.index, columns=list(names))
    return X


def find_labels(names: Sequence[str], labels: Sequence[str] | str | int, where: str) -> list[str]:
    """Return the names of the label columns, which may be one text with commas, or a number."""
    if len(names) < 2:
        raise ValueError(
            f"{where}: only one column: separate columns by commas, semicolons, tabs or bars, or"
            " say the delimiter"
        )
    if not isinstance(labels, Sequence):
        count = operator.index(labels)
        if not 0 < count < len(names):
            raise ValueError(
                f"{where} has {len(names)} columns, of which the last {count} cannot be labels:"
                f" choose a number from 1 to {len(names) - 1}"
            )
        return list(names[-count:])
    wanted = listed_columns(names, labels)
    absent = [name for name in wanted if name not in names]
    if absent:
        raise ValueError(
            f"{where} has no column {', '.join(map(short, absent))}: choose the labels among"
            f" {in_words(names)}"
        )
    if not wanted:
        raise ValueError(f"{where}: no label column is named: name at least one")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"{where}: a label column is named twice: name each one once")
    if len(wanted) == len(names):
        raise ValueError(f"{where}: every column is a label: no features are left")
    return wanted


def listed_columns(names: Sequence[str], columns: Sequence[str] | str) -> list[str]:
    """Return names that are given as a list, or separated by commas."""
    if not isinstance(columns, str):
        return [str(column) for column in columns]
    whole = columns.strip()
    return [whole] if whole in names else [part.strip() for part in whole.split(",")]


def choose_kinds(table: Table, labels: Sequence[str], **said: Any) -> dict[str, str]:
    """Return what a person says of columns, by name: drop, category, date or its format."""
    kinds: dict[str, str] = {}
    for kind, columns in said.items():
        listed = [*columns.items()] if isinstance(columns, Mapping) else []
        for one in () if isinstance(columns, Mapping) else listed_columns(table.names, columns):
            cut = kind == "date" and one not in table.names
            listed.append(one.partition("=")[::2] if cut else (one, ""))
        for name, how in listed:
            if name not in table.names:
                known = f"choose among {in_words(table.names)}"
                raise ValueError(f"{table.where} has no column {short(name)}: {known}")
            if name in labels:
                why = "is a label: drop or encode features"
                raise ValueError(f"{table.where}: column {short(name)} {why}")
            if name in kinds:
                raise ValueError(f"column {short(name)} is named twice: drop or encode in one way")
            kinds[name] = how or kind
    return kinds
