"""Parquet files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from efcml.support.extras import extra_for
from efcml.support.file_text import open_file

BUFFER = 2**16  # bytes of a column that are read ahead
INDEX = "__index_level_"  # how pandas names the numbers of rows that it has written


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Any, list[str]]]:
    """Open a file; give it and the names of its columns, or say why it cannot be read."""
    with extra_for("a Parquet file"):
        import pandas  # noqa: F401  pyarrow makes data frames with it
        from pyarrow import ArrowException, parquet

    with open_file(path) as content:
        try:
            # Otherwise what has been read stays in memory until the last row.
            file = parquet.ParquetFile(content, pre_buffer=False, buffer_size=BUFFER)
            names = [one for one in file.schema_arrow.names if not one.startswith(INDEX)]
            if not file.metadata.num_rows:
                raise ValueError(f"{path} has no rows: give at least one")
            yield file, names
        except ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} cannot be read as Parquet ({reason}): get it again") from None


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is one."""
    return path.suffix.lower() == ".parquet"


def read_parquet(path: Path) -> Any:
    """Return all rows as a data frame."""
    with open_parquet(path) as (file, names):
        return file.read(columns=names).to_pandas(ignore_metadata=True)


def to_frame(batches: list[Any]) -> Any:
    """Return rows that were read in batches as one data frame."""
    from pyarrow import Table

    return Table.from_batches(batches).to_pandas(ignore_metadata=True)
