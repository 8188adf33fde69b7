"""Tasks in this process or in several; `cluster` has them on Dask.

Records come as they are finished. A record does not depend on where it was made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool


def run_local(
    tasks: Iterable[Any], jobs: int, *rest: Any, function: Callable[..., Any]
) -> Generator[Any, None, None]:
    """Yield ``function(task, *rest)`` of all tasks, from ``jobs`` processes of this machine."""
    if jobs == 1:
        for task in tasks:
            yield function(task, *rest)
        return
    # Processes, not threads: between two events of a stream Python works, one thread at a time.
    work = (delayed(function)(task, *rest) for task in tasks)
    # Not "auto" batches: a task takes seconds, and what is done should be known soon.
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    with closing_quietly(pool(work)) as records:
        try:
            for record in records:  # noqa: UP028 - `yield from` would close them itself, loudly
                yield record
        except BrokenProcessPool:
            raise RuntimeError(
                "a process was ended from outside, perhaps for want of memory: try again with"
                " fewer jobs."
            ) from None


@contextmanager
def closing_quietly(generator: Generator[Any, None, None]) -> Iterator[Generator[Any, None, None]]:
    """Close joblib's generator, which ends its processes, without its advice to plan better."""
    try:
        yield generator
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"(?s).*tasks .*(not used|cancelled)", UserWarning)
            generator.close()
