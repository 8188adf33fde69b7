"""``efcml reproduce`` as a whole: tables, figures, verdicts, exit codes."""

import re
import signal
from dataclasses import replace

import pytest
from helpers.cli_files import refusal
from helpers.reproduce_files import (
    TINY,
    forget,
    keep_made_up,
    made_up,
    search_nothing,
    tiny_set,
    use_tiny_sets,
    without_times,
)

from efcml import datasets
from efcml.cli import main
from efcml.studies import cell_run
from efcml.support.folders import read_lines
from efcml_paper import pages, scale, session, tuned, work
from efcml_paper.ablation import DRIFT_LINES, PAIRS
from efcml_paper.findings import Findings
from efcml_paper.paper_tables import Table, mean_and_half
from efcml_paper.plan import IDS, LARGE_IDS, Plan, choose_ids
from efcml_paper.run_records import Records, to_line
from efcml_paper.runs import make_run
from efcml_paper.scale import FULL, QUICK, SETS
from efcml_paper.session import Session
from efcml_paper.shown import SHOWN, figures_of, tables_of


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(work, "run_study", keep_made_up)
    monkeypatch.setattr(tuned, "tune", search_nothing)
    monkeypatch.setattr(scale, "QUICK", TINY)
    yield
    forget()


@pytest.fixture
def no_figures(monkeypatch):
    """Leave out what takes longest."""
    monkeypatch.setattr(session, "figures_of", lambda *given: {})


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Everything recorded, with made-up numbers."""
    folder = tmp_path_factory.mktemp("all")
    with pytest.MonkeyPatch.context() as patch:
        use_tiny_sets(patch)
        patch.setattr(work, "run_study", keep_made_up)
        patch.setattr(tuned, "tune", search_nothing)
        session = Session(folder, TINY, say=lambda line: None)
        for experiment in IDS:
            session.run_one(experiment)
    forget()
    return session.findings()


def test_everything_is_found(findings):
    assert findings.recorded_ids == list(IDS)
    assert [method for _, method in findings.methods] == ["m1"]


@pytest.mark.parametrize("experiment", IDS)
def test_tables_are_filled(findings, experiment):
    tables = tables_of(experiment, findings)
    assert tables
    for table in tables:
        assert table.rows, table.title
        assert all(len(row) == len(table.header) for row in table.rows)
        cells = [cell for row in table.rows for cell in row]
        assert not any("nan" in str(cell) for cell in cells if "(nan)" not in str(cell))
        assert table.to_markdown().count("\n") == len(table.rows) + 3
        assert table.to_text().splitlines()[0] == table.title


def test_tables_hold_the_numbers_of_the_records(findings):
    line = findings.pick("pa-trends", "emotions", "EFC-ML")[0]
    mean, single, differences = tables_of("pa-trends", findings)
    column = mean.header.index("emotions")
    pa, ap = (findings.mean(line, measure) for measure in ("pa", "ap"))
    assert mean.rows[0][0] == "EFC-ML"
    assert mean.rows[0][column] == f"{pa:.3f} / {ap:.3f}".replace("0.", ".")
    first = findings.records.of(line.run)
    assert single.rows[0][column] == f"{first['pa']:.3f} / {first['ap']:.3f}".replace("0.", ".")
    found = findings.difference(line, findings.pick("pa-trends", "emotions", "chain")[0], "pa")
    assert differences.rows[2][0] == "chain"
    assert differences.rows[2][column] == f"{found.in_points()} ({100 * found.spread:.2f})"
    assert "AP in points" in tables_of("ap-trends", findings)[2].title


@pytest.mark.parametrize("start", ["", ", small start"])
def test_what_a_budget_recovers(findings, start):
    def means(name, order):
        records = [
            findings.records.of(findings.pick("al-samples", dataset, name + start)[0].runs[order])
            for dataset in ("birds", "emotions", "water-quality", "yeast")
        ]
        return sum(record["ap"] for record in records) / 4

    shares, leads = [], []
    for order in (0, 1):
        static, full, active, random = (
            means(name, order) for name in ("static", "full update", "active 20%", "random 20%")
        )
        shares.append((active - static) / (full - static))
        leads.append(100 * (active - random))
    table = tables_of("al-samples", findings)[3 if start else 2]
    row = next(row for row in table.rows if row[0] == "active 20%")
    half = 12.706 * abs(shares[0] - shares[1]) / 2  # Student's t with one degree of freedom
    mean, told = map(float, row[2].split(" ± "))
    assert mean == pytest.approx(sum(shares) / 2, abs=0.005)
    assert told == pytest.approx(half, rel=1e-3, abs=0.005)
    assert float(row[4].split(" ± ")[0]) == pytest.approx(sum(leads) / 2, abs=0.005)
    assert next(row for row in table.rows if row[0] == "random 20%")[3:] == ["", ""]


def test_one_order_has_no_interval_and_no_gap_no_share():
    assert mean_and_half([0.25], "+.2f") == "+0.25"
    assert mean_and_half([float("inf"), 0.1], ".2f") == "-"


def test_speed_stands_beside_the_paper(findings):
    (table,) = tables_of("speed", findings)
    row = next(row for row in table.rows if row[:2] == ["yeast", "chain"])
    line = findings.pick("speed", "yeast", "chain")[0]
    assert row[2:4] == [f"{findings.mean(line, 'ms_per_sample') / 1e3:.5f}", "0.171"]
    assert len(table.rows) == 15


def test_pairs_beyond_the_sum_and_changes(findings):
    lines = findings.lines("ablation")["yeast"]
    pa = {name: findings.by_order(line, "pa").mean() for name, line in lines.items()}
    changed, _, pairs, *drift = tables_of("ablation", findings)
    column = pairs.header.index("yeast")
    for row, pair in zip(pairs.rows, PAIRS, strict=True):
        one, other = pair.split(" + ")
        beyond = pa[f"{one} + {other}"] - pa[one] - pa[other] + pa["default"]
        assert row[0] == f"{one} + {other}"
        assert row[column].startswith(f"{round(100 * beyond, 2) + 0.0:+.2f} [")
    row = next(row for row in changed.rows if row[0] == "no merging")
    assert row[column].startswith(f"{100 * (pa['no merging'] - pa['default']):+.2f} [")
    assert [row[0] for row in drift[0].rows] == list(DRIFT_LINES[1:])


def test_aims_are_reached_or_not(findings):
    line = findings.pick("pa-trends", "emotions", "EFC-ML")[0]
    gap = findings.numbers(line, "pa")[0] - 0.823  # of MOA and of the retrained machine
    word = "reached" if gap > 0 else "not reached"
    rows = pages.marks_part(findings).splitlines()
    row = next(row for row in rows if row.startswith("| best single-pass line, PA |"))
    assert row.split(" | ")[1 + SETS.index("emotions")] == f"{100 * gap:+.1f}, {word}"


@pytest.mark.parametrize("experiment", IDS)
def test_figures_show_every_line(findings, experiment):
    figures = figures_of(experiment, findings)
    names = {
        "pa-trends": ["pa-trends", "pa-trends-default"],
        "ap-trends": ["ap-trends", "ap-trends-default"],
        "al-labels": ["al-labels", "al-labels-small"],
        "al-samples": ["al-samples", "al-samples-small"],
        "al-instability": [
            f"al-instability-{unit}{start}"
            for unit in ("labels", "samples")
            for start in ("", "-small")
        ],
        "speed": [],
    }
    assert list(figures) == names.get(experiment, [experiment])
    for figure in figures.values():
        drawn = [ax for ax in figure.axes if ax.has_data()]
        assert len(drawn) == (2 if experiment.endswith(("mill", "counts", "tion")) else 4)
        assert figure.get_suptitle()


def test_trends_in_figures_are_those_of_the_records(findings):
    figure = figures_of("pa-trends", findings)["pa-trends"]
    ax = next(ax for ax in figure.axes if ax.get_title() == "yeast")
    line = next(line for line in ax.lines if line.get_label() == "EFC-ML")
    trend = findings.trend(findings.pick("pa-trends", "yeast", "EFC-ML")[0], "pa")
    assert line.get_ydata()[-1] == trend[-1]
    labels = {line.get_label() for line in ax.lines}
    assert {"EFC-ML", "one-versus-rest", "chain", "static"} <= labels


# -- the page -------------------------------------------------------------------------------


def test_the_page_has_all_parts(findings):
    verdicts = pages.verdict_part(findings)
    counts = [int(n) for n in re.findall(r"^(\d+) claims\.", verdicts, re.M)]
    parts = r"(\d+) hold, (\d+) hold in part, (\d+) do not hold, (\d+) could not be shown\."
    sums = [sum(map(int, found)) for found in re.findall(parts, verdicts)]
    assert sums == [count for count in counts for _ in ("with cases", "rules alone")]
    assert verdicts.count("\n| ") == 2 * sum(counts) + 4
    assert "(not shown)" not in verdicts
    assert "no records" not in verdicts
    marks = pages.marks_part(findings)
    assert "| MOA, best in each measure | .953 / .514 | .823 / .816 |" in marks
    assert "reached" in marks
    text = pages.tables_part(findings)
    assert all(f"### {experiment}" in text for experiment in IDS)
    assert "runs by efcml" in text
    assert "mixed" not in text
    assert "| emotions | efcml | alpha 0.0, beta 0.1, max_rules 40, vigilance 0.5 |" in text
    assert "| emotions | chain |" in text
    tables = re.findall(r"\*\*[^\n]*\*\*\n\n(?:\|[^\n]*\n?)+", text)
    assert len(tables) == len(set(tables)) > len(IDS)


def test_pictures_stand_with_their_experiment(findings, tmp_path, monkeypatch):
    def touch(figure, path, kinds):
        for kind in kinds:
            path.with_suffix(f".{kind}").touch()

    monkeypatch.setattr(pages, "save_figure", touch)
    drawn = pages.draw_pictures(findings, tmp_path)
    assert sorted(drawn) == sorted(f"paper-{name}.svg" for name in pages.PICTURES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(drawn)
    text = pages.tables_part(findings, drawn[:1])
    assert text.count("](../images/") == 1
    shown = text.index(f"](../images/{drawn[0]})")
    heading = text.rindex("### ", 0, shown)
    assert drawn[0].startswith("paper-" + text[heading + 4 :].partition("\n")[0])
    assert sorted(SHOWN) == sorted(IDS)


def test_mixed_records_are_said(findings):
    records = Records("nowhere")
    for place, (key, record) in enumerate(findings.records.by_key.items()):
        records.by_key[key] = record | {"method": f"m{place % 2}"}
    mixed = Findings(Plan(TINY, findings.plan.choices, records))
    assert "The records are mixed" in pages.origin(mixed)


def test_the_page_without_records(tmp_path):
    assert pages.read_findings(tmp_path) is None
    for part in (pages.verdict_part, pages.marks_part, pages.tables_part):
        assert "no records yet" in part(None)


def test_a_part_of_the_records_gives_a_part_of_the_page(tmp_path):
    session = Session(tmp_path, TINY, say=lambda line: None)
    session.run_one("al-labels")
    found = pages.read_findings(tmp_path, TINY)
    assert set(found.recorded_ids) == set(IDS) - {"speed", *LARGE_IDS}  # by runs they share
    assert "no records" in pages.verdict_part(found)
    assert "| **EFC-ML** | - | - |" in pages.marks_part(found)
    for experiment in IDS:
        tables_of(experiment, found)
        figures_of(experiment, found)


def test_budgets_of_which_only_some_are_there_recover_nothing(tmp_path):
    session = Session(tmp_path, TINY, say=lambda line: None)
    session.run_one("al-instability")
    found = pages.read_findings(tmp_path, TINY)
    assert found.pick("al-labels", "birds", "active 10%")  # by a run that both have
    assert found.pick("al-labels", "birds", "active 10%", "static") is None
    assert pages.recovery_part(found) == ""
    assert len(tables_of("al-labels", found)) == 2  # the scores alone, of both starts


# -- the command ----------------------------------------------------------------------------


def test_ids():
    assert choose_ids("all", FULL) == IDS
    assert choose_ids("all", QUICK) == tuple(name for name in IDS if name not in LARGE_IDS)
    assert choose_ids("mediamill", QUICK) == ("mediamill",)


def run(folder, experiment, *more):
    return main(["reproduce", experiment, "--quick", "--out", str(folder), "--jobs", "1", *more])


def test_one_experiment(tmp_path, capsys):
    assert run(tmp_path, "rule-counts") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"rule-counts; everything goes to {tmp_path}\n")
    assert "tuning on 20 initial rows of emotions: 2 points, 2 folds" in out
    assert re.search(r"EFC-ML +\d+ \(2 merges\)", out)
    claim = (
        "merging keeps the rules near 17 and 10 (holds if: within 50% of them, and below the cap)"
    )
    below = out[out.index(claim) :].splitlines()[1:]
    words = "(holds|in part|does not hold|could not be shown)"
    assert re.match(rf"  with cases \(default\): {words}", below[0])
    assert re.match(rf"    emotions: {words}, \d+", below[1])
    assert re.match(rf"  rules alone: {words}", below[3])
    assert "lack records." in out
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        "records/runs.jsonl",
        "records/tuned.json",
        "records/defaults.json",
        "tables/rule-counts.md",
        "tables/verdicts.md",
        "figures/rule-counts.png",
        "figures/rule-counts.svg",
    }
    assert (tmp_path / "figures" / "rule-counts.png").read_bytes().startswith(b"\x89PNG")
    assert "EFC-ML" in (tmp_path / "figures" / "rule-counts.svg").read_text()
    assert run(tmp_path, "rule-counts") == 0
    assert "runs to do" not in capsys.readouterr().out


def test_a_quick_run_gives_no_verdicts(tmp_path, capsys, monkeypatch):
    assert (QUICK.judged, FULL.judged) == (False, True)
    monkeypatch.setattr(scale, "QUICK", replace(TINY, judged=False))
    assert run(tmp_path, "rule-counts") == 0
    out = capsys.readouterr().out
    assert "a quick run gives no verdicts: its streams are cut" in out
    assert not re.search("holds if|does not hold|could not be shown", out)
    tables = {path.name: path.read_text() for path in (tmp_path / "tables").iterdir()}
    assert list(tables) == ["rule-counts.md"]
    assert "merging keeps" not in tables["rule-counts.md"]
    assert (tmp_path / "figures" / "rule-counts.svg").exists()
    keys = [line["key"] for line in read_lines(tmp_path / "records" / "runs.jsonl")[0]]
    assert not any("cases=0" in key for key in keys)  # they are for verdicts alone


def test_rules_alone_are_run_for_verdicts(tmp_path):
    session = Session(tmp_path, TINY, say=lambda line: None)
    session.run_one("rule-counts")
    findings = session.findings()
    line = findings.rules_alone.pick("rule-counts", "emotions", "EFC-ML")[0]
    assert line.run.model == "rules"
    chain = findings.rules_alone.pick("rule-counts", "emotions", "chain")[0]
    with_cases = dict(findings.pick("rule-counts", "emotions", "chain")[0].run.parameters)
    assert dict(chain.run.parameters) == with_cases | {"cases": 0}
    assert len(chain.orders) == len(TINY.alone_orders)


def test_all_quick_leaves_mediamill_out_and_says_so(tmp_path, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(Session, "run", lambda self, ids: seen.append((self, ids)))
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path)]) == 0
    ((session, ids),) = seen
    assert not set(LARGE_IDS) & set(ids)
    assert "left out of a quick run of all: al-mediamill, mediamill" in capsys.readouterr().out
    assert session.workers["jobs"] == -1
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "speed", "--dask", "tcp://127.0.0.1:1"]) == 0
    session, ids = seen[1]
    assert (session.scale, ids) == (FULL, ("speed",))
    assert session.workers["dask"] == "tcp://127.0.0.1:1"
    assert str(session.folder) == "reproduced"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "there is no experiment 'nothing': choose all or one of"),
        (["speed", "--jobs", "0"], "jobs must be a number of processes"),
        (["speed", "--jobs", "2", "--dask", "x"], "not allowed with"),
        ([], "required"),
    ],
)
def test_refusals(arguments, words, capsys):
    assert words in refusal(main, ["reproduce", *arguments], capsys)


def test_a_set_that_is_missing_is_said_before_any_work(tmp_path, capsys, monkeypatch):
    def nowhere(name, **options):
        if name == "yeast":
            raise datasets.DatasetNotFound("yeast is nowhere: get it with `efcml datasets fetch`")
        return tiny_set(name, **options)

    monkeypatch.setattr(datasets, "load", nowhere)
    forget()
    assert run(tmp_path, "al-labels") == 2
    assert capsys.readouterr().err == (
        "efcml: yeast is nowhere: get it with `efcml datasets fetch`\n"
    )
    assert not (tmp_path / "records" / "runs.jsonl").exists()


def test_errors_of_workers_are_one_line(tmp_path, capsys, monkeypatch):
    def fail(*given):
        raise RuntimeError("a process was ended from outside")

    monkeypatch.setattr(work, "run_study", fail)
    assert run(tmp_path, "al-labels") == 2
    assert capsys.readouterr().err == "efcml: a process was ended from outside\n"


def test_an_interruption_ends_with_130_and_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(session, "figures_of", lambda *given: {})
    monkeypatch.setattr(scale, "QUICK", replace(TINY, more_orders=(0,), judged=False))
    done, stream = [], cell_run.stream

    def interrupt(*given):
        if len(done) == 5:
            signal.raise_signal(signal.SIGINT)
        done.append(given)
        return stream(*given)

    with monkeypatch.context() as patch:
        patch.setattr(cell_run, "stream", interrupt)
        assert run(tmp_path, "al-labels") == 130
    assert "interrupted after 5 of 64 runs; the same command goes on" in capsys.readouterr().err
    lines = (tmp_path / "records" / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 5
    monkeypatch.setattr(work, "run_study", keep_made_up)
    assert run(tmp_path, "al-labels") == 0
    assert "(5 are there)" in capsys.readouterr().out


def test_old_lines_are_gone_afterwards(tmp_path, monkeypatch, no_figures):
    assert run(tmp_path, "al-labels") == 0
    file = tmp_path / "records" / "runs.jsonl"
    before = file.read_text().count("\n")
    unknown, wanted = (
        make_run("emotions", vigilance=0.123),  # of a choice that came out differently
        Plan(TINY, {}, None).runs("speed")[0],  # of an experiment that is not run now
    )
    with file.open("a") as more:
        more.write(to_line(made_up(unknown)) + to_line(made_up(wanted)))
    use_tiny_sets(monkeypatch, method="m2")
    assert run(tmp_path, "al-labels") == 0
    methods = {line["key"]: line["method"] for line in read_lines(file)[0]}
    assert len(methods) == before + 1
    assert methods.pop(wanted.key) == "m1"
    assert set(methods.values()) == {"m2"}
    with file.open("a") as more:
        more.write(to_line(made_up(unknown)))
    assert run(tmp_path, "al-labels") == 0
    assert len(read_lines(file)[0]) == before + 2  # of this method: it stays


def test_mean_trends_are_drawn_for_budgets(findings):
    figure = figures_of("al-labels", findings)["al-labels"]
    ax = next(ax for ax in figure.axes if ax.get_title() == "birds")
    line = next(line for line in ax.lines if line.get_label() == "active 20%")
    found = findings.pick("al-labels", "birds", "active 20%")[0]
    assert line.get_ydata()[-1] == findings.mean_trend(found, "pa")[-1]
    assert len(found.orders) == 2


def test_tables_for_markdown_and_terminals():
    table = Table("title", ["a", "b"], [["x", 1], ["yy", 22]])
    assert table.to_markdown() == "**title**\n\n| a | b |\n|---|---|\n| x | 1 |\n| yy | 22 |"
    assert table.to_text() == "title\na    b\nx    1\nyy  22"


# -- for real -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_run_reproduces_all_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.undo()
    use_tiny_sets(monkeypatch, method=None)
    monkeypatch.setattr(scale, "QUICK", TINY)
    for folder in ("first", "second"):
        forget()
        assert run(tmp_path / folder, "rule-counts") == 0
    first, second = (
        {line["key"]: without_times(line) for line in read_lines(path)[0]}
        for path in (tmp_path / name / "records" / "runs.jsonl" for name in ("first", "second"))
    )
    assert first == second
    assert len(first) > 30
    for file in ("tables/rule-counts.md", "records/tuned.json", "figures/rule-counts.svg"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
