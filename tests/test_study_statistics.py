"""Intervals of differences: against a brute-force bootstrap, and on data whose answer is known."""

import numpy as np
import pytest

from efcml.measures.measure_list import MEASURES, value_of
from efcml.studies import intervals, paired
from efcml.studies.intervals import interval_of
from efcml.studies.paired import difference, draw_orders


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
        chosen = rng.integers(0, len(blocks), len(blocks))
        samples = np.concatenate([blocks[one] for one in chosen])
        orders = rng.integers(0, n_orders, n_orders - 1) if n_orders > 1 else [0]
        gaps = []
        for order in orders:
            both = []
            for table in (first, second):
                points = possible = 0.0
                for sample in samples:
                    points = points + table[order, sample, 0]
                    possible = possible + table[order, sample, 1]
                both.append(np.mean(points / possible))
            gaps.append(both[1] - both[0])
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
        first, second = (rng.integers(1, 4, (*shape, 2, 2)).astype(float) for _ in range(2))
    found = difference(first, second, block=block)
    wanted = brute_force(first, second, block=block, draws=1500, seed=7)
    width = wanted[1] - wanted[0]
    assert found.low == pytest.approx(wanted[0], abs=0.08 * width)
    assert found.high == pytest.approx(wanted[1], abs=0.08 * width)
    values = [value_of(table.sum(axis=1)).mean() for table in (first, second)]
    assert found.mean == pytest.approx(values[1] - values[0])


def test_a_measure_may_make_something_else_of_its_sums():
    """The calibration error of a model whose probabilities are .2 too high, in one bin."""
    rng = np.random.default_rng(3)
    gaps = rng.normal(0.0, 0.3, (3, 200, 1, 1))
    tallies = [np.concatenate([gaps + more, np.ones_like(gaps)], axis=2) for more in (0.0, 0.2)]
    found = difference(*tallies, value_of=MEASURES["calibration_error"].value_of)
    wanted = np.abs(gaps.mean(axis=1) + 0.2) - np.abs(gaps.mean(axis=1))
    assert found.mean == pytest.approx(wanted.mean())
    assert 0 < found.low < found.mean < found.high < 0.25
    signed = difference(tallies[1], tallies[0], value_of=MEASURES["calibration_error"].value_of)
    assert signed.mean == pytest.approx(-found.mean)


def test_one_order_gives_the_interval_over_samples():
    """The same as the intervals of the paper's verdicts; samples without a value are left out."""
    rng = np.random.default_rng(0)
    values = rng.random((2, 1, 80))
    values[:, :, :7] = np.nan
    tallies = [
        np.stack([np.nan_to_num(one), ~np.isnan(one)], axis=-1)[..., None].astype(float)
        for one in values
    ]
    found = difference(*tallies, comparisons=5)
    wanted = interval_of((values[1] - values[0])[0], claims=5)
    for name in ("mean", "low", "high", "wide_low", "wide_high"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-12)


def test_intervals_cover_a_known_difference(monkeypatch):
    """Samples and orders have effects of their own; 95 % of the intervals have the truth in them.

    An interval that took the spread over samples alone would be too narrow here, and so would one
    that took all values of all orders for independent.
    """
    monkeypatch.setattr(intervals, "RESAMPLES", 400)
    monkeypatch.setattr(paired, "RESAMPLES", 400)
    intervals.draw_counts.cache_clear()
    rng = np.random.default_rng(1)
    truth, hits, naive, trials = 0.02, 0, 0, 400
    n, n_orders = 80, 10
    for _ in range(trials):
        by_sample = rng.normal(0.0, 0.1, n)
        by_order = rng.normal(0.0, 0.02, (n_orders, 1))
        noise = rng.normal(0.0, 0.1, (n_orders, n))
        gap = truth + by_sample + by_order + noise
        first = rng.random((n_orders, n))
        found = difference(as_tallies(first), as_tallies(first + gap))
        hits += found.low <= truth <= found.high
        half = 1.96 * gap.std(ddof=1) / np.sqrt(gap.size)
        naive += abs(gap.mean() - truth) <= half
    intervals.draw_counts.cache_clear()
    assert 0.91 <= hits / trials <= 0.98
    assert naive / trials < 0.8


def test_corrected_intervals_cover_all_at_once():
    """Twenty comparisons of equal models: all corrected intervals have 0 in them, nearly always."""
    rng = np.random.default_rng(2)
    all_of_them, single = 0, 0
    for _ in range(40):
        tables = [as_tallies(rng.random((1, 100))) for _ in range(21)]
        found = [difference(tables[0], one, comparisons=20) for one in tables[1:]]
        all_of_them += all(one.wide_low <= 0 <= one.wide_high for one in found)
        single += all(one.low <= 0 <= one.high for one in found)
    assert all_of_them >= 36
    assert single < all_of_them


def test_shares_of_orders():
    shares = draw_orders(4, 0)
    assert shares.shape == (intervals.RESAMPLES, 4)
    assert np.allclose(shares.sum(axis=1), 1.0)
    # The variance of a drawn mean is that of a mean of four, without bias.
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert (shares @ values).var() == pytest.approx(values.var(ddof=1) / 4, rel=0.05)
    assert (draw_orders(1, 0) == 1.0).all()


def test_nothing_to_compare_gives_nan():
    empty = np.zeros((2, 30, 2, 1))
    found = difference(empty, empty)
    assert np.isnan([found.mean, found.low, found.high]).all()


def test_long_streams_are_drawn_in_blocks(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = (as_tallies(rng.random((2, 600)) + shift) for shift in (0.0, 0.1))
    whole = difference(first, second)
    monkeypatch.setattr(paired, "MOST_DRAWN", 100)
    fewer = difference(first, second)
    assert fewer.mean == whole.mean
    assert fewer.high - fewer.low == pytest.approx(whole.high - whole.low, rel=0.25)
    assert intervals.draw_counts(100, intervals.SEED).shape[1] == 100
