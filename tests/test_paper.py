"""The paper's experiments: runs on tiny data, resuming, tables and verdicts on made-up records."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.reproduce_files import (
    TINY,
    keep_made_up,
    made_up,
    search_nothing,
    tiny_set,
    use_tiny_sets,
)

from efcml import ActiveLearner, EFCMLClassifier, prequential
from efcml.cli import main
from efcml.studies import runs as study_runs
from efcml_paper import runs, scale, tuned, work
from efcml_paper.claims import CLAIMS, N_CHECKS, Claim
from efcml_paper.findings import Findings
from efcml_paper.plan import IDS, LARGE_IDS, Plan, choose_ids
from efcml_paper.run_records import Records, pack, pack_shares, to_line, unpack, unpack_shares
from efcml_paper.runs import Asking, Line, make_run, order_of
from efcml_paper.scale import FULL, LARGE, QUICK
from efcml_paper.session import Session
from efcml_paper.shown import tables_of
from efcml_paper.verdicts import BOUNDS, COUNTED, HOLDS, OPEN, REFUTED, count_verdicts, judge
from efcml_paper.verdicts import judge_all as judge_both

FEW = {"max_rules": 3, "prior": 1.0, "splitting": "off"}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(scale, "QUICK", TINY)
    yield
    runs.load_data.cache_clear(), runs.key_of.cache_clear()


def make_up(patch):
    """Let nothing be learned."""
    patch.setattr(work, "run_study", keep_made_up)
    patch.setattr(tuned, "tune", search_nothing)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "records").mkdir()
    return tmp_path / "records" / "runs.jsonl"


def do(wanted, path):
    """Do what is missing; return the records and what was said."""
    records, said = Records(path), []
    work.run_missing(wanted, records, {}, say=said.append)
    return Records(path), said


# -- runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "initial", "stream"),
    [
        ({}, (0, 20), (20, 40)),
        ({"start": "small"}, (0, 4), (4, 40)),
        ({"start": "inside"}, (0, 16), (16, 20)),
        ({"limits": (5, 7)}, (15, 20), (20, 27)),
        ({"start": "small", "limits": (3, 2)}, (1, 4), (4, 6)),
        ({"start": "inside", "limits": (10, None)}, (10, 18), (18, 20)),
    ],
)
def test_rows_of_a_run(change, initial, stream):
    rows, whole = replace(make_run("emotions"), **change).rows(), tiny_set("emotions")
    for part, expected in ((rows.initial, initial), (rows.stream, stream)):
        assert np.array_equal(part[0], whole.X[slice(*expected)])
        assert np.array_equal(part[1], whole.Y[slice(*expected)])


def test_orders_and_keys_tell_runs_apart():
    run = make_run("emotions", vigilance=0.4)
    assert order_of(run, 9).tolist() == list(range(9))
    assert order_of(run.in_order(2), 9).tolist() == np.random.default_rng(2).permutation(9).tolist()
    assert order_of(make_run("drifting-clusters").in_order(3), 5).tolist() == list(range(5))
    changes = [{"dataset": "birds"}, {"model": "ovr"}, {"parameters": ()}, {"start": "small"}]
    changes += [{"order": 2}, {"limits": (9, None)}, {"limits": (None, 9)}, {"alone": True}]
    changes += [{"asking": Asking(*one, ("novelty",))} for one in ((0.1, "labels"), (0.2, "x"))]
    others = [run, *(replace(run, **change) for change in changes)]
    assert len({one.key for one in others}) == len(others)


def test_records_hold_what_prequential_gives_and_are_done_once(path, monkeypatch):
    asking = Asking(0.3, "labels", ("random",))
    run = make_run("emotions", **FEW).in_order(2)
    static, asked = make_run("emotions", "static", **FEW), replace(run, asking=asking)
    drawn = make_run("drifting-clusters", **FEW).in_order(1)
    wanted, done, stream = [run, static, asked, drawn, run], [], study_runs.stream

    def interrupt(model, one):
        done.append(one.key)
        if len(done) == 3:
            raise KeyboardInterrupt
        return stream(model, one)

    monkeypatch.setattr(study_runs, "stream", interrupt)
    with pytest.raises(KeyboardInterrupt, match="after 2 of 4 runs; the same command goes on"):
        do(wanted, path)
    assert len(Records(path).by_key) == 2
    records, said = do(wanted, path)
    assert said == ["2 runs to do (2 are there)"] and len(done) == 5
    assert do(wanted, path)[1] == []
    ds, order = tiny_set("emotions"), 20 + np.random.default_rng(2).permutation(20)
    clf, rows = EFCMLClassifier(**FEW).fit(*ds.initial), (ds.X[order], ds.Y[order])
    found = records.of(static)
    assert (found["pa"], found["asked"]) == (clf.score(*ds.stream), 0.0)
    result, found = prequential(clf, *rows), records.of(run)
    names = ("pa", "ap", "births", "merges", "drops")
    assert [found[name] for name in names] == [getattr(result, name) for name in names]
    assert (found["rules"], found["most_rules"]) == (result.rules[-1], result.rules.max())
    right = ((result.scores >= 0.5) == result.Y).sum(axis=1)
    assert unpack(found["right"], "u1")[order - 20].tolist() == right.tolist()
    assert unpack(found["curve"], "u2").tolist() == result.rules.tolist()
    ap = unpack_shares(found["ap_rows"])  # in the order of the file
    assert np.isnan(ap).tolist() == (~ds.Y[20:].any(axis=1)).tolist()
    assert abs(np.nanmean(ap) - result.ap) < 0.002
    assert (found["order"], found["parameters"], found["diverged"]) == (2, FEW, False)
    active = ActiveLearner(0.3, "labels", ("random",), random_state=2)
    result = prequential(EFCMLClassifier(**FEW).fit(*ds.initial), *rows, active=active)
    found = records.of(asked)
    assert (found["pa"], found["ap_rows"]) == (result.pa, None)
    assert found["asked"] == pytest.approx(result.queried.mean())
    ds = tiny_set("drifting-clusters", seed=1)
    result = prequential(EFCMLClassifier(**FEW).fit(*ds.initial), *ds.stream)
    assert records.of(drawn)["pa"] == result.pa


def test_old_and_broken_records_are_made_again(path, monkeypatch):
    make_up(monkeypatch)
    some = [make_run("emotions").in_order(order) for order in range(3)]
    do(some, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert do(some, path)[1] == ["1 runs to do (2 are there)"]
    assert path.read_bytes() == whole
    with path.open("a") as file:
        file.write('broken\n{"key": "x"}\n[1]\n')
    assert Records(path).by_key == {run.key: made_up(run) for run in some}
    for name in ("method", "data"):
        path.write_text(to_line(made_up(some[0]) | {name: "other", "pa": 0.5}))
        records, said = do(some, path)
        assert said[0] == "1 records come from another method or data and are made again"
        assert records.of(some[0]) == made_up(some[0])
    assert list(json.loads(path.with_name("defaults.json").read_text())) == ["m1"]
    places = []
    monkeypatch.setattr(work, "run_study", lambda runs, _, place, bar: places.append((runs, place)))
    timed = replace(make_run("birds"), alone=True)
    work.run_missing([timed, make_run("birds")], Records(path), {"jobs": 2}, say=lambda line: None)
    assert places == [([make_run("birds")], {"jobs": 2}), ([timed], {})]


# -- the command ----------------------------------------------------------------------------


def run_command(folder, experiment):
    return main(["reproduce", experiment, "--quick", "--out", str(folder), "--jobs", "1"])


def test_one_experiment_from_runs_to_verdicts(tmp_path, capsys, monkeypatch):
    make_up(monkeypatch)
    assert choose_ids("all", FULL) == IDS
    assert choose_ids("all", QUICK) == tuple(name for name in IDS if name not in LARGE_IDS)
    assert run_command(tmp_path, "nothing") == 2
    assert run_command(tmp_path, "rule-counts") == 0
    out = capsys.readouterr().out
    assert "tuning on 20 initial rows of emotions: 2 points, 2 folds" in out
    assert re.search(r"EFC-ML +\d+ \(2 merges\)", out)
    below = out[out.index("merging keeps the rules near 17 and 10 (holds if") :].splitlines()[1:]
    words = "(holds|in part|does not hold|could not be shown)"
    assert re.match(rf"  with cases \(default\): {words}", below[0])
    assert re.match(rf"    emotions: {words}, \d+", below[1])
    assert re.match(rf"  rules alone: {words}", below[3])
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        *(f"records/{name}" for name in ("runs.jsonl", "tuned.json", "defaults.json")),
        *(f"tables/{name}.md" for name in ("rule-counts", "verdicts")),
        *(f"figures/rule-counts.{kind}" for kind in ("png", "svg")),
    }
    assert "cases=0" in (tmp_path / "records" / "runs.jsonl").read_text()
    monkeypatch.setattr(scale, "QUICK", replace(TINY, judged=False))
    assert run_command(tmp_path, "rule-counts") == 0
    out = capsys.readouterr().out
    assert "runs to do" not in out and "tuning on" not in out
    assert "a quick run gives no verdicts" in out and "holds if" not in out
    records, gone = Records(tmp_path / "records" / "runs.jsonl"), make_run("emotions", beta=0.7)
    records.add([made_up(gone) | {"method": "m0"}])  # of a choice that came out differently
    assert run_command(tmp_path, "rule-counts") == 0
    assert gone.key not in Records(records.path).by_key


# -- tables on made-up records --------------------------------------------------------------


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Everything recorded, with made-up numbers."""
    with pytest.MonkeyPatch.context() as patch:
        use_tiny_sets(patch)
        make_up(patch)
        session = Session(tmp_path_factory.mktemp("all"), TINY, say=lambda line: None)
        patch.setattr(Records, "_write", lambda self: None)
        for experiment in IDS:
            session.run_one(experiment)
    return session.findings()


