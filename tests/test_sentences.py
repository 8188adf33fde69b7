"""Sentences about rules and rows: exact words, numbers in them, flags and categories, tables."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, stream
from helpers.pages import Page
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from efcml import EFCMLClassifier
from efcml.explain import RuleList, explain_row, find_flags, read_rules
from efcml.explain import words as phrases
from efcml.support.statistics import wilson

RULES = """2 rules after 40 rows

rule 0: decides 50 % of the rows, learned from 20 rows, born in row 0
  IF x0 up to 9
    100 % of its rows fit; it decides 100 % of all that fit
  THEN label0 .00 (.00 to .16, usual .50)
    label1 rises with x1 +.34

rule 1: decides 50 % of the rows, learned from 20 rows, born in row 20
  IF x0 above 9
    100 % of its rows fit; it decides 100 % of all that fit
  THEN label0 1.00 (.84 to 1.00, usual .50)
    label1 rises with x1 +.37

how far to trust the reading
  by the last 40 rows that it has learned: 100 % of all decisions are those of the strongest \
rule alone, 100 % those of all rules
  cases and what errors taught turn the rest, and move a score by .08 on average"""
WHY = r"""1 of 2 rules have 90 % of the activation

label   score       base  cases  moved most by
label0  1\.00   yes  1\.00  [+-]\.00   .*
label1  1\.12   yes  \.65   -\.08   x1 \(120\.1\) \+\.56, .*

rule 1, activation 100 %
  IF x0 above 9
  adds label0 \+1\.00, label1 \+1\.21

