"""``efcml run``: what it writes and prints, and how it refuses."""

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from helpers.cli_files import (
    LABELS,
    QUICK,
    ROWS,
    is_one_line,
    refusal,
    run_arguments,
    shell,
    write_csv,
    write_related,
)

import efcml
from efcml.cli import main, outcome, settings, source
from efcml.cli import run_command as run
from efcml.cli import stream_run as stream
from efcml.support import pacing

NAMES = {
    *("dataset", "model", "n_initial", "n_stream", "pa", "ap", "rules", "queried_share"),
    *("ms_per_sample", "parameters", "version"),
}
FILES = {"summary.json", "model.npz", "predictions.csv", "report.html", "trends.png", "trends.svg"}


@pytest.fixture
def songs(tmp_path):
    return write_csv(tmp_path)


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out what takes longest."""
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])


def numbers(arguments, capsys):
    """Run in this process and return the summary."""
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def read_predictions(folder):
    with (folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def direct_run(path, **options):
    """Return classifier and result of the same run without the command line."""
    ds = efcml.datasets.from_csv(path, 2, n_initial=24)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3).fit(*ds.initial)
    return clf, efcml.prequential(clf, *ds.stream, **options)


# -- what it gives --------------------------------------------------------------------------


def test_all_files(songs, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "spending.png").write_text("a picture of an earlier run with a budget")
    (out / "mine.png").write_text("kept")
    assert main(run_arguments(songs, "--out", out)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    title, line, where = captured.out.splitlines()
    assert title.split() == [
        *("dataset", "model", "initial", "stream", "PA", "AP", "rules"),
        *("births/splits/merges/drops/drifts", "asked", "ms/sample"),
    ]
    assert len(title) == len(line)
    assert where.startswith(f"written to {out}: summary.json, model.npz, predictions.csv, ")
    there = {path.name for path in out.iterdir()}
    assert there == {"mine.png", *where.split(": ")[1].split(", ")}
    assert there >= FILES
    assert "spending.png" not in there
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert (out / "trends.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((out / "summary.json").read_text())
    assert summary.keys() >= NAMES
    cells = dict(zip(title.split(), line.split(), strict=True))
    assert cells["dataset"] == summary["dataset"] == "songs"
    assert cells["PA"] == f"{summary['pa']:.4f}"
    clf, result = direct_run(songs)
    assert summary["pa"] == result.pa
    assert summary["ap"] == result.ap
    counts = [result.births, result.splits, result.merges, result.drops, result.drifts]
    assert [summary[name] for name in ("births", "splits", "merges", "drops", "drifts")] == counts
    assert cells["births/splits/merges/drops/drifts"] == "/".join(map(str, counts))
    assert summary["rules"] == clf.n_rules_
    assert summary["parameters"] == clf.get_params() | {"random_state": 0}
    assert (summary["n_initial"], summary["n_stream"], summary["rows_left"]) == (24, 20, 0)
    assert not summary["interrupted"]
    assert summary["queried_share"] == 1.0
    assert summary["version"] == efcml.__version__


def test_predictions_and_model(songs, tmp_path, capsys, no_pictures):
    numbers(run_arguments(songs, "--out", tmp_path / "out"), capsys)
    rows = read_predictions(tmp_path / "out")
    clf, result = direct_run(songs)
    assert [int(row["row"]) for row in rows] == list(range(24, ROWS))
    assert "asked" not in rows[0]
    names = ["calm", LABELS[0]]
    for row, scores, labels in zip(rows, result.scores, result.Y, strict=True):
        for name, score, label in zip(names, scores, labels, strict=True):
            assert float(row[f"{name}.score"]) == score
            assert int(row[f"{name}.decision"]) == (score >= 0.5)
            assert row[f"{name}.true"] == ("" if np.isnan(label) else f"{label:.0f}")
    for row, probabilities in zip(rows, result.probabilities, strict=True):
        assert [float(row[f"{name}.probability"]) for name in names] == probabilities.tolist()
    model = efcml.load(tmp_path / "out" / "model.npz")
    assert model.label_names_.tolist() == names
    assert model.feature_names_in_.tolist() == ["loud, very", "tempo"]
    X = result.scores[:, :2].copy()
    assert (model.learner_.score(X) == clf.learner_.score(X)).all()


def test_cells_say_what_the_model_said():
    scores, decisions, p = np.array([[[0.5, 0.49]], [[0, 1]], [[0.25, 0.125]]])
    cells = list(outcome.answer_cells(scores, decisions, p))
    assert cells == [[("0.5", 0, "0.25"), ("0.49", 1, "0.125")]]


@pytest.mark.parametrize("decision", ["f1", "subset"])
@pytest.mark.parametrize("budget", [[], ["--budget", "0.5"]])
def test_decisions_are_those_that_are_asked_for(
    decision, budget, tmp_path, capsys, monkeypatch, no_pictures
):
    path = write_related(tmp_path)
    arguments = ["run", str(path), "--labels", "4", "--initial", "60", *QUICK, *budget]
    small_blocks(monkeypatch, 7)
    arguments += ["--decision", decision, "--out", str(tmp_path / "out")]
    summary = numbers(arguments, capsys)
    ds = efcml.datasets.from_csv(path, 4, n_initial=60)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3, decision=decision)
    active = efcml.ActiveLearner(0.5, random_state=0) if budget else None
    result = efcml.prequential(clf.fit(*ds.initial), *ds.stream, active=active)
    rows = read_predictions(tmp_path / "out")
    for k, name in enumerate(ds.label_names):
        decided = [row[f"{name}.decision"] == "1" for row in rows]
        assert decided == result.decisions[:, k].tolist()
    assert (result.decisions != (result.scores >= 0.5)).any()
    assert summary["parameters"]["decision"] == decision
    for name in ("pa", "macro_f1", "subset_accuracy", "log_loss", "calibration_error"):
        assert summary[name] == result.summary()[name]


def test_unknown_labels_are_empty(tmp_path, songs, capsys, no_pictures):
    arguments = run_arguments(songs, "--out", tmp_path / "out")
    arguments[arguments.index("24")] = "16"
    numbers(arguments, capsys)
    row = read_predictions(tmp_path / "out")[20 - 16]
    assert row[f"{LABELS[0]}.true"] == ""
    assert row["calm.true"] in ("0", "1")


@pytest.mark.parametrize("model", settings.OFFERED)
def test_models(model, songs, tmp_path, capsys, no_pictures):
    summary = numbers(run_arguments(songs, "--model", model, "--out", tmp_path / "o"), capsys)
    from efcml.rivals import MODELS, make_model

    parameters = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3}
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = make_model(model, **parameters).fit(*ds.initial)
    result = efcml.prequential(clf, *ds.stream, learn=MODELS[model].learn)
    assert summary["pa"] == result.pa
    assert summary["model"] == model
    assert summary["rules"] == clf.n_rules_
    assert summary["queried_share"] == (0.0 if model == "static" else 1.0)


def test_budget(songs, tmp_path, capsys, no_pictures):
    arguments = run_arguments(songs, "--budget", "0.3", "--out", tmp_path / "a")
    summary = numbers([*arguments, "--criteria", "ambiguity, random"], capsys)
    active = efcml.ActiveLearner(0.3, "samples", ("ambiguity", "random"), random_state=0)
    _, result = direct_run(songs, active=active)
    assert summary["pa"] == result.pa
    assert summary["queried_share"] == result.queried.mean()
    assert 0 < summary["queried_share"] <= 0.3
    asked = [int(row["asked"]) for row in read_predictions(tmp_path / "a")]
    assert asked == result.queried.tolist()
    assert (summary["unit"], summary["criteria"]) == ("samples", "ambiguity,random")


def test_budget_by_label(songs, tmp_path, capsys, no_pictures):
    arguments = run_arguments(songs, "--budget", "0.3", "--unit", "labels", "--out", tmp_path)
    summary = numbers(arguments, capsys)
    _, result = direct_run(songs, active=efcml.ActiveLearner(0.3, "labels", random_state=0))
    assert summary["queried_share"] == result.queried.mean()
    asked = [int(row["asked"]) for row in read_predictions(tmp_path)]
    assert asked == result.queried.sum(axis=1).tolist()


def test_seed_of_random_questions(songs, tmp_path, capsys, no_pictures):
    asked = []
    for seed in ("0", "1", "1"):
        arguments = ["--budget", "0.5", "--criteria", "random", "--seed", seed, "--out", tmp_path]
        numbers(run_arguments(songs, *arguments), capsys)
        asked.append([row["asked"] for row in read_predictions(tmp_path)])
    assert asked[0] != asked[1]
    assert asked[1] == asked[2]


def test_shuffle_keeps_the_initial_part(songs, tmp_path, capsys, no_pictures):
    orders = []
    for seed in ("3", "3", "4"):
        more = ("--shuffle", "--seed", seed, "--out", tmp_path)
        summary = numbers(run_arguments(songs, *more), capsys)
        rows = read_predictions(tmp_path)
        orders.append([int(row["row"]) for row in rows])
        ds = efcml.datasets.from_csv(songs, 2)
        for row in rows:
            true = ds.Y[int(row["row"]), 0]
            assert int(row["calm.true"]) == true
        assert summary["shuffled"]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(24, ROWS))


def test_quick_takes_the_rows_around_the_start_of_the_stream(
    monkeypatch, songs, tmp_path, capsys, no_pictures
):
    monkeypatch.setattr(source, "QUICK_ROWS", 15)
    summary = numbers(run_arguments(songs, "--quick", "--out", tmp_path), capsys)
    assert (summary["n_initial"], summary["n_stream"]) == (15, 15)
    assert summary["quick"]
    assert [int(row["row"]) for row in read_predictions(tmp_path)] == list(range(24, 39))
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3)
    clf.fit(ds.X[9:24], ds.Y[9:24])
    assert summary["pa"] == efcml.prequential(clf, ds.X[24:39], ds.Y[24:39]).pa


def test_without_an_initial_part(songs, tmp_path, capsys, no_pictures):
    arguments = run_arguments(songs, "--out", tmp_path, "--set", "warmup_rows=10")
    arguments[arguments.index("24")] = "0"
    summary = numbers(arguments, capsys)
    assert (summary["n_initial"], summary["n_stream"]) == (0, ROWS)
    assert summary["rules"] >= 1


def test_the_built_in_stream_is_the_default(monkeypatch, tmp_path, capsys, no_pictures):
    monkeypatch.setattr(source, "QUICK_ROWS", 30)
    monkeypatch.chdir(tmp_path)
    summary = numbers(["run", "--quick", *QUICK], capsys)
    assert summary["dataset"] == "drifting-clusters"
    assert (tmp_path / "runs" / "drifting-clusters-efcml" / "summary.json").exists()


def test_a_measure_that_is_not_there_is_null(tmp_path, capsys, no_pictures):
    path = tmp_path / "none.csv"
    lines = [f"{i % 5},{int(i < 20 and i % 2)},0" for i in range(30)]
    path.write_text("\n".join(["a,y,z", *lines]) + "\n")
    arguments = run_arguments(path, "--out", tmp_path)
    assert numbers(arguments, capsys)["ap"] is None
    assert main(arguments) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.split()[5] == "-"


def test_marks_of_drifts_go_with_all_rows_only():
    ds = efcml.datasets.load("drifting-clusters", n=200)
    assert source.take_rows(ds, source.choose_rows(ds)) is ds
    assert source.take_rows(ds, source.choose_rows(ds, seed=1)).marks == {}


# -- interruptions --------------------------------------------------------------------------


def small_blocks(monkeypatch, size):
    monkeypatch.setattr(pacing, "FIRST_BLOCK", size)
    monkeypatch.setattr(pacing, "SECONDS_PER_BLOCK", 1e9)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)


def interrupt_after(monkeypatch, block, times=1):
    """Send Ctrl-C while a block is running."""
    follow = pacing.Pace.follow
    blocks = iter(range(100))

    def interrupted(pace, *arguments, **options):
        follow(pace, *arguments, **options)
        if next(blocks) == block:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(pacing.Pace, "follow", interrupted)


def test_an_interruption_leaves_what_was_done(songs, tmp_path, capsys, monkeypatch, no_pictures):
    small_blocks(monkeypatch, 6)
    interrupt_after(monkeypatch, 1)
    assert main(run_arguments(songs, "--out", tmp_path, "--json")) == 130
    captured = capsys.readouterr()
    assert captured.err == "efcml: interrupted after 12 of 20 rows\n"
    summary = json.loads(captured.out)
    assert summary["interrupted"]
    assert (summary["n_stream"], summary["rows_left"]) == (12, 8)
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3).fit(*ds.initial)
    result = efcml.prequential(clf, ds.X[24:36], ds.Y[24:36])
    assert summary["pa"] == result.pa
    assert len(read_predictions(tmp_path)) == 12
    model = efcml.load(tmp_path / "model.npz")
    assert (model.learner_.score(ds.X) == clf.learner_.score(ds.X)).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_person_learns_that_results_are_written(
    songs, tmp_path, capsys, monkeypatch, no_pictures
):
    monkeypatch.setattr(run, "is_watched", lambda: True)
    small_blocks(monkeypatch, 6)
    interrupt_after(monkeypatch, 0)
    assert main(run_arguments(songs, "--out", tmp_path)) == 130
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == [
        "efcml: writing the results so far; Ctrl-C again ends at once",
        "efcml: interrupted after 6 of 20 rows",
    ]


@pytest.mark.parametrize("step", ["summarise", "write_results"])
def test_an_interruption_after_the_last_row_loses_nothing(
    step, songs, tmp_path, capsys, monkeypatch, no_pictures
):
    original = getattr(run, step)

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        return original(*given)

    monkeypatch.setattr(run, step, interrupted)
    checkpoint = tmp_path / "c.npz"
    arguments = run_arguments(songs, "--out", tmp_path / "out", "--checkpoint", checkpoint)
    assert main([*arguments, "--json"]) == 130
    captured = capsys.readouterr()
    assert captured.err == "efcml: interrupted after 20 of 20 rows\n"
    assert json.loads(captured.out)["rows_left"] == 0
    assert len(read_predictions(tmp_path / "out")) == 20
    monkeypatch.setattr(run, step, original)
    assert main([*arguments, "--json"]) == 0
    assert "20 of 20 rows are done, nothing is left" in capsys.readouterr().err


def test_a_second_interruption_ends_at_once(songs, tmp_path, capsys, monkeypatch):
    small_blocks(monkeypatch, 6)
    interrupt_after(monkeypatch, 0, times=2)
    out = tmp_path / "out"
    assert main(run_arguments(songs, "--out", out)) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "efcml: interrupted\n"
    assert list(out.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stream.StopLater() as stop:
            signal.raise_signal(signal.SIGINT)
        assert not stop.wanted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "options", [[], ["--budget", "0.4"], ["--model", "chain"], ["--model", "static"]]
)
def test_blocks_change_no_bit(options, songs, tmp_path, capsys, monkeypatch, no_pictures):
    files = []
    for size in (100, 7, 1):
        small_blocks(monkeypatch, size)
        folder = tmp_path / str(size)
        numbers(run_arguments(songs, *options, "--out", folder), capsys)
        files.append([(folder / name).read_bytes() for name in ("model.npz", "predictions.csv")])
    assert files[0] == files[1] == files[2]


# -- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "vigilance=-1"], "vigilance must be a number > 0; got -1."),
        (["--set", "max_rules=0"], "max_rules must be a whole number >= 1; got 0."),
        (["--set", "correlation=strong"], "correlation must be one of 'shift', 'laplacian'"),
        (["--set", "vigilanc=1"], "there is no parameter 'vigilanc': did you mean 'vigilance'?"),
        (["--set", "random_state=1"], "there is no parameter 'random_state': "),
        (["--set", "qqq=1"], "choose one of "),
        (["--set", "vigilance"], "--set is 'vigilance': write NAME=VALUE"),
        (["--set", "vigilance="], "--set is 'vigilance='"),
        (["--model", "chain", "--set", "order=0,0"], "order must be None, 'random' or"),
        (["--set", "order=random"], "there is no parameter 'order'"),
        (["--decision", "best"], "argument --decision: invalid choice: 'best'"),
        (["--decision", "f1", "--set", "decision=subset"], "give one of them"),
        (["--decision", "f1", "--model", "ovr"], "--model ovr decides each alone"),
        (["--model", "chain", "--set", "decision=subset"], "--model chain decides each alone"),
        (["--budget", "1.5"], "budget must be a number > 0 and <= 1; got 1.5."),
        (["--budget", "0"], "budget must be a number > 0 and <= 1; got 0.0."),
        (["--budget", "nan"], "budget must be a number"),
        (["--budget", "x"], "argument --budget: invalid float value: 'x'"),
        (["--budget", "0.5", "--criteria", "doubt"], "criteria must be one of 'novelty'"),
        (["--unit", "labels"], "--unit needs --budget"),
        (["--criteria", "random"], "--criteria needs --budget"),
        (["--budget", "0.1", "--model", "ovr"], "--budget works with --model efcml and rfwls"),
        (["--model", "best"], "argument --model: invalid choice: 'best'"),
        (["--seed", "-1"], "--seed is -1: choose a whole number >= 0."),
        (["--initial", "44"], "all 44 rows of songs are in the initial part"),
        (["--initial", "45"], "n_initial is 45: choose a whole number of rows, 0 to 44"),
        (["--initial", "0", "--model", "static"], "--model static needs an initial part"),
        (["--initial", "0", "--budget", "1"], "--budget needs an initial part"),
        (["--labels", "sad"], "has no column 'sad': choose the labels among"),
        (["--out", "songs.csv/out"], "cannot write to songs.csv/out: Not a directory"),
        (["--checkpoint", "songs.csv/c"], "cannot write to songs.csv: "),
    ],
)
def test_bad_input(more, message, songs, monkeypatch, capsys):
    monkeypatch.chdir(songs.parent)
    assert message in refusal(main, run_arguments("songs.csv", *more), capsys)


def test_refusals_come_before_the_work(songs, monkeypatch):
    """A wrong parameter is found before any folder is made."""
    monkeypatch.chdir(songs.parent)
    assert main(run_arguments("songs.csv", "--set", "alpha=-1")) == 2
    assert main(run_arguments("songs.csv", "--decision", "f1", "--model", "ovr")) == 2
    assert [path.name for path in songs.parent.iterdir()] == ["songs.csv"]


@pytest.mark.slow  # processes
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "no-such-set"], ["there is no data set 'no-such-set'"]),
        (["run", "no.csv", "--labels", "y"], ["no.csv: no such file"]),
        (["run", "songs.csv", "--labels", "sad"], ["no column 'sad'"]),
        (["run", "--quick", "--set", "vigilance=absurd"], ["vigilance", "number > 0"]),
        (["run", "--quick", "--budget", "7"], ["budget", "> 0 and <= 1"]),
        (["run", "--quick", "--out", "songs.csv/x"], ["cannot write to songs.csv/x"]),
    ],
)
def test_bad_input_from_a_shell(arguments, words, songs):
    is_one_line(shell(arguments, songs.parent), *words)


def test_settings_of_all_kinds(songs, tmp_path, capsys, no_pictures):
    values = {"merging": "False", "correlation": "none", "n_steps": "2", "clip": "4.5"}
    more = [word for name in values for word in ("--set", f"{name} = {values[name]}")]
    parameters = numbers(run_arguments(songs, *more, "--out", tmp_path), capsys)["parameters"]
    chosen = {name: parameters[name] for name in values}
    assert chosen == {"merging": False, "correlation": "none", "n_steps": 2, "clip": 4.5}


def test_settings_of_chains(songs, tmp_path, capsys, no_pictures):
    more = ("--model", "chain", "--set", "order=1,0", "--out", tmp_path)
    assert numbers(run_arguments(songs, *more), capsys)["parameters"]["order"] == [1, 0]
    assert efcml.load(tmp_path / "model.npz").learner_.order.tolist() == [1, 0]
    more = ("--model", "chain", "--set", "order=random", "--seed", "2", "--out", tmp_path)
    numbers(run_arguments(songs, *more), capsys)
    expected = np.random.RandomState(2).permutation(2).tolist()
    assert efcml.load(tmp_path / "model.npz").learner_.order.tolist() == expected


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ([], "songs-efcml"),
        (["--model", "rfwls", "--budget", "0.1"], "songs-rfwls-10-samples"),
        (["--budget", "0.125", "--unit", "labels"], "songs-efcml-12.5-labels"),
        (["--decision", "f1", "--budget", "0.1"], "songs-efcml-f1-10-samples"),
        (["--decision", "hamming"], "songs-efcml"),
        (["--budget", "0.5", "--criteria", "random"], "songs-efcml-50-samples-random"),
    ],
)
def test_runs_that_differ_in_budget_or_decision_have_their_own_folders(
    more, name, songs, tmp_path, monkeypatch, capsys, no_pictures
):
    monkeypatch.chdir(tmp_path)
    assert main(run_arguments(songs, *more)) == 0
    assert f"written to {Path('runs') / name}:" in capsys.readouterr().out
    assert (tmp_path / "runs" / name / "summary.json").exists()
