"""The simple lines: frequencies, one global plane, the same with Fourier features."""

import pickle

import numpy as np
import pytest
from helpers.models import N_INITIAL, freeze, hide, learn_in_chunks, problem, stream
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator

from efcml import EFCMLClassifier, prequential, rivals
from efcml.model.scaler import Scaler
from efcml.rivals import (
    MODELS,
    FourierRLS,
    GlobalRLS,
    LabelFrequencies,
    make_model,
)
from efcml.rivals.fourier import FourierMap, median_distance
from efcml.rivals.ridge import FOLDS, RIDGES, choose_ridge, fold_errors

LABELS = pytest.mark.parametrize("labels", ["known", "unknown"])


def rls(**changes):
    return GlobalRLS(**{"ridge": 2.0, "warmup_rows": 12} | changes)


def rff(**changes):
    return FourierRLS(**{"ridge": 2.0, "warmup_rows": 12, "n_fourier": 6} | changes)


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


# -- recursive least squares ------------------------------------------------------------------


@PLANES
@LABELS
@pytest.mark.parametrize("ridge", [0.5, 30.0])
def test_the_recursion_is_least_squares_on_all_rows(make, labels, ridge):
    X, Y = problem()
    if labels == "unknown":
        Y = hide(Y)
    clf = make(ridge=ridge).fit(X[:N_INITIAL], Y[:N_INITIAL])
    prior = np.nanmean(Y[:N_INITIAL], axis=0)
    for before, n in ((N_INITIAL, N_INITIAL), (N_INITIAL, 21), (21, 60)):
        if n > before:
            clf.partial_fit(X[before:n], Y[before:n])
        expected = ridge_planes(regressors(clf, X[:n]), Y[:n], ridge, prior)
        np.testing.assert_allclose(clf.learner_.W, expected, rtol=0, atol=1e-9)
    scores = regressors(clf, X) @ expected.T
    np.testing.assert_allclose(clf.decision_function(X), scores - 0.5, rtol=0, atol=1e-8)


def test_planes_part_when_a_row_is_known_in_part():
    X, Y = problem()
    clf = rls().fit(X[:N_INITIAL], Y[:N_INITIAL])
    assert len(clf.learner_.P) == 1
    Y[30, 1] = np.nan
    clf.partial_fit(X[N_INITIAL:30], Y[N_INITIAL:30])
    assert len(clf.learner_.P) == 1
    clf.partial_fit(X[30:], Y[30:])
    assert len(clf.learner_.P) == 3
    prior = Y[:N_INITIAL].mean(axis=0)
    expected = ridge_planes(regressors(clf, X), Y, 2.0, prior)
    np.testing.assert_allclose(clf.learner_.W, expected, rtol=0, atol=1e-9)


@PLANES
def test_rows_without_labels_change_nothing(make):
    X, Y = problem()
    clf = make().fit(X, Y)
    before = freeze([clf.learner_.W, clf.learner_.P])
    clf.partial_fit(X, np.full(Y.shape, np.nan))
    assert freeze([clf.learner_.W, clf.learner_.P]) == before


def test_the_intercept_is_hardly_penalised():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    Y = (rng.random(size=(200, 1)) < 0.9).astype(float)
    clf = GlobalRLS(ridge=1e6).fit(X, Y)
    np.testing.assert_allclose(clf.decision_function(X) + 0.5, Y.mean(), rtol=0, atol=1e-3)


@SIMPLE
@LABELS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_prequential_is_predict_then_learn(make, labels, start):
    X, Y = problem(labels)
    clf, begin = make(), 0
    if start == "fit":
        clf, begin = clf.fit(X[:N_INITIAL], Y[:N_INITIAL]), N_INITIAL
    slow = pickle.loads(pickle.dumps(clf))
    result = prequential(clf, X[begin:], Y[begin:])
    for t in range(begin, 60):
        if t:
            expected = slow.decision_function(X[[t]])[0]
            np.testing.assert_array_equal(result.scores[t - begin] - 0.5, expected)
        slow.partial_fit(X[[t]], Y[[t]])
    assert freeze(clf) == freeze(slow)
    assert (result.rules == 0).all()
    assert result.events == ()


