"""Streams through models with a learner: the loop over rows is the learner's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from efcml.model.trace import Trace
from efcml.support.pacing import Pace

if TYPE_CHECKING:
    from tqdm import tqdm

    from efcml.support.aliases import Floats

COPIES_PER_BLOCK = 10  # at least as long as so many copies of the learner take


def run_learner(
    learner: Any, X: Floats, Y: Floats, *, learn: bool, delay: int, bar: tqdm
) -> tuple[Trace, float]:
    """Score and learn all rows; return the trace and the seconds it took.

    Rows go through in blocks, so that the bar moves. A learner gives the same bits whatever the
    blocks are. If something breaks off, it is left as it was after the last whole block.
    """
    trace = Trace.for_rows(len(X), Y.shape[1])
    if not learn:
        begin = time.perf_counter()
        answer_rows(learner, X, trace, slice(None))
        trace.rules[:] = learner.n_rules
        count_clipped(learner, X, trace)
        bar.update(len(X))
        return trace, time.perf_counter() - begin
    begin = time.perf_counter()
    answer_rows(learner, X[:delay], trace, slice(delay))
    seconds = time.perf_counter() - begin
    # Row t + delay is scored before row t is learned; for the last rows nothing is left to score.
    watched = max(len(X) - delay, 0)

    def run(block: slice) -> float:
        return run_block(learner, X, Y, block, delay, trace)

    return trace, seconds + in_blocks(learner, len(X), run, bar=bar, border=watched)


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
        trace.add_clipped(scaler.count_clipped(scaler.transform(X)))


def in_blocks(
    learner: Any, n: int, run: Callable[[slice], float], *, bar: tqdm, border: int = 0
) -> float:
    """Call ``run(block)`` for slices of n rows in order; return the sum of the seconds it returns.

    No block crosses the border. If ``run`` raises, the learner is put back to where it was before
    that block.
    """
    seconds = 0.0
    low, pace = 0, Pace()
    while low < n:
        end = border if low < border else n
        high = min(low + pace.size, end)
        begin = time.perf_counter()
        before = learner.copy()
        copying = time.perf_counter() - begin
        with put_back_if_it_fails(learner, before):
            spent = run(slice(low, high))
        bar.update(high - low)
        seconds += spent
        pace.follow(high - low, spent, least=COPIES_PER_BLOCK * copying)
        low = high
    return seconds


def run_block(learner: Any, X: Floats, Y: Floats, block: slice, delay: int, trace: Trace) -> float:
    """Learn one block, score the rows that are ``delay`` ahead, and return the seconds."""
    low, high = block.start, block.stop
    part = Trace.for_rows(high - low, Y.shape[1])
    ahead = slice(low + delay, high + delay)
    if ahead.stop <= len(X):
        part.watch(trace, ahead)
        part.rows, part.ahead = X[ahead] if delay else None, delay
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
        vars(learner).update(vars(before))
        raise
