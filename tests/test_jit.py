"""Compiled code is kept in a folder for every state of the sources."""

import os

import pytest
from helpers.models import run_code
from helpers.streams import COMPILED
from numba import config

from efcml import _jit
from efcml.kernels.linalg import mirror
from efcml.kernels.rows import choose_winner, driver_with, learn_rows
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


def test_a_name_that_a_function_does_not_use_cannot_stand_for_something_else():
    with pytest.raises(NameError, match="choose_winner uses no is_new"):
        _jit.with_names(choose_winner, is_new=is_novel)


def test_python_collects_its_garbage_as_before(tmp_path):
    usual, now = run_code(
        f"import gc, json, os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path)!r}\n"
        "usual = gc.get_threshold(); import efcml._jit\n"
        "print(json.dumps([usual, gc.get_threshold()]))"
    )
    assert now == usual


FIRST = """
import hashlib, json
import numpy as np
from efcml import EFCMLClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(900, 60))
Y = (X[:, :9] + rng.normal(size=(900, 9)) > 0.0).astype(float)
clf = EFCMLClassifier(prior=10.0).fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
print(json.dumps(hashlib.sha256(clf.decision_function(X).tobytes()).hexdigest()))
"""


@pytest.mark.long
def test_the_process_that_comes_first_gives_the_same_bits(tmp_path):
    begin = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path)!r}\n"
    assert run_code(begin + FIRST) == run_code(begin + FIRST)
