"""A search that ended early goes on from its file; files of anything else stay as they are."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.streams import random_rows

from efcml.tuning import Grid, search, tune
from efcml.tuning import search_record as record
from efcml.tuning import task as task_module

GRID = Grid(vigilance=[0.3, 0.8], alpha=0.0, beta=[0.0, 1.0])
PARAMS = {"prior": 1.0, "correlation": "none"}
N_TASKS = 6


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(7), 18, 2, 2)


@pytest.fixture
def runs(monkeypatch):
    """Keys of the tasks that are run; after ``stop_after`` of them, the person has enough."""
    spy = SimpleNamespace(keys=[], stop_after=None, error=KeyboardInterrupt)
    run_task = task_module.run_task

    def spying(task, *rest):
        if len(spy.keys) == spy.stop_after:
            raise spy.error
        spy.keys.append(task.key)
        return run_task(task, *rest)

    monkeypatch.setattr(task_module, "run_task", spying)
    return spy


def search_with(rows, path=None, **changes):
    return tune(*rows, **({"grid": GRID, "folds": 3, "params": PARAMS} | changes), checkpoint=path)


def forget(runs):
    keys, runs.keys, runs.stop_after = runs.keys, [], None
    return keys


@pytest.mark.parametrize("done", [1, 4, 5])
def test_resumes_after_ctrl_c(rows, runs, tmp_path, done):
    expected = search_with(rows)
    path, everything = tmp_path / "search.jsonl", forget(runs)
    assert len(everything) == N_TASKS
    runs.stop_after = done
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path)
    assert len(path.read_text().splitlines()) == 1 + done
    first = forget(runs)
    assert search_with(rows, str(path)) == expected
    assert first + runs.keys == everything
    forget(runs)
    written = path.read_bytes()
    assert search_with(rows, path) == expected
    assert runs.keys == []
    assert path.read_bytes() == written


def test_ctrl_c_between_two_tasks_keeps_the_finished_one(rows, runs, tmp_path, monkeypatch):
    path = tmp_path / "search.jsonl"

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    class Bar(search.progress_bar(None, "", show=False).__class__):
        update = interrupt

    monkeypatch.setattr(search, "progress_bar", lambda *args, **options: Bar(disable=True))
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path)
    assert len(path.read_text().splitlines()) == 2


def test_progress_starts_at_what_is_done(rows, runs, tmp_path, capsys):
    path = tmp_path / "search.jsonl"
    runs.stop_after = 2
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path, progress=True)
    forget(runs)
    capsys.readouterr()
    search_with(rows, path, progress=True)
    assert "2/6" in capsys.readouterr().err
    search_with(rows, progress=False)
    assert capsys.readouterr().err == ""


def test_a_line_that_was_cut_is_done_again(rows, runs, tmp_path):
    path = tmp_path / "search.jsonl"
    expected = search_with(rows, path)
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for size in range(start, len(whole), 7 if len(whole) - start > 40 else 1):
        path.write_bytes(whole[:size])
        forget(runs)
        assert search_with(rows, path) == expected
        assert len(runs.keys) == 1
        assert path.read_bytes() == whole
    path.write_bytes(whole[:-1])
    assert search_with(rows, path) == expected
    assert path.read_bytes() == whole


DAMAGED = {
    "no JSON": lambda line: "}{",
    "no dictionary": lambda line: "[1]",
    "not of this search": lambda line: json.dumps(line | {"fold": 3}),
    "no key": lambda line: json.dumps({"vigilance": 0.3, "fold": 0}),
    "too short": lambda line: json.dumps(line | {"ap": [0.5]}),
    "no list": lambda line: json.dumps(line | {"right": 3}),
    "no number": lambda line: json.dumps(line | {"known": None}),
    "words": lambda line: json.dumps(line | {"ap": ["a", "b"]}),
    "list for a key": lambda line: json.dumps(line | {"fold": []}),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_line_is_done_again(rows, runs, tmp_path, kind):
    path = tmp_path / "search.jsonl"
    expected = search_with(rows, path)
    lines = path.read_text().splitlines()
    lines[3] = DAMAGED[kind](json.loads(lines[3]))
    path.write_text("\n".join(lines) + "\n")
    forget(runs)
    assert search_with(rows, path) == expected
    assert len(runs.keys) == 1
    forget(runs)
    assert search_with(rows, path) == expected
    assert runs.keys == []


def test_lines_in_any_order(rows, runs, tmp_path):
    path = tmp_path / "search.jsonl"
    expected = search_with(rows, path)
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *lines[::-1], lines[0]]) + "\n")
    forget(runs)
    assert search_with(rows, path) == expected
    assert runs.keys == []


def test_numbers_of_numpy_are_the_same_parameters(rows, runs, tmp_path):
    path = tmp_path / "search.jsonl"
    numbers = {"prior": np.float32(1.0), "max_rules": np.int64(20), "merging": np.bool_(True)}
    search_with(rows, path, params=PARAMS | numbers)
    forget(runs)
    search_with(rows, path)
    assert runs.keys == []


OTHERS = {
    "data": lambda X, Y: {"rows": (X + 1e-9 * (X == X.max()), Y)},
    "data ": lambda X, Y: {"rows": (X, 1.0 - Y)},
    "parameters": lambda X, Y: {"params": PARAMS | {"n_steps": 2}},
    "grid": lambda X, Y: {"grid": Grid(vigilance=[0.3, 0.8], alpha=0.0, beta=[0.0, 2.0])},
    "folds": lambda X, Y: {"folds": 2},
    "parameters and folds": lambda X, Y: {"folds": 2, "params": {}},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_another_search_is_refused(rows, runs, tmp_path, kind):
    path = tmp_path / "search.jsonl"
    search_with(rows, path)
    before = path.read_bytes()
    forget(runs)
    changes = OTHERS[kind](*rows)
    with pytest.raises(ValueError, match=f"search with other {kind.strip()}: delete it or give"):
        search_with(changes.pop("rows", rows), path, **changes)
    assert runs.keys == []
    assert path.read_bytes() == before


def test_another_version_is_refused(rows, tmp_path, monkeypatch):
    path = tmp_path / "search.jsonl"
    search_with(rows, path)
    monkeypatch.setattr(record, "__version__", "99.0")
    with pytest.raises(ValueError, match="search with other version: delete"):
        search_with(rows, path)


FOREIGN = [
    b"a,b\n1,2\n",
    b"no end",
    b"\xff\xfe\x00\n\x80\n",
    b"{}\n",
    b"[]\n",
    b"\n",
    b'{"format": 1}\n',
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_foreign_file_is_refused_and_kept(rows, runs, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"notes\.txt .*give another file\.$") as caught:
        search_with(rows, path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == text
    assert runs.keys == []


def test_an_empty_file_is_used(rows, runs, tmp_path):
    path = tmp_path / "search.jsonl"
    path.touch()
    runs.stop_after = 0
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path)
    assert path.exists()
    forget(runs)
    search_with(rows, path)
    assert len(path.read_text().splitlines()) == 1 + N_TASKS


@pytest.mark.parametrize("place", ["missing/search.jsonl", "."])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(rows, runs, tmp_path, place):
    with pytest.raises(ValueError, match=r"cannot keep the search in .*: give another file\.$"):
        search_with(rows, tmp_path / place)
    assert runs.keys == []
    assert not list(tmp_path.iterdir())


def test_nothing_done_leaves_no_file(rows, runs, tmp_path):
    runs.stop_after = 0
    path = tmp_path / "search.jsonl"
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path)
    assert not path.exists()


def test_an_error_names_its_task_and_keeps_the_others(rows, tmp_path, monkeypatch):
    run_pass = task_module.run_pass

    def failing(params, *rest):
        if params.vigilance == 0.8:
            raise FloatingPointError("too hot")
        return run_pass(params, *rest)

    monkeypatch.setattr(task_module, "run_pass", failing)
    path = tmp_path / "search.jsonl"
    words = r"vigilance 0\.8 failed on fold 0 \(rows 0 to 5 held out\): FloatingPointError: too hot"
    with pytest.raises(RuntimeError, match=words):
        search_with(rows, path)
    assert len(path.read_text().splitlines()) == 4
