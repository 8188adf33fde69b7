"""The warning that many values lie outside of the scale."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats, Names

MOST_CLIPPED = 0.01  # share of all values
LEAST_ROWS = 100  # fewer say little about a stream


class ClippingWarning(RuntimeWarning):
    """Many values were clipped: they lie far outside of what the scale was made for."""


def warn_of_clipping(clipped: Floats | None, rows: int, names: Names = None) -> bool:
    """Warn if too many values of some rows were clipped (p,); return whether it did.

    ``clipped`` is None for models that do not count. ``names`` are those of the features.
    """
    if clipped is None or rows < LEAST_ROWS or clipped.sum() <= MOST_CLIPPED * rows * len(clipped):
        return False
    worst = int(np.argmax(clipped))
    name = worst if names is None else repr(names[worst])
    warnings.warn(
        f"{clipped.sum() / (rows * len(clipped)):.1%} of the values of {rows} rows were clipped, "
        f"most of them ({clipped[worst] / rows:.1%}) of feature {name}: see whether its unit has "
        "changed; scaling='follow', the default, lets the scale change with it once 40 labelled "
        "rows agree. A larger clip lets far values count.",
        ClippingWarning,
        stacklevel=4,
    )
    return True
