"""The demo: table, files, exit codes. Tiny, so that it also runs uncompiled."""

import json
import re

import pytest
from helpers.tool_files import load_tool

from efcml import __version__

demo = load_tool("demo", "experiments/demo")

ROWS = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def runs(folder):
    return demo.run_demo(folder, rows=ROWS, cells=4)


def test_files_are_written(folder, runs):
    names = {path.name for path in folder.iterdir()}
    figures = {
        f"{name}.{kind}" for name in ("trends", "rules", "ellipses") for kind in ("png", "svg")
    }
    assert names == figures | {"summary.json", "report.html"}


def test_summary_holds_the_numbers(folder, runs):
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["dataset"] == demo.STREAM
    assert summary["seed"] == demo.SEED
    assert summary["version"] == __version__
    assert summary["n_initial"] + summary["n_stream"] == ROWS
    assert summary["model"] == "EFC-ML"
    assert summary["pa"] == runs["rules"].result.pa
    assert summary["queried_share"] == 1.0
    assert set(summary["models"]) == set(demo.MODELS)
    for key, run in runs.items():
        assert summary["models"][key]["pa"] == run.result.pa
        assert summary["models"][key]["parameters"] == run.parameters


def test_report_shows_the_main_model_and_all_others(folder, runs):
    text = (folder / "report.html").read_text()
    assert "<h1>EFC-ML on drifting-clusters</h1>" in text
    after = text.split('<table id="models">')[1]
    numbers = text.split('<table id="numbers">')[1]
    for key, run in runs.items():
        line = after.split(f'<tr data-key="{key}">')[1].split("</tr>")[0]
        assert f'data-value="{run.result.pa}"' in line
    figures = re.findall(r'<figure id="figure-(\w+)">', text)
    own = ["trends", "rules", "memberships", "cards", "importance", "reliability"]
    assert figures == [*own, "comparison", "ellipses"]
    assert f'data-value="{runs["rules"].result.pa}"' in numbers.split("</table>")[0]


def test_models_are_what_they_are_called(runs):
    assert runs["plane"].numbers()["rules"] == 1
    assert runs["static"].numbers()["births"] == 0
    assert not runs["static"].result.queried.any()
    assert runs["remembers"].parameters["forgetting"] == 1.0
    assert runs["least squares"].parameters["correlation"] == "none"
    assert runs["rules"].parameters == demo.EFCMLClassifier().get_params()
    assert runs["wide"].parameters["bandwidth"] == "dimension"
    assert runs["alone"].parameters["cases"] == runs["plane"].parameters["cases"] == 0


def test_table_is_aligned_and_complete(runs):
    lines = demo.compare(runs)
    assert len(lines) == len(runs) + 2
    assert len({len(line) for line in lines}) == 1
    assert all(run.model.name in line for run, line in zip(runs.values(), lines[2:], strict=True))


def test_sentences_follow_the_numbers(runs):
    lead = 100 * (runs["alone"].result.pa - runs["plane"].result.pa)
    first, second = demo.describe(runs)
    assert f"by {abs(lead):.1f} points" in first
    assert ("beat" in first) == (lead >= 0)
    wide = 100 * (runs["wide"].result.pa - runs["rules"].result.pa)
    assert f"changes by {round(wide, 1) + 0.0:+.1f}." in second
    cases = 100 * (runs["rules"].result.pa - runs["alone"].result.pa)
    assert f"cases change it by {round(cases, 1) + 0.0:+.1f}," in first
    swapped = runs | {"alone": runs["plane"], "plane": runs["alone"]}
    if abs(lead) > 0.05:
        assert ("beat" in demo.describe(swapped)[0]) != (lead >= 0)


def test_folder_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert demo.main(["--out", str(tmp_path / "file" / "demo")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "cannot write" in captured.err


@pytest.mark.parametrize(("arguments", "rows"), [([], demo.ROWS), (["--quick"], demo.QUICK_ROWS)])
def test_command_line_chooses_the_length(arguments, rows, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(demo, "run_demo", lambda out, rows: called.append((out, rows)))
    out = tmp_path / "new" / "demo"
    assert demo.main([*arguments, "--out", str(out)]) == 0
    assert called == [(out, rows)]
    assert out.is_dir()
    assert not list(out.iterdir())


def test_interrupt_has_its_exit_code(tmp_path, monkeypatch, capsys):
    def interrupt(out, rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_demo", interrupt)
    assert demo.main(["--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "demo: interrupted\n"


@pytest.mark.slow
def test_rules_beat_one_plane():
    stream = demo.load(demo.STREAM, seed=demo.SEED)
    results = {
        key: demo.run_model(demo.MODELS[key], stream).result for key in ("rules", "alone", "plane")
    }
    for key in ("rules", "alone"):
        assert results[key].pa > results["plane"].pa + 0.03
        assert results[key].ap > results["plane"].ap
