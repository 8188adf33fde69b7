"""How functions are compiled: plain numba, kept on disk from one run to the next.

Numba looks only at the file of a function when it decides whether kept code is still good, not at
the functions that it calls. So there is one folder for every state of the sources.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import config, njit

from efcml.support.progress import tell

PACKAGE = Path(__file__).resolve().parent
APART = "EFCML_APART"  # set in processes that only compile
FOLDERS = 3  # that are kept: the present one and those of the last edits

# Without nnan and ninf: with those two the compiler may drop every test for NaN and infinity.
SAFE_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}
# What drivers call has no wrappers, and is not kept by itself: a driver holds all that it calls.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "cache": False}


def folder_of_sources() -> Path:
    """Return the folder for these sources; when it is a new one, the oldest are removed."""
    digest = hashlib.sha256(str(config.BOUNDSCHECK).encode())
    for path in (Path(__file__), *sorted(PACKAGE.glob("kernels/*.py"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    parent = Path(config.CACHE_DIR or PACKAGE / "__pycache__")
    folder = parent / f"kernels-{digest.hexdigest()[:16]}"
    if not folder.exists():
        others = sorted(parent.glob("kernels-*"), key=os.path.getmtime)
        for path in others[: max(0, len(others) + 1 - FOLDERS)]:
            shutil.rmtree(path, ignore_errors=True)
    return folder


FOLDER = folder_of_sources()


def _compiled(**options: Any) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        usual, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER)
        try:
            return njit(**OPTIONS | options)(function)
        finally:
            config.CACHE_DIR = usual

    return decorate


driver = _compiled()  # called from Python
kernel = _compiled(**INNER)  # called from kernels only
leaf = _compiled(**INNER, fastmath=SAFE_FASTMATH)  # likewise; the order of sums does not matter


@cache
def compile_apart() -> None:
    """Compile all kernels in two processes, unless they are on disk or numba is off.

    In a process that has compiled a driver, it calls the kernels that were compiled alone; read
    from disk, it calls those that were compiled with it. Their last digits may differ. So no
    process uses what it has compiled itself, but for what is rare.
    """
    on_disk = any(FOLDER.rglob("*.nbi"))  # numba makes the folder itself when it decorates
    is_python = "python" in Path(sys.executable or "").name  # and no program that has one inside
    if config.DISABLE_JIT or on_disk or APART in os.environ or not is_python:
        return
    tell("efcml compiles, once on this machine: about 20 s")
    environment = os.environ | {APART: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    code, quiet = "from efcml.model import compiling; compiling.run_{}()", subprocess.DEVNULL
    commands = [[sys.executable, "-c", code.format(part)] for part in ("rules", "others")]
    children = [subprocess.Popen(c, env=environment, stdout=quiet, stderr=quiet) for c in commands]
    try:
        for child in children:
            child.wait()
    finally:
        for child in children:
            child.kill()


def check_compiled(kind: str, function: Any) -> None:
    """Refuse a function for kernels that numba has not compiled."""
    if not config.DISABLE_JIT and not hasattr(function, "py_func"):
        raise ValueError(f"the {kind} function must be compiled: put @numba.njit before it.")


def plain(function: Any) -> Any:
    """Return a compiled function as it was, for Python to call."""
    return getattr(function, "py_func", function)


def with_names(function: Any, **names: Any) -> Any:
    """Return a compiled function in which some names stand for something else; it is not kept."""
    old = plain(function)
    for name in names.keys() - {*old.__code__.co_names}:
        raise NameError(f"{old.__name__} uses no {name}.")
    other = FunctionType(old.__code__, old.__globals__ | names, old.__name__)
    return njit(**OPTIONS | {"cache": False})(other)
