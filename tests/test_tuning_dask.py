"""A search on a Dask cluster: a real scheduler and workers on this machine, one of them killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers.streams import random_rows

from efcml.support import cluster
from efcml.tuning import Grid, tune
from efcml.tuning import task as task_module
from efcml.tuning.search_record import SearchRecord

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

ROOT = Path(__file__).resolve().parent.parent
GRID = Grid(vigilance=[0.1, 0.2, 0.3], alpha=[0.0, 0.5], beta=[0.0, 1.0])
FOLDS = 4
PARAMS = {"prior": 1.0}


@pytest.fixture(scope="module")
def rows():
    return random_rows(np.random.default_rng(5), 80, 12, 4)  # a task takes a quarter of a second


@pytest.fixture(scope="module")
def expected(rows):
    return search_with(rows)


def search_with(rows, **options):
    return tune(*rows, **({"grid": GRID, "folds": FOLDS, "params": PARAMS} | options))


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


@contextmanager
def processes():
    """Start programs of Dask; end every one of them at the end."""
    started = []
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}

    def start(folder, *arguments):
        with (folder / f"log-{len(started)}").open("w") as log:
            program = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
            started.append(
                subprocess.Popen(program, cwd=folder, env=environment, stdout=log, stderr=log)
            )
        return started[-1]

    try:
        yield start
    finally:
        for process in started[::-1]:
            process.terminate()
        for process in started:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def start_scheduler(start, folder):
    """Start a scheduler on loopback; return its process and address."""
    file = folder / "scheduler.json"
    process = start(
        folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
    )
    wait_until(file.exists)
    return process, json.loads(file.read_text())["address"]


def start_worker(start, folder, address, name):
    return start(
        folder,
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--name",
        name,
        "--host",
        "127.0.0.1",
        "--local-directory",
        str(folder),
    )


@pytest.mark.slow
def test_a_worker_is_killed_in_the_middle(rows, expected, tmp_path, monkeypatch):
    path, at_the_kill = tmp_path / "search.jsonl", {}
    add = SearchRecord.add
    with processes() as start:
        _, address = start_scheduler(start, tmp_path)
        victim = start_worker(start, tmp_path, address, "victim")
        start_worker(start, tmp_path, address, "other")
        with distributed.Client(address, timeout="30s") as client:
            client.wait_for_workers(2, timeout=60)
            info = client.scheduler_info(n_workers=-1)["workers"]
            name = {worker["name"]: place for place, worker in info.items()}["victim"]

            def kill(record, line):
                add(record, line)
                if len(record.lines) < 3 or at_the_kill:
                    return
                busy = client.processing()[name]  # what it was running or about to
                if not busy:
                    return
                at_the_kill.update(done=len(record.lines), busy=len(busy))
                victim.send_signal(signal.SIGKILL)
                victim.wait()

            monkeypatch.setattr(SearchRecord, "add", kill)
            result = search_with(rows, dask=address, checkpoint=path)
            assert [worker["name"] for worker in client.scheduler_info()["workers"].values()] == [
                "other"
            ]
            monkeypatch.setattr(SearchRecord, "add", add)
            # The survivor does a whole search, through a client that stays open.
            assert search_with(rows, dask=client) == expected
            assert client.status == "running"
    assert victim.returncode == -signal.SIGKILL
    assert 3 <= at_the_kill["done"] < len(GRID.vigilance) * FOLDS
    assert at_the_kill["busy"] > 0
    assert result == expected
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert len({(line["vigilance"], line["fold"]) for line in lines}) == len(lines) == 12


@pytest.mark.slow
def test_nobody_there_to_work(rows, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.2)
    path = tmp_path / "search.jsonl"
    with processes() as start:
        scheduler, address = start_scheduler(start, tmp_path)
        with pytest.raises(RuntimeError, match="had no worker for 1 seconds: start some with"):
            search_with(rows, dask=address, checkpoint=path)
        assert not path.exists()
        monkeypatch.setattr(cluster, "PATIENCE", 60.0)
        add = SearchRecord.add

        def end_scheduler(record, line):
            add(record, line)
            scheduler.kill()
            scheduler.wait()

        monkeypatch.setattr(SearchRecord, "add", end_scheduler)
        start_worker(start, tmp_path, address, "late")  # while the search is waiting
        with pytest.raises(RuntimeError, match="Dask scheduler was lost .*: try again") as caught:
            search_with(rows, dask=address, checkpoint=path)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(SearchRecord, "add", add)
    assert path.read_text().count("\n") == 2
    assert search_with(rows, checkpoint=path) == expected  # what is missing, on this machine


# -- without further processes, so that lines are counted ------------------------------------

SMALL = {"grid": Grid(vigilance=[0.3, 0.8], alpha=0.0, beta=[0.0, 1.0]), "folds": 2}


@pytest.fixture(scope="module")
def inside():
    """A client of a cluster in this very process."""
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def few_rows():
    return random_rows(np.random.default_rng(5), 16, 2, 2)


def test_threads_give_the_same(inside, few_rows):
    assert search_with(few_rows, **SMALL, dask=inside) == search_with(few_rows, **SMALL)
    assert search_with(few_rows, **SMALL, dask=inside.cluster) == search_with(few_rows, **SMALL)


def test_how_long_a_cluster_takes_is_not_said(inside, few_rows):
    said = []
    search_with(few_rows, **SMALL, dask=inside, say=said.append)
    assert said == [
        "4 points (2 of vigilance, 2 of alpha and beta) in 2 folds: 4 passes, on the cluster"
    ]


def test_nothing_left_to_do_needs_no_cluster(few_rows, tmp_path):
    path = tmp_path / "search.jsonl"
    expected = search_with(few_rows, **SMALL, checkpoint=path)
    assert search_with(few_rows, **SMALL, checkpoint=path, dask="tcp://127.0.0.1:1") == expected


def made_up(task, *rest):
    return {
        "vigilance": task.vigilance,
        "fold": task.fold,
        "right": [1, 1],
        "ap": [1.0, 1.0],
        "rules": [1, 1],
        "diverged": [0, 0],
        "known": 1,
        "ranked": 1,
    }


INSTEAD = {}


def run_instead(task, *rest):
    return INSTEAD["run"](task, *rest)


def use(monkeypatch, function):
    """Let tasks be done by a function that cannot be sent: workers find it by its name."""
    monkeypatch.setitem(INSTEAD, "run", function)
    monkeypatch.setattr(task_module, "run_task", run_instead)


def test_large_tables_are_no_reason_for_a_warning(inside, few_rows, monkeypatch):
    use(monkeypatch, made_up)
    wide = np.tile(few_rows[0], (1, 500))
    assert wide.nbytes > 1e5
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "50 kB"}):
        search_with((wide, few_rows[1]), **SMALL, dask=inside)


def raising(error):
    def run(*args):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("vigilance 0.3 failed"), "^vigilance 0.3 failed$"),
        (ModuleNotFoundError("No module named 'efcml'"), r"lacks a package \(No .*: install efcml"),
    ],
)
def test_errors_of_workers(inside, few_rows, monkeypatch, error, words):
    use(monkeypatch, raising(error))
    with pytest.raises(RuntimeError, match=words) as caught:
        search_with(few_rows, **SMALL, dask=inside)
    assert "\n" not in str(caught.value)


def test_a_task_that_ends_its_workers():
    class Future:
        result = staticmethod(raising(distributed.KilledWorker("a", None, 3)))

    with pytest.raises(RuntimeError, match="ended every worker that tried it"):
        cluster.result_of(Future())


def test_another_version_on_a_worker(inside, few_rows):
    future = inside.submit(cluster.run_on_worker, None, "0.0", None, None, pure=False)
    with pytest.raises(RuntimeError, match=r"has efcml .*, this was started with 0\.0"):
        future.result()


def test_what_is_left_is_cancelled(inside, few_rows, monkeypatch):
    started, gate = [], threading.Event()
    run_task = task_module.run_task

    def wait_after_the_first(task, *rest):
        started.append(task)
        if len(started) > 1:
            assert gate.wait(60.0)
        return run_task(task, *rest)

    use(monkeypatch, wait_after_the_first)
    monkeypatch.setattr(SearchRecord, "add", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        search_with(few_rows, **(SMALL | {"folds": 5}), dask=inside)
    wait_until(lambda: not any(inside.processing().values()))
    assert caught.tb  # until here it kept everything alive that was not closed
    gate.set()
    assert inside.submit(int, 3, pure=False).result() == 3
    assert len(started) <= 6  # of 10: one was done, each thread had another, a few were on the way


def test_tasks_that_are_cancelled_elsewhere(inside, few_rows, monkeypatch):
    finished = cluster.finished

    def cancelling(client, futures):
        client.cancel(futures)
        return finished(client, futures)

    monkeypatch.setattr(cluster, "finished", cancelling)
    with pytest.raises(RuntimeError, match="scheduler was lost .*: try again"):
        search_with(few_rows, **SMALL, dask=inside)


def test_a_scheduler_that_is_gone(monkeypatch):
    class Gone:
        def nthreads(self):
            raise OSError("closed\nand more")

    with pytest.raises(RuntimeError, match=r"^the Dask scheduler was lost \(closed\): try again"):
        cluster.has_workers(Gone())


def test_no_workers_for_long(few_rows, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.1)
    options = {"processes": False, "n_workers": 0, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as place:
        with pytest.raises(RuntimeError, match=r"had no worker for 0\.3 seconds: start some with"):
            search_with(few_rows, **SMALL, dask=place)


def test_an_asynchronous_client(few_rows, monkeypatch):
    client = object.__new__(distributed.Client)
    monkeypatch.setattr(distributed.Client, "asynchronous", True)
    monkeypatch.setattr(distributed.Client, "__del__", lambda self: None, raising=False)
    with pytest.raises(ValueError, match="client is asynchronous: give the scheduler's address"):
        search_with(few_rows, **SMALL, dask=client)


def test_no_scheduler(few_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 0.5)
    said = []
    for address in ("nowhere", "127.0.0.1:1", 3):
        with pytest.raises(
            ValueError, match="no Dask scheduler answers at .*: start one"
        ) as caught:
            search_with(
                few_rows, **SMALL, dask=address, checkpoint=tmp_path / "file", say=said.append
            )
        assert "\n" not in str(caught.value)
    assert said == []
    assert not list(tmp_path.iterdir())