def test_tables_hold_the_numbers_of_the_records(findings):
    assert findings.recorded_ids == list(IDS)
    for experiment in IDS:
        for table in tables_of(experiment, findings):
            assert table.rows and all(len(row) == len(table.header) for row in table.rows)
    line, chain = findings.pick("pa-trends", "emotions", "EFC-ML", "chain")
    mean, single, differences = tables_of("pa-trends", findings)
    column = mean.header.index("emotions")
    pa, ap = (findings.mean(line, measure) for measure in ("pa", "ap"))
    assert mean.rows[0][column] == f"{pa:.3f} / {ap:.3f}".replace("0.", ".")
    first = findings.records.of(line.run)
    assert single.rows[0][column] == f"{first['pa']:.3f} / {first['ap']:.3f}".replace("0.", ".")
    found = findings.difference(line, chain, "pa")
    assert differences.rows[2][0] == "chain"
    assert differences.rows[2][column] == f"{found.in_points()} ({100 * found.spread:.2f})"
    (speed,) = tables_of("speed", findings)
    row = next(row for row in speed.rows if row[:2] == ["yeast", "chain"])
    seconds = findings.mean(findings.pick("speed", "yeast", "chain")[0], "ms_per_sample") / 1e3
    assert row[2:5] == [f"{seconds:.5f}", "0.171", f"{0.171 / seconds:.0f}"]


