"""The only room that knows numba: how kernels are compiled, call each other and get their arrays.

Kernels are compiled lazily, at the first call with each set of types. Explicit signatures would
compile all of them at import. Nothing runs in parallel: at the sizes of one row, starting threads
costs more than the row.

Set ``EFCML_CACHE=0`` to compile anew in every process.
"""

from efcml._jit import bundle_types  # noqa: F401  (kernels take bundles)
from efcml._jit.compiling import on_first_compilation
from efcml._jit.decorators import (
    kernel,
    kernel_fast,
    kernel_fused,
    kernel_numpy,
    kernel_part,
    kernel_rare,
)

__all__ = [
    "kernel",
    "kernel_fast",
    "kernel_fused",
    "kernel_numpy",
    "kernel_part",
    "kernel_rare",
    "on_first_compilation",
]
