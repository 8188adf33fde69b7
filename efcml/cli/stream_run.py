"""A pass over a stream that can stop after any block of rows, and go on later as if it had not."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.evaluation import PrequentialResult, prequential
from efcml.model.clipping import ClippingWarning
from efcml.support.pacing import Pace
from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from types import FrameType

    from efcml.active import ActiveLearner
    from efcml.support.aliases import Floats

BY_ROW = ("scores", "rules", "queried", "decisions", "probabilities")  # arrays of a record


class StreamRun:
    """A model on its way through a stream, and what was recorded so far.

    Blocks of rows go through `prequential`. It gives the same bits whatever the blocks are, so a
    run that was kept in a file after some block ends like one that was never interrupted.
    """

    def __init__(
        self, model: Any, active: ActiveLearner | None, X: Floats, Y: Floats, *, learn: bool
    ) -> None:
        self.model, self.active, self.learn = model, active, learn
        self.X, self.Y = X, Y
        by_label = active is not None and active.unit == "labels"
        self.scores, self.probabilities = np.zeros((2, *Y.shape))
        self.decisions = np.zeros(Y.shape, dtype=np.bool_)
        self.rules = np.zeros(len(Y), dtype=np.int64)
        self.queried = np.zeros(Y.shape if by_label else len(Y), dtype=np.bool_)
        self.events: list[tuple[int, str, int]] = []
        self.seconds = 0.0
        self.done = 0  # rows
        self.clipped: Floats | None = None

    @property
    def finished(self) -> bool:
        """Whether all rows are done."""
        return self.done == len(self.Y)

    def go_on(self, size: int) -> None:
        """Run the next rows, at most so many."""
        rows = slice(self.done, min(self.done + size, len(self.Y)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippingWarning)  # the whole run is judged, at its end
            part = prequential(
                self.model,
                self.X[rows],
                self.Y[rows],
                active=self.active,
                learn=self.learn,
                progress=False,
            )
        for name in BY_ROW:
            getattr(self, name)[rows] = getattr(part, name)
        self.events += [(rows.start + row, kind, uid) for row, kind, uid in part.events]
        self.seconds += part.seconds
        if part.clipped is not None:
            self.clipped = part.clipped + (0.0 if self.clipped is None else self.clipped)
        self.done = rows.stop

    def result(self) -> PrequentialResult:
        """Return what `prequential` would have returned for the rows done."""
        rows = slice(0, self.done)
        return PrequentialResult(
            Y=self.Y[rows],
            events=tuple(self.events),
            seconds=self.seconds,
            clipped=self.clipped,
            **{name: getattr(self, name)[rows] for name in BY_ROW},
        )


def run_to_the_end(run: StreamRun, after_block: Callable[[], object], stop: StopLater) -> None:
    """Run the rest of a stream, or until a stop is wanted; call ``after_block()`` in between."""
    pace = Pace()
    with progress_bar(len(run.Y), "learning", initial=run.done) as bar:
        while not (run.finished or stop.wanted):
            before, begin = run.done, time.perf_counter()
            run.go_on(pace.size)
            spent = time.perf_counter() - begin
            bar.update(run.done - before)
            after_block()
            pace.follow(run.done - before, spent)


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
