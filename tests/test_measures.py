"""Measures over a table: definitions, conventions, refusals."""

import re

import numpy as np
import pytest
from hypothesis import given
from naive import measures as naive
from naive.measures import labels_and_scores
from numpy.testing import assert_array_equal

from efcml import measures
from efcml.measures import (
    MEASURES,
    average_precision,
    average_precision_rows,
    coverage,
    coverage_rows,
    example_f1,
    example_f1_rows,
    macro_f1,
    micro_f1,
    one_error,
    one_error_rows,
    partial_accuracy,
    partial_accuracy_rows,
    ranking_loss,
    ranking_loss_rows,
    running_mean,
    subset_accuracy,
    subset_accuracy_rows,
    summary,
)

NAMES = tuple(MEASURES)
FUNCTIONS = [
    function
    for measure in MEASURES.values()
    for function in (measure.function, measure.row_function)
    if function is not None
]
# Those of the examples by hand.
RANKED = (average_precision, ranking_loss, one_error, coverage)
RANKED_ROWS = (average_precision_rows, ranking_loss_rows, one_error_rows, coverage_rows)
DECIDED = (partial_accuracy, subset_accuracy, example_f1, micro_f1, macro_f1)
DECIDED_ROWS = (partial_accuracy_rows, subset_accuracy_rows, example_f1_rows)
NO = np.nan


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(case=labels_and_scores(unknown=True))
def test_the_definition_with_ties_and_unknown_labels(name, case):
    Y, scores = case
    assert_close(MEASURES[name](Y, scores), naive.value(name, Y, scores))


@pytest.mark.parametrize("name", naive.BY_ROW)
@given(case=labels_and_scores(unknown=True))
def test_rows_by_definition(name, case):
    Y, scores = case
    rows = MEASURES[name].rows(Y, scores)
    assert_close(rows, [naive.BY_ROW[name](y, s) for y, s in zip(Y, scores, strict=True)])
    if not np.isnan(rows).all():
        assert_close(MEASURES[name](Y, scores), np.nanmean(rows))


@given(case=labels_and_scores(unknown=True))
def test_rows_of_partial_accuracy(case):
    Y, scores = case
    expected = [naive.value("pa", [y], [s]) for y, s in zip(Y, scores, strict=True)]
    assert_close(MEASURES["pa"].rows(Y, scores), expected)
    assert_close(running_mean(MEASURES["pa"].rows(Y, scores))[-1:], mean_or_nan(expected))


def mean_or_nan(values):
    defined = [value for value in values if not np.isnan(value)]
    return [sum(defined) / len(defined) if defined else np.nan]


def test_tallies_give_rows_and_whole(rng):
    Y, scores = rng.integers(2, size=(30, 4)), rng.random((30, 4)).round(1)
    assert MEASURES["macro_f1"].tallies(Y, scores).shape == (30, 2, 4)
    assert MEASURES["calibration_error"].tallies(Y, scores).shape == (30, 2, 10)
    for name in set(NAMES) - {"macro_f1", "calibration_error"}:
        tallies = MEASURES[name].tallies(Y, scores)
        assert tallies.shape == (30, 2, 1)
        gained, possible = tallies.sum(axis=0)[:, 0]
        assert_close(gained / possible, MEASURES[name](Y, scores))


