"""Kernels that call each other by address: from the cache, in several processes, with errors.

Every run is a process of its own, with a cache folder of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.amounts import SOAK
from helpers.streams import COMPILED

from efcml._jit import addresses

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="only compiled kernels have addresses"),
    pytest.mark.skipif(not addresses.POSSIBLE, reason="this numba has no such hook"),
]

# Three floors, each in a module of its own.
GROUND = '''
from efcml._jit import kernel, kernel_fast

@kernel_fast
def add_up(values, n):
    """Return the sum of the first n values."""
    total = 0.0
    for i in range(n):
        total += values[i]
    return total

@kernel
def split(value):
    """Return two parts."""
    return value // 3, value % 3
'''
MIDDLE = '''
from efcml._jit import kernel, kernel_part
from ground import add_up, split

@kernel_part
def twice(x):
    """Return twice as much."""
    return 2 * x

@kernel
def add_both(values, n):
    """Return twice the sum, and parts of n."""
    whole, rest = split(n)
    return twice(add_up(values, n)) + whole, rest
'''
TOP = '''
from efcml._jit import kernel
from middle import add_both

@kernel
def run(values, n, out):
    """Write what the floors below return."""
    for k in range(n):
        total, rest = add_both(values, k)
        out[k] = total + 10 * rest
    return n
'''
SHOW = """
import json, sys
import numpy as np
from ground import add_up, split
from middle import add_both
from top import run
out = np.zeros(5)
n = run(np.arange(1.0, 9.0), 5, out)
kernels = {"add_up": add_up, "split": split, "add_both": add_both, "run": run}
made = {
    name: sum(getattr(k, "dispatcher", k).stats.cache_misses.values())
    for name, k in kernels.items()
}
print(json.dumps([n, out.tolist(), made]))
"""


def expected_output():
    values = np.arange(1.0, 9.0)
    return [2 * values[:k].sum() + k // 3 + 10 * (k % 3) for k in range(5)]


@pytest.fixture
def floors(tmp_path):
    """A folder with the modules of three floors of kernels."""
    for name, text in (("ground", GROUND), ("middle", MIDDLE), ("top", TOP)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def start(folder, code, cache="cache", **environment):
    """Start a process in which the folder can be imported from."""
    removed = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "EFCML_CACHE")
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    (folder / cache).mkdir(exist_ok=True)
    kept["NUMBA_CACHE_DIR"] = str(folder / cache)
    kept["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, "-c", code]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=kept | environment, cwd=folder, **pipes)


def result_of(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def run(folder, code=SHOW, **more):
    return result_of(start(folder, code, **more))


def compiled_in(folder, **more):
    """Run the three floors; return the names of the kernels that were not found in the cache."""
    n, out, made = run(folder, **more)
    assert n == 5
    assert out == expected_output()
    return {name for name, count in made.items() if count}


def forget(folder, name, cache="cache"):
    """Delete the cache files of one kernel."""
    files = list((folder / cache).rglob(f"*.{name}-*.nb?"))
    assert files
    for file in files:
        file.unlink()


ALL = {"add_up", "split", "add_both", "run"}


def test_kernels_call_each_other(floors):
    assert compiled_in(floors) == ALL
    assert compiled_in(floors) == set()  # all there


def test_one_kernel_is_missing_from_the_cache(floors):
    """It alone is compiled anew, whether it is called, calls, or both."""
    compiled_in(floors)
    for name in sorted(ALL):
        forget(floors, name)
        assert compiled_in(floors) == {name}
    assert compiled_in(floors) == set()


def test_only_the_top_is_left(floors):
    compiled_in(floors)
    for name in ALL - {"run"}:
        forget(floors, name)
    assert compiled_in(floors) == ALL - {"run"}


def test_a_fresh_folder_is_filled(floors):
    compiled_in(floors)
    assert compiled_in(floors, cache="other") == ALL


def test_without_a_cache(floors):
    assert run(floors, EFCML_CACHE="0")[:2] == [5, expected_output()]
    assert not list((floors / "cache").rglob("*.nbi"))


def test_an_edited_callee_is_compiled_anew(floors):
    """Its callers hold no copy of it, so they need not be."""
    compiled_in(floors)
    path = floors / "ground.py"
    path.write_text(path.read_text().replace("total = 0.0", "total = 1000.0"))
    stamp = path.stat().st_mtime_ns + 10**10  # the clock of a file system may be coarse
    os.utime(path, ns=(stamp, stamp))
    out, made = run(floors)[1:]
    assert out == [value + 2000.0 for value in expected_output()]
    assert made["run"] == made["add_both"] == 0
    assert made["add_up"] > 0


@pytest.mark.parametrize(
    "edits",
    [
        {"value // 3, value % 3": "value / 3, value % 3"},
        {"@kernel\n": '@kernel_rare("Tuple((int64, int64))")\n', "kernel, ": "kernel_rare, "},
    ],
    ids=["another type", "becomes rare"],
)
def test_callers_of_what_is_not_there_any_more_are_compiled_anew(floors, edits):
    """Code from the cache would look for it."""
    compiled_in(floors)
    path = floors / "ground.py"
    text = path.read_text()
    for old, new in edits.items():
        text = text.replace(old, new)
    path.write_text(text)
    stamp = path.stat().st_mtime_ns + 10**10
    os.utime(path, ns=(stamp, stamp))
    n, out, made = run(floors)
    assert [n, out] == run(floors, EFCML_CACHE="0")[:2]
    assert made["add_both"] > 0
    assert set(run(floors)[2].values()) == {0}  # and kept


def test_two_processes_share_a_folder(floors):
    both = [start(floors, SHOW) for _ in range(2)]
    found = [result_of(process) for process in both]
    assert found[0][:2] == found[1][:2] == [5, expected_output()]
    assert compiled_in(floors) == set()


PART = '''
from efcml._jit import kernel, kernel_part
from ground import split

@kernel_part
def whole_part(n):
    """Return a part of n; this is copied into those that call it."""
    return split(n)[0]

@kernel
def first(n):
    """Return one more."""
    return whole_part(n) + 1

@kernel
def second(n):
    """Return two more."""
    return whole_part(n) + 2
'''


def test_a_part_from_the_cache_brings_the_kernels_that_it_calls(floors):
    """Another process has compiled the part; its next caller is loaded alone by a third."""
    (floors / "part.py").write_text(PART)
    assert run(floors, "from part import first; print(first(7))") == 3
    for _ in range(2):
        assert run(floors, "from part import second; print(second(7))") == 4
    path = floors / "ground.py"
    path.write_text(path.read_text().replace("value // 3, value % 3", "value / 2, value % 3"))
    stamp = path.stat().st_mtime_ns + 10**10
    os.utime(path, ns=(stamp, stamp))
    assert run(floors, "from part import second; print(second(7))") == 5.5


def test_the_same_kernel_for_several_types(floors):
    code = """
