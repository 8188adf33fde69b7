"""One BLAS thread while rows are learned.

The products of one row are small: handing them to several threads costs more than it saves, many
times more when the machine is busy, and makes the last digits depend on the number of threads.
"""

from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread():
    """Let BLAS use one thread within this block; then as many as before.

    The number belongs to the process. A program that learns in several threads at once sets
    OPENBLAS_NUM_THREADS=1 for itself, as Dask does for its workers.
    """
    pools = [pool for pool in blas_pools() if pool.get_num_threads() != 1]
    before = [pool.get_num_threads() for pool in pools]
    try:
        for pool in pools:
            pool.set_num_threads(1)
        yield
    finally:
        for pool, number in zip(pools, before, strict=True):
            pool.set_num_threads(number)


@cache
def blas_pools():
    """Return what controls the thread pools of the BLAS libraries that are loaded."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