@SIMPLE
@LABELS
def test_any_split_gives_the_same_state(make, labels):
    X, Y = problem(labels)
    whole = learn_in_chunks(make(), X, Y, [60])
    for sizes in ([1] * 60, [7] * 8 + [4]):
        assert freeze(learn_in_chunks(make(), X, Y, sizes)) == freeze(whole)


@SIMPLE
def test_copies_are_independent(make):
    X, Y = problem("unknown")
    for learner in (
        make().fit(X[:30], Y[:30]).learner_,
        make().partial_fit(X[:5], Y[:5]).learner_,
    ):
        before = freeze(learner)
        other = learner.copy()
        assert freeze(other) == before
        other.learn(X[30:], Y[30:])
        assert freeze(learner) == before != freeze(other)
        learner.learn(X[30:], Y[30:])
        assert freeze(learner) == freeze(other)


@PLANES
def test_warm_up(make):
    X, Y = problem()
    clf = make().partial_fit(X[:5], Y[:5])
    assert not clf.learner_.fitted
    assert clf.ridge_ is None
    frequencies = np.tile(Y[:5].mean(axis=0), (3, 1))
    np.testing.assert_allclose(clf.decision_function(X[:3]), frequencies - 0.5, atol=1e-15)
    clf.partial_fit(X[5:], Y[5:])
    assert freeze(clf) == freeze(make().fit(X[:12], Y[:12]).partial_fit(X[12:], Y[12:]))
    assert clf.ridge_ == 2.0


@PLANES
def test_rows_without_labels_are_not_held(make):
    X, Y = problem()
    Y[3] = np.nan
    clf = make().partial_fit(X[:12], Y[:12])
    assert len(clf.learner_.held) == 11
    clf.partial_fit(X[12:13], Y[12:13])
    assert clf.learner_.fitted


@PLANES
def test_late_labels_are_refused(make):
    X, Y = problem()
    with pytest.raises(NotImplementedError, match="cannot take in late labels: fit again"):
        make().fit(X, Y).learner_.add_labels(1)


@pytest.mark.parametrize(
    ("make", "changes", "match"),
    [
        (rls, {"ridge": 0.0}, "ridge must be 'auto' or a number > 0; got 0.0"),
        (rls, {"ridge": "best"}, "ridge must be 'auto' or a number > 0; got 'best'"),
        (rff, {"clip": 0.0}, "clip must be a number > 0"),
        (rls, {"warmup_rows": 0}, "warmup_rows must be a whole number >= 1"),
        (rff, {"n_fourier": 0}, "n_fourier must be a whole number >= 1"),
        (rff, {"random_state": "seed"}, "'seed' cannot be used to seed"),
    ],
)
def test_bad_parameters(make, changes, match):
    X, Y = problem()
    clf = make(**changes)
    before = freeze(clf)
    with pytest.raises(ValueError, match=match):
        clf.fit(X, Y)
    assert freeze(clf) == before


def test_no_ridge_before_learning():
    with pytest.raises(NotFittedError):
        GlobalRLS().ridge_  # noqa: B018


# -- the choice of the ridge ------------------------------------------------------------------


@LABELS
def test_the_ridge_has_the_least_error_over_contiguous_folds(labels):
    rng = np.random.default_rng(3)
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
            np.testing.assert_allclose(errors[RIDGES.index(ridge)], expected, rtol=0, atol=1e-9)
            loss += np.nansum((model.predict(X[test]) - Y[test]) ** 2)
        losses.append(loss)
    best = RIDGES[int(np.argmin(losses))]
    assert RIDGES[0] < best < RIDGES[-1]
    assert choose_ridge(X, Y) == best


def test_auto_uses_the_scaled_rows_and_is_kept():
    X, Y = problem()
    clf = GlobalRLS().fit(1e4 * X + 7.0, Y)
    scaled = Scaler.from_rows(1e4 * X + 7.0, clf.clip).transform(1e4 * X + 7.0)
    assert clf.ridge_ == choose_ridge(scaled, Y)
    ridge = clf.ridge_
    assert clf.partial_fit(X, Y).ridge_ == ridge


