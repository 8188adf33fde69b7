"""Explanations of labels: what known ones add, and which a threshold or the whole set turned."""

import numpy as np
import pytest
from helpers.streams import COMPILED
from numpy.testing import assert_allclose, assert_array_equal
from test_decisions import NO, QUICK, fitted, stream

from efcml import EFCMLClassifier
from efcml.explain.afterwards import tell_addends
from efcml.explain.label_answer import MOST_KNOWN, LabelAnswer, tell_known, tell_turned

NAMES = ("calm", "quiet", "loud", "rare")
ROWS = range(100, 160 if COMPILED else 112)


@pytest.fixture(scope="module")
def rows():
    return stream()


def learned(rows, **changes):
    X, Y = rows
    clf = fitted(rows, **changes).partial_fit(X[60:100], Y[60:100])
    return clf.name_columns(label_names=NAMES)


def total(explanation):
    """Return the sum of everything that an explanation says was added."""
    parts = (*explanation.afterwards.values(), *explanation.by_known.values())
    by_rules = explanation.base + explanation.by_feature.sum(axis=0)
    return by_rules + explanation.by_cases + sum(parts)


# -- known labels ---------------------------------------------------------------------------


@pytest.mark.parametrize("places", [[0], [0, 2], [1, 2, 3], [0, 1, 2, 3]])
def test_what_known_labels_add_sums_to_the_score(rows, places):
    X, Y = rows
    clf = learned(rows)
    for t in ROWS[:10]:
        known = np.full(4, NO)
        known[places] = Y[t, places]
        why = clf.explain(X[t], known)
        assert [*why.by_known] == [NAMES[k] for k in places]
        assert_allclose(why.score, clf.learner_.answer(X[[t]], known[None]).scores[0])
        assert_allclose(total(why), why.score, atol=1e-9)
        assert_allclose(why.score[places], Y[t, places])
        for k in places:
            assert not why.by_known[NAMES[k]][[i for i in places if i != k]].any()


def test_they_are_the_columns_of_the_formula(rows):
    X, Y = rows
    clf, places, t = learned(rows), [0, 2], 120
    known = np.array([Y[t, 0], NO, Y[t, 2], NO])
    lower = np.tril(clf.learner_.labels.together.arrays.covariance)
    E = lower + np.tril(lower, -1).T
    columns = E[:, places] @ np.linalg.inv(E[np.ix_(places, places)])
    gaps = Y[t, places] - clf.learner_.score(X[[t]])[0, places]
    why = clf.explain(X[t], known)
    for i, k in enumerate(places):
        assert_allclose(why.by_known[NAMES[k]], columns[:, i] * gaps[i], atol=1e-12)
    assert np.abs(why.by_known["calm"][[1, 3]]).max() > 0.01


def test_known_labels_may_be_a_row_of_a_table(rows):
    X, Y = rows
    clf = learned(rows)
    known = np.array([Y[120, 0], NO, NO, NO])
    assert str(clf.explain(X[120], known)) == str(clf.explain(X[120], known[None]))
    assert str(clf.explain(X[120], np.full(4, NO))) == str(clf.explain(X[120]))
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(known, index=NAMES)
    assert str(clf.explain(X[120], series)) == str(clf.explain(X[120], known))
    with pytest.raises(ValueError, match="known must have the columns"):
        clf.explain(X[120], pandas.Series(known, index=NAMES[::-1]))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (np.zeros(3), r"known must have the shape \(1, 4\)"),
        (np.zeros((2, 4)), "known must be one row; got 2 rows"),
        (np.full(4, 0.5), "known must"),
    ],
)
def test_bad_known_labels_are_refused(rows, known, words):
    with pytest.raises(ValueError, match=words):
        learned(rows).explain(rows[0][0], known)


def test_a_flat_target_has_no_other_label(rows):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK).fit(X[:60], Y[:60, 0])
    with pytest.raises(ValueError, match="known needs a model"):
        clf.explain(X[0], [1])


def test_in_the_warm_up_a_known_label_tells_of_itself_alone(rows):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:10], Y[:10])
    why = clf.explain(X[11], [1, NO, NO, 0])
    assert_array_equal(why.score[[0, 3]], [1, 0])
    assert_array_equal(why.by_known["label0"] != 0, [True, False, False, False])
    assert_allclose(why.base + sum(why.by_known.values()), why.score)
    assert_array_equal(why.base, clf.explain(X[11]).score)
    assert "what is known says next to nothing of the other labels" in why.notes
    frame = pytest.importorskip("pandas") and why.to_frame()
    sums = frame.groupby("label", sort=False)["contribution"].sum()
    assert_allclose(sums, why.score)


def test_texts_and_tables_have_them(rows):
    X, Y = rows
    clf = learned(rows)
    why = clf.explain(X[120], [Y[120, 0], NO, NO, NO])
    added = why.by_known["calm"]
    other = 1 + int(np.abs(added[1:]).argmax())
    there = "there" if Y[120, 0] else "not there"
    sentence = f"knowing that calm is {there} moves {NAMES[other]} most, by "
    assert sentence in str(why)
    assert sentence in why._repr_html_()
    assert f"{'yes' if Y[120, 0] else 'no'}, known" in str(why)
    frame = pytest.importorskip("pandas") and why.to_frame()
    found = frame[frame["feature"] == "knowing calm"]
    assert_array_equal(found["contribution"], added)
    assert (found["rule"] == -1).all()
    sums = frame.groupby("label", sort=False)["contribution"].sum()
    assert_allclose(sums, why.score, atol=1e-12)


