"""Compiled code is kept in a folder for every state of the sources."""

import os

import pytest
from helpers.streams import COMPILED
from numba import config

from efcml import _jit
from efcml.kernels.linalg import mirror
from efcml.kernels.rows import driver_with, learn_rows
from efcml.model.rulebase import is_novel, learn_planes


def test_every_state_of_the_sources_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "PACKAGE", tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    (tmp_path / "kernels").mkdir()
    source, seen = tmp_path / "kernels" / "leaf.py", []
    for number, text in enumerate(["a", "b", "c", "d", "a"]):
        source.write_text(text)
        folder = _jit.folder_of_sources()
        assert folder.parent == tmp_path / "__pycache__"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder, (number, number))
        seen.append(folder)
    assert seen[0] == seen[4]
    assert len({*seen}) == 4
    kept = {*(tmp_path / "__pycache__").iterdir()}
    assert kept == {*seen[2:]}  # the oldest went when there were more than three
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert _jit.folder_of_sources() not in seen


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled")
def test_only_kernels_are_kept_there():
    assert str(_jit.FOLDER) != config.CACHE_DIR
    assert mirror._cache.cache_path.startswith(str(_jit.FOLDER))


def test_the_usual_driver_is_the_one_that_is_kept():
    assert driver_with(is_novel, learn_planes) is learn_rows
