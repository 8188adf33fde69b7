"""Data sets from Parquet files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.support.parquet_files import open_parquet, to_frame
from efcml.tables.csv_rows import check_names, find_labels
from efcml.tables.raw_tables import RawTable, raw_frame

from . import large_tables
from .catalog import Dataset, check_initial
from .csv_tables import Columns, frame_numbers, read_choices, read_frame

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, PathLike


def from_parquet(
    path: PathLike,
    label_columns: Sequence[str] | str | int,
    *,
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
    drop: Columns = (),
    text_as_category: Columns = (),
    date: Columns | Mapping[str, str] = (),
) -> Dataset:
    """Read a Parquet file.

    It is taken as the data frame in it would be by `from_frame`, or in blocks as by `from_csv` if
    it holds more than 64 MB of numbers. pyarrow and pandas must be installed.

    Parameters
    ----------
    path : str or path
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features.
    name : str, optional
        The file name without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given, 10 000 at most where the file is
        read in blocks.
    description : str
    drop, text_as_category, date : list of str, or names separated by commas
        As in `from_csv`.

    Returns
    -------
    Dataset
        With the names of the columns.
    """
    path = Path(path)
    name = path.stem if name is None else name
    with open_parquet(path) as (file, names):
        n_rows = file.metadata.num_rows
        if 8 * n_rows * len(names) <= large_tables.MOST_AT_ONCE:
            frame = file.read(columns=names).to_pandas(ignore_metadata=True)
            said = drop, text_as_category, date
            return read_frame(frame, str(path), label_columns, said, name, n_initial, description)
        check_names(names, path)
        labels = find_labels(names, label_columns, path)
        choices = read_choices(names, drop, text_as_category, date)
        n_learned = large_tables.initial_of(n_initial, n_rows)
        check_initial(n_learned, n_rows)
        table = large_tables.LargeTable(names, labels, choices)
        rows, Y = large_tables.read_blocks(path, table, read_batches(path, file, names), n_learned)
    return large_tables.make_dataset(table, rows, Y, name, n_initial, description)


class FrameBlock:
    """Some rows of a file, as a data frame."""

    def __init__(self, path: Path, frame: Any, first: int) -> None:
        self.path, self.frame, self.first = path, frame, first

    def numbers(self, labels: list[int]) -> Floats | None:
        """Return all columns if they hold finite numbers, and labels that may be unknown."""
        return frame_numbers(self.frame, labels)

    @cached_property
    def raw(self) -> RawTable:
        """The same rows as text."""
        return raw_frame(self.frame, str(self.path), self.first)


def read_batches(path: Path, file: Any, names: list[str]) -> Iterator[FrameBlock]:
    """Yield blocks of rows, the first one as large as that of a CSV file at least."""
    size = large_tables.later_rows(len(names))
    # One thread: each further one would hold memory of its own.
    batches = file.iter_batches(batch_size=size, columns=names, use_threads=False)
    begun: list[Any] = []
    while sum(map(len, begun)) < large_tables.FIRST_ROWS and (batch := next(batches, None)):
        begun.append(batch)
    done = 0
    for part in chain([begun], ([batch] for batch in batches)):
        frame = to_frame(part)
        yield FrameBlock(path, frame, done)
        done += len(frame)
