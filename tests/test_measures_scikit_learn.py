"""Every measure against scikit-learn: equal, or different by exactly what the docs say."""

import numpy as np
import pytest
from hypothesis import given
from naive.measures import labels_and_scores
from sklearn.calibration import calibration_curve
from sklearn.linear_model import Ridge
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    coverage_error,
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
    log_loss,
)

from efcml import EFCMLClassifier, datasets, measures, prequential


def same(a, b):
    return a == pytest.approx(b, abs=1e-12, nan_ok=True)


def check_decisions(Y, scores):
    ours = measures.summary(Y, scores)
    labels = (scores >= 0.5).astype(float)
    K = Y.shape[1]
    assert same(ours["pa"], 1 - hamming_loss(Y, labels))
    assert same(ours["subset_accuracy"], accuracy_score(Y, labels))
    # Nothing true and nothing predicted: a right row counts 1, not 0.
    nothing = np.mean((Y + labels).sum(axis=1) == 0)
    by_row = [f1_score(Y, labels, average="samples", zero_division=zero) for zero in (0, 1)]
    assert same(ours["example_f1"], by_row[1])
    assert same(ours["example_f1"], by_row[0] + nothing)
    # A label nowhere true and nowhere predicted is left out, not counted 0.
    in_use = ((Y + labels).sum(axis=0) > 0).sum()
    if in_use == 0:
        assert np.isnan([ours["micro_f1"], ours["macro_f1"]]).all()
        return
    for average in ("micro", "macro"):
        expected = f1_score(Y, labels, average=average, zero_division=np.nan)
        assert same(ours[f"{average}_f1"], expected)
    with_zeros = f1_score(Y, labels, average="macro", zero_division=0)
    assert same(ours["macro_f1"] * in_use / K, with_zeros)


def one_error_by_scikit_learn(Y, scores):
    """The best true label must stand alone when the other true ones are put to the end."""
    wrong = []
    for y, row in zip(Y, scores, strict=True):
        best = np.argmax(np.where(y == 1, row, -np.inf))
        only = np.zeros((1, len(y)))
        only[0, best] = 1
        others_last = np.where((y == 1) & (only[0] == 0), row.min() - 1, row)
        wrong.append(coverage_error(only, others_last[None]) > 1)
    return np.mean(wrong)


def check_ranking(Y, scores):
    ours = measures.summary(Y, scores)
    n, labelled = len(Y), Y.sum(axis=1) > 0
    paired = labelled & (Y.sum(axis=1) < Y.shape[1])
    if paired.any():
        assert same(ours["ranking_loss"], label_ranking_loss(Y[paired], scores[paired]))
        assert same(ours["ranking_loss"] * paired.sum() / n, label_ranking_loss(Y, scores))
    else:
        assert np.isnan(ours["ranking_loss"])
        assert label_ranking_loss(Y, scores) == 0
    if not labelled.any():
        assert np.isnan([ours["ap"], ours["one_error"], ours["coverage"]]).all()
        assert label_ranking_average_precision_score(Y, scores) == 1
        assert coverage_error(Y, scores) == 0
        return
    some, some_scores, m = Y[labelled], scores[labelled], labelled.sum()
    assert same(ours["ap"], label_ranking_average_precision_score(some, some_scores))
    with_ones = (ours["ap"] * m + (n - m)) / n
    assert same(with_ones, label_ranking_average_precision_score(Y, scores))
    assert same(ours["coverage"], coverage_error(some, some_scores))
    assert same(ours["coverage"] * m / n, coverage_error(Y, scores))
    assert same(ours["one_error"], one_error_by_scikit_learn(some, some_scores))


def check_probabilities(Y, p):
    """All labels as one column, as scikit-learn knows no table of them."""
    column, shares = Y.ravel(), p.ravel()
    assert same(measures.log_loss(Y, p), log_loss(column, shares, labels=[0, 1]))
    assert same(measures.brier_score(Y, p), brier_score_loss(column, shares, pos_label=1))
    true, said = calibration_curve(column, shares, n_bins=10)
    counts = np.bincount(np.minimum((10 * shares).astype(int), 9), minlength=10)
    error = (counts[counts > 0] * np.abs(true - said)).sum() / len(shares)
    assert measures.calibration_error(Y, p) == pytest.approx(error, abs=1e-12)


def test_probabilities_on_random_tables(rng):
    for n, K in ((1, 2), (30, 4), (200, 7)):
        p = rng.random((n, K))  # no edge of a bin among them: there, both round differently
        Y = (rng.random((n, K)) < p).astype(float)
        Y[0, :2] = 0, 1
        check_probabilities(Y, p)


@given(labels_and_scores(least_labels=2))
def test_decisions_on_random_tables(case):
    check_decisions(*case)


@given(labels_and_scores(least_labels=2))
def test_ranking_on_random_tables_with_ties(case):
    check_ranking(*case)


@given(labels_and_scores(unknown=True, least_labels=2))
def test_unknown_labels_are_as_if_they_did_not_exist(case):
    """One row with the unknown labels cut out, as scikit-learn knows no NaN."""
    y, row = case[0][0], case[1][0]
    known = ~np.isnan(y)
    if known.sum() >= 2:
        cut_y, cut_row = y[known][None], row[known][None]
        check_decisions(cut_y, cut_row)
        check_ranking(cut_y, cut_row)
        for name, measure in measures.MEASURES.items():
            assert same(measure(y[None], row[None]), measure(cut_y, cut_row)), name


def test_without_ties_one_error_is_that_of_the_highest_score(rng):
    Y, scores = rng.integers(2, size=(200, 6)), rng.random((200, 6))
    Y = Y[:, :] | (np.arange(6) == rng.integers(6, size=200)[:, None])
    first = np.take_along_axis(Y, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert measures.one_error(Y, scores) == 1 - accuracy_score(np.ones(200), first)


def load(name):
    try:
        return datasets.load(name)
    except datasets.DatasetNotFound as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("decimals", [None, 1], ids=["raw", "ties"])
@pytest.mark.parametrize("name", ["birds", "water-quality", "drifting-clusters"])
def test_on_predictions_of_a_linear_model(name, decimals):
    ds = load(name)
    (X, Y), (X_new, Y_new) = ds.initial, ds.stream
    scale = X.std(axis=0) + 1e-9
    scores = Ridge(100.0).fit(X / scale, Y).predict(X_new / scale)[:400]
    scores = scores if decimals is None else scores.round(decimals)
    check_decisions(Y_new[:400], scores)
    check_ranking(Y_new[:400], scores)


@pytest.mark.slow
def test_on_predictions_of_the_classifier():
    ds = load("emotions")
    result = prequential(EFCMLClassifier().fit(*ds.initial), *ds.stream)
    for scores in (result.scores, result.scores.round(1), np.clip(result.scores, 0.4, 0.6)):
        check_decisions(result.Y, scores)
        check_ranking(result.Y, scores)
    for name, measure in measures.MEASURES.items():
        curve = measures.trend(result.Y, result.scores, name)
        assert same(curve[-1], measure(result.Y, result.scores)), name
        running = measures.Running(name).update_many(result.Y, result.scores)
        assert same(running.value, curve[-1]), name
    np.testing.assert_allclose(result.pa_trend, measures.trend(result.Y, result.scores, "pa"))
