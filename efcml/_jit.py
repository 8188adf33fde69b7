"""The only import of numba: every compile option of the package is set here.

Kernels are compiled lazily, at the first call with each set of types. Explicit signatures would
compile all of them at import. Nothing runs in parallel: at the sizes of one row, starting threads
costs more than the row.

Set ``EFCML_CACHE=0`` to compile anew in every process. Numba looks only at the file of a kernel,
not at the kernels that it calls, so after an edit the cache can hold old code.
"""

import os

from numba import njit

try:
    from numba.core import event
except ImportError:  # documented in its source only
    event = None
try:
    from numba.core.options import DefaultOptions
except ImportError:  # the name is not documented
    DefaultOptions = None

CACHE = os.environ.get("EFCML_CACHE", "1") != "0"

# Without nnan and ninf: with those two the compiler may drop every test for NaN and infinity.
SAFE_FASTMATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})

# The error model of numpy: a division by zero gives inf or NaN, and loops can vectorise because
# no exception can leave them.
_OPTIONS = {"cache": CACHE, "error_model": "numpy", "nogil": True}


def _if_known(**options):
    """Return options of numba that are not documented; if they go away, all is slower, no more."""
    return {name: value for name, value in options.items() if hasattr(DefaultOptions, name)}


# Nobody calls a kernel from C.
_OPTIONS |= _if_known(no_cfunc_wrapper=True)

# Kernels make no arrays, so nobody needs to count who uses one. With few features the counting took
# an eighth of a row, and a fifth of all compile time. Callees inherit it.
_NO_COUNTING, _COUNTING = _if_known(_nrt=False), _if_known(_nrt=True)


def kernel(function):
    """Compile a pure function over arrays, operations in the order written."""
    return njit(**_OPTIONS, **_NO_COUNTING)(function)


def kernel_fast(function):
    """Compile like `kernel`, but let sums be reordered so that they vectorise.

    The last digits then depend on the processor. Results stay the same from run to run.
    """
    return njit(fastmath=set(SAFE_FASTMATH), **_OPTIONS, **_NO_COUNTING)(function)


def kernel_fused(function):
    """Compile like `kernel`, but let a product and the sum that it goes into round once.

    The order of sums stays, so that carrying out several of them together changes nothing.
    """
    return njit(fastmath={"contract"}, **_OPTIONS, **_NO_COUNTING)(function)


def kernel_inline(function):
    """Compile like `kernel`, as a part of its callers.

    For small kernels, and for the middle layer that hands tuples of many arrays on: numba spends
    most of its compile time on separate functions, several times more than on their bodies.
    """
    return njit(inline="always", **_OPTIONS, **_NO_COUNTING)(function)


def kernel_numpy(function):
    """Compile like `kernel`, for what numpy's own functions do: they may make arrays."""
    return njit(**_OPTIONS, **_COUNTING)(function)


def on_first_compilation(tell):
    """Call ``tell()`` when a kernel is compiled for the first time in this process.

    Never, if all of them are found in the cache, or run uncompiled.
    """
    if event is None:
        return
    waiting = [tell]

    class First(event.Listener):
        def on_start(self, what):
            if waiting and what.data["dispatcher"].py_func.__module__.startswith("efcml."):
                waiting.pop()()

        def on_end(self, what):
            pass

    event.register("numba:compile", First())
