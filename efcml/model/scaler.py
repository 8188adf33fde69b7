"""Standardise features by what some rows show, and clip what lies far outside.

A scaler itself never changes; a learner whose stream moves takes a new one
(efcml/model/following_scale.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats

TRIMMED = 0.01  # share of the rows at either end, one at least, that may be wild
WILD = 50.0  # times the range of the rest, counted from the median: such a value does not count
LEAST_ROWS = 4  # fewer cannot tell which of them is wild
CLOSE = 1e-6  # a spread that is a smaller share of the magnitude is measured from a value nearby
ROUNDING = 16.0 * float(np.finfo(float).eps)  # a range of so small a share is no variation


@dataclass(frozen=True)
class Scaler:
    """Standardisation; values beyond ``clip`` standard deviations are clipped.

    Rare large values would otherwise stretch distances and hyper-planes far outside the data.
    """

    mean: Floats
    scale: Floats
    clip: float

    @classmethod
    def from_rows(cls, X: Floats, clip: float) -> Self:
        """Learn mean and standard deviation per feature; wild values are left out.

        A constant feature is centered and divided by its magnitude. Missing values (NaN) do not
        count; a feature without any value keeps its unit.
        """
        missing = np.isnan(X)
        if missing.any():
            return cls._from_columns(X, missing, clip)
        mean, scale = standardise(X)
        wild = find_wild(X)
        for j in np.flatnonzero(wild.any(axis=0)):
            mean[[j]], scale[[j]] = standardise(X[~wild[:, j], j][:, None])
        return cls(mean, scale, float(clip))

    @classmethod
    def _from_columns(cls, X: Floats, missing: Bools, clip: float) -> Self:
        """Learn each feature from the rows that have it."""
        mean, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j in range(X.shape[1]):
            there = X[~missing[:, j], j][:, None]
            if len(there):
                one = cls.from_rows(there, clip)
                mean[j], scale[j] = one.mean[0], one.scale[0]
        return cls(mean, scale, float(clip))

    def transform(self, X: Floats) -> Floats:
        """Return the scaled rows as a new C-contiguous array."""
        with np.errstate(over="ignore"):  # an overflow is infinite, and clipped
            scaled = np.ascontiguousarray((X - self.mean) / self.scale)
        np.maximum(scaled, -self.clip, out=scaled)  # for one row quicker than np.clip
        return np.minimum(scaled, self.clip, out=scaled)

    def count_clipped(self, scaled: Floats) -> Floats:
        """Return how many values of each feature were clipped (p,), of rows that it has scaled."""
        return (np.abs(scaled) >= self.clip).sum(axis=0).astype(float)


def standardise(X: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation per feature; the magnitude where nothing varies.

    Computed on values divided by the largest magnitude, so that features of 1e150 do not overflow
    when squared.
    """
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)
    relative = X / unit
    mean = relative.mean(axis=0)
    spread = (relative - mean).std(axis=0)
    mean, scale = mean * unit, spread * unit
    for j in np.flatnonzero(spread <= CLOSE):
        mean[j], scale[j] = standardise_nearby(X[:, j], float(unit[j]))
    return mean, scale


def standardise_nearby(x: Floats, magnitude: float) -> tuple[float, float]:
    """Return mean and deviation of values that lie close together compared with their magnitude.

    What they have in common is taken off first: next to it, their differences would be rounded.
    """
    apart = x - x[0]
    farthest = np.abs(apart).max()
    if farthest <= ROUNDING * magnitude:
        return float(np.mean(x / magnitude)) * magnitude, magnitude
    apart /= farthest
    return float(x[0] + farthest * apart.mean()), float(farthest * apart.std())


def is_resting(X: Floats) -> Bools:
    """Tell which features do not vary, but for rounding (p,); missing values do not count."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    low, high = np.nan_to_num(low), np.nan_to_num(high)  # NaN: no value at all
    resting: Bools = high / 2.0 - low / 2.0 <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return resting


def find_wild(X: Floats) -> Bools:
    """Tell which values lie far outside of all others (n, p).

    The range without the ends says where the others are. Where it is 0, as for a column that is
    mostly zero, any value may be a rare one, and none is wild.
    """
    n = len(X)
    if n < LEAST_ROWS:
        return np.zeros(X.shape, dtype=bool)
    ends = max(1, int(np.ceil(TRIMMED * n)))
    ordered = np.partition(X, (ends, n // 2, n - 1 - ends), axis=0)
    reach = WILD * (ordered[n - 1 - ends] / 2.0 - ordered[ends] / 2.0)  # halves cannot overflow
    far = np.abs(X / 2.0 - ordered[n // 2] / 2.0) > reach
    wild: Bools = far & (reach > 0.0)
    return wild
