"""How often each label is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def label_means(Y: Floats, amounts: Floats | None = None) -> Floats:
    """Return the share of each label among the rows that know it; 0 where none does.

    ``amounts`` are weights of the rows, above 0.
    """
    known = ~np.isnan(Y)
    if amounts is not None:
        total = (amounts[:, None] * known).sum(axis=0)
        return amounts @ np.where(known, Y, 0.0) / np.where(total > 0.0, total, 1.0)
    count = known.sum(axis=0)
    return np.where(known, Y, 0.0).sum(axis=0) / np.maximum(count, 1)
