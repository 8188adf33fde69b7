"""Reports: what the page says is what the run was, and nothing from outside gets loose."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.pages import Page
from numpy.testing import assert_allclose

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
from efcml.report import draw_run, pictures, write_report
from efcml.report import sentences as words
from efcml.report.figures import MOST_POINTS, constant_scores, find_marks, keep_small

EVIL = """<script>alert("1")</script>&amp;'"><img src=x onerror=alert(2)>"""
# What the table of compared models shows, in the order of its columns.
LINE = {"pa": 0.5, "ap": 0.25, "rules": 3, "births": 1, "splits": 2, "merges": 0}
LINE |= {"ms_per_sample": 0.125}
FIGURES = ["trends", "rules", "memberships", "cards", "importance", "reliability", "spending"]


def table_of(text, name):
    """Return the key and exact values of every line of a table."""
    body = re.search(rf'<table id="{name}">.*?</table>', text, re.S)[0]
    parsed = {}
    for key, cells in re.findall(r'<tr data-key="(.*?)">(.*?)</tr>', body):
        cells = Page(f"<tr>{cells}</tr>").all("td")
        parsed[key] = [json.loads(cell.get("data-value") or "null") for cell in cells]
    return parsed


def run(active=None, **parameters):
    ds = datasets.load("drifting-clusters", n=100, n_initial=40)
    classifier = EFCMLClassifier(prior=1.0, **parameters).fit(*ds.initial)
    return ds, classifier, prequential(classifier, *ds.stream, active=active)


def summarise(ds, classifier, result, **more):
    facts = {"dataset": ds.name, "model": "efcml", "n_initial": 40, "n_stream": len(result.Y)}
    facts |= {"pa": result.pa, "ap": result.ap, "rules": int(result.rules[-1])}
    facts |= {"queried_share": float(result.queried.mean()), "parameters": classifier.get_params()}
    speed = {"ms_per_sample": 1e3 * result.seconds_per_sample}
    return facts | speed | {"version": efcml.__version__, **more}


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
    n, parts = len(Y), (np.array(Y, float), np.array(scores, float))
    return replace(PrequentialResult(*parts, np.ones(n, int), np.ones(n, bool), (), 0.1), **changes)


