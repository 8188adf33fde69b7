"""What happens while a kernel is compiled: people are told, and no garbage is collected."""

import gc
from collections.abc import Callable

try:
    from numba.core import event
except ImportError:  # documented in its source only
    event = None


def on_first_compilation(tell: Callable[[], object]) -> None:
    """Call ``tell()`` when a kernel is compiled for the first time in this process.

    Never, if all of them are found in the cache, or run uncompiled.
    """
    _waiting.append(tell)


_waiting = []

if event is not None:

    class _Compiling(event.Listener):
        """Numba makes millions of objects that stay; to look for garbage takes a tenth more."""

        def __init__(self):
            self.depth, self.collects = 0, False

        def on_start(self, what):
            if what.data["dispatcher"].py_func.__module__.startswith("efcml."):
                while _waiting:
                    _waiting.pop()()
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1

        def on_end(self, what):
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()

    event.register("numba:compile", _Compiling())