@pytest.mark.parametrize(
    ("y", "scores", "expected"),
    [
        # PA, subset, F1 by row, micro, macro; then AP, ranking loss, one-error, coverage.
        ([1, 0, 0], [0.9, 0.1, 0.1], (1, 1, 1, 1, 1, 1, 0, 0, 1)),
        ([1, 0, 0], [0.4, 0.6, 0.1], (1 / 3, 0, 0, 0, 0, 0.5, 0.5, 1, 2)),
        # No true label: nothing to rank.
        ([0, 0, 0], [0.4, 0.3, 0.1], (1, 1, 1, NO, NO, NO, NO, NO, NO)),
        ([0, 0, 0], [0.9, 0.3, 0.1], (2 / 3, 0, 0, 0, 0, NO, NO, NO, NO)),
        # All labels true: no pair, and no way to be wrong.
        ([1, 1, 1], [0.9, 0.3, 0.1], (1 / 3, 0, 0.5, 0.5, 1 / 3, 1, NO, 0, 3)),
        # No label known.
        ([NO, NO, NO], [0.9, 0.3, 0.1], (NO, NO, NO, NO, NO, NO, NO, NO, NO)),
        # Unknown labels: as if they did not exist, whatever their score.
        ([1, NO, 0], [0.8, 0.9, 0.6], (0.5, 0, 2 / 3, 2 / 3, 0.5, 1, 0, 0, 1)),
        ([0, NO, 0], [0.4, 0.9, 0.1], (1, 1, 1, NO, NO, NO, NO, NO, NO)),
        ([1, NO, 1], [0.8, 0.9, 0.1], (0.5, 0, 2 / 3, 2 / 3, 0.5, 1, NO, 0, 2)),
        # Ties count against the model; 0.5 is a yes.
        ([1, 0, 0], [0.5, 0.5, 0.1], (2 / 3, 0, 2 / 3, 2 / 3, 0.5, 0.5, 0.5, 1, 2)),
        ([1, 0, 0], [0.2, 0.2, 0.2], (2 / 3, 0, 0, 0, 0, 1 / 3, 1, 1, 3)),
        ([1, 1, 0], [0.9, 0.2, 0.2], (2 / 3, 0, 2 / 3, 2 / 3, 0.5, 5 / 6, 0.5, 0, 3)),
        # One label only.
        ([1], [0.7], (1, 1, 1, 1, 1, 1, NO, 0, 1)),
        ([1], [0.3], (0, 0, 0, 0, 0, 1, NO, 0, 1)),
        ([0], [0.3], (1, 1, 1, NO, NO, NO, NO, NO, NO)),
    ],
)
def test_conventions(y, scores, expected):
    Y, scores = np.array([y], dtype=float), np.array([scores])
    labels = scores >= 0.5
    assert_close([measure(Y, labels) for measure in DECIDED], expected[:5])
    assert_close([measure(Y, scores) for measure in RANKED], expected[5:])
    assert_close([measure(Y, labels)[0] for measure in DECIDED_ROWS], expected[:3])
    assert_close([measure(Y, scores)[0] for measure in RANKED_ROWS], expected[5:])
    if not np.isnan(Y).all():  # rows without known labels are left out of everything
        more = np.vstack((Y, np.full_like(Y, np.nan)))
        twice = np.vstack((scores, scores))
        assert_close(list(summary(more, twice).values()), list(summary(Y, scores).values()))


@given(case=labels_and_scores(unknown=True))
def test_rows_of_pooled_measures_of_probabilities(case):
    Y, scores = case
    for name in ("log_loss", "brier_score"):
        expected = [naive.value(name, [y], [s]) for y, s in zip(Y, scores, strict=True)]
        assert_close(MEASURES[name].rows(Y, scores), expected)


def test_a_model_gives_decisions_and_probabilities_of_its_own(rng):
    Y, scores = rng.integers(2, size=(30, 4)).astype(float), rng.normal(0.5, 1.0, (30, 4))
    own = {"scores": scores, "labels": scores >= -1.0, "probabilities": rng.random((30, 4))}
    for name, measure in MEASURES.items():
        given_ = own[measure.takes]
        assert measure(Y, given_, ready=True) == measure.function(Y, given_)
        curve = measures.trend(Y, given_, name, ready=True)
        assert_close(curve[-1], measure.function(Y, given_))
        if measure.takes != "scores":
            assert measure(Y, given_, ready=True) != measure(Y, scores)
        if measure.row_function is not None:
            assert_array_equal(measure.rows(Y, given_, ready=True), measure.row_function(Y, given_))


def test_probabilities_are_refused_beyond_0_and_1():
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(
            ValueError, match=r"probabilities\[0, 1\] is .*: give a number from 0 to 1"
        ):
            measures.log_loss([[1, 0]], [[0.5, wrong]])
        if not np.isnan(wrong):
            assert MEASURES["log_loss"]([[1, 0]], [[0.5, wrong]]) > 0  # scores may be beyond


def test_a_sure_and_wrong_label_costs_no_infinity():
    assert measures.log_loss([[1.0]], [[0.0]]) == measures.log_loss([[0.0]], [[1.0]]) > 36
    assert measures.log_loss([[1.0]], [[1.0]]) < 1e-15


def test_calibration_error_by_hand():
    """Bins [0, .1), ..., [.9, 1]: two labels at .75, one of them true, and a false one at 1."""
    found = measures.calibration_error([[1, 0, 0, np.nan]], [[0.75, 0.75, 1.0, 0.2]])
    assert found == pytest.approx((2 * 0.25 + 1.0) / 3)
    assert measures.calibration_error([[1, 0]], [[0.1, 0.05]]) == pytest.approx((0.9 + 0.05) / 2)


