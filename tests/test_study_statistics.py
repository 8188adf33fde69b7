"""Intervals of differences: against a brute-force bootstrap, and on data whose answer is known."""

import numpy as np
import pytest

from efcml.measures import MEASURES, value_of
from efcml.studies import intervals
from efcml.studies.intervals import Interval, draw_orders, paired_difference


def as_tallies(values):
    """Return values of every order and sample as tallies of a mean over samples."""
    return np.stack([values, np.ones_like(values)], axis=-1)[..., None]


def brute_force(first, second, *, block, draws, seed):
    """Draw blocks of samples and R - 1 of R orders, one by one, and write every sum out."""
    rng = np.random.default_rng(seed)
    n_orders, n = first.shape[:2]
    blocks = [np.arange(at, min(at + block, n)) for at in range(0, n, block)]
    found = []
    for _ in range(draws):
        samples = np.concatenate([blocks[one] for one in rng.integers(0, len(blocks), len(blocks))])
        orders = rng.integers(0, n_orders, n_orders - 1) if n_orders > 1 else [0]
        gaps = []
        for order in orders:
            a, b = (table[order, samples].sum(axis=0) for table in (first, second))
            gaps.append(np.mean(b[0] / b[1]) - np.mean(a[0] / a[1]))
        found.append(np.mean(gaps))
    return np.quantile(found, [0.025, 0.975])


@pytest.mark.parametrize(
    ("n_orders", "block", "kind"), [(4, 1, "mean"), (1, 3, "mean"), (3, 1, "f1")]
)
def test_intervals_are_those_of_a_brute_force_bootstrap(n_orders, block, kind):
    rng = np.random.default_rng(n_orders)
    shape = n_orders, 60
    effect = rng.normal(size=(n_orders, 1)) * 0.1
    if kind == "mean":
        first = as_tallies(rng.random(shape))
        second = as_tallies(rng.random(shape) + 0.1 + effect)
    else:  # points possible differ from row to row, and there are several labels
        first, second = (rng.integers(0, 4, (*shape, 2, 2)).astype(float) for _ in range(2))
    found = paired_difference(first, second, block=block)
    wanted = brute_force(first, second, block=block, draws=1500, seed=7)
    width = wanted[1] - wanted[0]
    assert found.low == pytest.approx(wanted[0], abs=0.08 * width)
    assert found.high == pytest.approx(wanted[1], abs=0.08 * width)
    values = [value_of(table.sum(axis=1)) for table in (first, second)]
    assert found.difference == pytest.approx((values[1] - values[0]).mean())


def test_a_measure_may_make_something_else_of_its_sums():
    """The calibration error of a model whose probabilities are .2 too high, in one bin."""
    rng = np.random.default_rng(3)
    gaps = rng.normal(0.0, 0.3, (3, 200, 1, 1))
    tallies = [np.concatenate([gaps + more, np.ones_like(gaps)], axis=2) for more in (0.0, 0.2)]
    error = MEASURES["calibration_error"].value_of
    found = paired_difference(*tallies, error)
    wanted = np.abs(gaps.mean(axis=1) + 0.2) - np.abs(gaps.mean(axis=1))
    assert found.difference == pytest.approx(wanted.mean())
    assert 0 < found.low < found.difference < found.high < 0.25
    assert paired_difference(*tallies[::-1], error)[0] == pytest.approx(-found[0])


def test_nothing_gives_no_number():
    empty = np.zeros((2, 30, 2, 1))
    nothing = paired_difference(empty, empty)
    assert np.isnan(nothing).all()


def test_shares_of_orders():
    shares = draw_orders(4)
    assert shares.shape == (intervals.RESAMPLES, 4)
    assert np.allclose(shares.sum(axis=1), 1.0)
    # The variance of a drawn mean is that of a mean of four, without bias.
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert (shares @ values).var() == pytest.approx(values.var(ddof=1) / 4, rel=0.05)
    assert (draw_orders(1) == 1.0).all()


def test_long_streams_are_drawn_in_blocks(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = (as_tallies(rng.random((2, 600)) + shift) for shift in (0.0, 0.1))
    whole = paired_difference(first, second)
    monkeypatch.setattr(intervals, "MOST_DRAWN", 100)
    fewer = paired_difference(first, second)
    assert fewer.difference == whole.difference
    assert fewer.high - fewer.low == pytest.approx(whole.high - whole.low, rel=0.25)
    monkeypatch.setattr(intervals, "MOST_DRAWN", 10**6)
    six = paired_difference(first, second, block=6)
    assert (fewer.low, fewer.high) == (six.low, six.high)


# -- means over samples ---------------------------------------------------------------------


def test_the_interval_has_the_width_of_the_standard_error(rng):
    values = rng.normal(0.3, 2.0, 400)
    first, second = as_tallies(np.zeros((1, 400))), as_tallies(values[None])
    one, many = paired_difference(first, second), paired_difference(first, second, comparisons=100)
    assert one.difference == pytest.approx(values.mean())
    assert one.high - one.low == pytest.approx(2 * 1.96 * values.std() / 20.0, rel=0.05)
    ratio = 3.4808 / 1.95996  # normal quantiles at .05/100, two-sided
    assert many.high - many.low == pytest.approx(ratio * (one.high - one.low), rel=0.02)
    assert Interval(-1e-9, -0.0123, 0.02).in_points() == "+0.00 [-1.23, +2.00]"


def test_blocks_keep_neighbours_together(rng):
    values = np.repeat(rng.normal(size=60), 20)[None]  # 60 independent values, each 20 times
    first, second = as_tallies(np.zeros_like(values)), as_tallies(values)
    alone, blocks = (paired_difference(first, second, block=block) for block in (1, 20))
    ratio = (blocks.high - blocks.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(np.sqrt(20), rel=0.1)
