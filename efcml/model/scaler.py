"""Standardise features by what some rows show, and clip what lies far outside.

A scaler itself never changes; a learner whose stream moves takes a new one
(efcml/model/rescaling.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from efcml.kernels.scaling import scale_rows
from efcml.support.aliases import Arrays, Bools, Floats, Ints
from efcml.support.masks import writeable
from efcml.support.statistics import label_means

TRIMMED = 0.1  # share of the rows at either end, one at least, that may be wild
WILD = 5.0  # times the range of the rest, counted from the median: such a value does not count
WILDEST = 3.0  # times the clip: a value beyond is a mistake, and counts as missing
LEAST_ROWS = 4  # fewer cannot tell which of them is wild
SURE_ROWS = 20  # nor fewer than these what of other rows is
TELLING, LEAST_WILD = 5.0, 5  # deviations by chance, wild rows: then they tell of a label
CLOSE = 1e-6  # a spread that is a smaller share of the magnitude is measured from a value nearby
ROUNDING = 16.0 * float(np.finfo(float).eps)  # a range of so small a share is no variation


@dataclass(frozen=True)
class Scaler:
    """Standardisation; values beyond ``clip`` standard deviations are clipped.

    Rare large values would otherwise stretch distances and hyper-planes far outside the data. Wild
    values are missing, but for features that are mostly one value: there, any other may be rare.
    """

    mean: Floats
    scale: Floats
    clip: float
    spread: Bools  # (p,), whether a wild value can be told from a rare one
    ignored: Bools  # (p,), features that only grow: what lies outside of the clip counts as 0

    @classmethod
    def from_rows(cls, X: Floats, clip: float, Y: Floats | None = None) -> Self:
        """Learn mean and standard deviation per feature; wild values are left out.

        Where the wild ones tell something of the labels Y they are no mistakes: they are clipped.

        A constant feature is centered and divided by its magnitude. Missing values (NaN) do not
        count; a feature without any value keeps its unit.
        """
        p = X.shape[1]
        mean, scale = np.zeros(p), np.ones(p)
        wild, spread = find_wild(X)
        if Y is not None:
            spread &= ~tell_of_labels(wild, Y)
        out = np.isnan(X) | wild
        whole = ~out.any(axis=0)
        if whole.any():
            mean[whole], scale[whole] = standardise(X[:, whole])
        for j in np.flatnonzero(~whole):
            there = X[~out[:, j], j]
            if len(there):
                mean[[j]], scale[[j]] = standardise(there[:, None])
        return cls(mean, scale, float(clip), spread, np.zeros(p, dtype=bool))

    def transform(self, X: Floats) -> Floats:
        """Return the scaled rows as a new C-contiguous array; NaN where a value is missing."""
        given = self.mean, self.scale, self.spread, self.ignored, self.clip, WILDEST * self.clip
        Z = np.empty(X.shape)
        scale_rows(writeable(X), *given, Z)
        return Z

    def state(self) -> Arrays:
        """Return its arrays by name."""
        return {name: getattr(self, name).copy() for name in ("mean", "scale", "spread", "ignored")}


def tell_of_labels(wild: Bools, Y: Floats) -> Bools:
    """Tell for which features rows with wild values have other labels than all rows (p,)."""
    usual = label_means(Y)
    count, sums = wild.sum(axis=0)[:, None], wild.T @ np.nan_to_num(Y - usual)
    chance = np.sqrt(count * (1.0 - count / len(Y)) * usual * (1.0 - usual))
    told: Bools = (np.abs(sums) > TELLING * chance).any(axis=1) & (count[:, 0] >= LEAST_WILD)
    return told


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
    # Of values that lie close together compared with their magnitude, what they have in common is
    # taken off first: next to it, their differences would be rounded.
    for j in np.flatnonzero(spread <= CLOSE):
        apart = X[:, j] - X[0, j]
        farthest = np.abs(apart).max()
        if farthest <= ROUNDING * unit[j]:
            mean[j], scale[j] = np.mean(X[:, j] / unit[j]) * unit[j], unit[j]
        else:
            apart /= farthest
            mean[j], scale[j] = X[0, j] + farthest * apart.mean(), farthest * apart.std()
    return mean, scale


def is_resting(X: Floats) -> Bools:
    """Tell which features do not vary, but for rounding (p,); missing values do not count."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    low, high = np.nan_to_num(low), np.nan_to_num(high)  # NaN: no value at all
    resting: Bools = high / 2.0 - low / 2.0 <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return resting


def find_wild(X: Floats) -> tuple[Bools, Bools]:
    """Tell which values lie far outside of all others (n, p), and where that can be told (p,).

    The range without the ends says where the others are. Where it is 0, as for a column that is
    mostly zero, any value may be a rare one, and none is wild. Missing values are not.
    """
    ordered, count = np.sort(X, axis=0), (~np.isnan(X)).sum(axis=0)  # NaN comes last
    ends = np.maximum(1, np.ceil(TRIMMED * count)).astype(int)

    def entry(k: Ints) -> Floats:
        return np.take_along_axis(ordered, np.clip(k, 0, len(X) - 1)[None], axis=0)[0]

    reach = entry(count - 1 - ends) / 2.0 - entry(ends) / 2.0  # halves cannot overflow
    far = np.abs(X / 2.0 - entry(count // 2) / 2.0) > WILD * reach
    spread: Bools = reach > 0.0
    return far & spread & (count >= LEAST_ROWS), spread & (count >= SURE_ROWS)
