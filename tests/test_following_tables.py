"""Tables of the page on following a stream: best values, delays, and what was told for nothing."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

CHANGES = {"gradual_start": 100, "gradual_end": 300, "other": 1500}


@pytest.fixture
def tables():
    return load_tool("following_tables")


def test_the_default_is_compared_with_the_best_fixed_value_of_each_measure(tables):
    runs = {
        "default": (0.83, 0.9),
        "forgetting=1": (0.8, 0.91),
        "forgetting=0.99": (0.82, 0.7),
        "cases=0": (0.99, 0.99),  # is no value of forgetting
    }
    records = [
        {"stream": "s", "variant": name, "tag": "", "pa": pa + shift, "ap": ap}
        for name, (pa, ap) in runs.items()
        for shift in (0.01, -0.01)
    ]
    records.append({"stream": "s", "variant": "default", "tag": "older", "pa": 0.0, "ap": 0.0})
    line = tables.forgetting_table(records).splitlines()[-1]
    cells = ["s", "0.8000 / 0.9100", "0.8200 (0.99)", "0.9100 (1)", "0.8300 / 0.9000"]
    assert line == f"| {' | '.join(cells)} | +1.00 / -1.00 |"


def test_a_change_is_told_before_the_next_one_and_not_too_late(tables):
    spans = tables.spans_of(CHANGES)
    assert spans == [(100, 300), (1500, 1500)]
    assert tables.delays_of(spans, [50, 400, 1499], 3000) == [300, None]
    assert tables.delays_of(spans, [1300, 2499], 3000) == [None, 999]
    assert tables.delays_of(spans, [2500], 3000) == [None, None]


def test_rows_are_calm_before_any_change_and_long_after(tables):
    calm = tables.is_calm(tables.spans_of(CHANGES), 3000)
    assert np.flatnonzero(np.diff(calm)).tolist() == [99, 1299, 1499, 2499]
    assert calm[0] and calm[1400] and calm[2999]


def test_the_table_counts_what_was_told(tables):
    facts = {"stream": "s", "variant": "default", "rows": 3000, "changes": CHANGES}
    records = [
        facts | {"drifts": [[50, 7], [400, 1], [450, 2], [1600, 1]]},
        facts | {"drifts": [[300, 1]]},
        facts | {"variant": "forgetting=1", "drifts": []},
        facts | {"stream": "calm", "changes": {}, "drifts": []},
    ]
    first, calm = tables.detection_table(records).splitlines()[2:]
    assert first == "| s | 4 | 3 of 4 | 200 (120, 280) | 1.0 | 1 of 1 600 |"
    assert calm == "| calm | 0 |  |  |  | 0 of 3 000 |"


def test_a_run_is_recorded_once(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    tool = load_tool("drift_detection", "experiments/decisions")
    load = tool.datasets.load
    monkeypatch.setattr(tool.datasets, "load", lambda name, seed: load(name, seed=seed, n=340))
    for place in ("inside.method", "efcml.studies.provenance.method"):
        monkeypatch.setattr(place, lambda: "today")  # takes a while
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        tool.main(["--only", "label-drift", "--seeds", "1"], out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["variant"] for one in records] == ["default", "forgetting=1"]
    assert records[0]["rows"] == 306
    assert records[0]["changes"] == {"labels_1": 102, "labels_2": 204}
    assert len(records[0]["trend"]) == 3
    assert records[1]["drifts"] == []
    assert "| label-drift | 2 |" in capsys.readouterr().out
