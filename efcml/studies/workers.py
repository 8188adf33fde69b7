"""Where runs are done: in this process, in several, or on a Dask cluster; and how far they are.

The result does not depend on it. What was done is kept as soon as it is done, however it ends.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from multiprocessing import current_process
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.process_executor import BrokenProcessPool

from efcml import __version__
from efcml.evaluation.pipelines import last_step
from efcml.model.warm import warmup
from efcml.seams import register_all, registered
from efcml.studies.runs import Run, RunCache, Table, do_run, forget_fitted, write_record
from efcml.support.guard import blas_pools
from efcml.support.imports import extra_for
from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    Progress: TypeAlias = bool | Callable[[str], object] | None

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}, {remaining} left]"
TICK = 0.5  # seconds between two looks at what is done
LOOK_EVERY = 0.5  # seconds between two looks at the process that started this one
LINE_EVERY = 30.0  # seconds between two lines in a log
ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer
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
    for run in missing:
        cache.file(run).unlink(missing_ok=True)  # one that was cut

    def done() -> int:
        return sum(cache.file(run).exists() for run in missing)

    places = {key: place for place, key in enumerate(dict.fromkeys(r.fit_key for r in missing))}
    missing.sort(key=lambda run: places[run.fit_key])  # neighbours share a fitted model
    try:
        ours = any(hasattr(last_step(run.model), "begin_stream") for run in missing)
        if dask is None and ours:  # once, not in every process
            warmup(rare=False)
        with followed(title, len(missing), done, progress):
            if dask is not None:
                for facts, result in run_dask(missing, dask):
                    write_record(cache.folder, facts, result)
            elif jobs == 1:
                for run in missing:
                    write_record(cache.folder, *do_run(run))
            else:
                run_processes(missing, cache.folder, jobs)
    except KeyboardInterrupt:
        raise RunsInterrupted(f"after {done()} of {len(missing)} runs") from None
    finally:
        forget_fitted()


def check_backend(jobs: Any, dask: Any) -> None:
    """Refuse numbers of processes that make no sense, and two backends at once."""
    if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs < -1 or jobs == 0:
        raise ValueError(f"jobs must be a number of processes, or -1 for every core; got {jobs!r}.")
    if dask is not None and jobs != 1:
        raise ValueError("give either jobs or dask: a cluster has as many workers as you start.")


@contextmanager
def followed(title: str, total: int, done: Callable[[], int], progress: Progress) -> Iterator[None]:
    """Show how far runs are while the block runs: by a bar, or by a line now and then."""
    begin, ended, lines = time.monotonic(), threading.Event(), callable(progress)
    show = False if callable(progress) else progress
    bar = progress_bar(total, title, unit="run", show=show, bar_format=BAR, smoothing=0)

    def follow() -> None:
        while not ended.wait(LINE_EVERY if lines else TICK):
            if callable(progress):
                spent = in_words(time.monotonic() - begin)
                progress(f"{title}: {done()} of {total} runs after {spent}")
            else:
                bar.n = done()
                bar.refresh()

    thread = threading.Thread(target=follow, daemon=True)
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


def run_processes(runs: Sequence[Run], folder: Path, jobs: int) -> None:
    """Do runs in several processes, each of which writes its records itself.

    Not in threads: between two events of a stream Python works, one thread at a time.
    """
    known = folder, os.getpid(), registered()
    work = (delayed(run_there)(run, *known) for run in runs)
    # Of one fitted model a process takes as many as it can without leaving others idle.
    fits = len({run.fit_key for run in runs})
    at_once = -(-len(runs) // max(fits, effective_n_jobs(jobs)))
    with warnings.catch_warnings():
        # Advice to plan better, when a worker ends by itself or after Ctrl-C.
        warnings.filterwarnings("ignore", "A worker stopped while", UserWarning)
        warnings.filterwarnings("ignore", r"(?s).*tasks .*(not used|cancelled)", UserWarning)
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=at_once)
        with closing(pool(work)) as ended:  # at once, also after Ctrl-C: this ends the processes
            try:
                for _ in ended:
                    pass
            except BrokenProcessPool:
                raise RuntimeError(
                    "a process was ended from outside, perhaps for want of memory: try again with"
                    " fewer jobs."
                ) from None


def run_there(run: Run, folder: Path, parent: int, functions: Any) -> None:
    """Do a run in a process that ``parent`` started; ``functions`` are registered there."""
    register_all(functions)
    if current_process().name != "MainProcess":
        end_with(parent)
    write_record(folder, *do_run(run))


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


def run_dask(runs: Sequence[Run], address: Any) -> Iterator[Any]:
    """Yield records from a cluster: the address of a scheduler, a cluster or a client.

    Runs of a worker that is lost are done again by others, and so is the hand-over of the tables,
    which is a task like any other: scattered data would be gone with the workers that hold them.
    """
    with extra_for("a Dask cluster"):
        from distributed import CancelledError, Client, KilledWorker, as_completed
    futures, nothing = [], Table(None, None)
    with open_client(Client, address) as client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                tables = {run.table.key: run.table for run in runs}
                shared = {
                    key: client.submit(Table, one.X, one.Y, pure=False)
                    for key, one in tables.items()
                }
                for run in runs:
                    given = replace(run, table=nothing), shared[run.table.key], run.key, __version__
                    futures.append(client.submit(run_on_worker, *given, pure=False))
            for future in as_completed(futures):
                yield future.result()
        except TimeoutError:
            raise RuntimeError(
                f"the Dask cluster had no worker for {PATIENCE:g} seconds: start some with"
                " `dask worker ADDRESS` and try again."
            ) from None
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
        finally:
            client.cancel(futures)


def open_client(kind: Any, address: Any) -> Any:
    """Return a client of a cluster for a ``with`` block, which closes it if it is new."""
    if isinstance(address, kind):
        if address.asynchronous:
            raise ValueError("the Dask client is asynchronous: give the scheduler's address.")
        return nullcontext(address)
    try:
        return kind(address, timeout=ANSWER_WITHIN)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"no Dask scheduler answers at {address!r} ({reason}): start one with"
            " `dask scheduler` and give the address that it prints."
        ) from None


def run_on_worker(run: Run, table: Table, key: str, version: str) -> Any:
    """Do a run on a worker of a cluster; return its record, by the key that was given."""
    if version != __version__:
        raise RuntimeError(
            f"a Dask worker has efcml {__version__}, this was started with {version}:"
            " install the same one everywhere."
        )
    # For good: a thread that puts the number back would change it for the worker's other threads.
    for pool in blas_pools():
        pool.set_num_threads(1)
    facts, result = do_run(replace(run, table=table))
    return facts | {"key": key}, result
