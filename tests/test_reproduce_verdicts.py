"""Intervals and verdicts of the experiments, on numbers whose answers are known."""

import numpy as np
import pytest
from helpers.reproduce_files import TINY, forget, made_up, use_tiny_sets

from efcml.studies.intervals import interval_of, resampled_means, shares_ahead
from efcml_paper.claims import CLAIMS, N_CHECKS, Claim
from efcml_paper.findings import BLOCK, Findings
from efcml_paper.plan import IDS, Plan
from efcml_paper.run_records import Records, pack, pack_shares
from efcml_paper.runs import Line, make_run
from efcml_paper.scale import LARGE, SETS
from efcml_paper.verdicts import (
    BOUNDS,
    COUNTED,
    HOLDS,
    OPEN,
    REFUTED,
    count_verdicts,
    judge,
    judge_all,
    needed,
)

# -- intervals ------------------------------------------------------------------------------


def test_the_interval_has_the_width_of_the_standard_error(rng):
    values = rng.normal(0.3, 2.0, 400)
    found = interval_of(values)
    error = values.std() / np.sqrt(400)
    assert found.mean == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert (found.wide_low, found.wide_high) == pytest.approx((found.low, found.high))


def test_many_claims_widen_it(rng):
    values = rng.normal(size=200)
    one, many = interval_of(values), interval_of(values, claims=100)
    assert (one.low, one.high) == (many.low, many.high)
    ratio = (many.wide_high - many.wide_low) / (one.high - one.low)
    assert ratio == pytest.approx(
        3.4808 / 1.95996, rel=1e-3
    )  # normal quantiles at .05/100, two-sided
    assert many.wide_low < many.low < many.mean < many.high < many.wide_high


def test_values_that_are_missing_are_left_out(rng):
    values = rng.normal(size=150)
    holes = np.insert(values, [3, 70, 150], np.nan)
    found, expected = interval_of(holes), interval_of(values)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (expected.mean, expected.low, expected.high)
    )
    assert interval_of(np.full(20, 0.25)).low == 0.25


def test_blocks_keep_neighbours_together(rng):
    values = np.repeat(rng.normal(size=60), 20)  # 60 independent values, each 20 times
    alone, blocks = interval_of(values), interval_of(values, block=20)
    assert (blocks.high - blocks.low) / (alone.high - alone.low) == pytest.approx(
        np.sqrt(20), rel=0.1
    )
    cut = np.append(values, np.nan)  # a last block without any value
    assert np.isfinite(resampled_means(cut, 20)).all()


def test_blocks_with_holes_stay_where_they_are():
    values = np.zeros(400)
    values[0], values[1:10] = 100.0, np.nan
    means = resampled_means(values, 10)  # the first of 40 blocks has one value
    expected = [100 * count / (count + 10 * (40 - count)) for count in range(12)]
    assert np.isclose(means[:, None], expected).any(axis=1).all()


def test_few_rows_have_short_blocks(rng):
    values = rng.normal(size=40)
    assert np.array_equal(resampled_means(values, 50), resampled_means(values, 2))
    assert np.array_equal(resampled_means(values[:15], 50), resampled_means(values[:15]))


def test_draws_are_the_same_every_time(rng):
    values = rng.normal(size=50)
    assert np.array_equal(resampled_means(values), resampled_means(values.copy()))
    assert not np.array_equal(resampled_means(values), resampled_means(values, seed=1))


# -- findings -------------------------------------------------------------------------------

N = 1000


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    yield
    forget()


class Lines(Findings):
    """Findings about lines that are given by hand."""

    def __init__(self, folder, **lines):
        """Take per-sample values of shape (orders, n) by name; underscores are blanks."""
        super().__init__(Plan(TINY, {}, Records(folder / "runs.jsonl")), claims=50)
        self.given = {}
        for place, (name, values) in enumerate(lines.items()):
            self.give("birds", name.replace("_", " "), np.atleast_2d(values), place)

    def give(self, dataset, name, values, place, **fields):
        line = Line(make_run(dataset, vigilance=0.1 + place), tuple(range(len(values))))
        for run, own in zip(line.runs, values, strict=True):
            self.records.by_key[run.key] = (
                made_up(run)
                | {
                    "labels": 10,
                    "right": pack(np.round(10 * np.asarray(own)), "u1"),
                    "ap_rows": pack_shares(own),
                    "pa": float(np.mean(own)),
                }
                | fields
            )
        self.given.setdefault(dataset, {})[name] = line

    def lines(self, experiment):
        return self.given


