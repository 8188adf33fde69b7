"""Files of results, whole or not there at all, folders checked before the work, and JSON."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

PACKED = (".gz", ".bz2", ".xz")


def unpacked(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without the ending of a compressed one."""
    path = Path(path)
    return path.stem if path.suffix.lower() in PACKED else path.name


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file that says what it holds."""
    return Path(unpacked(path)).suffix.lower()


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder, unless it is there, and see that files can be made in it."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ValueError(f"cannot write to {path}: {error.strerror}") from None


@contextmanager
def whole_files(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder; what was written there moves to ``folder`` when the block ends.

    So a file is complete or not there at all. If the block fails, nothing moves.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as place:
        yield Path(place)
        for file in sorted(Path(place).iterdir()):
            os.replace(file, Path(folder) / file.name)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of another one at the end; if that fails, it goes.

    An error of the disk names the file that was to be written.
    """
    target = Path(os.path.realpath(path))
    try:
        with whole_files(target.parent) as place, open(place / target.name, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def to_text(value: Any) -> str:
    """Return a value as JSON; null for NaN and infinity, which it does not have."""
    return json.dumps(without_nan(value), indent=1, default=str, allow_nan=False)


def without_nan(value: Any) -> Any:
    """Return a value as JSON can hold it: plain numbers, None for NaN and infinity."""
    if type(value).__module__ == "numpy":  # which is not loaded here: messages come at once
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
