"""Data sets from a table with one column per feature and label: a CSV file or a data frame."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from efcml.support.file_text import read_text, short, to_number
from efcml.tables import learn_table
from efcml.tables.column_finding import Choices
from efcml.tables.csv_rows import begin_rows, check_names, find_labels, listed_columns
from efcml.tables.raw_tables import is_frame, raw_csv, raw_frame, wrong_length
from efcml.tables.text_blocks import CsvBlocks
from efcml.tables.words import TRUE_OR_FALSE

from . import large_tables
from .catalog import Dataset, check_initial, initial_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats, PathLike
    from efcml.tables.raw_tables import RawTable

Columns: TypeAlias = Sequence[str] | str


def from_csv(
    path: PathLike,
    label_columns: Sequence[str] | str | int,
    *,
    delimiter: str | None = None,
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
    drop: Columns = (),
    text_as_category: Columns = (),
    date: Columns | Mapping[str, str] = (),
) -> Dataset:
    r"""Read a CSV file with a header row.

    Fields may be quoted. An empty field is an unknown label. A file of numbers is taken as it is.
    In any other, dates, words, and yes and no become features, and columns that say nothing are
    left out; ``ds.table`` has what became of each column (docs/your_own_table.md).
    A file of more than 64 MB is read in blocks: its first 10 000 rows say what each column is, and
    X is an array in a temporary file.

    Parameters
    ----------
    path : str or path
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features.
    delimiter : str, optional
        One character. If not given, it is found in the header row: a comma, or where there is none
        a semicolon, a tab or a bar.
    name : str, optional
        The file name without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given, 10 000 at most where the file is
        read in blocks.
    description : str
    drop, text_as_category, date : list of str, or names separated by commas
        Features to leave out, to take as words, or to take as dates. Instead of ``"day"``,
        ``"day=%m/%d/%Y"`` or ``{"day": "%m/%d/%Y"}`` gives the format of a date.

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
    name = path.stem if name is None else name
    if path.is_file() and path.stat().st_size > large_tables.MOST_AT_ONCE:

        def read(encoding: str) -> Dataset:
            with CsvBlocks(path, delimiter, encoding) as source:
                labels = find_labels(source.names, label_columns, path)
                choices = read_choices(source.names, drop, text_as_category, date)
                table = large_tables.LargeTable(source.names, labels, choices)
                return large_tables.read_csv(source, table, name, n_initial, description)

        try:
            return read("utf-8-sig")
        except UnicodeDecodeError:
            return read("latin-1")
    text = read_text(path)  # once: it may grow meanwhile
    names, rows = begin_rows(path, text, delimiter)
    labels = find_labels(names, label_columns, path)
    choices = read_choices(names, drop, text_as_category, date)
    chosen = set(labels)
    is_label = [column in chosen for column in range(len(names))]
    if not choices:
        try:
            table = [read_row(f"{path}, line {line}", row, names, is_label) for line, row in rows]
        except ValueError:  # not only numbers
            table = []
        values = np.array(table)
        if table and not np.isnan(values[:, ~np.array(is_label)]).any():
            return _split(values, names, labels, name, n_initial, description)
    raw = raw_csv(path, text, delimiter)
    return _learn(raw, labels, choices, name, n_initial, description)