def decisions(rng, share, n=N, orders=1):
    """Return per-sample shares of right decisions."""
    return rng.binomial(10, share, (orders, n)) / 10


def test_orders_are_averaged_by_sample_before_samples_are_drawn(rng, tmp_path):
    base = decisions(rng, 0.7)
    many = np.repeat(base, 8, axis=0)
    one = Lines(tmp_path, a=base, b=base * 0 + 0.5)
    eight = Lines(tmp_path, a=many, b=many * 0 + 0.5)
    intervals = [
        found.difference(found.given["birds"]["a"], found.given["birds"]["b"], "pa")
        for found in (one, eight)
    ]
    assert intervals[0].low == pytest.approx(intervals[1].low)  # more orders, not more samples
    assert intervals[0].mean == pytest.approx(base.mean() - 0.5)
    assert np.isnan(intervals[0].spread)
    assert intervals[1].spread == pytest.approx(0.0)


def test_all_orders_count(rng, tmp_path):
    values = decisions(rng, 0.7, orders=4)
    found = Lines(tmp_path, a=values, b=0 * values + 0.5)
    lines = found.given["birds"]
    difference = found.difference(lines["a"], lines["b"], "pa")
    assert difference.mean == pytest.approx(values.mean() - 0.5)
    assert difference.spread == pytest.approx(values.mean(axis=1).std(ddof=1))


def test_pairs_make_intervals_narrow(rng, tmp_path):
    base = decisions(rng, 0.7)
    found = Lines(tmp_path, a=np.minimum(base + 0.1, 1.0), b=base)
    lines = found.given["birds"]
    paired = found.difference(lines["a"], lines["b"], "pa")
    single = interval_of(found.by_order(lines["a"], "pa")[0])
    assert paired.high - paired.low < 0.6 * (single.high - single.low)
    sums = found.combine((lines["a"], lines["b"], lines["b"]), (1.0, -2.0, 1.0), "ap")
    assert sums.mean == pytest.approx(paired.mean, abs=0.002)


def test_trends_follow_the_order_of_the_run(tmp_path):
    values = np.array([[1.0, 0.0, 0.0, 1.0]] * 3)
    found = Lines(tmp_path, a=values)
    line = found.given["birds"]["a"]
    assert found.trend(line, "pa").tolist() == [1.0, 0.5, 1 / 3, 0.5]
    order = np.random.default_rng(2).permutation(4)
    expected = np.cumsum(values[0][order]) / [1, 2, 3, 4]
    assert found.trend(line, "pa", 2).tolist() == expected.tolist()
    mean = np.mean([found.trend(line, "pa", order) for order in range(3)], axis=0)
    assert found.mean_trend(line, "pa").tolist() == mean.tolist()


def test_rule_curves_are_steps(tmp_path):
    found = Lines(tmp_path)
    kept = np.arange(200)
    found.give("birds", "a", np.ones((1, 597)), 0, curve=pack(kept, "u2"))
    rules = found.rules(found.given["birds"]["a"])
    assert len(rules) == 597
    assert (rules[0], rules[-1]) == (0, 199)
    assert (np.diff(rules) >= 0).all()


def test_samples_of_built_in_streams_stand_beside_each_other(tmp_path, rng):
    found = Lines(tmp_path)
    values = decisions(rng, 0.6, 200, orders=3)
    found.give("drifting-clusters", "a", values, 0)
    assert np.array_equal(
        found.by_order(found.given["drifting-clusters"]["a"], "pa"), values.reshape(1, -1)
    )


