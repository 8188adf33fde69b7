"""What a user gets: a wheel that works without the checkout, and a demo."""

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).resolve().parent.parent
CODE = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import efcml
from efcml.cli import main
X = np.random.default_rng(0).normal(size=(24, 2))
Y = (X > 0).astype(float)
clf = efcml.EFCMLClassifier(prior=1.0, split_share=0.3, cases=4, max_rules=3).fit(X[:16], Y[:16])
clf.partial_fit(X[16:], Y[16:])
right = float((clf.predict(X) == Y).mean())
sys.modules["efcml_paper"] = None  # which tests have beside the package
errors = io.StringIO()
with contextlib.redirect_stderr(errors):
    code = main(["reproduce", "speed"])
print(json.dumps([efcml.__file__, right, code, errors.getvalue()]))
"""


def test_the_wheel_holds_the_packages_and_works_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        wheel.extractall(tmp_path / "site")
        names = wheel.namelist()
        (metadata,) = (wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / "efcml").rglob("*.py")}
    held = {name for name in names if ".dist-info/" not in name}
    assert wanted | {"efcml/py.typed"} <= held
    assert {name.split("/")[0] for name in held} == {"efcml"}
    assert not [name for name in held if "test" in name or name.endswith((".pyc", ".nbi", ".nbc"))]
    assert "License-Expression: BSD-3-Clause" in metadata

    command = [sys.executable, "-I", "-c", CODE, str(tmp_path / "site")]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    file, right, code, said = json.loads(done.stdout)
    assert Path(file).is_relative_to(tmp_path / "site")
    assert right > 0.7
    assert code == 2 and "in the folder of the sources" in said


@pytest.mark.long
def test_the_sources_hold_all_that_their_tests_read(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as sources:
        sources.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("efcml-*/")
    path = os.pathsep.join([str(folder), str(folder / "experiments")])
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_the_demo_writes_its_numbers_and_figures(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("demo", ROOT / "experiments/demo/demo.py")
    demo = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", demo)
    spec.loader.exec_module(demo)
    study = demo.run_demo(tmp_path, rows=80)
    assert len(study.models) == 7 and study.result("static").births == 0
    assert f"{study.result().pa:.4f}" in (tmp_path / "report.html").read_text()
    assert all((tmp_path / f"{name}.png").exists() for name in ("trends", "rules"))
    assert "one plane" in (tmp_path / "comparison" / "report.html").read_text()
