"""``efcml run``: what it writes and prints, how it stops, and how it refuses."""

import csv
import io
import json
import signal
from dataclasses import replace

import helpers.cli_files as files
import numpy as np
import pytest
from helpers.cli_files import LABELS, QUICK, interrupt_after, run_arguments, small_blocks
from helpers.mixed_tables import LABELS as MIXED_LABELS
from helpers.mixed_tables import WRITTEN, messy_frame, write_mixed
from numpy.testing import assert_array_equal

import efcml
from efcml.cli import build_parser, main, run
from efcml.rivals import MODELS, make_model
from efcml.tables import reading

NAMES = ["calm", LABELS[0]]
PARAMETERS = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3}
COUNTS = ("births", "splits", "merges", "drops", "drifts")
GAPS = "1.14 % of the labels are unknown"
MEASURES = ("pa", "ap", "macro_f1", "subset_accuracy", "log_loss", "calibration_error")


@pytest.fixture
def songs(tmp_path):
    return files.write_csv(tmp_path)


@pytest.fixture
def numbers(capsys, monkeypatch):
    """Runs in this process without pictures, which take longest, and returns the summary."""
    monkeypatch.setattr(run, "write_pages", lambda *given, **how: [])

    def summary_of(arguments):
        assert main([*arguments, "--json"]) == 0
        captured = capsys.readouterr()
        assert all(line.startswith("efcml: note: ") for line in captured.err.splitlines())
        return json.loads(captured.out)

    return summary_of


def read_predictions(folder):
    with (folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def direct_run(path, n_initial=24, rows=slice(None), n_labels=2, decision="hamming", **options):
    """Return classifier and result of the same run without the command line."""
    ds = efcml.datasets.from_csv(path, n_labels, n_initial=n_initial)
    clf = efcml.EFCMLClassifier(**PARAMETERS, decision=decision).fit(*ds.initial)
    X, Y = ds.stream
    return clf, efcml.prequential(clf, X[rows], Y[rows], **options)


def test_numbers_predictions_and_model_are_those_of_a_direct_run(songs, tmp_path, numbers):
    summary = numbers(run_arguments(songs, "--initial", "16", "--out", tmp_path / "out"))
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary.pop("ms_per_sample") > 0.0
    clf, result = direct_run(songs, 16)
    source = {"data": str(songs), "labels": "2", "kind": [], "decimal": None, "yes": None}
    source |= {"missing": [], "xml": None, "initial": 16}
    assert summary == {
        **{"dataset": "songs", "model": "efcml", "n_features": 2, "n_labels": 2},
        **{"n_initial": 16, "n_stream": 28, "rows_left": 0, "interrupted": False},
        **{name: result.summary()[name] for name in MEASURES},
        **{name: getattr(result, name) for name in COUNTS},
        **{
            "rules": clf.n_rules_,
            "queried_share": 1 - 1 / 56,
        },
        **{"budget": None, "unit": None, "criteria": None, "columns": [], "notes": [GAPS]},
        **{"left_out": [], "changes": [], "source": source},
        **{"seed": 0, "quick": False, "version": efcml.__version__},
        "parameters": clf.get_params() | {"stages": [], "random_state": 0},
    }
    rows = read_predictions(tmp_path / "out")
    told = {"score": "scores", "decision": "decisions", "probability": "probabilities"}
    assert list(rows[0]) == ["row", *(f"{n}.{what}" for n in NAMES for what in (*told, "true"))]
    assert [int(row["row"]) for row in rows] == list(range(16, 44))
    for k, name in enumerate(NAMES):
        for what, array in told.items():
            found = [float(row[f"{name}.{what}"]) for row in rows]
            assert found == getattr(result, array)[:, k].tolist()
        true = ["" if np.isnan(label) else f"{label:.0f}" for label in result.Y[:, k]]
        assert [row[f"{name}.true"] for row in rows] == true
    assert rows[20 - 16][f"{LABELS[0]}.true"] == "" and rows[0]["calm.decision"] in "01"
    model = efcml.load(tmp_path / "out" / "model.npz")
    assert model.label_names_.tolist() == NAMES
    assert model.feature_names_in_.tolist() == ["loud, very", "tempo"]
    assert_array_equal(model.learner_.score(result.scores), clf.learner_.score(result.scores))


def test_the_table_and_the_page_with_its_figures(songs, tmp_path, capsys, monkeypatch):
    from matplotlib.figure import Figure

    from efcml.plots import new_figure

    drawn, out = [], tmp_path / "out"

    def draw(result, model, active, **more):
        drawn.append((len(result.Y), active, more["dataset"].n_initial, more["X"].shape))
        figure = new_figure(2.0, 2.0)
        figure.subplots()
        return {"trends": figure}

    monkeypatch.setattr("efcml.report.figures.draw_run", draw)
    saved, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda *a, **k: saved.append(a) or save(*a, **k))
    out.mkdir()
    (out / "spending.png").write_text("a picture of an earlier run with a budget")
    (out / "mine.png").write_text("kept")
    assert main(run_arguments(songs, "--model", "chain", "--out", out)) == 0
    captured = capsys.readouterr()
    assert captured.err == f"efcml: note: {GAPS}\n"
    assert drawn == [(20, None, 24, (20, 2))]
    title, line, where = captured.out.splitlines()
    names = "summary.json, model.npz, predictions.csv, trends.png, trends.svg, report.html"
    assert where == f"written to {out}: {names}"
    assert {path.name for path in out.iterdir()} == {*names.split(", "), "mine.png"}
    summary = json.loads((out / "summary.json").read_text())
    measured = [f"{summary['pa']:.4f}", f"{summary['ap']:.4f}", str(summary["rules"])]
    events = "/".join(str(summary[name]) for name in COUNTS)
    cells = ["songs", "chain", "24", "20", *measured, events, "1.000"]
    assert line.split() == [*cells, f"{summary['ms_per_sample']:.3f}"]
    head = "dataset model initial stream PA AP rules births/splits/merges/drops/drifts asked"
    assert title.split() == [*head.split(), "ms/sample"]
    assert len(title) == len(line)
    assert (out / "trends.png").read_bytes().startswith(b"\x89PNG")
    assert len(saved) == 2  # as PNG and SVG; the page shows the file
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!") and f"<td>{summary['pa']:.4f}</td>" in page


