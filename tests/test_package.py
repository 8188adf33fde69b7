"""The package itself: light to import, names found when used, compiled once."""

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import efcml

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {
    *("EFCMLClassifier", "OneVsRestEFC", "ChainEFC", "ActiveLearner"),
    *("datasets", "prequential", "warmup", "save", "load", "Study"),
}
HEAVY = {"sklearn", "matplotlib", "pandas", "river", "dask"}
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def run(code):
    """Run code in a new process and return what it prints as JSON."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "experiments")])}
    # The oldest matplotlib uses what the newest pyparsing warns of.
    spare = "import warnings; warnings.filterwarnings('default', module='matplotlib')\n"
    command = [sys.executable, "-W", "error", "-c", spare + code]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "statement",
    [
        "import efcml",
        "import efcml; efcml.__version__, dir(efcml)",
        "from efcml import datasets",
        "from efcml.model.learner import Learner",
        "from efcml.rivals.per_label import ChainLearner",
        "import efcml.measures",
    ],
)
def test_import_loads_no_front_end(statement):
    code = f"import json, sys\n{statement}\nprint(json.dumps([*sys.modules]))"
    assert not HEAVY & set(run(code))


@pytest.mark.parametrize(
    "statement",
    [
        "import efcml",
        "import efcml.cli",
        "import efcml.model.params",
        "from efcml import EFCMLClassifier, load, save",
        "from efcml.tuning import PAPER_GRID, Grid, tune",
        "from efcml import Study",
        "from efcml_paper import IDS",
    ],
)
def test_import_compiles_nothing(statement):
    loaded = run(f"import json, sys\n{statement}\nprint(json.dumps([*sys.modules]))")
    assert not {"numba", "matplotlib", "sklearn"} & set(loaded)


def test_public_names():
    assert set(efcml.__all__) >= PUBLIC
    assert set(efcml.__all__) <= set(dir(efcml))
    for name in efcml.__all__:
        assert getattr(efcml, name) is getattr(efcml, name)
    assert isinstance(efcml.EFCMLClassifier, type)
    assert callable(efcml.warmup)
    assert callable(efcml.datasets.load)


def test_names_are_found_by_a_star_import():
    code = "import json\nfrom efcml import *\nprint(json.dumps([*globals()]))"
    assert set(run(code)) >= PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_name_alone(name):
    code = f"import json\nfrom efcml import {name}\nprint(json.dumps(type({name}).__name__))"
    kinds = dict.fromkeys(("prequential", "warmup", "save", "load"), "function")
    assert run(code) == (kinds | {"datasets": "module"}).get(name, "type")


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'efcml' has no attribute 'Classifier'"):
        efcml.Classifier  # noqa: B018
    assert not hasattr(efcml, "load_everything")
    with pytest.raises(ImportError, match="cannot import name 'Classifier'"):
        exec("from efcml import Classifier")


def test_version_is_a_version():
    parts = efcml.__version__.split(".")
    assert len(parts) >= 3
    assert all(part.isdigit() for part in parts[:2])


def test_names_survive_the_import_of_all_modules():
    """A submodule that is called like a public function would hide it."""
    names = sorted(
        module.name
        for module in pkgutil.walk_packages(efcml.__path__, "efcml.")
        if not module.name.endswith("__main__")
    )
    code = f"""
import importlib, json
for name in {names}:
    importlib.import_module(name)
import efcml
print(json.dumps([name for name in efcml.__all__
                  if name != "datasets" and not callable(getattr(efcml, name))]))
"""
    assert run(code) == []


SHADOWS = """
import importlib, json, pkgutil
import efcml

found = [module for module in pkgutil.walk_packages(efcml.__path__, "efcml.")
         if not module.name.endswith("__main__")]
modules = {module.name: importlib.import_module(module.name) for module in found}
shadows = []
for package in ["efcml", *(module.name for module in found if module.ispkg)]:
    home = importlib.import_module(package)
    for part in pkgutil.iter_modules(home.__path__):
        name = f"{package}.{part.name}"
        if name in modules and (
            getattr(home, part.name) is not modules[name]  # a function has taken the place
            or hasattr(home, f"draw_{part.name}")  # people who mean the picture call the module
        ):
            shadows.append(name)
print(json.dumps([len(modules), shadows]))
"""


def test_no_submodule_is_called_like_something_else_of_its_package():
    count, shadows = run(SHADOWS)
    assert count > 100
    assert shadows == []


SIGNATURES = """
import importlib, json, pkgutil
import efcml, efcml.kernels