def test_labels_drawn_from_probabilities_have_no_calibration_error(rng):
    p = rng.random((4000, 5))
    Y = rng.random(p.shape) < p
    assert measures.calibration_error(Y, p) < 0.01 < measures.calibration_error(Y, p**2)


def test_labels_never_seen_are_left_out_of_macro_f1():
    labels = np.array([[1, 0, 0, 1], [1, 0, 0, 0]])
    Y = np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
    assert macro_f1(Y, labels) == pytest.approx((1 + 0 + 0) / 3)  # all, missed, unseen, invented
    assert macro_f1(Y[:, :3], labels[:, :3]) == 0.5
    assert np.isnan(macro_f1(Y[:, 2:3], labels[:, 2:3]))


def test_rows_without_labels_are_left_out_of_ranking():
    Y = np.array([[1, 0, 0], [0, 0, 0]])
    scores = np.array([[0.1, 0.9, 0.0], [0.3, 0.2, 0.1]])
    for rows, whole, value in zip(RANKED_ROWS, RANKED, (0.5, 0.5, 1, 2), strict=True):
        assert_array_equal(rows(Y, scores), [value, np.nan])
        assert whole(Y, scores) == value
        assert np.isnan(whole(Y[1:], scores[1:]))


def test_scores_of_unknown_labels_change_nothing():
    Y = np.array([[1.0, 0.0, np.nan], [np.nan, np.nan, np.nan]])
    for unknown_score in (-np.inf, -1.0, 0.4, 9.0, np.inf):
        scores = np.array([[0.4, 0.6, unknown_score], [0.0, 1.0, 2.0]])
        for rows, value in zip(RANKED_ROWS, (0.5, 1, 1, 2), strict=True):
            assert_array_equal(rows(Y, scores), [value, np.nan])
    for label in (0, 1):
        labels = [[1, 1, label], [label, label, label]]
        found = [measure(Y, labels) for measure in DECIDED]
        assert_close(found, [0.5, 0, 2 / 3, 2 / 3, 0.5])


@pytest.mark.parametrize(
    ("y", "scores", "expected"),
    [
        ([1, 0, NO], [-np.inf, 0.0, -np.inf], (0.5, 1, 1, 2)),
        ([1, 0], [-np.inf, -np.inf], (0.5, 1, 1, 2)),
        ([1, 0], [np.inf, np.inf], (0.5, 1, 1, 2)),
        ([1, 0], [np.inf, -np.inf], (1, 0, 0, 1)),
        ([1, 1], [-np.inf, -np.inf], (1, NO, 0, 2)),
        ([1, 1, NO], [np.inf, -np.inf, -np.inf], (1, NO, 0, 2)),
    ],
)
def test_infinite_scores_are_ranked(y, scores, expected):
    assert_array_equal([measure([y], [scores]) for measure in RANKED], expected)


def test_scores_are_not_clipped():
    assert summary([[1, 0]], [[3.0, 2.0]])["ap"] == 1.0
    assert summary([[0, 1]], [[-3.0, -2.0]])["one_error"] == 0.0


def test_unknown_labels_count_by_label_not_by_row():
    Y = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, np.nan, np.nan, np.nan]])
    labels = np.array([[1, 1, 1, 1], [0, 0, 0, 0]])
    assert partial_accuracy(Y, labels) == 0.8
    assert partial_accuracy_rows(Y, labels).mean() == 0.5


def test_right_negatives_count():
    """In one peer the Hamming score counts true positives only."""
    Y = np.array([[1, 0, 0, 0], [0, 0, 0, 0]])
    assert partial_accuracy(Y, Y) == 1.0
    assert partial_accuracy(Y, np.zeros_like(Y)) == 7 / 8


def test_inverted_labels_are_noticed(rng):
    """In one peer a wrapper inverts all labels; a measure has to show it."""
    Y, labels = rng.integers(2, size=(2, 50, 6))
    assert partial_accuracy(Y, 1 - labels) == pytest.approx(1 - partial_accuracy(Y, labels))
    assert [measure(Y, 1 - Y) for measure in DECIDED] == [0, 0, 0, 0, 0]
    assert [measure(Y, Y) for measure in DECIDED] == [1, 1, 1, 1, 1]


