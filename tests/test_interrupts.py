"""Ctrl-C in every long command: exit code 130, one line, and what was done is there to be used.

Signals are real here, and so are the processes. Budget: half a minute.
"""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.cli_files import ROOT, write_csv
from helpers.streams import random_rows
from test_fetch import COMPLETE, CONTENT, HALF, files_in, folder, interrupt, nowhere, serve, server  # noqa: F401, E501 - fixtures

import efcml
from efcml.cli import main
from efcml.tuning import SHORT_GRID, Grid, SearchInterrupted, tune
from efcml.tuning import task as task_module

PROGRAM = "from efcml.cli import main; raise SystemExit(main())"


def interrupt_when(ready, arguments, cwd, code=PROGRAM, **env):
    """Run a command, send Ctrl-C when something is the case, return code, output and errors."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        text=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "experiments")])}
        | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 120.0
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def lines_in(path):
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.slow
def test_run(tmp_path):
    code = "from efcml.cli import checkpoint; checkpoint.SECONDS_BETWEEN = 0.0\n" + PROGRAM
    code = "from efcml.cli import outcome; outcome.write_pictures = lambda *a: []\n" + code
    checkpoint, out = tmp_path / "c.npz", tmp_path / "out"
    seen = []

    def written_twice():
        if checkpoint.exists():
            seen.append(checkpoint.stat().st_mtime_ns)
        return len(set(seen)) >= 2

    arguments = ["run", "drifting-clusters", "--set", "prior=1.0", "--set", "vigilance=0.1"]
    arguments += ["--checkpoint", checkpoint, "--out", out, "--json"]
    ended, output, errors = interrupt_when(written_twice, arguments, tmp_path, code)
    assert ended == 130, errors
    assert errors.startswith("efcml: interrupted after ")
    assert errors.count("\n") == 1
    summary = json.loads(output)
    assert summary["interrupted"]
    assert 0 < summary["n_stream"] < 5400
    assert lines_in(out / "predictions.csv") == summary["n_stream"] + 1
    assert efcml.load(out / "model.npz").n_rules_ == summary["rules"]


@pytest.mark.slow
def test_tune(tmp_path):
    path, record = write_csv(tmp_path), tmp_path / "search.jsonl"
    arguments = ["tune", path, "--labels", "2", "--folds", "2", "--checkpoint", record, "--json"]
    arguments += ["--jobs", "1"]
    arguments += ["--initial", "40", "--out", tmp_path / "points.json"]
    arguments += ["--vigilance", ",".join(f"{v:.4f}" for v in np.linspace(0.1, 0.9, 400))]
    ended, output, errors = interrupt_when(lambda: lines_in(record) >= 6, arguments, tmp_path)
    assert ended == 130, errors
    estimate, ending = errors.splitlines()
    points = 400 * len(SHORT_GRID.pairs)
    assert estimate.startswith(f"efcml: {points} points (400 of vigilance, ")
    assert ending.startswith("efcml: interrupted after ")
    assert ending.endswith(" of 800 passes")
    choice = json.loads(output)
    assert choice["interrupted"]
    efcml.EFCMLClassifier(**choice["best"])
    written = json.loads((tmp_path / "points.json").read_text())
    assert len(written["all"]) == choice["points"]
    assert choice["points"] == len(SHORT_GRID.pairs) * len(
        {point["vigilance"] for point in written["all"]}
    )
    assert choice["pa"] == max(point["pa"] for point in written["all"])


@pytest.mark.slow
def test_reproduce(tmp_path):
    """Tiny data sets; what was recorded is left as it is when the command goes on."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
    code += "from helpers.reproduce_files import tiny_set; from efcml import datasets\n"
    code += "datasets.load = tiny_set\n" + PROGRAM
    out = tmp_path / "out"
    records, kept = out / "records" / "runs.jsonl", out / "checkpoints" / "runs" / "runs"
    arguments = ["reproduce", "al-labels", "--quick", "--jobs", "1", "--out", out]

    def three_done():
        return len(list(kept.glob("*.npz"))) >= 3

    ended, _, errors = interrupt_when(three_done, arguments, tmp_path, code)
    assert ended == 130, errors
    assert errors.startswith("efcml: interrupted after ")
    assert errors.endswith("the same command goes on from there\n")
    done = [json.loads(line)["key"] for line in records.read_text().splitlines()]
    assert len(set(done)) == len(done) >= 3
    everything = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=tmp_path,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "experiments")])},
        capture_output=True,
    )
    assert everything.returncode == 0, everything.stderr
    assert f"({len(done)} are there)" in everything.stdout
    assert {json.loads(line)["key"] for line in records.read_text().splitlines()} > set(done)


def test_fetch(server, folder, capsys):  # noqa: F811
    server.answer(interrupt)
    arguments = ["datasets", "fetch", "emotions", "--base", server.base]
    assert main(arguments) == 130
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "efcml: interrupted\n")
    assert files_in(folder) == {"our-rows.arff.part": CONTENT[:HALF]}
    server.answer(serve)
    assert main(arguments) == 0
    assert server.ranges() == [None, f"bytes={HALF}-"]
    assert files_in(folder) == COMPLETE


GRID = Grid(vigilance=[0.8, 0.3, 0.5], alpha=0.0, beta=[0.0, 1.0])
SEARCH = {"grid": GRID, "folds": 2, "params": {"prior": 1.0}, "progress": False}


def stop_after(done, monkeypatch):
    """Let a search be interrupted when so many of its tasks are done."""
    run_task, tasks = task_module.run_task, []

    def stopping(task, *rest):
        if len(tasks) == done:
            raise KeyboardInterrupt
        tasks.append(task)
        return run_task(task, *rest)

    monkeypatch.setattr(task_module, "run_task", stopping)


@pytest.mark.parametrize(("done", "whole"), [(0, []), (1, []), (2, [0.3]), (5, [0.3, 0.5])])
def test_what_is_finished_of_a_search(done, whole, rng, monkeypatch, tmp_path, capsys):
    """Tasks begin with the lowest vigilance; only whole ones can be compared."""
    X, Y = random_rows(rng, 16, 2, 2)
    expected = tune(X, Y, **SEARCH)
    stop_after(done, monkeypatch)
    with pytest.raises(SearchInterrupted, match=f"after {done} of 6 passes") as caught:
        tune(X, Y, **SEARCH)
    partial = caught.value.partial
    if not whole:
        assert partial is None
        return
    assert sorted(partial.grid.vigilance) == whole
    same = [row for row in expected.rows() if row["vigilance"] in whole]
    assert partial.rows() == same


@pytest.mark.parametrize("done", [1, 3])
def test_the_command_shows_what_is_finished(done, tmp_path, monkeypatch, capsys):
    stop_after(done, monkeypatch)
    out = tmp_path / "points.json"
    arguments = ["tune", str(write_csv(tmp_path)), "--labels", "2", "--initial", "12"]
    arguments += ["--folds", "2", "--alpha", "0", "--beta", "0", "--vigilance", "0.3,0.9"]
    arguments += ["--jobs", "1"]
    assert main([*arguments, "--out", str(out)]) == 130
    captured = capsys.readouterr()
    *estimate, ending = captured.err.splitlines()
    assert ending == f"efcml: interrupted after {done} of 4 passes"
    assert len(estimate) == (done > 1)  # two passes are timed
    if done == 1:
        assert captured.out == ""
        assert not out.exists()
        return
    assert captured.out.startswith("songs: 1 points, 2 folds of 12 rows, the best 1:")
    written = json.loads(out.read_text())
    assert written["interrupted"]
    assert [point["vigilance"] for point in written["all"]] == [0.3]
