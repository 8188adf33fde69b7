"""The simple lines: frequencies, one global plane, the same with Fourier features."""

import pickle

import numpy as np
import pytest
from helpers.models import N_INITIAL, freeze, hide, problem, stream
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from efcml import EFCMLClassifier, prequential, rivals
from efcml.model.scaler import Scaler
from efcml.rivals import MODELS, FourierRLS, GlobalRLS, LabelFrequencies, make_model
from efcml.rivals.fourier import FourierMap, median_distance
from efcml.rivals.ridge import FOLDS, RIDGES, choose_ridge, fold_errors


def rls(**changes):
    return GlobalRLS(**{"ridge": 2.0, "warmup_rows": 12} | changes)


def rff(**changes):
    return FourierRLS(**{"ridge": 2.0, "warmup_rows": 12, "n_fourier": 6} | changes)


LABELS = pytest.mark.parametrize("labels", ["known", "unknown"])
SIMPLE = pytest.mark.parametrize("make", [LabelFrequencies, rls, rff])
PLANES = pytest.mark.parametrize("make", [rls, rff])


def regressors(clf, X):
    """The regressors of rows, by hand."""
    scaled = clf.learner_.scaler.transform(X)
    if clf.learner_.fourier is not None:
        F, b = clf.learner_.fourier.frequencies, clf.learner_.fourier.phases
        scaled = np.hstack([scaled, np.sqrt(2.0) * np.cos(scaled @ F.T + b)])
    return np.hstack([scaled, np.ones((len(X), 1))])


def ridge_planes(R, Y, ridge, prior):
    """Weighted least squares of each label on its known rows, solved in one go."""
    delta = np.full(R.shape[1], ridge)
    delta[-1] *= 0.01
    planes = []
    for c in range(Y.shape[1]):
        known = ~np.isnan(Y[:, c])
        A, y = R[known], Y[known, c]
        base = np.zeros(R.shape[1])
        base[-1] = prior[c]
        planes.append(np.linalg.solve(A.T @ A + np.diag(delta), A.T @ y + delta * base))
    return np.array(planes)


@PLANES
@pytest.mark.parametrize("labels", ["known", "unknown", "later unknown"])
@pytest.mark.parametrize("ridge", [0.5, 30.0])
def test_the_recursion_is_least_squares_on_all_rows(make, labels, ridge):
    X, Y = problem()
    if labels == "unknown":
        Y = hide(Y)
    if labels == "later unknown":
        Y[30, 1] = np.nan
    clf = make(ridge=ridge).fit(X[:N_INITIAL], Y[:N_INITIAL])
    assert len(clf.learner_.P) == (3 if labels == "unknown" else 1)
    prior = np.nanmean(Y[:N_INITIAL], axis=0)
    for before, n in ((N_INITIAL, N_INITIAL), (N_INITIAL, 21), (21, 60)):
        if n > before:
            clf.partial_fit(X[before:n], Y[before:n])
        expected = ridge_planes(regressors(clf, X[:n]), Y[:n], ridge, prior)
        assert_allclose(clf.learner_.W, expected, rtol=0, atol=1e-9)
    scores = regressors(clf, X) @ expected.T
    assert_allclose(clf.decision_function(X), scores - 0.5, rtol=0, atol=1e-8)
    assert clf.learner_.rows_seen == (~np.isnan(Y).all(axis=1)).sum()
    before = freeze([clf.learner_.W, clf.learner_.P, clf.learner_.rows_seen])
    clf.partial_fit(X, np.full(Y.shape, np.nan))
    assert freeze([clf.learner_.W, clf.learner_.P, clf.learner_.rows_seen]) == before


@SIMPLE
@LABELS
def test_prequential_is_predict_then_learn(make, labels):
    X, Y = problem(labels)
    for begin in (0, N_INITIAL):
        clf = make().fit(X[:begin], Y[:begin]) if begin else make()
        slow = pickle.loads(pickle.dumps(clf))
        result = prequential(clf, X[begin:], Y[begin:])
        for t in range(begin, 60):
            if t:
                found = result.scores[t - begin] - 0.5
                assert_array_equal(found, slow.decision_function(X[[t]])[0])
            slow.partial_fit(X[[t]], Y[[t]])
        assert freeze(clf) == freeze(slow)
        assert (result.rules == 0).all()
        assert result.events == ()


@SIMPLE
def test_late_labels_and_copies(make):
    X, Y = problem("unknown")
    for clf in (make().fit(X[:30], Y[:30]), make().partial_fit(X[:5], Y[:5])):
        learner, before = clf.learner_, freeze(clf.learner_)
        other = learner.copy()
        assert freeze(other) == before
        other.learn(X[30:], Y[30:])
        assert freeze(learner) == before != freeze(other)
    clf, other = (make().fit(X[:30], Y[:30]) for _ in range(2))
    result = prequential(clf, X[30:], Y[30:], delay=2)
    for t in range(30, 60):
        if t > 32:
            other.partial_fit(X[t - 3 : t - 2], Y[t - 3 : t - 2])
        assert_array_equal(result.scores[t - 30] - 0.5, other.decision_function(X[[t]])[0])


@PLANES
def test_a_warm_up_holds_labelled_rows(make):
    X, Y = problem()
    Y[3] = np.nan
    clf = make().partial_fit(X[:12], Y[:12])
    assert not clf.learner_.fitted
    assert len(clf.learner_.held) == 11
    assert clf.ridge_ is None
    frequencies = np.tile(np.nanmean(Y[:12], axis=0), (3, 1))
    assert_allclose(clf.decision_function(X[:3]), frequencies - 0.5, atol=1e-15)
    clf.partial_fit(X[12:], Y[12:])
    assert freeze(clf) == freeze(make().fit(X[:13], Y[:13]).partial_fit(X[13:], Y[13:]))
    assert clf.ridge_ == 2.0
    with pytest.raises(NotImplementedError, match="cannot take in late labels: fit again"):
        clf.learner_.add_labels(1)


