"""The compile options of the package, all of them."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

from efcml._jit.addresses import compile_by_address, compile_into_callers
from efcml._jit.undocumented import if_known

Function: TypeAlias = Callable[..., Any]

CACHE = os.environ.get("EFCML_CACHE", "1") != "0"

# Without nnan and ninf: with those two the compiler may drop every test for NaN and infinity.
SAFE_FASTMATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})

# The error model of numpy: a division by zero gives inf or NaN, and loops can vectorise because
# no exception can leave them.
_OPTIONS = {"cache": CACHE, "error_model": "numpy", "nogil": True}


# Nobody calls a kernel from C.
_OPTIONS |= if_known(no_cfunc_wrapper=True)

# Kernels make no arrays, so nobody needs to count who uses one. With few features the counting took
# an eighth of a row, and a fifth of all compile time. Callees inherit it.
_NO_COUNTING, _COUNTING = if_known(_nrt=False), if_known(_nrt=True)


def kernel(function: Function) -> Function:
    """Compile a pure function over arrays, operations in the order written."""
    return compile_by_address(function, _OPTIONS | _NO_COUNTING)


def kernel_fast(function: Function) -> Function:
    """Compile like `kernel`, but let sums be reordered so that they vectorise.

    The last digits then depend on the processor. Results stay the same from run to run.
    """
    options = {"fastmath": set(SAFE_FASTMATH)}
    return compile_by_address(function, options | _OPTIONS | _NO_COUNTING)


def kernel_fused(function: Function) -> Function:
    """Compile like `kernel`, but let a product and the sum that it goes into round once.

    The order of sums stays, so that carrying out several of them together changes nothing.
    """
    return compile_by_address(function, {"fastmath": {"contract"}} | _OPTIONS | _NO_COUNTING)


def kernel_part(function: Function) -> Function:
    """Compile like `kernel`, into its callers: for a few lines that would cost more as a call."""
    return compile_into_callers(function, _OPTIONS | _NO_COUNTING)


def kernel_rare(returns: str = "void") -> Callable[[Function], Function]:
    """Compile like `kernel`, but not before it is run: for what most streams never need.

    Callers must know what it ``returns``, in numba's words, before it is compiled.
    """
    return lambda function: compile_by_address(function, _OPTIONS | _NO_COUNTING, returns)


def kernel_numpy(function: Function) -> Function:
    """Compile like `kernel`, for what numpy's own functions do: they may make arrays."""
    return compile_by_address(function, _OPTIONS | _COUNTING)
