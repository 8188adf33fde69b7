"""Where runs are done: in this process, in several, or on a Dask cluster; and how far they are.

The result does not depend on it. Runs of one fitted model are done together, as a batch. Processes
of this machine write records themselves, so what was done is kept, however it ends.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing import current_process
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.process_executor import BrokenProcessPool

from efcml import __version__
from efcml.evaluation.pipelines import last_step
from efcml.seams import register_all, registered
from efcml.studies.runs import Run, RunCache, Table, do_runs, write_record
from efcml.support.guard import blas_pools
from efcml.support.imports import extra_for
from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from distributed import Client, Future

    Progress: TypeAlias = bool | Callable[[str], object] | None

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}, {remaining} left]"
LOOK_EVERY = 0.5  # seconds between two looks at a cluster, or at the process that started this one
TICK = 0.5  # seconds between two looks at what is done
LINE_EVERY = 30.0  # seconds between two lines in a log
ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds without any worker of a cluster before giving up


class RunsInterrupted(KeyboardInterrupt):
    """Ctrl-C during runs; what was done is kept."""


def complete(
    cache: RunCache,
    runs: Sequence[Run],
    title: str,
    *,
    jobs: int = 1,
    dask: Any = None,
    progress: Progress = None,
) -> None:
    """Do the runs that are missing and keep each as soon as it is done.

    ``progress`` is whether to show a bar (None: on a terminal and in a notebook), or a function
    that gets a line now and then, for logs.
    """
    check_backend(jobs, dask)
    missing = list({run.key: run for run in runs if run not in cache}.values())
    if not missing:
        return
    for run in missing:
        cache.file(run).unlink(missing_ok=True)  # one that was cut

    def done() -> int:
        return sum(cache.file(run).exists() for run in missing)

    batches = in_batches(missing, effective_n_jobs(jobs) if dask is None else 1)
    try:
        if dask is None:
            compile_before(missing)
        with followed(title, len(missing), done, progress):
            if dask is None:
                run_local(batches, cache.folder, jobs)
            else:
                for facts, result in run_dask(batches, dask):
                    write_record(cache.folder, facts, result)
    except KeyboardInterrupt:
        raise RunsInterrupted(f"after {done()} of {len(missing)} runs") from None


def check_backend(jobs: Any, dask: Any) -> None:
    """Refuse numbers of processes that make no sense, and two backends at once."""
    if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs < -1 or jobs == 0:
        raise ValueError(f"jobs must be a number of processes, or -1 for every core; got {jobs!r}.")
    if dask is not None and jobs != 1:
        raise ValueError("give either jobs or dask: a cluster has as many workers as you start.")


def in_batches(runs: Sequence[Run], workers: int) -> list[list[Run]]:
    """Return runs by their fitted model, for at least so many workers if there are as many runs.

    Parts of a batch are fitted one by one. Long ones come first, so that no worker is busy with one
    while the others have ended.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.fit_key, []).append(run)
    batches = list(groups.values())
    while len(batches) < min(workers, len(runs)):
        batches.sort(key=len)
        longest = batches.pop()
        middle = len(longest) // 2
        batches += [longest[:middle], longest[middle:]]
    return sorted(batches, key=len, reverse=True) if workers > 1 else batches


def compile_before(runs: Sequence[Run]) -> None:
    """Compile once, not in every process."""
    ours = [run for run in runs if hasattr(last_step(run.model), "begin_stream")]
    if ours:
        from efcml.model.warm import warmup

        warmup(asks=any(run.active is not None for run in ours), rare=False)


