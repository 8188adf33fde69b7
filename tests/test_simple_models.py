"""The list of models, and the simple lines of the experiments: frequencies, one global plane."""

import pickle

import numpy as np
import pytest
from helpers.models import N_INITIAL, freeze, hide, problem
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

import efcml
from efcml import EFCMLClassifier, prequential
from efcml.rivals import MODELS, make_model
from efcml_paper import simple_models
from efcml_paper.simple_models import FOLDS, RIDGES, FourierRLS, GlobalRLS, LabelFrequencies


def rls(**changes):
    return GlobalRLS(**{"ridge": 2.0, "warmup_rows": 12} | changes)


def rff(**changes):
    return FourierRLS(**{"ridge": 2.0, "warmup_rows": 12, "n_fourier": 6} | changes)


PLANES = pytest.mark.parametrize("make", [rls, rff])


def regressors(clf, X):
    """The regressors of rows, by hand."""
    scaled = np.nan_to_num(clf.learner_.scaler.transform(X))
    if clf.learner_.fourier is not None:
        F, b = clf.learner_.fourier
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
@pytest.mark.parametrize("labels", ["known", "unknown"])
def test_the_recursion_is_least_squares_on_all_rows(make, labels):
    X, Y = problem()
    Y = hide(Y) if labels == "unknown" else Y
    clf = make(ridge=0.5).fit(X[:N_INITIAL], Y[:N_INITIAL])
    prior = np.nanmean(Y[:N_INITIAL], axis=0)
    clf.partial_fit(X[N_INITIAL:], Y[N_INITIAL:])
    expected = ridge_planes(regressors(clf, X), Y, 0.5, prior)
    assert_allclose(clf.learner_.W, expected, rtol=0, atol=1e-9)
    scores = regressors(clf, X) @ expected.T
    assert_allclose(clf.decision_function(X), scores - 0.5, rtol=0, atol=1e-8)


@pytest.mark.parametrize("make", [LabelFrequencies, rls, rff])
@pytest.mark.parametrize("labels", ["known", "unknown"])
def test_prequential_is_predict_then_learn(make, labels):
    X, Y = problem(labels)
    clf = make()
    slow = pickle.loads(pickle.dumps(clf))
    result = prequential(clf, X, Y)
    for t in range(60):
        if t:
            assert_array_equal(result.scores[t] - 0.5, slow.decision_function(X[[t]])[0])
        slow.partial_fit(X[[t]], Y[[t]])
    assert freeze(clf) == freeze(slow)
    with pytest.raises(TypeError, match="sample_weight is not supported"):
        clf.partial_fit(X, Y, sample_weight=np.ones(60))


def test_the_ridge_has_the_least_error_over_contiguous_folds():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 12))
    Y = (X[:, :2] + 1.5 * rng.normal(size=(50, 2)) > 0.0).astype(float)
    Y = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    X += 1.0  # the intercept is free
    filled = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
    losses = []
    for ridge in RIDGES:
        loss = 0.0
        for test in np.array_split(np.arange(50), FOLDS):
            train = np.setdiff1d(np.arange(50), test)
            model = Ridge(alpha=ridge).fit(X[train], filled[train])
            loss += np.nansum((model.predict(X[test]) - Y[test]) ** 2)
        losses.append(loss)
    best = RIDGES[int(np.argmin(losses))]
    assert RIDGES[0] < best < RIDGES[-1]
    assert simple_models.choose_ridge(X, Y) == best
    assert simple_models.choose_ridge(X[:3], Y[:3]) == 1.0  # too few for folds


def test_frequencies():
    X, Y = problem("unknown")
    clf = LabelFrequencies().fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    assert_allclose(clf.predict_proba(X)[0], np.nanmean(Y, axis=0), rtol=1e-14)
    clf.fit(X[:4], Y[:4]).add_labels(1)
    clf.partial_fit(X[:4], np.ones((4, 4)))
    assert clf.decision_function(X[:1])[0, 3] == 0.0


def test_the_list_of_models():
    assert list(MODELS) == ["efcml", "ovr", "chain", "static", "rfwls"]
    for name, model in MODELS.items():
        assert type(make_model(name)) is model.estimator is getattr(efcml, model.home[6:])
        assert model.learn == (name != "static")
        assert model.asks == (name in ("efcml", "rfwls"))
        assert model.decides == (name in ("efcml", "rfwls", "static"))
    rfwls = make_model("rfwls", vigilance=0.25)
    assert (rfwls.correlation, rfwls.alpha, rfwls.beta, rfwls.vigilance) == ("none", 0.0, 0.0, 0.25)
    assert make_model("efcml").get_params() == EFCMLClassifier().get_params()
    with pytest.raises(ValueError, match="model must be one of efcml, ovr.*; got 'svm'"):
        make_model("svm")
    more = simple_models.make_model
    assert more("rules").cases == 0 and type(more("rff")) is FourierRLS
