"""Random numbers that depend on the seed and the row number only.

So a question asked twice has the same answer, and the split of a stream into chunks does not
matter. The generator is splitmix64 (Steele, Lea and Flood 2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from efcml.support.aliases import Floats

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
STEP = np.float64(2.0**-53)  # between two draws


def draws_for(seed: int, first_row: int, n: int) -> Floats:
    """Return n numbers in [0, 1) for the rows from ``first_row`` on.

    Examples
    --------
    >>> bool((draws_for(7, 0, 10)[4:] == draws_for(7, 4, 6)).all())
    True
    """
    start = _mix(np.array([seed], dtype=np.uint64))
    counters = np.arange(first_row + 1, first_row + n + 1, dtype=np.uint64)
    return (_mix(start + counters * GOLDEN) >> np.uint64(11)) * STEP


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of splitmix64, which wraps around on purpose."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