def test_a_whole_page_of_an_active_run_is_sound(tmp_path):
    active = ActiveLearner(budget=0.25)
    ds, classifier, result = run(active)
    path = tmp_path / "r.html"
    parts = {"result": result, "classifier": classifier, "active": active, "rules": "IF x THEN y"}
    write_report(path, summary=summarise(ds, classifier, result), **parts)
    text = path.read_text(encoding="utf-8")
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.one("h1").text == found.one("title").text == "EFC-ML on drifting-clusters"
    sections = ["summary", "figures", "by-label", "rules", "all", "settings", "method"]
    assert [part.get("id") for part in found.all("section")] == sections
    ids = [element.get("id") for element in found.found if element.get("id")]
    assert len(set(ids)) == len(ids)
    assert {element.get("aria-labelledby") for element in found.found} <= {None, *ids}
    assert len(found.all("caption")) == len(found.all("table")) == 4
    policy = found.one("meta", **{"http-equiv": "Content-Security-Policy"}).get("content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "://" not in text
    for name in ("src", "srcset", "href"):
        assert all((one.get(name) or "data:").startswith("data:") for one in found.found)
    assert [figure.get("id") for figure in found.all("figure")] == [f"figure-{n}" for n in FIGURES]
    captions = [words.CAPTIONS[name] for name in FIGURES]
    assert [caption.text for caption in found.all("figcaption")] == captions
    told = dict(zip(FIGURES, (image.get("alt") for image in found.all("img")), strict=True))
    assert f"accuracy is {result.pa:.4f} and average precision {result.ap:.4f}" in told["trends"]
    assert told["rules"] == (
        f"Step chart of the number of rules: {result.rules[0]} after the first row, at most "
        f"{result.rules.max()}, {result.rules[-1]} at the end."
    )
    error = measures.calibration_error(result.Y, result.probabilities)
    assert f"said: {error:.3f} apart" in told["reliability"]
    asked = f"{result.queried.mean():.1%}"
    assert told["spending"].endswith(f"so far: {asked} at the end.")
    assert f"{asked} of the samples were asked for and learned; the budget is 25.0%" in text
    sizes = [one.get("width") for one in (found.all("source")[0], found.all("img")[0])]
    assert sizes == ["384", "720"]  # for phones and for screens
    drawings = re.findall(r'"data:image/svg\+xml;base64,([^"]*)"', text)
    assert all(b"<svg" in base64.b64decode(code) for code in drawings)
    versions = found.one("table", id="versions").text
    assert all(name in versions for name in ("numpy", "numba", "Python", np.__version__))


def test_numbers_are_those_of_the_summary(write, plain):
    more = {"births": 3, "interrupted": False, "seed": np.int64(7), "extra": "word", "files": ["a"]}
    text = write(more | {"budget": None, "pa": None})
    ds, classifier, result = plain
    summary = summarise(ds, classifier, result, **more) | {"pa": None}
    numbers = table_of(text, "numbers")
    shown = {key for key, value in summary.items() if not isinstance(value, dict | list)}
    assert {key: values[0] for key, values in numbers.items()} == {k: summary[k] for k in shown}
    order = list(numbers)
    assert (order[:3], order[-1]) == (["dataset", "model", "n_initial"], "extra")
    assert order.index("births") == order.index("rules") + 1
    cards, constant = Page(write()).one("dl").text, words.constant_answer(result)
    for name in ("pa", "ap"):
        assert f"{getattr(result, name):.4f}constant: {constant[name]:.4f}" in cards
    assert "labels given100.0%" in cards
    cells = dict(re.findall(r'data-key="(\w+)">.*?<td[^>]*>(.*?)</td>', text))
    assert [cells[key] for key in ("pa", "interrupted", "model")] == ["none", "no", "EFC-ML"]
    shows = {("pa", np.nan): "none", ("x", np.True_): "yes", ("x", 12345678): "12345678"}
    shows |= {("ms_per_sample", 12.3456): "12.3", ("x", 1e-4): "0.0001"}
    for pair, said in shows.items():
        assert words.show(*pair) == said
    usual = EFCMLClassifier().get_params()
    text = write({"parameters": usual | {"clip": 3.0, "wanted": "x", "vigilance": 0.25}})
    parameters = table_of(text, "parameters")  # those that were changed come first
    rest = [key for key in usual if key not in ("clip", "vigilance")]
    assert list(parameters) == ["clip", "vigilance", "wanted", *rest]
    assert (parameters["clip"][0], parameters["alpha"][0]) == (3.0, 0.0)
    assert "<td>6</td>" in re.search(r'data-key="clip">.*', text)[0]
    assert f"3 of {len(parameters)} differ from their defaults; they come first." in text
    assert "default values" in write({"parameters": usual})


def test_labels_have_their_own_scores(write, plain):
    Y = [[1, 0, 0, np.nan], [1, 0, 0, np.nan], [1, 1, 0, np.nan], [np.nan, 1, 0, np.nan]]
    scores = [[0.9, 0.9, 0.1, 0.9], [0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.2, 0.9], [0.9, 0.1, 0.4, 0]]
    text = write(result=tiny_result(Y, scores))
    labels = table_of(text, "labels")  # frequency, PA, PA of the more frequent answer, F1
    assert labels == {
        "label0": [1.0, 2 / 3, 1.0, 0.8],
        "label1": [0.5, 0.5, 0.5, 0.5],
        "label2": [0.0, 1.0, 1.0, None],
        "label3": [None, None, None, None],
    }
    flipped = table_of(write(result=tiny_result(np.fliplr(Y), np.fliplr(scores))), "labels")
    assert list(flipped) == ["label3", "label2", "label0", "label1"]  # the most frequent first
    assert "1 of 4 are left out" not in text and "5 of 16 labels are unknown" in text
    ds, classifier, result = plain
    assert sorted(table_of(write(dataset=ds), "labels")) == sorted(ds.label_names)
    other = replace(result, decisions=~result.decisions)  # numbers go by what was decided
    own = table_of(write({"parameters": {"decision": "f1"}}, result=other), "labels").values()
    assert np.mean([pa for _, pa, *_ in own]) == pytest.approx(1.0 - result.pa)
    assert (
        'Decisions are by decision="f1"'
        in words.tell_measures({"parameters": {"decision": "f1"}}, other, LINE)[0]
    )


def test_how_the_run_went_is_said(write, plain):
    text = write({"interrupted": False})
    assert "predicted first and learned" in text
    assert "are unknown" not in text and 'class="note"' not in text
    silent = replace(plain[2], queried=np.zeros(60, bool))
    assert "nothing was learned" in write(result=silent)
    text = write({"interrupted": True})
    assert "40 rows were learned as a batch. Then 60 rows came one by one" in text
    note = Page(text).one("p", **{"class": "note"}).text
    assert note == "This run was interrupted after 60 rows. All numbers are about these rows."
    Y = [[1, 0], [0, 0], [np.nan, np.nan], [0, 1], [1, np.nan]]
    text = write(result=tiny_result(Y, np.linspace(0, 1, 10).reshape(5, 2)))
    assert "2 of 5 are left out" in text and "3 of 10 labels are unknown" in text
    result = tiny_result([[1, 0], [1, 0], [0, 1]], np.zeros((3, 2)))
    assert_allclose(constant_scores(result.Y), 3 * [[2 / 3, 1 / 3]])
    assert words.constant_answer(result) == pytest.approx({"pa": 4 / 6, "ap": 2.5 / 3})


def test_rules_and_compared_models_are_tables(write, plain):
    rules = plain[1].rules_
    section = Page(write(rules=rules)).one("section", id="rules")
    assert all(rule.consequent in section.text for rule in rules)
    text = write(rules={"a < b": rules[:2], "c": rules[:1]})
    assert [heading.text for heading in Page(text).all("h3")] == ["a < b", "c"]
    assert text.count(rules[:2].to_html()) == text.count(rules[:1].to_html()) == 1
    more = {"models": {"a": LINE | {"name": "first"}, "b": LINE}, "findings": ["a < b."]}
    text = write(more)
    assert table_of(text, "models") == {"a": [*LINE.values()], "b": [*LINE.values()]}
    assert "first" in Page(text).one("table", id="models").text
    assert "a < b." in Page(text).one("section", id="comparison").text
    assert not {"comparison", "rules"} & {one.get("id") for one in Page(write()).all("section")}


def test_names_are_escaped(write):
    figure = plots.draw_trends({EVIL: ([0, 1], [0, 1])}).figure
    text = write(
        {"dataset": EVIL, "model": EVIL, "version": EVIL, EVIL: EVIL, "findings": [EVIL]}
        | {"parameters": {EVIL: EVIL}, "models": {EVIL: LINE | {"name": EVIL}}},
        rules=EVIL,
        figures={EVIL: figure, "my_own": figure},
        captions={EVIL: EVIL},
    )
    found = Page(text)
    assert not found.all("script")
    assert [image.get("alt") for image in found.all("img")] == [EVIL, "my own"]
    assert [caption.text for caption in found.all("figcaption")] == [EVIL, "my own"]
    assert not [one for one in found.found if one.get("onerror")]
    assert found.one("h1").text == f"{EVIL} on {EVIL}"
    assert found.one("pre").text == EVIL
    assert table_of(text, "numbers")["dataset"] == [EVIL]
    assert "bad\\udcffname" in Page(write({"dataset": "bad\udcffname"})).one("h1").text


def test_what_cannot_be_reported_is_refused(plain, tmp_path):
    ds, classifier, result = plain
    summary = summarise(ds, classifier, result)
    less = {key: value for key, value in summary.items() if key not in ("pa", "version")}
    nothing = tiny_result(np.zeros((0, 2)), np.zeros((0, 2)))
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match=r"^summary lacks pa, version: a report needs them\.$"):
        write_report(path, summary=less, result=result, classifier=classifier)
    with pytest.raises(ValueError, match=r"^the run has no rows: there is nothing to report\.$"):
        write_report(path, summary=summary, result=nothing, classifier=classifier)
    assert not list(tmp_path.iterdir())


