"""Masked arrays: what is under the mask is unknown; models that need all of X refuse it."""

import numpy as np
import pytest
from helpers.streams import assert_identical, random_rows, state_of

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, datasets, measures, prequential
from efcml.compat.river import RiverEFCML
from efcml.rivals import GlobalRLS, LabelFrequencies
from efcml.tuning import Grid, tune

QUICK = {"prior": 1.0, "max_rules": 3, "cases": 4}
HIDDEN = r"X hides values under its mask, first at \[3, 1\]: fill them in\."


@pytest.fixture
def rows(rng):
    """Rows, labels of which some are unknown, and the same with ones under a mask."""
    X, Y = random_rows(rng, 24, 2, 3)
    unknown = rng.random(Y.shape) < 0.3
    return X, np.where(unknown, np.nan, Y), np.ma.array(np.where(unknown, 1.0, Y), mask=unknown)


def hide(X):
    masked = np.ma.array(X)
    masked[3, 1] = np.ma.masked
    return masked


@pytest.mark.parametrize("dtype", [float, int, object])
def test_labels_under_a_mask_are_unknown(rows, dtype):
    X, Y, masked = rows
    masked = masked.astype(dtype)
    clf, expected = EFCMLClassifier(**QUICK), EFCMLClassifier(**QUICK)
    clf.fit(X[:12], masked[:12]).partial_fit(X[12:18], masked[12:18])
    expected.fit(X[:12], Y[:12]).partial_fit(X[12:18], Y[12:18])
    assert_identical(state_of(clf.learner_), state_of(expected.learner_))
    assert clf.score(X, masked) == expected.score(X, Y)
    result, other = prequential(clf, X, masked), prequential(expected, X, Y)
    assert (result.pa, result.ap) == (other.pa, other.ap)


def test_rows_with_a_mask_in_a_list(rows):
    X, Y, masked = rows
    clf, expected = EFCMLClassifier(**QUICK).fit(X, Y), EFCMLClassifier(**QUICK).fit(X, Y)
    for x, y, known in zip(X, masked, Y, strict=True):
        clf.partial_fit([x], [y])
        expected.partial_fit([x], [known])
    assert_identical(state_of(clf.learner_), state_of(expected.learner_))


def test_features_under_a_mask_are_missing(rows):
    X, Y, _ = rows
    masked, gapped = hide(X), X.copy()
    gapped[3, 1] = np.nan
    clf = EFCMLClassifier(**QUICK).fit(masked, Y)
    same = EFCMLClassifier(**QUICK).fit(gapped, Y)
    assert_identical(state_of(clf.learner_), state_of(same.learner_))
    expected = clf.decision_function(gapped)
    for table in (masked, list(masked)):
        np.testing.assert_array_equal(clf.decision_function(table), expected)
    assert clf.explain(masked[3]).text() == clf.explain(gapped[3]).text()
    assert OneVsRestEFC(**QUICK).fit(masked, Y).predict(masked).shape == Y.shape
    with pytest.raises(ValueError, match=HIDDEN):
        GlobalRLS().partial_fit(masked, Y)
    assert clf.predict(np.ma.array(X)).shape == Y.shape  # nothing is hidden


@pytest.mark.parametrize("make", [lambda: GlobalRLS(), lambda: LabelFrequencies()])
def test_other_models_of_the_package(make, rows):
    X, Y, masked = rows
    answers = [make().partial_fit(X, labels).predict_proba(X) for labels in (Y, masked)]
    assert np.array_equal(*answers)


class Counting:
    """A model from elsewhere."""

    def __init__(self):
        self.rows = []

    def partial_fit(self, X, Y):
        self.rows.append(Y)

    def predict(self, X):
        return np.zeros((len(X), 3))


def test_models_from_elsewhere(rows):
    X, Y, masked = rows
    model = Counting()
    assert prequential(model, X, masked).pa == prequential(Counting(), X, Y).pa
    assert len(model.rows) == (~np.isnan(Y)).all(axis=1).sum()
    with pytest.raises(ValueError, match=HIDDEN):
        prequential(Counting(), hide(X), Y)


@pytest.mark.parametrize("bare", [False, True])
def test_single_rows(rows, bare):
    X, Y, masked = rows
    states = []
    for labels in (Y, masked):
        clf = EFCMLClassifier(**QUICK).fit(X, Y)
        model = clf.learner_ if bare else clf
        active = ActiveLearner.all()
        active.tell(model, X[0], labels[0])
        states.append(state_of(clf.learner_))
        gapped = np.array([X[3, 0], np.nan])
        asked = [active.ask(model, x).scores for x in (hide(X)[3], gapped)]
        np.testing.assert_array_equal(*asked)
    assert_identical(*states)


def test_data_sets_measures_and_searches(rows):
    X, Y, masked = rows
    ds = datasets.from_arrays(X, masked)
    np.testing.assert_array_equal(ds.Y, Y)
    assert np.argwhere(np.isnan(datasets.from_arrays(hide(X), Y).X)).tolist() == [[3, 1]]
    scores = np.full(Y.shape, 0.7)
    assert measures.partial_accuracy(masked, scores >= 0.5) == measures.partial_accuracy(
        Y, scores >= 0.5
    )
    with pytest.raises(ValueError, match="labels hides values"):
        measures.partial_accuracy(Y, np.ma.array(scores, mask=np.isnan(Y)))
    grid = {"grid": Grid(vigilance=0.5, alpha=0.0, beta=0.0), "folds": 2, "params": QUICK}
    results = [tune(X, labels, **grid, progress=False).rows() for labels in (Y, masked)]
    assert results[0] == results[1]


def test_river():
    model = RiverEFCML(warmup_rows=2)
    model.learn_one({"a": 1.0}, {"u": True, "v": np.ma.masked})
    assert model.label_names == ("u",)
    model.learn_one({"a": np.ma.masked}, {"u": True})
    assert np.isfinite(model.predict_proba_one({"a": np.ma.masked})["u"][True])