# -- verdicts -------------------------------------------------------------------------------

N = 1000


class Lines(Findings):
    """Findings about lines that are given by hand."""

    def __init__(self, folder, **lines):
        """Take per-sample values of shape (orders, n) by name."""
        super().__init__(Plan(TINY, {}, Records(folder / "runs.jsonl")), claims=50)
        self.given = {}
        for place, (name, values) in enumerate(lines.items()):
            self.give("birds", name, values, place)

    def give(self, dataset, name, values, place, **fields):
        values = np.atleast_2d(values)
        line = Line(make_run(dataset, vigilance=0.1 + place), tuple(range(len(values))))
        for run, own in zip(line.runs, values, strict=True):
            right, ap = pack(np.round(10 * own), "u1"), pack_shares(own)
            numbers = {"labels": 10, "right": right, "ap_rows": ap, "pa": float(np.mean(own))}
            self.records.by_key[run.key] = made_up(run) | numbers | fields
        self.given.setdefault(dataset, {})[name] = line

    def lines(self, experiment):
        return self.given


def decisions(rng, share, n=N):
    """Return per-sample shares of right decisions."""
    return rng.binomial(10, share, n) / 10


def claim(test, *lines, sets=("birds",), **more):
    return Claim("pa-trends", "words", test, sets, lines, **more)


def answer(found, *given, **more):
    ((word, _),) = judge(claim(*given, **more), found).outcomes.values()
    return word


