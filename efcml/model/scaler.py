"""Standardise features by what an initial portion shows, clip, and stay frozen afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


@dataclass(frozen=True)
class Scaler:
    """Frozen standardisation; values beyond ``clip`` standard deviations are clipped.

    Rare large values would otherwise stretch distances and hyper-planes far outside the data.
    """

    mean: Floats
    scale: Floats
    clip: float

    @classmethod
    def from_rows(cls, X: Floats, clip: float) -> Self:
        """Learn mean and standard deviation per feature.

        Computed on values divided by the largest magnitude, so that features of 1e150 do not
        overflow when squared. A constant feature is centered and divided by its magnitude.
        """
        largest = np.abs(X).max(axis=0)
        unit = np.where(largest > 0.0, largest, 1.0)
        relative = X / unit
        mean = relative.mean(axis=0)
        spread = (relative - mean).std(axis=0)
        constant = spread <= 1e-12
        return cls(mean * unit, np.where(constant, 1.0, spread) * unit, float(clip))

    def transform(self, X: Floats) -> Floats:
        """Return the scaled rows as a new C-contiguous array."""
        with np.errstate(over="ignore"):  # an overflow is infinite, and clipped
            scaled = (X - self.mean) / self.scale
        return np.ascontiguousarray(np.clip(scaled, -self.clip, self.clip))
