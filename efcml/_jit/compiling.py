"""What happens while a kernel is compiled: people are told, and it takes less time."""

import gc
from collections.abc import Callable

try:
    from numba.core import config, event
except ImportError:  # documented in its source only
    config = event = None

LITTLE = 1  # level of optimisation where no sum may be reordered; more gives nothing there


def on_first_compilation(tell: Callable[[], object]) -> None:
    """Call ``tell()`` when a kernel is compiled for the first time in this process.

    Never, if all of them are found in the cache, or run uncompiled.
    """
    _waiting.append(tell)


_waiting = []

if event is not None:

    class _Compiling(event.Listener):
        """Numba makes millions of objects that stay; to look for garbage takes a tenth more.

        Only one thread compiles at a time, so what is changed here is changed for it alone. What
        others compile is left as it is.
        """

        def __init__(self):
            self.levels, self.collects = [], False

        def on_start(self, what):
            dispatcher = what.data["dispatcher"]
            ours = dispatcher.py_func.__module__.startswith("efcml.")
            if not (ours or self.levels):
                return
            if not self.levels:
                self.collects = gc.isenabled()
                gc.disable()
            self.levels.append(config.OPT)
            if ours:
                while _waiting:
                    _waiting.pop()()
                usual = self.levels[0]
                if usual > LITTLE and not dispatcher.targetoptions.get("fastmath"):
                    usual = type(usual)(LITTLE)
                config.OPT = usual

        def on_end(self, what):
            if not self.levels:
                return
            config.OPT = self.levels.pop()
            if not self.levels and self.collects:
                gc.enable()

    event.register("numba:compile", _Compiling())
