"""A table as text, column by column, whether it comes from a CSV file or a data frame."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.support.file_text import read_text, short
from efcml.support.masks import is_missing
from efcml.support.parquet_files import is_parquet, read_parquet
from efcml.tables.csv_rows import begin_rows, check_names
from efcml.tables.problems import Problem

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats, PathLike

WHOLE = 2**53  # floats below that are whole numbers exactly


@dataclass(frozen=True, eq=False)
class RawTable:
    """Fields as text, empty where nothing is, and what was wrong with the rows."""

    where: str  # the file, or "the frame"
    names: list[str]
    columns: list[list[str]]
    places: Sequence[int]  # of the rows
    unit: str = "line"
    problems: list[Problem] = field(default_factory=list)
    odd: dict[str, Problem] = field(default_factory=dict)  # columns that are no text

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each column, by name."""
        return {name: place for place, name in enumerate(self.names)}

    def column(self, name: str) -> list[str]:
        """Return the fields of a column."""
        return self.columns[self.index[name]]

    def place(self, row: int) -> str:
        """Return where a row stands."""
        return f"{self.unit} {self.places[row]}"

    def places_of(self, column: Sequence[str], texts: Iterable[str], most: int = 3) -> str:
        """Return where some texts stand in a column, such as "lines 2, 3, 9, ..."."""
        wanted = set(texts)
        found = [self.places[row] for row, text in enumerate(column) if text in wanted]
        told = ", ".join(map(str, found[:most])) + ", ..." * (len(found) > most)
        return f"{self.unit}{'s' * (len(found) > 1)} {told}"


def is_frame(table: object) -> bool:
    """Tell whether something is a data frame of pandas; without pandas there is none."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.DataFrame)


def frame_like(frame: Any, X: Floats, names: Sequence[str]) -> Any:
    """Return rows as a data frame with the index of another."""
    return sys.modules["pandas"].DataFrame(X, index=frame.index, columns=list(names))


def read_raw(table: PathLike | DataFrame, delimiter: str | None = None) -> RawTable:
    """Return the text of a CSV or a Parquet file, or of a data frame."""
    if is_frame(table):
        return raw_frame(table)
    path = Path(table)
    if is_parquet(path):
        return raw_frame(read_parquet(path), str(path))
    return raw_csv(path, read_text(path), delimiter, least=1)


def raw_csv(path: Path, text: str, delimiter: str | None, least: int = 2) -> RawTable:
    """Return the rows of a file that has been read; rows that are cut are left out and noted."""
    names, rows = begin_rows(path, text, delimiter, least)
    raw = raw_rows(path, names, rows)
    if not (raw.places or raw.problems):
        raise no_rows(path)
    return raw


def no_rows(path: Path) -> ValueError:
    """Return the error of a file that ends after its header."""
    return ValueError(f"{path}: no rows after the header: the file is cut, get it again")


def raw_rows(path: Path, names: list[str], rows: Iterable[tuple[int, list[str]]]) -> RawTable:
    """Return numbered rows as a table; rows that are cut are left out and noted."""
    columns: list[list[str]] = [[] for _ in names]
    places, problems = [], []
    for line, row in rows:
        if len(row) != len(names):
            problems.append(Problem(f"line {line}", wrong_length(row, names)))
            continue
        places.append(line)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return RawTable(str(path), names, columns, places, problems=problems)


def wrong_length(row: Sequence[str], names: Sequence[str]) -> str:
    """Return what is wrong with a row that has more or fewer fields than there are columns."""
    return (
        f"{len(row)} fields for {len(names)} columns: the row is cut or has a delimiter too many,"
        " correct it"
    )


def raw_frame(frame: Any, where: str = "the frame", first: int = 0) -> RawTable:
    """Return a data frame as the file would be that it comes from; say where its rows stand."""
    names = [str(column) for column in frame.columns]
    check_names(names, where)
    if not len(frame):
        raise ValueError(f"{where} has no rows: give at least one")
    columns, odd = [], {}
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        cells = column.astype(object).tolist()
        texts = [cell_text(cell) for cell in cells]
        if None in texts:
            said = (
                f"column {short(name)} of type {column.dtype} holds other things than numbers,"
                " words and dates: encode it or drop it"
            )
            odd[name] = Problem(f"row {first + texts.index(None)}", said)
        columns.append([text or "" for text in texts])
    places = range(first, first + len(frame))
    return RawTable(where, names, columns, places, "row", odd=odd)


def cell_text(cell: Any) -> str | None:
    """Return a cell as it would be written; None if it cannot be.

    Numbers come back with the same bits. A whole number has no decimals, as gaps make floats of
    whole numbers.
    """
    if isinstance(cell, str):
        return cell.strip()
    if is_missing(cell):
        return ""
    if isinstance(cell, bool) or type(cell).__name__ in ("bool", "bool_"):
        return "true" if cell else "false"
    if isinstance(cell, Integral):
        return str(int(cell))
    if isinstance(cell, Real) and not hasattr(cell, "total_seconds"):
        value = float(cell)
        return str(int(value)) if value.is_integer() and abs(value) < WHOLE else repr(value)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else None
