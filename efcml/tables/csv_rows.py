"""CSV files as rows of text, each with the line where it stands."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from pathlib import Path

from efcml.support.file_text import short, to_number

DELIMITERS = (",", ";", "\t", "|")  # the first of equals counts


def find_delimiter(lines: Iterable[str]) -> str:
    r"""Return what separates the columns of a header row, which is the first that is not blank.

    A comma, unless there is none and one of the others separates something.

    Examples
    --------
    >>> [find_delimiter([header]) for header in ("a,b;c", "a;b", "a\tb c", "a", "")]
    [',', ';', '\t', ',', ',']
    """
    header = next((line for line in lines if line.strip()), "")
    try:
        counts = [len(next(csv.reader([header], delimiter=one), ())) for one in DELIMITERS]
    except csv.Error:  # told when it is read
        return ","
    return "," if counts[0] > 1 else DELIMITERS[counts.index(max(counts))]


def numbered_rows(
    path: Path, text: str | Iterable[str], delimiter: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the stripped fields of every row that is not blank.

    They are those of the text of a file, or of lines that follow ``before`` others.
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"delimiter is {delimiter!r}: give one character, such as ';' or '\\t'")
    reader = csv.reader(
        io.StringIO(text, newline="") if isinstance(text, str) else text,
        delimiter=delimiter,
        skipinitialspace=delimiter != " ",
        strict=True,
    )
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if fields not in ([], [""]):
                yield before + reader.line_num, fields
    except csv.Error as error:
        line = before + reader.line_num
        raise ValueError(
            f"{path}, line {line}: no well-formed CSV ({error}): correct the quotes"
        ) from None


def begin_rows(
    path: Path, text: str, delimiter: str | None = None, least: int = 2
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns of a file that has been read, and its rows with their lines.

    The delimiter is found if none is given; there must be at least ``least`` columns.
    """
    delimiter = find_delimiter(io.StringIO(text)) if delimiter is None else delimiter
    rows = numbered_rows(path, text, delimiter)
    return read_header(path, rows, delimiter, least), rows


def read_header(
    path: Path, rows: Iterator[tuple[int, list[str]]], delimiter: str, least: int = 2
) -> list[str]:
    """Take the first row and return its names, of which there must be at least ``least``."""
    line, names = next(rows, (1, []))
    if not names:
        raise ValueError(f"{path}: the file is empty: give one with a header row")
    if len(names) < least:
        raise ValueError(
            f"{path}, line {line}: only one column: no {delimiter!r} in it; separate columns by"
            " commas, semicolons or tabs"
        )
    if all(to_number(name) is not None for name in names):
        raise ValueError(
            f"{path}, line {line}: numbers instead of names: put a header row before the data"
        )
    check_names(names, f"{path}, line {line}")
    return names


def check_names(names: list[str], where: object) -> None:
    """Refuse columns without a name, or with one of another."""
    if "" in names:
        raise ValueError(f"{where}: column {names.index('') + 1} has no name: give it one")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"{where}: two columns are called {short(twice)}: rename one")


def find_labels(
    names: Sequence[str], label_columns: Sequence[str] | str | int, where: object
) -> list[int]:
    """Return the positions of the label columns, in the order they were asked for."""
    if isinstance(label_columns, (int, Integral)):
        last = int(label_columns)
        if not 0 < last < len(names):
            raise ValueError(
                f"{where} has {len(names)} columns, of which the last {last} cannot be"
                f" labels: choose a number from 1 to {len(names) - 1}"
            )
        return list(range(len(names) - last, len(names)))
    wanted = listed_columns(names, label_columns)
    places = {name: place for place, name in enumerate(names)}
    missing = [column for column in wanted if column not in places]
    if missing:
        raise ValueError(
            f"{where} has no column {', '.join(map(repr, missing))}: choose the labels among"
            f" {short(', '.join(names), 200)}"
        )
    if not wanted:
        raise ValueError(f"{where}: no label column is named: name at least one")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"{where}: a label column is named twice: name each one once")
    if len(wanted) == len(names):
        raise ValueError(f"{where}: every column is a label: no features are left")
    return [places[column] for column in wanted]


def listed_columns(names: Sequence[str], columns: Sequence[str] | str) -> tuple[str, ...]:
    """Return names that are given as a list, or separated by commas."""
    if not isinstance(columns, str):
        return tuple(str(column) for column in columns)
    whole = columns.strip()
    return (whole,) if whole in names else tuple(part.strip() for part in whole.split(","))
