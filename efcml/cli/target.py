"""The file that ``--out`` names: refused before the work begins, written as a whole after it."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TextIO

from efcml.support.folders import make_folder, whole_files


def check_target(path: Path) -> None:
    """Refuse a file that could not be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file.")
    make_folder(path.parent)


def write_target(path: Path, source: str | TextIO) -> None:
    """Write a text, or what another file holds, to the file."""
    content = io.StringIO(source) if isinstance(source, str) else source
    with whole_files(path.parent) as place:
        with (place / path.name).open("w", encoding="utf-8", newline="") as file:
            shutil.copyfileobj(content, file)
