"""Files around the package say the same as the package: version, targets, versions of Python."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import efcml
from efcml.saving import archive

pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = ("bug", "idea")


def read_yaml(name):
    yaml = pytest.importorskip("yaml")
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is in checkouts only")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def targets():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE))


def test_the_top_section_of_the_changes_is_about_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert heads[0] == efcml.__version__
    assert len(set(heads)) == len(heads)


def test_models_of_the_version_before_are_loaded(tmp_path, monkeypatch):
    X = np.linspace(-1, 1, 12).reshape(6, 2)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=2).fit(X, X > 0)
    monkeypatch.setattr(archive, "__version__", "0.1.0")
    efcml.save(clf, tmp_path / "model.npz")
    monkeypatch.undo()
    again = efcml.load(tmp_path / "model.npz")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))


def test_public_checks_run_targets_that_exist():
    jobs = read_yaml(".github/workflows/checks.yml")["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {f"make {name}" for name in ("lint", "test", "test-oldest")} == set(commands)
    assert {command.removeprefix("make ") for command in commands} <= targets()
    assert all(job["timeout-minutes"] for job in jobs.values())


def test_public_checks_run_the_oldest_python_that_is_promised():
    jobs = read_yaml(".github/workflows/checks.yml")["jobs"]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert pythons[0] == oldest
    for name in ("lint", "oldest"):
        used = [step["with"] for step in jobs[name]["steps"] if "with" in step]
        assert [one["python-version"] for one in used] == [oldest]


def test_the_hook_of_commits_names_no_version_of_a_tool_of_the_project():
    local, *others = read_yaml(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert hook["entry"].removeprefix("make ") in targets()
        assert "additional_dependencies" not in hook
    assert [one["repo"].rsplit("/", 1)[1] for one in others] == ["pre-commit-hooks"]


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_whole(name):
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form["name"]
    assert form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in form["body"])
    for part in form["body"]:
        options = part["attributes"].get("options", [])
        assert all(isinstance(option, str) for option in options)
