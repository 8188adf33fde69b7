"""What users may expect of the default on streams that are not kind, by accuracy; quick sizes."""

import numpy as np
import pytest
from helpers.models import learn_late

from efcml import EFCMLClassifier, OneVsRestEFC, prequential
from efcml.evaluation import blocks
from efcml.model.temporal import TemporalStage

INITIAL = 300


def run(X, Y, delay=0, initial=INITIAL, **changes):
    clf = EFCMLClassifier(**changes).fit(X[:initial], Y[:initial])
    return prequential(clf, X[initial:], Y[initial:], delay=delay), clf


def products(rng, n, X=None):
    X = rng.normal(size=(n, 5)) if X is None else X
    heights = np.c_[X[:, 0] * X[:, 1], X[:, 2] ** 2 - 1.0, X[:, 3]]
    return X, (heights + 0.5 * rng.normal(size=(n, 3)) > 0.0).astype(float)


def slow(rng, n, p, kept):
    """Stationary rows of which each is mostly the one before."""
    X = rng.normal(size=(n, p))
    for t in range(1, n):
        X[t] = kept * X[t - 1] + np.sqrt(1.0 - kept**2) * X[t]
    return X


def test_a_column_that_grows_costs_little(rng):
    X, Y = products(rng, 1200)
    without, _ = run(X, Y)
    grown, clf = run(np.c_[X, np.arange(1200)], Y)
    assert clf.learner_.scaler.ignored.tolist() == [False] * 5 + [True]
    assert grown.pa > without.pa - 0.02  # 4 points before


@pytest.mark.parametrize("delay, least", [(60, -0.005), (5, 0.005), (0, 0.02)])
def test_time_is_judged_by_what_was_known_when_rows_were_answered(rng, delay, least):
    Y = np.repeat(rng.integers(0, 2, (24, 3)), 50, axis=0).astype(float)
    X = Y @ rng.normal(size=(3, 4)) + rng.normal(size=(1200, 4))
    gain = run(X, Y, delay)[0].pa - run(X, Y, delay, time=False)[0].pa
    assert gain > least  # -3 points before with a delay of 60


def test_rows_that_follow_each_other_slowly_are_no_change_of_scale(rng):
    X, Y = products(rng, 1500, slow(rng, 1500, 5, 0.99))
    followed, clf = run(X, Y, initial=500)
    assert not any(kind in ("new scale", "began anew") for _, kind, _ in followed.events)
    assert followed.pa > run(X, Y, initial=500, scaling="frozen")[0].pa - 0.005


def test_a_level_of_labels_that_wanders_is_left_to_time(rng):
    X, u = rng.normal(size=(2500, 5)), slow(rng, 2500, 3, 0.98)
    Y = (0.7 * X @ rng.normal(size=(5, 3)) + 1.5 * u > 0.0).astype(float)
    followed, _ = run(X, Y)
    assert followed.drifts <= 1  # 6 before
    assert followed.pa > run(X, Y, forgetting=1.0)[0].pa - 0.006


def test_probabilities_of_rare_labels_hold(rng):
    X = rng.standard_t(3, size=(4000, 6))
    heights = X @ rng.normal(size=(6, 5)) + 2.0 * rng.normal(size=(4000, 5))
    Y = (heights > np.quantile(heights, 0.98, axis=0)).astype(float)
    result, _ = run(X, Y, initial=1000)
    sure = result.probabilities > 0.6
    assert sure.sum() > 50
    assert abs(result.probabilities[sure].mean() - Y[1000:][sure].mean()) < 0.08  # .12 before
    clipped = np.clip(result.scores, 1e-3, 1.0 - 1e-3)
    assert log_loss(result.probabilities, Y[1000:]) < log_loss(clipped, Y[1000:]) + 0.002


def log_loss(p, Y):
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    return -np.mean(Y * np.log(p) + (1.0 - Y) * np.log(1.0 - p))


def test_first_probabilities_count_what_was_seen():
    X, Y = np.zeros((4, 2)), np.array([[0.0, 1.0], [0.0, 1.0], [np.nan, 1.0], [0.0, 0.0]])
    clf = EFCMLClassifier()
    for t, expected in enumerate([[0.25, 0.75], [1 / 6, 5 / 6], [1 / 6, 7 / 8], [1 / 8, 7 / 10]]):
        clf.partial_fit(X[t : t + 1], Y[t : t + 1])
        assert np.allclose(clf.predict_proba(X[:1])[0], expected)
    result = prequential(EFCMLClassifier(), X, Y)
    assert np.allclose(result.probabilities[:2], [[0.5, 0.5], [0.25, 0.75]])


def test_weights_count_as_rows_in_all_that_is_learned_from_errors(rng):
    """Of the scores of rules alone: scale and prior know of no weights."""
    X, Y = products(rng, 400)
    fixed = {"cases": 0, "time": False, "prior": 1.0, "max_rules": 1, "forgetting": 1.0}
    one, two = (EFCMLClassifier(**fixed).fit(X[:100], Y[:100]) for _ in range(2))
    one.partial_fit(X[100:], Y[100:], sample_weight=np.full(300, 2.0))
    for t in range(100, 400):
        for _ in range(2):
            two.partial_fit(X[t : t + 1], Y[t : t + 1])
    rows = [clf.learner_.labels.arrays.rows for clf in (one, two)]
    assert np.allclose(*rows) and rows[0].tolist() == [700.0] * 3


