"""Rows of numbers that are kept in a file instead of in memory."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, Ints

NUMBERS_AT_ONCE = 2**20  # of a table that is gone through part by part


class RowFile:
    """A table of float64 in a temporary file, written row after row.

    The file has no name: it is gone with the last array of it, also if the process is killed.
    """

    def __init__(self, n_columns: int) -> None:
        self.shape = (0, n_columns)
        self.file: Any = tempfile.TemporaryFile()
        weakref.finalize(self, self.file.close)  # also of one that was given up

    def append(self, rows: Floats) -> None:
        """Write rows after the others."""
        try:
            self.file.write(np.ascontiguousarray(rows, dtype=np.float64).data)
        except OSError as error:
            raise ValueError(
                f"no room for the rows in {tempfile.gettempdir()} ({error.strerror}): name a larger"
                " folder with TMPDIR"
            ) from None
        self.shape = (self.shape[0] + len(rows), self.shape[1])

    def array(self) -> Floats:
        """Return all rows, to which none is added any more, as an array that lies in the file."""
        with self.file:
            self.file.flush()
            # Not read-only: kernels would be compiled once more for such an array.
            return np.memmap(self.file, dtype=np.float64, mode="r+", shape=self.shape)


def is_in_file(X: Any) -> bool:
    """Tell whether an array, or the one that it is a part of, is that of a file.

    Examples
    --------
    >>> rows = RowFile(2)
    >>> rows.append(np.ones((3, 2)))
    >>> is_in_file(np.asarray(rows.array())[1:]), is_in_file(np.ones((3, 2)))
    (True, False)
    """
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap)


def parts_of(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of the rows of a table, each of about a million numbers."""
    step = max(1, NUMBERS_AT_ONCE // max(1, n_columns))
    for begin in range(0, n_rows, step):
        yield slice(begin, begin + step)


def take_from_file(X: Floats, rows: Ints) -> Floats:
    """Return ``X[rows]``, in a file if X is in one."""
    if not is_in_file(X):
        return X[rows]
    taken = RowFile(X.shape[1])
    for part in parts_of(len(rows), X.shape[1]):
        taken.append(X[rows[part]])
    return taken.array()
