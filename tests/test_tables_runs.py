"""A mixed table through the commands: run, predict, explain, report, killed and taken up."""

import csv
import io
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest
from helpers.cli_files import QUICK, shell
from helpers.mixed_tables import LABELS, LEFT_OUT, mixed_text, write_mixed
from numpy.testing import assert_array_equal
from test_cli_checkpoint import results
from test_cli_run import interrupt_after, small_blocks

import efcml
from efcml import datasets, load, save
from efcml.cli import main, outcome


def run_mixed(path, *more, rows="150"):
    return ["run", str(path), "--labels", LABELS, "--initial", rows, *QUICK, *map(str, more)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run over 300 rows, with its page."""
    place = tmp_path_factory.mktemp("mixed")
    assert main(run_mixed(write_mixed(place, 300), "--out", place / "out")) == 0
    return place


@pytest.fixture(scope="module")
def ds(folder):
    return datasets.from_csv(folder / "plays.csv", LABELS, n_initial=150)


def test_the_columns_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    path = write_mixed(tmp_path, 120)
    arguments = run_mixed(path, "--out", tmp_path / "out", "--json", rows="80")
    assert main([*arguments, "--drop", "town,tempo", "--text-as-category", "song"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n_features"] == 2 + 7 + 13 + 3 + 1
    lines = captured.err.splitlines()
    assert lines[0] == "efcml: columns of plays"
    assert "  town: left out as you say" in lines
    assert "  genre: category: jazz, pop, rock" in lines
    assert main([*arguments, "--date", "played=%d"]) == 2
    assert "column 'played' has no date of the format %d" in capsys.readouterr().err
    assert main(["run", "stationary-clusters", "--drop", "x0"]) == 2
    assert "--drop is for CSV and Parquet files" in capsys.readouterr().err


def test_rules_read_well(folder, capsys):
    assert main(["explain", str(folder / "out" / "model.npz"), "--all"]) == 0
    text = capsys.readouterr().out
    assert "=" not in text
    assert any(words in text for words in ("day of week is ", "genre is ", "town is "))
    variables = load(folder / "out" / "model.npz").rules_.background.columns.variables
    assert {thing.name: thing.kind for thing in variables} == {
        "days since 2024-03-01": "number",
        "hour": "number",
        "day of week": "group",
        "genre": "group",
        "town": "group",
        "member": "flag",
        "tempo": "number",
    }
    assert variables[3].values == ("jazz", "pop", "rock")


def test_predict_takes_the_file_as_it_is(folder, ds, capsys):
    arguments = ["predict", str(folder / "out" / "model.npz"), str(folder / "plays.csv")]
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert "note: 2 other columns" in captured.err and "liked, skipped" in captured.err
    model = load(folder / "out" / "model.npz")
    assert_array_equal(json.loads(captured.out)["scores"], model.learner_.score(ds.X))


def test_single_rows_and_new_words(folder, tmp_path, capsys):
    model, path = str(folder / "out" / "model.npz"), tmp_path / "row.csv"
    path.write_text("played,genre,town,member,tempo\n2024-12-24 18:00,polka,Nowhere,no,131\n")
    assert main(["predict", model, str(path)]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert np.isfinite(float(row["skipped.score"]))
    assert main(["explain", model, "--sample", str(path)]) == 0
    text = capsys.readouterr().out
    assert "tempo (131)" in text
    assert "genre=polka" not in text
    path.write_text("played,genre,town,member,tempo\nlater,rock,town 1,perhaps,fast\n")
    for command in (["predict", model, str(path)], ["explain", model, "--sample", str(path)]):
        assert main(command) == 2
        told = capsys.readouterr().err.splitlines()
        assert told[0] == f"efcml: {path}: 3 things to correct"
        assert told[3] == "  line 2: 'fast' in column 'tempo' is no number: replace it"


def test_the_report_says_what_became_of_the_columns(folder):
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    columns = page.partition('id="columns"')[2].partition("</section>")[0]
    for name in (*LEFT_OUT, "played", "genre", "town", "member", "tempo"):
        assert f'data-key="{name}"' in columns
    assert "category: jazz, pop, rock" in columns


def test_killed_and_taken_up(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    path = write_mixed(tmp_path, 240)
    assert main(run_mixed(path, "--out", tmp_path / "whole")) == 0
    parts = run_mixed(path, "--out", tmp_path / "parts", "--checkpoint", tmp_path / "c.npz")
    with monkeypatch.context() as patched:
        small_blocks(patched, 30)
        interrupt_after(patched, 1)
        assert main(parts) == 130
    path.write_text(path.read_text().replace("rock", "punk"))
    capsys.readouterr()
    assert main(parts) == 2  # the same features, and yet another table
    assert "a run with other data" in capsys.readouterr().err
    path.write_text(path.read_text().replace("punk", "rock"))
    assert main(parts) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


def test_from_python(ds, tmp_path):
    (X, Y), (X_new, _) = ds.frames()
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3).fit(X, Y)
    clf.name_columns(groups=ds.table.groups)
    rows = pandas.read_csv(io.StringIO(mixed_text(300)))[150:]
    assert_array_equal(clf.predict(ds.table.encode(rows)), clf.predict(X_new))
    path = tmp_path / "m.npz"
    save(clf, path, table=ds.table)
    copy = load(path)
    assert copy.table_ == ds.table
    save(copy, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    copy.fit(X[["tempo", "hour"]], Y)  # the table is no longer that of the model
    save(copy, path)
    assert not hasattr(load(path), "table_")
    with pytest.raises(ValueError, match="give the table of its data set"):
        save(copy, path, table=ds.table)
    with pytest.raises(TypeError, match=r"ds\.table; got list"):
        save(clf, path, table=[])
    with pytest.raises(ValueError, match="ActiveLearner has no table"):
        save(efcml.ActiveLearner(), path, table=ds.table)


def test_files_without_a_table_are_as_before(ds, tmp_path):
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=2).fit(*ds.initial)
    save(clf, tmp_path / "m.npz")
    assert b'"table"' not in (tmp_path / "m.npz").read_bytes()
    assert not hasattr(load(tmp_path / "m.npz"), "table_")


KILLED = """
import sys
from efcml.cli import checkpoint, main, outcome
checkpoint.SECONDS_BETWEEN, checkpoint.WRITES_BETWEEN = 0.3, 1
outcome.write_pictures = lambda *arguments: []
raise SystemExit(main())
"""


@pytest.fixture
def coded(tmp_path):
    """A table with a flag and a category of codes, and the same where a gap makes floats."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "genre": rng.choice(["rock", "pop"], 120),
            "member": rng.integers(0, 2, 120),
            "code": rng.integers(1, 5, 120),
            "liked": rng.integers(0, 2, 120),
        }
    )
    table.to_csv(tmp_path / "plays.csv", index=False)
    gappy = table.astype({"member": float, "code": float})
    gappy.loc[5, ["member", "code"]] = np.nan
    gappy.to_csv(tmp_path / "gappy.csv", index=False)
    assert "3.0" in (tmp_path / "gappy.csv").read_text()
    return tmp_path