def test_one_heavy_row_is_no_more_than_the_row_many_times(rng):
    """In probabilities: a contrary row of weight 100, and 300 rows of a new stream after it."""
    X, Y = products(rng, 1200)
    x, y = X[600:601], 1.0 - Y[600:601]

    def brier(*steps):
        clf = EFCMLClassifier().fit(X[:INITIAL], Y[:INITIAL]).partial_fit(X[300:600], Y[300:600])
        for weight in steps:
            clf.partial_fit(x, y, sample_weight=weight)
        return ((clf.predict_proba(X[601:]) - Y[601:]) ** 2).mean()

    none, heavy, often = brier(), brier(100.0), brier(*[1.0] * 100)
    assert none < heavy <= often


@pytest.mark.parametrize("weight", [1e-3, 0.3, 100.0])
def test_weights_that_are_all_alike_change_nothing(rng, weight):
    X, Y = products(rng, 500)
    plain = EFCMLClassifier().fit(X[:INITIAL], Y[:INITIAL]).partial_fit(X[INITIAL:], Y[INITIAL:])
    same = EFCMLClassifier().fit(X[:INITIAL], Y[:INITIAL], np.full(INITIAL, weight))
    same.partial_fit(X[INITIAL:], Y[INITIAL:], sample_weight=np.full(500 - INITIAL, weight))
    assert np.array_equal(same.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("where", ["initial", "stream", "both"])
def test_wild_values_cost_no_more_than_missing_ones(rng, where):
    X = rng.normal(size=(1200, 5))
    Y = (X @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(1200, 4)) > 0.2).astype(float)
    wild = rng.random(X.shape) < 0.05
    wild[: INITIAL if where == "stream" else 0] = False
    wild[INITIAL if where == "initial" else len(X) :] = False
    spoiled = run(np.where(wild, 1e3 * rng.normal(size=X.shape), X), Y)[0].pa
    assert spoiled > run(np.where(wild, np.nan, X), Y)[0].pa - 0.01  # 17 points before


def test_wild_values_that_mean_something_are_kept(rng):
    X, far = rng.normal(size=(1200, 5)), rng.random(1200) < 0.05
    X[far, 0] = -999.0  # a code of one sensor
    Y = np.c_[far, X[:, 1] > 0.0].astype(float)
    decided = run(X, Y)[0].decisions[:, 0]
    assert decided[far[INITIAL:]].mean() > 0.9 > 0.02 > decided[~far[INITIAL:]].mean()  # 0 before


def test_time_changes_nothing_where_rows_are_independent(rng):
    X, Y = products(rng, 1000)
    assert np.array_equal(run(X, Y)[0].scores, run(X, Y, time=False)[0].scores)


def long_lives(rng, n=600):
    """Labels that stay what they are for some fifty rows, of which features tell little."""
    Y = np.repeat(rng.integers(0, 2, (n // 50, 2)), 50, axis=0).astype(float)
    return Y @ rng.normal(size=(2, 3)) + 3.0 * rng.normal(size=(n, 3)), Y


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC])
def test_an_answer_depends_on_nothing_that_comes_with_the_row(rng, make, monkeypatch):
    """Every row is answered as the next one, unless it is said how far ahead it is."""
    X, Y = long_lives(rng)
    clf, n = make().fit(X[:200], Y[:200]).partial_fit(X[200:500], Y[200:500]), 100
    for answer in (clf.decision_function, clf.predict, clf.predict_proba):
        together = answer(X[500:])
        assert np.array_equal(together, [answer(x[None])[0] for x in X[500:]])
        ahead = answer(X[500:], ahead=np.arange(n))
        later = [answer(x[None], ahead=t)[0] for t, x in enumerate(X[500:])]
        assert np.array_equal(ahead, later)
    assert not np.allclose(clf.decision_function(X[500:]), clf.decision_function(X[500:], ahead=9))
    static, blocks_of = prequential(clf, X[500:], Y[500:], learn=False), []
    for rows in (7, 1000):
        monkeypatch.setattr(blocks, "ROWS", rows)
        blocks_of.append(prequential(clf, X[500:], Y[500:], learn=False).scores)
    assert np.array_equal(static.scores - 0.5, clf.decision_function(X[500:], ahead=np.arange(n)))
    assert np.array_equal(static.scores, blocks_of[0]) and np.array_equal(*blocks_of)
    for wrong in (-1, 0.5, np.arange(3), "soon"):
        with pytest.raises(ValueError, match="ahead must be a whole number >= 0, or one for each"):
            clf.predict(X, ahead=wrong)


def test_an_explanation_is_of_the_answer_wherever_the_row_stands(rng):
    X, Y = long_lives(rng)
    clf = EFCMLClassifier().fit(X[:200], Y[:200]).partial_fit(X[200:500], Y[200:500])
    scores = clf.decision_function(X[500:]) + 0.5
    assert np.allclose([clf.explain(x).score for x in X[500:]], scores, rtol=0.0, atol=1e-12)


def test_an_answer_by_hand_is_as_late_as_it_is(rng):
    """To go on at once after sixty rows without answers is not to know the last row."""
    Y = np.repeat(rng.integers(0, 2, (20, 2)), 50, axis=0).astype(float)
    X = Y @ rng.normal(size=(2, 3)) + rng.normal(size=(1000, 3))
    clf = EFCMLClassifier().fit(X[:INITIAL], Y[:INITIAL])
    learner = learn_late(clf, X[300:600], Y[300:600], 0).learner_
    learner.pass_rows(61)
    learner.learn(X[600:601], Y[600:601], late=60)
    assert learner.stage(TemporalStage).arrays.ago.tolist() == [61, 61]
