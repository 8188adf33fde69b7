"""The identity of a run: what stands for models, data and code; and with what a run was made."""

import ast
import copyreg
import dis
import hashlib
import inspect
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import numpy as np

import efcml
from efcml.active import CRITERIA, Criterion
from efcml.seams import REGISTERED
from efcml.support.masks import is_sparse

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
SHOWS = ("explain", "plots", "report", "cli")  # rooms that no result depends on
INSTALLED = ("site-packages", "dist-packages", str(Path(os.__file__).parent))  # code with a version
PARSING = threading.Lock()  # Python 3.11 counts the depth of trees over all threads
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
PLAIN = (bool, int, float, complex, bytes, type(None), type(...), type(NotImplemented))


def made_by() -> dict[str, Any]:
    """Return with what a run is made now: method, versions that matter, and kind of machine."""
    versions = {"efcml": efcml.__version__, "python": platform.python_version()}
    machine = {"kind": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()}
    versions |= {name: version(name) for name in PACKAGES}
    return {"method": method(), "versions": versions, "machine": machine}


def method() -> str:
    """Return a text that changes with the code of the method."""
    return sources()[:12]


@cache
def sources() -> str:
    """Return the digest of efcml but for what only shows; comments and layout do not count."""
    root = Path(efcml.__file__).parent
    shows = [root / room for room in SHOWS]
    files = [one for one in sorted(root.glob("**/*.py")) if not {*one.parents} & {*shows}]
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


def own_functions() -> dict[str, Any]:
    """Return what was registered by a name; other processes take it over."""
    own = {k: one for k, one in CRITERIA.items() if one.fires.__module__ != Criterion.__module__}
    return {"functions": dict(REGISTERED), "criteria": own}


def take_over(own: dict[str, Any]) -> None:
    """Register what another process has registered."""
    REGISTERED.update(own["functions"])
    CRITERIA.update(own["criteria"])


def digest(*parts: Any) -> str:
    """Return a text that is equal where models, data, functions and numbers are equal.

    NaN is equal to NaN, and a list to a tuple. Functions count by their code, by what they hold and
    by what they use of their module; registered ones also where their name stands. The text is the
    same in every process. What cannot be told from others is refused.
    """
    return text_of(parts, {})


def text_of(value: Any, known: dict[int, tuple[Any, str]]) -> str:
    """Return the digest of a value; ``known`` are those that are done, or begun, by their id."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if id(value) not in known:
        known[id(value)] = value, "holds itself"
        text = sha256(repr(describe(value, partial(text_of, known=known))))
        known[id(value)] = value, text
    return known[id(value)][1]


def describe(value: Any, of: Callable[[Any], str]) -> Any:
    """Return what stands for a value; ``of`` gives the digest of each part."""
    value = getattr(value, "py_func", value)  # of what numba compiles, the source
    if isinstance(value, str):
        named = [one for (_, name), one in REGISTERED.items() if name == value]
        return ["text", value, *map(of, named), *map(of, filter(None, [CRITERIA.get(value)]))]
    if isinstance(value, list | tuple):
        return ["list", *map(of, value)]
    if isinstance(value, dict):
        return ["dict", *sorted((of(key), of(one)) for key, one in value.items())]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(map(of, value))]
    if is_sparse(value):  # what is found out of it on the way does not count
        return ["sparse", *map(of, (value.shape, value.data, value.indices, value.indptr))]
    if type(value) is np.ndarray:  # the same numbers in other places are the same
        whole = value.tolist() if value.dtype.hasobject else None
        return of(whole) if whole is not None else joblib.hash(np.ascontiguousarray(value))
    if inspect.iscode(value):
        return [value.co_code, value.co_names, *map(of, value.co_consts)]
    if inspect.ismethod(value):
        return ["method", of(value.__func__), of(value.__self__)]
    if isinstance(value, ModuleType | type) or inspect.isfunction(value):
        return describe_code(value, of)
    return describe_object(value, of)


def describe_object(value: Any, of: Callable[[Any], str]) -> list[Any]:
    """Return what stands for anything else: its class, and what pickle would keep of it."""
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts: Any = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception as error:
        raise TypeError(
            f"a {type(value).__name__} cannot be told from others ({error}): leave it out of the"
            " model, or give its class a __reduce__ that says what it is made of."
        ) from None
    if isinstance(parts, str):  # something that is found by its name
        return [parts, of(sys.modules[getattr(value, "__module__", None) or "builtins"])]
    held = [list(part) if isinstance(part, Iterator) else part for part in parts]
    return ["object", of(type(value)), *map(of, held)]


def describe_code(thing: Any, of: Callable[[Any], str]) -> list[Any]:
    """Return what stands for a module, class or function: its name, and a version or its code."""
    name = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    package, module = name.partition(".")[0], sys.modules.get(name)
    name = getattr(thing, "__qualname__", name)
    file: Any = getattr(module, "__file__", None)
    if package == "efcml":  # all of it is in the key of every run
        return [package, name]
    if package != "__main__" and (file is None or any(one in file for one in INSTALLED)):
        release = getattr(sys.modules.get(package), "__version__", platform.python_version())
        return [package, name, release]
    if isinstance(thing, ModuleType):
        return [name, Path(file).read_text(encoding="utf-8")]
    if isinstance(thing, type):
        return [name, *map(of, thing.__bases__), of(members(thing))]
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    used = names_used(thing.__code__) & {*thing.__globals__}
    held = [thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells]
    return [*map(of, held), of({name: thing.__globals__[name] for name in used})]


def members(cls: type) -> dict[str, Any]:
    """Return methods of a class, and what else is set in it, by name."""
    found = {}
    for name, one in vars(cls).items():
        for inside in ("fget", "__func__", "func"):  # of properties, static and class methods
            one = getattr(one, inside, one)
        private = name.startswith("__") or name == "_abc_impl" or inspect.isdatadescriptor(one)
        if inspect.isfunction(one) or not private:
            found[name] = one
    return found


def names_used(code: Any) -> set[str]:
    """Return the names of the module that a function uses, also in functions within."""
    used = {one.argval for one in dis.get_instructions(code) if one.opname in GLOBAL}
    return used.union(*(names_used(one) for one in code.co_consts if inspect.iscode(one)))
