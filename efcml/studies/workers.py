"""Where runs are done: in this process, in several, or on a Dask cluster; and how far they are.

The result does not depend on it. What was done is kept as soon as it is done, however it ends.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

from joblib import Parallel, delayed

from efcml.evaluation.adapters import last_step
from efcml.model.compiling import warmup
from efcml.studies.provenance import method, own_functions, take_over
from efcml.studies.runs import Run, RunCache, Table, do_run, last_fit, write_record
from efcml.support.guard import blas_pools
from efcml.support.imports import extra_for
from efcml.support.progress import progress_bar

Progress: TypeAlias = bool | Callable[[str], object] | None

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}, {remaining} left]"
LOOK_EVERY = 0.5  # seconds between two looks at the process that started this one
LINE_EVERY = 30.0  # seconds between two lines in a log
PATIENCE = 60.0  # seconds for the first worker of a cluster to come


class RunsInterrupted(KeyboardInterrupt):
    """Ctrl-C during runs; what was done is kept."""


def complete(
    cache: RunCache, runs: Sequence[Run], title: str, jobs: int, dask: Any, progress: Progress
) -> None:
    """Do the runs that are missing and keep each as soon as it is done.

    ``progress`` is whether to show a bar (None: on a terminal and in a notebook), or a function
    that gets a line now and then, for logs.
    """
    check_backend(jobs, dask)
    missing = list({run.key: run for run in runs if run not in cache}.values())
    if not missing:
        return
    if dask is None and any(hasattr(last_step(run.model), "begin_stream") for run in missing):
        # Once, not in every process.
        warmup(rare=False)
    show: Any = False if callable(progress) else progress
    bar = progress_bar(len(missing), title, unit="run", show=show, bar_format=BAR, smoothing=0)
    if dask is None:
        running = run_processes(missing, cache.folder, jobs)
    else:
        running = run_dask(missing, cache.folder, dask)
    done, begin = 0, time.monotonic()
    told = begin
    try:
        with bar, closing(running) as ended:
            for _ in ended:
                done += 1
                bar.update(1)
                now = time.monotonic()
                if callable(progress) and now - told >= LINE_EVERY:
                    told, minutes = now, (now - begin) / 60.0
                    progress(f"{title}: {done} of {len(missing)} runs after {minutes:.1f} minutes")
    except KeyboardInterrupt:
        done = sum(run in cache for run in missing)
        raise RunsInterrupted(f"after {done} of {len(missing)} runs") from None
    finally:
        last_fit.clear()


def check_backend(jobs: Any, dask: Any) -> None:
    """Refuse numbers of processes that make no sense, and two backends at once."""
    if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs < -1 or jobs == 0:
        raise ValueError(f"jobs must be a number of processes, or -1 for every core; got {jobs!r}.")
    if dask is not None and jobs != 1:
        raise ValueError("give either jobs or dask: a cluster has as many workers as you start.")


def run_processes(runs: Sequence[Run], folder: Path, jobs: int) -> Generator[None]:
    """Do runs here or in several processes, each of which writes its records itself.

    Not in threads: between two events of a stream Python works, one thread at a time.
    """
    known = folder, os.getpid(), own_functions()
    pool = Parallel(jobs, backend="loky", return_as="generator_unordered", batch_size=1)
    with warnings.catch_warnings():
        # Advice to plan better, when a worker ends by itself or after Ctrl-C.
        warnings.simplefilter("ignore", UserWarning)
        # At once, also after Ctrl-C: closing ends the processes.
        with closing(pool(delayed(run_there)(run, *known) for run in runs)) as ended:
            yield from ended


def run_there(run: Run, folder: Path, parent: int, own: Any) -> None:
    """Do a run in a process that ``parent`` started; what is registered is so there, too."""
    take_over(own)
    end_with(parent)
    write_record(folder, *do_run(run))


@cache
def end_with(parent: int) -> None:
    """End this process soon after the one that started it, even if that was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        os._exit(1)

    if os.getpid() != parent:  # it may do the runs itself
        threading.Thread(target=watch, daemon=True).start()


def run_dask(runs: Sequence[Run], folder: Path, address: Any) -> Generator[None]:
    """Write records from a cluster: the address of a scheduler, a cluster or a client.

    Runs of a worker that is lost are done again by others, and so is the hand-over of the tables,
    which is a task like any other: scattered data would be gone with the workers that hold them.
    """
    with extra_for("a Dask cluster"):
        from distributed import Client, as_completed
    nothing, tables = Table(None, None), {run.table.key: run.table for run in runs}
    code, own = method(), own_functions()
    known = isinstance(address, Client)
    with nullcontext(address) if known else Client(address, timeout=10.0) as client:
        client.wait_for_workers(1, timeout=PATIENCE)
        shared = {k: client.submit(Table, one.X, one.Y, pure=False) for k, one in tables.items()}
        futures = []
        for run in runs:
            given = replace(run, table=nothing), shared[run.table.key], run.key, code, own
            futures.append(client.submit(run_on_worker, *given, pure=False))
        try:
            for future in as_completed(futures):
                write_record(folder, *future.result())
                yield
        finally:
            client.cancel(futures)


def run_on_worker(run: Run, table: Table, key: str, code: str, own: Any) -> Any:
    """Do a run on a worker of a cluster; return its record, by the key that was given."""
    if code != method():
        raise RuntimeError(
            f"a Dask worker has other code of efcml, {method()}, than this process, {code}:"
            " install the same one everywhere."
        )
    take_over(own)
    # For good: a thread that puts the number back would change it for the worker's other threads.
    for pool in blas_pools():
        pool.set_num_threads(1)
    facts, result = do_run(replace(run, table=table))
    return facts | {"key": key}, result
