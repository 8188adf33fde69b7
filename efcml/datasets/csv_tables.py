"""Data sets from a table with one column per feature and label: a CSV file or a data frame."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arff import read_text, short, to_number
from .catalog import Dataset, initial_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats, PathLike

_WORDS = {"true": 1.0, "false": 0.0}


def from_csv(
    path: PathLike,
    label_columns: Sequence[str] | str | int,
    *,
    delimiter: str = ",",
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
) -> Dataset:
    r"""Read a CSV file of numbers with a header row.

    Fields may be quoted. True and false count as 1 and 0. An empty field is an unknown label, but
    is refused in a feature.

    Parameters
    ----------
    path : str or path
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features.
    delimiter : str
        One character.
    name : str, optional
        The file name without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given.
    description : str

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "songs.csv"
    ...     _ = path.write_text("tempo,loud,happy,calm\n120,0.5,1,0\n80,0.25,,1\n")
    ...     songs = from_csv(path, ["happy", "calm"], n_initial=1)
    >>> songs
    Dataset('songs': 2 rows (1 initial + 1 stream), 2 features, 2 labels)
    >>> songs.Y
    array([[ 1.,  0.],
           [nan,  1.]])
    """
    path = Path(path)
    rows = numbered_rows(path, delimiter)
    names = read_header(path, rows, delimiter)
    labels = _find_labels(names, label_columns, path)
    chosen = set(labels)
    is_label = [column in chosen for column in range(len(names))]
    table = [read_row(path, line, row, names, is_label) for line, row in rows]
    if not table:
        raise ValueError(f"{path}: no rows after the header: the file is cut, get it again")
    name = path.stem if name is None else name
    return _split(np.array(table), names, labels, name, n_initial, description)


def from_frame(
    frame: DataFrame,
    label_columns: Sequence[str] | str | int,
    *,
    name: str = "data",
    n_initial: int | None = None,
    description: str = "",
) -> Dataset:
    """Make a data set of a pandas DataFrame that holds features and labels.

    Columns of numbers and booleans are taken, also as objects or nullable types. A missing value is
    an unknown label, but is refused in a feature.

    Parameters
    ----------
    frame : pandas.DataFrame
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features.
    name : str
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given.
    description : str

    Returns
    -------
    Dataset
        With the names of the columns.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"tempo": [120, 80], "happy": [True, False]})
    >>> songs = from_frame(frame, "happy", n_initial=1)
    >>> songs.feature_names, songs.label_names
    (('tempo',), ('happy',))
    """
    pandas = sys.modules.get("pandas")  # without it there is no DataFrame either
    if pandas is None or not isinstance(frame, pandas.DataFrame):
        raise ValueError(
            f"from_frame takes a pandas DataFrame, not {type(frame).__name__}: use from_arrays for"
            " other tables"
        )
    names = [str(column) for column in frame.columns]
    _check_names(names, "the frame")
    labels = _find_labels(names, label_columns, "the frame")
    if not len(frame):
        raise ValueError("the frame has no rows: give at least one")
    columns = [_as_numbers(pandas, frame.iloc[:, i], column) for i, column in enumerate(names)]
    for i, column in enumerate(names):
        _check_column(columns[i], column, i in labels)
    return _split(np.column_stack(columns), names, labels, name, n_initial, description)


def _split(
    values: Floats,
    names: list[str],
    labels: list[int],
    name: str,
    n_initial: int | None,
    description: str,
) -> Dataset:
    chosen = set(labels)
    features = [column for column in range(len(names)) if column not in chosen]
    return Dataset(
        name,
        values[:, features],
        values[:, labels],
        initial_rows(n_initial, len(values)),
        [names[column] for column in features],
        [names[column] for column in labels],
        description,
    )


def _check_names(names: list[str], where: object) -> None:
    if "" in names:
        raise ValueError(f"{where}: column {names.index('') + 1} has no name: give it one")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"{where}: two columns are called {short(twice)}: rename one")


def _find_labels(
    names: list[str], label_columns: Sequence[str] | str | int, where: object
) -> list[int]:
    """Return the positions of the label columns, in the order they were asked for."""
    if isinstance(label_columns, (int, np.integer)):
        if not 0 < label_columns < len(names):
            raise ValueError(
                f"{where} has {len(names)} columns, of which the last {label_columns} cannot be"
                f" labels: choose a number from 1 to {len(names) - 1}"
            )
        return list(range(len(names) - int(label_columns), len(names)))
    if isinstance(label_columns, str):
        whole = label_columns.strip()
        wanted = [whole] if whole in names else [part.strip() for part in whole.split(",")]
    else:
        wanted = [str(column) for column in label_columns]
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


def numbered_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the stripped fields of every row that is not blank."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"delimiter is {delimiter!r}: give one character, such as ';' or '\\t'")
    reader = csv.reader(
        io.StringIO(read_text(path), newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != " ",
        strict=True,
    )
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if fields not in ([], [""]):
                yield reader.line_num, fields
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num}: no well-formed CSV ({error}): correct the quotes"
        ) from None


def read_header(
    path: Path, rows: Iterator[tuple[int, list[str]]], delimiter: str, least: int = 2
) -> list[str]:
    """Take the first row and return its names, of which there must be at least ``least``."""
    line, names = next(rows, (1, []))
    if not names:
        raise ValueError(f"{path}: the file is empty: give one with a header row")
    if len(names) < least:
        raise ValueError(
            f"{path}, line {line}: only one column: choose another delimiter than {delimiter!r}"
        )
    if all(to_number(name) is not None for name in names):
        raise ValueError(
            f"{path}, line {line}: numbers instead of names: put a header row before the data"
        )
    _check_names(names, f"{path}, line {line}")
    return names


def read_row(
    path: Path,
    line: int,
    row: list[str],
    names: list[str],
    is_label: Sequence[bool],
    taken: Sequence[int] | None = None,
) -> Floats:
    """Return the numbers of a row, or of the columns taken of it."""
    if len(row) != len(names):
        raise ValueError(
            f"{path}, line {line}: {len(row)} fields for {len(names)} columns: the row is cut or"
            " has a delimiter too many, correct it"
        )
    taken = range(len(row)) if taken is None else taken
    values = np.empty(len(taken))
    for place, i in enumerate(taken):
        field = row[i]
        value = to_number(field)
        if value is None:
            value = _read_word(path, line, field, names[i], is_label[i])
        if is_label[i] and value not in (0, 1) and field:
            raise ValueError(
                f"{path}, line {line}: label {short(names[i])} is {short(field)}: labels are 0 or"
                " 1, empty where unknown"
            )
        values[place] = value
    return values


def _read_word(path: Path, line: int, field: str, name: str, is_label: bool) -> float:
    """Return the value of a field that is no number."""
    if not field and is_label:
        return math.nan
    if not field:
        raise ValueError(
            f"{path}, line {line}: feature {short(name)} is empty: fill it or drop the row"
        )
    value = _WORDS.get(field.lower())
    if value is None:
        raise ValueError(
            f"{path}, line {line}: {short(field)} in column {short(name)} is no number: replace it"
            " by a number or drop the column"
        )
    return value


def _as_numbers(pandas: Any, column: Any, name: str) -> Floats:
    """Return a column as floats, NaN where a value is missing."""
    if not pandas.api.types.is_numeric_dtype(column):
        column = column.astype(object).convert_dtypes()
    if column.isna().all():
        return np.full(len(column), math.nan)
    types = pandas.api.types
    if not types.is_numeric_dtype(column) or types.is_complex_dtype(column):
        raise ValueError(
            f"column {short(name)} of type {column.dtype} holds other things than numbers: encode"
            " it, for example with pandas.get_dummies, or drop it"
        )
    return column.to_numpy(dtype=np.float64, na_value=math.nan)


def _check_column(values: Floats, name: str, is_label: bool) -> None:
    if is_label:
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        advice = "labels are 0 or 1, missing where unknown"
    else:
        wrong = ~np.isfinite(values)
        advice = "fill it or drop the row"
    if wrong.any():
        row = int(np.argmax(wrong))
        kind = "label" if is_label else "feature"
        raise ValueError(f"{kind} {short(name)} is {values[row]:g} in row {row}: {advice}")
