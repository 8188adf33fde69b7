"""Labels that are known already, at the command line and for river, are those of the classifier."""

import csv
import io

import numpy as np
import pytest
from helpers.cli_files import refusal, write_related

import efcml
from efcml.cli import main

LABELS = list("defg")
OPTIONS = {"prior": 1.0, "max_rules": 3, "vigilance": 0.3}


@pytest.fixture
def related(tmp_path):
    """A model of labels that share what features do not tell, its file, and rows for it."""
    ds = efcml.datasets.from_csv(write_related(tmp_path), 4, n_initial=120)
    clf = efcml.EFCMLClassifier(**OPTIONS).fit(*ds.initial)
    clf.name_columns(ds.feature_names, ds.label_names)
    efcml.save(clf, tmp_path / "model.npz")
    X, Y = ds.X[-3:], np.where([[1, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0]], ds.Y[-3:], np.nan)
    told = ["" if value != value else ("no", "1.0")[int(value)] for value in Y.ravel()]
    lines = [
        ",".join([*map(repr, x), *said])
        for x, said in zip(X.tolist(), np.reshape(told, (3, 4)).tolist(), strict=True)
    ]
    rows = tmp_path / "rows.csv"
    rows.write_text("\n".join(["a,b,c,d,e,f,g", *lines]) + "\n")
    return clf, str(tmp_path / "model.npz"), rows, X, Y


def scores_of(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return np.array([[float(row[f"{name}.score"]) for name in LABELS] for row in rows])


def test_predict_by_columns(related, capsys):
    clf, model, rows, X, Y = related
    assert main(["predict", model, str(rows), "--known", "d", "--known", "g"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"efcml: note: 2 other columns of {rows} not used: e, f\n"
    expected = clf.learner_.answer(X, Y).scores
    assert scores_of(captured.out).tolist() == expected.tolist()
    assert np.abs(expected - clf.learner_.score(X)).max(axis=0)[1] > 1e-2  # it says something


def test_predict_by_pairs(related, capsys):
    clf, model, rows, X, _ = related
    assert main(["predict", model, str(rows), "--known", "e = yes", "--known", "f=0"]) == 0
    known = np.tile([np.nan, 1.0, 0.0, np.nan], (3, 1))
    answer = clf.learner_.answer(X, known)
    assert scores_of(capsys.readouterr().out).tolist() == answer.scores.tolist()


def test_predict_from_arff(related, tmp_path, capsys):
    clf, model, *_ = related
    path = tmp_path / "rows.arff"
    head = "".join(f"@attribute {name} numeric\n" for name in "abc")
    head += "".join(f"@attribute {name} {{0,1}}\n" for name in "de")
    path.write_text(f"@relation r\n{head}@data\n1,2,-1,1,?\n0,1,1,?,0\n")
    assert main(["predict", model, str(path), "--known", "d", "--known", "e"]) == 0
    known = np.array([[1, np.nan, np.nan, np.nan], [np.nan, 0, np.nan, np.nan]])
    expected = clf.learner_.answer(np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]]), known).scores
    assert scores_of(capsys.readouterr().out).tolist() == expected.tolist()


def test_explain(related, capsys):
    clf, model, rows, X, Y = related
    given = ["--known", "d", "--known", "g"]
    assert main(["explain", model, "--sample", str(rows), *given]) == 0
    captured = capsys.readouterr()
    parts = [f"row {t}: {clf.explain(X[t], Y[t])}" for t in range(3)]
    assert captured.out == "\n\n".join(parts) + "\n"
    assert "knowing that" in captured.out
    assert captured.err == f"efcml: note: 2 other columns of {rows} not used: e, f\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["h"], "--known: the model has no label 'h', only 'd, e, f, g'."),
        (["h=1"], "--known: the model has no label 'h', only"),
        (["d=2"], "--known: d is '2': say 0 or 1."),
        (["d="], "--known: d is '': say 0 or 1."),
        (["d", "d=1"], "--known: 'd' is named twice."),
    ],
)
def test_refusals(given, said, related, capsys):
    _, model, rows, *_ = related
    known = [part for text in given for part in ("--known", text)]
    assert said in refusal(main, ["predict", model, str(rows), *known], capsys)
    assert said in refusal(main, ["explain", model, "--sample", str(rows), *known], capsys)


def test_columns_that_cannot_be_read(related, tmp_path, capsys):
    _, model, *_ = related
    path = tmp_path / "new.csv"
    path.write_text("a,b,c,e\n1,2,3,0\n1,2,3,maybe\n")
    for label, said in (
        ("d", f"{path} has no column 'd': say --known d=0 or 1."),
        ("e", f"{path}, line 3: label 'e' is 'maybe': labels are 0 or 1"),
    ):
        line = refusal(main, ["predict", model, str(path), "--known", label], capsys)
        assert said in line


def test_explain_needs_rows(related, capsys):
    line = refusal(main, ["explain", related[1], "--known", "d=1"], capsys)
    assert line == "efcml: --known is for the rows of a file: name it with --sample.\n"


def test_models_without_labels_together(related, tmp_path, capsys):
    _, _, rows, X, _ = related
    path = tmp_path / "other.npz"
    Y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for clf in (
        efcml.OneVsRestEFC(**OPTIONS).fit(X, Y),
        efcml.EFCMLClassifier(**OPTIONS).fit(X, Y[:, 0]),
    ):
        efcml.save(clf, path)
        line = refusal(main, ["predict", str(path), str(rows), "--known", "d=1"], capsys)
        assert line == (
            f"efcml: --known needs a model that has learned labels together: not {path}.\n"
        )


# -- river --------------------------------------------------------------------------------------


@pytest.fixture
def in_river(related):
    """The same learner behind the face for river, with a row."""
    river = pytest.importorskip("efcml.compat.river")
    clf, _, _, X, _ = related
    model = river.RiverEFCML(**OPTIONS)
    model.take_state(clf.learner_, "abc", LABELS, ())
    return model, clf, dict(zip("abc", X[0].tolist(), strict=True)), X[:1]


def test_river(in_river):
    model, clf, x, X = in_river
    said, row = {"g": True, "e": 0, "d": None}, [[np.nan, 0.0, np.nan, 1.0]]
    answer = clf.learner_.answer(X, np.array(row))
    found = model.predict_one(x, known=said)
    assert list(found.values()) == (answer.decisions[0] == 1.0).tolist()
    assert (found["g"], found["e"]) == (True, False)
    likely = model.predict_proba_one(x, known=said)
    assert [part[True] for part in likely.values()] == answer.probabilities[0].tolist()
    assert likely != model.predict_proba_one(x)
    assert model.predict_proba_one(x, known={}) == model.predict_proba_one(x)
    assert str(model.explain_one(x, known=said)) == str(clf.explain(X, row))


@pytest.mark.parametrize("ask", ["predict_one", "predict_proba_one", "explain_one"])
def test_river_refuses(ask, in_river):
    (
        model,
        *_,
    ) = in_river
    ask, x = getattr(model, ask), in_river[2]
    with pytest.raises(ValueError, match="known has the label 'z', which no row has had so far"):
        ask(x, known={"z": 1})
    with pytest.raises(ValueError, match="label 'd' must be True or False"):
        ask(x, known={"d": 2})
    with pytest.raises(TypeError, match="known must be a dictionary of labels; got list"):
        ask(x, known=[1])
    model.learner.layered = False
    with pytest.raises(ValueError, match="known needs a model that has learned labels together"):
        ask(x, known={"d": 1})
