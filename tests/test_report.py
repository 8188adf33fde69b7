"""Reports: what the page says is what the run was, and nothing from outside gets loose."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.pages import Page
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
from efcml.report import draw_run, write_report
from efcml.report.figures import constant_scores
from efcml.report.page import shown
from efcml.support.statistics import squash

EVIL = """<script>alert("1")</script>&amp;'"><img src=x onerror=alert(2)>"""
FIGURES = ["trends", "rules", "labels", "importance", "reliability", "spending"]


def table_of(text, name):
    """Return the words of every line of a table by its name."""
    body = re.search(rf'<table id="{name}">.*?</table>', text, re.S)[0]
    lines = [Page(f"<tr>{cells}</tr>") for cells in re.findall(r"<tr>(.*?)</tr>", body)[1:]]
    return {line.one("th").text: [cell.text for cell in line.all("td")] for line in lines}


def run(active=None, **parameters):
    ds = datasets.load("drifting-clusters", n=100, n_initial=40)
    classifier = EFCMLClassifier(prior=1.0, **parameters).fit(*ds.initial)
    return ds, classifier, prequential(classifier, *ds.stream, active=active)


@pytest.fixture(scope="module")
def plain():
    return run()


@pytest.fixture
def write(plain, tmp_path):
    """Write a report of the plain run, with changes; return its text."""

    def call(more=None, **changes):
        options = {"result": plain[2], "classifier": plain[1], "figures": {}} | changes
        path = write_report(tmp_path / "report.html", summary=more, **options)
        return path.read_text(encoding="utf-8")

    return call


def tiny_result(Y, scores, **changes):
    n, scores = len(Y), np.array(scores, float)
    parts = np.array(Y, float), scores, np.ones(n, int), np.ones(n, bool), (), 0.1
    return replace(PrequentialResult(*parts, scores >= 0.5, squash(scores)), **changes)