def test_without_figures_nothing_is_drawn(songs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("efcml.report.figures.draw_run", None)
    (tmp_path / "trends.png").write_text("a picture of an earlier run")
    assert main(run_arguments(songs, "--no-figures", "--out", tmp_path)) == 0
    names = "summary.json, model.npz, predictions.csv, report.html"
    assert capsys.readouterr().out.splitlines()[-1] == f"written to {tmp_path}: {names}"
    assert {path.name for path in tmp_path.iterdir()} == {*names.split(", "), "songs.csv"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img" not in page and 'id="rules"' in page


@pytest.mark.parametrize("model", MODELS)
def test_models_and_their_parameters(model, songs, tmp_path, numbers):
    summary = numbers(run_arguments(songs, "--model", model, "--out", tmp_path / "o"))
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = make_model(model, **PARAMETERS).fit(*ds.initial)
    result = efcml.prequential(clf, *ds.stream, learn=MODELS[model].learn)
    assert (summary["model"], summary["pa"], summary["rules"]) == (model, result.pa, clf.n_rules_)
    assert summary["queried_share"] == (0.0 if model == "static" else 1.0)


@pytest.mark.parametrize(
    ("more", "unit", "decision"),
    [
        ("--seed 4", "samples", "hamming"),
        ("--unit labels --set decision=subset", "labels", "subset"),
    ],
)
def test_a_budget_buys_what_the_active_learner_asks(
    more, unit, decision, tmp_path, monkeypatch, numbers
):
    small_blocks(monkeypatch, 7)
    path = files.write_related(tmp_path)
    arguments = ["run", str(path), "--labels", "4", "--initial", "60", *QUICK, "--budget", "0.4"]
    summary = numbers([*arguments, *more.split(), "--out", str(tmp_path)])
    asker = efcml.ActiveLearner(0.4, unit, random_state=0)
    _, result = direct_run(path, 60, n_labels=4, decision=decision, active=asker)
    assert summary["queried_share"] == result.queried.mean() > 0
    rows = read_predictions(tmp_path)
    assert list(rows[0])[:2] == ["row", "asked"]
    asked = result.queried.reshape(100, -1).sum(axis=1)
    assert [int(row["asked"]) for row in rows] == asked.tolist()
    for k, name in enumerate("defg"):
        decided = [row[f"{name}.decision"] == "1" for row in rows]
        assert decided == result.decisions[:, k].tolist()
    assert (result.decisions != (result.scores >= 0.5)).any() == (decision == "subset")
    told = [summary[name] for name in ("budget", "unit", "criteria")]
    assert told == [0.4, unit, ",".join(asker.criteria)]
    assert [summary[name] for name in MEASURES] == [result.summary()[name] for name in MEASURES]


def test_quick_takes_the_rows_around_the_start_of_the_stream(monkeypatch, tmp_path, numbers):
    monkeypatch.setattr(run, "QUICK_ROWS", 15)
    monkeypatch.chdir(tmp_path)
    summary = numbers(["run", "--quick", *QUICK])
    assert summary["dataset"] == "drifting-clusters"  # the default
    assert (summary["n_initial"], summary["n_stream"], summary["quick"]) == (15, 15, True)
    ds = efcml.datasets.load("drifting-clusters")
    n = ds.n_initial
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == "drifting-clusters-efcml-prior=1.0-max_rules=3-vigilance=0.3-quick"
    rows = read_predictions(folder)
    assert [int(row["row"]) for row in rows] == list(range(n, n + 15))
    clf = efcml.EFCMLClassifier(**PARAMETERS).fit(ds.X[n - 15 : n], ds.Y[n - 15 : n])
    assert summary["pa"] == efcml.prequential(clf, ds.X[n : n + 15], ds.Y[n : n + 15]).pa


def test_without_an_initial_part_and_with_a_measure_that_is_not_there(tmp_path, numbers, capsys):
    path = tmp_path / "none.csv"
    path.write_text("a,y,z\n" + "".join(f"{i % 5},0,0\n" for i in range(30)))
    arguments = run_arguments(path, "--initial", "0", "--set", "warmup_rows=10", "--out", tmp_path)
    summary = numbers(arguments)
    assert (summary["n_initial"], summary["n_stream"], summary["ap"]) == (0, 30, None)
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[5] == "-"


def test_features_in_no_condition_are_told_by_name(tmp_path, numbers):
    X = np.random.default_rng(0).normal(size=(320, 2))
    rows = "".join(f"{x},{noise},{int(x > 0)}\n" for x, noise in X)
    (tmp_path / "a.csv").write_text(f"tempo,noise,y\n{rows}")
    arguments = ["run", str(tmp_path / "a.csv"), "--labels", "y", "--initial", "300", *QUICK]
    assert numbers([*arguments, "--out", str(tmp_path)])["left_out"] == ["noise"]


def test_settings_of_all_kinds(songs, tmp_path, numbers):
    values = {"merging": "False", "correlation": "none", "max_rules": "2", "clip": "4.5"}
    more = [word for name in values for word in ("--set", f"{name} = {values[name]}")]
    parameters = numbers(run_arguments(songs, *more, "--out", tmp_path))["parameters"]
    chosen = {name: parameters[name] for name in values}
    assert chosen == {"merging": False, "correlation": "none", "max_rules": 2, "clip": 4.5}
    for order, expected in (("1,0", [1, 0]), ("random", np.random.RandomState(2).permutation(2))):
        more = ("--model", "chain", "--set", f"order={order}", "--seed", "2", "--out", tmp_path)
        numbers(run_arguments(songs, *more))
        assert efcml.load(tmp_path / "model.npz").learner_.order.tolist() == list(expected)


def test_runs_that_differ_have_their_own_folders(capsys):
    for more, name in (
        ("", "songs-efcml"),
        ("--model rfwls --set decision=f1 --budget 0.1", "songs-rfwls-decision=f1-10-samples"),
        ("--budget 0.125 --unit labels", "songs-efcml-12.5-labels"),
        ("--set vigilance=0.4 --set clip=3", "songs-efcml-vigilance=0.4-clip=3"),
        ("--model chain --set order=1,0", "songs-chain-order=1,0"),
        ("--seed 3 --quick", "songs-efcml-seed=3-quick"),
    ):
        options = build_parser().parse_args(["run", *more.split()])
        assert run.name_run("songs", options) == name


def test_results_of_another_file_or_of_other_labels_are_not_replaced(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "write_pages", lambda *given, **how: [])
    monkeypatch.chdir(tmp_path)
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        files.write_csv(tmp_path / place)
    for more, folder in (
        (["a/songs.csv", "--labels", "calm"], "songs-efcml"),
        (["b/songs.csv", "--labels", "calm"], "songs-efcml-2"),
        (["a/songs.csv", "--labels", "2"], "songs-efcml-3"),
        (["a/songs.csv", "--labels", "2", "--initial", "30"], "songs-efcml-4"),
        (["./b/songs.csv", "--labels", "calm"], "songs-efcml-2"),
        (["a/songs.csv", "--labels", "calm"], "songs-efcml"),
    ):
        assert main(["run", *more]) == 0
        assert f"written to runs/{folder}: summary" in capsys.readouterr().out
    other = files.results(tmp_path / "runs" / "songs-efcml-2")
    (tmp_path / "runs" / "songs-efcml" / "summary.json").write_text("[]")  # of who knows what
    assert main(["run", "a/songs.csv", "--labels", "calm"]) == 0
    assert "runs/songs-efcml-5: " in capsys.readouterr().out
    assert files.results(tmp_path / "runs" / "songs-efcml-2") == other
    (tmp_path / "runs" / "songs-chain").write_text("no folder")
    assert main(["run", "a/songs.csv", "--labels", "calm", "--model", "chain"]) == 0
    assert "runs/songs-chain-2: " in capsys.readouterr().out


def test_a_mixed_table_through_run_predict_and_explain(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "write_pages", lambda *given, **how: [])
    path, model = write_mixed(tmp_path, 120), str(tmp_path / "model.npz")
    arguments = ["run", str(path), "--labels", MIXED_LABELS, "--initial", "80", *QUICK]
    arguments += ["--out", str(tmp_path), "--kind", "town=drop", "--kind", "song=category"]
    assert main(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "efcml: columns of plays"
    assert {"  town: left out as you say", "  genre: category: jazz, pop, rock"} <= {*lines}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {"town: left out as you say", "genre: category: jazz, pop, rock"} <= {
        *summary["columns"]
    }
    assert main(["predict", model, str(path)]) == 0
    answers = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    how = {"kinds": {"town": "drop", "song": "category"}, "n_initial": 80}
    X = efcml.datasets.from_csv(path, MIXED_LABELS, **how).X
    assert X.shape[1] == 3 + 7 + 13 + 3 + 1 + 1 + 4  # for new words
    scores = [[float(row[f"{name}.score"]) for name in ("liked", "skipped")] for row in answers]
    assert_array_equal(scores, efcml.load(model).learner_.score(X))
    row, header = tmp_path / "row.csv", "song,played,genre,town,member,tempo\n"
    row.write_text(f"{header}s1,later,rock,town 1,perhaps,fast\n")
    for command in (["predict", model, str(row)], ["explain", model, "--sample", str(row)]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"efcml: {row}, line 2: 'later' in column 'played' is no date")


def without_dialect(path):
    """Return a model file that does not say by which signs its table was written."""
    model = efcml.load(path)
    columns = tuple(replace(column, sign="") for column in model.table_.columns)
    table = replace(model.table_, columns=columns, delimiter="", decimal="")
    efcml.save(model, path, table=table)
    return path.read_bytes()


def test_a_messy_table_is_one_model_however_it_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "write_pages", lambda *given, **how: [])
    monkeypatch.setattr(reading, "CHUNK", 50)
    monkeypatch.chdir(tmp_path)
    frame = messy_frame(80)
    frame.to_parquet("whole.parquet", row_group_size=30)
    how = ["--labels", "very happy,gut", "--initial", "40", *QUICK]
    models, answers, why = [], [], []
    for name in (*WRITTEN, "whole.parquet"):
        if name.endswith(".txt"):  # only from Python
            continue
        if name in WRITTEN:
            frame.to_csv(name, index=False, **WRITTEN[name])
        assert main(["run", name, *how, "--out", "o"]) == 0
        capsys.readouterr()
        assert main(["predict", "o/model.npz", name]) == 0
        answers.append(capsys.readouterr().out)
        if name in ("tab.tsv", "whole.parquet"):
            assert main(["explain", "o/model.npz", "--sample", name]) == 0
            why.append(capsys.readouterr().out)
        models.append(without_dialect(tmp_path / "o" / "model.npz"))
    assert len({*models}) == len({*answers}) == len({*why}) == 1 and len(models) == 5
    ds = efcml.datasets.from_frame(frame, "very happy,gut", n_initial=40)
    clf = efcml.EFCMLClassifier(**PARAMETERS, random_state=0).fit(*ds.initial)
    efcml.prequential(clf, *ds.stream)
    clf.name_columns(ds.feature_names, ds.label_names)
    efcml.save(clf, "direct.npz", table=ds.table)
    assert without_dialect(tmp_path / "direct.npz") == models[0]
    small = ["--vary", "vigilance=0.5,0.9", "--vary", "alpha=0"]
    assert main(["tune", "tab.tsv", *how[:4], *small, "--jobs", "1"]) == 0
    assert "EFCMLClassifier(vigilance=" in capsys.readouterr().out
    monkeypatch.setattr("efcml.Study._pictures", lambda *given: {})
    orders = ["--vary", "beta=0,1", "--orders", "1", "--jobs", "1", "--out", "study"]
    assert main(["study", "windows.csv", *how[:4], *orders]) == 0
    assert "2 of 2 runs done" in capsys.readouterr().out


def test_an_interruption_leaves_what_was_done(songs, tmp_path, capsys, monkeypatch, numbers):
    small_blocks(monkeypatch, 6)
    interrupt_after(monkeypatch, 1)
    assert main(run_arguments(songs, "--out", tmp_path, "--json")) == 130
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == "efcml: interrupted after 12 of 20 rows"
    summary = json.loads(captured.out)
    clf, result = direct_run(songs, rows=slice(12))
    told = ("interrupted", "n_stream", "rows_left", "pa")
    assert [summary[name] for name in told] == [True, 12, 8, result.pa]
    assert len(read_predictions(tmp_path)) == 12
    model = efcml.load(tmp_path / "model.npz")
    assert_array_equal(model.learner_.score(result.scores), clf.learner_.score(result.scores))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_model_that_cannot_be_saved_costs_no_numbers(songs, tmp_path, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise ValueError("it is too large.")

    monkeypatch.setattr("efcml.saving.save", fail)
    assert main(run_arguments(songs, "--no-figures", "--out", tmp_path)) == 2
    assert files.without_notes(capsys.readouterr().err) == "efcml: it is too large.\n"
    assert json.loads((tmp_path / "summary.json").read_text())["n_stream"] == 20
    assert len(read_predictions(tmp_path)) == 20


def test_an_interrupted_save_costs_no_numbers(songs, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("efcml.saving.save", interrupt)
    assert main(run_arguments(songs, "--out", tmp_path / "o")) == 130
    assert {path.name for path in (tmp_path / "o").iterdir()} == {"summary.json", "predictions.csv"}
    assert len(read_predictions(tmp_path / "o")) == 20


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--set vigilance=-1", "vigilance must be a number > 0; got -1."),
        ("--set vigilanc=1", "Invalid parameter 'vigilanc'"),
        ("--set vigilance", "--set is 'vigilance': write NAME=VALUE"),
        ("--out o --model chain --set order=0,0", "order must be None, 'random' or"),
        ("--budget 1.5", "budget must be a number > 0 and <= 1; got 1.5."),
        ("--unit labels", "--unit needs --budget"),
        ("--budget 0.1 --model ovr", "--budget works with --model efcml and rfwls"),
        ("--initial 44", "all 44 rows of songs are in the initial part"),
        ("--initial 0 --model static", "--model static needs an initial part"),
        ("--initial 0 --budget 1", "--budget needs an initial part"),
        ("--out songs.csv/out", "cannot write to songs.csv/out: Not a directory"),
        ("--out o --checkpoint songs.csv/c", "cannot write to songs.csv: "),
    ],
)
def test_bad_calls_are_refused_before_any_work(more, message, songs, monkeypatch, capsys):
    monkeypatch.chdir(songs.parent)
    monkeypatch.setattr(efcml.EFCMLClassifier, "fit", None)
    assert message in files.refusal(main, run_arguments("songs.csv", *more.split()), capsys)
    assert not (songs.parent / "runs").exists()
