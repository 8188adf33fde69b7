"""``efcml explain``: rules and answers in words."""

import numpy as np
import pytest
from helpers.cli_files import LABELS, is_one_line, shell, write_csv

import efcml
from efcml.cli import explain_command as explain
from efcml.cli import main

PARAMETERS = {"prior": 1.0, "max_rules": 4, "vigilance": 0.2}


@pytest.fixture
def songs(tmp_path):
    return write_csv(tmp_path)


def save_model(kind, songs):
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    clf = kind(**PARAMETERS).fit(*ds.initial).name_columns(ds.feature_names, ds.label_names)
    path = songs.parent / "model.npz"
    efcml.save(clf, path)
    return clf, str(path)


def printed(arguments, capsys):
    assert main(["explain", *arguments]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_strongest_rules(songs, capsys, monkeypatch):
    clf, path = save_model(efcml.EFCMLClassifier, songs)
    assert clf.n_rules_ > 1
    assert printed([path], capsys) == (f"{clf.rules_}\n", "")
    assert printed([path, "--all"], capsys) == (f"{clf.rules_}\n", "")
    monkeypatch.setattr(explain, "SHOWN", 1)
    assert printed([path], capsys) == (f"{clf.rules_[:1]}\n\n--all shows all rules\n", "")
    assert printed([path, "--all"], capsys) == (f"{clf.rules_}\n", "")
    monkeypatch.setattr(explain, "SHOWN", clf.n_rules_)  # just enough
    assert printed([path], capsys) == (f"{clf.rules_}\n", "")
    text = str(clf.rules_)
    assert "tempo" in text or "loud, very" in text
    assert LABELS[0] in text or "calm" in text


def test_a_rule_base_for_each_label(songs, capsys, monkeypatch):
    clf, path = save_model(efcml.ChainEFC, songs)
    monkeypatch.setattr(explain, "SHOWN_PER_LABEL", 1)
    text, _ = printed([path], capsys)
    assert text.startswith(f"calm: {clf.rules_['calm'][:1]}\n\n{LABELS[0]}: ")
    assert text.endswith("\n\n--all shows all rules\n")
    text, _ = printed([path, "--all"], capsys)
    assert f"calm: {clf.rules_['calm']}\n\n" in text


def test_one_row(songs, tmp_path, capsys):
    clf, path = save_model(efcml.EFCMLClassifier, songs)
    row = tmp_path / "row.csv"
    row.write_text('tempo,year,"loud, very"\n1.5,1999,-0.5\n')
    text, note = printed([path, "--sample", str(row)], capsys)
    model = efcml.EFCMLClassifier(**PARAMETERS)  # without names nothing warns of missing ones
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    model.fit(*ds.initial)
    expected = model.explain(np.array([-0.5, 1.5]))
    names = ("calm", LABELS[0])
    for name, score in zip(names, expected.score, strict=True):
        assert name in text
        assert f"{score:.2f}".lstrip("0") in text
    assert note == f"efcml: note: 1 other column of {row} not used: year\n"
    assert not text.startswith("row 0")


def test_several_rows(songs, capsys):
    _, path = save_model(efcml.EFCMLClassifier, songs)
    text, _ = printed([path, "--sample", str(songs)], capsys)
    starts = [part.split(":")[0] for part in text.split("\n\n") if part.startswith("row ")]
    assert starts == [f"row {number}" for number in range(44)]


def test_answers_of_separate_models_are_not_explained(songs, capsys):
    _, path = save_model(efcml.OneVsRestEFC, songs)
    assert main(["explain", path, "--sample", str(songs)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"efcml: {path} holds a OneVsRestEFC, a model for each label")


@pytest.mark.slow  # processes
def test_bad_input_from_a_shell(songs, tmp_path):
    save_model(efcml.EFCMLClassifier, songs)
    (tmp_path / "few.csv").write_text("tempo\n1\n")
    done = shell(["explain", "model.npz", "--sample", "few.csv"], tmp_path)
    is_one_line(done, "few.csv has no column 'loud, very'")
