"""The rules of the code that a machine can check."""

import ast
import pkgutil
import re
import subprocess
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature, isclass, isfunction, signature
from pathlib import Path

import numpy as np
import pytest

import efcml
from efcml import _jit

pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "efcml"
PAPER = ROOT / "experiments" / "efcml_paper"
SOURCES = sorted([*PACKAGE.rglob("*.py"), *PAPER.rglob("*.py")])
KERNEL_FILES = sorted((PACKAGE / "kernels").glob("*.py"))

MAX_LINES = 400
MAX_ARGUMENTS = 8
MAX_TOP_MODULES = 6

DECORATORS = [[name] for name in _jit.__all__ if name.startswith("kernel")]

# Kernels that may allocate, and why. Keep it short.
MAY_ALLOCATE = {
    "proximal.derive_penalty": "eigenvalues of a K x K matrix, rationed by the growth of weight",
}

NEW_ARRAY = {
    *("array", "asarray", "ascontiguousarray", "copy", "arange", "linspace", "eye", "identity"),
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"),
    *("concatenate", "stack", "vstack", "hstack", "append", "outer", "diag", "where", "nonzero"),
    *("argsort", "sort", "repeat", "tile", "cov", "astype", "flatten"),
}
NEW_OBJECT = {"list", "dict", "set", "sorted", "bytearray"}
DISPLAYS = (
    *(ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def short(path):
    return str(path.relative_to(ROOT))


def functions(path):
    return [
        node
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]


KERNELS = [
    pytest.param(path, node, id=f"{path.stem}.{getattr(node, 'name', 'lambda')}")
    for path in KERNEL_FILES
    for node in functions(path)
]


def imported_roots(path):
    """Return the first part of every absolute import of a file, local ones included."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def allocations(function):
    """Yield what a function visibly allocates: calls, displays, comprehensions, products."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, DISPLAYS):
                # The list in `x[[1, 2]]` and a bare `[...]` are allocations alike.
                yield type(node).__name__
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                yield "@"
            elif isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                last = name.split(".")[-1]
                if name in NEW_OBJECT or ("." in name and last in NEW_ARRAY):
                    yield name
                elif name.startswith(("np.linalg.", "np.random.")):
                    yield name


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_only_jit_imports_numba(path):
    if "numba" in imported_roots(path):
        assert path.parent == PACKAGE / "_jit"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_files_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def places_of(names):
    """Return the names that are in several places, with the places."""
    places = {}
    for name, place in names:
        places.setdefault(name, []).append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_modules_have_one_name():
    modules = [(path.stem, short(path)) for path in SOURCES if not path.stem.startswith("__")]
    assert places_of(modules) == {}


def test_no_two_classes_have_one_name():
    classes = [
        (node.name, short(path))
        for path in SOURCES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef)
    ]
    assert places_of(classes) == {}


def test_few_modules_lie_outside_the_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= MAX_TOP_MODULES


# Rooms whose public names have no annotations yet: none.
NOT_ANNOTATED = set()
# Public modules besides the package and its rooms with an __all__.
FURTHER = {"efcml.compat.river": ("RiverEFCML",)}


def public_things():
    """Yield every public function, class, method and property: its room, name and function."""
    rooms = [f"efcml.{room.name}" for room in pkgutil.iter_modules(efcml.__path__) if room.ispkg]
    modules = {name: getattr(import_module(name), "__all__", ()) for name in ("efcml", *rooms)}
    for name, names in (modules | FURTHER).items():
        for thing in (getattr(import_module(name), one) for one in names):
            home = getattr(thing, "__module__", "")
            if isfunction(thing):
                yield home, thing.__qualname__, thing
            elif isclass(thing):
                yield from ((home, *method) for method in public_methods(thing))


def public_methods(kind):
    """Yield name and function of what a class of efcml lets others call, ``__init__`` included."""
    for owner in (one for one in kind.__mro__ if one.__module__.startswith("efcml.")):
        for name, member in vars(owner).items():
            if name.startswith("_") and name != "__init__":
                continue
            if isinstance(member, property):
                member = member.fget
            elif isinstance(member, cached_property):
                member = member.func
            elif isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if isfunction(member):
                yield f"{kind.__name__}.{name}", member


def not_annotated(function):
    """Return the arguments of a function that have no annotation, and "return" if it has none."""
    found = signature(function)
    missing = [
        name
        for i, (name, argument) in enumerate(found.parameters.items())
        if argument.annotation is Parameter.empty and not (i == 0 and name in ("self", "cls"))
    ]
    return missing + ["return"] * (found.return_annotation is Signature.empty)


def test_public_names_are_annotated():
    bare = {}
    for home, name, function in public_things():
        if missing := not_annotated(function):
            bare.setdefault(home.split(".")[1], {})[name] = missing
    assert {room: names for room, names in bare.items() if room not in NOT_ANNOTATED} == {}
    assert set(bare) == NOT_ANNOTATED, "annotated by now: take it off NOT_ANNOTATED"


def test_missing_annotations_are_found():
    def function(self, a, b: int, *c, d=1):
        pass

    assert not_annotated(function) == ["a", "c", "d", "return"]


def test_there_are_kernels():
    assert KERNELS


@pytest.mark.parametrize(("path", "node"), KERNELS)
def test_functions_in_kernels_are_documented_kernels(path, node):
    assert not isinstance(node, ast.Lambda), f"line {node.lineno}: no lambda in kernels"
    names = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
    assert names in DECORATORS
    assert ast.get_docstring(node)


@pytest.mark.parametrize(("path", "node"), KERNELS)
def test_kernels_take_few_plain_arguments(path, node):
    arguments = node.args
    assert len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs) <= MAX_ARGUMENTS
    assert not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    assert not arguments.defaults


