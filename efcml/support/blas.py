"""One BLAS thread while rows are learned.

The products of one row are small: handing them to several threads costs more than it saves, many
times more when the machine is busy, and makes the last digits depend on the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread within this block; then as many as before.

    The number belongs to the process: of several threads that are in such blocks at a time, the
    last one that leaves puts it back.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


_counting = threading.Lock()
_inside = 0  # blocks entered and not yet left
_changed: list[tuple[Any, int]] = []  # (pool, number of threads before)


def _enter() -> None:
    global _inside
    with _counting:
        _inside += 1
        if _inside == 1:
            found = [(pool, pool.get_num_threads()) for pool in blas_pools()]
            _changed[:] = [(pool, number) for pool, number in found if number != 1]
            for pool, _ in _changed:
                pool.set_num_threads(1)


def _leave() -> None:
    global _inside
    with _counting:
        _inside -= 1
        if _inside == 0:
            for pool, number in _changed:
                pool.set_num_threads(number)


@cache
def blas_pools() -> tuple[Any, ...]:
    """Return what controls the thread pools of the BLAS libraries that are loaded."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
