"""EFCMLClassifier in scikit-learn's tools for many labels; test_classifier.py has the basics."""

import numpy as np
import pytest
from helpers.models import QUICK, freeze, stream
from sklearn import metrics
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from efcml import EFCMLClassifier
from efcml.measures import average_precision, partial_accuracy


@pytest.fixture(scope="module")
def pd():
    return pytest.importorskip("pandas")


def ranking(clf, X, Y):
    """A scorer for rankings: rows without any label are left out, as in efcml's own measure."""
    some = Y.any(axis=1)
    scores = clf.decision_function(X[some])
    return metrics.label_ranking_average_precision_score(Y[some], scores)


@pytest.mark.parametrize("scoring", ["f1_samples", "roc_auc", ranking])
def test_grid_search_over_vigilance_in_a_pipeline(scoring):
    X, Y = stream(60)
    Y = Y.astype(int)
    pipeline = make_pipeline(StandardScaler(), EFCMLClassifier(**QUICK, cases=0))
    grid = {"efcmlclassifier__vigilance": [0.1, 2.0]}
    search = GridSearchCV(pipeline, grid, scoring=scoring, cv=KFold(2), error_score="raise")
    with np.errstate(all="raise"):
        search.fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0.0) & (scores <= 1.0)).all()
    assert scores[0] != scores[1]  # the parameter arrives
    rules = search.best_estimator_[-1].n_rules_
    best = EFCMLClassifier(**QUICK | {"vigilance": search.best_params_[next(iter(grid))]})
    assert rules == best.fit(StandardScaler().fit_transform(X), Y).n_rules_


def test_several_scores_at_once():
    X, Y = stream(40)
    scoring = {"hamming": metrics.make_scorer(metrics.hamming_loss), "own": None, "rank": ranking}
    scoring["own"] = lambda clf, X, Y: clf.score(X, Y)
    result = cross_validate(
        EFCMLClassifier(**QUICK),
        X,
        Y.astype(int),
        scoring=scoring,
        cv=KFold(2),
        return_estimator=True,
        error_score="raise",
    )
    np.testing.assert_allclose(result["test_own"], 1.0 - result["test_hamming"])
    for (_, test), clf, rank in zip(
        KFold(2).split(X), result["estimator"], result["test_rank"], strict=True
    ):
        scores = clf.decision_function(X[test]) + 0.5
        assert rank == pytest.approx(average_precision(Y[test], scores))


def test_cross_val_predict_of_a_pipeline_feeds_the_measures():
    X, Y = stream(40)
    pipeline = make_pipeline(StandardScaler(), EFCMLClassifier(**QUICK))
    decision = cross_val_predict(pipeline, X, Y, cv=KFold(2), method="decision_function")
    labels = cross_val_predict(pipeline, X, Y, cv=KFold(2))
    np.testing.assert_array_equal(labels, decision >= 0.0)
    loss = metrics.hamming_loss(Y, labels)
    assert partial_accuracy(Y, labels) == pytest.approx(1.0 - loss)
    assert metrics.coverage_error(Y, decision) >= Y.sum(axis=1).mean()
    table = metrics.multilabel_confusion_matrix(Y, labels)
    assert table.shape == (3, 2, 2)
    assert table.sum() == Y.size
    assert (table[:, 0, 1] + table[:, 1, 0]).sum() == pytest.approx(loss * Y.size)
    report = metrics.classification_report(
        Y, labels, target_names=["u", "v", "w"], output_dict=True, zero_division=0.0
    )
    assert report["v"]["support"] == Y[:, 1].sum()


def test_names_pass_through_a_scaler(pd):
    X, Y = stream()
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, EFCMLClassifier(**QUICK)).fit(frame, labels)
    clf = pipeline[-1]
    assert clf.feature_names_in_.tolist() == pipeline[:-1].get_feature_names_out().tolist()
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.rules_.feature_names == ("a", "b", "c")
    assert clf.rules_.label_names == ("u", "v", "w")
    plain = make_pipeline(StandardScaler(), EFCMLClassifier(**QUICK)).fit(X, Y)
    np.testing.assert_array_equal(pipeline.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        pipeline.predict(frame[["b", "a", "c"]])


def test_columns_of_several_kinds(pd):
    X, Y = stream()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.where(X[:, 0] > 0.0, "red", "blue")
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b"]), (OneHotEncoder(sparse_output=False), ["kind"])
    )
    columns.set_output(transform="pandas")
    pipeline = make_pipeline(columns, EFCMLClassifier(**QUICK)).fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == [
        *("standardscaler__a", "standardscaler__b"),
        *("onehotencoder__kind_blue", "onehotencoder__kind_red"),
    ]
    shuffled = frame[["kind", "c", "b", "a"]]  # the transformer goes by names
    np.testing.assert_array_equal(pipeline.predict(shuffled), pipeline.predict(frame))
    assert pipeline.score(frame, Y) > Y.mean()


def test_arrays_through_a_column_transformer_without_names():
    X, Y = stream()
    columns = ColumnTransformer([("scale", StandardScaler(), [0, 2])], remainder="drop")
    pipeline = make_pipeline(columns, EFCMLClassifier(**QUICK)).fit(X, Y)
    twin = EFCMLClassifier(**QUICK).fit(StandardScaler().fit_transform(X[:, [0, 2]]), Y)
    assert freeze(pipeline[-1]) == freeze(twin)
    assert not hasattr(pipeline[-1], "feature_names_in_")


def test_one_model_per_label():
    X, Y = stream()
    wrapped = MultiOutputClassifier(EFCMLClassifier(**QUICK)).fit(X, Y)
    for c, clf in enumerate(wrapped.estimators_):
        alone = EFCMLClassifier(**QUICK).fit(X, Y[:, c])
        np.testing.assert_array_equal(wrapped.predict(X)[:, c], alone.predict(X))
        assert freeze(clf.learner_) == freeze(alone.learner_)


def test_permutation_importance_finds_the_feature():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    Y = np.column_stack([X[:, 1] > 0.0, X[:, 1] < 0.3]).astype(int)
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    found = permutation_importance(clf, X, Y, n_repeats=3, random_state=0).importances_mean
    assert found.argmax() == 1
    assert found[1] > 0.1
