"""Intervals of differences on data whose answer is known, and models on several data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from efcml.measures import MEASURES, value_of
from efcml.studies.intervals import Interval, paired_difference
from efcml.studies.ranks import compare_two, rank_models
from interval_coverage import coverage


def as_tallies(values):
    """Return values of every order and sample as tallies of a mean over samples."""
    return np.stack([values, np.ones_like(values)], axis=-1)[..., None]


def gaps(values):
    """Return what makes differences of these values."""
    return as_tallies(np.zeros_like(values)), as_tallies(values)


def test_of_one_order_the_interval_is_students(rng):
    values = rng.normal(0.3, 2.0, 400)
    found = paired_difference(*gaps(values[None]), block=1)
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found[1:3] == pytest.approx(tuple(wanted))
    many = paired_difference(*gaps(values[None]), block=1, comparisons=100)
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(1.0 - 0.05 / 100)
    assert many[1:3] == pytest.approx(tuple(wanted))
    means = values.reshape(20, 20).mean(axis=1)
    blocks = paired_difference(*gaps(values[None]), block=20)
    assert blocks[1:3] == pytest.approx(tuple(stats.ttest_1samp(means, 0.0).confidence_interval()))


def test_orders_with_rows_of_their_own_are_all_that_counts(rng):
    values = rng.normal(size=(5, 60)) + rng.normal(size=(5, 1))
    found = paired_difference(*gaps(values), shared=False)
    wanted = stats.ttest_1samp(values.mean(axis=1), 0.0).confidence_interval(0.95)
    assert found[1:3] == pytest.approx(tuple(wanted))


def test_rows_and_orders_add_up(rng):
    """The variance is that of the grand mean of a two-way table."""
    values = rng.normal(size=(4, 1)) + rng.normal(size=200) + rng.normal(size=(4, 200))
    found = paired_difference(*gaps(values), block=1)
    of_orders, of_rows = values.mean(axis=1), values.mean(axis=0)
    rest = values - of_rows - of_orders[:, None] + values.mean()
    rows = of_rows.var(ddof=1) / 200 - (rest**2).sum() / (3 * 199) / 800
    orders = of_orders.var(ddof=1) / 4
    both = rows + orders
    free = both / (orders * (orders / both) ** 0.2 / 3 + rows / 199)
    half = stats.t.ppf(0.975, free) * np.sqrt(rows + orders)
    assert found.high - found.difference == pytest.approx(half)


@pytest.mark.parametrize("kind", ["ratio", "f1"])
def test_measures_that_are_no_means_of_rows(rng, kind):
    """The spread of the measure over new data is that of the interval."""
    shape = (1, 300, 2, 1 if kind == "ratio" else 3)

    def draw():
        return rng.integers(0, 3, shape) + np.array([[0.0], [3.0]])

    def value(table):
        return value_of(table.sum(axis=1)).item()

    first = draw()
    new = np.std([value(draw()) - value(draw()) for _ in range(2000)])
    found = [paired_difference(first, draw(), block=1) for _ in range(20)]
    widths = [one.high - one.low for one in found]
    assert np.mean(widths) == pytest.approx(2 * 1.968 * new, rel=0.1)


CELLS = [(1, 0, 0.9), (3, 0, 0), (3, 1, 0), (3, 10, 0.5), (5, 0, 0.8), (5, 10, 0), (10, 1, 0.9)]


@pytest.mark.parametrize(("orders", "effect", "likeness"), CELLS)
def test_intervals_hold_as_often_as_they_say(orders, effect, likeness):
    held, without = coverage(300, orders, 500, effect, likeness)
    assert 0.915 <= held <= 0.985 and without < 0.06  # a standard error is 1.3 points


@pytest.mark.long
@pytest.mark.parametrize("orders", [1, 3, 5, 10])
def test_all_cells_of_the_table_hold(orders):
    for effect in (0, 1, 10) if orders > 1 else (0,):
        for likeness in (0.0, 0.5, 0.8, 0.9):
            held, without = coverage(3000, orders, 500, effect, likeness, seed=1)
            assert 0.93 <= held <= 0.975 and without < 0.06


@pytest.mark.parametrize(
    ("shape", "given", "reason"),
    [
        ((2, 400), {}, "two orders cannot tell how much orders matter: it takes three, or a"),
        (
            (1, 149),
            {},
            "149 rows cannot tell how far they are alike: it takes 150 rows, or block=1",
        ),
        ((1, 400), {"block": 50}, "400 rows have fewer than 10 blocks: it takes 500 rows, or"),
        ((1, 400), {}, "rows are alike over more than 40 rows: it takes at least 800 rows"),
    ],
)
def test_where_no_interval_is_honest_there_is_none(shape, given, reason):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    found = paired_difference(*gaps(values), **given)
    assert found.difference == values.mean() and np.isnan(found[1:3]).all()
    assert found.reason.startswith(reason) and found.in_points().endswith(", no interval")


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
    empty = np.zeros((3, 30, 2, 1))
    nothing = paired_difference(empty, empty, block=1)
    assert np.isnan(nothing[:3]).all() and "it takes more rows that have it" in nothing.reason


def test_points_are_rounded():
    assert Interval(-1e-9, -0.0123, 0.02).in_points() == "+0.00 [-1.23, +2.00]"
    assert Interval(0.5, 0.25, 0.75).in_points(1.0) == "+0.50 [+0.25, +0.75]"


# -- several data sets ----------------------------------------------------------------------

# Demsar (2006), table 6: AUC of C4.5 with m and cf chosen by cross-validation, or not. Where both
# are .975 its ranks are 2 and 3.
AUC = """
.763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657
.882 .888 .886 .898  .936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625
.775 .838 .866 .875  1. 1. 1. 1.  .940 .962 .965 .962  .619 .666 .614 .669
.972 .981 .9751 .975  .957 .978 .946 .970
"""


@pytest.fixture
def published():
    values = np.array(AUC.split(), dtype=float).reshape(14, 4)
    return pd.DataFrame(values, columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"])


def test_ranks_are_those_of_the_paper_that_brought_them(published):
    five, ten = (rank_models(published, MEASURES["pa"], level) for level in (0.95, 0.9))
    wanted = {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert list(five.mean.index) == list(wanted) and five.data == 14
    assert five.mean.to_dict() == pytest.approx(wanted, abs=5e-4)
    assert five.critical_difference == pytest.approx(1.25, abs=5e-3)
    assert ten.critical_difference == pytest.approx(1.12, abs=5e-3)
    assert five.groups == [list(wanted)]  # "not powerful enough" at 5 %
    assert ten.groups == [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]
    # 9.28 in the paper, which does not correct for ties; a third of the sets has some.
    squares = 12 * 14 / 20 * ((five.mean - 2.5) ** 2).sum()
    assert squares == pytest.approx(9.28, abs=0.01)
    assert five.p == pytest.approx(stats.friedmanchisquare(*published.to_numpy().T).pvalue)
    assert 0.01 < five.p < 0.03 and "Friedman p = 0.0" in repr(five)
    lower = rank_models(published, MEASURES["log_loss"], 0.95)
    assert list(lower.mean.index) == list(wanted)[::-1]


def test_critical_values_are_those_of_the_tables():
    """Demsar (2006), table 5a, at 5 %."""
    for k, wanted in ((3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)):
        values = pd.DataFrame(np.random.default_rng(k).random((6, k)))
        found = rank_models(values, MEASURES["pa"], 0.95).critical_difference
        assert found / np.sqrt(k * (k + 1) / 36) == pytest.approx(wanted, abs=1.5e-3)


def test_signed_ranks_are_those_of_a_loop(rng):
    gaps, rope = rng.normal(0.005, 0.02, 12), 0.01
    found, won = compare_two(gaps, rope), np.zeros(3)
    for weights in rng.dirichlet(np.r_[0.5, np.ones(12)], 1000):
        z, shares = np.r_[0.0, gaps], np.zeros(3)
        for a, u in zip(z, weights, strict=True):
            for b, v in zip(z, weights, strict=True):
                place = 0 if (a + b) / 2 > rope else 2 if (a + b) / 2 < -rope else 1
                shares[place] += u * v
        won[shares.argmax()] += 1
    assert tuple(found) == pytest.approx(tuple(won / 1000), abs=0.04)
    assert sum(found) == pytest.approx(1.0)
    turned = compare_two(-gaps, rope)
    assert turned == pytest.approx((found.worse, found.level, found.better), abs=0.02)
    assert compare_two(gaps * 1e-3, rope) == (0.0, 1.0, 0.0)
    assert compare_two(np.full(12, 0.1), rope).better > 0.999


def test_ranks_that_cannot_be_are_refused(published):
    for values, words in (
        (published.iloc[:, :2], "three models or more .* here are 2 on 14; .* see signed_ranks"),
        (published.iloc[:1], "on two data sets or more: here are 4 on 1"),
        (published.where(published > 0.6), "some data sets have no value of pa: leave them out"),
    ):
        with pytest.raises(ValueError, match=words):
            rank_models(values, MEASURES["pa"], 0.95)
    with pytest.raises(ValueError, match="rope must be a number >= 0"):
        compare_two(np.ones(3), -1.0)
