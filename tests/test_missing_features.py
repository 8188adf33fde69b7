"""Rows that lack features; masked arrays, sparse labels, labels that are known."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from helpers.models import freeze
from helpers.streams import assert_identical, random_rows, state_of, with_gaps
from helpers.study_files import model

from efcml import EFCMLClassifier, measures, prequential
from efcml.support.masks import densify

N, START, P, K = 150, 60, 4, 3
QUICK = {"prior": 1.0, "cases": 10}


@pytest.fixture(scope="module")
def rows():
    """Rows of which features, and some labels, are missing."""
    rng = np.random.default_rng(3)
    X, Y = random_rows(rng, N, P, K)
    Y[rng.random(N) < 0.1] = np.nan
    Y[rng.random(Y.shape) < 0.1] = np.nan
    X = with_gaps(rng, X)
    X[100:130, 2] = np.nan  # a sensor is gone
    X[40:44] = X[40]
    return X, Y


def test_a_column_without_any_value(rows):
    X, Y = rows
    X = X.copy()
    X[:START, 1] = np.nan
    clf = EFCMLClassifier(**QUICK).fit(X[:START], Y[:START])
    assert (clf.learner_.scaler.mean[1], clf.learner_.scaler.scale[1]) == (0.0, 1.0)
    assert np.abs(clf.learner_.rules.center[:, 1]).max() < 1e-12
    clf.partial_fit(X[START:], Y[START:])
    assert np.isfinite(clf.decision_function(X)).all()


def test_explanations_add_up_and_say_what_was_missing(rows):
    X, _ = rows
    names = ["heat", "load", "age", "size"]
    clf = EFCMLClassifier(**QUICK).fit(*(part[:START] for part in rows)).name_columns(names)
    for x in X[START : START + 12]:
        why = clf.explain(x)
        total = why.base + why.by_feature.sum(axis=0) + why.by_cases
        total = total + sum(why.afterwards.values())
        np.testing.assert_allclose(total, why.score, atol=1e-8)
        there = ~np.isnan(x)
        np.testing.assert_array_equal(why.taken[there], x[there])
        assert np.isfinite(why.taken).all()
    why = clf.explain(np.array([1.0, np.nan, 0.5, 2.0]))
    assert f"load (not given; taken as {why.taken[1]:.4g})" in str(why)


# Masked and sparse

HIDDEN = r"X hides values under its mask, first at \[3, 1\]: fill them in\."


@pytest.fixture
def masked_rows(rng):
    """Rows, labels of which some are unknown, and the same with ones under a mask."""
    X, Y = random_rows(rng, 24, 2, 3)
    unknown = rng.random(Y.shape) < 0.3
    return X, np.where(unknown, np.nan, Y), np.ma.array(np.where(unknown, 1.0, Y), mask=unknown)


def hide(X):
    masked = np.ma.array(X)
    masked[3, 1] = np.ma.masked
    return masked


@pytest.mark.parametrize("dtype", [float, int, object])
def test_labels_under_a_mask_are_unknown(masked_rows, dtype):
    X, Y, masked = masked_rows
    masked = masked.astype(dtype)
    clf, expected = EFCMLClassifier(**QUICK), EFCMLClassifier(**QUICK)
    clf.fit(X[:12], masked[:12]).partial_fit(X[12:18], masked[12:18])
    expected.fit(X[:12], Y[:12]).partial_fit(X[12:18], Y[12:18])
    assert_identical(state_of(clf.learner_), state_of(expected.learner_))
    assert clf.score(X, masked) == expected.score(X, Y)
    result, other = prequential(clf, X, masked), prequential(expected, X, Y)
    assert (result.pa, result.ap) == (other.pa, other.ap)


def test_features_under_a_mask_are_missing(masked_rows):
    X, Y, _ = masked_rows
    masked, gapped = hide(X), X.copy()
    gapped[3, 1] = np.nan
    clf = EFCMLClassifier(**QUICK).fit(masked, Y)
    same = EFCMLClassifier(**QUICK).fit(gapped, Y)
    assert_identical(state_of(clf.learner_), state_of(same.learner_))
    expected = clf.decision_function(gapped)
    np.testing.assert_array_equal(clf.decision_function(masked), expected)
    assert str(clf.explain(masked[3])) == str(clf.explain(gapped[3]))
    assert clf.predict(np.ma.array(X)).shape == Y.shape  # nothing is hidden


def to_pandas(table):
    return pd.DataFrame(table).astype(pd.SparseDtype(float, 0.0))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, to_pandas])
def test_sparse_labels_are_those_of_dense_ones(rng, kind):
    X, Y = random_rows(rng, 40, 2, 3)
    dense = model().fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    clf = model().fit(X[:20], kind(Y[:20])).partial_fit(X[20:], kind(Y[20:]))
    assert freeze(clf.learner_) == freeze(dense.learner_)
    assert clf.score(X, kind(Y)) == dense.score(X, Y)
    assert hasattr(clf, "label_names_") == (kind is to_pandas)
    found, wanted = (prequential(model(), X, labels) for labels in (kind(Y), Y))
    assert np.array_equal(found.scores, wanted.scores)
    said = np.roll(Y, 1, axis=0)
    assert measures.partial_accuracy(kind(Y), kind(said)) == measures.partial_accuracy(Y, said)


def test_frames_keep_their_gaps_and_mixed_ones_are_left_alone(rng):
    _, table = random_rows(rng, 20, 2, 3)
    table[3, 1] = np.nan
    gaps = pd.DataFrame(table).astype(pd.SparseDtype(float, np.nan))
    np.testing.assert_array_equal(densify(gaps).to_numpy(), table)
    np.testing.assert_array_equal(densify(gaps[1]).to_numpy(), table[:, 1])
    mixed = gaps.assign(more=1.0)
    assert densify(mixed) is mixed
    assert densify(table) is table


def test_what_sparse_labels_hold_twice_is_refused(rng):
    X, Y = random_rows(rng, 20, 2, 3)
    twice = scipy.sparse.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=Y.shape)
    with pytest.raises(ValueError, match="0, 1 or NaN .unknown.; got 2"):
        EFCMLClassifier().fit(X, twice)