@contextmanager
def followed(title: str, total: int, done: Callable[[], int], progress: Progress) -> Iterator[None]:
    """Show how far runs are while the block runs: by a bar, or by a line now and then."""
    begin, ended, lines = time.monotonic(), threading.Event(), callable(progress)
    bar = progress_bar(
        total,
        title,
        unit="run",
        show=False if callable(progress) else progress,
        bar_format=BAR,
        smoothing=0,
    )

    def show() -> None:
        while not ended.wait(LINE_EVERY if lines else TICK):
            if callable(progress):
                spent = in_words(time.monotonic() - begin)
                progress(f"{title}: {done()} of {total} runs after {spent}")
            else:
                bar.n = done()
                bar.refresh()

    thread = threading.Thread(target=show, daemon=True)
    with bar:
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def in_words(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# -- processes of this machine --------------------------------------------------------------


def run_local(batches: Sequence[Sequence[Run]], folder: Path, jobs: int) -> None:
    """Do batches in this process, or in several."""
    if jobs == 1:
        for batch in batches:
            run_batch(batch, folder)
        return
    # Processes, not threads: between two events of a stream Python works, one thread at a time.
    known = os.getpid(), registered()
    work = (delayed(run_batch)(batch, folder, *known) for batch in batches)
    with warnings.catch_warnings():
        # Advice to plan better, when a worker ends by itself or after Ctrl-C.
        warnings.filterwarnings("ignore", "A worker stopped while", UserWarning)
        warnings.filterwarnings("ignore", r"(?s).*tasks .*(not used|cancelled)", UserWarning)
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        with closing(pool(work)) as ended:  # at once, also after Ctrl-C: this ends the processes
            try:
                for _ in ended:
                    pass
            except BrokenProcessPool:
                raise RuntimeError(
                    "a process was ended from outside, perhaps for want of memory: try again with"
                    " fewer jobs."
                ) from None


def run_batch(
    batch: Sequence[Run], folder: Path, parent: int | None = None, functions: Any = None
) -> None:
    """Do runs that share a fitted model, and write their records.

    In another process: ``parent`` started it, and ``functions`` are registered there.
    """
    register_all(functions or {})
    if parent is not None and current_process().name != "MainProcess":
        end_with(parent)
    for facts, result in do_runs(batch):
        write_record(folder, facts, result)


_watched: set[int] = set()


def end_with(parent: int) -> None:
    """End this process soon after the one that started it, even if that was killed."""
    if parent in _watched or os.getppid() != parent:
        return
    _watched.add(parent)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# -- a Dask cluster -------------------------------------------------------------------------
#
# Batches of a worker that is lost are run again by others, and so is the hand-over of the tables,
# which is a task like any other.


def run_dask(batches: Sequence[Sequence[Run]], address: Any) -> Iterator[Any]:
    """Yield records from a cluster: the address of a scheduler, a cluster or a client."""
    tables = {run.table.key: run.table for batch in batches for run in batch}
    nothing = Table(None, None)
    parts = [
        [(replace(run, table=nothing), run.table.key, run.key) for run in batch]
        for batch in batches
    ]
    with connected(address) as client:
        with warnings.catch_warnings():
            # Data that were scattered instead would be gone with the workers that hold them.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            shared = client.submit(as_it_is, tables, pure=False)
            futures = [
                client.submit(run_on_worker, part, __version__, shared, pure=False)
                for part in parts
            ]
        try:
            for future in finished(client, futures):
                yield from result_of(future)
        finally:
            client.cancel([*futures, shared])


def as_it_is(value: Any) -> Any:
    """Return the value; what a worker keeps for all of its tasks."""
    return value


def run_on_worker(batch: list[tuple[Run, str, str]], version: str, tables: Any) -> list[Any]:
    """Do a batch on a worker of a cluster; return its records, by the keys that were given."""
    if version != __version__:
        raise RuntimeError(
            f"a Dask worker has efcml {__version__}, this was started with {version}:"
            " install the same one everywhere."
        )
    # For good: a thread that puts the number back would change it for the worker's other threads.
    for pool in blas_pools():
        pool.set_num_threads(1)
    records = do_runs([replace(run, table=tables[table]) for run, table, _ in batch])
    pairs = zip(records, batch, strict=True)
    return [(facts | {"key": key}, result) for (facts, result), (*_, key) in pairs]


@contextmanager
def connected(address: Any) -> Iterator[Client]:
    """Give the client of a cluster; close it afterwards if it was opened here."""
    with extra_for("a Dask cluster"):
        from distributed import Client
    if isinstance(address, Client):
        if address.asynchronous:
            raise ValueError("the Dask client is asynchronous: give the scheduler's address.")
        yield address
        return
    try:
        client = Client(address, timeout=ANSWER_WITHIN)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"no Dask scheduler answers at {address!r} ({reason}): start one with"
            " `dask scheduler` and give the address that it prints."
        ) from None
    with client:
        yield client


def finished(client: Client, futures: Sequence[Future]) -> Iterator[Future]:
    """Yield futures as they are finished; give up when the cluster has no worker for long."""
    ready: queue.SimpleQueue[Future] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(ready.put)
    left, alone_since = len(futures), None
    while left:
        try:
            yield ready.get(timeout=LOOK_EVERY)
            left, alone_since = left - 1, None
        except queue.Empty:
            with explained():
                alone_since = None if client.nthreads() else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since >= PATIENCE:
                raise RuntimeError(
                    f"the Dask cluster had no worker for {PATIENCE:g} seconds: start some with"
                    " `dask worker ADDRESS` and try again."
                ) from None


def result_of(future: Future) -> Any:
    """Return what a finished task gave, or raise in one line why it gave nothing."""
    with explained():
        return future.result()


@contextmanager
def explained() -> Iterator[None]:
    """Say in one line what is wrong with a cluster."""
    from distributed import CancelledError, KilledWorker

    try:
        yield
    except KilledWorker:
        raise RuntimeError(
            "a task ended every worker that tried it, perhaps for want of memory:"
            " give the workers more, or fewer threads."
        ) from None
    except ImportError as error:
        raise RuntimeError(
            f"the Dask cluster lacks a package ({error}): install efcml {__version__} for the"
            " scheduler and the workers."
        ) from None
    except (CancelledError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise RuntimeError(
            f"the Dask scheduler was lost ({reason}): try again when it is back."
        ) from None