def test_bad_parameters():
    for make, name, value, match in [
        (rls, "ridge", 0.0, "ridge must be 'auto' or a number > 0; got 0.0"),
        (rls, "ridge", "best", "ridge must be 'auto' or a number > 0; got 'best'"),
        (rff, "clip", 0.0, "clip must be a number > 0"),
        (rls, "warmup_rows", 0, "warmup_rows must be a whole number >= 1"),
        (rff, "n_fourier", 0, "n_fourier must be a whole number >= 1"),
        (rff, "random_state", "seed", "'seed' cannot be used to seed"),
    ]:
        clf = make(**{name: value})
        before = freeze(clf)
        with pytest.raises(ValueError, match=match):
            clf.fit(*problem())
        assert freeze(clf) == before
        with pytest.raises(NotFittedError):
            clf.ridge_  # noqa: B018


@LABELS
def test_the_ridge_has_the_least_error_over_contiguous_folds(labels):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 12))
    Y = (X[:, :2] + 1.5 * rng.normal(size=(50, 2)) > 0.0).astype(float)
    if labels == "unknown":
        Y = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    X += 1.0  # the intercept is free
    filled = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
    losses = []
    for ridge in RIDGES:
        loss = 0.0
        for test in np.array_split(np.arange(50), FOLDS):
            train = np.setdiff1d(np.arange(50), test)
            model = Ridge(alpha=ridge).fit(X[train], filled[train])
            errors = fold_errors(X[train], filled[train], X[test], filled[test])
            expected = model.predict(X[test]) - filled[test]
            assert_allclose(errors[RIDGES.index(ridge)], expected, rtol=0, atol=1e-9)
            loss += np.nansum((model.predict(X[test]) - Y[test]) ** 2)
        losses.append(loss)
    best = RIDGES[int(np.argmin(losses))]
    assert RIDGES[0] < best < RIDGES[-1]
    assert choose_ridge(X, Y) == best
    for n in (1, 2, 3):  # too few for folds
        assert choose_ridge(X[:n], Y[:n]) == 1.0
    clf, some = GlobalRLS().fit(1e4 * X + 7.0, Y), ~np.isnan(Y).all(axis=1)
    scaled = Scaler.from_rows(X[some], clf.clip).transform(X[some])
    assert clf.ridge_ == choose_ridge(scaled, Y[some]) == clf.partial_fit(X, Y).ridge_ != 1.0


def test_fourier_features_follow_the_gaussian_kernel():
    X, _ = stream(8)
    fourier = FourierMap.draw(X, 20000, np.random.default_rng(0))
    rows = np.array([fourier(x) for x in X])
    assert_array_equal(rows[:, :3], X)
    kernel = rows[:, 3:] @ rows[:, 3:].T / 20000
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * distances / median_distance(X) ** 2)
    assert_allclose(kernel, expected, rtol=0, atol=0.03)
    X, Y = problem()
    models = [rff(random_state=seed).fit(X, Y) for seed in (0, 0, 1)] + [rff().fit(X, Y)]
    first, same, other, usual = (clf.decision_function(X) for clf in models)
    assert_array_equal(first, same)
    assert_array_equal(first, usual)
    assert not np.array_equal(first, other)


def test_median_distance():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    assert median_distance(X) == pytest.approx(np.sqrt(18.0))
    assert median_distance(X[:1]) == 1.0
    assert median_distance(np.ones((4, 2))) == 1.0
    many = np.arange(2000.0)[:, None]
    assert median_distance(many) == pytest.approx(2000 * (1 - np.sqrt(0.5)), rel=0.02)


def test_frequencies():
    X, Y = problem("unknown")
    clf = LabelFrequencies().fit(X[:30], Y[:30])
    expected = np.tile(np.nanmean(Y[:30], axis=0), (2, 1))
    assert_allclose(clf.decision_function(X[:2]) + 0.5, expected, rtol=1e-14)
    clf.partial_fit(X[30:], Y[30:])
    assert_allclose(clf.predict_proba(X)[0], np.nanmean(Y, axis=0), rtol=1e-14)
    clf.fit(X[:4], Y[:4])
    assert clf.learner_.rows_seen == 4
    clf.add_labels(1)
    clf.partial_fit(X[:4], np.ones((4, 4)))
    assert clf.decision_function(X[:1])[0, 3] == 0.0


def test_the_list_of_models():
    for name, model in MODELS.items():
        assert type(make_model(name)).__name__ == model.kind
        assert getattr(rivals, model.kind, EFCMLClassifier) is model.estimator
        assert model.learn == (name != "static")
        assert model.asks == (name in ("efcml", "rules", "rfwls"))
        assert model.decides == (name in ("efcml", "rules", "rfwls", "static"))
    offered = [name for name, model in MODELS.items() if model.offered]
    assert offered == ["efcml", "ovr", "chain", "static", "rfwls"]
    rfwls = make_model("rfwls", vigilance=0.25)
    assert (rfwls.correlation, rfwls.alpha, rfwls.beta, rfwls.vigilance) == ("none", 0.0, 0.0, 0.25)
    assert make_model("rules").cases == 0
    assert make_model("efcml").get_params() == EFCMLClassifier().get_params()
    with pytest.raises(ValueError, match="model must be one of efcml, rules, ovr.*; got 'svm'"):
        make_model("svm")
