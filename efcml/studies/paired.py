"""Differences between two models on the same samples, and how sure they are.

Every measure is a sum of points over a sum of points possible. So it has a value for any choice of
samples, and a difference for any choice of samples and orders: the bootstrap draws both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from efcml.measures.measures import find, value_of
from efcml.studies.intervals import (
    CHUNK,
    RESAMPLES,
    SEED,
    Interval,
    draw_counts,
    summarise,
    usable_block,
)

if TYPE_CHECKING:
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Floats, Ints

ValueOf: TypeAlias = "Callable[[Floats], Floats]"  # what a measure makes of sums of tallies
MOST_DRAWN = 2000  # blocks; a table of how often each is drawn would not fit into memory


@dataclass(frozen=True)
class Change:
    """How far two models are apart in what they answered."""

    largest: float  # of any score of any sample in any order
    decisions: int  # that differ
    asked: int  # decisions in all

    @property
    def nothing(self) -> bool:
        """Whether every score is the same, to the last bit."""
        return self.largest == 0.0 and self.decisions == 0


def tallies_of(result: PrequentialResult, measure: str) -> Floats:
    """Return points and points possible of every row, (n, 2, L), as `Measure.tallies` does."""
    found = find(measure)
    own = {"labels": decisions_of(result), "probabilities": getattr(result, "probabilities", None)}
    given = own.get(found.takes)
    ready = given is not None
    return found.tallies(result.Y, given if ready else result.scores, ready=ready)  # type: ignore[arg-type]


def decisions_of(result: PrequentialResult) -> np.ndarray:
    """Return what a model decided: its own decisions, else scores from 0.5 on."""
    own = getattr(result, "decisions", None)
    return result.scores >= 0.5 if own is None else own


def values_of(tallies: Floats, value_of: ValueOf = value_of) -> Floats:
    """Return a measure in every order, of tallies of shape (orders, samples, 2, L)."""
    return value_of(tallies.sum(axis=1))


def difference(
    first: Floats,
    second: Floats,
    *,
    value_of: ValueOf = value_of,
    block: int = 1,
    comparisons: int = 1,
    seed: int = SEED,
) -> Interval:
    """Return the second minus the first, with its interval.

    Orders share their samples; draws of a built-in stream have as many of their own, in the same
    places. A resample draws places, or blocks of neighbouring ones, and independently of them
    orders, and gives both models the same ones. Of R orders R - 1 are drawn:
    the spread of so many has the size that the mean of R has on new data (a resample of R would be
    too narrow by the share 1 / R of its variance). A single order is taken as it is. Of more than
    `MOST_DRAWN` samples neighbours are drawn together.

    Parameters
    ----------
    first, second : array of shape (orders, samples, 2, L)
        Tallies of a measure, samples in the order of the file.
    value_of : callable
        What the measure makes of sums of tallies; a ratio of points if not given.
    block : int
        Length of the blocks.
    comparisons : int
        Among how many this is one (Bonferroni); it widens ``wide_low`` and ``wide_high``.
    seed : int
    """
    both = np.stack([first, second])  # (2, orders, samples, 2, L)
    block = usable_block(block, both.shape[2])
    if block == 1:
        both = both[:, :, (both[..., 1, :] > 0).any(axis=(0, 1, 3))]
    if not both.shape[2]:
        return Interval(*[float("nan")] * 5)
    block = max(block, -(-both.shape[2] // MOST_DRAWN))
    sums = np.add.reduceat(both, np.arange(0, both.shape[2], block), axis=2)
    by_order = values_of(second, value_of) - values_of(first, value_of)
    means = np.concatenate([*drawn_differences(sums, seed, value_of)])
    spread = float(by_order.std(ddof=1)) if len(by_order) > 1 else float("nan")
    return summarise(float(by_order.mean()), means, comparisons, spread)


def drawn_differences(sums: Floats, seed: int, value_of: ValueOf) -> list[Floats]:
    """Return the differences of all resamples, from sums of blocks (2, orders, blocks, 2, L)."""
    counts = draw_counts(sums.shape[2], seed)
    shares = draw_orders(sums.shape[1], seed)
    tables = np.moveaxis(sums, 2, 1)  # (2, blocks, orders, 2, L)
    found = []
    for at in range(0, RESAMPLES, CHUNK):
        drawn = counts[at : at + CHUNK].astype(float)
        # Each model by a product of its own: equal tallies then give equal values to the last bit.
        totals = [drawn @ table.reshape(len(table), -1) for table in tables]
        first, second = (value_of(part.reshape(-1, *tables.shape[2:])) for part in totals)
        found.append(((second - first) * shares[at : at + CHUNK]).sum(axis=1))
    return found


def draw_orders(n: int, seed: int) -> Floats:
    """Return the share of every order in every resample, of shape (RESAMPLES, n)."""
    if n == 1:
        return np.ones((RESAMPLES, 1))
    drawn = np.random.default_rng([seed, n]).integers(0, n, (RESAMPLES, n - 1))
    shares = np.zeros((RESAMPLES, n))
    for column in drawn.T:
        shares[np.arange(RESAMPLES), column] += 1.0 / (n - 1)
    return shares


def in_file_order(values: Floats, rows: Ints) -> Floats:
    """Return values that came in the order of ``rows``, sorted by row."""
    return values[np.argsort(rows)]
