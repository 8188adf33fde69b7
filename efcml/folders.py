"""Folders for results: checked before the work begins, filled with whole files only."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path


def make_folder(path):
    """Make a folder, unless it is there, and see that files can be made in it."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ValueError(f"cannot write to {path}: {error.strerror}") from None


@contextmanager
def whole_files(folder):
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
