"""`decision`, `known` and learned probabilities through the estimators and streams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, load, measures, prequential, save
from efcml.rivals import LabelFrequencies

QUICK = {"prior": 1.0, "vigilance": 0.3, "birth_width": 0.3, "cases": 12, "warmup_rows": 30}
NO = np.nan


def stream(n=160, K=4, seed=0):
    """Labels that share what the features do not tell; the last is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    common = rng.normal(size=(n, 1))
    heights = X @ rng.normal(size=(3, K)) + 1.5 * common * [1, 1, -1, 0.5] + rng.normal(size=(n, K))
    return X, (heights > [0, 0, 0, 2.5]).astype(float)


@pytest.fixture(scope="module")
def rows():
    return stream()


def fitted(rows, **changes):
    X, Y = rows
    return EFCMLClassifier(**QUICK, **changes).fit(X[:60], Y[:60])


@pytest.mark.parametrize("decision", ["hamming", "f1", "subset"])
def test_a_loop_of_answers_is_a_stream(rows, decision):
    X, Y = rows
    Y = Y.copy()
    Y[70:80, 1] = Y[90] = NO
    loop, whole = fitted(rows, decision=decision), fitted(rows, decision=decision)
    result = prequential(whole, X[60:], Y[60:])
    assert result.decisions.dtype == bool
    for t in range(60, 160):
        x = X[t : t + 1]
        assert_array_equal(loop.predict(x)[0], result.decisions[t - 60])
        assert_array_equal(loop.predict_proba(x)[0], result.probabilities[t - 60])
        assert_array_equal(loop.decision_function(x)[0], result.scores[t - 60] - 0.5)
        loop.partial_fit(x, Y[t : t + 1])
    states = [clf.learner_.labels.state() for clf in (loop, whole)]
    for name, array in states[0].items():
        assert_array_equal(array, states[1][name])


def test_scores_do_not_depend_on_the_decision(rows):
    X, Y = rows
    kinds = ("hamming", "f1", "subset")
    results = [prequential(fitted(rows, decision=kind), X[60:], Y[60:]) for kind in kinds]
    for other in results[1:]:
        assert_array_equal(other.scores, results[0].scores)
        assert_array_equal(other.probabilities, results[0].probabilities)
        assert other.ap == results[0].ap
        assert (other.decisions != results[0].decisions).any()
    assert_array_equal(results[0].decisions, results[0].scores >= 0.5)
    hamming, f1, subset = (result.summary() for result in results)
    assert f1["macro_f1"] > hamming["macro_f1"]
    assert subset["subset_accuracy"] > hamming["subset_accuracy"]
    assert results[2].pa == measures.partial_accuracy(Y[60:], results[2].decisions)
    assert_allclose(results[2].pa_trend[-1], results[2].pa)


def test_with_late_labels_rows_are_decided_by_what_is_known(rows):
    X, Y = rows
    late, other = fitted(rows, decision="f1"), fitted(rows, decision="f1")
    result = prequential(late, X[60:100], Y[60:100], delay=5)
    for t in range(40):
        if t > 5:  # row t + delay is answered before row t is learned
            other.partial_fit(X[54 + t : 55 + t], Y[54 + t : 55 + t])
        waiting = X[max(60, 55 + t) : 61 + t]  # rows that have come and whose labels have not
        assert_array_equal(other.predict(waiting)[-1], result.decisions[t])
        assert_array_equal(other.predict_proba(waiting)[-1], result.probabilities[t])


def test_without_learning_nothing_is_learned_from_errors(rows):
    X, Y = rows
    clf = fitted(rows, decision="subset")
    result = prequential(clf, X[60:], Y[60:], learn=False)
    assert_array_equal(result.decisions, clf.predict(X[60:]))
    assert_array_equal(result.probabilities, clf.predict_proba(X[60:]))


def test_active_learners_decide_likewise(rows):
    X, Y = rows
    clf = fitted(rows, decision="f1")
    result = prequential(clf, X[60:], Y[60:], active=ActiveLearner(0.3, random_state=0))
    assert (result.decisions != (result.scores >= 0.5)).any()
    assert ((result.probabilities > 0) & (result.probabilities < 1)).all()


