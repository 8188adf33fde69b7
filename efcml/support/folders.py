"""Files of results: folders checked before the work begins, files whole or not there at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

if TYPE_CHECKING:
    from efcml.support.aliases import PathLike


def make_folder(path: PathLike) -> None:
    """Make a folder, unless it is there, and see that files can be made in it."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ValueError(f"cannot write to {path}: {error.strerror}") from None


def read_lines(path: PathLike) -> tuple[list[Any], int]:
    """Return what the lines of a JSON Lines file hold, and how many bytes they take.

    A last line that was cut, as by a power failure, has no end and is left out; None stands for a
    line that is no JSON.
    """
    data = Path(path).read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    return [_parse(line) for line in whole.decode().split("\n")[:-1]], len(whole)


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


@contextmanager
def whole_files(folder: PathLike) -> Iterator[Path]:
    """Yield an empty folder; what was written there moves to ``folder`` when the block ends.

    So a file is complete or not there at all. If the block fails, nothing moves.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_files(folder) as place:
    ...         _ = (place / "a.txt").write_text("all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as place:
        yield Path(place)
        for file in sorted(Path(place).iterdir()):
            os.replace(file, Path(folder) / file.name)


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of another one at the end; if that fails, it goes.

    An error of the disk names the file that was to be written.
    """
    target = os.path.realpath(path)
    part = os.path.join(os.path.dirname(target), f".{uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # there is no old file
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
