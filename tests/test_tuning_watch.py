"""What a person sees of a search: a bar from the first moment, and how long it may take."""

import re
import threading
import time

import numpy as np
import pytest
from helpers.cli_files import shell
from helpers.streams import random_rows

from efcml.support import watch
from efcml.tuning import PAPER_GRID, SHORT_GRID, Grid, tune
from efcml.tuning import task as task_module

GRID = Grid(vigilance=[0.3, 0.6, 0.9], alpha=0.0, beta=[0.0, 1.0])
SEARCH = {"grid": GRID, "folds": 2, "params": {"prior": 1.0}}


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(7), 18, 2, 2)


def test_the_short_grid_holds_the_defaults():
    from efcml.model.params import Params

    assert Params.vigilance in SHORT_GRID.vigilance
    assert (Params.alpha, Params.beta) in SHORT_GRID.pairs
    assert len(SHORT_GRID) < len(PAPER_GRID) / 20


def test_the_short_grid_is_searched_if_none_is_given(rows):
    result = tune(*rows, folds=2, params={"prior": 1.0, "max_rules": 2, "cases": 0})
    assert result.grid == SHORT_GRID


def test_every_step_is_named(rows, capsys):
    tune(*rows, **SEARCH, progress=True, say=print)
    shown = capsys.readouterr().err
    steps = ["loading", "compiling, if it is the first time", "timing two passes", "tuning"]
    places = [shown.index(step) for step in steps]
    assert places == sorted(places)
    assert "2/6" in shown
    tune(*rows, **SEARCH, progress=False, say=print)
    assert capsys.readouterr().err == ""


def test_the_bar_is_there_before_anything_slow_is_loaded(tmp_path):
    code = """
import sys
from efcml.support import watch
from efcml.tuning import Grid, tune
progress_bar, seen = watch.progress_bar, []
def spy(*arguments, **options):
    seen.append({"numba", "scipy", "sklearn", "joblib"} & {*sys.modules})
    return progress_bar(*arguments, **options)
watch.progress_bar = spy
rows = [[0.0], [1.0], [2.0], [3.0]]
tune(rows, [[0], [1], [0], [1]], grid=Grid(0.5, 0.0, 0.0), folds=2, params={"prior": 1.0})
assert seen[0] == set(), seen[0]
assert "numba" in seen[1]
"""
    done = shell([], tmp_path, code)
    assert done.returncode == 0, done.stderr


def test_the_clock_goes_on_while_nothing_is_finished(capsys, monkeypatch):
    monkeypatch.setattr(watch, "EVERY", 0.01)
    with watch.busy("thinking", True):
        time.sleep(0.3)
    assert capsys.readouterr().err.count("thinking") > 5
    with watch.busy("thinking"):  # nobody sees it
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def clocks():
    return [thread for thread in threading.enumerate() if thread.name == "efcml-clock"]


def test_the_clock_stops_when_the_work_fails(capsys):
    with pytest.raises(KeyboardInterrupt), watch.busy("thinking", True):
        assert len(clocks()) == 1
        raise KeyboardInterrupt
    assert clocks() == []


@pytest.mark.parametrize(
    ("spent", "jobs", "expected"), [(10, 1, "40 s"), (10, 2, "23 s in 2 processes"), (1, 2, "4 s")]
)
def test_the_estimate_is_the_mean_of_a_long_and_a_short_pass(
    rows, monkeypatch, spent, jobs, expected
):
    """Four passes are left; processes need three seconds to start, if it is worth it."""
    from efcml.tuning import search

    run_task, clock, keys = task_module.run_task, [0.0], []

    def slow(task, *rest):
        clock[0] += 1.5 * spent if task.vigilance < 0.5 else 0.5 * spent
        keys.append(task.key)
        return run_task(task, *rest)

    monkeypatch.setattr(task_module, "run_task", slow)
    monkeypatch.setattr(search, "perf_counter", lambda: clock[0])
    said = []
    assert tune(*rows, **SEARCH, jobs=jobs, say=said.append) == tune(*rows, **SEARCH)
    assert keys[:2] == [(0.3, 0), (0.9, 1)]
    size = "6 points (3 of vigilance, 2 of alpha and beta) in 2 folds: 6 passes"
    took = f"{1.5 * spent:g} s with vigilance 0.3, {0.5 * spent:g} s with vigilance 0.9"
    assert said == [f"{size}, about {expected} (a pass took {took})"]
    assert len(keys) == (8 if "processes" in expected else 12)  # others run elsewhere


def test_what_is_done_is_not_counted_again(rows, tmp_path):
    path, said = tmp_path / "search.jsonl", []
    expected = tune(*rows, **SEARCH, checkpoint=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]))
    assert tune(*rows, **SEARCH, checkpoint=path, say=said.append) == expected
    assert re.search(r": 6 passes, 2 of them done already, about \d+ s \(a pass took ", said[0])
    assert tune(*rows, **SEARCH, checkpoint=path, say=said.append) == expected
    assert said[1].endswith(": 6 passes, 6 of them done already")
    assert len(path.read_text().splitlines()) == 7
