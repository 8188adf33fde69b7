"""What a user gets: a light import, and a wheel that works without the checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "efcml"
PAPER = ROOT / "experiments" / "efcml_paper"


def run(*command, cwd):
    result = subprocess.run(
        [sys.executable, *map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("efcml-*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder that holds the installed wheel and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile")
    run(*pip, "--target", folder, wheel, cwd=folder)
    return folder


def run_installed(site, code, cwd):
    """Run code with the installed wheel first on the path, and neither cwd nor PYTHONPATH on it."""
    start = f"import sys; sys.path.insert(0, {str(site)!r})\n"
    return run("-I", "-c", start + code, cwd=cwd)


def test_import_is_light(tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import efcml
print(*sorted({{"sklearn", "matplotlib", "pandas", "river", "dask"}} & set(sys.modules)))
"""
    assert run("-I", "-c", code, cwd=tmp_path).split() == []


@pytest.mark.wheel
def test_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (
            archive.read(name).decode()
            for name in archive.namelist()
            if name.endswith(".dist-info/METADATA")
        )
    modules = {str(path.relative_to(ROOT).as_posix()) for path in PACKAGE.rglob("*.py")}
    paper = {str(path.relative_to(PAPER.parent).as_posix()) for path in PAPER.rglob("*.py")}
    assert modules | paper | {"efcml/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"efcml", "efcml_paper"}
    assert not [name for name in names if "test" in name or name.endswith((".pyc", ".nbi", ".nbc"))]
    assert "License-Expression: BSD-3-Clause" in metadata


@pytest.mark.wheel
def test_wheel_is_found_outside_the_checkout(site, tmp_path):
    code = """
import importlib.metadata, efcml
print(efcml.__file__)
print(importlib.metadata.version("efcml") == efcml.__version__)
"""
    file, same_version = run_installed(site, code, tmp_path).splitlines()
    assert Path(file).is_relative_to(site)
    assert same_version == "True"


@pytest.mark.wheel
def test_wheel_learns_and_predicts(site, tmp_path):
    code = """
import numpy as np, efcml
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = (X[:, :2] + 0.1 * rng.normal(size=(120, 2)) > 0).astype(float)
clf = efcml.EFCMLClassifier().fit(X[:60], Y[:60])
clf.partial_fit(X[60:100], Y[60:100])
print(clf.predict(X[100:]).shape, np.mean(clf.predict(X[100:]) == Y[100:]) > 0.7)
"""
    assert run_installed(site, code, tmp_path).strip() == "(20, 2) True"


@pytest.mark.wheel
def test_wheel_knows_the_experiments_of_the_paper(site, tmp_path):
    code = """
import contextlib, io, efcml_paper
from efcml.cli import main
errors = io.StringIO()
with contextlib.redirect_stderr(errors):
    print(efcml_paper.__file__, main(["reproduce", "no-such-id"]))
print(errors.getvalue())
"""
    place, said = run_installed(site, code, tmp_path).splitlines()[:2]
    file, exit_code = place.rsplit(" ", 1)
    assert Path(file).is_relative_to(site)
    assert exit_code == "2"
    assert "pa-trends" in said