def signatures():
    found = {}
    for module in pkgutil.iter_modules(efcml.kernels.__path__, "efcml.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "py_func"):
                ways = (value.dispatcher, value.entry) if hasattr(value, "entry") else (value,)
                found[name] = sum(len(way.signatures) for way in ways)
    return found

efcml.warmup()
before = signatures()
%s
after = signatures()
changed = sorted(name for name in after if after[name] != before[name])
print(json.dumps([before, changed]))
"""

WORK = """
import sys
sys.path.insert(0, "tests")
from efcml import ActiveLearner, EFCMLClassifier, prequential
import numpy as np
X, Y = stream(120)
for options in ({}, QUICK, EVERYTHING, {"correlation": "none"}, {"beta": 1, "max_rules": 2}):
    for labels in (Y, hide(Y), Y.astype(int), Y[:, 0], Y[:, :1]):
        clf = EFCMLClassifier(**options).fit(X[:60], labels[:60])
        clf.partial_fit(X[60:70], labels[60:70])
        prequential(clf, X[70:], labels[70:])
        prequential(clf, X[70:].astype(np.float32), labels[70:], learn=False)
        for unit in ("samples", "labels"):
            prequential(clf, X[70:], labels[70:], active=ActiveLearner(0.4, unit, window=20))
            ActiveLearner.all(unit, instability="determinant").ask(clf, X[0])
        clf.predict_proba(np.asfortranarray(X))
        EFCMLClassifier(**options).partial_fit(X.tolist(), labels.tolist())
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_warmup_compiles_all_that_learning_needs():
    before, changed = run(SIGNATURES % WORK)
    assert {"learn_until_event", "score_rows", "scan_rows"} <= {
        name for name in before if before[name]
    }
    assert changed == []


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_compilations_would_be_seen_without_warmup():
    before, changed = run(SIGNATURES.replace("efcml.warmup()", "") % WORK)
    assert not any(before.values())
    assert {"learn_until_event", "score_rows"} <= set(changed)


def test_warmup_returns_nothing_and_can_be_repeated():
    assert efcml.warmup() is None
    assert efcml.warmup() is None


CLOCK = """
sys.path.insert(0, "tests")
import numpy as np
from test_river import LABELS, dicts
from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
from efcml.active import asked_stream as asked
from efcml.compat.river import RiverEFCML
from efcml.evaluation import stream_pass as runs

found = []
def watch(function):
    def watched(*arguments, **options):
        before = signatures()
        result = function(*arguments, **options)
        after = signatures()
        found.append(sorted(name for name in after if after[name] != before[name]))
        return result
    return watched
runs.run_learner, runs.run_foreign = watch(runs.run_learner), watch(runs.run_foreign)
asked.run_block = watch(asked.run_block)

X, Y = stream(60)
prequential(RiverEFCML(prior=1.0, warmup_rows=20), X, Y)
for kind in (EFCMLClassifier, OneVsRestEFC, ChainEFC):
    prequential(kind(prior=1.0, warmup_rows=20), X, hide(Y))
clf = EFCMLClassifier(prior=1.0).fit(X[:30], Y[:30])
prequential(clf, X[30:], Y[30:], active=ActiveLearner(0.4))
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_nothing_is_compiled_while_prequential_looks_at_the_clock():
    pytest.importorskip("river")
    code = SIGNATURES.replace("efcml.warmup()", "import sys") % CLOCK
    before, changed = run(code.replace("[before, changed]", "[before, found]"))
    assert not any(before.values())
    assert len(changed) >= 5
    assert not any(changed), changed


def test_models_without_kernels_need_no_compilation(monkeypatch):
    from efcml.evaluation import stream_pass as runs
    from efcml.rivals import make_model

    monkeypatch.setattr(runs, "compile_once", lambda *which: pytest.fail("compiled"))
    X, Y = [[0.0], [1.0], [2.0]], [[0], [1], [1]]
    efcml.prequential(make_model("rls").fit(X, Y), X, Y)
    with pytest.raises(pytest.fail.Exception, match="compiled"):
        efcml.prequential(efcml.EFCMLClassifier(prior=1.0).fit(X, Y), X, Y)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_the_first_compilation_is_told_once():
    from numba import njit

    from efcml import _jit

    told = []
    _jit.on_first_compilation(lambda: told.append("first"))

    def double(x):
        return 2 * x

    njit(double)(1)
    assert told == []  # somebody else's function
    double.__module__ = "efcml.kernels.double"
    kernel = njit(double)
    kernel(1)
    assert told == ["first"]
    kernel(1.0)
    assert told == ["first"]
