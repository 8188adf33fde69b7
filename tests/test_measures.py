import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.metrics import hamming_loss, label_ranking_average_precision_score

from efcml import datasets
from efcml.measures import (
    average_precision,
    average_precision_rows,
    partial_accuracy,
    partial_accuracy_rows,
    running_mean,
)


def naive_average_precision(y, scores):
    """The definition, label by label; NaN labels do not exist."""
    known = [j for j in range(len(y)) if not np.isnan(y[j])]
    true = [j for j in known if y[j] == 1]
    if not true:
        return np.nan
    total = 0.0
    for j in true:
        above = [i for i in known if scores[i] >= scores[j]]
        total += sum(y[i] == 1 for i in above) / len(above)
    return total / len(true)


@st.composite
def labels_and_scores(draw, unknown=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, K = draw(st.integers(1, 12)), draw(st.integers(1, 7))
    levels = draw(st.integers(1, 5))
    Y = (rng.random((n, K)) < draw(st.floats(0, 1))).astype(float)
    if unknown:
        Y[rng.random((n, K)) < draw(st.floats(0, 1))] = np.nan
    return Y, rng.integers(levels, size=(n, K)) / levels - 0.4


@given(labels_and_scores())
def test_partial_accuracy_is_one_minus_hamming_loss(case):
    Y, scores = case
    labels = scores >= 0
    # Flat, because scikit-learn takes a table of one column for a single-label task.
    expected = 1 - hamming_loss(Y.ravel(), labels.ravel().astype(float))
    assert partial_accuracy(Y, labels) == pytest.approx(expected, abs=1e-12)
    assert partial_accuracy_rows(Y, labels).mean() == pytest.approx(expected, abs=1e-12)


def test_partial_accuracy_equals_scikit_learn_on_tables(rng):
    Y, labels = rng.integers(2, size=(2, 200, 6))
    assert partial_accuracy(Y, labels) == pytest.approx(1 - hamming_loss(Y, labels), abs=1e-12)


@given(labels_and_scores())
def test_average_precision_equals_scikit_learn_with_ties(case):
    Y, scores = case
    labelled = Y.sum(axis=1) > 0
    if not labelled.any():
        assert np.isnan(average_precision(Y, scores))
        return
    expected = label_ranking_average_precision_score(Y[labelled], scores[labelled])
    assert average_precision(Y, scores) == pytest.approx(expected, abs=1e-12)


@given(labels_and_scores(unknown=True))
def test_rows_equal_the_definition_with_unknown_labels(case):
    Y, scores = case
    expected = [naive_average_precision(y, s) for y, s in zip(Y, scores, strict=True)]
    np.testing.assert_allclose(average_precision_rows(Y, scores), expected, atol=1e-12)
    right = [
        np.mean((y == s)[~np.isnan(y)]) if (~np.isnan(y)).any() else np.nan
        for y, s in zip(Y, scores >= 0, strict=True)
    ]
    np.testing.assert_allclose(partial_accuracy_rows(Y, scores >= 0), right, atol=1e-12)


@pytest.mark.parametrize("name", ["birds", "water-quality", "drifting-clusters"])
def test_equal_scikit_learn_on_predictions_of_a_model(name):
    try:
        ds = datasets.load(name)
    except datasets.DatasetNotFound as error:
        pytest.skip(str(error))
    (X, Y), (X_new, Y_new) = ds.initial, ds.stream
    scale = X.std(axis=0) + 1e-9
    scores = Ridge(100.0).fit(X / scale, Y).predict(X_new / scale)
    labels = (scores >= 0.5).astype(float)
    assert partial_accuracy(Y_new, labels) == pytest.approx(1 - hamming_loss(Y_new, labels))
    labelled = Y_new.sum(axis=1) > 0
    expected = label_ranking_average_precision_score(Y_new[labelled], scores[labelled])
    assert average_precision(Y_new, scores) == pytest.approx(expected, abs=1e-12)
    trend = running_mean(average_precision_rows(Y_new, scores))
    assert trend[-1] == pytest.approx(expected, abs=1e-12)
    assert running_mean(partial_accuracy_rows(Y_new, labels))[-1] == pytest.approx(
        partial_accuracy(Y_new, labels), abs=1e-12
    )


def test_rows_without_labels_are_left_out_where_scikit_learn_counts_them_as_right():
    Y = np.array([[1, 0, 0], [0, 0, 0]])
    scores = np.array([[0.1, 0.9, 0.0], [0.3, 0.2, 0.1]])
    np.testing.assert_array_equal(average_precision_rows(Y, scores), [0.5, np.nan])
    assert average_precision(Y, scores) == 0.5
    assert label_ranking_average_precision_score(Y, scores) == 0.75
    assert np.isnan(average_precision(Y[1:], scores[1:]))


def test_a_tie_counts_against_the_true_label():
    assert average_precision([[1, 0, 0]], [[0.5, 0.5, 0.1]]) == 0.5
    assert average_precision([[1, 0, 0]], [[0.5, 0.5, 0.5]]) == pytest.approx(1 / 3)


def test_unknown_labels_change_nothing():
    Y = np.array([[1.0, 0.0, np.nan], [np.nan, np.nan, np.nan]])
    for unknown_score in (-np.inf, -1.0, 0.4, 9.0, np.inf):
        scores = np.array([[0.4, 0.6, unknown_score], [0.0, 1.0, 2.0]])
        np.testing.assert_array_equal(average_precision_rows(Y, scores), [0.5, np.nan])
    assert average_precision([[1, 0, np.nan]], [[-np.inf, 0.0, -np.inf]]) == 0.5
    assert partial_accuracy(Y, [[1, 1, 1], [0, 0, 0]]) == 0.5
    np.testing.assert_array_equal(partial_accuracy_rows(Y, [[1, 1, 1], [0, 0, 0]]), [0.5, np.nan])
    assert np.isnan(partial_accuracy(Y[1:], [[0, 0, 0]]))


def test_unknown_labels_count_by_label_not_by_row():
    Y = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, np.nan, np.nan, np.nan]])
    labels = np.array([[1, 1, 1, 1], [0, 0, 0, 0]])
    assert partial_accuracy(Y, labels) == 0.8
    assert partial_accuracy_rows(Y, labels).mean() == 0.5


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: partial_accuracy([[1, 0]], [[1, 0, 0]]), "give two tables of equal shape"),
        (lambda: partial_accuracy([1, 0], [1, 0]), "give two tables of equal shape"),
        (lambda: partial_accuracy([[1, 2]], [[1, 0]]), r"Y\[0, 1\] is 2: labels are 0, 1"),
        (lambda: partial_accuracy([[1, 0]], [[0.7, 0]]), r"labels\[0, 0\] is 0.7: give decisions"),
        (lambda: partial_accuracy([[1, 0]], [[np.nan, 0]]), r"labels\[0, 0\] is nan"),
        (lambda: average_precision([[1, 0]], [[0, np.nan]]), r"scores\[0, 1\] is nan: give a numb"),
        (lambda: running_mean([[1.0]]), "give one value per row"),
    ],
)
def test_bad_input_is_refused_with_one_line(call, words):
    with pytest.raises(ValueError, match=words) as excinfo:
        call()
    assert "\n" not in str(excinfo.value)