@pytest.mark.parametrize(("path", "node"), KERNELS)
def test_kernels_do_not_allocate(path, node):
    found = sorted(set(allocations(node)))
    if f"{path.stem}.{node.name}" in MAY_ALLOCATE:
        assert found, "allocates nothing any more: take it off MAY_ALLOCATE"
    else:
        assert not found


def test_allocation_list_names_existing_kernels():
    assert set(MAY_ALLOCATE) <= {case.id for case in KERNELS}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a = np.zeros(3)", ["np.zeros"]),
        ("a = b.copy()", ["b.copy"]),
        ("a = [x for x in b]", ["ListComp"]),
        ("a = list(b)", ["list"]),
        ("a = {}", ["Dict"]),
        ("a = b @ c", ["@"]),
        ("a = np.linalg.inv(b)", ["np.linalg.inv"]),
        ("np.dot(a, b, c)", []),
        ("return a, b", []),
    ],
)
def test_allocations_are_found(body, found):
    function = ast.parse(f"def f(a, b, c):\n    {body}").body[0]
    assert list(allocations(function)) == found


def test_every_field_is_documented():
    fields = pytest.importorskip("efcml.model.fields").FIELDS
    names = [field.name for field in fields]
    assert len(set(names)) == len(names)
    for field in fields:
        assert field.name.isidentifier()
        assert isinstance(field.dims, tuple)
        assert np.array(field.fill, dtype=field.dtype) == field.fill
        assert len(field.meaning.split()) >= 2, f"{field.name} has no meaning"


# At the top of the module: code that comes from a cache looks for them there.
@_jit.kernel_fast
def classify(values, out):
    for i in range(values.shape[0]):
        out[i] = 2 * np.isnan(values[i]) + np.isinf(values[i])


@_jit.kernel
def divide(a, b):
    return a / b


def test_kernels_keep_nan_and_infinity():
    out = np.zeros(3)
    classify(np.array([1.0, np.nan, -np.inf]), out)
    assert out.tolist() == [0.0, 2.0, 1.0]
    with np.errstate(divide="ignore"):
        assert divide(np.float64(1.0), np.float64(0.0)) == np.inf


# Written so that no alternative matches its own text.
MACHINE_SPECIFIC = re.compile(
    r"(?<![\w.~$}/-])/(?:work|root|home|Users|mnt|opt)/\w"
    r"|[A-Z]:\\Users"
    r"|pypi\.(?:org|python)|pythonhosted\.org|registry\.npmjs|--(?:extra-)?index-url"
)


def files_of_repository():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in result.stdout.decode().split("\0") if name]


def test_no_file_names_a_machine():
    found = []
    for path in files_of_repository():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):  # removed but not committed; binary
            continue
        for number, line in enumerate(lines, 1):
            if MACHINE_SPECIFIC.search(line):
                found.append(f"{short(path)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)