rule 1 alone decides the same
remembered rows move label1 most, by -\.08; the most similar: row 39 \(.*
x3 is far outside the initial rows and counts as less far"""


@pytest.fixture(scope="module")
def two():
    return fit_blocks().rules_


def test_the_text_of_two_rules(two):
    assert str(two) == RULES
    said = "IF x0 above 9 THEN label0 1.00 (.84 to 1.00, usual .50)"
    assert two[1].sentence() == said
    (lone,) = fit_blocks(vigilance=1e9).rules_
    assert (lone.terms, lone.sentence()) == ([], "ALWAYS THEN labels as usual")


def test_features_that_cancel_each_other_move_nothing(two):
    """They always go together in the rule, and their planes are steep and opposite."""
    weights, covariance = 0.0 * two[0].scaled_weights, np.eye(4)
    weights[0, :2] = 0.3, -0.3
    rule = replace(two[0], scaled_weights=weights, scaled_covariance=covariance)
    assert rule.trends == ["label0 rises with x0 +.30 and falls with x1 -.30"]
    covariance[0, 1] = covariance[1, 0] = 0.98
    assert replace(rule, scaled_covariance=covariance).trends == []


def test_the_text_of_an_explanation():
    clf, (X, _) = fit_blocks(), blocks()
    far = replace(clf.explain(X[25]), clipped=np.arange(4) == 3)
    assert re.fullmatch(WHY, str(far))
    assert "far outside" not in str(clf.explain(X[25]))


def test_of_many_labels_the_highest_are_shown():
    X, Y = stream(40, n_labels=11)
    why = EFCMLClassifier(**QUICK).fit(X, Y).explain(X[0])
    rows = [line.split() for line in str(why).splitlines()[3:11]]
    assert [row[0] for row in rows] == [f"label{k}" for k in np.argsort(-why.score)[:8]]
    assert [row[2] == "yes" for row in rows] == sorted(why.score >= 0.5)[:2:-1]
    assert "and 3 labels with lower scores" in str(why)
    # Rules up to the one that completes 90 % of the activation.
    needed = 1 + np.flatnonzero(np.cumsum(why.activation) >= 0.9)[0]
    assert why.title.startswith(f"{needed} of {len(why.rules)} rules have 90 %")
    shown = [rule.uid for rule, psi in zip(why.rules, why.activation, strict=True) if psi >= 0.01]
    assert [*map(int, re.findall(r"rule (\d+), activation", str(why)))] == shown[:5]


def test_what_is_told_of_labels(two):
    background = replace(two.background, label_means=np.array([0.3, 0.0]))
    cases = [(0.3, 1e6, False), (0.39, 1e6, False), (0.41, 1e6, True), (0.21, 1e6, False)]
    cases += [(0.19, 1e6, True), (0.41, 10.0, False), (1.0, 4.0, True), (1.0, 0.0, False)]
    for answer, rows, named in cases:  # named if surely unlike the usual
        shares = {"label_shares": np.array([answer, 0.0]), "label_rows": np.array([rows, rows])}
        found = replace(two[0], background=background, **shares).label_tendencies
        low, high = (phrases.short(float(end)) for end in wilson(answer, rows))
        expected = f"label0 {phrases.short(answer)} ({low} to {high}, usual .30)"
        assert found == ([expected] if named else [])
    background = replace(two.background, label_names=tuple("abcdefgh"), label_means=np.full(8, 0.5))
    shares = np.array([0.5, 0.9, 0.1, 0.7, 0.52, 0.0, 0.25, 0.2])
    planes = {"background": background, "scaled_weights": np.zeros((8, 5))}
    many = replace(two[0], label_shares=shares, label_rows=np.full(8, 1e4), **planes)
    assert [words[0] for words in many.label_tendencies] == ["f", "b", "c", "h", "g"]
    assert many.trends == []
    for rows, words in (([4.0, 2.0], "too few rows to tell"), ([9.0, 9.0], "label0 .00")):
        said = replace(two[0], label_rows=np.array(rows)).consequent
        assert said.startswith(words)
    X, Y = stream(40)
    Y[:, 1] = 1.0
    always = EFCMLClassifier(**QUICK).fit(X, Y).rules_
    assert always.background.label_means[1] == pytest.approx(1.0, abs=1e-9)
    assert not any(t.startswith("label1") for rule in always for t in rule.label_tendencies)


def test_what_moves_labels_is_little_and_not_weak(two):
    weights = np.zeros((2, 5))
    weights[0, :4] = [0.3, -0.2, 0.09, 0.15]
    weights[1, :4] = [0.04, 0.0, 0.0, 0.0]
    rule = replace(two[0], scaled_weights=weights, scaled_covariance=np.eye(4))
    assert rule.trends == ["label0 rises with x0 +.30, x3 +.15 and falls with x1 -.20"]
    flags = np.array([True, True, False, False])  # from no to yes; x1 is no in all rows
    columns = replace(two.background.columns, flags=flags)
    usual = replace(two.background, columns=columns, unit=np.full(4, 0.5))
    rule = replace(rule, background=usual, mean=np.array([0.5, 0.01, 0.0, 0.0]))
    assert rule.trends[0] == "label0 rises with x0 +.60"
    assert rule.trends[1] == "label1 rises with x0 +.08"
    weights[:, -1] = 1.2, -0.1
    assert replace(rule, scaled_weights=weights * [0, 0, 0, 0, 1]).trends == []


def test_numbers_in_words():
    assert phrases.number_words([(True, 12.0)]) == "above 12"
    assert phrases.number_words([(False, 54.5), (True, -0.25)]) == "above -0.25 and up to 54.5"
    assert phrases.percent(0.5) == "50 %"
    assert tuple(map(phrases.percent, (1.0, 0.9999, 4e-5))) == ("100 %", "99.9 %", "0.004 %")
    for part, rows in ((0.0, 3), (0.2, 10), (0.5, 40), (1.0, 100)):
        expected = binomtest(round(part * rows), rows).proportion_ci(method="wilson")
        assert wilson(part, rows) == pytest.approx((expected.low, expected.high), abs=1e-4)
    assert wilson(0.3, 0.0) == wilson(0.3, 1e-300) == (0.0, 1.0)


def test_words_of_groups_and_flags():
    for yes, no, words in (
        ("A", "", "A"),
        ("", "A", "not A"),
        ("", "ABC", "neither A, B nor C"),
        ("AB", "C", "A and B and not C"),
    ):
        assert phrases.values_words(yes, no) == words
    X = np.array([[0.0, 1.0, 0.5, 2.0, np.nan], [1.0, 1.0, 1.0, 0.0, 1.0]])
    assert find_flags(X).tolist() == [True, True, False, False, True]


COLUMNS = ["age", "maintained", "machine=A", "machine=B", "machine=C", "shift_early", "shift_new"]


def workshop(n=120, seed=3):
    """First new machines A and B, maintained; then as many rows of old machine C, not maintained.

    Old machines fail. `shift_early` and `shift_new` share a beginning but are no group.
    """
    rng = np.random.default_rng(seed)
    old = np.arange(n) >= n // 2
    age = np.where(old, 20.0, 5.0) + rng.normal(size=n)
    machine = np.where(old, "C", rng.choice(["A", "B"], n))
    shifts = rng.integers(0, 2, (n, 2))
    flags = [machine == value for value in "ABC"]
    X = pd.DataFrame(np.column_stack([age, ~old, *flags, shifts]), columns=COLUMNS)
    return X, pd.DataFrame({"fails": old.astype(int), "early": shifts[:, 0]})


def test_sentences_about_a_workshop():
    """Three groups of rows: the old machine, and the new ones in the early shift or not."""
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    rules = clf.rules_
    assert [rule.antecedent for rule in rules] == [
        "machine is C",
        "machine is not C AND shift_early is no",
        "machine is not C AND shift_early is yes",
    ]
    assert [rule.consequent for rule in rules] == [
        "fails 1.00 (.94 to 1.00, usual .50)",
        "fails .00 (.00 to .09, usual .50), early .00 (.00 to .09, usual .43)",
        "early 1.00 (.85 to 1.00, usual .43), fails .00 (.00 to .15, usual .50)",
    ]
    assert rules[0].trends[0].startswith("early rises with shift_early +.9")
    early, old = X["shift_early"] == 1, X["machine=C"] == 1
    said = np.select([old, ~early], [0, 1], 2)  # the sentences are true of the rows
    assert_array_equal(clf.activations(X).argmax(axis=1), said)
    why = clf.explain(X.iloc[0])
    assert "(yes)" in str(why) or "(no)" in str(why)
    assert why.by_variable.shape == (5, 2)
    assert_allclose(why.by_variable[2], why.by_feature[2:5].sum(axis=0), atol=1e-12)


def test_columns_of_flags_with_one_name_are_one_thing():
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X.to_numpy(), Y.to_numpy())
    assert clf.rules_.background.columns.groups == ()
    clf.name_columns(COLUMNS, ["fails", "early"])
    numbers, *rest = clf.rules_.background.columns.variables
    assert numbers == ("age", (0,), (), "number")
    assert [thing.kind for thing in rest] == ["flag", "group", "flag", "flag"]
    assert rest[1] == ("machine", (2, 3, 4), ("A", "B", "C"), "group")
    names = [name.replace("=", "_") for name in COLUMNS]
    clf.name_columns(names)
    assert "machine_C is yes" in clf.rules_[0].antecedent
    clf.name_columns(["a=age", *COLUMNS[1:4], "b=C", *COLUMNS[5:]])  # a number, a single flag
    assert clf.rules_.background.columns.groups[0].columns == (2, 3)


def test_of_tags_a_row_may_have_several():
    rng, warm = np.random.default_rng(0), np.arange(120) < 60
    tags = rng.random((120, 3)) < np.where(warm[:, None], [0.9, 0.9, 0.0], [0.2, 0.2, 0.8])
    X = pd.DataFrame(tags.astype(float), columns=["tag=sea", "tag=sun", "tag=snow"])
    clf = EFCMLClassifier(**TWO_RULES).fit(X, np.column_stack([warm, tags.all(axis=1)]))
    first = clf.rules_[0]
    assert first.antecedent == "tag is sun and not snow"
    decided = tags[clf.activations(X).argmax(axis=1) == 0]
    assert_allclose(decided.mean(axis=0), [0.85, 1.0, 0.0], atol=0.005)
    rare = X.copy()
    rare["tag=snow"] = (X.index == 0).astype(float)  # 1 is clipped, so far is it from the mean
    rare["tag=sun"] = 1.0 - rare["tag=sea"]
    other = EFCMLClassifier(**TWO_RULES, clip=4.0).fit(rare, warm[:, None])
    assert other.rules_.background.variables[0].kind == "several"
    why = clf.explain(X[tags[:, 0] & tags[:, 1]].iloc[0])
    assert why.value_of(why.background.columns.variables[0]) == "tag (sea and sun)"


def test_a_number_that_is_1_of_late_is_no_flag():
    """A flag that never changes of late is still one: its scale is that of a column of 0 and 1."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(1, 13, 700), rng.random(700) < 0.3]).astype(float)
    X[100:] = 1.0
    for begin, flags in ((0, [False, True]), (150, [False, False])):
        Y = (X[begin:] > [6.0, 0.5]).astype(float)
        clf = EFCMLClassifier(**TWO_RULES, cases=0).fit(X[begin : begin + 100], Y[:100])
        clf.partial_fit(X[begin + 100 :], Y[100:])
        assert clf.rules_.background.columns.flags.tolist() == flags
        assert "x0 is yes" not in str(clf.rules_)


def test_a_value_that_is_missing_or_another_is_said():
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    for code, said in ((0.0, "another"), (np.nan, "not given")):
        strange = X[:1].copy()
        strange[COLUMNS[2:5]] = code
        machine = clf._column_kinds().variables[2]
        assert clf.explain(strange.iloc[0]).value_of(machine) == f"machine ({said})"


EVIL = '<script>alert("a & b")</script>'


def test_tables_say_what_the_text_says_and_are_escaped(two):
    clf, (X, _) = fit_blocks(), blocks()
    why = clf.explain(X[5])
    said = [two.title, *two[0].trends, two[0].antecedent, two[1].consequent]
    explained = [why.title, *why.notes, why.rules[0].antecedent, *why.label_names]
    for shown, words in ((two, said), (why, explained)):
        assert all(text in Page(shown._repr_html_()).text for text in words)
    few = two[:1].to_html()
    assert "1 of 2 rules after 40 rows" in few and "rule 0" in few and "rule 1" not in few
    half, full = (f"{end}%,transparent {end}%)" for end in (50, 100))
    third = replace(two[1], decides=0.25)
    drawn = RuleList([two[0], third], two.background).to_html()
    assert full in drawn and half in drawn  # bars are as long as the widest allows
    lone = fit_blocks(vigilance=1e9)
    assert "ALWAYS" in lone.rules_._repr_html_() and "ALWAYS" in lone.explain(X[5])._repr_html_()
    names = [EVIL, "b", EVIL + "2", "d"], ["<i>", EVIL + "3"]
    for shown in (read_rules(clf.learner_, *names), explain_row(clf.learner_, X[5:6], *names)):
        page = Page(shown._repr_html_())
        assert not page.all("script", "i") and EVIL in page.text and "<i>" in page.text


def test_what_was_left_out_is_said_with_why_and_since_when():
    """A feature that tells nothing at first and much later is not said to mean nothing."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(float)
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    note = (
        "not used in the conditions: x2, x3 (told no more than chance of the labels up to row 300"
    )
    assert clf.rules_.background.left_out_note == f"{note})"
    assert note in str(clf.rules_) and note in str(clf.explain(X[0]))
    choice = clf.learner_.relevance
    choice.arrays.strength[2] = 7.0  # as a later look may find, before a challenger wins
    assert clf.rules_.background.left_out_note == f"{note}; some tell more by now)"
    given = EFCMLClassifier(**QUICK, relevance=[1, 1, 0, 1]).fit(X, Y).rules_
    told = "not used in the conditions: x2 (as the parameter relevance says)"
    assert given.background.left_out_note == told
    assert "not used" not in str(EFCMLClassifier(**QUICK, relevance="off").fit(X, Y).rules_)
