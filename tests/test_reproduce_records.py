"""Records of the experiments: kept, taken up again, made anew; and who does the work."""

import json
from dataclasses import replace

import pytest
from helpers.reproduce_files import (
    TINY,
    forget,
    keep_made_up,
    made_up,
    search_nothing,
    use_tiny_sets,
    without_times,
)

from efcml.studies import cell_run, provenance
from efcml.support.folders import read_lines
from efcml_paper import tuned, work
from efcml_paper.plan import Plan
from efcml_paper.run_records import Records, to_line
from efcml_paper.runs import make_run
from efcml_paper.tuned import read_choices, tune_sets
from efcml_paper.work import run_missing

RUNS = [make_run("emotions", max_rules=3, prior=1.0).in_order(order) for order in range(4)]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(work, "run_study", keep_made_up)
    yield
    forget()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "records").mkdir()
    return tmp_path / "records" / "runs.jsonl"


def do(runs, path, **options):
    """Do what is missing; return the records and what was said."""
    records, said = Records(path), []
    run_missing(runs, records, {}, say=said.append, **options)
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
    assert Records(path).of(RUNS[-1]) is None
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
    do(RUNS[:2], path)
    assert read_lines(path)[0] == [made_up(run) for run in RUNS[:2]]


def test_a_file_that_has_everything_is_left_alone(path):
    records, _ = do(RUNS, path)
    before = path.stat().st_mtime_ns
    do(RUNS, path)
    records.drop_old(set())
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", "m0"), ("data", "other")],
)
def test_old_records_are_made_again(path, name, value):
    path.write_text(to_line(made_up(RUNS[0]) | {name: value, "pa": 0.5}))
    records, said = do(RUNS[:2], path)
    assert said[0] == "1 records come from another method or data and are made again"
    assert records.of(RUNS[0]) == made_up(RUNS[0])
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


@pytest.fixture
def streams(monkeypatch):
    """Let runs be done; return what is streamed, and may be stopped by an error in its place."""
    monkeypatch.undo()
    use_tiny_sets(monkeypatch)
    done, stream = [], cell_run.stream

    def note(model, X, Y, one):
        done.append(one.facts["key"])
        if len(done) in stops:
            raise KeyboardInterrupt
        return stream(model, X, Y, one)

    stops = set()
    monkeypatch.setattr(cell_run, "stream", note)
    return done, stops


def test_equal_runs_are_done_once_and_equal_models_fitted_once(path, streams, monkeypatch):
    fits, fit = [], cell_run.fit
    monkeypatch.setattr(cell_run, "fit", lambda *given: fits.append(given) or fit(*given))
    static = make_run("emotions", "static", max_rules=3, prior=1.0)
    do([*RUNS, *RUNS, static], path)
    assert len(streams[0]) == 5
    assert len(fits) == 1


def test_timed_runs_are_done_here_after_all_others(path, monkeypatch):
    places = []

    def note(runs, records, workers, progress):
        places.append((workers, [run.alone for run in runs]))

    monkeypatch.setattr(work, "run_study", note)
    timed = replace(make_run("emotions"), alone=True)
    run_missing([timed, *RUNS], Records(path), {"jobs": 2}, say=lambda line: None)
    assert places == [({"jobs": 2}, [False] * 4), ({}, [True])]


def test_an_interruption_keeps_what_is_done(path, streams):
    done, stops = streams
    stops.add(3)
    with pytest.raises(KeyboardInterrupt, match="after 2 of 4 runs; the same command goes on"):
        do(RUNS, path)
    assert len(Records(path).by_key) == 2
    assert not list((path.parents[1] / "checkpoints").iterdir())
    _, said = do(RUNS, path)
    assert "2 runs to do (2 are there)" in said[0]
    assert len(Records(path).by_key) == 4
    assert len(done) == 5


def test_what_a_killed_process_left_is_taken_up(path, streams, monkeypatch):
    def killed(self, records):
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Records, "add", killed)
        do(RUNS, path)
    assert not path.exists()
    records, _ = do(RUNS, path)
    assert len(records.by_key) == len(streams[0]) == 4


def test_a_bar_shows_what_is_left(path, capsys, streams):
    do(RUNS, path, progress=True)
    err = capsys.readouterr().err
    assert "/4 runs [" in err
    assert "left]" in err


@pytest.mark.slow
def test_processes_and_a_cluster_give_the_same(path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.undo()
    forget()
    runs = [
        make_run("drifting-clusters", limits=(60, 50), max_rules=4).in_order(order)
        for order in range(3)
    ]
    here, there, cluster = (Records(path.parents[1] / name / "r" / "runs.jsonl") for name in "abc")
    for records in (here, there, cluster):
        records.path.parent.mkdir(parents=True)
    run_missing(runs, here, {}, say=lambda line: None)
    run_missing(runs, there, {"jobs": 2}, say=lambda line: None)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        run_missing(runs, cluster, {"dask": client}, say=lambda line: None)
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
    return tune_sets(sets, scale, folder, {"jobs": 2}, say=said.append), calls


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
        monkeypatch.setattr(provenance, "method", lambda: "m2")
    _, calls = tune_tiny(folder, monkeypatch, scale=scale)
    assert len(calls) == 1
    assert calls[0][1]["checkpoint"] != before


def test_rivals_are_chosen_by_pa_then_ap(path):
    records = Records(path)
    plan = Plan(TINY, {}, records)
    runs = plan.rival_searches("emotions", "ovr")
    assert len(runs) == 4
    for run, (pa, ap) in zip(runs, [(0.7, 0.9), (0.8, 0.1), (0.8, 0.3), (0.8, 0.2)], strict=True):
        assert plan.tuned("emotions", "ovr") is None
        records.add([made_up(run) | {"pa": pa, "ap": ap}])
    assert plan.tuned("emotions", "ovr") == dict(runs[2].parameters)
    assert plan.tuned("emotions", "efcml") is None