def from_frame(
    frame: DataFrame,
    label_columns: Sequence[str] | str | int,
    *,
    name: str = "data",
    n_initial: int | None = None,
    description: str = "",
    drop: Columns = (),
    text_as_category: Columns = (),
    date: Columns | Mapping[str, str] = (),
) -> Dataset:
    """Make a data set of a pandas DataFrame that holds features and labels.

    Columns of numbers and booleans are taken, also as objects or nullable types. A missing value is
    an unknown label. All else becomes features as in `from_csv`.

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
    drop, text_as_category, date : list of str, or names separated by commas
        As in `from_csv`.

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
    if not is_frame(frame):
        raise ValueError(
            f"from_frame takes a pandas DataFrame, not {type(frame).__name__}: use from_arrays for"
            " other tables"
        )
    said = drop, text_as_category, date
    return read_frame(frame, "the frame", label_columns, said, name, n_initial, description)


def read_frame(
    frame: DataFrame,
    where: str,
    label_columns: Sequence[str] | str | int,
    said: tuple[Columns, Columns, Columns | Mapping[str, str]],
    name: str,
    n_initial: int | None,
    description: str,
) -> Dataset:
    """Return the data set of a data frame that comes from somewhere."""
    names = [str(column) for column in frame.columns]
    check_names(names, where)
    labels = find_labels(names, label_columns, where)
    choices = read_choices(names, *said)
    others = {*choices.said, *(names[i] for i in labels)}
    coded = [name for name in coded_categories(frame) if name not in others]
    choices = replace(choices, text_as_category=(*choices.text_as_category, *coded))
    values = None if choices else frame_numbers(frame, labels)
    if values is not None:
        return _split(values, names, labels, name, n_initial, description)
    return _learn(raw_frame(frame, where), labels, choices, name, n_initial, description)


def _learn(
    raw: RawTable,
    labels: list[int],
    choices: Choices,
    name: str,
    n_initial: int | None,
    description: str,
) -> Dataset:
    """Return the data set of a table that holds more than numbers."""
    n_initial = initial_rows(n_initial, len(raw))
    if not raw.problems:  # else rows are missing, which is told
        check_initial(n_initial, len(raw))
    label_names = [raw.names[column] for column in labels]
    # Without an initial part the first rows are looked at as if there were one.
    n_learned = 0 if raw.problems else n_initial
    n_learned = n_learned or initial_rows(None, len(raw)) or len(raw)
    table, X, Y = learn_table(raw, label_names, n_learned, choices)
    return Dataset(
        name, X, Y, n_initial, table.feature_names, label_names, description, table=table
    )


def read_choices(
    names: list[str], drop: Columns, as_category: Columns, date: Columns | Mapping[str, str]
) -> Choices:
    """Return what a person says of the columns."""
    if not isinstance(date, Mapping):
        pairs = [
            (one, "") if one in names else one.partition("=")[::2]
            for one in listed_columns(names, date or ())
        ]
        date = dict(pairs)
    return Choices(
        listed_columns(names, drop or ()), listed_columns(names, as_category or ()), date
    )


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


def read_row(
    where: str,
    row: list[str],
    names: list[str],
    is_label: Sequence[bool],
    taken: Sequence[int] | None = None,
) -> Floats:
    """Return the numbers of a row, or of the columns taken of it, NaN where a field is empty."""
    if len(row) != len(names):
        raise ValueError(f"{where}: {wrong_length(row, names)}")
    taken = range(len(row)) if taken is None else taken
    values = np.empty(len(taken))
    for place, i in enumerate(taken):
        field = row[i]
        value = to_number(field)
        if value is None:
            value = _read_word(where, field, names[i])
        if is_label[i] and value not in (0, 1) and field:
            raise ValueError(
                f"{where}: label {short(names[i])} is {short(field)}: labels are 0 or"
                " 1, empty where unknown"
            )
        values[place] = value
    return values


def _read_word(where: str, field: str, name: str) -> float:
    """Return the value of a field that is no number."""
    if not field:
        return math.nan
    value = TRUE_OR_FALSE.get(field.lower())
    if value is None:
        raise ValueError(
            f"{where}: {short(field)} in column {short(name)} is no number: replace it"
            " by a number or drop the column"
        )
    return value


def coded_categories(frame: Any) -> list[str]:
    """Return the columns that are categories of numbers: codes, not amounts."""
    types = sys.modules["pandas"].api.types
    return [
        str(name)
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
        if hasattr(kind, "categories") and types.is_any_real_numeric_dtype(kind.categories)
    ]


def frame_numbers(frame: Any, labels: Sequence[int]) -> Floats | None:
    """Return the rows of a data frame if they hold only numbers, else None."""
    try:
        columns = [_as_numbers(frame.iloc[:, i], i in labels) for i in range(frame.shape[1])]
    except (TypeError, ValueError):  # TypeError: a complex number among others, to pandas 2
        return None
    return np.column_stack(columns) if len(frame) else None


def _as_numbers(column: Any, is_label: bool) -> Floats:
    """Return a column as floats, NaN where a label is missing, or refuse it."""
    types = sys.modules["pandas"].api.types
    if not types.is_numeric_dtype(column):
        column = column.astype(object).convert_dtypes()
    if is_label and column.isna().all():
        return np.full(len(column), math.nan)
    if not types.is_numeric_dtype(column) or types.is_complex_dtype(column):
        raise ValueError(f"a column of type {column.dtype} holds other things than numbers")
    values = column.to_numpy(dtype=np.float64, na_value=math.nan)
    good = (values == 0) | (values == 1) | np.isnan(values) if is_label else np.isfinite(values)
    if not good.all():
        raise ValueError("a value is neither a label nor a finite number")
    return values