@pytest.mark.parametrize("n", [1, 2, 3])
def test_too_few_rows_for_folds(n):
    X, Y = problem()
    assert choose_ridge(X[:n], Y[:n]) == 1.0
    assert np.isfinite(GlobalRLS().fit(X[:n], Y[:n]).decision_function(X)).all()


# -- Fourier features -------------------------------------------------------------------------


def test_fourier_features_follow_the_gaussian_kernel():
    X, _ = stream(8)
    fourier = FourierMap.draw(X, 20000, np.random.default_rng(0))
    rows = np.array([fourier(x) for x in X])
    np.testing.assert_array_equal(rows[:, :3], X)
    kernel = rows[:, 3:] @ rows[:, 3:].T / 20000
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * distances / median_distance(X) ** 2)
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=0.03)


def test_median_distance():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    assert median_distance(X) == pytest.approx(np.sqrt(18.0))
    assert median_distance(X[:1]) == 1.0
    assert median_distance(np.ones((4, 2))) == 1.0
    many = np.arange(2000.0)[:, None]
    assert median_distance(many) == pytest.approx(2000 * (1 - np.sqrt(0.5)), rel=0.02)


def test_fourier_features_are_seeded():
    X, Y = problem()
    scores = [rff(random_state=seed).fit(X, Y).decision_function(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    np.testing.assert_array_equal(scores[0], rff().fit(X, Y).decision_function(X))


# -- frequencies ------------------------------------------------------------------------------


def test_frequencies():
    X, Y = problem("unknown")
    clf = LabelFrequencies().fit(X[:30], Y[:30])
    np.testing.assert_allclose(
        clf.decision_function(X[:2]) + 0.5, np.tile(np.nanmean(Y[:30], axis=0), (2, 1)), rtol=1e-14
    )
    clf.partial_fit(X[30:], Y[30:])
    np.testing.assert_allclose(clf.predict_proba(X)[0], np.nanmean(Y, axis=0), rtol=1e-14)
    clf.fit(X[:4], Y[:4])
    assert clf.learner_.rows_seen == 4


def test_frequencies_take_late_labels():
    X, Y = problem()
    learner = LabelFrequencies().fit(X, Y).learner_
    learner.add_labels(1)
    learner.learn(X, np.ones((60, 4)))
    np.testing.assert_allclose(learner.score(X[:1])[0, 3], 0.5)


# -- all of them ------------------------------------------------------------------------------


@SIMPLE
def test_clone_has_the_parameters(make):
    clf = make()
    assert clone(clf).get_params() == clf.get_params()


@pytest.mark.slow
@pytest.mark.parametrize("model", [LabelFrequencies(), GlobalRLS(), FourierRLS(n_fourier=30)])
def test_scikit_learn_checks_pass(model):
    # Frequencies give every row the same score; where it is 0.5 the check wants a no.
    checks = ("check_classifiers_classes", "check_classifiers_train")
    failing = dict.fromkeys(checks, "a tie is a yes") if isinstance(model, LabelFrequencies) else {}
    results = check_estimator(model, expected_failed_checks=failing, on_skip=None, on_fail=None)
    bad = [
        (result["check_name"], result["status"], repr(result["exception"]))
        for result in results
        if result["status"] != "passed"
        and result["check_name"] not in ("check_array_api_input", *failing)
    ]
    assert not bad


def test_the_registry():
    for name, model in MODELS.items():
        assert type(make_model(name)).__name__ == model.kind
        assert getattr(rivals, model.kind, EFCMLClassifier) is model.estimator
        assert model.learn == (name != "static")
        assert model.title
    rfwls = make_model("rfwls", vigilance=0.25)
    assert (rfwls.correlation, rfwls.alpha, rfwls.beta, rfwls.vigilance) == ("none", 0.0, 0.0, 0.25)
    assert make_model("efcml").get_params() == EFCMLClassifier().get_params()
    with pytest.raises(
        ValueError, match="model must be one of efcml, rules, ovr, chain.*; got 'svm'"
    ):
        make_model("svm")


def test_a_static_run():
    X, Y = problem()
    clf = make_model("static", prior=1.0).fit(X[:N_INITIAL], Y[:N_INITIAL])
    before = freeze(clf)
    prequential(clf, X[N_INITIAL:], Y[N_INITIAL:], learn=MODELS["static"].learn)
    assert freeze(clf) == before
