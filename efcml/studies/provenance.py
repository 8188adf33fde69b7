"""What stands for the content of models, data and code, and with what a run was made."""

import ast
import hashlib
import inspect
import os
import platform
import re
import sys
import threading
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np

import efcml
from efcml import seams
from efcml.support.masks import is_sparse

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
METHOD = ("_jit.py", "seams.py", "kernels", "model")
MODELS = (*METHOD, "active", "estimators", "rivals")  # what answers may depend on
PARSING = threading.Lock()  # Python 3.11 counts the depth of trees over all threads
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def made_by() -> dict[str, Any]:
    """Return with what a run is made now: method, versions that matter, and kind of machine."""
    versions = {"efcml": efcml.__version__, "python": platform.python_version()}
    machine = {"kind": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()}
    versions |= {name: version(name) for name in PACKAGES}
    return {"method": method(), "versions": versions, "machine": machine}


def method() -> str:
    """Return a text that changes with the code of the method."""
    return sources(METHOD)[:12]


@cache
def sources(rooms: tuple[str, ...]) -> str:
    """Return the digest of sources of efcml; comments, docstrings and layout do not count."""
    root = Path(efcml.__file__).parent
    files = [root / room for room in rooms if room.endswith(".py")]
    files += [file for room in rooms for file in sorted((root / room).glob("**/*.py"))]
    return sha256("".join(code_alone(file.read_bytes()) for file in files))


def code_alone(source: bytes) -> str:
    """Return a source without comments and docstrings."""
    with PARSING:
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return ast.dump(tree)


def sha256(text: str) -> str:
    """Return the first 32 hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def digest(*parts: Any) -> str:
    """Return a text that is equal where models, data, functions and numbers are equal.

    NaN is equal to NaN, and a list to a tuple. The text is the same in every process.
    """
    return joblib.hash(describe(parts))


def describe(value: Any) -> Any:
    """Return what joblib can hash: functions by what they do and hold, classes by their code.

    Of what a function calls nothing is read: there is not always a source.
    """
    value = getattr(value, "py_func", value)  # of what numba compiles, the source
    if is_sparse(value):  # what is found out of it on the way does not count
        value = [value.shape, value.data, value.indices, value.indptr]
    if isinstance(value, list | tuple):
        return [describe(part) for part in value]
    if isinstance(value, dict):
        return {repr(key): describe(value[key]) for key in value}
    if isinstance(value, type):
        return [f"{value.__module__}.{value.__qualname__}", code_of(value)]
    if inspect.iscode(value):
        return [value.co_code, describe([value.co_names, value.co_consts])]
    if inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return describe([value.__code__, value.__defaults__, value.__kwdefaults__, cells])
    if inspect.ismethod(value):
        return [value.__name__, describe(value.__self__)]
    if isinstance(value, partial):
        return ["partial", describe([value.func, value.args, value.keywords])]
    if hasattr(value, "get_params"):
        held = dict(vars(value))
        words = set(map(str, held.values()))
        named = [one for one in seams.REGISTERED.items() if one[0][1] in words]
        return describe([type(value), held, named])
    if isinstance(value, np.generic | np.ndarray):  # the same numbers in other places are the same
        value = value.item() if isinstance(value, np.generic) else np.ascontiguousarray(value)
    try:
        return [describe(type(value)), joblib.hash(value)]
    except (PicklingError, TypeError, AttributeError):
        return [describe(type(value)), ADDRESS.sub("", repr(value))]


@cache
def code_of(thing: type) -> str:
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
        return sha256(Path(whole).read_text() if whole else inspect.getsource(thing))
    except (OSError, TypeError):  # typed in
        return digest([value for value in vars(thing).values() if callable(value)])