def test_a_gap_that_makes_floats_changes_no_other_row(coded):
    """pandas writes 3.0 for 3 as soon as a column has a gap."""
    how = {"text_as_category": ["code"], "n_initial": 120}
    ds = datasets.from_csv(coded / "plays.csv", ["liked"], **how)
    others = np.arange(120) != 5
    for given in (coded / "gappy.csv", pandas.read_csv(coded / "gappy.csv")):
        X = np.asarray(ds.table.encode(given))
        assert_array_equal(X[others], ds.X[others])
    assert np.isnan(X[5, list(ds.feature_names).index("member")])
    floats = datasets.from_csv(coded / "gappy.csv", ["liked"], **how)
    shared = [name for name in floats.feature_names if "missing" not in name]
    assert shared == list(ds.feature_names)
    assert_array_equal(floats.table.encode(coded / "plays.csv")[:, :-1], ds.X)


def test_a_model_of_numbers_takes_words_for_gaps(tmp_path, capsys):
    rng = np.random.default_rng(1)
    table = pandas.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    table["y"] = (table.a > 0).astype(int)
    table.to_csv(tmp_path / "numbers.csv", index=False)
    ds = datasets.from_csv(tmp_path / "numbers.csv", ["y"], n_initial=80)
    save(efcml.EFCMLClassifier(prior=1.0).fit(*ds.frames()[0]), tmp_path / "model.npz")
    table.loc[3, "b"] = np.nan
    said = []
    for word in ("", "NA", "?", "null", "None"):
        table.to_csv(tmp_path / "new.csv", index=False, na_rep=word)
        assert main(["predict", str(tmp_path / "model.npz"), str(tmp_path / "new.csv")]) == 0
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 1
    table.to_csv(tmp_path / "new.csv", index=False, na_rep="nought")
    assert main(["predict", str(tmp_path / "model.npz"), str(tmp_path / "new.csv")]) == 2
    assert "'nought' in column 'b' is no number" in capsys.readouterr().err


def test_decimal_commas_are_doubted_in_a_category_too(tmp_path):
    values = [f"{30 + i % 40},5" for i in range(200)]
    table = pandas.DataFrame({"temp": values, "x": np.arange(200.0), "y": [0, 1] * 100})
    table.to_csv(tmp_path / "commas.csv", index=False)
    ds = datasets.from_csv(tmp_path / "commas.csv", ["y"], n_initial=120)
    (said,) = [str(one) for one in ds.table.columns if one.name == "temp"]
    assert said.endswith("the rest is other; if these are numbers, write points for commas")


@pytest.mark.long  # test_killed_and_taken_up is the same on fewer rows
def test_5000_rows_killed_with_force(tmp_path):
    write_mixed(tmp_path, 5000)
    arguments = run_mixed("plays.csv", "--drop", "town", rows="500")
    whole = shell([*arguments, "--out", "whole"], tmp_path, KILLED)
    assert whole.returncode == 0, whole.stderr
    parts = [*arguments, "--out", "parts", "--checkpoint", "c.npz"]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, *parts], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    while not (tmp_path / "c.npz").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = shell(parts, tmp_path, KILLED)
    assert end.returncode == 0 and "going on from c.npz" in end.stderr
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    done = shell(["predict", "parts/model.npz", "plays.csv", "--out", "p.csv"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 5001
