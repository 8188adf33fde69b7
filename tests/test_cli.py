"""The commands besides ``efcml run``: what they print and write, and how they end."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
from helpers.cli_files import LABELS, PATH, QUICK, refusal, without_notes, write_csv, write_related
from helpers.models import freeze
from numpy.testing import assert_array_equal

import efcml
from efcml.cli import main
from efcml.datasets import published as catalog
from efcml.studies import runs as study_runs
from efcml.support.statistics import squash
from efcml.tables import reading

PARAMETERS = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3}
NAMES = ["calm", LABELS[0]]
SMALL = ["--vary=vigilance=0.5", "--vary=beta=0", "--vary=vigilance=0.9", "--jobs", "1"]
ARFF = "@relation r\n@attribute tempo numeric\n@attribute 'loud, very' numeric\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of tables and saved models, and the classifiers by the names of their files."""
    folder = tmp_path_factory.mktemp("models")
    ds = efcml.datasets.from_csv(write_csv(folder), 2, n_initial=24)
    related = efcml.datasets.from_csv(write_related(folder), 4, n_initial=60)
    models = {
        "model": efcml.EFCMLClassifier(**PARAMETERS).fit(*ds.initial),
        "chain": efcml.ChainEFC(**PARAMETERS).fit(*ds.initial),
        "subset": efcml.EFCMLClassifier(**PARAMETERS, decision="subset").fit(*related.initial),
        "unnamed": efcml.OneVsRestEFC(**PARAMETERS).fit(*ds.initial),
        "binary": efcml.EFCMLClassifier(**PARAMETERS),
        "new": efcml.EFCMLClassifier(),
        "asking": efcml.ActiveLearner(),
    }
    models["binary"].fit(ds.X[:, :1], np.where(ds.Y[:, 0] == 1, "yes", "no"))
    for name, data in {"model": ds, "chain": ds, "subset": related}.items():
        models[name].name_columns(data.feature_names, data.label_names)
    for name, model in models.items():
        efcml.save(model, folder / f"{name}.npz")
    (folder / "few.csv").write_text("tempo\n1\n")
    (folder / "rows.csv").write_text("a,b,c,d\n1,2,3,maybe\n")
    (folder / "own.xml").write_text(
        '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="y"/></labels>'
    )
    rows = "".join(f"{i % 7},1,{i % 2}\n" for i in range(20))
    (folder / "own.arff").write_text(f"{ARFF}@attribute y {{0,1}}\n@data\n{rows}")
    return folder, models


@pytest.fixture
def models(made, monkeypatch):
    """Commands run in the folder of the models."""
    monkeypatch.chdir(made[0])
    return made[1]


def said(arguments, capsys):
    """Run a command that goes well; return what it prints, and its notes."""
    assert main(arguments) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"efcml {efcml.__version__}\n")


