"""A progress bar for long work: shown on a terminal and in a notebook, silent in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

TICK = 0.5  # seconds between two looks at what is done


def progress_bar(
    total: int | None, label: str, *, unit: str = "row", show: bool | None = None, **options: Any
) -> tqdm:
    """Return a tqdm bar; use it in a ``with`` block and call ``update(n)``.

    Parameters
    ----------
    total : int or None
        None if the amount of work is not known.
    label : str
        What is being done.
    unit : str
    show : bool, optional
        None shows it where a person can see it.
    **options
        Further options of tqdm, such as ``unit_scale`` or ``initial``.
    """
    shown = is_watched() if show is None else show
    options |= {"total": total, "desc": label, "unit": unit, "disable": not shown, "leave": False}
    # Loaded here: the command line prints its help without.
    if in_notebook():
        from efcml.support.cellbar import CellBar

        return CellBar(**options)
    from tqdm import tqdm

    return tqdm(**options)


@contextmanager
def busy(what: str, show: bool | None = None) -> Iterator[None]:
    """Show what is done and for how long, where nobody knows how long it takes."""
    with (
        progress_bar(None, what, show=show, bar_format="{desc} [{elapsed}]") as bar,
        ticking(bar, lambda: bar.n),
    ):
        yield


@contextmanager
def ticking(bar: tqdm, done: Callable[[], int]) -> Iterator[None]:
    """Draw a bar anew now and then while the block runs: its clock goes on."""

    def draw() -> None:
        bar.n = done()
        if time.time() >= bar.start_t + bar.delay:  # what ends before leaves nothing behind
            bar.refresh()

    with nullcontext() if bar.disable else repeated(draw, TICK):
        yield


@contextmanager
def repeated(call: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call a function every so many seconds while the block runs."""
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(seconds):
            call()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def tell(text: str) -> None:
    """Print a line for a person who waits; nothing in a pipe.

    On a terminal it goes where bars go, which make room for it; in a notebook it is not an error.
    """
    if in_notebook():
        print(text, flush=True)
    elif is_watched():
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)


def is_watched() -> bool:
    """Tell whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


def in_words(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> in_words(40), in_words(200), in_words(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
