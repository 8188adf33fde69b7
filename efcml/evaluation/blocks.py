"""The loop over the rows of a stream, in blocks: an interrupt leaves whole ones behind."""

from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

from efcml.model.trace import Trace
from efcml.support.guard import interrupts_held

AfterBlock: TypeAlias = Callable[[int], object]  # gets the number of rows of the block

ROWS, FEW = 128, 8  # of a block


def in_blocks(
    n: int,
    run: Callable[[slice], object],
    trace: Trace,
    after_block: AfterBlock,
    *,
    few: bool = False,
    border: int = 0,
) -> None:
    """Call ``run(block)`` for slices of n rows in order, and note its time in the trace.

    Where rows may take long, a block has ``few``. No block crosses the border. An interrupt waits
    for the end of a block, and of ``after_block(rows)``, which may break off, too: no row is lost.
    """
    low, size = 0, FEW if few else ROWS
    while low < n:
        high = min(low + size, border if low < border else n)
        with interrupts_held():
            begin = perf_counter()
            run(slice(low, high))
            trace.seconds += perf_counter() - begin
            after_block(high - low)
        low = high