def test_known_labels_tell_the_others(rows):
    X, Y = rows
    clf = fitted(rows).partial_fit(X[60:100], Y[60:100])
    X, Y = X[100:], Y[100:]
    known = Y.copy()
    known[:, 1] = NO
    alone, given = clf.decision_function(X), clf.decision_function(X, known)
    assert_array_equal(given[:, [0, 2, 3]], Y[:, [0, 2, 3]] - 0.5)
    errors = [np.mean((part[:, 1] + 0.5 - Y[:, 1]) ** 2) for part in (alone, given)]
    assert errors[1] < errors[0]
    assert_array_equal(clf.predict(X, known), given >= 0.0)
    p = clf.predict_proba(X, known)
    assert_array_equal(p[:, [0, 2, 3]], Y[:, [0, 2, 3]])
    assert measures.log_loss(Y[:, [1]], p[:, [1]]) < measures.log_loss(
        Y[:, [1]], clf.predict_proba(X)[:, [1]]
    )
    nothing = np.full(Y.shape, NO)
    assert_array_equal(clf.decision_function(X, nothing), alone)
    assert_array_equal(clf.predict(X, nothing), clf.predict(X))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (np.zeros((2, 3)), r"known must have the shape \(2, 4\), .*; got \(2, 3\)"),
        (np.zeros((3, 4)), r"known must have the shape \(2, 4\), .*; got \(3, 4\)"),
        (np.zeros(4), r"known must have the shape \(2, 4\), .*; got \(4,\)"),
        (np.full((2, 4), 0.5), r"known must hold 0, 1 or NaN \(unknown\); got 0.5"),
        ([["yes"] * 4] * 2, r"known must hold 0, 1 or NaN \(unknown\); got other objects"),
    ],
)
def test_bad_known_labels_are_refused_with_a_sentence(rows, known, words):
    clf = fitted(rows)
    for ask in (clf.predict, clf.predict_proba, clf.decision_function):
        with pytest.raises(ValueError, match=words):
            ask(rows[0][:2], known)


def test_known_labels_of_a_frame_have_the_names_of_the_model(rows):
    pandas = pytest.importorskip("pandas")
    X, Y = rows
    names = list("abcd")
    clf = EFCMLClassifier(**QUICK).fit(X[:60], pandas.DataFrame(Y[:60], columns=names))
    frame = pandas.DataFrame(Y[:2], columns=names)
    assert_array_equal(clf.predict(X[:2], frame), Y[:2])
    with pytest.raises(ValueError, match=r"known must have the columns \['a', 'b', 'c', 'd'\]"):
        clf.predict(X[:2], frame[["b", "a", "c", "d"]])


def test_models_that_know_nothing_of_other_labels_refuse(rows):
    X, Y = rows
    known = np.full((2, 4), NO)
    for model in (OneVsRestEFC(**QUICK), LabelFrequencies()):
        with pytest.raises(ValueError, match="known needs a model that has learned labels toget"):
            model.fit(X[:60], Y[:60]).predict(X[:2], known)
    single = EFCMLClassifier(**QUICK).fit(X[:60], Y[:60, 0])
    with pytest.raises(ValueError, match="a 1-D y has no other label"):
        single.predict(X[:2], known[:, 0])
    with pytest.raises(ValueError, match="decision='f1' needs a model that learns all labels"):
        OneVsRestEFC(**QUICK, decision="f1").fit(X[:60], Y[:60])


def test_during_a_warm_up_known_labels_stay_and_say_nothing(rows):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK, decision="f1").partial_fit(X[:20], Y[:20])
    known = np.array([[1.0, NO, 0.0, NO]])
    alone, given = clf.decision_function(X[20:21]), clf.decision_function(X[20:21], known)
    assert_array_equal(given[0, [1, 3]], alone[0, [1, 3]])
    assert_array_equal(given[0, [0, 2]], [0.5, -0.5])
    assert_array_equal(clf.predict(X[20:21], known)[0, [0, 2]], [1, 0])


def test_a_saved_model_goes_on_alike(rows, tmp_path):
    X, Y = rows
    clf = fitted(rows, decision="subset")
    save(clf, tmp_path / "model.npz")
    other = load(tmp_path / "model.npz")
    results = [prequential(model, X[60:], Y[60:]) for model in (clf, other)]
    assert_array_equal(results[0].decisions, results[1].decisions)
    assert_array_equal(results[0].probabilities, results[1].probabilities)


def test_late_labels_are_decided(rows):
    X, Y = rows
    clf = fitted(rows, decision="subset").add_labels(1)
    more = np.hstack([Y[60:], 1.0 - Y[60:, :1]])
    result = prequential(clf, X[60:], more)
    assert result.decisions[:, 4].any()
    assert clf.predict(X, np.full((len(X), 5), NO)).shape == (160, 5)


def test_probabilities_are_learned(rows):
    X, Y = stream(1200, seed=3)
    clf = EFCMLClassifier(**QUICK).fit(X[:200], Y[:200])
    result = prequential(clf, X[200:], Y[200:])
    summary, bent = result.summary(), measures.summary(result.Y, result.scores)
    assert summary["log_loss"] < bent["log_loss"]
    assert summary["calibration_error"] < 0.05


def test_a_flat_target_has_the_same_probabilities_in_a_loop(rows):
    X, Y = rows
    loop, whole = (EFCMLClassifier(**QUICK).fit(X[:60], Y[:60, 0]) for _ in range(2))
    result = prequential(whole, X[60:80], Y[60:80, 0])
    for t in range(60, 80):
        said = loop.predict_proba(X[[t]])
        assert_array_equal(said[0, 1], result.probabilities[t - 60, 0])
        assert_array_equal(said[0, 1] >= 0.5, result.decisions[t - 60, 0])
        loop.partial_fit(X[[t]], Y[[t], 0])
