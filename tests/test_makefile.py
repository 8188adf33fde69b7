"""The Makefile installs what a target needs, once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [
    pytest.mark.plain,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not here"),
]


@pytest.fixture
def make(tmp_path):
    """Return a function that runs targets with an interpreter which only notes what it is told."""
    notes = tmp_path / "notes.txt"
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >> {notes}\n')
    python.chmod(0o755)

    def run(*targets):
        notes.write_text("")
        command = ["make", "-C", str(ROOT), f"VENV={tmp_path / 'venv'}", f"PYTHON={sys.executable}"]
        env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        done = subprocess.run(
            [*command, *targets], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [line.split()[-1] for line in notes.read_text().splitlines() if "editable" in line]

    return run


def test_the_demo_needs_no_tools(make):
    assert make("demo") == ["."]
    assert make("demo") == []
    assert make("lint") == [".[dev]"]  # adds them
    assert make("demo", "lint") == []


def test_the_tools_contain_all_that_the_demo_needs(make):
    assert make("lint") == [".[dev]"]
    assert make("demo") == []
    assert make("venv") == []


def test_everything_is_installed_by_venv(make):
    assert make("venv") == [".[dev]"]


def test_a_newer_list_of_packages_is_installed(make, tmp_path):
    make("venv")
    for stamp in (tmp_path / "venv").glob(".installed*"):
        os.utime(stamp, (0, 0))
    assert make("demo") == ["."]
    assert make("venv") == [".[dev]"]