# -- verdicts -------------------------------------------------------------------------------


def claim(test, *lines, sets=("birds",), **more):
    return Claim("pa-trends", "words", test, sets, lines, **more)


def answer(found, one):
    verdict = judge(one, found)
    ((found, _),) = verdict.outcomes.values()
    return found


@pytest.fixture
def some(rng, tmp_path):
    """Lines that lie far apart, hardly apart, and on each other."""
    low = decisions(rng, 0.6)
    near = low.copy()
    near[0, :2] = 1 - near[0, :2]
    high = np.minimum(low + 0.1, 1.0)
    noisy = decisions(rng, 0.6)
    return Lines(tmp_path, high=high, low=low, near=near, noisy=noisy)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (claim("above", "high", "low"), HOLDS),
        (claim("above", "low", "high"), REFUTED),
        (claim("above", "noisy", "low"), OPEN),
        (claim("above", "high", "low", "near"), HOLDS),
        (claim("above", "high", "low", "high"), OPEN),
        (claim("worst", "low", "high"), HOLDS),
        (claim("worst", "high", "low"), REFUTED),
        (claim("worst", "low", "high", "near"), OPEN),
        (claim("level", "near", "low", margin=0.01), HOLDS),
        (claim("level", "high", "low", margin=0.01), REFUTED),
        (claim("level", "low", "high", margin=0.01), REFUTED),
        (claim("level", "noisy", "low", margin=0.01), OPEN),
        (claim("no loss", "near", "low", margin=0.01), HOLDS),
        (claim("no loss", "high", "low", margin=0.01), HOLDS),
        (claim("no loss", "low", "high", margin=0.01), REFUTED),
        (claim("no loss", "noisy", "low", margin=0.01), OPEN),
        (claim("about", "high", "low", margin=0.1), HOLDS),
        (claim("about", "high", "low", margin=0.3), REFUTED),
        (claim("about", "high", "low", margin=0.03), REFUTED),
        (claim("about", "high", "low", "near", margin=0.1), HOLDS),
        (claim("about", "high", "low", "high", margin=0.1), REFUTED),
        (claim("about", "noisy", "low", margin=0.02), OPEN),
        (claim("leads", "high", "low", "near"), HOLDS),
        (claim("leads", "high", "low", "high"), REFUTED),
        (claim("above", "high", "low", measure="ap"), HOLDS),
    ],
)
def test_answers(some, one, expected):
    assert answer(some, one) == expected


def test_falling_lines(rng, tmp_path):
    down = np.concatenate([decisions(rng, 0.8, 2000)[0], decisions(rng, 0.7, 2000)[0]])
    flat = decisions(rng, 0.8, 4000)[0]
    found = Lines(tmp_path)
    for place, (name, values) in enumerate((("down", down), ("up", down[::-1]), ("flat", flat))):
        found.give("mediamill", name, values[None], place)
    for name, expected in (("down", HOLDS), ("up", REFUTED), ("flat", OPEN)):
        assert answer(found, claim("falls", name, sets=("mediamill",))) == expected
    assert len(down) % BLOCK == 0


def test_only_the_corrected_interval_decides(rng, tmp_path):
    noise = rng.normal(size=N)
    noise = 0.05 * (noise - noise.mean()) / noise.std()
    base = np.full(N, 0.5)
    lift = 2.6 * 0.05 / np.sqrt(N)  # by 2.6 standard errors: enough for one claim, not for fifty
    found = Lines(tmp_path, a=base + noise + lift, b=base)
    lines = found.given["birds"]
    difference = found.difference(lines["a"], lines["b"], "ap")
    assert difference.wide_low < 0 < difference.low
    for one in (
        claim("above", "a", "b", measure="ap"),
        claim("worst", "b", "a", measure="ap"),
        claim("level", "a", "b", measure="ap", margin=difference.high),
        claim("no loss", "a", "b", measure="ap", margin=-difference.low),
        claim("most", "a", "b", measure="ap"),
    ):
        if one.test == "most":
            found.give("emotions", "a", base[None], 0)
            found.give("emotions", "b", base[None], 1)
        assert answer(found, one) == OPEN, one.test


