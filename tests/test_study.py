"""Studies: the three lines, tables, differences, words and pictures."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.study_files import N_INITIAL, keep_method, model, rows, small_set
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, Study, datasets, prequential
from efcml.measures import MEASURES, Measure
from efcml.plots._differences import draw_differences
from efcml.studies import Variant


@pytest.fixture(autouse=True)
def method(monkeypatch):
    keep_method(monkeypatch)


@pytest.fixture(scope="module")
def study():
    """Two data sets, one of them a data frame; the second model differs in nothing."""
    with pytest.MonkeyPatch.context() as patch:
        keep_method(patch)
        X, Y = rows(1)
        frames = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=list("uvw"))
        models = {
            "default": model(),
            "same": model(),
            "none": model(correlation="none"),
            "static": Variant(model(), learn=False),
        }
        yield Study(models, data={"small": small_set(), "mine": frames}, orders=3).run()


def test_three_lines():
    study = Study({"a": model(), "b": model(correlation="none")}, data=[small_set()], orders=2)
    study.run()
    table, found = study.table(), study.differences("b")
    assert table.index.names == ["data", "model"]
    assert list(table.index) == [("small", "a"), ("small", "b")]
    assert {"pa", "ap", "rules", "ms_per_sample"} <= set(table.columns)
    assert {(m, c) for m in ("pa", "ap") for c in ("difference", "low", "high")} <= set(found)
    assert list(found.index) == ["small"]


def test_runs_are_those_of_prequential(study):
    """The first order is that of the file; the others shuffle the stream, not the initial part."""
    ds = small_set()
    X, Y = ds.stream
    for order in range(3):
        clf = model().fit(*ds.initial)
        rng = np.random.default_rng(order)
        arriving = rng.permutation(len(X)) if order else np.arange(len(X))
        wanted = prequential(clf, X[arriving], Y[arriving])
        found = study.result("default", "small", order)
        assert np.array_equal(found.scores, wanted.scores)
        assert np.array_equal(found.Y, wanted.Y)
        assert found.events == wanted.events
        assert np.array_equal(found.rules, wanted.rules)


def test_table_has_means_over_the_orders(study):
    measures = ("pa", "ap", "micro_f1", "macro_f1", "coverage")
    table = study.table(measures)
    assert list(table.columns)[:5] == list(measures)
    for data, name in table.index:
        results = [study.result(name, data, order) for order in range(3)]
        for measure in measures:
            wanted = np.mean([MEASURES[measure](r.Y, r.scores) for r in results])
            assert table.loc[(data, name), measure] == pytest.approx(wanted, abs=1e-12)
        assert table.loc[(data, name), "rules"] == np.mean([r.rules[-1] for r in results])
    assert (table["orders"] == 3).all()


def test_differences_are_those_of_the_table(study):
    table, found = study.table(), study.differences("static")
    for data in study.data:
        for measure in ("pa", "ap"):
            wanted = table.loc[(data, "static"), measure] - table.loc[(data, "default"), measure]
            line = found.loc[data, measure]
            assert line["difference"] == pytest.approx(wanted, abs=1e-12)
            assert line["low"] <= line["difference"] <= line["high"]
    assert found.attrs == {"to": "default", "comparisons": 12, "level": 0.95}
    turned = study.differences("default", to="static")
    assert turned["pa", "difference"].tolist() == (-found["pa", "difference"]).tolist()


def test_one_name_may_stand_alone(study, tmp_path):
    first, *others = study.models
    assert study.table("ap").equals(study.table(["ap"]))
    one = study.differences(others[0], measures="ap")
    assert one.equals(study.differences(others[0], measures=["ap"]))
    assert study.comparisons("ap") == len(others) * len(study.data)
    assert study.notes("ap") == study.notes(["ap"])
    assert study.to_text("ap") == study.to_text(["ap"])
    assert study.write(tmp_path / "one", "ap") == study.write(tmp_path / "two", ["ap"])
    drawn = [study.plot(models=names, data="small") for names in (first, [first])]
    assert len(drawn[0].get_lines()) == len(drawn[1].get_lines())


def missed_rows(Y, decided):
    return ((Y == 1) & (decided == 0)).sum(axis=1).astype(float)


def test_a_measure_of_ones_own(study, monkeypatch):
    mine = Measure(
        *("missed", "missed labels", "Missed labels per row.", "down", "labels"),
        lambda Y, decided: missed_rows(Y, decided).mean(),
        missed_rows,
    )
    monkeypatch.setitem(MEASURES, "missed", mine)
    table = study.table("missed")["missed"]
    for (data, name), value in table.items():
        results = [study.result(name, data, order) for order in range(3)]
        expected = [missed_rows(one.Y, one.decisions).mean() for one in results]
        assert value == pytest.approx(np.mean(expected))
    frame = study.differences(measures="missed")
    assert (frame["missed", "low"] <= frame["missed", "high"]).all()
    assert (
        results[-1].trend("missed", window=5)[-1]
        == missed_rows(results[-1].Y[-5:], results[-1].decisions[-5:]).mean()
    )


def test_more_comparisons_give_wider_intervals(study):
    one, many = (study.differences("static", comparisons=n) for n in (1, 12))
    assert (many["pa", "high"] - many["pa", "low"] > one["pa", "high"] - one["pa", "low"]).all()


def test_all_differences_at_once(study):
    found = study.differences()
    assert found.index.names == ["data", "model"]
    assert set(found.index.get_level_values("model")) == {"same", "none", "static"}
    one = study.differences("none")
    assert found.loc[("mine", "none")].tolist() == one.loc["mine"].tolist()


def test_it_says_when_nothing_changed(study):
    notes = "\n".join(study.notes())
    assert "On small, same changed nothing at all: every score is the same" in notes
    assert "static changed" not in notes
    found = study.differences("same")
    assert (found == 0.0).all(axis=None)
    assert (study.differences("static")["scores", "largest change"] > 0).all()


def test_it_says_how_little_changed():
    models = Study.vary(model(), beta=[0.1, 0.1000001])
    study = Study(models, data=small_set(), orders=1).run()
    change = study.findings.change("small", study.models[1], study.models[0])
    scores = [study.result(name).scores for name in study.models]
    assert change.largest == np.abs(scores[0] - scores[1]).max()
    assert 0 < change.largest < 1e-3
    notes = "\n".join(study.notes())
    asked = change.asked
    assert (
        f"changed no score by more than {change.largest:.1g}, and no decision of {asked}" in notes
    )
    assert "over samples, of one order only" in notes


def test_text_and_html(study):
    text, html = repr(study), study._repr_html_()
    assert "Study of 4 models, 2 data sets, 3 orders: 24 of 24 runs done" in text
    assert "PA minus default" in text
    assert "corrected for 12 comparisons" in text
    for shown in (text, html):
        assert all(name in shown for name in (*study.data, *study.models))
    assert html.startswith("<table")
    new = Study({"<b>": model()}, data=small_set())
    assert (
        repr(new)
        == "Study of 1 model, 1 data set, 10 orders: 0 of 10 runs done; study.run() does them."
    )
    assert "study.run()" in new._repr_html_()


def test_names_are_escaped_in_html():
    study = Study({"<b>": model()}, data=small_set(), orders=1).run()
    assert "<b>" not in study._repr_html_()


def test_pictures(study):
    for measure in ("pa", "rules"):
        axes = study.plot(measure)
        assert [ax.get_title(loc="left") for ax in axes] == ["small", "mine"]
        assert {line.get_label() for line in axes[0].lines} >= set(study.models)
    ax = study.plot("ap", data="mine", models=["default", "static"], window=5)
    assert ax.get_ylabel() == "average precision, last 5 rows"
    rows_of = ax.lines[0].get_xdata()
    assert rows_of[-1] == 43
    ax = study.plot("ap", data="mine", models=["default"], window=1000)  # more than there are
    assert ax.lines[0].get_xdata().tolist() == [43]
    assert study.plot("rules", data="small").get_ylim()[0] == 0.0
    ax = study.plot_differences("ap")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["same", "none", "static"] * 2
    assert ax.get_xlabel() == "AP minus default, in points; 95 % intervals for 6 comparisons"


def test_pages_and_files(tmp_path):
    models = {"default": model(), "same": model()}
    study = Study(models, data=small_set(), orders=2).run()
    files = study.write(tmp_path / "out", ("micro_f1",))
    assert {"table.csv", "differences.csv", "summary.json", "report.html"} <= set(files)
    assert {"micro_f1.png", "rules.svg", "differences_micro_f1.png"} <= set(files)
    assert {file.name for file in (tmp_path / "out").iterdir()} == set(files)
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(words in page for words in ("changed nothing at all", "micro F1", "default"))
    table = pd.read_csv(tmp_path / "out" / "table.csv")
    assert table["micro_f1"].tolist() == study.table(("micro_f1",))["micro_f1"].tolist()


def test_what_is_sure_is_filled():
    found = {"set": {"sure": (0.2, 0.1, 0.3), "open": (0.2, -0.1, 0.3), "nothing": (0.0, 0.0, 0.0)}}
    ax = draw_differences(found)
    faces = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
    assert [face == "white" for face in faces] == [False, True, True]
    with pytest.raises(ValueError, match="there is no difference to draw"):
        draw_differences({"set": {}})


def test_vary():
    models = Study.vary(EFCMLClassifier(), correlation=["shift", "none"], beta=[0, 1.0, 10])
    assert list(models)[:3] == [f"correlation=shift, beta={beta}" for beta in (0, 1, 10)]
    assert len(models) == 6
    last = models["correlation=none, beta=10"]
    assert (last.correlation, last.beta) == ("none", 10)


def test_axes_make_lines():
    study = Study(
        {"efcml": model()},
        data=small_set(),
        orders=2,
        active=[None, ActiveLearner(0.3), ActiveLearner.random(0.3, "labels")],
    ).run()
    assert study.models == [
        "efcml, all labels",
        "efcml, 30 % of samples",
        "efcml, 30 % of labels by random",
    ]
    asked = study.table()["asked"]
    assert asked.iloc[0] == 1.0
    assert (asked.iloc[1:] <= 0.3).all()
    late = Study({"efcml": model()}, data=small_set(), orders=1, delay=[0, 5], start=[None, 0.25])
    assert late.models == [
        "efcml, in time, usual start",
        "efcml, in time, start of 25 %",
        "efcml, 5 rows late, usual start",
        "efcml, 5 rows late, start of 25 %",
    ]
    late.run()
    ds = small_set()
    wanted = prequential(model().fit(*ds.initial), *ds.stream, delay=5)
    found = late.result("efcml, 5 rows late, usual start")
    assert np.array_equal(found.scores, wanted.scores)


def test_starts_are_paired_on_common_samples():
    study = Study({"a": model()}, data=small_set(), orders=2, start=[None, 0.25]).run()
    small, usual = study.models[1], study.models[0]
    assert len(study.result(small).Y) == 33
    wanted = []
    for order in range(2):
        pair = []
        for name in (usual, small):
            found = study.result(name, order=order)
            arriving = study.plan.stream_rows("small", name, order)
            right = (found.scores >= 0.5) == found.Y
            pair.append(right[arriving >= N_INITIAL].mean())
        wanted.append(pair[1] - pair[0])
    found = study.differences(small)["pa", "difference"].item()
    assert found == pytest.approx(np.mean(wanted), abs=1e-12)


def test_random_questions_differ_by_order_and_come_again():
    def make():
        active = ActiveLearner.random(0.5)
        return Study({"a": model()}, data=small_set(), orders=3, active=active).run()

    first, second = make(), make()
    asked = [tuple(np.flatnonzero(first.result(order=order).queried)) for order in range(3)]
    assert len(set(asked)) == 3
    for order in range(3):
        assert np.array_equal(first.result(order=order).queried, second.result(order=order).queried)


def test_models_from_elsewhere():
    linear_model = pytest.importorskip("river.linear_model")
    multioutput = pytest.importorskip("river.multioutput")

    models = {
        "ours": model(),
        "per label": OneVsRestEFC(max_rules=2, prior=1.0),
        "scikit-learn": MultiOutputClassifier(SGDClassifier(random_state=0)),
        "river": multioutput.ClassifierChain(linear_model.LogisticRegression(), order=[0, 1, 2]),
    }
    study = Study(models, data=small_set(), orders=2).run()
    ds = small_set()
    other = MultiOutputClassifier(SGDClassifier(random_state=0)).fit(*ds.initial)
    wanted = prequential(other, *ds.stream)
    assert np.array_equal(study.result("scikit-learn").scores, wanted.scores)
    assert study.table().loc[("small", "river"), "pa"] > 0.5
    facts = study.findings.facts("small", "river", 0)
    assert "river" in facts["versions"]
    assert facts["versions"]["efcml"]


def test_a_single_label_from_elsewhere():
    X, Y = rows(n_labels=1)
    study = Study({"sgd": SGDClassifier(random_state=0)}, data=(X, Y), orders=2).run()
    assert study.data == ["data"]
    assert study.table()["pa"].item() > 0.5


def test_built_in_streams_are_made_anew(monkeypatch):
    made = []

    def load(name, seed=0):
        made.append(seed)
        return small_set(name, seed=seed)

    monkeypatch.setattr(datasets, "load", load)
    study = Study({"a": model(), "b": model(beta=1.0)}, data="drifting-clusters", orders=3).run()
    assert sorted(set(made)) == [0, 1, 2]
    assert study.plan.data["drifting-clusters"].block == 50
    ds = small_set(seed=2)
    wanted = prequential(model().fit(*ds.initial), *ds.stream)
    assert np.array_equal(study.result("a", order=2).scores, wanted.scores)
    pooled = np.mean([study.result("a", order=order).pa for order in range(3)])
    assert study.table()["pa"].iloc[0] == pytest.approx(pooled)
    assert "drifts" not in "".join(study.notes())


def test_a_shuffled_drift_is_said():
    ds = datasets.load("drifting-clusters", n=60, n_initial=40)
    study = Study({"a": model()}, data=ds, orders=2).run()
    assert "drifting-clusters drifts, and a shuffle destroys the drift" in study.notes()[-1]
    assert "drifts" not in "".join(Study({"a": model()}, data=ds, orders=1).run().notes())


def test_warnings_are_told():
    study = Study({"a": WarningModel()}, data=small_set(), orders=2).run()
    assert study.notes() == ["2 of 2 runs of a on small warned: UserWarning: look out"]


class WarningModel:
    """Knows nothing, and says so."""

    def fit(self, X, Y):
        import warnings

        warnings.warn("look\nout", UserWarning, stacklevel=1)
        return self

    def partial_fit(self, X, Y):
        return self

    def predict(self, X):
        return np.zeros((len(X), 3))


class Constant:
    """Always answers the same."""

    def __init__(self, answer):
        self.answer = answer

    def get_params(self, deep=True):
        return {"answer": self.answer}

    def fit(self, X, Y):
        return self

    def partial_fit(self, X, Y):
        return self

    def predict(self, X):
        return np.full((len(X), 3), self.answer)


def test_it_says_what_is_shown():
    X = rows()[0]
    Y = np.zeros((len(X), 3))
    Y[::6, 0] = 1.0
    models = {"zeros": Constant(0.0), "ones": Constant(1.0)}
    study = Study(models, data=(X, Y), orders=2).run()
    assert (
        "Shown: ones below it in PA on data. All other intervals have 0 in them." in study.notes()
    )
    assert study.differences("ones")["pa", "high"].item() < 0
    models = {"zeros": Constant(0.0)} | {f"ones {i}": Constant(1.0 + i) for i in range(14)}
    notes = Study(models, data=(X, Y), orders=1).run().notes()
    assert notes[1].count("below it") == 6
    assert "; 8 more. All other" in notes[1]
    same = {f"zeros {i}": Constant(-1.0) for i in range(15)}
    notes = Study(same, data=(X, Y), orders=1).run().notes()
    assert notes[-1] == "And 2 more like these."


def test_rows_may_be_lists():
    X, Y = (part.tolist() for part in rows())
    study = Study({"a": model()}, data=(X, Y), orders=1)
    assert len(study.plan.data["data"].dataset) == len(X)


def test_copies_are_independent():
    from efcml.studies.cell_run import copy_fitted

    ds = small_set()
    for fitted in (model(), OneVsRestEFC(max_rules=2, prior=1.0)):
        fitted.fit(*ds.initial)
        before = fitted.decision_function(ds.X)
        twin = copy_fitted(fitted)
        assert np.array_equal(twin.decision_function(ds.X), before)
        twin.partial_fit(*ds.stream)
        assert not np.array_equal(twin.decision_function(ds.X), before)
        assert np.array_equal(fitted.decision_function(ds.X), before)


def test_what_has_no_value_is_null_in_files(tmp_path):
    """No row has a label, so there is no average precision; JSON has no word for that."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    data = {"zero": (X, np.zeros((40, 2)))}
    study = Study({"a": model(), "b": model(cases=0)}, data=data, orders=2).run()
    study.write(tmp_path / "out", ["pa", "ap"])
    text = (tmp_path / "out" / "summary.json").read_text()
    assert "null" in text
    json.loads(text, parse_constant=pytest.fail)
