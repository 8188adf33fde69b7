"""The file that a search can be taken up from: one line per finished task, after a header.

The header says what was searched, on which data and with which version. A file that says anything
else is refused and stays as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from efcml import __version__
from efcml.support.folders import read_lines
from efcml.support.states import fingerprint

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.support.aliases import Facts, Floats, PathLike
    from efcml.tuning.grid import Grid
    from efcml.tuning.task import Task

FORMAT = 1
LISTS = ("right", "ap", "rules", "diverged")  # one entry per pair
NUMBERS = ("known", "ranked")


def describe(
    X: Floats | Sequence[Floats], Y: Floats, params: Params, grid: Grid, folds: int
) -> Facts:
    """Return what identifies a search, as JSON gives it back."""
    tables = X if isinstance(X, list) else [X]
    header = {
        "format": FORMAT,
        "version": __version__,
        "data": fingerprint(*tables, Y),
        "parameters": asdict(params),
        "grid": asdict(grid),
        "folds": folds,
    }
    return json.loads(to_json(header))


def to_json(value: Any, **options: Any) -> str:
    """Return JSON; numbers of numpy become plain ones."""
    return json.dumps(value, default=lambda number: number.item(), **options)


class SearchRecord:
    """Finished tasks of a search, in memory and, if there is a path, on disk.

    Use it in a ``with`` block: a file that was made here goes again if nothing was done.
    """

    def __init__(self, path: PathLike | None, header: Facts, tasks: Iterable[Task]) -> None:
        self.path = None if path is None else Path(path)
        self.header = header
        self.n_pairs = len(header["grid"]["alpha"]) * len(header["grid"]["beta"])
        self.keys = [task.key for task in tasks]
        self.lines: dict[tuple[float, int], Facts] = {}
        self.is_new = False
        if self.path is not None:
            try:
                self._open(self.path)
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is no text"
                raise ValueError(
                    f"cannot keep the search in {self.path} ({reason}): give another file."
                ) from None

    def _open(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size == 0:
            is_new = not path.exists()
            with path.open("a") as file:
                self.is_new = is_new
                file.write(to_json(self.header) + "\n")
            return
        lines, size = read_lines(path)
        header, *lines = lines or [None]
        self._compare(header)
        with path.open("ab"):  # can it be written?
            os.truncate(path, size)
        for line in lines:
            if self._is_sound(line):
                self.lines[line["vigilance"], line["fold"]] = line

    def _compare(self, header: Any) -> None:
        """Refuse a file of another search, and say what is different."""
        if not isinstance(header, dict) or header.keys() != self.header.keys():
            raise ValueError(f"{self.path} is no record of a search: give another file.")
        others = [name for name in self.header if header[name] != self.header[name]]
        if others:
            raise ValueError(
                f"{self.path} is the record of a search with other {' and '.join(others)}: delete"
                " it or give another file."
            )

    def _is_sound(self, line: Any) -> bool:
        """Tell whether a line can be used; tasks of other lines are run again."""
        if not isinstance(line, dict) or (line.get("vigilance"), line.get("fold")) not in self.keys:
            return False
        lists: list[Any] = [line.get(name) for name in LISTS]
        if not all(isinstance(part, list) and len(part) == self.n_pairs for part in lists):
            return False
        numbers = [line.get(name) for name in NUMBERS] + sum(lists, [])
        return all(isinstance(number, int | float) for number in numbers)

    def add(self, line: Facts) -> None:
        """Keep the record of one task."""
        self.lines[line["vigilance"], line["fold"]] = line
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(to_json(line) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.path is not None and self.is_new and not self.lines:
            self.path.unlink(missing_ok=True)
