"""Kernels that are compiled when they are first run; each run is a process of its own."""

import pytest
from helpers.streams import COMPILED
from test_addresses import run, start

from efcml._jit import addresses

pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="only compiled kernels have addresses"),
    pytest.mark.skipif(not addresses.POSSIBLE, reason="this numba has no such hook"),
]

SELDOM = '''
from efcml._jit import kernel, kernel_rare

@kernel
def double(value):
    """Return twice as much."""
    return 2.0 * value

@kernel_rare("Tuple((float64, int64))")
def seldom(values, place):
    """Double one value; return it and its place."""
    values[place] = double(values[place])
    return values[place], place

@kernel_rare()
def never(values):
    """Try what cannot be compiled."""
    values.no_such_thing()

@kernel_rare()
def mistyped(values):
    """Return something, not nothing."""
    return values[0]

@kernel
def run(values, limit, wrong):
    """Double what is beyond the limit; return the sum of those places."""
    total = 0
    if wrong == 1:
        never(values)
    if wrong == 2:
        mistyped(values)
    for i in range(values.shape[0]):
        if values[i] > limit:
            total += seldom(values, i)[1]
    return total
'''
SHOW = """
import json
import numpy as np
from rare import double, run, seldom
made = lambda kernel: len(kernel.dispatcher.overloads)
kernels = (run, seldom, double)
found = []
for limit in (9.0, 1.5):
    values = np.arange(4.0)
    found.append([run(values, limit, 0), values.tolist(), [made(kernel) for kernel in kernels]])
values = np.arange(4.0)
misses = [sum(kernel.dispatcher.stats.cache_misses.values()) for kernel in kernels]
print(json.dumps([found, seldom(values, 3), misses]))
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a module of kernels."""
    (tmp_path / "rare.py").write_text(SELDOM)
    return tmp_path


def test_compiled_when_it_is_needed(folder):
    """And found in the cache by the next process."""
    for misses in ([1, 1, 1], [0, 0, 0]):
        found, by_python, seen = run(folder, SHOW)
        assert found == [
            [0, [0.0, 1.0, 2.0, 3.0], [1, 0, 0]],  # nothing is beyond 9
            [5, [0.0, 1.0, 4.0, 6.0], [1, 1, 1]],
        ]
        assert by_python == [6.0, 3]
        assert seen == misses


def test_without_the_hook_they_are_copied(folder):
    """Then the types must be right."""
    code = """
import json
import numpy as np
from efcml._jit import addresses
addresses.POSSIBLE = False
import pathlib
path = pathlib.Path("rare.py")
path.write_text(path.read_text().split("@kernel_rare()")[0] + '''
@kernel
def run(values):
    return seldom(values, 1)[1]
''')
from rare import run
values = np.arange(4.0)
print(json.dumps([run(values), values.tolist()]))
"""
    assert run(folder, code) == [1, [0.0, 2.0, 2.0, 3.0]]


WRONG = """
import json
import numpy as np
from rare import run
told = []
for wrong in (1, 2, 1):
    try:
        run(np.arange(4.0), 1.5, wrong)
    except RuntimeError as error:
        told.append(str(error))
print(json.dumps([told, run(np.arange(4.0), 1.5, 0)]))
"""


def test_what_cannot_be_compiled_is_an_error_where_it_is_called(folder):
    process = start(folder, WRONG)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    failed = '["never could not be compiled", "mistyped could not be compiled", '
    assert out.strip() == f'[{failed}"never could not be compiled"], 5]'
    assert "no_such_thing" in err  # the reason is told, too
    assert "it returns float64, not none" in err


INTERRUPTED = """
import _thread, json, time
import numpy as np
import rare
compile = rare.seldom._compile
calls = []
def compile_late(args):
    calls.append(1)
    if len(calls) == 1:
        _thread.interrupt_main()
        for _ in range(100):
            time.sleep(0.1)
    return compile(args)
rare.seldom._compile = compile_late
values, ended = np.arange(4.0), False
try:
    rare.run(values, 1.5, 0)
    for _ in range(100):
        time.sleep(0.1)
except KeyboardInterrupt:
    ended = True
print(json.dumps([ended, values.tolist(), len(calls)]))
"""


def test_an_interrupt_waits_for_the_end_of_the_kernel(folder):
    assert run(folder, INTERRUPTED) == [True, [0.0, 1.0, 4.0, 6.0], 2]


COMPLETE = """
import json
import numpy as np
from efcml.kernels import gaps
from helpers.streams import random_rows, unscaled_learner
rare = (gaps.view_gaps, gaps.update_gapped_winner, gaps.choose_gapped_winner)
learner = unscaled_learner(3, 3, cases=5)
X, Y = random_rows(np.random.default_rng(1), 40, 3, 3, 1.0)
found = []
for gap in (False, True):
    X[0, 0] = np.nan if gap else X[0, 0]
    learner.learn(X, Y)
    found.append([len(kernel.dispatcher.overloads) for kernel in rare])
print(json.dumps(found))
"""


def test_rows_without_gaps_do_not_wait_for_those_with_gaps(tmp_path):
    assert run(tmp_path, COMPLETE) == [[0, 0, 0], [1, 1, 1]]
