"""What kernels are given, and compiled code from the cache."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.streams import COMPILED
from numba import config, typeof

from efcml._jit import addresses, cache_folder, kernel
from efcml.support.bundles import bundle

ROOT = Path(__file__).resolve().parent.parent

Inner = bundle("Inner", "vector factor", __name__)
Outer = bundle("Outer", ["flag", "matrix", "inner", "count", "cube", "marks", "ratio"], __name__)
Pair = bundle("Pair", "a b", __name__)


def make_outer(n, flag):
    rng = np.random.default_rng(n)
    inner, count = Inner(rng.normal(size=n), float(rng.normal())), -(2**40)
    cube, marks = rng.integers(-9, 9, size=(2, 3, n)), rng.uniform(size=n) < 0.5
    return Outer(flag, rng.normal(size=(3, n)), inner, count, cube, marks, ratio=-0.25)


@kernel
def read_all(outer, out):
    """Write numbers, each by its place; change one array."""
    place = 0
    for i in range(outer.matrix.shape[0]):
        for j in range(outer.matrix.shape[1]):
            out[place] = outer.matrix[i, j]
            out[place + 1] = outer.cube[1, i, j]
            place += 2
    for i in range(outer.marks.shape[0]):
        outer.inner.vector[i] += 1.0 if outer.marks[i] else 2.0
    out[place], out[place + 1] = outer.inner.factor, outer.count
    out[place + 2], out[place + 3] = outer.ratio, 1.0 if outer.flag else 0.0
    return place + 4


@kernel
def total_of(pair):
    """Return a sum in which both fields take part."""
    total = 0.0
    for value in pair.a:
        total += value
    return total + pair.b


@pytest.mark.parametrize("n", [1, 4, 0])
def test_all_kinds_of_fields_read_and_write_alike(n):
    outer = make_outer(n, flag=n == 4)
    twin = pickle.loads(pickle.dumps(outer))
    found, expected = np.full((2, 100), np.nan)
    assert read_all(outer, found) == 6 * n + 4
    assert getattr(read_all, "py_func", read_all)(twin, expected) == 6 * n + 4
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(outer.inner.vector, twin.inner.vector)
    again = copy.deepcopy(outer)  # stands alone
    read_all(again, found)
    assert np.array_equal(outer.inner.vector, twin.inner.vector)


def test_new_bundles_bring_new_arrays_and_old_ones_stay():
    pair = Pair(np.arange(12.0).reshape(4, 3)[2], b=0.5)
    for n in (1, 3, 10):
        assert total_of(pair) == 6 + 7 + 8 + 0.5  # read where it lies
        assert total_of(pair.replace(a=np.full(n, 2.0), b=n)) == 3.0 * n


def test_fields_are_fixed():
    for values, named in (((1.0,), {}), ((1.0, 2.0), {"b": 3.0}), ((1.0,), {"c": 2.0})):
        with pytest.raises(TypeError, match="Pair has the fields a, b"):
            Pair(*values, **named)
    with pytest.raises(AttributeError, match="Pair cannot be changed; its arrays can"):
        Pair(1.0, 2.0).a = 3.0


@pytest.mark.parametrize("value", ["word", None, 1j, (1.0, 2.0), 2**63, np.zeros(6)[::2]])
def test_what_a_table_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="a bundle cannot hold "):
        typeof(Pair(np.zeros(1), value))


# Two floors of kernels in a cache of their own

GROUND = """
from efcml._jit import kernel_fast, kernel_rare

@kernel_fast
def add_up(values, n):
    total = 0.0
    for i in range(n):
        total += values[i]
    return total

@kernel_rare("Tuple((int64, int64))")
def split(value):
    return value // 3, value % 3
"""
TOP = """
from efcml._jit import kernel, kernel_part
from ground import add_up, split

@kernel_part
def twice(x):
    return 2 * x

@kernel
def add_both(values, n):
    whole, rest = split(n)
    return twice(add_up(values, n)) + whole, rest

@kernel
def run(values, n, out):
    for k in range(n):
        total, rest = add_both(values, k)
        out[k] = total + 10 * rest
"""
SHOW = """
import json
import numpy as np
from ground import add_up, split
from top import add_both, run
out = np.zeros(5)
run(np.arange(1.0, 9.0), 5, out)
kernels = {"add_up": add_up, "split": split, "add_both": add_both, "run": run}
made = [name for name, k in kernels.items() if sum(k.dispatcher.stats.cache_misses.values())]
print(json.dumps([out.tolist(), made]))
"""


def start(folder):
    """Start a process that runs the floors."""
    removed = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "EFCML_CACHE")
    env = {name: value for name, value in os.environ.items() if name not in removed}
    env |= {"NUMBA_CACHE_DIR": str(folder / "cache")}
    env["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", SHOW], env=env, cwd=folder, **pipes)


def result_of(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.long
@pytest.mark.skipif(not COMPILED or not addresses.POSSIBLE, reason="kernels have no addresses")
def test_code_from_the_cache_is_right_across_processes(tmp_path):
    """Found by the next process, compiled anew where an edit asks for it, also by two at once."""
    values = np.arange(1.0, 9.0)
    expected = [2 * values[:k].sum() + k // 3 + 10 * (k % 3) for k in range(5)]
    (tmp_path / "cache").mkdir()
    for name, text in (("ground", GROUND), ("top", TOP)):
        (tmp_path / f"{name}.py").write_text(text)
    both = [start(tmp_path) for _ in range(2)]
    assert [result_of(process)[0] for process in both] == [expected] * 2
    assert result_of(start(tmp_path)) == [expected, []]
    for file in (tmp_path / "cache").rglob("*.add_both-*.nb?"):
        file.unlink()
    assert result_of(start(tmp_path)) == [expected, ["add_both"]]
    ground = tmp_path / "ground.py"
    ground.write_text(GROUND.replace("total = 0.0", "total = 1000.0"))
    stamp = ground.stat().st_mtime_ns + 10**10  # the clock of a file system may be coarse
    os.utime(ground, ns=(stamp, stamp))
    out, made = result_of(start(tmp_path))
    assert out == [value + 2000.0 for value in expected]
    assert "add_up" in made and "run" not in made


def test_every_state_of_the_sources_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folder, "PACKAGE", tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    (tmp_path / "kernels").mkdir()
    source, seen = tmp_path / "kernels" / "leaf.py", []
    for number, text in enumerate(["a", "b", "c", "d", "a"]):
        source.write_text(text)
        folder = cache_folder.folder_of_sources()
        assert folder.parent == tmp_path / "__pycache__"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder, (number, number))
        seen.append(folder)
    assert seen[0] == seen[4]
    assert len({*seen}) == 4
    kept = {*(tmp_path / "__pycache__").iterdir()}
    assert kept == {*seen[2:]}  # the oldest went when there were more than three
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert cache_folder.folder_of_sources() not in seen


def test_only_kernels_are_kept_there():
    usual = config.CACHE_DIR
    with cache_folder.in_own_folder():
        assert config.CACHE_DIR == str(cache_folder.FOLDER)
    assert config.CACHE_DIR == usual
