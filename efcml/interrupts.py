"""Ctrl-C between rows, not within them.

A learner is changed in many steps: births are counted, a rule goes, another takes its place. An
interrupt in between would leave a model that no stream can make.
"""

import signal
import threading
from contextlib import contextmanager

_holding = threading.local()  # only the main thread gets interrupts; others have nothing to hold


@contextmanager
def interrupts_held():
    """Let an interrupt wait until the end of the block; it is then raised as usual.

    Blocks may be nested: the outermost one counts. Keep them shorter than a person waits.

    Examples
    --------
    >>> with interrupts_held():
    ...     both = []
    ...     both.append("counted")
    ...     both.append("learned")
    """
    before = signal.getsignal(signal.SIGINT)
    outermost = not getattr(_holding, "now", False)
    main = threading.current_thread() is threading.main_thread()
    if not (outermost and main and callable(before)):  # ignored, or handled outside of Python
        yield
        return
    waiting = []
    _holding.now = True
    signal.signal(signal.SIGINT, lambda *given: waiting.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _holding.now = False
        if waiting:
            before(*waiting[0])
