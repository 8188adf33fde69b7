"""The package: imports, optional packages, compiled kernels, and files that are whole or not."""

import importlib
import pkgutil

import pytest
from helpers.models import run_code

import efcml
from efcml.support.files import make_folder, replacing, whole_files
from efcml.support.imports import extra_for

PUBLIC = {
    *("EFCMLClassifier", "OneVsRestEFC", "ChainEFC", "ActiveLearner"),
    *("datasets", "prequential", "warmup", "save", "load", "Study", "register"),
}


HEAVY = {"sklearn", "matplotlib", "pandas", "numba", "scipy", "river", "dask"}
RUN = """
import contextlib, io
from efcml.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    """
CODES = {
    "import": "import efcml",
    "help": RUN + "main(['--help'])",
    "version": RUN + "main(['--version'])",
    "no such model": RUN + "main(['predict', 'no.npz', 'no.csv'])",
    "no such table": RUN + "main(['run', 'no.csv', '--labels', '2'])",
    "no such ARFF file": RUN + "main(['tune', 'no.arff', '--xml', 'no.xml'])",
}


@pytest.mark.parametrize("code", CODES)
def test_nothing_heavy_is_loaded_for(code):
    modules = run_code(f"import json, sys\n{CODES[code]}\nprint(json.dumps([*sys.modules]))")
    assert not HEAVY & set(modules)


def test_public_names_are_there_whatever_is_imported():
    """A submodule that is called like a public function would hide it."""
    pytest.importorskip("river")
    for module in pkgutil.walk_packages(efcml.__path__, "efcml."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert set(efcml.__all__) == PUBLIC <= set(dir(efcml))
    assert all(callable(getattr(efcml, name)) for name in PUBLIC - {"datasets"})
    assert callable(efcml.datasets.load)
    with pytest.raises(AttributeError, match="module 'efcml' has no attribute 'Classifier'"):
        efcml.Classifier  # noqa: B018


def test_a_class_without_source_has_its_parameters():
    names = {"__name__": "__main__"}
    code = "@with_parameters\nclass Own(EFCMLClassifier):\n    beta: float = 0.5\n"
    exec("from efcml import *\nfrom efcml.support.declared import *\n" + code, names)
    assert names["Own"]().get_params() == efcml.EFCMLClassifier(beta=0.5).get_params()


def test_other_errors_stay_as_they_are():
    for error in (
        ModuleNotFoundError("No module named 'tornado'", name="tornado"),
        ModuleNotFoundError("nameless"),
        ImportError("cannot import name 'x' from 'pandas'", name="pandas"),
    ):
        with pytest.raises(ImportError) as caught, extra_for("anything"):
            raise error
        assert caught.value is error
    inner = ModuleNotFoundError("No module named 'dask.array'", name="dask.array")
    with pytest.raises(ImportError, match=r'"efcml\[distributed\]"'), extra_for("anything"):
        raise inner


def test_a_folder_is_made_and_tried(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"cannot write to .*file/x: Not a directory"):
        make_folder(tmp_path / "file" / "x")


def test_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_files(tmp_path) as place:
        (place / "a").write_text("new")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    with whole_files(tmp_path) as place:
        (place / "a").write_text("new")
        (place / "b").write_text("more")
        assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "new"


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    with replacing(link) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a", "link"]
    with replacing(tmp_path / "b") as file:
        file.write(b"new")
    assert (tmp_path / "b").read_text() == "new"
    with pytest.raises(FileNotFoundError, match="'.*nowhere/a'"), replacing(tmp_path / "nowhere/a"):
        pass
