"""The file that ``--out`` names: refused before the work begins, written as a whole after it."""

from __future__ import annotations

from pathlib import Path

from efcml.support.folders import make_folder, whole_files


def check_target(path: Path) -> None:
    """Refuse a file that could not be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file.")
    make_folder(path.parent)


def write_target(path: Path, text: str) -> None:
    """Write a text to the file."""
    with whole_files(path.parent) as place:
        (place / path.name).write_text(text, encoding="utf-8", newline="")
