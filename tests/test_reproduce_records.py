"""Records of the experiments: kept, taken up again, made anew; and who does the work."""

import json
from dataclasses import replace

import pytest
from helpers.reproduce_files import (
    TINY,
    forget,
    made_up,
    search_nothing,
    use_tiny_sets,
    without_times,
)

from efcml.support.folders import read_lines
from efcml_paper import run_records as record
from efcml_paper import tuned, work
from efcml_paper.run_records import Records
from efcml_paper.runs import make_run
from efcml_paper.tuned import (
    choose_rival,
    read_choices,
    rival_searches,
    tune_sets,
    tuned_parameters,
)
from efcml_paper.work import Workers, find_missing, run_missing

RUNS = [make_run("emotions").in_order(order) for order in range(4)]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(work, "execute", made_up)
    monkeypatch.setattr(work, "warmup", lambda: None)
    yield
    forget()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


def do(runs, path, **options):
    """Do what is missing; return the records and what was said."""
    records, said = Records(path), []
    run_missing(runs, records, Workers(), say=said.append, **options)
    return records, said


# -- the file -------------------------------------------------------------------------------


def test_records_are_read_again(path):
    first, said = do(RUNS, path)
    assert "4 runs to do (0 are there)" in said[0]
    again = Records(path)
    assert again.by_key == first.by_key == {run.key: made_up(run) for run in RUNS}
    assert all(again.is_current(run) for run in RUNS)
    assert path.read_text().count("\n") == 4
    assert do(RUNS, path)[1] == []


def test_a_cut_line_is_run_again(path):
    do(RUNS, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    records = Records(path)
    assert find_missing(RUNS, records) == [RUNS[-1]]
    assert path.read_bytes() == whole[:-40]  # reading changes nothing
    _, said = do(RUNS, path)
    assert "1 runs to do (3 are there)" in said[0]
    assert path.read_bytes() == whole


def test_lines_that_are_no_records_are_left_out(path):
    do(RUNS[:1], path)
    with path.open("a") as file:
        file.write('broken\n{"key": "x"}\n[1]\n')
    records = Records(path)
    assert list(records.by_key) == [RUNS[0].key]
    assert records.superseded == 3
    records.tidy()
    assert read_lines(path)[0] == [made_up(RUNS[0])]
    assert records.superseded == 0


def test_tidy_leaves_a_tidy_file_alone(path):
    records, _ = do(RUNS, path)
    before = path.stat().st_mtime_ns
    records.tidy()
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", "m0"), ("data", "other")],
)
def test_old_records_are_made_again(path, name, value):
    path.write_text(record.to_line(made_up(RUNS[0]) | {name: value, "pa": 0.5}))
    records, said = do(RUNS[:2], path)
    assert said[0] == "1 records come from another method or data and are made again"
    assert records.of(RUNS[0]) == made_up(RUNS[0])
    assert records.superseded == 1
    records.tidy()
    lines, size = read_lines(path)
    assert [line["key"] for line in lines] == [run.key for run in RUNS[:2]]
    assert size == path.stat().st_size


def test_parameters_that_records_do_not_name_are_kept(path):
    do(RUNS, path)
    known = json.loads(path.with_name("defaults.json").read_text())
    assert list(known) == ["m1"]
    assert known["m1"]["efcml"]["vigilance"] > 0
    assert known["m1"]["ovr"]["correlation"] == "none"


# -- the work -------------------------------------------------------------------------------


def test_equal_runs_are_done_once(path, monkeypatch):
    done = []
    monkeypatch.setattr(work, "execute", lambda run: done.append(run) or made_up(run))
    do([*RUNS, *RUNS], path)
    assert done == RUNS


def test_cheap_runs_come_first_and_equal_fits_together(path):
    dear = [make_run("birds", "chain").in_order(order) for order in (0, 1)]
    timed = replace(make_run("emotions"), alone=True)
    found = find_missing([timed, dear[0], RUNS[0], dear[1], RUNS[1]], Records(path))
    assert found == [RUNS[0], RUNS[1], dear[0], dear[1], timed]


def test_timed_runs_are_done_here_after_all_others(path, monkeypatch):
    places = []

    def note(self, runs):
        places.append((self.jobs, [run.alone for run in runs]))
        return (made_up(run) for run in runs)

    monkeypatch.setattr(Workers, "run", note)
    timed = replace(make_run("emotions"), alone=True)
    run_missing([timed, *RUNS], Records(path), Workers(jobs=2), say=lambda line: None)
    assert places == [(2, [False] * 4), (1, [True])]


