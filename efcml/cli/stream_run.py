"""A pass over a stream that can stop after any block of rows, and go on later as if it had not."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.evaluation import PrequentialResult
from efcml.evaluation.stream_pass import begin_pass
from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from types import FrameType

    from efcml.active import ActiveLearner
    from efcml.evaluation.stream_pass import StreamPass
    from efcml.support.aliases import Floats

BY_ROW = ("scores", "rules", "queried", "decisions", "probabilities")  # arrays of a record


class StreamRun:
    """A model on its way through a stream, and what was recorded so far.

    A model gives the same bits whatever the blocks are, so a run that was kept in a file after some
    block ends like one that was never interrupted.
    """

    def __init__(
        self, model: Any, active: ActiveLearner | None, X: Floats, Y: Floats, *, learn: bool
    ) -> None:
        self.model, self.active, self.learn = model, active, learn
        self.X, self.Y = X, Y
        by_label = active is not None and active.unit == "labels"
        none = np.zeros(0, dtype=np.bool_)
        self.earlier = PrequentialResult(  # what a file had
            Y=Y[:0],
            scores=np.zeros(Y[:0].shape),
            rules=np.zeros(0, dtype=np.int64),
            queried=none.reshape(Y[:0].shape) if by_label else none,
            events=(),
            seconds=0.0,
            decisions=none.reshape(Y[:0].shape),
            probabilities=np.zeros(Y[:0].shape),
        )
        self.rest: StreamPass | None = None  # what is done since then
        self.done = 0  # rows

    @property
    def finished(self) -> bool:
        """Whether all rows are done."""
        return self.done == len(self.Y)

    def go_on(self, after_block: Callable[[], object], stop: StopLater) -> None:
        """Run the rest of the stream, or until a stop is wanted; ``after_block()`` in between."""
        if self.finished or stop.wanted:
            return
        rows = slice(self.done, None)
        self.rest = begin_pass(
            self.model, self.X[rows], self.Y[rows], self.active, learn=self.learn
        )
        with progress_bar(len(self.Y), "learning", initial=self.done) as bar, suppress(_Stopped):

            def told(rows: int) -> None:
                self.done += rows
                bar.update(rows)
                after_block()
                if stop.wanted and not self.finished:
                    raise _Stopped

            self.rest.go(after_block=told)

    def result(self) -> PrequentialResult:
        """Return what `prequential` would have returned for the rows done."""
        if self.rest is None:
            return self.earlier
        first = len(self.earlier.Y)
        return join(self.earlier, self.rest.result(self.done - first))


class _Stopped(Exception):
    """A stop is wanted, and no row is half done."""


def join(first: PrequentialResult, then: PrequentialResult) -> PrequentialResult:
    """Return what happened in two parts of a stream, as of one."""
    rows = len(first.Y)
    if rows == 0:
        return then
    clipped = then.clipped
    if clipped is not None and first.clipped is not None:
        clipped = first.clipped + clipped
    later = tuple((rows + row, kind, uid) for row, kind, uid in then.events)
    return PrequentialResult(
        events=first.events + later,
        seconds=first.seconds + then.seconds,
        clipped=clipped,
        **{
            name: np.concatenate([getattr(first, name), getattr(then, name)])
            for name in ("Y", *BY_ROW)
        },
    )


class StopLater:
    """While it is entered, the first Ctrl-C only sets ``wanted``; the second stops at once."""

    def __init__(self) -> None:
        self.wanted = False
        self.before: Any = None

    def __enter__(self) -> Self:
        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
