"""Tasks on a Dask cluster.

Tasks of a worker that is lost are run again by others, and so is the hand-over of the data, which
is a task like any other.
"""

from __future__ import annotations

import queue
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from efcml import __version__
from efcml.support.blas import blas_pools
from efcml.support.extras import extra_for

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_WITHIN = 10.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds without any worker before giving up
LOOK_EVERY = 2.0  # seconds between two looks at the workers while nothing is finished


def run_dask(
    tasks: Sequence[Any], address: Any, *rest: Any, function: Callable[..., Any]
) -> Generator[Any, None, None]:
    """Yield ``function(task, *rest)`` of all tasks, from the workers of a cluster.

    ``address`` is that of a scheduler, or a cluster object, or a ``distributed.Client``.
    """
    if not tasks:
        return
    with connected(address) as client:
        with warnings.catch_warnings():
            # Data that were scattered instead would be gone with the workers that hold them.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            shared = client.submit(as_it_is, rest, pure=False)
            futures = [
                client.submit(run_on_worker, task, __version__, shared, function, pure=False)
                for task in tasks
            ]
        try:
            for future in finished(client, futures):
                yield result_of(future)
        finally:
            client.cancel([*futures, shared])


@contextmanager
def connected(address: Any) -> Iterator[Client]:
    """Give the client of a cluster; close it afterwards if it was opened here."""
    Client = find_client()
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


def find_client() -> type[Client]:
    """Return the class of Dask's clients, or say how to get it."""
    with extra_for("a Dask cluster"):
        from distributed import Client
    return Client


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
            alone_since = None if has_workers(client) else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since >= PATIENCE:
                raise RuntimeError(
                    f"the Dask cluster had no worker for {PATIENCE:g} seconds: start some with"
                    " `dask worker ADDRESS` and try again."
                ) from None


def has_workers(client: Client) -> bool:
    """Tell whether the cluster has workers now."""
    try:
        return bool(client.nthreads())
    except OSError as error:
        raise lost(error) from None


def result_of(future: Future) -> Any:
    """Return the record of a finished task, or raise in one line why there is none."""
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except CancelledError as error:
        raise lost(error) from None
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


def lost(error: BaseException) -> RuntimeError:
    """Return the error for a scheduler that is gone."""
    reason = str(error).partition("\n")[0]
    return RuntimeError(f"the Dask scheduler was lost ({reason}): try again when it is back.")


# -- on a worker ----------------------------------------------------------------------------


def as_it_is(value: Any) -> Any:
    """Return the value; what a worker keeps for all of its tasks."""
    return value


def run_on_worker(
    task: Any, version: str, shared: tuple[Any, ...], function: Callable[..., Any]
) -> Any:
    """Run a task with what all tasks share."""
    if version != __version__:
        raise RuntimeError(
            f"a Dask worker has efcml {__version__}, this was started with {version}:"
            " install the same one everywhere."
        )
    # For good: a thread that puts the number back would change it for the worker's other threads.
    for pool in blas_pools():
        pool.set_num_threads(1)
    return function(task, *shared)