def test_a_reader_that_leaves_is_no_error_and_the_module_is_the_command():
    code = f"{sys.executable} -m efcml datasets | true; exit ${{PIPESTATUS[0]}}"
    env = os.environ | {"PYTHONPATH": PATH}
    done = subprocess.run(["bash", "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_and_warnings_are_one_line(capsys, monkeypatch):
    errors = []

    def fail(name):
        warnings.simplefilter("always")
        warnings.warn("rule 3\nran away", RuntimeWarning, stacklevel=1)
        raise errors.pop()

    monkeypatch.setattr(efcml.datasets, "load", fail)
    for error, code, says in (
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("a\nb"), 2, "a b"),
        (ImportError("no pandas"), 2, "no pandas"),
        (FileNotFoundError(2, "No such file", "model.npz"), 2, "model.npz: No such file"),
    ):
        errors.append(error)
        assert main(["datasets", "info", "emotions"]) == code
        assert capsys.readouterr().err == f"efcml: note: rule 3 ran away\nefcml: {says}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "required: COMMAND"),
        ("datasets info no-such-set", "there is no data set 'no-such-set'"),
        ("reproduce no-such-id", "pa-trends"),
        (
            "tune x.csv",
            "which columns of x.csv are labels? Name them, or their file, with --labels.",
        ),
        (
            "tune x.arff",
            "which columns of x.arff are labels? Name them, or their file, with --xml.",
        ),
        (
            "tune emotions --labels y",
            ".parquet, not emotions: leave it out.",
        ),
        (
            "tune songs.csv --labels 2 --xml x",
            "--xml is for files that end in .arff, not songs.csv: leave",
        ),
        (
            "study emotions birds --vary beta=0,1 --kind x=drop",
            ".parquet, not emotions",
        ),
        ("tune songs.csv --labels 2 --kind x", "--kind is 'x': write NAME=VALUE."),
        ("tune drifting-clusters --vary beta=1,x", "beta must be a number"),
        ("tune drifting-clusters --jobs 0", "jobs must be a number of processes"),
        ("study s.csv --vary correlation", "--vary is 'correlation': write NAME=VALUE"),
        ("study emotions --vary beta=1,2 --measures accuracy", "there is no measure 'accuracy'"),
        ("study emotions --vary bet=1,2", "Invalid parameter 'bet'"),
        ("predict model.npz no.csv", "no.csv: No such file"),
        ("predict new.npz songs.csv", "has learned nothing yet"),
        ("predict asking.npz songs.csv", "or takes no tables: give the file of a fitted EFCML"),
        ("predict model.npz songs.csv --keep id", "songs.csv has no column 'id': its columns are"),
        ("learn model.npz no.csv", "no.csv: No such file"),
        ("learn new.npz songs.csv", "has learned nothing yet"),
        ("learn unnamed.npz songs.csv", "has 4 columns, but the model takes 2 features"),
        (
            "learn chain.npz rows.csv",
            "rows.csv has no column 'calm', 'so \"happy\"': choose",
        ),
        ("predict unnamed.npz few.csv", "has 1 columns, but the model takes 2 features"),
        ("predict model.npz few.csv", "few.csv has no column 'loud, very', which the model needs"),
        (
            "predict subset.npz related.csv --known h",
            "'h' is no label: choose of 'd, e, f, g'.",
        ),
        ("predict subset.npz rows.csv --known d", "line 2: label 'd' is 'maybe': labels are 0"),
        ("predict subset.npz songs.csv --known d", "has no column 'd': choose the labels among"),
        ("predict chain.npz songs.csv --known calm", "known needs a model that has learned lab"),
        ("explain subset.npz --known d", "--known is for the rows of a file"),
        ("explain chain.npz", "holds a ChainEFC, a model for each label"),
    ],
)
def test_bad_calls_are_one_line(arguments, message, models, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(catalog, "searched_folders", lambda: [tmp_path])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert message in refusal(main, shlex.split(arguments), capsys)
    assert not Path("studies").exists()


def test_data_sets_are_listed_with_what_can_be_done(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(catalog, "searched_folders", lambda: [tmp_path])
    out, _ = said(["datasets"], capsys)
    assert said(["datasets", "list"], capsys) == (out, "")
    lines = out.splitlines()
    assert lines[0].split() == ["name", "rows", "features", "labels", "files"]
    assert [line.split()[0] for line in lines[1:]] == list(efcml.datasets.available())
    assert re.search(r"^ *emotions +593 +72 +6 +not here$", out, re.M)
    assert lines[-1].split() == ["drifting-topics", "built", "in"]
    monkeypatch.setattr(catalog, "find_folder", lambda record: tmp_path)
    assert re.search(r"^ *emotions +593 +72 +6 +here$", said(["datasets"], capsys)[0], re.M)


def test_info(capsys, monkeypatch):
    Y = np.array([[0, 1, 1], [0, 0, 0], [np.nan, 1, 0], [0, 1, 1]], dtype=float)
    ds = efcml.datasets.from_arrays(np.eye(4), Y, name="own", n_initial=1, description="mine")
    monkeypatch.setattr(efcml.datasets, "load", lambda name: ds)
    lines = said(["datasets", "info", "own"], capsys)[0].splitlines()
    assert lines[:2] == [repr(ds), "mine"]
    assert [line.split() for line in lines[-3:-1]] == [["label1", "0.750"], ["label2", "0.500"]]


def test_tune_prints_what_it_found_and_goes_on_from_a_checkpoint(models, tmp_path, capsys):
    arguments = ["tune", "songs.csv", "--labels", "2", "--initial", "30", *SMALL]
    arguments += ["--checkpoint", str(tmp_path / "done")]
    text, notes = said(arguments, capsys)
    assert notes == "efcml: note: 1.14 % of the labels are unknown\n"
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "done").iterdir()}
    assert said(arguments, capsys) == (text, notes)
    assert all(path.stat().st_mtime_ns == time for path, time in files.items())
    lines = text.splitlines()
    assert len(files) == 3 * 5
    assert lines[0] == "songs: 3 points on 30 rows, the best:"
    assert len(lines[2:5]) == 3 and lines[5] == "" and "EFCMLClassifier(" in lines[-1]
    assert lines[-2] == "Each fold was predicted by models of all other rows, later ones too."


