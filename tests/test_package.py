"""The package: imports, optional packages, compiled kernels, and files that are whole or not."""

import importlib
import pkgutil
import sys

import pytest
from helpers.models import blocks, fit_blocks, run_code

import efcml
from efcml import ActiveLearner, prequential
from efcml.support.extras import extra_for
from efcml.support.folders import make_folder, replacing, whole_files
from efcml.tuning import TuningResult

PUBLIC = {
    *("EFCMLClassifier", "OneVsRestEFC", "ChainEFC", "ActiveLearner"),
    *("datasets", "prequential", "warmup", "save", "load", "Study", "register"),
}


def test_import_loads_nothing_heavy():
    code = "import json, sys, efcml\nprint(json.dumps([*sys.modules]))"
    heavy = {"sklearn", "matplotlib", "pandas", "numba", "scipy", "river", "dask"}
    assert not heavy & set(run_code(code))


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


CODE = """
import json, pickle, sys
import numpy as np
import efcml
from efcml import ChainEFC, EFCMLClassifier, prequential
X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X @ [[1.0, -1.0, 0.5], [0.5, 1.0, 1.0]] > 0.0).astype(float)
class Mixin: pass
class Mine(Mixin, EFCMLClassifier): pass
sys.modules["__main__"].Mine = Mine
clf, mine = EFCMLClassifier(prior=1.0, max_rules=3), Mine(prior=1.0)
labels = clf.fit(X, Y).predict(X)
prequential(clf, X, Y, active=efcml.ActiveLearner(0.3))
clf.set_params(random_state=3).fit(X, Y[:, 0]).score(X, Y[:, 0])
ChainEFC(prior=1.0, max_rules=3, order="random", random_state=1).partial_fit(X, Y)
kept = pickle.dumps(clf.fit(X, Y))
told = [sorted({"sklearn", "pandas", "matplotlib", "joblib"} & {*sys.modules})]
import sklearn.base
told.append([isinstance(model, sklearn.base.BaseEstimator) for model in (clf, mine, ChainEFC())])
told.append([kind.__name__ for kind in Mine.__mro__])
told.append(type(sklearn.base.__spec__.loader).__name__)
told.append(bool((pickle.loads(kept).predict(X) == labels).all()))
print(json.dumps(told))
"""


def test_arrays_need_no_scikit_learn_and_estimators_become_its_own_when_it_comes():
    heavy, kinds, mro, loader, *same = run_code(CODE)
    assert heavy == []
    assert kinds == [True] * 3
    assert mro[:3] == ["Mine", "Mixin", "EFCMLClassifier"]
    assert "LightBase" not in mro
    assert loader == "SourceFileLoader"
    assert same == [True]


FRAMES = {
    "result": lambda: prequential(fit_blocks(), *blocks(seed=1)).to_frame(),
    "questions": lambda: ActiveLearner(budget=0.1).to_frame(),
    "search": lambda: TuningResult(("beta",), "pa", {}, ({"beta": 0.1, "gain": 0.0},)).to_frame(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_say_how_to_get_pandas(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    wanted = r'needs pandas, which is missing: pip install "efcml\[pandas\]"$'
    with pytest.raises(ImportError, match=wanted):
        FRAMES[kind]()


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
    path.chmod(0o640)
    link.symlink_to(path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    with replacing(link) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a", "link"]
    with replacing(tmp_path / "b") as file:
        file.write(b"new")
    assert (tmp_path / "b").read_text() == "new"
    with pytest.raises(FileNotFoundError, match="'.*nowhere/a'"), replacing(tmp_path / "nowhere/a"):
        pass