import json
import numpy as np
from top import run
found = []
for dtype in ("f8", "f4", "i8"):
    out = np.zeros(5)
    run(np.arange(1, 9).astype(dtype), 5, out)
    found.append(out.tolist())
print(json.dumps(found))
"""
    for _ in range(2):  # compiled, and from the cache
        assert run(floors, code) == [expected_output()] * 3


OUT_OF_BOUNDS = """
import json
import numpy as np
from top import run
try:
    run(np.arange(1.0, 3.0), 5, np.zeros(5))
except IndexError as error:
    print(json.dumps(str(error)))
out = np.zeros(5)
assert run(np.arange(1.0, 9.0), 5, out) == 5
"""


def test_errors_reach_python_through_all_floors(floors):
    for _ in range(2):  # compiled, and from the cache
        told = run(floors, OUT_OF_BOUNDS, cache="checked", NUMBA_BOUNDSCHECK="1")
        assert "out of bounds" in told


def test_names_of_arguments_are_refused(floors):
    (floors / "named.py").write_text("""
from efcml._jit import kernel
from ground import split

@kernel
def wrong(value):
    return split(value=value)
""")
    code = """
import json
from named import wrong
try:
    wrong(7)
except Exception as error:
    print(json.dumps(str(error)))
"""
    assert "kernels are called without names of arguments" in run(floors, code)


# Without the hook

IMPOSSIBLE = """
import sys
from efcml._jit import addresses
assert not any(name.startswith("efcml.kernels.") for name in sys.modules)
addresses.POSSIBLE = False
"""
COPIED = """
assert not isinstance({}, addresses.Kernel)
"""


def test_without_the_hook_kernels_are_copied(floors):
    for _ in range(2):  # compiled, and from the cache
        code = IMPOSSIBLE + SHOW + COPIED.format("split")
        assert run(floors, code, cache="copied")[:2] == [5, expected_output()]


# The real kernels

LEARN = """
import json
import numpy as np
from helpers.streams import random_rows, unscaled_learner
found = []
for share in (1.0, 0.7):
    rng = np.random.default_rng(1)
    learner = unscaled_learner(3, 3, cases=5, forgetting=0.97)
    X, Y = random_rows(rng, 80, 3, 3, share)
    learner.learn(X, Y)
    assert learner.n_rules > 1
    found.append([learner.score(X).tolist(), learner.rules.W.tolist(), learner.rules.P.tolist()])
from efcml.kernels.learning import learn_until_event
made = getattr(learn_until_event, "dispatcher", learn_until_event).stats.cache_misses
print(json.dumps([found, sum(made.values())]))
"""


def flat(found):
    return [np.array(part) for stream in found for part in stream]


@pytest.mark.slow
@pytest.mark.skipif(not SOAK, reason="compiles the learner five times: make soak")
def test_the_learner_from_the_cache_and_without_the_hook(tmp_path):
    first, made = run(tmp_path, LEARN)
    assert made > 0
    forget(tmp_path, "shrink_inverses")
    forget(tmp_path, "dot")
    again, made = run(tmp_path, LEARN)
    assert made == 0
    assert again == first  # to the last digit
    copied, made = run(
        tmp_path, IMPOSSIBLE + LEARN + COPIED.format("learn_until_event"), cache="copied"
    )
    assert made > 0
    for one, two in zip(flat(first), flat(copied), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not SOAK, reason="compiles the learner five times: make soak")
def test_two_processes_compile_the_learner_at_once(tmp_path):
    both = [start(tmp_path, LEARN) for _ in range(2)]
    one, two = (result_of(process)[0] for process in both)
    assert one == two
    assert run(tmp_path, LEARN)[0] == one
