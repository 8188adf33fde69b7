"""Measures over a stream: row by row, by window, fading, and as curves."""

import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import measures as naive
from naive.measures import labels_and_scores
from numpy.testing import assert_array_equal

from efcml.measures import MEASURES, Fading, Running, Sliding, trend

NO_LABEL, LABEL = ([0.0, 0.0], [0.9, 0.1]), ([1.0, 0.0], [0.9, 0.1])


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def make_all(name):
    return [Running(name), Sliding(name, 3), Sliding(name, 100), Fading(name, 0.8)]


def values_row_by_row(measure, Y, scores):
    return [measure.update(y, s).value for y, s in zip(Y, scores, strict=True)]


@pytest.mark.parametrize("name", MEASURES)
@given(case=labels_and_scores(unknown=True))
def test_running_is_the_batch_measure_of_the_rows_so_far(name, case):
    Y, scores = case
    expected = [MEASURES[name](Y[: t + 1], scores[: t + 1]) for t in range(len(Y))]
    assert_close(values_row_by_row(Running(name), Y, scores), expected)
    assert_close(trend(Y, scores, name), expected)
    assert_close(Running(name).update_many(Y, scores).value, expected[-1])


@pytest.mark.parametrize("name", MEASURES)
@given(case=labels_and_scores(unknown=True), window=st.integers(1, 14))
def test_sliding_is_the_measure_of_the_last_rows(name, case, window):
    Y, scores = case
    expected = [
        naive.value(name, Y[max(0, t + 1 - window) : t + 1], scores[max(0, t + 1 - window) : t + 1])
        for t in range(len(Y))
    ]
    values = values_row_by_row(Sliding(name, window), Y, scores)
    assert_close(values, expected)
    assert_array_equal(trend(Y, scores, name, window=window), values)


@pytest.mark.parametrize("name", MEASURES)
@given(case=labels_and_scores(unknown=True), factor=st.floats(0.1, 1.0))
def test_fading_weighs_rows_by_their_age(name, case, factor):
    Y, scores = case
    expected = [
        naive.weighted(name, Y[: t + 1], scores[: t + 1], [factor**age for age in range(t, -1, -1)])
        for t in range(len(Y))
    ]
    values = values_row_by_row(Fading(name, factor), Y, scores)
    assert_close(values, expected)
    assert_array_equal(trend(Y, scores, name, fading=factor), values)


@pytest.mark.parametrize("name", MEASURES)
def test_any_split_into_calls_gives_the_same(name, rng):
    Y, scores = rng.integers(2, size=(40, 5)).astype(float), rng.random((40, 5)).round(1)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    for whole, parts, rows in zip(*(make_all(name) for _ in range(3)), strict=True):
        whole.update_many(Y, scores)
        for begin, end in ((0, 1), (1, 4), (4, 25), (25, 40)):
            parts.update_many(Y[begin:end], scores[begin:end])
        values_row_by_row(rows, Y, scores)
        assert whole.value == parts.value == rows.value
        assert whole.n_rows == parts.n_rows == rows.n_rows == 40


def test_gamas_fading_by_hand():
    """S = x + a S and N = 1 + a N, for three rows that are right, wrong, right."""
    a = 0.9
    measure = Fading("pa", a).update_many([[1], [1], [1]], [[1], [0], [1]])
    assert measure.value == pytest.approx((1 + a * a) / (1 + a + a * a), abs=1e-15)


