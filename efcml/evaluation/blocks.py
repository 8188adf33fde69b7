"""The loop over the rows of a stream, in blocks: an interrupt leaves whole ones behind."""

import time
from collections.abc import Callable
from typing import TypeAlias

from efcml.model.trace import Trace
from efcml.support.guard import interrupts_held

AfterBlock: TypeAlias = Callable[[int], object]  # gets the number of rows of the block

FIRST_BLOCK = 32  # rows
MOST_GROWTH = 4  # of a block over the one before
SECONDS_PER_BLOCK = 0.5  # so a bar moves, and an interrupt or a checkpoint need not wait for long


def in_blocks(
    n: int,
    run: Callable[[slice], object],
    trace: Trace,
    after_block: AfterBlock,
    *,
    border: int = 0,
) -> None:
    """Call ``run(block)`` for slices of n rows in order, and note its time in the trace.

    No block crosses the border. An interrupt waits for the end of a block, and of
    ``after_block(rows)``, which may break off, too: no row is lost.
    """
    low, size = 0, FIRST_BLOCK
    while low < n:
        high = min(low + size, border if low < border else n)
        with interrupts_held():
            begin = time.perf_counter()
            run(slice(low, high))
            spent = time.perf_counter() - begin
            trace.seconds += spent
            size = next_size(size, high - low, spent)
            after_block(high - low)
        low = high


def next_size(size: int, rows: int, seconds: float) -> int:
    """Return how many rows come next, after a block that took so many seconds."""
    wanted = SECONDS_PER_BLOCK * rows / max(seconds, 1e-9)
    return max(1, int(min(wanted, MOST_GROWTH * size)))
