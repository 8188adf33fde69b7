"""Streams through models with a learner: the loop over rows is the learner's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from efcml.model.trace import Trace

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

AfterBlock: TypeAlias = Callable[[int], object]  # is told how many rows the block had

FIRST_BLOCK = 32  # rows
MOST_GROWTH = 4  # of a block over the one before
SECONDS_PER_BLOCK = 0.5  # so a bar moves, and an interrupt or a checkpoint need not wait for long
COPIES_PER_BLOCK = 10  # at least as long as so many copies of the learner take


def run_learner(
    learner: Any,
    X: Floats,
    Y: Floats,
    trace: Trace,
    *,
    learn: bool,
    delay: int,
    after_block: AfterBlock,
) -> None:
    """Score and learn all rows, and note in the trace what happens.

    Rows go through in blocks. A learner gives the same bits whatever the blocks are. If something
    breaks off, it is left as it was after the last whole block.
    """

    def answer(block: slice) -> float:
        begin = time.perf_counter()
        answer_rows(learner, X[block], trace, block)
        trace.rules[block] = learner.n_rules
        count_clipped(learner, X[block], trace)
        return time.perf_counter() - begin

    def run(block: slice) -> float:
        return run_block(learner, X, Y, block, delay, trace)

    if not learn:
        in_blocks(len(X), answer, trace, after_block)
        return
    if delay:
        begin = time.perf_counter()
        answer_rows(learner, X[:delay], trace, slice(delay))
        trace.seconds += time.perf_counter() - begin
    # Row t + delay is scored before row t is learned; for the last rows nothing is left to score.
    watched = max(len(X) - delay, 0)
    in_blocks(len(X), run, trace, after_block, learner=learner, border=watched)


def answer_rows(learner: Any, X: Floats, trace: Trace, block: slice) -> None:
    """Note what a learner says of rows that it does not learn now."""
    if hasattr(learner, "answer"):
        trace.take_answer(learner.answer(X), block)
    else:
        trace.scores[block] = learner.score(X)


def count_clipped(learner: Any, X: Floats, trace: Trace) -> None:
    """Count what a learner clips of rows that it does not learn, if it has one scale for all."""
    scaler = getattr(learner, "scaler", None)
    if scaler is not None:
        trace.add_clipped(scaler.count_clipped(X))


def in_blocks(
    n: int,
    run: Callable[[slice], float],
    trace: Trace,
    after_block: AfterBlock,
    *,
    learner: Any = None,
    border: int = 0,
) -> None:
    """Call ``run(block)``, which returns seconds, for slices of n rows in order.

    No block crosses the border. If ``run`` raises, the learner that it changes is put back to where
    it was before that block. ``after_block(rows)`` may break off, too: no row is lost then.
    """
    low, size = 0, FIRST_BLOCK
    while low < n:
        end = border if low < border else n
        high = min(low + size, end)
        begin = time.perf_counter()
        before = None if learner is None else learner.copy()
        copying = time.perf_counter() - begin
        with put_back_if_it_fails(learner, before):
            spent = run(slice(low, high))
        trace.seconds += spent
        size = next_size(size, high - low, spent, COPIES_PER_BLOCK * copying)
        after_block(high - low)
        low = high


def next_size(size: int, rows: int, seconds: float, least: float) -> int:
    """Return how many rows come next, after a block; they are to take at least so many seconds."""
    wanted = max(SECONDS_PER_BLOCK, least) * rows / max(seconds, 1e-9)
    return max(1, int(min(wanted, MOST_GROWTH * size)))


def run_block(learner: Any, X: Floats, Y: Floats, block: slice, delay: int, trace: Trace) -> float:
    """Learn one block, score the rows that are ``delay`` ahead, and return the seconds."""
    low, high = block.start, block.stop
    part = Trace.for_rows(high - low, Y.shape[1])
    part.ahead = part.delay = delay
    ahead = slice(low + delay, high + delay)
    if ahead.stop <= len(X):
        part.watch(trace, ahead)
        part.rows = X[ahead] if delay else None
    begin = time.perf_counter()
    learner.learn(X[block], Y[block], trace=part)
    seconds = time.perf_counter() - begin
    trace.rules[block] = part.rules
    trace.take_events(part, low)
    return seconds


@contextmanager
def put_back_if_it_fails(learner: Any, before: Any) -> Iterator[None]:
    """Put a learner back into an earlier state if the block raises, an interrupt included."""
    try:
        yield
    except BaseException:
        if learner is not None:
            vars(learner).update(vars(before))
        raise
