"""From tables to features and labels: learned from the first rows, the same for all later ones."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from efcml.tables.columns import (
    CATEGORY,
    FLAG,
    LABEL,
    LEFT_OUT,
    NUMBER,
    Column,
    category_column,
    find_column,
    find_label,
    number_column,
)
from efcml.tables.fields import Fields
from efcml.tables.reading import Table, read_table
from efcml.tables.words import TableProblems, in_words, plain_word, short

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
        for name in [name for name in table.names if name not in labels]:
            try:
                kind = kinds.get(name, "")
                columns.append(find_column(name, table.fields(name), first.fields(name), kind))
            except ValueError as error:
                problems.append(f"column {short(name)} {error}")
        found = [find_label(name, table.fields(name), plain_word(yes)) for name in labels]
        encoder = cls(tuple(columns), tuple(found))
        twice = [name for name, count in Counter(encoder.feature_names).items() if count > 1]
        if twice:
            problems.append(f"two features are called {short(twice[0])}: rename a column")
        if not (encoder.used or problems):
            left = in_words(encoder.lines, 150)[1:-1]
            problems.append(f"no features are left ({left}): give other columns")
        encoder._encode(table, (*found, *encoder.used), problems, IN_ANOTHER_WAY)
        return encoder

    @classmethod
    def learn_categories(cls, frame: pd.DataFrame) -> TableEncoder | None:
        """Return how the categories of a frame of features are read; None if it has none."""
        columns = []
        for place, name in enumerate(map(str, frame.columns)):
            seen = Fields(frame.iloc[:, place])
            if seen.categories == []:
                raise ValueError(f"column {name} is a category without any value: drop it.")
            is_number = seen.categories is None
            columns.append(number_column(name) if is_number else category_column(name, seen, seen))
        return cls(tuple(columns)) if any(column.values for column in columns) else None

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.used for name in column.features)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Features that are the values of one thing, by its name, as `name_columns` takes them."""
        flags = [
            (one.values[0], one.features[-len(one.values) :]) for one in self.used if one.values
        ]
        return {names[0].removesuffix(f"={value}"): names for value, names in flags}

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

    def encode(
        self, table: PathLike | pd.DataFrame | Table, *, delimiter: str | None = None
    ) -> Floats | pd.DataFrame:
        """Return the features of the rows of a file or a data frame like the first one (n, p).

        Of a data frame they are one, too. Further columns, such as labels, may be there. A value
        that a category did not have is "other".
        """
        return self.encode_with_labels(table, (), delimiter=delimiter)[0]

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
        known = {label.name: label for label in self.labels}
        labels = [*known] if labels is None else labels
        none = isinstance(labels, Sequence) and not labels
        names = [] if none else find_labels(rows.names, labels, rows.where)
        columns = [known.get(name, Column(name, LABEL, LABEL)) for name in names]
        both = self._encode(rows, (*columns, *self.used))
        if isinstance(table, pd.DataFrame):
            frame = pd.DataFrame(both, index=table.index, columns=[*names, *self.feature_names])
            return frame.iloc[:, len(names) :], frame.iloc[:, : len(names)]
        Y, X = np.split(both, [len(names)], axis=1)
        return np.ascontiguousarray(X), np.ascontiguousarray(Y)

    def _encode(
        self, table: Table, columns: Sequence[Column], told: Sequence[str] = (), otherwise: str = ""
    ) -> Floats:
        """Return the numbers of some columns, or these problems and all others."""
        absent = [column.name for column in columns if column.name not in table.names]
        if absent:
            raise ValueError(
                f"{table.where} has no column {in_words(absent)}, which the model needs; its"
                f" columns are {in_words(table.names)}"
            )
        blocks, problems = [np.empty((len(table), 0))], list(told)
        for column in columns:
            seen = table.fields(column.name)
            blocks.append(column.encode(seen))
            if column.kind == CATEGORY:
                continue
            wrong = ~np.isfinite(blocks[-1][:, 0]) & ~seen.missing
            if not (rows := np.flatnonzero(wrong).tolist()):
                continue
            text, n = short(seen.text(rows[0])), len({seen.text(row) for row in rows}) - 1
            more = f" (and {n} other thing{'s' * (n > 1)} elsewhere)" if n else ""
            if column.kind == LABEL:
                problem = f"label {short(column.name)} is {text}{more}: {LABELS_ARE}"
            else:
                kinds = {NUMBER: "no number", FLAG: "neither yes nor no"}
                kind = kinds.get(column.kind, f"no date ({column.how})")
                problem = f"{text} in column {short(column.name)} is {kind}{more}: replace it"
                problem += otherwise
            problems.append(f"{table.place(rows[0])}: {problem}")
        if problems:
            raise TableProblems(table.where, problems)
        return np.hstack(blocks)

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
        every, nothing = [*encoder.columns, *encoder.labels], Fields(pd.Series([], dtype=object))
        for names in ([one.name for one in every], encoder.feature_names):
            if len(set(names)) < len(names):
                raise ValueError("a table has two columns of one name")
        for one in every:  # what is wrong here would give rows of another length than is told
            is_label = one.kind == LABEL
            width = 0 if is_label else one.encode(nothing).shape[1]
            if width != len(one.features) or is_label != (one in encoder.labels):
                raise ValueError(f"the column {short(one.name)} has other features than values")
        return encoder


def find_labels(names: Sequence[str], labels: Sequence[str] | str | int, where: str) -> list[str]:
    """Return the names of the label columns, which may be one text with commas, or a number."""
    if len(names) < 2:
        raise ValueError(f"{where}: only one column: give more, or say what separates them")
    if not isinstance(labels, Sequence):
        count = operator.index(labels)
        if not 0 < count < len(names):
            most = f"choose a number from 1 to {len(names) - 1}"
            raise ValueError(f"{where}: the last {count} columns cannot be labels: {most}")
        return list(names[-count:])
    wanted = listed_columns(names, labels)
    absent = ", ".join(short(name) for name in wanted if name not in names)
    if absent:
        known = f"choose the labels among {in_words(names)}"
        raise ValueError(f"{where} has no column {absent}: {known}")
    if not 0 < len(set(wanted)) == len(wanted) < len(names):
        raise ValueError(f"{where}: name each label column once, at least one, but not all columns")
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
        if not isinstance(columns, Mapping):
            listed = listed_columns(table.names, columns)
            columns = dict(
                (one, "") if one in table.names else one.partition("=")[::2] for one in listed
            )
        for name, how in columns.items():
            features = [one for one in table.names if one not in {*labels, *kinds}]
            if name not in features:
                known = f"choose among the columns {in_words(features)}, each once"
                raise ValueError(f"{table.where}: {short(name)} cannot be taken as {kind}: {known}")
            kinds[name] = how or kind
    return kinds
