"""A CSV file that is read block by block, as it was when it was opened."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from efcml.support.file_text import open_file
from efcml.tables.csv_rows import find_delimiter, numbered_rows, read_header
from efcml.tables.raw_tables import RawTable, raw_rows

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


class FirstBytes(io.RawIOBase):
    """The first bytes of a file, to which others may be added meanwhile."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.left = file, size

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some of what is left."""
        count = self.file.readinto(memoryview(buffer)[: self.left])  # type: ignore[attr-defined]
        self.left -= count
        return count


def noted(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    """Yield lines, and note those that were taken."""
    for line in lines:
        seen.append(line)
        yield line


class CsvBlocks:
    """The header of a CSV file, and its rows in blocks, while it is entered."""

    def __init__(self, path: Path, delimiter: str | None, encoding: str) -> None:
        self.path, self.given, self.encoding = path, delimiter, encoding
        self.line = 0  # how many have been read
        self.within = ExitStack()

    def __enter__(self) -> Self:
        with self.within:
            file = self.within.enter_context(open_file(self.path))
            first = FirstBytes(file, os.fstat(file.fileno()).st_size)
            # Any line ending is a line feed, as in `read_text`.
            self.lines = io.TextIOWrapper(io.BufferedReader(first, 2**16), encoding=self.encoding)
            seen: list[str] = []  # to find the delimiter
            given = self.given
            self.delimiter = find_delimiter(noted(self.lines, seen)) if given is None else given
            lines = chain(seen, self.lines)
            row = [*islice(numbered_rows(self.path, lines, self.delimiter), 1)]
            self.names = read_header(self.path, iter(row), self.delimiter)
            self.line = row[0][0]
            self.within = self.within.pop_all()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.within.__exit__(*exc_info)

    def count_lines(self, most: int | None = None) -> int:
        """Return the number of lines after the header, or as many as are enough to know."""
        with open_file(self.path) as file:
            return sum(1 for _ in islice(islice(file, self.line, None), most))

    def blocks(self, first: int, later: int) -> Iterator[CsvBlock]:
        """Yield blocks of so many lines; each must be read before the next."""
        size = first
        while lines := [*islice(self.lines, size)]:
            yield CsvBlock(self, lines)
            size = later


class CsvBlock:
    """Some lines of a file, of which the last row may need the next ones, too."""

    def __init__(self, source: CsvBlocks, lines: list[str]) -> None:
        self.source, self.lines, self.before = source, lines, source.line
        source.line += len(lines)

    def numbers(self, labels: list[int]) -> Floats | None:
        """Return all columns if they hold finite numbers and known labels and nothing else.

        It takes a tenth of the time of `raw`, and less than it: None says only that this has to be
        looked at field by field. Of numbers both read the same bits.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of blank lines
            try:
                values = np.loadtxt(
                    self.lines, delimiter=self.source.delimiter, comments=None, ndmin=2
                )
            except (ValueError, TypeError):
                return None
        if values.shape[1] != len(self.source.names) or not np.isfinite(values).all():
            return None
        known = values[:, labels]
        return values if ((known == 0.0) | (known == 1.0)).all() else None

    @cached_property
    def raw(self) -> RawTable:
        """The fields as text, with their lines."""
        return raw_rows(self.source.path, self.source.names, self._rows())

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        source, end = self.source, self.before + len(self.lines)
        lines = chain(self.lines, source.lines)
        for line, row in numbered_rows(source.path, lines, source.delimiter, self.before):
            source.line = max(line, end)
            yield line, row
            if line >= end:
                return