@pytest.mark.parametrize("end", ["wide_low", "wide_high"])
def test_about_needs_the_whole_interval(some, end):
    lines = some.given["birds"]
    found = some.difference(lines["high"], lines["low"], "pa")
    border = (found.mean + getattr(found, end)) / 2  # inside the interval, beside the mean
    margin = border / (0.5 if end == "wide_low" else 1.5)
    assert answer(some, claim("about", "high", "low", margin=margin)) == OPEN


def test_a_slight_fall_is_not_shown(rng, tmp_path):
    half = rng.normal(0.6, 0.1, 2000).clip(0.2, 1.0)
    drop = 2.6 * half.std() * np.sqrt(2 / 2000)
    found = Lines(tmp_path)
    found.give("mediamill", "a", np.concatenate([half, half - drop])[None], 0)
    fall = found.fall(found.given["mediamill"]["a"], "ap")
    assert fall.high < 0 < fall.wide_high
    assert answer(found, claim("falls", "a", sets=("mediamill",), measure="ap")) == OPEN


def test_the_first_rows_do_not_decide_who_leads(tmp_path):
    ahead, behind = np.full(N, 0.9), np.full(N, 0.5)
    ahead[:90] = 0.4  # ahead on average soon after the first tenth
    found = Lines(tmp_path, a=ahead, b=behind)
    assert answer(found, claim("leads", "a", "b")) == HOLDS
    late = ahead.copy()
    late[:150] = 0.0
    found = Lines(tmp_path, a=late, b=behind)
    assert answer(found, claim("leads", "a", "b")) == REFUTED


@pytest.mark.parametrize(
    ("test", "rules", "margin", "expected"),
    [
        ("kept near", 19, (17,), HOLDS),
        ("kept near", 20, (17,), OPEN),  # this is the cap
        ("kept near", 20, (10,), REFUTED),
        ("kept near", 30, (17,), REFUTED),
        ("kept near", 8, (17,), REFUTED),
        ("kept near", (17, 30), (17,), OPEN),  # in one order near, in the other not
        ("more", 101, 100, HOLDS),
        ("more", (101, 100), 100, OPEN),
        ("more", 100, 100, REFUTED),
    ],
)
def test_numbers_of_rules(tmp_path, test, rules, margin, expected):
    found = Lines(tmp_path)
    found.give("birds", "a", np.ones((2, 5)), 0)
    for run, number in zip(found.given["birds"]["a"].runs, np.broadcast_to(rules, 2), strict=True):
        found.records.of(run)["rules"] = number
    assert answer(found, claim(test, "a", measure="rules", margin=margin)) == expected


def test_times(tmp_path):
    found = Lines(tmp_path)
    found.give("birds", "fast", np.ones((1, 5)), 0, ms_per_sample=1.0)
    found.give("birds", "slow", np.ones((1, 5)), 1, ms_per_sample=2.5)
    one = {"measure": "ms_per_sample"}
    for margin, expected in ((2.0, HOLDS), (2.4, OPEN), (2.6, OPEN), (3.0, REFUTED)):
        assert answer(found, claim("times", "fast", "slow", margin=(margin,), **one)) == expected


def test_most(some, rng):
    base = decisions(rng, 0.6)
    some.give("emotions", "high", np.minimum(base + 0.02, 1.0), 0)
    some.give("emotions", "low", base, 1)
    one = claim("most", "high", "low")
    assert answer(some, one) == HOLDS
    some.give("water-quality", "high", np.minimum(base + 0.12, 1.0), 0)
    some.give("water-quality", "low", base, 1)
    assert answer(some, one) == OPEN
    some.give("yeast", "high", np.minimum(base + 0.3, 1.0), 0)
    some.give("yeast", "low", base, 1)
    assert answer(some, one) == REFUTED


