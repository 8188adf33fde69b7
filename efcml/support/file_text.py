"""Text of files that people bring: its characters, its numbers, and how it is quoted in errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that a person has named, or say why that cannot be."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file: check the path")
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: make the file readable") from None


def read_text(path: Path) -> str:
    """Read UTF-8 or Latin-1 with any line ending; lines of the result end in a line feed."""
    with open_file(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    # Not str.splitlines: it also splits at characters that may stand inside a name.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def to_number(token: str) -> float | None:
    """Return a finite float, or None."""
    try:
        value = float(token)
    except ValueError:
        return None
    # Python reads 1_000 as a number; in a data file it is more likely a mistake.
    return value if math.isfinite(value) and "_" not in token else None


def short(text: str, length: int = 40) -> str:
    """Return the text in quotes, without its end if it is long."""
    return repr(text if len(text) <= length else text[:length] + "...")
