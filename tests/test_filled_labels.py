"""The script that fills in unknown labels in other ways than the method does."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

from efcml import EFCMLClassifier, datasets


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    return load_tool("filled_labels", "experiments/decisions")


@pytest.fixture
def short():
    """A short stream of which labels are unknown; rules are born on the way."""
    ds = datasets.load("drifting-clusters", n=110, n_initial=50)
    unknown = np.random.default_rng(0).random(ds.Y.shape) < 0.4
    return ds, np.where(unknown, np.nan, ds.Y)


def learners(short):
    ds, Y = short
    learner = EFCMLClassifier(prior=1.0, vigilance=0.6).fit(ds.X[:50], Y[:50]).learner_
    return learner, learner.copy()


def test_with_the_answer_of_the_winner_nothing_changes(tool, short):
    (ds, Y), (plain, filled) = short, learners(short)
    for t in range(50, len(ds)):
        x, y = ds.X[t : t + 1], Y[t : t + 1]
        own = tool.answer_of_nearest(filled, x)
        plain.learn(x, y)
        tool.learn_and_fill(filled, x, y, own)
    assert plain.counts["births"] > 0
    assert plain.counts == filled.counts
    before, after = plain.state()[1], filled.state()[1]
    for name, values in before.items():
        assert np.allclose(values, after[name], rtol=1e-9, atol=1e-9, equal_nan=True), name


def test_other_labels_move_the_labels_of_the_rules_alone(tool, short):
    (ds, _), (plain, filled) = short, learners(short)
    p = ds.X.shape[1]
    x, y = ds.X[50:51], np.where([1, 0, 0, 0, 0], ds.Y[50:51], np.nan)
    plain.learn(x, y)
    tool.learn_and_fill(filled, x, y, np.full(5, 0.25))
    before, after = plain.rules, filled.rules
    moved = np.abs(before.center - after.center).max(axis=0) > 1e-6
    assert not moved[: p + 1].any()
    assert moved[p + 1 :].all()
    for name in ("input_precision", "W", "G", "support", "updates", "label_mean"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert np.array_equal(filled.brief.center, after.center)


def test_a_record_has_all_ways(tool, monkeypatch, tmp_path, capsys):
    ds = datasets.load("drifting-clusters", n=70, n_initial=50)
    monkeypatch.setattr(tool, "ordered_initial_part", lambda *which: ds)
    monkeypatch.setattr(tool, "DRAWS", (1,))
    out = tmp_path / "filled.jsonl"
    for _ in range(2):  # what is there is not run again
        tool.main(["--only", "yeast"], out)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        assert [(r["set"], r["unknown"]) for r in records] == [("yeast", 0.3), ("yeast", 0.5)]
    assert capsys.readouterr().out.count("\n") == 2
    assert {*tool.WAYS, "squared_error", "method"} <= records[0].keys()
    assert records[0]["winner"]["pa"] != records[0]["learned"]["pa"]