def test_a_whole_page_of_an_active_run_is_sound(tmp_path):
    active = ActiveLearner(budget=0.25)
    ds, classifier, result = run(active)
    path = tmp_path / "r.html"
    write_report(path, result=result, classifier=classifier, active=active, dataset=ds)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert page.one("h1").text == page.one("title").text == "EFC-ML on drifting-clusters"
    sections = ["run", "summary", "figures", "by-label", "rules", "all", "settings", "method"]
    assert [part.get("id") for part in page.all("section")] == sections
    ids = [element.get("id") for element in page.found if element.get("id")]
    assert len(set(ids)) == len(ids)
    assert {element.get("aria-labelledby") for element in page.found} <= {None, *ids}
    assert len(page.all("caption")) == len(page.all("table")) == 4
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).get("content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "://" not in text
    for name in ("src", "srcset", "href"):
        assert all((one.get(name) or "data:").startswith("data:") for one in page.found)
    assert [figure.get("id") for figure in page.all("figure")] == [f"figure-{n}" for n in FIGURES]
    assert all(len(caption.text) > 50 for caption in page.all("figcaption"))
    told = dict(zip(FIGURES, (image.get("alt") for image in page.all("img")), strict=True))
    assert f"accuracy is {result.pa:.4f} and average precision {result.ap:.4f}" in told["trends"]
    assert told["rules"] == (
        f"Step chart of the number of rules: {result.rules[0]} after the first row, at most "
        f"{result.rules.max()}, {result.rules[-1]} at the end."
    )
    asked = f"{result.queried.mean():.1%}"
    assert told["spending"].endswith(f"so far: {asked} at the end.")
    assert f"{asked} of the samples were asked for and learned; the budget is 25.0%" in text
    drawings = re.findall(r'"data:image/svg\+xml;base64,([^"]*)"', text)
    assert all(b"<svg" in base64.b64decode(code) for code in drawings)
    versions = page.one("table", id="versions").text
    assert all(name in versions for name in ("numpy", "numba", "Python", np.__version__))


def test_a_result_and_a_classifier_are_enough(plain, tmp_path):
    _, classifier, result = plain
    path = write_report(tmp_path / "r.html", result=result, classifier=classifier)
    text = path.read_text(encoding="utf-8")
    page, numbers = Page(text), table_of(text, "numbers")
    assert page.one("h1").text == "EFC-ML"
    assert "60 rows came one by one: each was predicted first and learned" in text
    assert (numbers["pa"], numbers["ap"]) == ([f"{result.pa:.4f}"], [f"{result.ap:.4f}"])
    assert numbers["rules"] == [str(classifier.n_rules_)]
    assert numbers["ms per sample"] == [f"{1e3 * result.seconds_per_sample:.3g}"]
    assert [part.get("id") for part in page.all("figure")] == [f"figure-{n}" for n in FIGURES[:-1]]
    rules = page.one("section", id="rules").text
    assert all(rule.consequent in rules for rule in classifier.rules_)
    bare = tmp_path / "none.html"
    nothing = tiny_result([[0, 1]], [[0.0, 0.1]], rules=np.zeros(1, int))
    assert "<h1>object</h1>" in write_report(bare, result=nothing, classifier=object()).read_text()


def test_a_pipeline_has_a_report(tmp_path):
    ds = datasets.load("drifting-clusters", n=100, n_initial=40)
    pipeline = make_pipeline(StandardScaler(), EFCMLClassifier(prior=1.0)).fit(*ds.initial)
    result = prequential(pipeline, *ds.stream)
    options = {"result": result, "classifier": pipeline, "dataset": ds, "X": ds.stream[0]}
    text = write_report(tmp_path / "r.html", **options).read_text(encoding="utf-8")
    page = Page(text)
    assert [part.get("id") for part in page.all("figure")] == [f"figure-{n}" for n in FIGURES[:-1]]
    assert "efcmlclassifier__prior" in table_of(text, "parameters")
    model = pipeline[-1]
    assert all(rule.consequent in page.text for rule in model.rules_)
    strips = draw_run(result, pipeline, X=ds.stream[0])["rules"].axes[1]
    assert len(strips.get_yticks()) == model.n_rules_


def test_numbers_are_those_of_the_summary(write, plain):
    more = {"births": 3, "interrupted": False, "seed": np.int64(7), "extra": "word", "files": ["a"]}
    more |= {"log_loss": np.nan, "unknown": np.inf, "budget": None, "pa": None}
    text = write(more)
    ds, classifier, result = plain
    numbers = table_of(text, "numbers")
    assert (numbers["seed"], numbers["extra"], numbers["births"]) == (["7"], ["word"], ["3"])
    assert numbers["log loss"] == numbers["pa"] == ["none"] and numbers["unknown"] == ["inf"]
    assert numbers["interrupted"] == ["no"] and numbers["model"] == ["EFC-ML"]
    assert not {"budget", "files"} & numbers.keys()
    order = list(numbers)
    assert (order[:2], order[-2:]) == (["model", "n stream"], ["extra", "unknown"])
    cards = Page(write()).one("dl").text
    for name in ("pa", "ap"):
        constant = measures.MEASURES[name](result.Y, constant_scores(result.Y))
        assert f"{getattr(result, name):.4f}constant: {constant:.4f}" in cards
    assert "labels given100.0%" in cards
    shows = {("pa", np.nan): "none", ("x", np.True_): "yes", ("x", 12345678): "12345678"}
    shows |= {("ms_per_sample", 12.3456): "12.3", ("x", 1e-4): "0.0001", ("x", 1 / 3): "0.333333"}
    shows |= {("pa", 0.80449): "0.8045", ("queried_share", 0.1): "10.0%", ("x", None): "none"}
    for pair, words in shows.items():
        assert shown(*pair[::-1]) == words
    usual = EFCMLClassifier().get_params()
    text = write({"parameters": usual | {"clip": 3.0, "wanted": "x", "prior": np.nan}})
    parameters = table_of(text, "parameters")  # those that were changed come first
    rest = [key for key in usual if key not in ("clip", "prior")]
    assert {*list(parameters)[:3]} == {"clip", "prior", "wanted"} and [*parameters][3:] == rest
    assert (parameters["clip"], parameters["alpha"][0]) == (["3", "6"], "0")
    assert f"3 of {len(parameters)} differ from their defaults; they come first." in text
    assert "default values" in write({"parameters": usual})


def test_labels_have_their_own_scores(write, plain):
    Y = [[1, 0, 0, np.nan], [1, 0, 0, np.nan], [1, 1, 0, np.nan], [np.nan, 1, 0, np.nan]]
    scores = [[0.9, 0.9, 0.1, 0.9], [0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.2, 0.9], [0.9, 0.1, 0.4, 0]]
    text = write(result=tiny_result(Y, scores))
    labels = table_of(text, "labels")  # frequency, PA, PA of the more frequent answer, F1
    assert labels == {
        "label0": ["100.0%", "0.6667", "1.0000", "0.8000"],
        "label1": ["50.0%", "0.5000", "0.5000", "0.5000"],
        "label2": ["0.0%", "1.0000", "1.0000", "none"],
        "label3": ["none"] * 4,
    }
    flipped = table_of(write(result=tiny_result(np.fliplr(Y), np.fliplr(scores))), "labels")
    assert list(flipped) == ["label3", "label2", "label0", "label1"]  # the most frequent first
    assert "1 of 4 are left out" not in text and "5 of 16 labels are unknown" in text
    ds, classifier, result = plain
    assert sorted(table_of(write(dataset=ds), "labels")) == sorted(ds.label_names)
    other = replace(result, decisions=~result.decisions)  # numbers go by what was decided
    text = write({"parameters": {"decision": "f1"}}, result=other)
    own = table_of(text, "labels").values()
    assert np.mean([float(pa) for _, pa, *_ in own]) == pytest.approx(1.0 - result.pa, abs=1e-4)
    assert 'Decisions are by decision="f1"' in Page(text).text


def test_how_the_run_went_is_said(write, plain):
    text = write({"n_initial": 40})
    assert "40 rows were learned as a batch. Then 60 rows came one by one: each was pre" in text
    assert "are unknown" not in text and 'class="note"' not in text
    silent = replace(plain[2], queried=np.zeros(60, bool))
    assert "nothing was learned" in write(result=silent)
    note = Page(write({"interrupted": True})).one("p", **{"class": "note"}).text
    assert note == "This run was interrupted after 60 rows. All numbers are about these rows."
    Y = [[1, 0], [0, 0], [np.nan, np.nan], [0, 1], [1, np.nan]]
    text = write(result=tiny_result(Y, np.linspace(0, 1, 10).reshape(5, 2)))
    assert "2 of 5 are left out" in text and "3 of 10 labels are unknown" in text
    result = tiny_result([[1, 0], [1, 0], [0, 1]], np.zeros((3, 2)))
    assert_allclose(constant_scores(result.Y), 3 * [[2 / 3, 1 / 3]])
    assert "Its PA is 0.6667, its AP 0.8333" in write(result=result)


def test_columns_are_shown(write, tmp_path):
    (tmp_path / "t.csv").write_text("size,kind,sold\n" + "1,a,0\n2.5,b,1\n" * 30)
    table = datasets.from_csv(tmp_path / "t.csv", ["sold"], n_initial=30)
    page = Page(write(dataset=table, result=tiny_result([[0], [1]], [[0.1], [0.9]])))
    columns = page.one("table", id="columns-table").text
    assert all(column.said in columns for column in table.table.columns)
    assert page.text.count(table.table.columns[1].said) == 1


def test_names_are_escaped(write, plain):
    figure = plots.draw_trends({EVIL: ([0, 1], [0, 1])}).figure
    plain[1].name_columns(label_names=[EVIL] + list("bcde"))
    text = write(
        {"dataset": EVIL, "model": EVIL, "version": EVIL, EVIL: EVIL, "parameters": {EVIL: EVIL}},
        figures={EVIL: figure, "my_own": figure},
    )
    page = Page(text)
    assert not page.all("script")
    assert [image.get("alt") for image in page.all("img")] == [EVIL, "my own"]
    assert [caption.text for caption in page.all("figcaption")] == [EVIL, "my own"]
    assert not [one for one in page.found if one.get("onerror")]
    assert page.one("h1").text == f"{EVIL} on {EVIL}"
    assert EVIL in page.one("section", id="rules").text
    assert table_of(text, "numbers")["dataset"] == [EVIL]
    assert "bad\\udcffname" in Page(write({"dataset": "bad\udcffname"})).one("h1").text


def test_a_run_without_rows_is_refused(plain, tmp_path):
    nothing = tiny_result(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"^the run has no rows: there is nothing to report\.$"):
        write_report(tmp_path / "r.html", result=nothing, classifier=plain[1])
    assert not list(tmp_path.iterdir())


def test_trends_and_drifts_are_those_of_the_run(plain):
    ds, classifier, result = plain
    figures = draw_run(result, classifier, dataset=ds)
    accuracy, precision = figures["trends"].axes
    titles = ["partial accuracy", "average precision"]
    assert [accuracy.get_ylabel(), precision.get_ylabel()] == titles
    names = [line.get_label() for line in accuracy.lines if len(line.get_xdata()) > 2]
    assert names == ["so far", "last 15 rows", "constant answer"]
    so_far, recent, constant = (line.get_xydata() for line in accuracy.lines[:3])
    assert (so_far[0, 0], recent[0, 0], constant[0, 0]) == (43, 54, 43)
    assert so_far[-1].tolist() == [99, result.pa]
    lately = 1 - np.abs(result.Y[-15:] - (result.scores[-15:] >= 0.5)).mean()
    assert recent[-1, 1] == pytest.approx(lately)
    usual = measures.MEASURES["pa"](result.Y, constant_scores(result.Y))
    assert constant[-1, 1] == pytest.approx(usual)
    assert precision.lines[0].get_ydata()[-1] == pytest.approx(result.ap)
    drifts = plots.name_drifts(ds.marks)
    inside = {name for name, rows in drifts.items() if 40 <= np.mean(rows) < 100}
    assert inside and inside == {text.get_text() for text in figures["rules"].axes[0].texts}


def test_a_run_has_the_figures_that_say_something(plain):
    ds, classifier, result = plain
    X, rules = ds.stream[0], classifier.rules_
    silent = replace(result, probabilities=squash(result.scores))
    figures = draw_run(silent, classifier, dataset=ds, X=X)
    assert [*figures] == ["trends", "rules", "labels", "importance", "reliability"]
    shares = figures["labels"].axes[0].images[0].get_array()
    told = [rule.label_shares for rule in rules] + [rules.background.label_means]
    assert_allclose(shares, told)
    above, below = figures["rules"].axes
    assert above.lines[0].get_ydata()[-1] == result.rules[-1]
    names = [f"rule {rule.uid}" for rule in rules]
    assert [tick.get_text() for tick in below.get_yticklabels()] == names
    shares = np.zeros((len(names), 60))
    shares[classifier.activations(X).argmax(axis=1), np.arange(60)] = 1.0
    assert_allclose(below.images[0].get_array(), shares)
    none = tiny_result([[0, 1]], [[0.0, 0.1]], rules=np.zeros(1, int))
    assert list(draw_run(none, object())) == ["trends"]
    six = tiny_result([[0, 1]] * 4, np.zeros((4, 2)), rules=np.full(4, 6))
    nothing = "no rule was born, split, merged or dropped"
    for model in (EFCMLClassifier(), OneVsRestEFC()):
        texts = draw_run(six, model)["rules"].axes[0].texts
        assert [text.get_text() for text in texts] == [nothing]


def test_a_figure_that_was_saved_is_not_drawn_again(write, plain, tmp_path):
    figure = plots.draw_trends({"a": [0.1, 0.2]}).figure
    _, file = plots.save_figure(figure, tmp_path / "trends")
    text = write(figures={"trends": file})
    assert base64.b64encode(file.read_bytes()).decode() in text