def test_trends_and_drifts_are_those_of_the_run(plain):
    ds, classifier, result = plain
    figures = draw_run(result, classifier, dataset=ds, first_row=40)
    accuracy, precision = figures["trends"].axes
    assert (accuracy.get_ylabel(), precision.get_ylabel()) == (
        "partial accuracy",
        "average precision",
    )
    names = [line.get_label() for line in accuracy.lines if len(line.get_xdata()) > 2]
    assert names == ["so far", "last 15 rows", "constant answer"]
    so_far, recent, constant = (line.get_xydata() for line in accuracy.lines[:3])
    assert (so_far[0, 0], recent[0, 0], constant[0, 0]) == (43, 54, 43)
    assert so_far[-1].tolist() == [99, result.pa]
    lately = 1 - np.abs(result.Y[-15:] - (result.scores[-15:] >= 0.5)).mean()
    assert recent[-1, 1] == pytest.approx(lately)
    assert constant[-1, 1] == pytest.approx(words.constant_answer(result)["pa"])
    assert precision.lines[0].get_ydata()[-1] == pytest.approx(result.ap)
    assert precision.get_xlabel() == figures["rules"].axes[0].get_xlabel() == "row of the data set"
    band, abrupt = (ds.marks["gradual_start"], ds.marks["gradual_end"]), ds.marks["abrupt"]
    drifts = {"gradual\ndrift": band, "abrupt\ndrift": abrupt}
    inside = {name: rows for name, rows in drifts.items() if np.min(rows) >= 40}
    assert find_marks(ds, 40, 60) == inside != {}
    assert set(inside) <= {text.get_text() for text in figures["rules"].axes[0].texts}
    assert find_marks(ds, 0, 60)["abrupt\ndrift"] == abrupt - 40
    assert find_marks(ds, 40, abrupt - 40).get("abrupt\ndrift") is None
    assert find_marks(None, 0, 60) == {}