def test_measures_are_not_all_equal():
    """In one peer several multi-label measures come out equal or 0."""
    Y = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    scores = [[0.9, 0.2, 0.6, 0.1], [0.3, 0.7, 0.1, 0.6], [0.2, 0.8, 0.9, 0.1], [0.1] * 4]
    assert len({round(value, 6) for value in summary(Y, scores).values()}) == len(NAMES)


def test_registry_describes_every_measure():
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert measure.better in ("up", "down")
        assert measure.takes in ("labels", "scores", "probabilities")
        assert re.fullmatch(r"[A-Z1].*[^.]\.", measure.meaning), measure.meaning
        assert measure.definition and measure.empty and measure.scikit_learn
        assert measure.row_function or measure.counts
        # Right scores are best, in the direction that is said to be better.
        right, wrong = measure([[1, 0]], [[0.9, 0.1]]), measure([[1, 0]], [[0.1, 0.9]])
        assert (right > wrong) == (measure.better == "up")


def test_all_names_are_there():
    assert all(hasattr(measures, name) for name in measures.__all__)
    assert {function.__name__ for function in FUNCTIONS} <= set(measures.__all__)


def test_summary_holds_all(rng):
    Y, scores = rng.integers(2, size=(20, 5)), rng.random((20, 5))
    numbers = summary(Y, scores)
    assert tuple(numbers) == NAMES
    assert all(type(value) is float for value in numbers.values())
    for name, measure in MEASURES.items():
        assert numbers[name] == measure(Y, scores)
    assert micro_f1(Y, scores >= 0.5) == numbers["micro_f1"]
    assert coverage(Y, scores) == numbers["coverage"]


def test_running_mean_skips_nan(rng):
    values = rng.random(50)
    values[rng.random(50) < 0.3] = np.nan
    values[0] = np.nan
    trend = running_mean(values)
    assert np.isnan(trend[0])
    for t in range(1, 50):
        seen = values[: t + 1][~np.isnan(values[: t + 1])]
        expected = seen.mean() if len(seen) else np.nan
        np.testing.assert_allclose(trend[t], expected, rtol=1e-12)
    assert running_mean([]).shape == (0,)


@pytest.mark.parametrize("function", [*FUNCTIONS, summary])
def test_empty_or_unequal_tables_are_refused(function):
    for shape in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="give at least one row and one label"):
            function(np.zeros(shape), np.zeros(shape))
    for Y, predicted in (([[1, 0]], [[1, 0, 0]]), ([1, 0], [1, 0]), ([[1]], [[1], [0]])):
        with pytest.raises(ValueError, match="give two tables of equal shape"):
            function(Y, predicted)
    with pytest.raises(ValueError, match=r"Y\[0, 1\] is 2: labels are 0, 1, or NaN"):
        function([[1, 2]], [[1, 0]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: partial_accuracy([[1, 0]], [[0.7, 0]]), r"labels\[0, 0\] is 0.7: give decisions"),
        (lambda: micro_f1([[1, 0]], [[np.nan, 0]]), r"labels\[0, 0\] is nan"),
        (lambda: coverage([[1, 0]], [[0, np.nan]]), r"scores\[0, 1\] is nan: give a number"),
        (lambda: summary([[np.nan, 0]], [[np.nan, 1]]), r"scores\[0, 0\] is nan: give a number"),
        (lambda: running_mean([[1.0]]), "give one value per row"),
        (lambda: MEASURES["micro_f1"].rows([[1]], [[1]]), "micro_f1 is no average over rows"),
    ],
)
def test_bad_input_is_refused_with_one_line(call, words):
    with pytest.raises(ValueError, match=words) as excinfo:
        call()
    assert "\n" not in str(excinfo.value)


def test_reliability_has_the_bins_of_the_calibration_error(rng):
    p = rng.random((60, 4)) ** 2
    Y = (rng.random(p.shape) < p).astype(float)
    Y[rng.random(p.shape) < 0.3] = np.nan
    said, happened, counts = measures.reliability(Y, p)
    assert counts.sum() == (~np.isnan(Y)).sum()
    error = np.nansum(np.abs(said - happened) * counts) / counts.sum()
    assert_close(error, measures.calibration_error(Y, p))
    said, happened, counts = measures.reliability([[1.0, np.nan]], [[1.0, 0.3]])
    assert_array_equal(np.flatnonzero(counts), [9])
    assert (said[9], happened[9]) == (1.0, 1.0)
    assert np.isnan(said[:9]).all() and np.isnan(happened[:9]).all()
