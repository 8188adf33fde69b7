"""The script that compares values of forgetting: what it runs, keeps and marks."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool
from test_real_data import load

from efcml import datasets


@pytest.fixture
def following(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    tool = load_tool("following", "experiments/decisions")
    monkeypatch.setattr(tool, "method", lambda: "today")
    return tool


def as_record(variant, seed, pa, ap, tag="", stream="local-drift"):
    line = {"stream": stream, "variant": variant, "tag": tag, "seed": seed, "method": "today"}
    return line | {"pa": pa, "ap": ap}


@pytest.fixture
def short(following, monkeypatch):
    """Streams of a few rows, of which all that are loaded are listed."""
    loaded = []

    def load(name, seed):
        loaded.append((name, seed))
        return datasets.load(name, seed=seed, n=60, n_initial=40)

    monkeypatch.setattr(following, "load", load)
    monkeypatch.setattr("inside.method", lambda: "today")  # takes a while
    return loaded


def test_what_is_recorded_is_not_run_again(following, short, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    arguments = ["--only", "label-drift", "--variants", "forgetting=0.98 cases=0"]
    following.main(arguments, out)
    assert short == [("label-drift", seed) for seed in (1, 2, 3)]
    lines = out.read_text().splitlines()
    out.write_text("\n".join([lines[0], lines[2]]) + "\n")
    following.main(arguments, out)
    assert short[3:] == [("label-drift", 2)]
    following.main([*arguments, "--tag", "other", "--table", str(tmp_path / "table.md")], out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["tag"] for r in records] == [""] * 3 + ["other"] * 3
    assert [r["seed"] for r in records] == [1, 3, 2, 1, 2, 3]
    assert [records[i]["pa"] for i in (0, 2, 1)] == [r["pa"] for r in records[3:]]
    assert {"pa", "ap", "ms_per_sample", "method", "version"} <= records[0].keys()
    assert records[0]["parameters"] == {"forgetting": 0.98, "cases": 0}
    table = (tmp_path / "table.md").read_text()
    assert "forgetting=0.98 cases=0 | forgetting=0.98 cases=0 (other)" in table
    assert table in capsys.readouterr().out


def test_best_fixed_values_are_marked_and_incomplete_lines_left_out(following):
    records = [
        as_record(variant, seed, pa + seed / 100, ap, tag)
        for variant, pa, ap, tag in (
            ("forgetting=1", 0.5, 0.7, ""),
            ("forgetting=0.99", 0.6, 0.6, ""),
            ("default", 0.6, 0.7, ""),  # as good as the best
            ("forgetting=1", 0.9, 0.9, "new"),
        )
        for seed in (1, 2, 3)
    ]
    records += [as_record("forgetting=0.98", 1, 0.99, 0.99)]
    records += [as_record("forgetting=1", None, 0.4, 0.4, stream="emotions")]
    head, _, stream, published = following.as_table(records).splitlines()
    assert head == "| PA / AP | default | forgetting=1 (new) | forgetting=1 | forgetting=0.99 |"
    cells = "0.6200 / 0.7000 | 0.9200 / 0.9000 | 0.5200 / 0.7000* | 0.6200* / 0.6000"
    assert stream == f"| local-drift | {cells} |"
    assert published == "| emotions |  |  | 0.4000* / 0.4000* |  |"


def test_records_of_another_method_are_named(following, capsys):
    records = [as_record("forgetting=1", 1, 0.5, 0.5), as_record("default", 1, 0.5, 0.5, "new")]
    following.warn_of_older(records)
    assert not capsys.readouterr().out
    records[1]["method"] = "earlier"
    following.warn_of_older(records)
    assert capsys.readouterr().out.endswith("today: default (new).\n")


def test_wrong_names_are_refused_before_anything_runs(following, short, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(ValueError, match="did you mean 'forgetting'"):
        following.main(["--variants", "default", "forgeting=1"], out)
    with pytest.raises(SystemExit):
        following.main(["--only", "nowhere"], out)
    assert not short
    assert not out.exists()


def test_long_streams_are_cut(following, monkeypatch):
    monkeypatch.setattr(following, "MOST_ROWS", 50)
    ds = following.load("label-drift", 3)
    whole = datasets.load("label-drift", seed=3)
    assert (len(ds), ds.n_initial) == (650, 600)
    assert (ds.X == whole.X[:650]).all()


def test_only_the_stream_part_is_shuffled(following, monkeypatch):
    monkeypatch.setattr(following, "MOST_ROWS", 50)
    whole = load("emotions")
    shuffled = following.load("emotions, shuffled", 3)
    n, rows = whole.n_initial, len(whole) - whole.n_initial
    order = n + np.random.default_rng(3).permutation(rows)[:50]
    assert shuffled.n_initial == n
    assert (shuffled.X == whole.X[np.r_[:n, order]]).all()
    assert (shuffled.Y == whole.Y[np.r_[:n, order]]).all()
