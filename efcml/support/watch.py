"""Bars whose clock goes on while nothing is finished: a person sees that something is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from tqdm import tqdm

EVERY = 0.5  # seconds


@contextmanager
def busy(what: str, show: bool | None = None) -> Iterator[None]:
    """Show what is done and for how long, where nobody knows how long it takes."""
    with progress_bar(None, what, show=show, bar_format="{desc} [{elapsed}]") as bar, ticking(bar):
        yield


@contextmanager
def ticking(bar: tqdm, count: Callable[[], int] | None = None) -> Iterator[None]:
    """Draw a bar anew now and then while the block runs; ``count`` looks up how much is done."""
    if bar.disable:
        yield
        return
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(EVERY):
            bar.n = bar.n if count is None else count()
            redraw(bar)

    thread = threading.Thread(target=tick, name="efcml-clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def redraw(bar: tqdm) -> None:
    """Draw a bar anew, unless it is to wait: what ends before its delay leaves nothing behind."""
    if time.time() >= bar.start_t + bar.delay:
        bar.refresh()
