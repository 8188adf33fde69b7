"""Ctrl-C between rows, not within them.

A learner is changed in many steps: births are counted, a rule goes, another takes its place. An
interrupt in between would leave a model that no stream can make.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGINT
from typing import Any

try:
    # Those of `signal` look every handler up among its constants: ten times the time, every row.
    from _signal import getsignal, signal  # type: ignore[import-not-found]
except ImportError:
    from signal import getsignal, signal


class Waiting(list):
    """Takes the place of the handler of interrupts, and keeps what that would have been given."""

    def __call__(self, *given: Any) -> None:
        """Note an interrupt."""
        self.append(given)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let an interrupt wait until the end of the block; it is then raised as usual.

    Blocks may be nested: the outermost one counts. Keep them shorter than a person waits.

    Examples
    --------
    >>> with interrupts_held():
    ...     both = []
    ...     both.append("counted")
    ...     both.append("learned")
    """
    before = getsignal(SIGINT)
    # Elsewhere there is nothing to hold: other threads get no interrupts, and some ignore them.
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(before) or isinstance(before, Waiting):
        yield
        return
    waiting = Waiting()
    signal(SIGINT, waiting)
    try:
        yield
    finally:
        signal(SIGINT, before)
        if waiting:
            before(*waiting[0])
