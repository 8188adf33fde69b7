"""Where the tasks of a search run: in this process, in several, or on a Dask cluster.

Every backend yields records as they are finished. A record does not depend on where it was made.
"""

from contextlib import contextmanager

from joblib import Parallel, delayed

from efcml.tuning.task import run_task


def run_local(tasks, jobs, *rest):
    """Yield records from ``jobs`` processes of this machine; ``rest`` goes to every task."""
    if jobs == 1:
        for task in tasks:
            yield run_task(task, *rest)
        return
    # Processes, not threads: kernels of several threads would share one thread's worth of Python.
    work = (delayed(run_task)(task, *rest) for task in tasks)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(work)


def run_dask(tasks, address, *rest):
    """Yield records from the workers of a Dask cluster.

    ``address`` is that of a scheduler, or a ``distributed.Client``. Tasks of a worker that is lost
    are run again by others, and so is the hand-over of the data, which is a task like any other.
    """
    with connected(address) as client:
        from distributed import as_completed

        shared = client.submit(as_it_is, rest, key=f"efcml-data-{id(rest)}", pure=False)
        futures = [client.submit(run_on_worker, task, shared, pure=False) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            client.cancel([*futures, shared])


@contextmanager
def connected(address):
    """Give the client of a cluster; close it afterwards if it was opened here."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError(
            "a Dask cluster needs the extra: pip install 'efcml[distributed]'."
        ) from None
    if isinstance(address, Client):
        yield address
        return
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address!r} ({error}).") from None
    with client:
        yield client


def as_it_is(value):
    """Return the value; what a worker keeps for all of its tasks."""
    return value


def run_on_worker(task, shared):
    """Run a task with what all tasks share."""
    return run_task(task, *shared)
