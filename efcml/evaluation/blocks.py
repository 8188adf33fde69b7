"""The loop over the rows of a stream, in blocks: what breaks off leaves whole ones behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from efcml.support.pacing import Pace

if TYPE_CHECKING:
    from efcml.model.trace import Trace

AfterBlock: TypeAlias = Callable[[int], object]  # gets the number of rows of the block

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
    low, pace = 0, Pace()
    while low < n:
        high = min(low + pace.size, border if low < border else n)
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
        pace.follow(high - low, spent, least=COPIES_PER_BLOCK * (begin - start))
        after_block(high - low)
        low = high