def answer(**changes):
    usual = {
        "kind": "hamming",
        "score": np.array([0.6, 0.3, 0.7]),
        "decision": np.array([1, 0, 1]),
        "alone": np.zeros(3, int),
        "without_cases": np.zeros(3, int),
        "thresholds": np.full(3, 0.5),
        "known": np.full(3, NO),
    }
    return LabelAnswer(**usual | changes)


def test_sentences_on_known_labels():
    added = {0: np.array([0.4, -0.12, 0.0]), 2: np.array([0.0, 0.21, -0.7])}
    found = answer(known=np.array([1.0, NO, 0.0]), added=added)
    assert tell_known(found, NAMES) == [
        "knowing that loud is not there moves quiet most, by +.21",
        "knowing that calm is there moves quiet most, by -.12",
    ]
    little = answer(known=np.array([1.0, NO, NO]), added={0: np.array([0.4, 0.004, 0.0])})
    assert tell_known(little, NAMES) == ["what is known says next to nothing of the other labels"]
    everything = answer(known=np.ones(3), added={k: np.eye(3)[k] for k in range(3)})
    assert tell_known(everything, NAMES) == []
    assert tell_known(answer(), NAMES) == []


def test_of_many_known_labels_the_strongest_are_told():
    names = [f"l{k}" for k in range(9)]
    added = {k: np.append(np.zeros(8), 0.01 * (k + 1)) for k in range(8)}
    many = answer(score=np.zeros(9), known=np.append(np.ones(8), NO), added=added)
    told = tell_known(many, names)
    assert len(told) == MOST_KNOWN
    assert told[0] == "knowing that l7 is there moves l8 most, by +.08"


# -- decisions ------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", ["hamming", "f1", "subset"])
def test_decisions_are_those_of_predict(rows, decision):
    X, Y = rows
    clf = learned(rows, decision=decision)
    turned = 0
    for t in ROWS:
        for known in (None, np.array([Y[t, 0], NO, NO, NO])):
            why = clf.explain(X[t], known)
            given = None if known is None else known[None]
            said = clf.learner_.answer(X[[t]], given)
            assert_array_equal(why.decision, said.decisions[0])
            if decision != "subset":
                said, open_ = why.score >= why.labels.thresholds, ~why.labels.is_known
                assert_array_equal(why.decision[open_], said[open_])
            other = (why.decision != (why.score >= 0.5)).sum()
            reasons = ("because of the set as a whole", "said from", "said only from")
            assert sum(any(words in note for words in reasons) for note in why.notes) == other
            turned += other
    assert (turned > 0) == (decision != "hamming")


@pytest.mark.parametrize("decision", ["f1", "subset"])
def test_simpler_readings_are_decided_in_the_same_way(rows, decision):
    X, _ = rows
    clf = learned(rows, decision=decision)
    decide = clf.learner_.answer_scores
    for t in ROWS:
        why = clf.explain(X[t])
        alone, rules = (decide(part[None]).decisions[0] for part in (why.alone, why.without_cases))
        assert_array_equal(why.labels.alone, alone)
        assert_array_equal(why.labels.without_cases, rules)
        same = (alone == why.decision).all()
        assert (f"rule {why.rules[0].uid} alone decides the same" in why.notes) == same


def test_trust_goes_by_the_decisions_of_the_model(rows):
    X, _ = rows
    trusts = {kind: learned(rows, decision=kind).trust(X[100:]) for kind in ("hamming", "f1")}
    clf = learned(rows, decision="f1")
    whys = [clf.explain(x) for x in X[100:]]
    strongest = np.mean([why.labels.alone == why.decision for why in whys])
    by_rules = np.mean([why.labels.without_cases == why.decision for why in whys])
    assert_allclose([trusts["f1"].strongest, trusts["f1"].rules], [strongest, by_rules])
    assert trusts["f1"].strongest != trusts["hamming"].strongest
    assert trusts["f1"].correction == trusts["hamming"].correction


def test_sentences_on_decisions():
    assert tell_turned(answer(), NAMES) == []
    found = answer(kind="f1", decision=np.array([0, 1, 1]), thresholds=np.array([0.65, 0.21, 0.5]))
    assert tell_turned(found, NAMES) == [
        "calm is said only from .65 on",
        "quiet is said from .21 on",
    ]
    found = answer(kind="subset", decision=np.array([0, 1, 1]))
    assert tell_turned(found, NAMES) == [
        "calm is not said because of the set as a whole",
        "quiet is said because of the set as a whole",
    ]
    given = answer(kind="subset", decision=np.array([0, 1, 1]), known=np.array([NO, 1, NO]))
    assert tell_turned(given, NAMES) == ["calm is not said because of the set as a whole"]


def test_caution_is_told_as_a_person_would():
    told = tell_addends(
        {"label frequencies": np.array([0.01, -0.03]), "the last errors": np.array([0.2, 0.0])},
        NAMES,
    )
    assert told == [
        "the model has left the label frequencies too far of late: quiet is drawn back most, "
        "by -.03",
        "the last errors move calm most, by +.20",
    ]
