"""The loop over the rows of a stream, in blocks: what breaks off leaves whole ones behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from efcml.model.trace import Trace

AfterBlock: TypeAlias = Callable[[int], object]  # gets the number of rows of the block

FIRST_BLOCK = 32  # rows
MOST_GROWTH = 4  # of a block over the one before
SECONDS_PER_BLOCK = 0.5  # so a bar moves, and an interrupt or a checkpoint need not wait for long
COPIES_PER_BLOCK = 10  # at least as long as so many copies of the learner take


def in_blocks(
    n: int,
    run: Callable[[slice], object],
    trace: Trace,
    after_block: AfterBlock,
    *,
    learner: Any = None,
    border: int = 0,
) -> None:
    """Call ``run(block)`` for slices of n rows in order, and note its time in the trace.

    No block crosses the border. If ``run`` raises, an interrupt included, the learner that it
    changes is put back to where it was before that block. ``after_block(rows)`` may break off, too:
    no row is lost then.
    """
    low, size = 0, FIRST_BLOCK
    while low < n:
        high = min(low + size, border if low < border else n)
        start = time.perf_counter()
        before = None if learner is None else learner.copy()
        begin = time.perf_counter()
        try:
            run(slice(low, high))
        except BaseException:
            if learner is not None:
                vars(learner).update(vars(before))
            raise
        spent = time.perf_counter() - begin
        trace.seconds += spent
        size = next_size(size, high - low, spent, COPIES_PER_BLOCK * (begin - start))
        after_block(high - low)
        low = high


def next_size(size: int, rows: int, seconds: float, least: float) -> int:
    """Return how many rows come next, after a block; they are to take at least so many seconds."""
    wanted = max(SECONDS_PER_BLOCK, least) * rows / max(seconds, 1e-9)
    return max(1, int(min(wanted, MOST_GROWTH * size)))
