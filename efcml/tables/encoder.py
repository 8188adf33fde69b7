"""From the columns of an ordinary table to features: learned once, kept with the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from efcml.support.file_text import short, to_number
from efcml.tables.column_finding import Choices, find_column, name_features
from efcml.tables.csv_rows import find_labels
from efcml.tables.problems import Problem, TableProblems
from efcml.tables.raw_tables import RawTable, frame_like, is_frame, read_raw
from efcml.tables.table_columns import LEFT_OUT, NUMBER, TableColumn
from efcml.tables.words import is_gap, yes_or_no

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats, PathLike

IN_ANOTHER_WAY = ", drop the column or take it as a category"


@dataclass(frozen=True)
class TableEncoder:
    """What was learned of a table: what each column is and which features it becomes.

    Made by `datasets.from_csv` and `datasets.from_frame` for tables that hold more than numbers,
    and part of the model file. Printed, it says what became of each column.
    """

    columns: tuple[TableColumn, ...]

    @cached_property
    def used(self) -> tuple[TableColumn, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.used for name in column.features)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Features that are the values of one thing, by its name, as `name_columns` takes them."""
        return {
            column.group: column.features[-len(column.values) :]
            for column in self.used
            if column.values
        }

    def encode(
        self, table: PathLike | DataFrame, *, delimiter: str | None = None
    ) -> Floats | DataFrame:
        """Return the features of the rows of a CSV file or a data frame like the first one.

        Further columns, such as labels, may be there. A value that a category did not have is
        "other".

        Parameters
        ----------
        table : str, path or pandas.DataFrame
        delimiter : str, optional
            Of a file; found in its header row if not given.

        Returns
        -------
        array of shape (n, p), or DataFrame
            A data frame, with the names of the features, if one is given.
        """
        X = self.encode_raw(read_raw(table, delimiter))
        return frame_like(table, X, self.feature_names) if is_frame(table) else X

    def encode_with_labels(
        self,
        table: PathLike | DataFrame,
        labels: str | Sequence[str] | int,
        *,
        delimiter: str | None = None,
    ) -> tuple[Floats, Floats] | tuple[DataFrame, DataFrame]:
        """Return the features and the labels of such rows, to go on learning from them.

        Parameters
        ----------
        table, delimiter
            As for `encode`.
        labels : sequence of str, str with commas, or int
            Columns of 0 and 1, or yes and no, or how many of the last columns; a gap is not known,
            NaN.

        Returns
        -------
        X, Y : arrays of shape (n, p) and (n, K), or DataFrames
        """
        raw = read_raw(table, delimiter)
        names = [raw.names[place] for place in find_labels(raw.names, labels, raw.where)]
        X, Y = encode_labelled(self, raw, names, raw.problems, "")
        if not is_frame(table):
            return X, Y
        return frame_like(table, X, self.feature_names), frame_like(table, Y, names)

    def encode_raw(self, raw: RawTable, otherwise: str = "") -> Floats:
        """Return the features of a table as text, or all that is wrong with it."""
        missing = [column.name for column in self.used if column.name not in raw.index]
        if missing:
            raise ValueError(
                f"{raw.where} has no column {short(', '.join(missing), 200)}, which the model"
                f" needs; its columns are {short(', '.join(raw.names), 200)}"
            )
        problems, blocks = list(raw.problems), []
        for column in self.used:
            texts = raw.column(column.name)
            quickly = all_numbers(texts) if column.kind == NUMBER else None
            if quickly is not None and column.name not in raw.odd:
                blocks.append(quickly[:, None])
                continue
            read = {text: column.read(text) for text in dict.fromkeys(texts)}
            wrong = [*find_wrong(column, raw, read, otherwise)]
            problems += wrong
            if not wrong:
                rows = np.array([read[text] for text in texts], dtype=float)
                blocks.append(rows.reshape(len(texts), len(column.features)))
        if problems:
            raise TableProblems(raw.where, problems)
        return np.ascontiguousarray(np.hstack(blocks))

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """What became of each column; numbers without gaps share a line."""
        plain = [column.name for column in self.columns if column.said == NUMBER]
        told = [str(column) for column in self.columns if column.said != NUMBER]
        return [*told, *([f"{', '.join(plain)}: {NUMBER}"] if plain else [])]


