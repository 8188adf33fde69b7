"""What notebooks show: tables that are well formed, escaped, and without colours of their own."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, stream
from sklearn import config_context

from efcml import ActiveLearner, EFCMLClassifier, prequential
from efcml.explain import explain_row, read_rules
from efcml.support.markup import Safe, bar, escape, faint, join, lines, table

EVIL = '<script>alert("a & b")</script>'
SINGLE = {"br"}


class Page(HTMLParser):
    """Collects tags, cells and text; refuses tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in SINGLE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


def test_pieces_escape_what_is_not_safe():
    assert escape(EVIL) == "&lt;script&gt;alert(&quot;a &amp; b&quot;)&lt;/script&gt;"
    assert escape(Safe("<b>")) == "<b>"
    assert lines("<", Safe("<i>")) == "&lt;<br><i>"
    for piece in (faint(EVIL), bar(0.5, EVIL), join(" & ", [EVIL, 1]), lines(EVIL)):
        assert isinstance(piece, Safe)
        assert "<script>" not in piece
        assert EVIL in Page(piece).text
    assert Page(join(" & ", ["a", "b"])).text == "a & b"
    assert join(" & ", []) == ""


@pytest.mark.parametrize(("share", "width"), [(0.25, "25%"), (-3.0, "0%"), (7.0, "100%")])
def test_bars_stay_inside(share, width):
    assert f" {width},transparent {width})" in bar(share, "")


def test_tables_escape_and_align():
    html = table(["a", EVIL], [(EVIL, 2), ("x", Safe("<b>y</b>"))], caption=EVIL, right=(1,))
    page = Page(html)
    assert page.tags.count("tr") == 3
    assert page.tags.count("td") == 4
    assert page.tags.count("b") == 1
    assert "script" not in page.tags
    assert page.text == f"{EVIL}a{EVIL}{EVIL}2xy"
    sides = re.findall(r"text-align:(\w+);border", html)
    assert sides == ["left", "right"] * 3
    with pytest.raises(ValueError):
        table(["a"], [(1, 2)])


def own_html():
    """Everything that is shown, with names that must be escaped."""
    clf, (X, _) = fit_blocks(), blocks()
    names = [EVIL, "b", EVIL + "2", "d"], ["<i>", EVIL + "3"]
    far = X[5:6] + [0.0, 0.0, 1e3, 0.0]
    return {
        "rules": read_rules(clf.learner_, *names)._repr_html_(),
        "explanation": explain_row(clf.learner_, far, *names)._repr_html_(),
        "result": prequential(clf, *blocks(seed=1))._repr_html_(),
    }


def test_names_are_escaped_and_pages_follow_the_theme():
    for name, html in own_html().items():
        page = Page(html)
        assert not {"script", "i", "style"} & set(page.tags), name
        # Only translucent greys and blues: they suit any ground.
        assert "#" not in html.replace("&#", "")
        assert not re.search(r"[^-]color:|white|black|rgb\(", html)
        if name != "result":
            assert EVIL in page.text
            assert "<i>" in page.text


def test_the_table_of_rules_says_what_the_text_says():
    rules = fit_blocks().rules_
    page = Page(rules._repr_html_())
    assert rules.title in page.text
    for rule in rules:
        assert rule.antecedent in page.text
        assert rule.consequent in page.text
        assert all(trend in page.text for trend in rule.trends)
    assert page.tags.count("tr") == 3
    few = Page(rules.to_html(1))
    assert few.tags.count("tr") == 2
    assert "1 of 2 rules after 40 rows" in few.text
    assert ">always<" in fit_blocks(vigilance=1e9).rules_._repr_html_()


def test_a_warm_up_is_shown():
    X, Y = stream(4)
    clf = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    note = "no rules yet: label frequencies of 4 rows answer"
    assert clf.rules_._repr_html_() == note
    page = Page(clf.explain(X[0])._repr_html_())
    assert note in page.text
    assert page.tags.count("table") == 1
    assert note in clf._repr_mimebundle_()["text/html"]


def test_the_table_of_an_explanation_says_what_the_text_says():
    clf, (X, _) = fit_blocks(), blocks()
    explanation = clf.explain(X[5] + [0.0, 0.0, 1e3, 0.0])
    page = Page(explanation._repr_html_())
    assert page.tags.count("table") == 2
    assert explanation.title in page.text
    assert explanation.notes[0] in page.text
    assert explanation.rules[0].antecedent in page.text
    for name in explanation.label_names:
        assert name in page.text
    assert "far outside" not in clf.explain(X[5])._repr_html_()


def test_rules_that_say_nothing_are_shown_in_an_explanation():
    X, _ = blocks()
    page = Page(fit_blocks(vigilance=1e9).explain(X[5])._repr_html_())
    assert "always" in page.text


def test_an_estimator_shows_its_rules_below_its_parameters():
    X, Y = blocks()
    clf = EFCMLClassifier(**TWO_RULES)
    assert "decides</th>" not in clf._repr_html_()
    clf.fit(X, Y)
    rules = clf.rules_.to_html(10)
    for html in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert html.endswith(rules)
        assert html.count(rules) == 1
        assert "EFCMLClassifier" in html[: -len(rules)]
    with config_context(display="text"):
        assert "text/html" not in clf._repr_mimebundle_()
        assert not hasattr(clf, "_repr_html_")


def test_an_estimator_shows_few_rules():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK | {"vigilance": 0.05}).fit(X, Y)
    assert clf.n_rules_ > 10
    assert f"10 of {clf.n_rules_} rules after 60 rows" in clf._repr_html_()


def test_the_table_of_a_result():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    result = prequential(clf, X[30:], Y[30:], active=ActiveLearner(0.5, window=20))
    page = Page(result._repr_html_())
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", result._repr_html_())
    head = re.findall(r"<th[^>]*>([^<]*)</th>", result._repr_html_())
    shown = dict(zip(head, cells, strict=True))
    assert shown["rows"] == "30"
    assert shown["PA"] == f"{result.pa:.4f}"
    assert shown["AP"] == f"{result.ap:.4f}"
    assert shown["rules"] == str(result.rules[-1])
    counts = [shown[name] for name in ("births", "merges", "drops")]
    assert counts == [str(result.births), str(result.merges), str(result.drops)]
    assert float(shown["queried"].rstrip(" %")) == pytest.approx(100 * result.queried.mean(), 0.01)
    assert 0.0 < result.queried.mean() < 1.0
    assert float(shown["ms per sample"]) == pytest.approx(1e3 * result.seconds_per_sample, 0.01)
    assert page.tags.count("table") == 1
    assert np.isfinite(float(shown["PA"]))