@pytest.fixture
def some(rng, tmp_path):
    """Lines that lie far apart, hardly apart, and on each other."""
    low = decisions(rng, 0.6)
    near = low.copy()
    near[:2] = 1 - near[:2]
    return Lines(
        tmp_path, high=np.minimum(low + 0.1, 1.0), low=low, near=near, noisy=decisions(rng, 0.6)
    )


def test_answers_of_intervals(some):
    for test, lines, margin, expected in (
        ("above", "high low", 0.0, HOLDS),
        ("above", "low high", 0.0, REFUTED),
        ("above", "noisy low", 0.0, OPEN),
        ("above", "high low high", 0.0, OPEN),
        ("worst", "low high", 0.0, HOLDS),
        ("worst", "high low", 0.0, REFUTED),
        ("worst", "low high near", 0.0, OPEN),
        ("level", "near low", 0.01, HOLDS),
        ("level", "high low", 0.01, REFUTED),
        ("level", "low high", 0.01, REFUTED),
        ("level", "noisy low", 0.01, OPEN),
        ("no loss", "near low", 0.01, HOLDS),
        ("no loss", "high low", 0.01, HOLDS),
        ("no loss", "low high", 0.01, REFUTED),
        ("about", "high low", 0.1, HOLDS),
        ("about", "high low", 0.3, REFUTED),
        ("about", "high low", 0.03, REFUTED),
        ("about", "high low high", 0.1, REFUTED),
        ("leads", "high low near", 0.0, HOLDS),
        ("leads", "high low high", 0.0, REFUTED),
        ("leads", "noisy low", 0.0, OPEN),
    ):
        assert answer(some, test, *lines.split(), margin=margin) == expected, (test, lines, margin)
    assert answer(some, "above", "high", "low", measure="ap") == HOLDS


def test_only_the_corrected_interval_decides(rng, tmp_path):
    noise = rng.normal(size=N)
    noise = 0.05 * (noise - noise.mean()) / noise.std()
    lift = 2.6 * 0.05 / np.sqrt(N)  # by 2.6 standard errors: enough for one claim, not for fifty
    found = Lines(tmp_path, a=0.5 + noise + lift, b=np.full(N, 0.5))
    difference = found.difference(*found.given["birds"].values(), "ap")
    assert difference.wide_low < 0 < difference.low
    for test, margin in (("above", 0.0), ("level", difference.high), ("no loss", -difference.low)):
        assert answer(found, test, "a", "b", measure="ap", margin=margin) == OPEN, test


def test_orders_are_averaged_by_sample_before_samples_are_drawn(rng, tmp_path):
    values = rng.binomial(10, 0.7, (4, N)) / 10
    found = Lines(tmp_path, a=values, b=np.repeat(values[:1], 4, axis=0), c=values[:1])
    a, b, c = found.given["birds"].values()
    difference = found.difference(a, b, "pa")
    assert difference.mean == pytest.approx(values.mean() - values[0].mean())
    assert difference.spread == pytest.approx(values.mean(axis=1).std(ddof=1))
    one, four = (found.combine([line], [1.0], "pa") for line in (c, b))
    assert four.low == pytest.approx(one.low)  # more orders, not more samples
    order = np.random.default_rng(2).permutation(N)
    expected = np.cumsum(values[2][order]) / np.arange(1, N + 1)
    np.testing.assert_allclose(found.trend(a, "pa", 2), expected)
    found.give("drifting-clusters", "d", values, 5)  # other samples with every seed
    line = found.given["drifting-clusters"]["d"]
    assert np.array_equal(found.by_order(line, "pa"), values.reshape(1, -1))