def all_numbers(texts: Sequence[str]) -> Floats | None:
    """Return what `to_number` makes of every field, in a fraction of the time; None if not all are.

    Examples
    --------
    >>> all_numbers(["1", "2e-1"]), all_numbers(["1", ""]), all_numbers(["1_0"])
    (array([1. , 0.2]), None, None)
    """
    try:
        values = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return values if np.isfinite(values).all() and "_" not in "".join(texts) else None


def find_wrong(
    column: TableColumn, raw: RawTable, read: dict[str, list[float] | None], otherwise: str
) -> Iterator[Problem]:
    """Yield what is wrong with the fields of a column: words out of place."""
    if column.name in raw.odd:
        yield raw.odd[column.name]
        return
    texts = raw.column(column.name)
    strange = {text for text, features in read.items() if features is None}
    if strange:
        rows = [row for row, text in enumerate(texts) if text in strange]
        others = f" here and in {len(rows) - 1} other row{'s' * (len(rows) > 2)}"
        others = others if len(rows) > 1 else ""
        said = f"{column.refuse(texts[rows[0]])}{others}: replace it{otherwise}"
        yield Problem(raw.place(rows[0]), said)


def learn_table(
    raw: RawTable, labels: Sequence[str], n_initial: int, choices: Choices
) -> tuple[TableEncoder, Floats, Floats]:
    """Return what each column of a table is, and its features and labels.

    All that is wrong with the table is told at once.
    """
    choices.check(raw, labels)
    problems, columns, chosen = list(raw.problems), [], set(labels)
    features = [name for name in raw.names if name not in chosen] if len(raw) else []
    for name in features:
        found = find_column(raw, name, n_initial, choices)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            columns.append(found)
    table = TableEncoder(tuple(name_features(columns)))
    return table, *encode_labelled(table, raw, labels, problems)


def encode_labelled(
    table: TableEncoder,
    raw: RawTable,
    labels: Sequence[str],
    known: Sequence[Problem],
    otherwise: str = IN_ANOTHER_WAY,
) -> tuple[Floats, Floats]:
    """Return the features and labels of a table as text, or these problems and all others."""
    problems, X = list(known), np.empty((len(raw), 0))
    Y = np.full((len(raw), len(labels)), np.nan)
    for k, name in enumerate(labels):
        problems += read_label(raw, name, Y[:, k])
    names = Counter(table.feature_names)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        problems.append(Problem("", f"two features are called {short(twice[0])}: rename a column"))
    if not (names or problems):
        left = short("; ".join(table.lines), 150)[1:-1]
        problems.append(Problem("", f"no features are left ({left}): give other columns"))
    try:
        X = table.encode_raw(raw, otherwise) if table.used else X
    except TableProblems as error:
        problems += error.problems[len(raw.problems) :]
    if problems:
        raise TableProblems(raw.where, problems)
    return X, Y


def read_label(raw: RawTable, name: str, out: Floats) -> Iterator[Problem]:
    """Write the labels of a column to an array, NaN where unknown; yield what is wrong with it."""
    if name in raw.odd:
        yield raw.odd[name]
        return
    texts = raw.column(name)
    values = {text: np.nan if is_gap(text) else as_label(text) for text in dict.fromkeys(texts)}
    wrong = [text for text, value in values.items() if value is None]
    if wrong:
        others = f" and {len(wrong) - 1} other things elsewhere" if len(wrong) > 1 else ""
        advice = ": make a label of each word" if len(wrong) > 1 else ""
        yield Problem(
            raw.place(texts.index(wrong[0])),
            f"label {short(name)} is {short(wrong[0])}{others}: labels are 0 or 1, yes or no, empty"
            f" where unknown{advice}",
        )
        return
    out[:] = [values[text] for text in texts]


def as_label(text: str) -> float | None:
    """Return 0 or 1, or None if a field is neither."""
    number = to_number(text)  # 1.0 and 1e0 are 1, too
    return number if number in (0.0, 1.0) else yes_or_no(text)
