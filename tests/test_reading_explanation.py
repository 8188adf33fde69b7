"""explain: the score of one row, taken apart, against the formulas written out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, freeze, hide, stream
from naive.cases import process_posterior, similarity
from numpy.testing import assert_allclose, assert_array_equal

from efcml import EFCMLClassifier, datasets, load, save
from efcml.model.batch import errors_without_own_row


def naive_parts(clf, initial, x, tau, *, density):
    """Return typical answers (C, K), contributions (C, K, p) and Psi (C,) in the learner's order.

    Written from the formulas: scale and clip, squared distances, softmax, planes.
    """
    rules = clf.learner_.rules
    p, K = initial.shape[1], rules.n_labels
    scaled = [
        min(max((x[j] - initial[:, j].mean()) / initial[:, j].std(), -clf.clip), clf.clip)
        for j in range(p)
    ]
    logits = []
    for r in range(rules.n_rules):
        gap = np.array([scaled[j] - rules.center[r, j] for j in range(p)])
        energy = gap @ rules.input_precision[r] @ gap
        if density:
            energy += np.linalg.slogdet(np.linalg.inv(rules.input_precision[r]))[1]
        logits.append(-energy / (2.0 * tau))
    psi = np.exp(logits) / np.exp(logits).sum()
    typical = np.zeros((rules.n_rules, K))
    parts = np.zeros((rules.n_rules, K, p))
    for r in range(rules.n_rules):
        for k in range(K):
            typical[r, k] = psi[r] * rules.W[r, k, p]
            for j in range(p):
                slope, center = rules.W[r, k, j], rules.center[r, j]
                typical[r, k] += psi[r] * slope * center
                parts[r, k, j] = psi[r] * slope * (scaled[j] - center)
    return typical, parts, psi


@pytest.mark.parametrize("activation", ["density", "distance"])
@pytest.mark.parametrize("bandwidth", ["dimension", 1.0])
@pytest.mark.parametrize("far", [False, True])
def test_parts_are_those_of_the_formulas(activation, bandwidth, far):
    X, Y = stream(40)
    options = QUICK | {"activation": activation, "bandwidth": bandwidth, "clip": 3.0}
    clf = EFCMLClassifier(**options).fit(X, Y)
    x = X[7] + 50.0 * np.eye(3)[1] if far else X[7]
    explanation = clf.explain(x)
    tau = 3.0 if bandwidth == "dimension" else 1.0
    typical, parts, psi = naive_parts(clf, X, x, tau, density=activation == "density")
    order = np.argsort(-psi)
    uids = clf.learner_.rules.uid[order].tolist()
    assert [rule.uid for rule in explanation.rules] == uids
    assert len(uids) == clf.n_rules_ > 3
    assert_allclose(explanation.activation, psi[order], atol=1e-9)
    assert_allclose(explanation.typical, typical[order], atol=1e-9)
    assert_allclose(explanation.contributions, parts[order], atol=1e-9)
    assert_allclose(explanation.by_feature, parts.sum(axis=0).T, atol=1e-9)
    assert_allclose(explanation.by_rule, (typical + parts.sum(axis=2))[order], atol=1e-9)
    assert_allclose(explanation.base, typical.sum(axis=0), atol=1e-9)
    assert explanation.clipped.tolist() == [False, far, False]
    assert_array_equal(explanation.x, x)


def check_sums(clf, x):
    """Check that all ways to add up give the score, and that decisions agree."""
    explanation = clf.explain(x)
    score = np.ravel(clf.decision_function(x[None]) + 0.5)
    assert_allclose(explanation.score, score, rtol=0, atol=1e-12)
    cases = explanation.by_cases
    parts = explanation.base + cases + explanation.by_feature.sum(0)
    assert_allclose(parts, score, rtol=0, atol=1e-9)
    if len(explanation.rules):
        assert_allclose(explanation.by_rule.sum(axis=0) + cases, score, rtol=0, atol=1e-9)
        assert explanation.activation.sum() == pytest.approx(1.0, abs=1e-12)
        assert (np.diff(explanation.activation) <= 0.0).all()
    assert_array_equal(explanation.decision, np.ravel(clf.decision_function(x[None])) >= 0.0)
    return explanation


@pytest.mark.parametrize("labels", ["known", "hidden"])
def test_parts_sum_to_the_score_along_a_stream(labels):
    X, Y = stream(60)
    Y = hide(Y) if labels == "hidden" else Y
    clf = EFCMLClassifier(**QUICK | {"forgetting": 0.98})
    for t in range(0, 60, 6):
        clf.partial_fit(X[t : t + 6], Y[t : t + 6])
        check_sums(clf, X[t])
        check_sums(clf, 30.0 * X[t])
    assert clf.n_rules_ > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "yeast"])
@pytest.mark.parametrize("options", [{}, {"activation": "distance", "bandwidth": 1.0}])
def test_parts_sum_to_the_score_on_real_data(name, options):
    try:
        ds = datasets.load(name)
    except datasets.DatasetNotFound:
        pytest.skip(f"{name} is not here")
    clf = EFCMLClassifier(alpha=0.1, **options).fit(*ds.initial)
    X, Y = ds.stream
    clf.partial_fit(X[:50], Y[:50])
    for x in X[50:80]:
        check_sums(clf, x)


def test_cases_are_those_of_the_twin():
    """Rows are scaled, learned as a batch of errors of the rules, and compared with x."""
    X, Y = stream(30)
    rules_alone = EFCMLClassifier(**QUICK, cases=0).fit(X, Y)
    clf = EFCMLClassifier(**QUICK, cases=50, case_width=0.5, case_noise=2.0).fit(X, Y)
    assert_allclose(clf.learner_.rules.W, rules_alone.learner_.rules.W)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = rules_alone.learner_
    errors = errors_without_own_row(learner.rules, scaled, Y, learner.settings)
    explanation = clf.explain(X[3])
    expected = process_posterior(scaled, errors, scaled[3:4], 0.5, 2.0)[0]
    assert_allclose(explanation.by_cases, expected, atol=1e-9)
    likeness = similarity(scaled[3:4], scaled, 0.5)[0]
    assert explanation.case_rows[0] == 3
    assert_allclose(explanation.case_similarity, likeness[explanation.case_rows], atol=1e-12)
    assert (np.diff(explanation.case_similarity) <= 0.0).all()
    lone = rules_alone.explain(X[3])
    assert lone.cases.shape == (0, 3)
    assert "remembered" not in str(lone) and "cases" not in str(lone)
    assert "remembered" not in lone._repr_html_()


def test_nothing_is_changed():
    clf, (X, _) = fit_blocks(), blocks()
    before = freeze(clf)
    explanation = clf.explain(X[0])
    str(explanation), explanation._repr_html_(), str(clf.rules_)
    assert freeze(clf) == before
    x = X[0].copy()
    explanation = clf.explain(x)
    x[:] = 0.0
    assert_array_equal(explanation.x, X[0])


def test_the_warm_up_answers_with_frequencies():
    X, Y = stream(8)
    clf = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    explanation = check_sums(clf, X[0])
    assert_allclose(explanation.base, Y.mean(axis=0))
    assert len(explanation.rules) == 0
    assert explanation.by_rule.shape == (0, 3)
    assert explanation.contributions.shape == (0, 3, 3)
    assert_array_equal(explanation.by_feature, np.zeros((3, 3)))
    assert explanation.top(0) == []
    text = str(explanation).splitlines()
    assert text[0] == "no rules yet: label frequencies of 8 rows answer"
    assert len(text) == 6  # a blank line, a head, three labels


def test_flat_targets():
    X, Y = blocks()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    clf = EFCMLClassifier(**TWO_RULES).fit(X, y)
    for x, answer in zip(X[::7], y[::7], strict=True):
        explanation = check_sums(clf, x)
        assert explanation.label_names == ("class yes",)
        assert clf.classes_[explanation.decision[0]] == answer
        assert f"class yes  {'1.0' if answer == 'yes' else '.0'}" in str(explanation)


# -- one row, as people bring it --------------------------------------------------------------


def test_rows_of_any_kind():
    X, _ = blocks()
    clf = fit_blocks()
    expected = clf.explain(X[3])
    for x in (X[3].tolist(), X[3:4], X[3].astype(object), X[3:4].tolist()):
        assert_array_equal(clf.explain(x).contributions, expected.contributions)


def test_rows_of_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, Y = blocks()
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = EFCMLClassifier(**TWO_RULES).fit(frame, Y)
    expected = fit_blocks().explain(X[3]).contributions
    assert clf.explain(frame[3:4]).feature_names == ("a", "b", "c", "d")
    assert_array_equal(clf.explain(frame[3:4]).contributions, expected)
    assert_array_equal(clf.explain(frame.iloc[3]).contributions, expected)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.explain(frame.iloc[3][::-1])


def test_a_row_without_names_is_enough_for_a_model_with_names():
    X, _ = blocks()
    expected = fit_blocks().explain(X[3]).contributions
    clf = fit_blocks().name_columns(list("abcd"), ["u", "v"])
    for x in (X[3], X[3:4], X[3].tolist()):  # warnings are errors here
        explanation = clf.explain(x)
        assert explanation.feature_names == ("a", "b", "c", "d")
        assert_array_equal(explanation.contributions, expected)
    assert clf.rules_.feature_names == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match="3 features"):
        clf.explain(X[3, :3])
    assert clf.feature_names_in_.tolist() == list("abcd")


def test_names_that_were_given_later_ask_for_no_data_frames(tmp_path):
    X, Y = blocks()
    clf = fit_blocks().name_columns(list("abcd"), ["u", "v"])
    expected = fit_blocks().predict(X)
    save(clf, tmp_path / "model.npz")
    for model in (clf, pickle.loads(pickle.dumps(clf)), load(tmp_path / "model.npz")):
        assert_array_equal(model.predict(X), expected)  # warnings are errors here
        model.partial_fit(X[:2], Y[:2])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(pd.DataFrame(X, columns=list("abdc")))
    framed = clf.fit(pd.DataFrame(X, columns=list("abcd")), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        framed.predict(X)  # columns in another order could not be told


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.zeros((2, 4)), "x must be one row; got 2 rows"),
        (np.zeros((0, 4)), "x must be one row; got 0 rows"),
        (np.zeros(3), "3 features"),
        ([0.0, np.inf, 0.0, 0.0], "infinity"),
    ],
)
def test_bad_rows_are_refused(x, reason):
    with pytest.raises(ValueError, match=reason):
        fit_blocks().explain(x)


# -- reading it -------------------------------------------------------------------------------


def test_top_features():
    clf, (X, _) = fit_blocks(), blocks()
    x = X[5] + [0.0, 15.0, 0.0, 0.0]
    explanation = clf.explain(x)
    pushes = explanation.top("label1", 2)
    assert pushes[0].feature == "x1"
    assert pushes[0].effect == pytest.approx(explanation.by_feature[1, 1])
    assert pushes == explanation.top(1, 4)[:2]
    sizes = [abs(push.effect) for push in explanation.top(1, 4)]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(ValueError, match="there is no label 'sad': give an index or one of"):
        explanation.top("sad")


def test_the_text_says_all():
    clf, (X, _) = fit_blocks(), blocks()
    explanation = clf.explain(X[25] + [0.0, 0.0, 0.0, 400.0])
    text = str(explanation)
    lines = text.splitlines()
    assert lines[0] == "1 of 2 rules make up 90 % of the answer"
    assert lines[2].split() == ["label", "score", "base", "cases", "moved", "most", "by"]
    assert lines[3].startswith("label0")
    assert lines[4].startswith("label1")
    strongest = explanation.rules[0]
    at = lines.index(f"rule {strongest.uid}, activation 100 %")
    assert lines[at + 1] == f"  IF {strongest.antecedent}"
    assert lines[at + 2].startswith("  adds label0 ")
    assert lines[-3] == f"rule {strongest.uid} alone decides the same"
    assert lines[-2].startswith("remembered rows change no decision, and no score by more than .0")
    assert lines[-1] == "x3 is far outside the initial rows and counts as less far"
    assert f"rule {explanation.rules[1].uid}," not in text  # it does not fire
    assert explanation.text() == text
    assert repr(explanation) == "Explanation(2 rules, 4 features, 2 labels)"


def test_decisions_in_the_text():
    clf, (X, Y) = fit_blocks(), blocks()
    for i in (0, 30):
        words = [line.split() for line in str(clf.explain(X[i])).splitlines()[3:5]]
        assert [row[2] for row in words] == ["yes" if y else "no" for y in clf.predict(X)[i]]
    assert clf.predict(X)[[0, 30], 0].tolist() == Y[[0, 30], 0].tolist()


def test_of_many_labels_the_highest_are_shown():
    X, Y = stream(40, n_labels=11)
    explanation = EFCMLClassifier(**QUICK).fit(X, Y).explain(X[0])
    text = str(explanation)
    assert "and 3 labels with lower scores" in text
    best = np.argsort(-explanation.score)[:8]
    shown = [line.split()[0] for line in text.splitlines()[3:11]]
    assert shown == [f"label{k}" for k in best]
    assert "lower" not in str(fit_blocks().explain(blocks()[0][0]))


def test_the_table_of_contributions_sums_to_the_score():
    pytest.importorskip("pandas")
    X, Y = stream(40)
    warm = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    for clf in (EFCMLClassifier(**QUICK).fit(X, Y), warm):
        explanation = clf.explain(X[0])
        table = explanation.to_frame()
        assert [*table.columns] == ["rule", "label", "feature", "contribution"]
        assert len(table) == clf.n_rules_ * 3 * 4 + 3
        sums = table.groupby("label")["contribution"].sum()
        assert_allclose(sums.to_numpy(), explanation.score, atol=1e-12)
    assert set(table["rule"]) == {-1}


def test_the_table_names_each_part():
    pytest.importorskip("pandas")
    X, Y = stream(40)
    explanation = EFCMLClassifier(**QUICK).fit(X, Y).explain(X[0])
    table = explanation.to_frame().set_index(["rule", "label", "feature"])["contribution"]
    for i, rule in enumerate(explanation.rules):
        for k, label in enumerate(explanation.label_names):
            assert table[rule.uid, label, "typical answer"] == explanation.typical[i, k]
            for j, feature in enumerate(explanation.feature_names):
                assert table[rule.uid, label, feature] == explanation.contributions[i, k, j]
