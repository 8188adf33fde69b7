"""The script that changes units within a stream: what happens in it, and what it keeps."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool


@pytest.fixture
def moved(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    monkeypatch.setattr("inside.method", lambda: "today")  # takes a while
    return load_tool("moved_scales", "experiments/decisions")


def test_nothing_is_changed_before_the_row(moved):
    early = moved.INITIAL + moved.AT
    plain = moved.draw("nothing", 1)
    for scene in ("+20, two of them", "times 1000, three", "other labels, times 4"):
        changed = moved.draw(scene, 1)
        assert np.array_equal(changed.X[:early], plain.X[:early])
        assert np.array_equal(changed.Y[:early], plain.Y[:early])
        assert not np.array_equal(changed.X[early:], plain.X[early:])


def test_runs_are_kept_once_and_a_scale_that_follows_recovers(moved, tmp_path):
    out = tmp_path / "out.jsonl"
    moved.main(out, ["+20, all features"], [0])
    lines = out.read_text().splitlines()
    frozen, follow = map(json.loads, lines)
    assert (frozen["scale"], follow["scale"]) == ("frozen", "follow")
    assert frozen["spans"]["before"] == follow["spans"]["before"]
    assert follow["spans"]["last 800"] > frozen["spans"]["last 800"] + 0.2
    assert [(run["re_expressed"], run["left"]) for run in (frozen, follow)] == [(0, 0), (0, 1)]
    moved.main(out, ["+20, all features"], [0])
    assert out.read_text().splitlines() == lines