def test_falls_numbers_times_and_most(rng, some):
    down = np.concatenate([decisions(rng, 0.8, 2000), decisions(rng, 0.7, 2000)])
    flat = decisions(rng, 0.8, 4000)
    for place, (name, values) in enumerate({"down": down, "up": down[::-1], "flat": flat}.items()):
        some.give(LARGE, name, values, place)
    for name, expected in (("down", HOLDS), ("up", REFUTED), ("flat", OPEN)):
        assert answer(some, "falls", name, sets=(LARGE,)) == expected
    some.give("yeast", "a", np.ones((2, 5)), 0)
    for test, rules, margin, expected in (
        ("kept near", 19, (17,), HOLDS),
        ("kept near", 20, (17,), OPEN),  # this is the cap
        ("kept near", 20, (10,), REFUTED),
        ("kept near", 8, (17,), REFUTED),
        ("kept near", (17, 30), (17,), OPEN),  # in one order near, in the other not
        ("more", 101, 100, HOLDS),
        ("more", (101, 100), 100, OPEN),
        ("more", 100, 100, REFUTED),
    ):
        for run, number in zip(
            some.given["yeast"]["a"].runs, np.broadcast_to(rules, 2), strict=True
        ):
            some.records.of(run)["rules"] = number
        own = {"sets": ("yeast",), "measure": "rules", "margin": margin}
        assert answer(some, test, "a", **own) == expected, (test, rules)
    some.give("birds", "fast", np.ones(5), 5, ms_per_sample=1.0)
    some.give("birds", "slow", np.ones(5), 6, ms_per_sample=2.5)
    for margin, expected in ((2.0, HOLDS), (2.4, OPEN), (2.6, OPEN), (3.0, REFUTED)):
        own = {"measure": "ms_per_sample", "margin": (margin,)}
        assert answer(some, "times", "fast", "slow", **own) == expected
    base = decisions(rng, 0.6)
    for name, lift, expected in (
        ("emotions", 0.02, HOLDS),
        ("water-quality", 0.12, OPEN),
        ("yeast", 0.3, REFUTED),
    ):
        some.give(name, "high", np.minimum(base + lift, 1.0), 0)
        some.give(name, "low", base, 1)
        assert answer(some, "most", "high", "low") == expected, name


def test_words_of_verdicts(some, rng):
    base = decisions(rng, 0.6)
    some.give("emotions", "high", base, 0)
    some.give("emotions", "low", np.minimum(base + 0.1, 1.0), 1)
    some.give("yeast", "high", decisions(rng, 0.6), 0)
    some.give("yeast", "low", base, 1)
    for sets, words in (
        ("birds", "holds"),
        ("emotions", "does not hold"),
        ("yeast", "could not be shown"),
        (
            "birds emotions yeast",
            "in part: holds on 1, does not hold on 1, could not be shown on 1",
        ),
        ("emotions yeast", "does not hold: does not hold on 1, could not be shown on 1 of 2 sets"),
        ("birds water-quality", "no records on water-quality"),
    ):
        assert judge(claim("above", "high", "low", sets=sets.split()), some).told.startswith(words)
    some.give("birds", "low, small start", np.minimum(base + 0.1, 1.0), 9)
    some.give("birds", "high, small start", base, 8)
    assert answer(some, "above", "high", "low", start=", small start") == REFUTED
    judged = judge_both([claim("above", "high", "low"), claim("above", "noisy", "low")], some)
    assert count_verdicts(judged).startswith(
        "2 claims. With cases (default): 1 hold, 0 hold in part, 0 do not hold, 1 could not be"
    )


def test_every_claim_can_be_checked(findings):
    for one in CLAIMS:
        assert (one.test in BOUNDS) != (one.test in COUNTED)
        for plan in (findings.plan, findings.plan.rules_alone()):
            lines = plan.lines(one.experiment)
            for dataset in one.sets:
                assert {name + one.start for name in one.lines} <= set(lines[dataset]), one
        if one.test in ("kept near", "times"):
            assert len(one.margin) == len(one.sets)
    assert {one.experiment for one in CLAIMS} == set(IDS) - {"ablation"}
    assert 2 * sum(len(one.sets) for one in CLAIMS) == N_CHECKS > 160


def test_the_highest_point_of_the_grid_is_taken_as_in_the_paper(tmp_path):
    """The default is tried, too, but is not in the paper's grid."""
    said, run = [], runs.make_run("emotions")
    found = tuned.search(run, TINY.grid, 2, {}, tmp_path / "checkpoints" / "x", said.append)
    assert [point["vigilance"] for point in found["best"]] == [0.5, 0.5]
    first, second = found["best"]
    assert (first["pa"], first["ap"]) >= (second["pa"], second["ap"])
    assert found["parameters"] == {name: first[name] for name in TINY.grid}
    assert (found["pa"], found["points"]) == (first["pa"], 2) and "of 3 points" in said[1]
