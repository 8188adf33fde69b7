"""Where compiled kernels are kept: one folder for every state of the sources.

Numba looks only at the file of a kernel, not at the kernels that it calls, and it does not know
whether indices were checked. With a folder of its own for each, no edit is followed by old code.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba import config

PACKAGE = Path(__file__).resolve().parents[1]
KEPT = 3  # folders: the present one and those of the last edits


def folder_of_sources() -> Path:
    """Return the folder for these sources; when it is a new one, the oldest are removed."""
    digest = hashlib.sha256(str(config.BOUNDSCHECK).encode())
    for room in ("_jit", "kernels"):
        for path in sorted((PACKAGE / room).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    parent = Path(config.CACHE_DIR or PACKAGE / "__pycache__")
    folder = parent / f"kernels-{digest.hexdigest()[:16]}"
    if not folder.exists():
        others = sorted(parent.glob("kernels-*"), key=_age)
        for path in others[: max(0, len(others) + 1 - KEPT)]:
            shutil.rmtree(path, ignore_errors=True)
    return folder


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process was quicker
        return 0.0


FOLDER = folder_of_sources()


@contextmanager
def in_own_folder() -> Iterator[None]:
    """Let numba keep there what is decorated meanwhile, and nothing else."""
    usual = config.CACHE_DIR
    config.CACHE_DIR = str(FOLDER)
    try:
        yield
    finally:
        config.CACHE_DIR = usual
