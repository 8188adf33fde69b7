"""Processes of this machine: the same result as without, and none is left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from helpers.streams import random_rows

from efcml.tuning import Grid, tune
from efcml.tuning import task as task_module
from efcml.tuning.search_record import SearchRecord

psutil = pytest.importorskip("psutil")  # comes with Dask

ROOT = Path(__file__).resolve().parent.parent
GRID = Grid(vigilance=[0.3, 0.8], alpha=[0.0, 0.1], beta=[0.0, 1.0])
PARAMS = {"prior": 1.0}


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(5), 30, 2, 2)


def search_with(rows, **options):
    return tune(*rows, **({"grid": GRID, "folds": 3, "params": PARAMS} | options))


def workers_of(pid):
    """Return the processes that a process started through joblib."""
    children = psutil.Process(pid).children()
    return [child for child in children if "popen_loky" in " ".join(child.cmdline())]


def is_alive(process):
    """Tell whether a process exists; one that ended and waits for its parent does not count."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


# They run in other processes, which import this file.
def note_process(task, *rest):
    return {
        "vigilance": task.vigilance,
        "fold": task.fold,
        "right": [1] * 4,
        "ap": [1.0] * 4,
        "rules": [os.getpid()] * 4,
        "diverged": [0] * 4,
        "known": 1,
        "ranked": 1,
    }


def sleep_after_the_first(task, *rest):
    if task.key != (0.3, 0):
        time.sleep(600)
    return note_process(task)


def fail(task, *rest):
    raise RuntimeError(f"fold {task.fold} was too hot")


def end_process(task, *rest):
    os._exit(3)


@pytest.mark.slow
def test_processes_give_the_same(rows, tmp_path):
    expected = search_with(rows)
    assert search_with(rows, jobs=2) == expected
    path = tmp_path / "search.jsonl"
    assert search_with(rows, jobs=-1, checkpoint=path) == expected
    assert search_with(rows, jobs=3, checkpoint=path) == expected


@pytest.mark.slow
def test_processes_share_large_tables():
    X, Y = random_rows(np.random.default_rng(5), 4000, 40, 1)
    assert X.nbytes > 1e6  # joblib hands it over as a file that cannot be written
    options = {"grid": Grid(2.0, 0.0, [0.0, 1.0]), "folds": 2}
    assert search_with((X, Y), jobs=2, **options) == search_with((X, Y), **options)


def test_tasks_run_elsewhere(rows, monkeypatch):
    monkeypatch.setattr(task_module, "run_task", note_process)
    result = search_with(rows, jobs=2)
    assert os.getpid() not in result.rules
    result = search_with(rows, jobs=1)
    assert (result.rules == os.getpid()).all()


def test_ctrl_c_ends_the_processes(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(task_module, "run_task", sleep_after_the_first)
    path, found = tmp_path / "search.jsonl", []

    def interrupt(line):
        found.extend(workers_of(os.getpid()))
        raise KeyboardInterrupt

    add = SearchRecord.add
    monkeypatch.setattr(SearchRecord, "add", lambda self, line: (add(self, line), interrupt(line)))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        search_with(rows, jobs=2, checkpoint=path)
    assert time.monotonic() - begin < 60.0
    assert len(path.read_text().splitlines()) == 2
    assert len(found) == 2
    wait_until(lambda: not any(is_alive(one) for one in found))
    assert caught.tb  # until here it kept everything alive that was not closed


def test_errors_in_processes(rows, monkeypatch):
    monkeypatch.setattr(task_module, "run_task", fail)
    with pytest.raises(RuntimeError, match=r"^fold \d was too hot$"):
        search_with(rows, jobs=2)
    monkeypatch.setattr(task_module, "run_task", end_process)
    with pytest.raises(RuntimeError, match="ended from outside, .*: try again with fewer jobs"):
        search_with(rows, jobs=2)


PROGRAM = """
import sys
import numpy as np
from efcml.tuning import Grid, tune

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 20))
Y = (X[:, :6] + rng.normal(size=(200, 6)) > 0).astype(float)
grid = Grid(np.linspace(0.1, 0.9, 17), np.linspace(0.0, 1.0, 10), np.linspace(0.0, 1.0, 10))
tune(X, Y, grid=grid, jobs=2, params={"prior": 1.0}, checkpoint=sys.argv[1], progress=False)
"""


@pytest.mark.slow
def test_a_real_signal_keeps_what_is_done(tmp_path):
    path = tmp_path / "search.jsonl"
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with program as process:
        try:
            wait_until(lambda: path.exists() and path.read_text().count("\n") >= 2)
            workers = workers_of(process.pid)
            assert len(workers) == 2
            process.send_signal(signal.SIGINT)
            message = process.communicate(timeout=60)[1]
            wait_until(lambda: not any(is_alive(one) for one in workers))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode not in (0, -signal.SIGKILL)
    assert "KeyboardInterrupt" in message
    assert 1 <= path.read_text().count("\n") - 1 < 85