def test_a_run_has_the_figures_that_say_something(plain):
    ds, classifier, result = plain
    X, rules = ds.stream[0], classifier.rules_
    silent = replace(result, probabilities=None)  # those that scores imply
    figures = draw_run(silent, classifier, first_row=40, X=X)
    assert [*figures] == ["trends", "rules", "memberships", "cards", "importance", "reliability"]
    assert len(figures["cards"].axes) == min(len(rules), 4)
    above, below = figures["rules"].axes
    assert above.lines[0].get_ydata().tolist() == result.rules.tolist()
    names = [f"rule {rule.uid}" for rule in rules]
    assert [tick.get_text() for tick in below.get_yticklabels()] == names[::-1]
    (mesh,) = (part for part in below.collections if hasattr(part, "get_coordinates"))
    shares = np.zeros((len(names), 60))
    shares[classifier.activations(X).argmax(axis=1), np.arange(60)] = 1.0
    assert_allclose(np.asarray(mesh.get_array()).reshape(len(names), 60)[::-1], shares)
    none = tiny_result([[0, 1]], [[0.0, 0.1]], rules=np.zeros(1, int))
    assert list(draw_run(none, object())) == ["trends"]
    six = tiny_result([[0, 1]] * 4, np.zeros((4, 2)), rules=np.full(4, 6))
    for model, cap in ((EFCMLClassifier(max_rules=6), ["cap: 6 rules"]), (OneVsRestEFC(), [])):
        assert [text.get_text() for text in draw_run(six, model)["rules"].axes[0].texts] == cap


def test_pictures_stay_small():
    for n, dots in ((MOST_POINTS, 200), (MOST_POINTS + 1, 201)):
        ax = plots.draw_rule_counts(1 + np.arange(n), [(i, "birth") for i in range(dots)])
        keep_small(ax.figure)
        x, y = ax.lines[0].get_data()
        assert (len(x), x[0], x[-1], y[-1]) == (MOST_POINTS, 0, n - 1, n)
        assert bool(ax.collections[0].get_rasterized()) == (dots > 200)
    assert pictures.embed_figure(ax.figure, "two").count("data:image") == 2
    assert ax.figure.get_size_inches().tolist() == [7.5, 3.2]
    tall = plots.draw_ellipses([[0, 0]], [np.eye(2)]).figure
    assert pictures.embed_figure(tall, "one").count("data:image") == 1
