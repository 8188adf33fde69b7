"""Optional packages: each that is missing is named with the extra that brings it."""

import ast
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers.models import blocks, fit_blocks

from efcml import ActiveLearner, datasets, prequential
from efcml.support.extras import EXTRAS, extra_for
from efcml.tuning import Grid, TuningResult

ROOT = Path(__file__).resolve().parent.parent
# Who has a future, or a data frame, has the package.
ALREADY_THERE = {
    ("cluster.py", "result_of"),
    ("parquet_files.py", "to_frame"),
    ("pipelines.py", "stack"),
}


def tuned():
    grid = Grid(vigilance=(0.5,), alpha=(0.0,), beta=(1.0,))
    return TuningResult(grid, *np.ones((4, 1, 1)), {})


FRAMES = {
    "rules": lambda: fit_blocks().rules_.to_frame(),
    "explanation": lambda: fit_blocks().explain(blocks()[0][3]).to_frame(),
    "result": lambda: prequential(fit_blocks(), *blocks(seed=1)).to_frame(),
    "questions": lambda: ActiveLearner(budget=0.1).to_frame(),
    "search": lambda: tuned().to_frame(),
    "data": lambda: datasets.from_arrays([[1.0], [2.0]], [[0], [1]]).frames(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_say_how_to_get_pandas(kind, monkeypatch):
    pytest.importorskip("pandas")
    FRAMES[kind]()
    monkeypatch.setitem(sys.modules, "pandas", None)
    wanted = r'needs pandas, which is missing: pip install "efcml\[pandas\]"$'
    with pytest.raises(ImportError, match=wanted):
        FRAMES[kind]()


@pytest.mark.parametrize(
    ("file", "name", "package"),
    [
        ("peer_others", "Moa", "capymoa"),
        ("peer_libraries", "River", "river"),
        ("peer_libraries", "RiverISoup", "river"),
    ],
)
def test_benchmarks_say_how_to_get_their_libraries(file, name, package, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments" / "benchmarks")
    monkeypatch.setitem(sys.modules, package, None)
    kind = getattr(__import__(file), name)
    arguments = (2, 2, 10) if name == "RiverISoup" else (2, 2, 10, "tree")
    with pytest.raises(ImportError, match=rf'pip install "efcml\[{EXTRAS[package]}\]"$'):
        kind(*arguments)


def test_other_errors_stay_as_they_are():
    for error in (
        ModuleNotFoundError("No module named 'tornado'", name="tornado"),
        ModuleNotFoundError("nameless"),
        ImportError("cannot import name 'x' from 'pandas'", name="pandas"),
    ):
        with pytest.raises(ImportError) as caught, extra_for("anything"):
            raise error
        assert caught.value is error


def test_every_extra_brings_its_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for package, extra in EXTRAS.items():
        assert any(package in requirement for requirement in extras[extra])


def unguarded(path):
    """Return the functions of a file that import an optional package without `extra_for`."""
    found = []

    def look(node, function, guarded):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        if not guarded and any(name.partition(".")[0] in EXTRAS for name in names):
            found.append((path.name, function))
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if isinstance(node, ast.With) and "extra_for" in ast.unparse(node.items[0]):
            guarded = True
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            guarded = True  # it never runs
        for child in ast.iter_child_nodes(node):
            look(child, function, guarded)

    look(ast.parse(path.read_text(encoding="utf-8")), None, False)
    return found


def test_no_optional_package_is_imported_without_a_word(tmp_path):
    files = [*(ROOT / "efcml").rglob("*.py"), *(ROOT / "experiments" / "benchmarks").glob("*.py")]
    assert {place for path in files for place in unguarded(path)} == ALREADY_THERE
    (tmp_path / "bad.py").write_text("def read():\n    from pandas.api import types\n")
    assert unguarded(tmp_path / "bad.py") == [("bad.py", "read")]
