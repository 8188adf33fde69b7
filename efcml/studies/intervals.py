"""How sure a difference of two models is: Student intervals from what orders and rows add to it.

Every measure is made of sums over rows, so it also has a value without any block of rows. That
gives every block of every order a value of its own (a jackknife), whatever the measure is.
docs/studies.md says how often these intervals hold (experiments/interval_coverage.py).
"""

from typing import NamedTuple

import numpy as np

from efcml.measures import ValueOf, value_of
from efcml.support.aliases import Floats

LEVEL = 0.95
BLOCKS, LEAST_BLOCKS, MOST_BLOCKS = 40, 10, 1000  # at first, at least, and if they are set
LEAST_ROWS = 150  # of fewer rows it cannot be told how far they are alike
ALIKE = 1.64  # standard errors of a correlation: more, and blocks are made longer
TOO_SMALL = 1.5  # the correlation of so few blocks is, over their number, found too small
SHARE = 0.2
ENDS = (-0.1, 0.95)  # of the correlation that is corrected for


class Interval(NamedTuple):
    """A difference and the ends of its interval; NaN where none is honest, and the reason."""

    difference: float
    low: float
    high: float
    reason: str = ""

    def in_points(self, scale: float = 100.0) -> str:
        """Return the difference and its interval, in percentage points if nothing else is said."""
        difference, low, high = (round(scale * value, 2) + 0.0 for value in self[:3])
        interval = ", no interval" if low != low else f" [{low:+.2f}, {high:+.2f}]"
        return f"{difference:+.2f}{interval}"


def paired_difference(
    first: Floats,
    second: Floats,
    value_of: ValueOf = value_of,
    block: int | None = None,
    comparisons: int = 1,
    *,
    shared: bool = True,
) -> Interval:
    """Return a measure of the second model minus that of the first, with its 95 % interval.

    Tallies of a measure have the shape (orders, rows, 2, L), rows in the order of the file;
    ``value_of`` is what it makes of their sums. Orders have their rows in common if they are
    ``shared``; else each has its own. Rows of a ``block`` belong together; without one, blocks are
    made longer until neighbouring ones are alike no more. The interval is corrected (Bonferroni)
    for so many ``comparisons``.
    """
    n_orders, n = first.shape[:2]
    of_orders = value_of(second.sum(axis=1)) - value_of(first.sum(axis=1))
    difference, alike, number = float(of_orders.mean()), 0.0, min(n, BLOCKS)

    def none(why: str, wanted: str) -> Interval:
        return Interval(difference, np.nan, np.nan, f"{why}: it takes {wanted}")

    by_rows = shared or n_orders == 1
    if by_rows and block is not None:
        number = min(n // block, MOST_BLOCKS)
        if number < LEAST_BLOCKS:
            wanted = f"{LEAST_BLOCKS * block} rows, or shorter blocks"
            return none(f"{n} rows have fewer than {LEAST_BLOCKS} blocks", wanted)
    elif by_rows and n < LEAST_ROWS:
        wanted = f"{LEAST_ROWS} rows, or block=1 if rows do not depend on each other"
        return none(f"{n} rows cannot tell how far they are alike", wanted)
    if shared and n_orders == 2:
        return none("two orders cannot tell how much orders matter", "three, or a single one")
    gaps = values_of_blocks(first, second, value_of, number)
    if np.isnan(gaps).any():
        return none("nearly all rows are without the measure", "more rows that have it")
    while by_rows and block is None:
        noise, alike = 1.0 / np.sqrt(number), correlation(gaps.mean(axis=0))
        if alike + noise**2 < ALIKE * noise:
            alike = float(np.clip((alike * number + TOO_SMALL) / (number - 4.0), *ENDS))
            break
        number //= 2
        if number < LEAST_BLOCKS:
            return none(f"rows are alike over more than {n // 10} rows", f"at least {2 * n} rows")
        gaps = values_of_blocks(first, second, value_of, number)
    # A two-way table: what rows add in all orders, what orders add, and the rest.
    longer = (1.0 + alike) / (1.0 - alike)  # so many times fewer blocks would be independent
    of_rows = gaps.mean(axis=0)
    rows, orders = longer * of_rows.var(ddof=1) / number, 0.0
    if n_orders > 1:
        rest = gaps - of_rows - gaps.mean(axis=1, keepdims=True) + gaps.mean()
        rest_of_both = (rest**2).sum() / (gaps.size * (n_orders - 1.0) * (number - 1.0))
        rows = max(rows - rest_of_both, 0.0) if shared else 0.0
        orders = of_orders.var(ddof=1) / n_orders
    both = rows + orders
    if both > 0.0:
        from scipy.special import stdtrit  # not above: it takes time to load

        # Degrees of freedom, by shares of the variance. Satterthwaite's, a power of 2, are too many
        # for few orders, and 1 too few (docs/studies.md).
        free = orders * (orders / both) ** SHARE / max(n_orders - 1.0, 1.0)
        free = both / (free + rows * longer / (number - 1.0))
        both = float(stdtrit(free, 1.0 - (1.0 - LEVEL) / (2.0 * comparisons)) * np.sqrt(both))
    return Interval(difference, difference - both, difference + both)


def values_of_blocks(first: Floats, second: Floats, value_of: ValueOf, number: int) -> Floats:
    """Return the difference in so many blocks of rows (orders, number); its mean is that of all."""
    at, gaps = np.arange(number) * first.shape[1] // max(number, 1), []
    for table in (first, second):
        sums = np.add.reduceat(table, at, axis=1)
        whole = sums.sum(axis=1, keepdims=True)
        gaps.append(number * value_of(whole) - (number - 1.0) * value_of(whole - sums))
    return gaps[1] - gaps[0]


def correlation(values: Floats) -> float:
    """Return how alike neighbouring values are; 0 if all are the same."""
    centred = values - values.mean()
    square = float((centred**2).sum())
    return float(centred[1:] @ centred[:-1]) / square if square > 0.0 else 0.0
