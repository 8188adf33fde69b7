"""How often each label is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def label_means(Y: Floats) -> Floats:
    """Return the share of each label among the rows that know it; 0 where none does."""
    known = ~np.isnan(Y)
    count = known.sum(axis=0)
    return np.where(known, Y, 0.0).sum(axis=0) / np.maximum(count, 1)
