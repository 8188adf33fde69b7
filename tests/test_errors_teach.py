"""The script that switches off caution and time: what it runs, keeps and shows."""

import json

import pytest
from helpers.tool_files import ROOT, load_tool

from efcml import datasets


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    return load_tool("errors_teach", "experiments/decisions")


def test_what_is_recorded_is_not_run_again(tool, monkeypatch, tmp_path, capsys):
    loaded = []

    def load(name):
        loaded.append(name)
        return short

    short = datasets.load("label-drift", n=70, n_initial=40)
    monkeypatch.setattr(tool.datasets, "load", load)
    for place in ("inside.method", "efcml.studies.provenance.method"):
        monkeypatch.setattr(place, lambda: "today")  # takes a while
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        tool.main(["--only", "emotions"], out)
    assert loaded == ["emotions"]
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["variant"] for r in records] == list(tool.VARIANTS)
    assert records[0]["pa_gain"] == [0.0] * 3
    for record in records:
        for measure in ("pa", "ap"):
            mean, low, high = record[f"{measure}_gain"]
            assert low - 1e-12 <= mean <= high + 1e-12
            assert mean == pytest.approx(records[0][measure] - record[measure], abs=1e-9)
    tool.main(["--only", "emotions", "--delay", "3"], out)
    assert loaded == ["emotions"] * 2
    assert tool.as_table(records) in capsys.readouterr().out


def test_a_cell_says_what_the_default_has_more(tool):
    record = {"variant": "without time", "pa": 0.7, "ap": 0.6}
    record |= {"pa_gain": [0.005, -0.001, 0.011], "ap_gain": [0.0, 0.0, 0.0]}
    expected = "0.7000 / 0.6000 (+5.0 [-1.0, +11.0], +0.0 [+0.0, +0.0])"
    assert tool.as_cell(record) == expected
    assert tool.as_cell(record | {"variant": "default"}) == "0.7000 / 0.6000"
