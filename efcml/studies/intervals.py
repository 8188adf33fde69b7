"""How sure a difference of two models is: a bootstrap over samples and over orders.

Every measure is made of sums over rows. So it has a value for any choice of samples, and a
difference for any choice of samples and orders: the bootstrap draws both.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from efcml.measures import ValueOf, value_of
from efcml.support.aliases import Array, Floats

RESAMPLES = 10_000
CHUNK = 1000  # resamples that are summed at once
SEED = 2022
LEVEL = 0.95
MOST_DRAWN = 2000  # of more samples neighbours are drawn together
LEAST_DRAWN = 20  # of few samples blocks are shorter, or there would be nothing to draw from


class Interval(NamedTuple):
    """A difference and the ends of its interval."""

    difference: float
    low: float
    high: float

    def in_points(self) -> str:
        """Return the difference and its interval in percentage points."""
        difference, low, high = (round(100 * value, 2) + 0.0 for value in self)
        return f"{difference:+.2f} [{low:+.2f}, {high:+.2f}]"


def paired_difference(
    first: Floats,
    second: Floats,
    value_of: ValueOf = value_of,
    block: int = 1,
    comparisons: int = 1,
) -> Interval:
    """Return a measure of the second model minus that of the first, with its 95 % interval.

    Orders share their samples; draws of a built-in stream have as many of their own, in the same
    places. A resample draws samples and, independently, orders, and gives both models the same
    ones. Of R orders R - 1 are drawn: the spread of so many has the size that the mean of R has on
    new data (a resample of R would be too narrow by the share 1 / R of its variance).

    Tallies of a measure have the shape (orders, samples, 2, L), samples in the order of the file;
    ``value_of`` is what it makes of their sums. ``block`` neighbouring samples are drawn together,
    and the interval is widened (Bonferroni) for so many ``comparisons``.
    """
    both = np.stack([first, second])
    block = max(1, min(block, both.shape[2] // LEAST_DRAWN))
    if block == 1:
        both = both[:, :, (both[..., 1, :] > 0).any(axis=(0, 1, 3))]
    if not both.shape[2]:
        return Interval(np.nan, np.nan, np.nan)
    block = max(block, -(-both.shape[2] // MOST_DRAWN))
    sums = np.add.reduceat(both, np.arange(0, both.shape[2], block), axis=2)
    difference = float((value_of(second.sum(axis=1)) - value_of(first.sum(axis=1))).mean())
    samples, orders = draw_samples(sums.shape[2]), draw_orders(sums.shape[1])
    tables, drawn = np.moveaxis(sums, 2, 1), []
    for at in range(0, RESAMPLES, CHUNK):
        chosen = samples[at : at + CHUNK].astype(float)
        # Each model by a product of its own: equal tallies then give equal values to the last bit.
        totals = [chosen @ table.reshape(len(table), -1) for table in tables]
        values = [value_of(total.reshape(-1, *tables.shape[2:])) for total in totals]
        drawn.append(((values[1] - values[0]) * orders[at : at + CHUNK]).sum(axis=1))
    tail, quantile = (1.0 - LEVEL) / 2.0, NormalDist().inv_cdf
    # Moved outwards in the ratio of normal quantiles: corrected percentiles themselves would rest
    # on a handful of resamples.
    widening = quantile(1.0 - tail / comparisons) / quantile(1.0 - tail)
    bounds = np.quantile(np.concatenate(drawn), [tail, 1.0 - tail])
    low, high = difference + widening * (bounds - difference)
    return Interval(difference, float(low), float(high))


@lru_cache(maxsize=8)
def draw_samples(n: int) -> Array:
    """Return how often each of n samples is drawn, for every resample."""
    rng = np.random.default_rng(SEED)
    drawn = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(RESAMPLES))
    return np.fromiter(drawn, dtype=(np.uint8, n), count=RESAMPLES)


@lru_cache(maxsize=8)
def draw_orders(n: int) -> Floats:
    """Return the share of each of n orders in every resample; a single one is taken as it is."""
    if n == 1:
        return np.ones((RESAMPLES, 1))
    drawn = np.random.default_rng([SEED, n]).integers(0, n, (RESAMPLES, n - 1))
    return (drawn[:, :, None] == np.arange(n)).mean(axis=1)
