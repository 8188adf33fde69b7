"""Rows without labels, for a model that is there already, from files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from efcml.support.file_text import read_text, short
from efcml.support.parquet_files import is_parquet, read_parquet
from efcml.tables.csv_rows import begin_rows
from efcml.tables.raw_tables import raw_frame
from efcml.tables.words import is_no_number

from .arff import read_arff
from .csv_tables import read_row

if TYPE_CHECKING:
    from efcml.support.aliases import Array, PathLike


def read_rows(
    path: PathLike,
    feature_names: Sequence[str] | None = None,
    text_names: Collection[str] = (),
) -> tuple[Array, list[str]]:
    r"""Read the features of some rows; further columns, such as labels, may be there.

    Parameters
    ----------
    path : str or path
        An ``.arff`` or a ``.parquet`` file, or a CSV file with a header row.
    feature_names : sequence of str, optional
        The columns to take, which may be in any order in the file. All columns if not given.
    text_names : collection of str
        Those among them that are kept as they are written, not in an ``.arff`` file.

    Returns
    -------
    X : array of shape (n, p)
        Columns in the order of ``feature_names``; of objects if some are text.
    ignored : list of str
        Columns that were not taken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "songs.csv"
    ...     _ = path.write_text("title,loud,tempo\nHey,0.5,120\n")
    ...     read_rows(path, ["tempo", "loud"])
    (array([[120. ,   0.5]]), ['title'])
    """
    path = Path(path)
    if path.suffix.lower() == ".arff":
        names, values, _ = read_arff(path)
        taken = _find_columns(path, names, feature_names)
        X = np.ascontiguousarray(values[:, taken])
    else:
        names, rows = _read_table(path)
        taken = _find_columns(path, names, feature_names)
        table = [
            _read_mixed(f"{path}, {place}", row, names, taken, text_names) for place, row in rows
        ]
        if not table:
            raise ValueError(f"{path}: no rows after the header: give at least one")
        X = np.array(table)
    used = set(taken)
    ignored = [name for i, name in enumerate(names) if i not in used]
    return X, ignored


def _read_table(path: Path) -> tuple[list[str], Iterable[tuple[str, list[str]]]]:
    """Return the names of the columns, and the rows with where each one stands."""
    if is_parquet(path):
        frame = read_parquet(path)
        flags = frame.select_dtypes(bool).columns  # a model of numbers has learned them as such
        raw = raw_frame(frame.astype(dict.fromkeys(flags, int)), str(path))
        fields = map(list, zip(*raw.columns, strict=True))
        return raw.names, zip(map(raw.place, range(len(raw))), fields, strict=True)
    names, rows = begin_rows(path, read_text(path), least=1)
    return names, ((f"line {line}", row) for line, row in rows)


def _read_mixed(
    where: str,
    row: list[str],
    names: list[str],
    taken: list[int],
    text_names: Collection[str],
) -> Array:
    """Return the numbers of a row, and the text of columns that are kept as text."""
    no_label = [False] * len(names)
    if not text_names:
        return read_row(where, [no_gap_word(field) for field in row], names, no_label, taken)
    texts = {place: i for place, i in enumerate(taken) if names[i] in text_names}
    numbers = [no_gap_word(field) for field in row]
    for i in texts.values():
        numbers[i : i + 1] = ["0"] * (i < len(row))  # a row that is too short is refused below
    values = read_row(where, numbers, names, no_label, taken).astype(object)
    for place, i in texts.items():
        values[place] = row[i]
    return values


def no_gap_word(field: str) -> str:
    """Return a field among numbers; empty where it says that nothing is known."""
    return "" if is_no_number(field) else field


def _find_columns(
    path: PathLike, names: Sequence[str], feature_names: Sequence[str] | None
) -> list[int]:
    """Return the positions of the columns to take."""
    if feature_names is None:
        return list(range(len(names)))
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in feature_names if name not in places]
    if missing:
        raise ValueError(
            f"{path} has no column {short(', '.join(missing), 200)}, which the model needs; its"
            f" columns are {short(', '.join(names), 200)}"
        )
    return [places[name] for name in feature_names]