def test_tune_takes_the_initial_rows_of_an_arff_file(models, capsys, monkeypatch):
    given = []

    def search(X, Y, **options):
        given.append((X, Y))
        raise RuntimeError("vigilance 0.5 failed\non fold 0")

    monkeypatch.setattr("efcml.tuning.tune", search)
    arguments = ["tune", "own.arff", "--xml", "own.xml", "--initial", "16", *SMALL]
    assert refusal(main, arguments, capsys) == "efcml: vigilance 0.5 failed on fold 0\n"
    ((X, Y),) = given
    ds = efcml.datasets.from_arff("own.arff", "own.xml")
    assert_array_equal(X, ds.X[:16])
    assert_array_equal(Y, ds.Y[:16])


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The arguments of a small study; no figures, which take longest."""
    monkeypatch.setattr("efcml.Study._pictures", lambda *given: {})
    monkeypatch.chdir(tmp_path)
    given = ["study", str(write_csv(tmp_path)), "--labels", "2", "--initial", "24"]
    return [*given, "--jobs", "1", "--orders", "2"]


def test_a_study_writes_a_table_and_is_not_run_again(study, tmp_path, capsys, monkeypatch):
    arguments = [*study, "--vary", "correlation=shift,none", "--out", "out"]
    text, _ = said(arguments, capsys)
    assert "Study of 2 models, 1 data set, 2 orders: 4 of 4 runs done" in text
    assert "correlation=none" in text and "\nwritten to out: " in text
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"table.csv", "differences.csv", "summary.json", "report.html", "records"} <= files
    assert len(list((tmp_path / "out" / "records").glob("*.npz"))) == 4
    monkeypatch.setattr("efcml.studies.workers.do_run", None)
    assert said(arguments, capsys)[0] == text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["runs"] == 4
    assert [line["measure"] for line in summary["differences"]] == ["pa", "ap"]


def test_an_interrupted_study_says_how_to_go_on(study, capsys, monkeypatch):
    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(study_runs, "stream", interrupt)
    assert main([*study, "--vary", "beta=0,1"]) == 130
    line = "efcml: interrupted after 0 of 4 runs; another call goes on from there\n"
    assert without_notes(capsys.readouterr().err) == line


def test_predict_writes_what_the_model_says(models, capsys):
    text, notes = said(["predict", "model.npz", "songs.csv"], capsys)
    assert notes == ""
    ds = efcml.datasets.from_csv("songs.csv", 2)
    rows = read_answers(text)
    assert [int(row["row"]) for row in rows] == list(range(len(ds)))
    assert list(rows[0])[1:] == [f"{name}.{what}" for name in NAMES for what in TOLD]
    check_answers(rows, models["model"].learner_.answer(ds.X), NAMES)


TOLD = {"score": "scores", "decision": "decisions", "probability": "probabilities"}


def read_answers(text):
    return list(csv.DictReader(io.StringIO(text)))


def check_answers(rows, answer, names):
    for k, name in enumerate(names):
        for what, key in TOLD.items():
            told = [float(row[f"{name}.{what}"]) for row in rows]
            assert told == getattr(answer, key)[:, k].tolist()


def test_decisions_are_those_of_the_model_and_of_known_labels(models, capsys):
    ds, learner = efcml.datasets.from_csv("related.csv", 4), models["subset"].learner_
    rows = read_answers(said(["predict", "subset.npz", "related.csv"], capsys)[0])
    answer = learner.answer(ds.X)
    check_answers(rows, answer, "defg")
    assert {row["d.decision"] for row in rows} == {"0", "1"}
    assert (answer.decisions != (answer.scores >= 0.5)).any()
    given = ["--known", "d", "--known", "g"]
    rows = read_answers(said(["predict", "subset.npz", "related.csv", *given], capsys)[0])
    known = np.where([True, False, False, True], ds.Y, np.nan)
    check_answers(rows, learner.answer(ds.X, known), "defg")


@pytest.mark.parametrize(
    ("file", "text", "row"),
    [
        ("x.csv", 'title,tempo,"loud, very"\n"Hey, you",0.25,-1\n', [-1, 0.25]),
        ("x.csv", 'tempo,"loud, very"\n1,NA\n', [np.nan, 1]),
        ("x.arff", f"{ARFF}@attribute calm {{0,1}}\n@data\n0.25,-1,1\n", [-1, 0.25]),
    ],
)
def test_columns_come_in_any_order_and_may_have_gaps(file, text, row, models, tmp_path, capsys):
    path = tmp_path / file
    path.write_text(text)
    rows = read_answers(said(["predict", "model.npz", str(path)], capsys)[0])
    check_answers(rows, models["model"].learner_.answer(np.array([row], dtype=float)), NAMES)


def test_a_model_without_names_and_one_of_two_classes(models, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("anything\n0.5\n")
    (answer,) = read_answers(said(["predict", "binary.npz", f"{tmp_path}/new.csv"], capsys)[0])
    assert list(answer) == ["row", *(f"class yes.{what}" for what in TOLD)]
    probability = float(answer["class yes.probability"])
    assert probability == models["binary"].predict_proba([[0.5]])[0, 1]
    assert probability == squash(float(answer["class yes.score"]))
    (tmp_path / "new.csv").write_text("a,b\n0.25,-1\n")
    (answer,) = read_answers(said(["predict", "unnamed.npz", f"{tmp_path}/new.csv"], capsys)[0])
    assert list(answer) == ["row", *(f"label{k}.{what}" for k in range(2) for what in TOLD)]


def test_rules_are_explained(models, capsys):
    assert said(["explain", "model.npz"], capsys) == (f"{models['model'].rules_}\n", "")


def test_rows_are_explained(models, tmp_path, capsys):
    (tmp_path / "row.csv").write_text('tempo,year,"loud, very"\n1.5,1999,-0.5\n')
    text, notes = said(["explain", "model.npz", "--sample", f"{tmp_path}/row.csv"], capsys)
    assert (text, notes) == (f"row 0: {models['model'].explain(np.array([-0.5, 1.5]))}\n", "")
    text, _ = said(["explain", "model.npz", "--sample", "songs.csv"], capsys)
    starts = [part.split(":")[0] for part in text.split("\n\n") if part.startswith("row ")]
    assert starts == [f"row {number}" for number in range(44)]


def test_reproduce_hands_its_arguments_to_a_session(tmp_path, capsys, monkeypatch):
    from efcml_paper import session

    seen = []
    monkeypatch.setattr(session, "reproduce", lambda *given, **more: seen.append((given, more)))
    monkeypatch.chdir(tmp_path)
    said(["reproduce", "all", "--quick", "--jobs", "2"], capsys)
    assert said(["reproduce", "speed", "--out", "x"], capsys)[0].startswith("speed; everything")
    assert [(str(given[1]), more["quick"], more["jobs"]) for given, more in seen] == [
        ("reproduced-quick", True, 2),
        ("x", False, -1),
    ]
    assert "mediamill" not in seen[0][0][0] and seen[1][0][0] == ("speed",)


def test_rows_are_read_in_chunks_with_the_same_answers(models, monkeypatch, capsys, tmp_path):
    sizes, read = [], reading.read_chunks

    def noted(*arguments, **options):
        for table in read(*arguments, **options):
            sizes.append(len(table))
            yield table

    command = ["predict", "subset.npz", "related.csv", "--known", "d"]
    known = said(command, capsys)
    why = said(["explain", "model.npz", "--sample", "songs.csv"], capsys)[0]
    monkeypatch.setattr(reading, "CHUNK", 7)
    monkeypatch.setattr(reading, "read_chunks", noted)
    assert said(command, capsys) == known
    assert said(["explain", "model.npz", "--sample", "songs.csv"], capsys)[0] == why
    assert max(sizes) == 7
    rows = [",".join(row.split(",")[:3]) for row in Path("related.csv").read_text().splitlines()]
    rows[30] = rows[30].replace(",", ",oops", 1)  # the chunks before are answered
    (tmp_path / "bad.csv").write_text("\n".join(rows))
    assert main(["predict", "subset.npz", str(tmp_path / "bad.csv")]) == 2
    out, bad = capsys.readouterr()
    assert len(read_answers(out)) == 28 and "bad.csv, line 31: 'oops" in bad


def test_known_labels_are_read_as_those_of_training(models, capsys, tmp_path):
    rows = Path("related.csv").read_text().splitlines()[:4]
    answers = []
    for words in (("0", "1", ""), ("0.00", "1.00", "NA"), ("nein", "JA", "?")):
        changed = [
            ",".join([*row.split(",")[:3], word]) for row, word in zip(rows[1:], words, strict=True)
        ]
        path = tmp_path / "known.csv"
        path.write_text("\n".join(["a,b,c,d", *changed]) + "\n")
        answers.append(said(["predict", "subset.npz", str(path), "--known", "d"], capsys)[0])
    assert answers[0] == answers[1] == answers[2]


def test_tabs_decimal_commas_and_words_of_labels_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "tempo\tloud\thappy\n" + "".join(
        f"{i},5\t{i % 7 - 3}\t{'gut' if i % 3 else 'schlecht'}\n" for i in range(30)
    )
    Path("a.tsv").write_text(text)
    given = ["run", "a.tsv", "--labels", "happy", *QUICK, "--out", "o", "--initial", "20"]
    given.append("--no-figures")
    assert "line 2: label 'happy' is 'schlecht': labels are" in refusal(main, given, capsys)
    _, notes = said([*given, "--yes", "gut"], capsys)
    assert "efcml: note: decimal commas in 'tempo': say decimal='.' if that is wrong" in notes
    out, _ = said(["predict", "o/model.npz", "a.tsv"], capsys)
    Path("b.csv").write_text(text.replace(",", ".").replace("\t", ","))
    assert said(["predict", "o/model.npz", "b.csv", "--decimal", "."], capsys)[0] == out


def visits(n, zones, seed=0):
    """Return a table with ids that begin with zeros, decimal commas, zones and two labels."""
    rng = np.random.default_rng(seed)
    zone, size = rng.choice(zones, n), rng.normal(size=n).round(2)
    late = np.where(zone == "suburb", "yes", np.where(rng.random(n) < 0.1, "yes", "no"))
    size = [f"{one:.2f}".replace(".", ",") for one in size]
    large = [int(not one.startswith("-")) for one in size]
    ids = [f"{i:05d}" for i in range(n)]
    columns = {"id": ids, "zone": zone, "size": size, "late": late, "large": large}
    return pandas.DataFrame(columns)


def test_a_model_goes_on_next_week(tmp_path, monkeypatch, capsys):
    """A new word becomes a feature while its rows are learned, and rules name it afterwards."""
    monkeypatch.chdir(tmp_path)
    weeks = [["city", "harbour"], ["city", "harbour", "suburb", "suburb"], ["city", "suburb"]]
    for i, zones in enumerate(weeks):
        table = visits(300, zones, seed=i)
        table.to_csv(f"week{i}.csv.gz", index=False, sep=";")
    arguments = ["run", "week0.csv.gz", "--labels", "late,large", "--initial", "200", "--out", "."]
    said([*arguments, "--no-figures", "--set", "max_rules=5"], capsys)
    before = Path("model.npz").read_bytes()
    _, notes = said(["predict", "model.npz", "week1.csv.gz"], capsys)
    assert re.search("note: 'suburb' is new in column 'zone' \\(1[0-9]{2} rows\\)\n", notes)
    out, notes = said(["learn", "model.npz", "week1.csv.gz", "--out", "next.npz"], capsys)
    assert re.fullmatch(
        r"300 rows learned, PA 0\.\d{4} before each was learned; \d rules \(\d before\);"
        r" written to next\.npz\n",
        out,
    )
    assert "'suburb' is new in column 'zone' (20 rows) and is a feature from now on" in notes
    assert Path("model.npz").read_bytes() == before
    second, _ = said(["learn", "next.npz", "week2.csv.gz"], capsys)
    assert float(re.search(r"PA (\S+)", second)[1]) > 0.9
    assert "unused" not in said(["explain", "next.npz"], capsys)[0]
    arguments = ["predict", "next.npz", "week2.csv.gz", "--keep", "id", "--keep", "zone"]
    text, notes = said(arguments, capsys)
    assert notes == "" and text.splitlines()[1].startswith("0,00000,")
    frame = pandas.read_csv(io.StringIO(text), dtype=str)
    assert [*frame][:4] == ["row", "id", "zone", "late.score"]
    assert frame["id"].tolist() == visits(300, weeks[2], seed=2)["id"].tolist()


def test_the_same_model_from_every_kind_of_file(tmp_path, monkeypatch, capsys):
    """CSV, compressed, Parquet, a frame, and read in small chunks."""
    monkeypatch.chdir(tmp_path)
    table = visits(300, ["city", "harbour"])
    more = visits(200, ["city", "suburb"], seed=1)
    models = {}
    for name in ("csv", "csv.gz", "parquet", "chunks"):
        for file, frame in {"first": table, "more": more}.items():
            if name == "parquet":
                size = pandas.to_numeric(frame["size"].str.replace(",", "."))
                frame.assign(size=size).to_parquet(f"{file}.parquet", index=False)
            else:
                ending = name.removesuffix("chunks") or "csv"
                frame.to_csv(f"{file}.{ending}", index=False, sep=";")
        ending = "csv" if name == "chunks" else name
        ds = efcml.datasets.from_csv(f"first.{ending}", "late,large")
        clf = efcml.EFCMLClassifier(max_rules=5, prior=1.0)
        clf.fit(*ds.initial).partial_fit(*ds.stream)
        clf.name_columns(ds.feature_names, ds.label_names)
        efcml.save(clf, "model.npz", table=ds.table)
        with monkeypatch.context() as patch:
            patch.setattr(reading, "CHUNK", 64 if name == "chunks" else reading.CHUNK)
            said(["learn", "model.npz", f"more.{ending}"], capsys)
        model = efcml.load("model.npz")
        models[name] = (freeze(model.learner_), model.table_, model.feature_names_in_.tolist())
    assert models["csv"] == models["csv.gz"] == models["parquet"] == models["chunks"]
    assert "zone=suburb" in models["csv"][2]
