"""``efcml predict``: the answers of a saved model for the rows of a file."""

import csv
import io
import json

import numpy as np
import pytest
from helpers.cli_files import LABELS, csv_text, is_one_line, shell, write_csv, write_related

import efcml
from efcml.cli import main
from efcml.datasets.file_rows import read_rows
from efcml.support.probability import squash

NAMES = ["calm", LABELS[0]]
PROBABILITY = "class yes.probability"
SAID = ("scores", "decisions", "probabilities")


@pytest.fixture
def songs(tmp_path):
    return write_csv(tmp_path)


@pytest.fixture
def fitted(songs):
    """A classifier with the names of the table, and the table."""
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3).fit(*ds.initial)
    clf.name_columns(ds.feature_names, ds.label_names)
    return clf, ds


@pytest.fixture
def model_file(fitted, tmp_path):
    path = tmp_path / "model.npz"
    efcml.save(fitted[0], path)
    return path


def read_answers(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_scores_and_decisions(fitted, model_file, songs, capsys):
    assert main(["predict", str(model_file), str(songs)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f'efcml: note: 2 other columns of {songs} not used: calm, so "happy"\n'
    clf, ds = fitted
    scores = clf.learner_.score(ds.X)
    rows = read_answers(captured.out)
    assert [int(row["row"]) for row in rows] == list(range(len(ds)))
    said = ("score", "decision", "probability")
    assert list(rows[0])[1:] == [f"{name}.{what}" for name in NAMES for what in said]
    probabilities = clf.learner_.answer(ds.X).probabilities
    for c, name in enumerate(NAMES):
        assert [float(row[f"{name}.score"]) for row in rows] == scores[:, c].tolist()
        assert [row[f"{name}.decision"] for row in rows] == [
            str(int(score >= 0.5)) for score in scores[:, c]
        ]
        told = [float(row[f"{name}.probability"]) for row in rows]
        assert told == probabilities[:, c].tolist()


@pytest.mark.parametrize("decision", ["f1", "subset"])
def test_decisions_are_those_of_the_model(decision, tmp_path, capsys):
    path = write_related(tmp_path)
    ds = efcml.datasets.from_csv(path, 4, n_initial=60)
    options = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3, "decision": decision}
    clf = efcml.EFCMLClassifier(**options).fit(*ds.initial)
    clf.name_columns(ds.feature_names, ds.label_names)
    efcml.save(clf, tmp_path / "m.npz")
    assert main(["predict", str(tmp_path / "m.npz"), str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    said = clf.learner_.answer(ds.X)
    assert answer["decisions"] == said.decisions.tolist()
    assert answer["probabilities"] == said.probabilities.tolist()
    assert answer["decisions"] != (np.array(answer["scores"]) >= 0.5).astype(int).tolist()


def test_columns_in_any_order_and_only_those_needed(fitted, model_file, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text('title,tempo,"loud, very"\n"Hey, you",0.25,-1\n')
    assert main(["predict", str(model_file), str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"efcml: note: 1 other column of {path} not used: title\n"
    answer = json.loads(captured.out)
    said = fitted[0].learner_.answer(np.array([[-1.0, 0.25]]))
    assert answer == {"labels": NAMES} | {what: said._asdict()[what].tolist() for what in SAID}


def test_long_lists_of_columns_are_cut(model_file, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text('tempo,"loud, very",a,b,c,d,e,f\n0,1,2,3,4,5,6,7\n')
    assert main(["predict", str(model_file), str(path)]) == 0
    note = f"efcml: note: 6 other columns of {path} not used: a, b, c, d, e, ...\n"
    assert capsys.readouterr().err == note


def test_into_a_file(model_file, songs, tmp_path, capsys):
    assert main(["predict", str(model_file), str(songs)]) == 0
    text = capsys.readouterr().out
    out = tmp_path / "new folder" / "answers.csv"
    assert main(["predict", str(model_file), str(songs), "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text(encoding="utf-8") == text
    assert [path.name for path in out.parent.iterdir()] == ["answers.csv"]


def test_arff(fitted, model_file, tmp_path, capsys):
    path = tmp_path / "new.arff"
    path.write_text(
        "@relation r\n@attribute tempo numeric\n@attribute 'loud, very' numeric\n"
        "@attribute calm {0,1}\n@data\n0.25,-1,1\n"
    )
    assert main(["predict", str(model_file), str(path), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores == fitted[0].learner_.score(np.array([[-1.0, 0.25]])).tolist()


def test_a_model_without_names(fitted, tmp_path, capsys):
    _, ds = fitted
    clf = efcml.OneVsRestEFC(prior=1.0, max_rules=2).fit(*ds.initial)
    efcml.save(clf, tmp_path / "m.npz")
    path = tmp_path / "new.csv"
    path.write_text("a,b\n0.25,-1\n")
    assert main(["predict", str(tmp_path / "m.npz"), str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert list(read_answers(captured.out)[0]) == [
        "row",
        *(f"label{k}.{what}" for k in range(2) for what in ("score", "decision", "probability")),
    ]
    path.write_text("a,b,c\n0.25,-1,0\n")
    assert main(["predict", str(tmp_path / "m.npz"), str(path)]) == 2
    assert "has 3 columns, but the model takes 2 features" in capsys.readouterr().err


def test_one_binary_target(fitted, tmp_path, capsys):
    _, ds = fitted
    clf = efcml.EFCMLClassifier(prior=1.0, max_rules=2)
    clf.fit(ds.X[:, :1], np.where(ds.Y[:, 0] == 1, "yes", "no"))
    efcml.save(clf, tmp_path / "m.npz")
    path = tmp_path / "new.csv"
    path.write_text("anything\n0.5\n")
    assert main(["predict", str(tmp_path / "m.npz"), str(path)]) == 0
    (answer,) = read_answers(capsys.readouterr().out)
    assert list(answer) == ["row", *(f"class yes.{what[:-1]}" for what in SAID[:2]), PROBABILITY]
    assert float(answer[PROBABILITY]) == clf.predict_proba([[0.5]])[0, 1]
    assert float(answer[PROBABILITY]) == squash(float(answer["class yes.score"]))


def test_names_must_fit(fitted):
    clf, _ = fitted
    for names in ((["a"], ["b", "c"]), (["a", "b"], ["c"]), (["a", "a"], ["b", "c"])):
        with pytest.raises(ValueError, match="_names must be 2 different names"):
            clf.name_columns(*names)
    assert clf.label_names_.tolist() == NAMES
    with pytest.raises(ValueError, match="not fitted"):
        efcml.EFCMLClassifier().name_columns(["a"], ["b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "tempo\n1\n",
            "has no column 'loud, very', which the model needs; its columns are 'tempo'",
        ),
        (csv_text(0), "no rows after the header"),
        ('tempo,"loud, very"\n1,x\n', "'x' in column 'loud, very' is no number"),
        ('tempo,"loud, very"\n1,2,3\n', "3 fields for 2 columns"),
        ("1,2\n1,2\n", "numbers instead of names"),
        ("", "the file is empty"),
    ],
)
def test_bad_rows(text, message, model_file, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text(text)
    assert main(["predict", str(model_file), str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_an_empty_field_is_a_missing_feature(model_file, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text('tempo,"loud, very"\n1,\n')
    assert main(["predict", str(model_file), str(path)]) == 0
    row = next(csv.DictReader(capsys.readouterr().out.splitlines()))
    score = efcml.load(model_file).learner_.score(np.array([[np.nan, 1.0]]))[0, 0]  # loud, tempo
    assert float(row["calm.score"]) == pytest.approx(score, abs=1e-12)


def test_missing_values_in_arff(model_file, tmp_path):
    path = tmp_path / "new.arff"
    path.write_text("@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n1,?\n")
    assert read_rows(path, ["a"])[0].tolist() == [[1.0]]
    X, ignored = read_rows(path)
    assert X[0, 0] == 1.0
    assert np.isnan(X[0, 1])
    assert ignored == []


def test_what_is_no_model(tmp_path, songs, capsys):
    cases = {
        "new.npz": (efcml.EFCMLClassifier(), "has learned nothing yet"),
        "asking.npz": (efcml.ActiveLearner(), "does not predict tables: give the file of an EFCML"),
    }
    for name, (thing, message) in cases.items():
        efcml.save(thing, tmp_path / name)
        assert main(["predict", str(tmp_path / name), str(songs)]) == 2
        assert message in capsys.readouterr().err


def test_an_output_that_cannot_be_written(model_file, songs, capsys):
    assert main(["predict", str(model_file), str(songs), "--out", str(songs / "x")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"efcml: cannot write to {songs}: File exists\n"
    assert main(["predict", str(model_file), str(songs), "--out", str(songs.parent)]) == 2
    assert "is a folder: give the name of a file" in capsys.readouterr().err


def test_a_broken_model(model_file, songs, capsys):
    content = model_file.read_bytes()
    model_file.write_bytes(content[:700] + b"x" + content[701:])
    assert main(["predict", str(model_file), str(songs)]) == 2
    assert f"{model_file} cannot be loaded: " in capsys.readouterr().err


@pytest.mark.slow  # processes
def test_bad_input_from_a_shell(model_file, songs, tmp_path):
    np.savez(tmp_path / "other.npz", W=np.zeros(3))
    (tmp_path / "broken.npz").write_bytes(model_file.read_bytes()[:-50])
    (tmp_path / "few.csv").write_text("tempo,year\n1,2\n")
    for arguments, words in (
        (["no.npz", songs], ["no.npz: No such file"]),
        (["other.npz", songs], ["other.npz cannot be loaded", "not written by efcml"]),
        (["broken.npz", songs], ["broken.npz cannot be loaded"]),
        (["model.npz", "few.csv"], ["few.csv has no column 'loud, very'"]),
    ):
        is_one_line(shell(["predict", *arguments], tmp_path), *words)
