"""The script that asks whether models for each label should be cautious."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

from efcml import OneVsRestEFC, datasets, prequential


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    return load_tool("caution_by_label", "experiments/decisions")


def test_what_is_found_afterwards_is_what_the_model_gives(tool, monkeypatch):
    ds = datasets.load("drifting-clusters", n=160, n_initial=50)
    monkeypatch.setattr(tool, "ordered_initial_part", lambda *which: ds)
    record = tool.run("yeast", "file", 0.5)
    for way, parameters in (
        ("alone", {}),
        ("time", {"caution": False}),
        ("neither", {"caution": False, "time": False}),
    ):
        clf = OneVsRestEFC(**parameters).fit(*ds.initial)
        scores = prequential(clf, *ds.stream).scores
        assert record[way] == tool.marks_of(scores, ds.stream[1])
    assert record["alone"] != record["time"]
    assert record["pooled"] != record["alone"]


def test_labels_of_a_table_share_their_caution(tool, rng):
    Y = (rng.random((60, 3)) < 0.4).astype(float)
    scores = rng.normal(0.4, 0.5, size=(60, 3))
    errors = Y[:30] - scores[:30]
    batch = scores[30:], Y[30:], errors, Y[:30]
    alone = tool.follow_each(*batch, trusts=True, times=False)
    assert np.array_equal(tool.follow_each(*batch, trusts=False, times=False), scores[30:])
    one = tool.follow(*(part[:, :1].copy() for part in batch), trusts=True, times=False)
    assert np.array_equal(alone[:, :1], one)
    assert not np.array_equal(alone, tool.follow(*batch, trusts=True, times=False))


def test_runs_are_recorded_once(tool, monkeypatch, tmp_path, capsys):
    ds = datasets.load("drifting-clusters", n=50, n_initial=40)
    monkeypatch.setattr(tool, "ordered_initial_part", lambda *which: ds)
    monkeypatch.setattr(tool, "ORDERS", ("file",))
    out = tmp_path / "caution.jsonl"
    for _ in range(2):
        tool.main(["--only", "yeast"], out)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        assert [record["share"] for record in records] == list(tool.SHARES)
    assert {*tool.WAYS, "neither", "method"} <= records[0].keys()
