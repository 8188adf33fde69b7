"""Measures: by definition and by scikit-learn, over tables, by row, in windows and fading."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import measures as naive
from naive.measures import labels_and_scores
from numpy.testing import assert_array_equal
from sklearn import metrics
from sklearn.calibration import calibration_curve

from efcml import measures
from efcml.measures import MEASURES, Measure, summary, trend

NAMES = tuple(MEASURES)
EACH = pytest.mark.parametrize("name", NAMES)
FUNCTIONS = {name: getattr(measures, one.counts.__name__) for name, one in MEASURES.items()}
DECIDED = ("pa", "subset_accuracy", "example_f1", "micro_f1", "macro_f1")
RANKED = ("ap", "ranking_loss", "one_error", "coverage")
NO = np.nan


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def same(a, b):
    return a == pytest.approx(b, abs=1e-12, nan_ok=True)


@EACH
@given(case=labels_and_scores(unknown=True))
def test_the_definition_with_ties_and_unknown_labels(name, case):
    Y, scores = case
    assert_close(MEASURES[name](Y, scores), naive.value(name, Y, scores))
    expected = [naive.value(name, [y], [s]) for y, s in zip(Y, scores, strict=True)]
    assert_close(MEASURES[name].rows(Y, scores), expected)


@EACH
@given(case=labels_and_scores(unknown=True), window=st.integers(1, 14))
def test_trends_over_all_rows_and_a_window(name, case, window):
    Y, scores = case
    for options, length in (({}, len(Y)), ({"window": window}, window)):
        parts = [slice(max(0, end - length), end) for end in range(1, len(Y) + 1)]
        expected = [naive.value(name, Y[rows], scores[rows]) for rows in parts]
        assert_close(trend(Y, scores, name, **options), expected)


@pytest.mark.parametrize(
    ("y", "scores", "expected"),
    [
        # PA, subset, F1 by row, micro, macro; then AP, ranking loss, one-error, coverage.
        ([1, 0, 0], [0.4, 0.6, 0.1], (1 / 3, 0, 0, 0, 0, 0.5, 0.5, 1, 2)),
        # No true label: nothing to rank.
        ([0, 0, 0], [0.4, 0.3, 0.1], (1, 1, 1, NO, NO, NO, NO, NO, NO)),
        # All labels true: no pair, and no way to be wrong.
        ([1, 1, 1], [0.9, 0.3, 0.1], (1 / 3, 0, 0.5, 0.5, 1 / 3, 1, NO, 0, 3)),
        # Unknown labels: as if they did not exist, whatever their score.
        ([1, NO, 0], [0.8, np.inf, 0.6], (0.5, 0, 2 / 3, 2 / 3, 0.5, 1, 0, 0, 1)),
        ([1, NO, 1], [0.8, 0.9, 0.1], (0.5, 0, 2 / 3, 2 / 3, 0.5, 1, NO, 0, 2)),
        # Ties count against the model; 0.5 is a yes.
        ([1, 0, 0], [0.5, 0.5, 0.1], (2 / 3, 0, 2 / 3, 2 / 3, 0.5, 0.5, 0.5, 1, 2)),
        ([1, 1, 0], [0.9, 0.2, 0.2], (2 / 3, 0, 2 / 3, 2 / 3, 0.5, 5 / 6, 0.5, 0, 3)),
        # Infinite scores are ranked, and none is clipped.
        ([1, 0, NO], [-np.inf, 0.0, -np.inf], (0.5, 0, 0, 0, 0, 0.5, 1, 1, 2)),
        ([1, 1, NO], [np.inf, -np.inf, -np.inf], (0.5, 0, 2 / 3, 2 / 3, 0.5, 1, NO, 0, 2)),
        ([0, 1], [-3.0, -2.0], (0.5, 0, 0, 0, 0, 1, 0, 0, 1)),
        ([0], [0.3], (1, 1, 1, NO, NO, NO, NO, NO, NO)),
    ],
)
def test_conventions(y, scores, expected):
    Y, scores = np.array([y, [NO] * len(y)], dtype=float), np.array([scores, scores])
    found = summary(Y, scores)  # a row without known labels changes nothing
    assert_close([found[name] for name in (*DECIDED, *RANKED)], expected)
    for name, value in zip((*DECIDED, *RANKED), expected, strict=True):
        assert_close(MEASURES[name].rows(Y, scores), [value, NO])


def test_a_summary_has_all_measures_and_they_differ():
    Y = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    scores = [[0.9, 0.2, 0.6, 0.1], [0.3, 0.7, 0.1, 0.6], [0.2, 0.8, 0.9, 0.1], [0.1] * 4]
    found = summary(Y, scores)
    assert tuple(found) == NAMES
    assert all(type(value) is float for value in found.values())
    assert len({round(value, 6) for value in found.values()}) == len(NAMES)
    assert {function.__name__ for function in FUNCTIONS.values()} <= set(measures.__all__)
    for name, measure in MEASURES.items():
        assert (measure.name, found[name]) == (name, measure(Y, scores))
        assert re.fullmatch(r"[A-Z1].*[^.]\.", measure.meaning), measure.meaning
        right, wrong = measure([[1, 0]], [[0.9, 0.1]]), measure([[1, 0]], [[0.1, 0.9]])
        assert (right > wrong) == (measure.better == "up")


def test_a_model_gives_decisions_and_probabilities_of_its_own(rng):
    Y, scores = rng.integers(2, size=(30, 4)).astype(float), rng.normal(0.5, 1.0, (30, 4))
    own = {"scores": scores, "labels": scores >= -1.0, "probabilities": rng.random((30, 4))}
    for name, measure in MEASURES.items():
        given_ = own[measure.takes]
        assert measure(Y, given_, ready=True) == FUNCTIONS[name](Y, given_)
        assert_close(trend(Y, given_, name, ready=True)[-1], FUNCTIONS[name](Y, given_))
        if measure.takes != "scores":
            assert measure(Y, given_, ready=True) != measure(Y, scores)


@pytest.mark.parametrize("pair", [False, True])
def test_a_measure_of_ones_own_by_values_of_rows_or_by_counts(monkeypatch, pair):
    def missed(Y, labels):
        """Give points and points possible, or one value per row."""
        counts = ((Y == 1) & (labels == 0)).sum(axis=1), (Y == 1).sum(axis=1)
        return counts if pair else np.where(counts[1] > 0, counts[0], NO)

    own = Measure("missed", "missed labels", "Labels missed.", "down", "labels", counts=missed)
    monkeypatch.setitem(MEASURES, "missed", own)
    Y, scores = [[1, 1, 0], [0, 0, 0], [1, NO, 0]], [[0.9, 0.1, 0.1], [0.9] * 3, [0.1] * 3]
    value, by_row = (2 / 3, [0.5, NO, 1.0]) if pair else (1.0, [1.0, NO, 1.0])
    assert_close(summary(Y, scores)["missed"], value)
    assert_close(own.rows(Y, scores), by_row)
    assert_close(trend(Y, scores, "missed", window=2), [by_row[0], by_row[0], 1.0])


# -- scikit-learn ---------------------------------------------------------------------------


@given(labels_and_scores(least_labels=2))
def test_decisions_are_those_of_scikit_learn(case):
    Y, scores = case
    ours, labels = summary(Y, scores), (scores >= 0.5).astype(float)
    assert same(ours["pa"], 1 - metrics.hamming_loss(Y, labels))
    assert same(ours["subset_accuracy"], metrics.accuracy_score(Y, labels))
    by_row = metrics.f1_score(Y, labels, average="samples", zero_division=1)
    assert same(ours["example_f1"], by_row)
    if not (Y + labels).any():
        assert np.isnan([ours["micro_f1"], ours["macro_f1"]]).all()
        return
    for average in ("micro", "macro"):
        expected = metrics.f1_score(Y, labels, average=average, zero_division=np.nan)
        assert same(ours[f"{average}_f1"], expected)


@given(labels_and_scores(least_labels=2))
def test_rankings_are_those_of_scikit_learn_on_rows_that_have_one(case):
    Y, scores = case
    ours, n, labelled = summary(Y, scores), len(Y), Y.sum(axis=1) > 0
    paired, m = labelled & (Y.sum(axis=1) < Y.shape[1]), labelled.sum()
    if paired.any():
        whole = metrics.label_ranking_loss(Y, scores)
        assert same(ours["ranking_loss"] * paired.sum() / n, whole)
    else:
        assert np.isnan(ours["ranking_loss"])
    if not m:
        assert np.isnan([ours["ap"], ours["one_error"], ours["coverage"]]).all()
        return
    whole = metrics.label_ranking_average_precision_score(Y, scores)
    assert same((ours["ap"] * m + (n - m)) / n, whole)
    assert same(ours["coverage"] * m / n, metrics.coverage_error(Y, scores))
    best = np.where(Y == 1, scores, -np.inf).max(axis=1)[labelled]
    false = np.where(Y == 0, scores, -np.inf).max(axis=1)[labelled]
    assert same(ours["one_error"], np.mean(false >= best))


@pytest.mark.parametrize(("n", "K"), [(1, 2), (60, 4)])
def test_probabilities_are_those_of_scikit_learn(rng, n, K):
    p = rng.random((n, K))  # no edge of a bin among them: there, both round differently
    Y = (rng.random((n, K)) < p).astype(float)
    Y[0, :2] = 0, 1
    column, shares = Y.ravel(), p.ravel()
    assert same(measures.log_loss(Y, p), metrics.log_loss(column, shares, labels=[0, 1]))
    assert same(measures.brier_score(Y, p), metrics.brier_score_loss(column, shares, pos_label=1))
    true, said = calibration_curve(column, shares, n_bins=10)
    counts = np.bincount(np.minimum((10 * shares).astype(int), 9), minlength=10)
    error = (counts[counts > 0] * np.abs(true - said)).sum() / len(shares)
    assert same(measures.calibration_error(Y, p), error)
    holes = np.where(rng.random(Y.shape) < 0.3, NO, Y)
    said, happened, counts = measures.reliability(holes, p)
    assert counts.sum() == (~np.isnan(holes)).sum()
    found = np.nansum(np.abs(said - happened) * counts) / max(counts.sum(), 1)
    assert counts.sum() == 0 or same(found, measures.calibration_error(holes, p))


def test_bins_and_ends_of_probabilities():
    """Bins [0, .1), ..., [.9, 1]: two labels at .75, one of them true, and a false one at 1."""
    found = measures.calibration_error([[1, 0, 0, NO]], [[0.75, 0.75, 1.0, 0.2]])
    assert same(found, (2 * 0.25 + 1.0) / 3)
    assert same(measures.calibration_error([[1, 0]], [[0.1, 0.05]]), (0.9 + 0.05) / 2)
    said, happened, counts = measures.reliability([[1.0, NO]], [[1.0, 0.3]])
    assert_array_equal(np.flatnonzero(counts), [9])
    assert (said[9], happened[9]) == (1.0, 1.0)
    assert np.isnan(said[:9]).all() and np.isnan(happened[:9]).all()
    assert measures.log_loss([[1.0]], [[0.0]]) == measures.log_loss([[0.0]], [[1.0]])
    assert 36 < measures.log_loss([[1.0]], [[0.0]]) < 37
    assert measures.log_loss([[1.0]], [[1.0]]) < 1e-15


# -- along a stream -------------------------------------------------------------------------


def test_rows_without_the_measure_take_their_place():
    Y, scores = [[1, 0], [0, 0], [0, 0]], [[0.9, 0.1]] * 3
    assert_array_equal(trend(Y, scores, "ap", window=2), [1.0, 1.0, NO])


def test_windows_gather_hardly_any_rounding_errors(rng):
    Y, scores = np.eye(7)[rng.integers(7, size=500)], rng.random((500, 7))
    Y[-7:] = scores[-7:] = np.eye(7)[0]
    assert trend(Y, scores, "ap", window=7)[-1] == pytest.approx(1.0, abs=1e-12)
    assert trend([[1], [1]], [[1], [0]], window=10**15).tolist() == [1.0, 0.5]


def test_masked_labels_are_unknown():
    Y = np.ma.masked_array([[1, 0, 1]], mask=[[False, False, True]])
    assert measures.partial_accuracy(Y, [[1, 1, 0]]) == 0.5


# -- refused --------------------------------------------------------------------------------

ROW = [[1, 0]], [[1, 0]]


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), summary, trend])
@pytest.mark.parametrize(
    ("Y", "predicted", "words"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3)), "at least one row and one label"),
        (np.zeros((3, 0)), np.zeros((3, 0)), "at least one row and one label"),
        ([[1, 0]], [[1, 0, 0]], "give two tables of equal shape"),
        ([1, 0], [1, 0], "give two tables of equal shape"),
        ([[1, 2]], [[1, 0]], r"Y\[0, 1\] is 2: labels are 0, 1, or NaN"),
        ([[1, 0]], [[1, NO]], r"(labels|scores|probabilities)\[0, 1\] is nan"),
    ],
)
def test_bad_tables_are_refused(function, Y, predicted, words):
    with pytest.raises(ValueError, match=words):
        function(Y, predicted)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: measures.partial_accuracy(ROW[0], [[0.7, 0]]), r"labels\[0, 0\] is 0.7: give"),
        (lambda: measures.log_loss(ROW[0], [[0.5, 1.1]]), "give a number from 0 to 1"),
        (lambda: measures.log_loss(ROW[0], [[0.5, -0.1]]), "give a number from 0 to 1"),
        (lambda: trend(*ROW, measure="f1"), "no measure 'f1': choose from pa, ap, subset_accuracy"),
        *((lambda w=w: trend(*ROW, window=w), "window must be a whole") for w in (0, 2.0, True)),
    ],
)
def test_bad_input_is_refused_with_one_line(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
