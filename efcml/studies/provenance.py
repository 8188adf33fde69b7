"""What stands for the content of models, data and code, and with what a run was made."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import platform
import re
import sys
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import pandas as pd

import efcml
from efcml import seams
from efcml.support.masks import is_sparse

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
METHOD = ("_jit.py", "seams.py", "kernels", "model")
MODELS = (*METHOD, "active", "estimators", "rivals")  # what answers may depend on
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    found = {"efcml": efcml.__version__, "python": platform.python_version()}
    return found | {name: version(name) for name in PACKAGES}


def machine() -> dict[str, Any]:
    """Return the kind of machine and its number of cores."""
    return {"kind": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()}


def made_by() -> dict[str, Any]:
    """Return with what a run is made now."""
    return {"method": method(), "versions": versions(), "machine": machine()}


def method() -> str:
    """Return a text that changes with the code of the method."""
    return sources(METHOD)[:12]


@cache
def sources(rooms: tuple[str, ...]) -> str:
    """Return the digest of sources of efcml; comments, docstrings and layout do not count."""
    root = Path(efcml.__file__).parent
    files = [root / room for room in rooms if room.endswith(".py")]
    files += [file for room in rooms for file in sorted((root / room).glob("**/*.py"))]
    return sha256("".join(code_alone(file.read_bytes()) for file in files).encode())


def code_alone(source: bytes) -> str:
    """Return a source without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return ast.dump(tree)


# -- content --------------------------------------------------------------------------------


def digest(*parts: Any) -> str:
    """Return a text that is equal where models, data, functions and numbers are equal.

    NaN is equal to NaN. The text is the same in every process.

    Examples
    --------
    >>> digest(float("nan"), [1, "a"]) == digest(np.nan, (1, "a")) != digest(0.0, [1, "a"])
    True
    """
    return sha256(json.dumps(describe(parts), sort_keys=True).encode())


def sha256(content: Any) -> str:
    """Return the first 32 hexadecimal digits of SHA-256."""
    return hashlib.sha256(content).hexdigest()[:32]


def describe(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [describe(part) for part in value]
    if isinstance(value, dict):
        return {repr(key): describe(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):  # its order is another one in every process
        return sorted(json.dumps(describe(part)) for part in value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = sha256(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return ["array", str(value.dtype), list(value.shape), content]
    if is_sparse(value):
        return [list(value.shape), describe([value.data, value.indices, value.indptr])]
    if isinstance(value, pd.DataFrame):
        rows = pd.util.hash_pandas_object(value, index=False).to_numpy()
        return ["frame", list(map(repr, value.columns)), list(map(str, value.dtypes)), sha256(rows)]
    if isinstance(value, type):
        return [f"{value.__module__}.{value.__qualname__}", code_of(value)]
    return describe_object(getattr(value, "py_func", value))  # of what numba compiles, the source


def describe_object(value: Any) -> Any:
    """Return a function by what it does and holds, a model by its parameters and what it learned.

    Of what a function calls nothing is read: there is not always a source.
    """
    if inspect.iscode(value):
        return [value.co_code.hex(), describe([value.co_names, value.co_consts])]
    if inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return describe([value.__code__, value.__defaults__, value.__kwdefaults__, cells])
    if inspect.ismethod(value):
        return [value.__name__, describe(value.__self__)]
    if isinstance(value, partial):
        return describe(["partial", value.func, value.args, value.keywords])
    if not hasattr(value, "get_params"):
        return [describe(type(value)), hash_of(value)]
    given = value.get_params(deep=False)
    words = set(map(str, given.values()))
    named = [one for one in seams._registered.items() if one[0][1] in words]
    learned = {name: part for name, part in vars(value).items() if name not in given}
    return [describe([type(value), given, named]), hash_of(learned) if learned else ""]


def hash_of(value: Any) -> str:
    """Return what stands for an object of any kind; its text if it cannot be pickled."""
    try:
        return joblib.hash(value)
    except (PicklingError, TypeError, AttributeError):
        return ADDRESS.sub("", repr(value))


@cache
def code_of(thing: Any) -> str:
    """Return what stands for the code of a class.

    Of efcml it is the sources of its models, of other packages the version; of anything else the
    source of its module, and of the class alone if that is the program or a notebook.
    """
    package = thing.__module__.partition(".")[0]
    if package == "efcml":
        return sources(MODELS)
    known = getattr(sys.modules.get(package), "__version__", None)
    if known is not None or package == "builtins":
        return f"{package} {known}"
    try:
        whole = package != "__main__" and inspect.getsourcefile(thing)
        return sha256(Path(whole).read_bytes() if whole else inspect.getsource(thing).encode())
    except (OSError, TypeError):  # typed in
        return digest([vars(thing)[name] for name in vars(thing) if callable(vars(thing)[name])])