def test_an_interruption_keeps_what_is_done(path, monkeypatch):
    def interrupt(run):
        if run.order == 2:
            raise KeyboardInterrupt
        return made_up(run)

    monkeypatch.setattr(work, "execute", interrupt)
    with pytest.raises(KeyboardInterrupt, match="after 2 of 4 runs; the same command goes on"):
        do(RUNS, path)
    monkeypatch.setattr(work, "execute", made_up)
    assert len(Records(path).by_key) == 2
    records, said = do(RUNS, path)
    assert "2 runs to do (2 are there)" in said[0]
    assert records.by_key == {run.key: made_up(run) for run in RUNS}


def test_a_bar_shows_what_is_left(path, capsys):
    do(RUNS, path, progress=True)
    err = capsys.readouterr().err
    assert "4 of 4 runs 100%" in err
    assert "left]" in err


def test_workers_count_themselves(monkeypatch):
    monkeypatch.setattr(work.os, "cpu_count", lambda: 6)
    assert (Workers(-1).count, Workers(3).count, Workers().count) == (6, 3, 1)


def test_dask_gets_the_runs(path, monkeypatch):
    def everything(runs, address, *, function):
        assert address == "tcp://there"
        return (function(run) for run in runs)

    monkeypatch.setattr(work, "run_dask", everything)
    records = Records(path)
    run_missing(RUNS, records, Workers(dask="tcp://there"), say=lambda line: None)
    assert len(records.by_key) == 4


@pytest.mark.slow
def test_processes_and_a_cluster_give_the_same(path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.undo()
    forget()
    runs = [
        make_run("drifting-clusters", limits=(60, 50), max_rules=4).in_order(order)
        for order in range(3)
    ]
    here, there, cluster = (Records(path.with_name(f"{name}.jsonl")) for name in "abc")
    run_missing(runs, here, Workers(), say=lambda line: None)
    run_missing(runs, there, Workers(jobs=2), say=lambda line: None)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        run_missing(runs, cluster, Workers(dask=client), say=lambda line: None)
    for run in runs:
        expected = without_times(here.of(run))
        assert without_times(there.of(run)) == without_times(cluster.of(run)) == expected


# -- tuned parameters -----------------------------------------------------------------------


def tune_tiny(folder, monkeypatch, sets=("emotions",), scale=TINY):
    calls, said = [], []

    def search(X, Y, **options):
        calls.append((len(X), options))
        return search_nothing(X, Y, **options)

    monkeypatch.setattr(tuned, "tune", search)
    return tune_sets(sets, scale, folder, Workers(2), say=said.append), calls


def test_choices_are_kept_and_used_again(tmp_path, monkeypatch):
    folder = tmp_path / "records"
    folder.mkdir()
    choices, calls = tune_tiny(folder, monkeypatch)
    assert [rows for rows, _ in calls] == [20]  # the initial part alone
    assert calls[0][1]["grid"] == TINY.grid
    assert (calls[0][1]["jobs"], calls[0][1]["folds"]) == (2, 2)
    assert choices["emotions"]["parameters"]["beta"] == 0.1
    assert read_choices(folder) == choices
    again, calls = tune_tiny(folder, monkeypatch, ("emotions", "mediamill"))
    assert [rows for rows, _ in calls] == [15]  # mediamill, cut; emotions is there
    assert list(read_choices(folder)) == ["emotions", "mediamill"]


@pytest.mark.parametrize("change", ["grid", "method", "rows"])
def test_choices_of_other_searches_are_made_anew(tmp_path, monkeypatch, change):
    folder = tmp_path / "records"
    folder.mkdir()
    _, calls = tune_tiny(folder, monkeypatch)
    before = calls[0][1]["checkpoint"]
    scale = TINY
    if change == "grid":
        scale = replace(TINY, grid=TINY.large_grid, folds=3)
    elif change == "rows":
        scale = replace(TINY, limits=(10, None))
    else:
        monkeypatch.setattr(tuned, "method", lambda: "m2")
    _, calls = tune_tiny(folder, monkeypatch, scale=scale)
    assert len(calls) == 1
    assert calls[0][1]["checkpoint"] != before


def test_rivals_are_chosen_by_pa_then_ap(path):
    records = Records(path)
    runs = rival_searches("emotions", "ovr", TINY)
    assert len(runs) == 4
    for run, (pa, ap) in zip(runs, [(0.7, 0.9), (0.8, 0.1), (0.8, 0.3), (0.8, 0.2)], strict=True):
        assert choose_rival("emotions", "ovr", TINY, records) is None
        records.add(made_up(run) | {"pa": pa, "ap": ap})
    assert choose_rival("emotions", "ovr", TINY, records) == dict(runs[2].parameters)
    assert tuned_parameters("emotions", "ovr", TINY, {}, records) == dict(runs[2].parameters)
    assert tuned_parameters("emotions", "efcml", TINY, {}, records) is None
