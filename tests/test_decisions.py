"""`decision`, `known` and learned probabilities through the estimators and streams."""

import numpy as np
import pandas as pd
import pytest
from helpers.models import freeze, learn_late
from numpy.testing import assert_array_equal

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, measures, prequential

QUICK = {"prior": 1.0, "vigilance": 0.3, "birth_width": 0.3, "cases": 12, "warmup_rows": 30}
NO = np.nan


def stream(n=160, K=4, seed=0):
    """Labels that share what the features do not tell; the last is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    common = rng.normal(size=(n, 1))
    heights = X @ rng.normal(size=(3, K)) + 1.5 * common * [1, 1, -1, 0.5] + rng.normal(size=(n, K))
    return X, (heights > [0, 0, 0, 2.5]).astype(float)


X, Y = stream()


def fitted(**changes):
    return EFCMLClassifier(**QUICK, **changes).fit(X[:60], Y[:60])


@pytest.mark.parametrize("decision", ["hamming", "f1", "subset"])
def test_a_loop_of_answers_is_a_stream(decision):
    labels = Y.copy()
    labels[70:80, 1] = labels[90] = NO
    loop, whole = fitted(decision=decision), fitted(decision=decision)
    result = prequential(whole, X[60:110], labels[60:110])
    assert result.decisions.dtype == bool
    for t in range(60, 110):
        x = X[t : t + 1]
        assert_array_equal(loop.predict(x)[0], result.decisions[t - 60])
        assert_array_equal(loop.predict_proba(x)[0], result.probabilities[t - 60])
        assert_array_equal(loop.decision_function(x)[0], result.scores[t - 60] - 0.5)
        loop.partial_fit(x, labels[t : t + 1])
    assert freeze(loop) == freeze(whole)
    plain = prequential(fitted(), X[60:110], labels[60:110])
    assert_array_equal(plain.scores, result.scores)
    assert_array_equal(plain.probabilities, result.probabilities)
    assert_array_equal(plain.decisions, plain.scores >= 0.5)
    assert (plain.decisions != result.decisions).any() == (decision != "hamming")
    assert result.pa == measures.partial_accuracy(labels[60:110], result.decisions)


def test_with_late_labels_rows_are_decided_by_what_is_known():
    late, other = fitted(decision="f1"), fitted(decision="f1")
    result = prequential(late, X[60:100], Y[60:100], delay=5)
    for t in range(40):
        if t > 5:  # row t + delay is answered before row t is learned
            learn_late(other, X[54 + t : 55 + t], Y[54 + t : 55 + t], 5)
        waiting = X[max(60, 55 + t) : 61 + t]  # rows that have come and whose labels have not
        assert_array_equal(other.predict(waiting)[-1], result.decisions[t])
        assert_array_equal(other.predict_proba(waiting)[-1], result.probabilities[t])


def test_without_learning_and_with_questions_rows_are_decided_likewise():
    clf = fitted(decision="subset")
    result = prequential(clf, X[60:], Y[60:], learn=False)
    assert_array_equal(result.decisions, clf.predict(X[60:]))
    assert_array_equal(result.probabilities, clf.predict_proba(X[60:]))
    one, other, active = (
        fitted(decision="f1"),
        fitted(decision="f1"),
        ActiveLearner(1.0, criteria="all"),
    )
    result = prequential(one, X[60:80], Y[60:80], active=ActiveLearner(1.0, criteria="all"))
    assert (result.decisions != (result.scores >= 0.5)).any()
    for t in range(60, 80):
        assert_array_equal(other.predict(X[[t]])[0], result.decisions[t - 60])
        assert_array_equal(other.predict_proba(X[[t]])[0], result.probabilities[t - 60])
        assert_array_equal(other.decision_function(X[[t]])[0], result.scores[t - 60] - 0.5)
        active.tell(other, X[t], Y[t])


def test_known_labels_tell_the_others():
    clf = fitted().partial_fit(X[60:100], Y[60:100])
    rows, labels = X[100:], Y[100:]
    known, others = labels.copy(), [0, 2, 3]
    known[:, 1] = NO
    alone, given = clf.decision_function(rows), clf.decision_function(rows, known)
    assert_array_equal(given[:, others], labels[:, others] - 0.5)
    errors = [np.mean((part[:, 1] + 0.5 - labels[:, 1]) ** 2) for part in (alone, given)]
    assert errors[1] < errors[0]
    assert_array_equal(clf.predict(rows, known), given >= 0.0)
    p = clf.predict_proba(rows, known)
    assert_array_equal(p[:, others], labels[:, others])
    assert ((p[:, 1] > 0.0) & (p[:, 1] < 1.0)).all()
    nothing = np.full(labels.shape, NO)
    assert_array_equal(clf.decision_function(rows, nothing), alone)
    assert_array_equal(clf.predict(rows, nothing), clf.predict(rows))
    warm = EFCMLClassifier(**QUICK, decision="f1").partial_fit(X[:20], Y[:20])
    known = np.array([[1.0, NO, 0.0, NO]])
    alone, given = warm.decision_function(X[20:21])[0], warm.decision_function(X[20:21], known)[0]
    assert_array_equal(given, [0.5, alone[1], -0.5, alone[3]])
    assert_array_equal(warm.predict(X[20:21], known)[0, [0, 2]], [1, 0])


def test_bad_known_labels_are_refused_with_a_sentence():
    names = list("abcd")
    clf = EFCMLClassifier(**QUICK).fit(X[:60], pd.DataFrame(Y[:60], columns=names))
    frame = pd.DataFrame(Y[:2], columns=names)
    assert_array_equal(clf.predict(X[:2], frame), Y[:2])
    for known, words in [
        (np.zeros((2, 3)), "known has 3 labels, but 4 are expected"),
        (np.zeros((3, 4)), "X and known have inconsistent numbers of rows: 2 and 3"),
        (np.zeros(4), r"known must be 2-D with 4 labels, as in the first call; got shape \(4,\)"),
        (np.full((2, 4), 0.5), r"known must hold 0, 1 or NaN \(unknown\); got 0.5"),
        ([["yes"] * 4] * 2, r"known must hold 0, 1 or NaN \(unknown\); got other objects"),
        (frame[list("bacd")], r"known must have the columns \['a', 'b', 'c', 'd'\]"),
    ]:
        for ask in (clf.predict, clf.predict_proba, clf.decision_function):
            with pytest.raises(ValueError, match=words):
                ask(X[:2], known)
    known = np.full((2, 4), NO)
    with pytest.raises(ValueError, match="known needs a model that has learned labels together"):
        OneVsRestEFC(**QUICK).fit(X[:60], Y[:60]).predict(X[:2], known)
    single = EFCMLClassifier(**QUICK).fit(X[:60], Y[:60, 0])
    with pytest.raises(ValueError, match="a 1-D y has no other label"):
        single.predict(X[:2], known[:, 0])
