"""Data sets of tables that may be larger than memory: they are read block by block.

The first rows say what each column is. Features are kept in a file, labels in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from efcml.support.file_text import to_number
from efcml.support.row_files import RowFile
from efcml.tables import TableEncoder, learn_table
from efcml.tables.encoder import encode_labelled
from efcml.tables.raw_tables import no_rows
from efcml.tables.table_columns import FLAG, LEFT_OUT, NUMBER, TableColumn
from efcml.tables.words import TRUE_OR_FALSE, is_no_number

from .catalog import Dataset, check_initial, initial_rows

if TYPE_CHECKING:
    from efcml.support.aliases import Floats
    from efcml.tables.column_finding import Choices
    from efcml.tables.raw_tables import RawTable
    from efcml.tables.text_blocks import CsvBlocks

MOST_AT_ONCE = 64 * 2**20  # bytes of a table that is read as a whole
FIRST_ROWS = 10_000  # that say what each column is; also the most that an initial part has unasked
FIELDS_AT_ONCE = 200_000  # of the blocks after them


class Block(Protocol):
    """Some rows of a table."""

    def numbers(self, labels: list[int]) -> Floats | None:
        """Return all columns, if there are only numbers; None if that is not sure."""

    @property
    def raw(self) -> RawTable:
        """The same rows as text."""


class LargeTable:
    """How the blocks of a table become features and labels: as the first of them says."""

    def __init__(self, names: list[str], labels: list[int], choices: Choices) -> None:
        self.names, self.labels, self.choices = names, labels, choices
        chosen = set(labels)
        self.features = [column for column in range(len(names)) if column not in chosen]
        self.label_names = [names[column] for column in labels]
        plain = (TableColumn(names[i], NUMBER, NUMBER, (names[i],)) for i in self.features)
        self.table = TableEncoder(tuple(plain))
        self.plain = True  # only numbers, each column as it stands
        self.gaps = False

    def read_first(self, block: Block, n_learned: int) -> tuple[Floats, Floats]:
        """Find out what the columns are; return the features and labels of the first rows."""
        if not self.choices:
            values = block.numbers(self.labels)
            if values is not None or self._only_numbers(block.raw):
                return self.read(block)
        raw, self.plain = block.raw, False
        n_learned = 0 if raw.problems else min(n_learned, len(raw))
        self.table, *found = learn_table(raw, self.label_names, n_learned or len(raw), self.choices)
        self.table = TableEncoder(
            tuple(_for_more(column, raw, self.choices) for column in self.table.columns)
        )
        return found[0], found[1]

    def read(self, block: Block) -> tuple[Floats, Floats]:
        """Return the features and labels of some rows."""
        values = block.numbers(self.labels) if self.plain else None
        if values is not None:
            return values[:, self.features], values[:, self.labels]
        raw = block.raw
        if self.plain:
            raw = replace(raw, columns=[[_as_digit(text) for text in one] for one in raw.columns])
        X, Y = encode_labelled(self.table, raw, self.label_names, raw.problems)
        self.gaps = self.gaps or bool(np.isnan(X).any())
        return X, Y

    @property
    def learned(self) -> TableEncoder | None:
        """What a data set keeps: nothing of a table of numbers without gaps."""
        return None if self.plain and not self.gaps else self.table

    def _only_numbers(self, raw: RawTable) -> bool:
        """Tell whether a table is taken as it stands, as a smaller one would be."""
        for i, column in enumerate(raw.columns):
            values = {to_number(_as_digit(text)) for text in {*column} - {""}}
            allowed = i not in self.labels or values <= {0.0, 1.0}
            if not allowed or None in values or (i not in self.labels and "" in column):
                return False
        return not raw.problems and not raw.odd


def read_csv(
    source: CsvBlocks, table: LargeTable, name: str, n_initial: int | None, description: str
) -> Dataset:
    """Return the data set of a CSV file."""
    enough = FIRST_ROWS * 10 // 3 + 1  # of which the initial part is not larger any more
    n_learned = initial_of(n_initial, source.count_lines(enough))
    if not isinstance(n_learned, (int, np.integer)) or n_learned < 0:  # told before all is read
        check_initial(n_learned, source.count_lines())
    blocks = source.blocks(FIRST_ROWS, later_rows(len(source.names)))
    rows, Y = read_blocks(source.path, table, blocks, n_learned)
    return make_dataset(table, rows, Y, name, n_initial, description)


def read_blocks(
    path: Path, table: LargeTable, blocks: Iterator[Block], n_learned: int
) -> tuple[RowFile, Floats]:
    """Return features and labels of all blocks; of the first rows so many are learned from."""
    first = next(blocks, None)
    if first is None:
        raise no_rows(path)
    X, Y = table.read_first(first, n_learned)
    del first
    rows, known = RowFile(X.shape[1]), [Y]
    rows.append(X)
    for block in blocks:
        X, Y = table.read(block)
        rows.append(X)
        known.append(Y)
    if not rows.shape[0]:
        raise no_rows(path)
    return rows, np.concatenate(known)


def make_dataset(
    table: LargeTable, rows: RowFile, Y: Floats, name: str, n_initial: int | None, description: str
) -> Dataset:
    """Return the data set of a table that has been read."""
    return Dataset(
        name,
        rows.array(),
        Y,
        initial_of(n_initial, len(Y)),
        table.table.feature_names,
        table.label_names,
        description,
        table=table.learned,
    )


def initial_of(n_initial: int | None, n_rows: int) -> int:
    """Return n_initial, or 30 % of the rows if it is not given, but not more than the first."""
    return min(initial_rows(None, n_rows), FIRST_ROWS) if n_initial is None else n_initial


def later_rows(n_columns: int) -> int:
    """Return how many rows the blocks after the first have."""
    return max(1, FIELDS_AT_ONCE // n_columns)


def _as_digit(text: str) -> str:
    """Return true and false as numbers, and any other text as it is."""
    value = TRUE_OR_FALSE.get(text.lower())
    return text if value is None else f"{value:g}"


def _for_more(column: TableColumn, raw: RawTable, choices: Choices) -> TableColumn:
    """Return what a column is for the rows that follow those by which it was found."""
    said = column.said
    if column.name not in choices.drop and (column.kind == LEFT_OUT or " gap" in said):
        said += f", in the first {len(raw)} rows"
    texts = {*raw.column(column.name)}
    if column.kind == FLAG and all(
        to_number(text) is not None or is_no_number(text) for text in texts
    ):
        return replace(column, kind=NUMBER, said=said.replace(FLAG, NUMBER, 1))  # 2 may follow
    return replace(column, said=said)
