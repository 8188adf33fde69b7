"""Reports: what the page says, that it is sound HTML, and that nothing from outside gets loose."""

import base64
import copy
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import efcml
from efcml import (
    ActiveLearner,
    EFCMLClassifier,
    OneVsRestEFC,
    datasets,
    measures,
    plots,
    prequential,
)
from efcml.evaluation import PrequentialResult
from efcml.explain import read_rules
from efcml.report import draw_run, pictures, write_report
from efcml.report import sentences as words
from efcml.report.figures import MOST_POINTS, MOST_TICKS, constant_scores, find_marks, keep_small

VOID = {"meta", "link", "img", "source", "br"}
EVIL = """<script>alert("1")</script>&amp;'"><img src=x onerror=alert(2)>"""
# What the table of compared models shows, in the order of its columns.
LINE = {"pa": 0.5, "ap": 0.25, "rules": 3, "births": 1, "splits": 2, "merges": 0}
LINE |= {"ms_per_sample": 0.125}


class Page(HTMLParser):
    """Elements of a page, with attributes and text; the nesting is checked on the way."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        element = SimpleNamespace(tag=tag, text="", **{"get": dict(attrs).get})
        self.found.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        for element in self.open:
            element.text += data

    def all(self, *tags):
        return [element for element in self.found if element.tag in tags]

    def one(self, tag, **attributes):
        (element,) = (
            element
            for element in self.all(tag)
            if all(element.get(name) == value for name, value in attributes.items())
        )
        return element

    @property
    def text(self):
        return self.one("html").text


def table_of(text, name):
    """Return the key and exact values of every line of a table."""
    body = re.search(rf'<table id="{name}">.*?</table>', text, re.S)[0]
    lines = re.findall(r'<tr data-key="(.*?)">(.*?)</tr>', body)
    parsed = {}
    for key, cells in lines:
        cells = Page(f"<tr>{cells}</tr>").all("td")
        parsed[key] = [json.loads(cell.get("data-value") or "null") for cell in cells]
    return parsed


def images(text):
    """Return the drawings of a page."""
    found = re.findall(r'"data:image/svg\+xml;base64,([^"]*)"', text)
    return [base64.b64decode(code).decode() for code in found]


def run(active=None, **parameters):
    ds = datasets.load("drifting-clusters", n=100, n_initial=40)
    classifier = EFCMLClassifier(prior=1.0, **parameters).fit(*ds.initial)
    result = prequential(classifier, *ds.stream, active=active)
    return ds, classifier, result


def summarise(ds, classifier, result, **more):
    return {
        "dataset": ds.name,
        "model": "efcml",
        "n_initial": ds.n_initial,
        "n_stream": len(result.Y),
        "pa": result.pa,
        "ap": result.ap,
        "rules": int(result.rules[-1]),
        "queried_share": float(result.queried.mean()),
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "parameters": classifier.get_params(),
        "version": efcml.__version__,
        **more,
    }


@pytest.fixture(scope="module")
def plain():
    return run()


@pytest.fixture
def write(plain, tmp_path):
    """Write a report of the plain run, with changes; return its text."""

    def call(more=None, **changes):
        ds, classifier, result = plain
        options = {"result": result, "classifier": classifier, "figures": {}} | changes
        summary = summarise(ds, classifier, options["result"], **(more or {}))
        path = write_report(tmp_path / "report.html", summary=summary, **options)
        return path.read_text(encoding="utf-8")

    return call


def tiny_result(Y, scores, **changes):
    n = len(Y)
    result = PrequentialResult(
        np.array(Y, float), np.array(scores, float), np.ones(n, int), np.ones(n, bool), (), 0.1
    )
    return replace(result, **changes)


# -- the page -------------------------------------------------------------------------------


def test_page_is_sound(write):
    text = write(figures=None, rules="IF x THEN y")
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.one("html").get("lang") == "en"
    assert found.one("h1").text == found.one("title").text == "EFC-ML on drifting-clusters"
    assert found.one("meta", name="viewport").get("content").startswith("width=device-width")
    assert [heading.tag for heading in found.all("h1", "h2", "h3")] == ["h1"] + 7 * ["h2"]
    assert [part.get("id") for part in found.all("section")] == [
        "summary",
        "figures",
        "by-label",
        "rules",
        "all",
        "settings",
        "method",
    ]
    ids = [element.get("id") for element in found.found if element.get("id")]
    assert len(set(ids)) == len(ids)
    for element in found.found:
        assert element.get("aria-labelledby") in (None, *ids)
    assert {head.get("scope") for head in found.all("th")} == {"row", "col"}
    assert len(found.all("caption")) == len(found.all("table")) == 4
    assert not found.all("script")


def test_nothing_is_loaded_from_elsewhere(write):
    text = write(figures=None)
    found = Page(text)
    policy = found.one("meta", **{"http-equiv": "Content-Security-Policy"}).get("content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "://" not in text
    for name in ("src", "srcset", "href"):
        assert all((one.get(name) or "data:").startswith("data:") for one in found.found)
    for drawing in images(text):
        assert all(
            target.startswith(("#", "data:")) for target in re.findall(r'href="([^"]*)', drawing)
        )


def test_figures_have_words_and_a_size(write, plain):
    text = write(figures=None)
    found = Page(text)
    assert [figure.get("id") for figure in found.all("figure")] == [
        "figure-trends",
        "figure-rules",
        "figure-memberships",
        "figure-cards",
        "figure-importance",
        "figure-reliability",
    ]
    assert [caption.text for caption in found.all("figcaption")] == [
        words.CAPTIONS["trends"],
        words.CAPTIONS["rules"],
        words.CAPTIONS["memberships"],
        words.CAPTIONS["cards"],
        words.CAPTIONS["importance"],
        words.CAPTIONS["reliability"],
    ]
    trends, rules, *_, reliability = found.all("img")
    _, _, result = plain
    error = measures.calibration_error(result.Y, result.probabilities)
    assert f"said: {error:.3f} apart" in reliability.get("alt")
    assert f"accuracy is {result.pa:.4f} and average precision {result.ap:.4f}" in trends.get("alt")
    assert f"at most {result.rules.max()}, {result.rules[-1]} at the end" in rules.get("alt")
    assert (trends.get("width"), trends.get("height")) == ("720", "538")
    for source in found.all("source"):
        assert source.get("media") == "(max-width: 600px)"
        assert source.get("width") == "384"
    assert len(images(text)) == 11  # each also for phones, but for the cards, which are narrow
    assert all("<svg" in drawing for drawing in images(text))


def test_own_captions_are_the_text_alternative(write):
    figure = plots.new_figure()
    found = Page(write(figures={"trends": figure, "my_own": figure}, captions={"trends": "mine"}))
    assert [caption.text for caption in found.all("figcaption")] == ["mine", "my own"]
    assert [image.get("alt") for image in found.all("img")] == ["mine", "my own"]


def test_numbers_are_those_of_the_summary(write, plain):
    more = {"births": 3, "interrupted": False, "seed": np.int64(7), "extra": "word", "files": ["a"]}
    text = write(more)
    ds, classifier, result = plain
    summary = summarise(ds, classifier, result, **more)
    numbers = table_of(text, "numbers")
    shown = {key for key, value in summary.items() if not isinstance(value, dict | list)}
    assert {key: values[0] for key, values in numbers.items()} == {
        key: summary[key] for key in shown
    }
    assert list(numbers)[:3] == ["dataset", "model", "n_initial"]
    assert list(numbers).index("births") == list(numbers).index("rules") + 1
    assert list(numbers)[-1] == "extra"
    cells = {row[0]: row[1] for row in re.findall(r'data-key="(\w+)">.*?<td[^>]*>(.*?)</td>', text)}
    assert cells["pa"] == f"{result.pa:.4f}"
    assert cells["interrupted"] == "no"
    assert cells["model"] == "EFC-ML"


def test_large_numbers_stand_with_the_constant_answer(write, plain):
    cards = Page(write()).one("dl").text
    _, _, result = plain
    constant = words.constant_answer(result)
    for name in ("pa", "ap"):
        assert f"{getattr(result, name):.4f}constant: {constant[name]:.4f}" in cards
    assert "labels given100.0%" in cards


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("pa", float("nan"), "none"),
        ("budget", 0.1, "0.1"),
        ("x", None, "none"),
        ("x", np.True_, "yes"),
        ("x", 12345678, "12345678"),
        ("x", 1e-4, "0.0001"),
        ("ms_per_sample", 12.3456, "12.3"),
        ("queried_share", 0.0999, "10.0%"),
    ],
)
def test_values_are_written_short(key, value, shown):
    assert words.show(key, value) == shown


def test_changed_parameters_come_first(write):
    usual = EFCMLClassifier().get_params()
    text = write({"parameters": usual | {"clip": 3.0, "wanted": "x", "vigilance": 0.25}})
    parameters = table_of(text, "parameters")
    assert list(parameters)[:3] == ["clip", "vigilance", "wanted"]
    assert list(parameters)[3:] == [key for key in usual if key not in ("clip", "vigilance")]
    assert parameters["clip"][0] == 3.0
    assert {key: values[0] for key, values in parameters.items()}.items() > {"alpha": 0.0}.items()
    assert "<td>6</td>" in re.search(r'data-key="clip">.*', text)[0]
    assert f"3 of {len(parameters)} differ from their defaults; they come first." in text
    assert "default values" in write({"parameters": usual})


def test_versions_are_told(write):
    text = write()
    versions = Page(text).one("table", id="versions").text
    for package in ("numpy", "numba", "efcml", "Python"):
        assert package in versions
    assert np.__version__ in versions
    assert Page(text).one("time").get("datetime").endswith("+00:00")


def test_labels_have_their_own_scores(write):
    Y = [[1, 0, 0, np.nan], [1, 0, 0, np.nan], [1, 1, 0, np.nan], [np.nan, 1, 0, np.nan]]
    scores = [[0.9, 0.9, 0.1, 0.9], [0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.2, 0.9], [0.9, 0.1, 0.4, 0]]
    text = write(result=tiny_result(Y, scores))
    # In order: frequency, PA, PA of the more frequent answer, F1.
    assert table_of(text, "labels") == {
        "label0": [1.0, 2 / 3, 1.0, 0.8],
        "label1": [0.5, 0.5, 0.5, 0.5],
        "label2": [0.0, 1.0, 1.0, None],
        "label3": [None, None, None, None],
    }
    assert list(table_of(text, "labels")) == [f"label{i}" for i in range(4)]
    rare_first = table_of(write(result=tiny_result(np.fliplr(Y), np.fliplr(scores))), "labels")
    assert list(rare_first) == ["label3", "label2", "label0", "label1"]
    shown = Page(text).one("table", id="labels").text
    assert "100.0%0.66671.00000.8000" in shown.replace("\n", "")


def test_labels_have_the_names_of_the_data_or_the_model(write, plain):
    ds, classifier, result = plain
    assert sorted(table_of(write(dataset=ds), "labels")) == sorted(ds.label_names)
    names = [f"mood {i}" for i in range(result.Y.shape[1])]
    model = copy.copy(classifier).name_columns(label_names=names)
    assert sorted(table_of(write(classifier=model), "labels")) == names
    scores = table_of(write(), "labels").values()
    assert np.mean([pa for _, pa, *_ in scores]) == pytest.approx(result.pa)
    assert np.mean([f1 for *_, f1 in scores]) == pytest.approx(
        measures.macro_f1(result.Y, result.scores >= 0.5)
    )


# -- words ----------------------------------------------------------------------------------


def test_measures_say_what_is_left_out(write):
    Y = [[1, 0], [0, 0], [np.nan, np.nan], [0, 1], [1, np.nan]]
    result = tiny_result(Y, np.linspace(0, 1, 10).reshape(5, 2))
    text = Page(write(result=result)).text
    assert "2 of 5 are left out" in text
    assert "3 of 10 labels are unknown" in text


@pytest.mark.parametrize("decision", ["f1", "subset"])
def test_numbers_go_by_what_was_decided(decision, tmp_path):
    ds, classifier, result = run(decision=decision)
    assert (result.decisions != (result.scores >= 0.5)).any()
    figures = draw_run(result, classifier, dataset=ds)
    summary = summarise(ds, classifier, result)
    options = {"result": result, "classifier": classifier, "figures": {}}
    text = write_report(tmp_path / "r.html", summary=summary, **options).read_text()
    assert f'Decisions are by decision="{decision}"' in Page(text).text
    assert "if its score is at least 0.5" not in text
    labels = table_of(text, "labels")
    for k, name in enumerate(f"label{k}" for k in range(5)):
        _, pa, _, f1 = labels[name]
        Y, decided = result.Y[:, [k]], result.decisions[:, [k]]
        assert pa == measures.partial_accuracy(Y, decided)
        assert f1 == pytest.approx(measures.micro_f1(Y, decided))
    line = figures["trends"].axes[0].lines[0]
    assert line.get_ydata()[-1] == pytest.approx(result.pa)


def test_only_learned_probabilities_are_drawn():
    _, classifier, result = run()
    ds = datasets.load("drifting-clusters", n=100, n_initial=40)
    other = OneVsRestEFC(prior=1.0, max_rules=2).fit(*ds.initial)
    bent = prequential(other, *ds.stream)
    assert "reliability" in draw_run(result, classifier)
    assert "reliability" not in draw_run(bent, other)
    assert "reliability" not in draw_run(replace(result, probabilities=None), classifier)


def test_what_is_complete_is_not_mentioned(write):
    text = write({"interrupted": False})
    assert "are unknown" not in text
    assert "was interrupted" not in text
    assert 'class="note"' not in text


def test_constant_answer_by_hand():
    result = tiny_result([[1, 0], [1, 0], [0, 1]], np.zeros((3, 2)))
    np.testing.assert_allclose(constant_scores(result.Y), 3 * [[2 / 3, 1 / 3]])
    assert words.constant_answer(result) == pytest.approx({"pa": 4 / 6, "ap": 2.5 / 3})


def test_interrupted_runs_say_so(write):
    text = write({"interrupted": True})
    assert "Then 60 rows came one by one" in text
    note = Page(text).one("p", **{"class": "note"}).text
    assert note == "This run was interrupted after 60 rows. All numbers are about these rows."


def test_how_labels_came_is_said(write, plain):
    _, _, result = plain
    assert "predicted first and learned" in write()
    silent = replace(result, queried=np.zeros(len(result.Y), bool))
    assert "nothing was learned" in write(result=silent)


def test_active_learners_show_their_spending(tmp_path):
    active = ActiveLearner(budget=0.25)
    ds, classifier, result = run(active)
    summary = summarise(ds, classifier, result)
    path = write_report(
        tmp_path / "r.html", summary=summary, result=result, classifier=classifier, active=active
    )
    found = Page(path.read_text())
    names = [figure.get("id") for figure in found.all("figure")]
    drawn = ("trends", "rules", "memberships", "cards", "importance", "reliability", "spending")
    assert names == [f"figure-{name}" for name in drawn]
    share = f"{result.queried.mean():.1%}"
    assert f"{share} of the samples were asked for and learned; the budget is 25.0%" in found.text
    assert found.all("img")[-1].get("alt").endswith(f"so far: {share} at the end.")


def test_rules_are_tables_as_in_a_notebook(write, plain):
    _, classifier, _ = plain
    rules = classifier.rules_
    section = Page(write(rules=rules)).one("section", id="rules")
    for rule in rules:
        assert rule.consequent in section.text
        assert all(str(term) in section.text for term in rule.terms)
    text = write(rules={"a < b": rules[:2], "c": rules[:1]})
    assert [heading.text for heading in Page(text).all("h3")] == ["a < b", "c"]
    assert text.count(rules[:2].to_html()) == text.count(rules[:1].to_html()) == 1
    assert {head.get("scope") for head in Page(text).all("th")} == {"row", "col"}
    names = ["<i>" + EVIL] + [f"x{i}" for i in range(1, classifier.n_features_in_)]
    evil = read_rules(classifier.learner_, names, None)
    found = Page(write(rules=evil))
    assert not found.all("script", "i")


def test_rules_are_text_of_any_object(write):
    assert not [one for one in Page(write()).all("section") if one.get("id") == "rules"]
    rules = SimpleNamespace(x=1)
    assert Page(write(rules=rules)).one("pre").text == "namespace(x=1)"


def test_models_are_compared_if_there_are_some(write):
    more = {"models": {"a": LINE | {"name": "first"}, "b": LINE}, "findings": ["a < b."]}
    text = write(more)
    assert table_of(text, "models") == {"a": [*LINE.values()], "b": [*LINE.values()]}
    found = Page(text)
    assert "first" in found.one("table", id="models").text
    assert "a < b." in found.one("section", id="comparison").text
    assert 'id="comparison"' not in write()


def test_models_without_a_title_keep_their_name(write):
    assert Page(write({"model": "mine"})).one("h1").text == "mine on drifting-clusters"


# -- names that could do harm ---------------------------------------------------------------


def test_names_are_escaped(write):
    ax = plots.draw_trends({EVIL: ([0, 1], [0, 1])})
    text = write(
        {
            "dataset": EVIL,
            "model": EVIL,
            "version": EVIL,
            EVIL: EVIL,
            "findings": [EVIL],
            "parameters": {EVIL: EVIL},
            "models": {EVIL: LINE | {"name": EVIL}},
        },
        rules=EVIL,
        figures={EVIL: ax.figure, "own": ax.figure},
        captions={"own": EVIL},
    )
    found = Page(text)
    assert not found.all("script")
    assert len(found.all("img")) == 2
    assert not [one for one in found.found if one.get("onerror")]
    assert found.one("h1").text == f"{EVIL} on {EVIL}"
    assert found.one("pre").text == EVIL
    assert found.all("img")[1].get("alt") == EVIL
    assert table_of(text, "numbers")["dataset"] == [EVIL]
    assert all("<script" not in drawing for drawing in images(text))


def test_names_that_utf8_cannot_hold_are_written(write):
    assert "bad\\udcffname" in Page(write({"dataset": "bad\udcffname"})).one("h1").text


# -- files ----------------------------------------------------------------------------------


def test_a_summary_that_lacks_something_is_refused(plain, tmp_path):
    ds, classifier, result = plain
    summary = summarise(ds, classifier, result)
    del summary["pa"], summary["version"]
    with pytest.raises(ValueError, match=r"^summary lacks pa, version: a report needs them\.$"):
        write_report(tmp_path / "r.html", summary=summary, result=result, classifier=classifier)
    assert not list(tmp_path.iterdir())


def test_a_run_without_rows_is_refused(plain, tmp_path):
    ds, classifier, result = plain
    summary = summarise(ds, classifier, result)
    empty = tiny_result(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"^the run has no rows: there is nothing to report\.$"):
        write_report(tmp_path / "r.html", summary=summary, result=empty, classifier=classifier)
    assert not list(tmp_path.iterdir())


def test_the_file_is_replaced_at_the_end(write, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")

    def fail(part, path):
        assert Path(part).read_text().endswith("</html>\n")
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"
    monkeypatch.undo()
    assert write().startswith("<!DOCTYPE")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


# -- figures --------------------------------------------------------------------------------


def test_figures_are_left_as_they_were():
    figure = plots.draw_rule_counts([1, 2]).figure
    before = figure.get_size_inches().tolist()
    assert pictures.embed_figure(figure, "two").count("data:image") == 2
    assert figure.get_size_inches().tolist() == before
    long = plots.new_figure(24, 4)
    long.subplots().set_yticks([0], [25 * "long"])
    assert pictures.embed_figure(long, "no room on a phone").count("data:image") == 1
    assert long.get_size_inches().tolist() == [24, 4]
    names = [f"a feature with a long name {i}" for i in range(9)]
    table = plots.draw_importance(np.ones((9, 6)), names, ax=plots.new_axes(7.0, 6.8)).figure
    widths = re.findall(r' width="(\d+)"', pictures.embed_figure(table, "cells beside names"))
    assert [int(width) for width in widths] == [round(96 * 5.2), 672]  # not all of it is names
    tall = plots.draw_ellipses([[0, 0]], [np.eye(2)]).figure
    assert pictures.embed_figure(tall, "one").count("data:image") == 1


def test_long_streams_stay_small(tmp_path, rng):
    n = 30_000
    Y = (rng.random((n, 2)) < 0.4).astype(float)
    events = tuple((row, kind, row) for row in range(0, n, 2) for kind in ("birth", "merge"))
    result = tiny_result(
        Y, rng.random((n, 2)), rules=rng.integers(1, 9, n), queried=np.ones(n, bool), events=events
    )
    classifier = EFCMLClassifier()
    figures = draw_run(result, classifier)
    for figure in figures.values():
        lines = [line for ax in figure.axes for line in ax.lines]
        assert all(len(line.get_xdata()) <= MOST_POINTS for line in lines)
    curve = figures["rules"].axes[0].lines[0]
    assert curve.get_xdata()[[0, -1]].tolist() == [0, n - 1]
    assert curve.get_ydata()[[0, -1]].tolist() == result.rules[[0, -1]].tolist()
    assert all(ticks.get_rasterized() for ticks in figures["rules"].axes[0].collections)
    ds = SimpleNamespace(name="long", n_initial=5)
    summary = summarise(ds, classifier, result)
    path = write_report(
        tmp_path / "r.html", summary=summary, result=result, classifier=classifier, figures=figures
    )
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize(
    ("n", "drawn"), [(MOST_POINTS, MOST_POINTS), (MOST_POINTS + 1, MOST_POINTS)]
)
def test_lines_are_thinned_from_a_length_on(n, drawn):
    ax = plots.new_axes()
    ax.plot(np.arange(n), np.arange(n))
    keep_small(ax.figure)
    x, y = ax.lines[0].get_data()
    assert len(x) == drawn
    assert (x[0], x[-1], y[-1]) == (0, n - 1, n - 1)


def test_short_streams_stay_vectors(plain):
    _, classifier, result = plain
    figures = draw_run(result, classifier)
    (curve, *_) = figures["rules"].axes[0].lines
    assert len(curve.get_xdata()) == len(result.rules) < MOST_TICKS
    assert not any(ticks.get_rasterized() for ticks in figures["rules"].axes[0].collections)


def test_trends_begin_when_there_is_a_mean(plain):
    _, classifier, result = plain
    accuracy, precision = draw_run(result, classifier, first_row=40)["trends"].axes
    assert accuracy.get_ylabel() == "partial accuracy"
    assert precision.get_ylabel() == "average precision"
    assert accuracy.get_xlabel() == ""
    assert [line.get_label() for line in accuracy.lines] == [
        "so far",
        "last 15 rows",
        "constant answer",
    ]
    so_far, recent, constant = (line.get_xydata() for line in accuracy.lines)
    assert (so_far[0, 0], recent[0, 0], constant[0, 0]) == (43, 54, 43)
    assert so_far[-1].tolist() == [99, result.pa]
    lately = 1 - np.abs(result.Y[-15:] - (result.scores[-15:] >= 0.5)).mean()
    assert recent[-1, 1] == pytest.approx(lately)
    assert constant[-1, 1] == pytest.approx(words.constant_answer(result)["pa"])


def test_drifts_are_marked_where_the_rows_are(plain):
    ds, classifier, result = plain
    band = (ds.marks["gradual_start"], ds.marks["gradual_end"])
    abrupt = ds.marks["abrupt"]
    marks = {"gradual\ndrift": band, "abrupt\ndrift": abrupt}
    inside = {name: rows for name, rows in marks.items() if np.min(rows) >= 40}
    assert inside
    assert find_marks(ds, 40, 60) == inside
    assert find_marks(ds, 0, 60)["abrupt\ndrift"] == abrupt - 40
    assert find_marks(ds, 40, abrupt - 40).get("abrupt\ndrift") is None
    assert find_marks(None, 0, 60) == {}
    figure = draw_run(result, classifier, dataset=ds, first_row=40)["rules"]
    assert set(inside) <= {text.get_text() for text in figure.axes[0].texts}


def test_the_cap_is_that_of_one_rule_base():
    result = tiny_result([[0, 1]] * 4, np.zeros((4, 2)), rules=np.full(4, 6))
    one = draw_run(result, EFCMLClassifier(max_rules=6))["rules"].axes[0]
    many = draw_run(result, OneVsRestEFC(max_rules=6))["rules"].axes[0]
    assert [text.get_text() for text in one.texts] == ["cap: 6 rules"]
    assert not many.texts


def test_models_without_rules_have_no_figure_of_them():
    result = tiny_result([[0, 1]], [[0.0, 0.1]], rules=np.zeros(1, int))
    assert list(draw_run(result, object())) == ["trends"]


def test_questions_are_counted_from_the_initial_part():
    active = ActiveLearner(budget=0.5)
    _, classifier, result = run(active)
    labels = [
        draw_run(result, classifier, active, first_row=row)["spending"].axes[0].get_xlabel()
        for row in (0, 40)
    ]
    assert labels == ["row of the stream", "row after the initial part"]


def test_what_was_not_set_is_left_out(write):
    numbers = table_of(write({"budget": None, "unit": None, "pa": None, "seed": 0}), "numbers")
    assert not {"budget", "unit"} & numbers.keys()
    assert {"pa", "seed"} <= numbers.keys()


def test_the_axis_says_where_rows_are_counted_from():
    _, classifier, result = run(None)
    for first_row, words_of_axis in ((0, "row of the stream"), (40, "row of the data set")):
        figures = draw_run(result, classifier, first_row=first_row)
        for name in ("trends", "rules"):
            ax = figures[name].axes[-1]
            assert ax.get_xlabel() == words_of_axis
            assert ax.lines[0].get_xdata()[0] >= first_row