def test_the_small_start_is_judged_by_its_own_lines(some, rng):
    base = decisions(rng, 0.6)
    some.give("birds", "high, small start", base, 8)
    some.give("birds", "low, small start", np.minimum(base + 0.1, 1.0), 9)
    assert answer(some, claim("above", "high", "low")) == HOLDS
    assert answer(some, claim("above", "high", "low", start=", small start")) == REFUTED


def test_words_of_verdicts(some, rng):
    base = decisions(rng, 0.6)
    some.give("emotions", "high", base, 0)
    some.give("emotions", "low", np.minimum(base + 0.1, 1.0), 1)
    some.give("yeast", "high", decisions(rng, 0.6), 0)
    some.give("yeast", "low", base, 1)

    def told(*sets, lines=("high", "low")):
        return judge(claim("above", *lines, sets=sets), some).told

    assert told("birds") == "holds"
    assert told("emotions") == "does not hold"
    assert told("yeast") == "could not be shown"
    assert told("birds", "emotions", "yeast") == (
        "in part: holds on 1, does not hold on 1, could not be shown on 1 of 3 sets"
    )
    assert told("emotions", "yeast") == (
        "does not hold: does not hold on 1, could not be shown on 1 of 2 sets"
    )
    assert told("birds", "water-quality") == "no records on water-quality"
    assert told("birds", lines=("high", "absent")) == "no records"
    numbers = judge(claim("above", "high", "low"), some).outcomes["birds"][1]
    assert numbers.startswith("+9.")
    assert "[+" in numbers


def test_who_leads_is_decided_by_an_interval(tmp_path):
    steps = np.tile([-0.5, 0.5], N // 2)
    steps[0] = 0.5  # at every row ahead, by one sample
    found = Lines(tmp_path, a=0.5 + steps, b=np.full(N, 0.5), c=np.full(N, 0.6))
    assert answer(found, claim("leads", "a", "b")) == OPEN
    lines = found.given["birds"]
    share = found.share_ahead(lines["a"], [lines["b"]], "pa")
    assert (share.mean, share.wide_low < 0.1) == (1.0, True)
    assert answer(found, claim("leads", "c", "b")) == HOLDS
    assert answer(found, claim("leads", "b", "c")) == REFUTED


def test_sums_that_cancel_are_ties():
    leads = np.tile([3 / 6 - 2 / 6, 4 / 6 - 5 / 6], 50)  # not quite 0 when added
    assert shares_ahead(np.array([leads, leads])).mean == pytest.approx(0.5)


def test_verdicts_count_in_words(some):
    judged = judge_all([claim("above", "high", "low"), claim("above", "noisy", "low")], some)
    told = count_verdicts(judged)
    assert told.startswith(
        "2 claims. With cases (default): 1 hold, 0 hold in part, 0 do not hold, 1 could not be"
        " shown. Rules alone: "
    )


# -- what the paper says --------------------------------------------------------------------


def test_every_claim_can_be_checked(tmp_path):
    choice = {"parameters": {"vigilance": 0.4, "alpha": 0.1, "beta": 1.0, "max_rules": 40}}
    records = Records(tmp_path / "runs.jsonl")
    plan = Plan(TINY, dict.fromkeys((*SETS, LARGE), choice), records)
    for experiment in IDS:
        for run in plan.searches(experiment):
            records.by_key[run.key] = made_up(run)
    for one in CLAIMS:
        assert (one.test in BOUNDS) != (one.test in COUNTED)
        assert needed(one)
        for lines in (plan.lines(one.experiment), plan.rules_alone().lines(one.experiment)):
            for dataset in one.sets:
                assert {name + one.start for name in one.lines} <= set(lines[dataset]), one
        if one.test in ("kept near", "times"):
            assert len(one.margin) == len(one.sets)
    assert {one.experiment for one in CLAIMS} == set(IDS) - {"ablation"}
    assert 2 * sum(len(one.sets) for one in CLAIMS) == N_CHECKS > 160
    words = [(one.experiment, one.words) for one in CLAIMS]
    assert len(set(words)) == len(words)
    assert Findings(plan).recorded_ids == []
