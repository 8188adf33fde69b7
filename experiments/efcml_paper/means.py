"""How sure means over samples are, and shares of a stream: what studies have no need of.

Runs in several orders share their samples. So values are averaged over the orders, by sample,
before samples are drawn: the spread over the orders alone would hide that the samples are few.
"""

from dataclasses import dataclass

import numpy as np

from efcml.studies.intervals import CHUNK, LEAST_DRAWN, LEVEL, SEED, draw_samples, widened

BEGINNING = 0.1  # of a trend is not looked at: means of few rows
TIE = 1e-9  # sums of shares that cancel are not quite 0


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval, and a wider one that is corrected for many claims."""

    mean: float
    low: float
    high: float
    wide_low: float
    wide_high: float
    spread: float = float("nan")  # standard deviation over the orders

    def in_points(self) -> str:
        """Return the mean and the corrected interval in percentage points.

        Examples
        --------
        >>> Interval(0.012, 0.004, 0.02, 0.001, 0.023).in_points()
        '+1.20 [+0.10, +2.30]'
        """
        mean, low, high = (
            round(100 * value, 2) + 0.0 for value in (self.mean, self.wide_low, self.wide_high)
        )
        return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def interval_of(
    values, *, block: int = 1, claims: int = 1, spread: float = float("nan")
) -> Interval:
    """Return the interval of the mean of values, one per sample; NaN values are left out.

    Parameters
    ----------
    values : array of shape (n,)
        In the order of the file.
    block : int
        Length of the blocks that are drawn; 1 where samples are independent.
    claims : int
        Number of claims among which this is one (Bonferroni).
    spread : float
        Over the orders, to be kept with it.

    Examples
    --------
    >>> found = interval_of(np.arange(100.0))
    >>> round(found.mean, 1), 40 < found.low < 45, 54 < found.high < 60
    (49.5, True, True)
    """
    return summarise(float(np.nanmean(values)), resampled_means(values, block), claims, spread)


def summarise(mean: float, means, claims: int = 1, spread: float = float("nan")) -> Interval:
    """Return the interval that resampled means give, also corrected for so many claims."""
    (_, low, high), (_, *wide) = (widened(mean, means, number) for number in (1, claims))
    return Interval(float(mean), low, high, *wide, float(spread))


def resampled_means(values, block: int = 1, seed: int = SEED):
    """Return the means of `RESAMPLES` samples drawn with replacement, in blocks."""
    values = np.asarray(values, dtype=float)
    block = usable_block(block, len(values))
    known = ~np.isnan(values)
    if block == 1:
        values, known = values[known], known[known]
    starts = np.arange(0, len(values), block)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    sizes = np.add.reduceat(known.astype(float), starts)
    table = np.stack([sums, sizes], axis=1)
    counts = draw_samples(len(starts), seed)
    totals = np.concatenate(
        [counts[at : at + CHUNK].astype(float) @ table for at in range(0, len(counts), CHUNK)]
    )
    return totals[:, 0] / totals[:, 1]


def usable_block(block: int, n: int) -> int:
    """Return the length of blocks for n samples, so that there are some to draw from."""
    return max(1, min(block, n // LEAST_DRAWN))


def shares_ahead(leads, claims: int = 1) -> Interval:
    """Return the interval of the share of rows up to which all leads are above 0, added up.

    Where lines are level, shares near 0 and near 1 are the likely ones. So corrected bounds are
    the far percentiles themselves, which nearly all resamples must be within.

    Parameters
    ----------
    leads : array of shape (m, n)
        What a line is above each of m others, by row of the stream.
    claims : int
        Number of claims among which this is one.

    Examples
    --------
    >>> found = shares_ahead(np.array([[-1.0] * 10 + [1.0] * 30]))
    >>> round(found.mean, 2)
    0.56
    """
    begin = int(BEGINNING * leads.shape[1])

    def share(weights):
        sums = np.cumsum(weights[:, None, :] * leads, axis=2)[:, :, begin:]
        return (sums > TIE).all(axis=1).mean(axis=1)

    counts = draw_samples(leads.shape[1], SEED)
    drawn = [share(counts[at : at + CHUNK]) for at in range(0, len(counts), CHUNK)]
    tail = (1.0 - LEVEL) / 2.0
    levels = [tail, 1.0 - tail, tail / claims, 1.0 - tail / claims]
    bounds = np.quantile(np.concatenate(drawn), levels)
    return Interval(float(share(np.ones((1, leads.shape[1])))[0]), *map(float, bounds))