def test_partial_accuracy_weighs_by_known_labels_in_every_form():
    Y = [[1.0, 1.0, 1.0, 1.0], [1.0, np.nan, np.nan, np.nan]]
    scores = [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    assert Running("pa").update_many(Y, scores).value == 4 / 5
    assert Sliding("pa", 2).update_many(Y, scores).value == 4 / 5
    assert Fading("pa", 0.5).update_many(Y, scores).value == 2 / 3
    assert_array_equal(trend(Y, scores, window=1), [1.0, 0.0])


@pytest.mark.parametrize("name", MEASURES)
def test_not_a_number_until_a_row_has_the_measure(name):
    unknown = [np.nan, np.nan]
    for measure in make_all(name):
        assert np.isnan(measure.value)
        assert np.isnan(measure.update(unknown, [0.9, 0.1]).value)
        assert not np.isnan(measure.update(*LABEL).value)
        assert measure.update(unknown, [0.9, 0.1]).value == measure.value
    curve = trend([unknown, LABEL[0], unknown], [[0.9, 0.1]] * 3, name)
    assert_array_equal(np.isnan(curve), [True, False, False])
    assert_array_equal(np.isnan(trend([unknown] * 3, [[0.9, 0.1]] * 3, name)), [True] * 3)


def test_rows_without_the_measure_take_their_place_in_the_window():
    Y, scores = [LABEL[0], NO_LABEL[0], NO_LABEL[0]], [LABEL[1]] * 3
    assert_array_equal(trend(Y, scores, "ap", window=2), [1.0, 1.0, np.nan])
    assert np.isnan(Sliding("ap", 2).update_many(Y, scores).value)


def test_rows_without_the_measure_fade_the_others_out():
    Y, scores = [[1, 0], [0, 0], [1, 0]], [[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]]
    expected = (1 + 0.25 * 0.5) / (1 + 0.25)
    assert Fading("ap", 0.5).update_many(Y, scores).value == pytest.approx(expected, abs=1e-15)
    measure = Fading("ap", 0.5).update([1, 0], [0.1, 0.9])
    assert measure.update_many([NO_LABEL[0]] * 900, [NO_LABEL[1]] * 900).value == 0.5
    # Sums of 1e-301 and less cannot be divided exactly any more.
    assert np.isnan(measure.update_many([NO_LABEL[0]] * 150, [NO_LABEL[1]] * 150).value)
    assert measure.update(*LABEL).value == 1.0


def test_windows_gather_no_rounding_errors(rng):
    Y, scores = np.eye(7)[rng.integers(7, size=3000)], rng.random((3000, 7))
    measure = Sliding("ap", 7).update_many(Y, scores)
    for _ in range(7):
        measure.update([1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0])
    assert measure.value == 1.0


def test_memory_is_bounded(rng):
    measure = Sliding("macro_f1", 10)
    sizes = []
    for _ in range(5):
        measure.update_many(rng.integers(2, size=(20, 3)), rng.random((20, 3)))
        sizes.append(len(pickle.dumps(measure)))
    assert max(sizes) == min(sizes)
    assert len(pickle.dumps(Running("ap").update_many(*[np.ones((999, 3))] * 2))) < 1000
    assert Sliding("pa", 10**15).update([1], [1]).value == 1.0
    assert trend([[1], [1]], [[1], [0]], window=10**15).tolist() == [1.0, 0.5]


def test_a_copy_goes_on_alike(rng):
    Y, scores = rng.integers(2, size=(10, 3)), rng.random((10, 3))
    for measure in make_all("ap"):
        copy = pickle.loads(pickle.dumps(measure.update_many(Y, scores)))
        assert copy.update_many(Y, scores).value == measure.update_many(Y, scores).value


def test_input_may_be_changed_afterwards():
    Y, scores = np.ones((2, 2)), np.ones((2, 2))
    measure = Sliding("macro_f1", 3).update_many(Y, scores)
    Y[:], scores[:] = 0, 0
    assert measure.update([1, 1], [1, 1]).value == 1.0


def test_printing_works_before_the_first_row():
    """In one peer, showing a measure without data raises and breaks a notebook cell."""
    assert repr(Running("ap")) == "Running('ap'): nan at row 0"
    assert repr(Sliding("pa", 5).update(*LABEL)) == "Sliding('pa', window=5): 1 at row 1"
    assert repr(Fading("pa", 0.9)) == "Fading('pa', factor=0.9): nan at row 0"
    assert Fading("micro_f1", 0.9).name == "micro_f1"


def test_a_refused_row_changes_nothing():
    """In one peer, failed updates are only logged and the result is printed all the same."""
    for measure in make_all("macro_f1"):
        measure.update(*LABEL)
        before = repr(measure)
        for wrong in (([1, 2], [0, 0]), ([1, 0], [0, np.nan]), ([1, 0, 1], [0, 0, 1])):
            with pytest.raises(ValueError, match=r"is 2|is nan|rows have 3 labels"):
                measure.update(*wrong)
        assert repr(measure) == before


ROW = [[1, 0]], [[1, 0]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Running("hamming"), "no measure 'hamming': choose from pa, ap, subset_accuracy"),
        (lambda: trend(*ROW, measure="f1"), "no measure 'f1': choose from pa"),
        (lambda: trend(*ROW, window=3, fading=0.9), "choose one of them"),
        (lambda: trend(*ROW, window=0), "window is 0: give a number of rows, at least 1"),
        (lambda: trend(*ROW, fading=0), r"fading factor is 0: give a number in \(0, 1\]"),
        (lambda: trend([[]], [[]]), r"shape \(1, 0\): give at least one row and one label"),
        (lambda: Sliding("pa", 2.0), r"window is 2\.0: give a number of rows"),
        (lambda: Sliding("pa", True), "window is True: give a number of rows"),
        (lambda: Fading("pa", 1.1), "factor is 1.1: give a number"),
        (lambda: Fading("pa", float("nan")), "factor is nan: give a number"),
        (lambda: Fading("pa", True), "factor is True: give a number"),
        (lambda: Fading("pa", "0.9"), "factor is '0.9': give a number"),
        (lambda: Running("pa").update([[1, 0]], [[1, 0]]), "give one row .* or use update_many"),
        (lambda: Running("pa").update([1, 0], [1]), r"y has shape \(2,\) and scores \(1,\)"),
        (lambda: Running("pa").update([], []), "give at least one row and one label"),
        (lambda: Running("pa").update_many([1, 0], [1, 0]), "give two tables of equal shape"),
        (
            lambda: Sliding("pa", 3).update([1, 0], [1, 0]).update([1], [1]),
            "rows have 1 labels and had 2 before: begin a new Sliding",
        ),
    ],
)
def test_bad_input_is_refused_with_one_line(call, words):
    with pytest.raises(ValueError, match=words) as excinfo:
        call()
    assert "\n" not in str(excinfo.value)


@pytest.mark.slow
def test_long_streams_are_quick(rng):
    Y = (rng.random((50_000, 101)) < 0.05).astype(float)
    scores = rng.random(Y.shape)
    begin = time.perf_counter()
    for options in ({}, {"window": 1000}, {"fading": 0.99}):
        for name in ("pa", "ap", "micro_f1"):
            assert trend(Y, scores, name, **options).shape == (50_000,)
    assert time.perf_counter() - begin < 30  # takes 3 seconds; loops over rows take minutes
