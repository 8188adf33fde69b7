"""Where packages come from: the lock file, and the oldest versions that are promised."""

import re
import tomllib

from helpers.tool_files import ROOT, load_tool
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINE = re.compile(r"([\w.-]+)==([\w.!+]+) --hash=sha256:[0-9a-f]{64}")


def requirements():
    """Return everything that tests need, the project's own extras left out."""
    extras = {
        name: lines
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in load_tool("oldest_versions", "tests/tools").UNTESTED
    }
    lines = [*PROJECT["dependencies"], *sum(extras.values(), [])]
    found = [Requirement(line) for line in lines]
    return [one for one in found if one.name != PROJECT["name"]]


def locked():
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    matches = [LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
    assert all(matches), "a line that is no name, version and hash"
    return {canonicalize_name(match[1]): match[2] for match in matches}


def test_the_lock_holds_what_the_project_asks_for():
    versions = locked()
    for one in requirements():
        name = canonicalize_name(one.name)
        assert name in versions, f"{name} is not locked: run make lock"
        assert one.specifier.contains(versions[name]), f"{name} is too old: run make lock"


def test_the_lock_names_no_host():
    assert "://" not in (ROOT / "requirements-dev.lock").read_text()


def test_oldest_versions_are_the_lower_bounds():
    pins = load_tool("oldest_versions", "tests/tools").oldest_pins(PROJECT)
    assert len(pins) == len({one.name for one in requirements()})
    by_name = {Requirement(pin).name: Requirement(pin) for pin in pins}
    for one in requirements():
        bounds = [part.version for part in one.specifier if part.operator == ">="]
        pin = next(iter(by_name[one.name].specifier))
        assert [pin.version] == (bounds or [part.version for part in one.specifier])
        assert by_name[one.name].extras == one.extras


def test_lock_lines():
    info = {"archive_info": {"hashes": {"sha256": "0" * 64}}}
    found = load_tool("write_lock", "tests/tools").lock_lines(
        {
            "install": [
                {"metadata": {"name": "Tqdm", "version": "4.66"}, "download_info": info},
                {"metadata": {"name": "efcml", "version": "0"}, "download_info": {"dir_info": {}}},
                {"metadata": {"name": "numpy", "version": "2.0"}, "download_info": info},
            ]
        }
    )
    hashed = f" --hash=sha256:{'0' * 64}"
    assert found == [f"numpy==2.0{hashed}", f"tqdm==4.66{hashed}"]
