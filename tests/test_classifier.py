"""EFCMLClassifier as scikit-learn sees it: tools, targets, names, warm-up and chunks of a stream.

`freeze`, `stream` and `QUICK` are shared with the other tests of the face.
"""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from helpers.models import EVERYTHING, QUICK, freeze, hide, learn_in_chunks, stream
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, hamming_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from efcml import EFCMLClassifier, OneVsRestEFC
from efcml.model.divergence import DivergenceWarning
from efcml.model.params import Params
from efcml.support.probability import squash


def expected_proba(decision):
    """The straight middle of predict_proba; NaN where its ends are bent."""
    score = decision + 0.5
    return np.where((score >= 0.05) & (score <= 0.95), score, np.nan)


def test_freeze_sees_every_bit():
    X, Y = stream()
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    before = freeze(clf)
    assert freeze(pickle.loads(pickle.dumps(clf))) == before
    clf.predict(X)
    assert freeze(clf) == before
    clf.learner_.rules.arrays.W[0, 0, 0] = np.nextafter(clf.learner_.rules.W[0, 0, 0], 9.0)
    assert freeze(clf) != before


# -- scikit-learn's own checks ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_scikit_learn_checks_pass(parameters):
    failing = {
        "check_sample_weight_equivalence_on_dense_data": "scale and prior take rows alike, and the"
        " order of rows matters"
    }
    results = check_estimator(
        EFCMLClassifier(**parameters), expected_failed_checks=failing, on_skip=None, on_fail=None
    )
    bad = [
        (result["check_name"], result["status"], repr(result["exception"]))
        for result in results
        if result["status"] != "passed" and result["check_name"] != "check_array_api_input"
    ]
    assert [(name, status) for name, status, _ in bad] == [(name, "xfail") for name in failing], bad
    assert len(results) > 40


def test_tags_say_what_is_supported():
    tags = get_tags(EFCMLClassifier())
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output
    assert tags.target_tags.required
    assert not tags.classifier_tags.multi_class
    assert not tags.input_tags.sparse
    assert tags.input_tags.allow_nan


def test_defaults_are_those_of_the_learner():
    parameters = EFCMLClassifier().get_params()
    assert parameters.pop("random_state") is None
    assert parameters == vars(Params())


def test_clone_has_the_parameters_and_no_state():
    X, Y = stream()
    clf = EFCMLClassifier(**EVERYTHING, random_state=3).fit(X, Y)
    copy = clone(clf)
    assert copy.get_params() == clf.get_params()
    assert set(vars(copy)) == set(clf.get_params())
    assert freeze(copy.fit(X, Y)) == freeze(clf)


def test_set_params_is_read_at_the_next_fit():
    X, Y = stream()
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    clf.set_params(vigilance=0.05).fit(X, Y)
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK | {"vigilance": 0.05}).fit(X, Y))


def test_random_state_makes_no_difference():
    X, Y = stream()
    states = [
        freeze(EFCMLClassifier(**QUICK, random_state=seed).fit(X, Y).learner_)
        for seed in (None, 0, np.random.RandomState(1))
    ]
    assert states[0] == states[1] == states[2]


def test_grid_search_over_many_labels():
    X, Y = stream()
    folds = KFold(2)
    search = GridSearchCV(EFCMLClassifier(**QUICK), {"beta": [0.0, 0.5]}, cv=folds).fit(X, Y)
    scores = []
    for train, test in folds.split(X):
        clf = EFCMLClassifier(**QUICK, beta=0.5).fit(X[train], Y[train])
        scores.append(1.0 - hamming_loss(Y[test], clf.predict(X[test])))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores), abs=1e-12)
    best = EFCMLClassifier(**QUICK, **search.best_params_).fit(X, Y)
    assert freeze(search.best_estimator_) == freeze(best)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_grid_search_takes_unknown_labels_with_a_splitter():
    X, Y = stream()
    grid = {"vigilance": [0.3, 0.6]}
    search = GridSearchCV(EFCMLClassifier(prior=1.0), grid, cv=KFold(2), error_score="raise")
    assert 0.0 <= search.fit(X, hide(Y)).best_score_ <= 1.0


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1_macro", "accuracy"])
def test_scores_of_scikit_learn_work(scoring):
    X, Y = stream(60)
    values = cross_val_score(
        EFCMLClassifier(**QUICK), X, Y.astype(int), cv=2, scoring=scoring, error_score="raise"
    )
    assert ((values > 0.0) & (values <= 1.0)).all()


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_cross_val_predict(method):
    X, Y = stream()
    answers = cross_val_predict(EFCMLClassifier(**QUICK), X, Y, cv=KFold(2), method=method)
    assert answers.shape == Y.shape
    for train, test in KFold(2).split(X):
        clf = EFCMLClassifier(**QUICK).fit(X[train], Y[train])
        np.testing.assert_array_equal(answers[test], getattr(clf, method)(X[test]))


def test_cross_val_predict_of_string_classes():
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    answers = cross_val_predict(EFCMLClassifier(**QUICK), X, y, cv=2, method="predict_proba")
    assert answers.shape == (len(X), 2)


def test_pipeline():
    X, Y = stream()
    pipeline = make_pipeline(StandardScaler(), EFCMLClassifier(**QUICK)).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    clf = EFCMLClassifier(**QUICK).fit(scaled, Y)
    np.testing.assert_array_equal(pipeline.decision_function(X), clf.decision_function(scaled))
    assert pipeline.score(X, Y) == clf.score(scaled, Y)


# -- saving and going on ----------------------------------------------------------------------


def by_pickle(clf, folder):
    return pickle.loads(pickle.dumps(clf))


def by_joblib(clf, folder):
    joblib.dump(clf, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


@pytest.mark.parametrize("move", [by_pickle, by_joblib])
@pytest.mark.parametrize("start", ["warm-up", "fit", "unknown labels"])
def test_round_trips_go_on_bit_for_bit(move, start, tmp_path):
    X, Y = stream(60)
    if start == "unknown labels":
        Y = hide(Y)
    clf = EFCMLClassifier(**EVERYTHING)
    first = 6 if start == "warm-up" else 30
    clf = (clf.partial_fit if start == "warm-up" else clf.fit)(X[:first], Y[:first])
    copy = move(clf, tmp_path)
    assert freeze(copy) == freeze(clf)
    for model in (clf, copy):
        model.partial_fit(X[first:], Y[first:])
    assert freeze(copy) == freeze(clf)
    np.testing.assert_array_equal(copy.decision_function(X), clf.decision_function(X))


# -- answers ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, Y = stream()
    return EFCMLClassifier(**QUICK).fit(X, Y)


def test_there_are_rules(fitted):
    assert fitted.n_rules_ == fitted.learner_.rules.n_rules > 1


def test_predict_is_the_sign_of_the_decision(fitted):
    X, _ = stream(50, seed=5)
    decision, labels = fitted.decision_function(X), fitted.predict(X)
    assert decision.shape == labels.shape == (50, 3)
    assert labels.dtype.kind == "i"
    np.testing.assert_array_equal(labels, decision >= 0.0)
    assert 0 < labels.sum() < labels.size


def test_a_decision_of_zero_is_a_yes():
    X, _ = stream(8)
    Y = np.tile([[1.0], [0.0]], (4, 1))
    clf = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    assert (clf.decision_function(X) == 0.0).all()
    assert (clf.predict(X) == 1).all()


def test_probabilities_keep_the_ranks(fitted):
    X, _ = stream(200, seed=6)
    X = 3.0 * X  # far outside, so that scores leave [0, 1]
    decision, probability = fitted.decision_function(X), fitted.predict_proba(X)
    assert decision.max() > 0.5
    assert decision.min() < -0.5
    assert ((probability > 0.0) & (probability < 1.0)).all()
    order = np.argsort(decision, axis=0)  # of each label: every one has a curve of its own
    gaps = np.diff(np.take_along_axis(decision, order, axis=0), axis=0)
    rises = np.diff(np.take_along_axis(probability, order, axis=0), axis=0)
    assert (rises >= 0.0).all()
    assert (rises[gaps > 1e-6] > 0.0).all()


def test_probabilities_of_a_single_target_are_bent_scores():
    """The likelier class is the one that is predicted, as scikit-learn wants it."""
    X, Y = stream(200, seed=6)
    clf = EFCMLClassifier(**QUICK).fit(X[:60], Y[:60, 0])
    decision, probability = clf.decision_function(3.0 * X), clf.predict_proba(3.0 * X)
    assert np.nanmax(np.abs(probability[:, 1] - expected_proba(decision))) < 1e-15
    assert (
        probability.argmax(axis=1)[decision != 0.0] == clf.predict(3.0 * X)[decision != 0]
    ).all()


def test_score_is_partial_accuracy(fitted):
    X, Y = stream(50, seed=7)
    labels = fitted.predict(X)
    assert fitted.score(X, Y) == pytest.approx(1.0 - hamming_loss(Y, labels), abs=1e-15)
    weight = np.arange(50.0)
    expected = 1.0 - hamming_loss(Y, labels, sample_weight=weight)
    assert fitted.score(X, Y, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    assert fitted.score(X, labels) == 1.0
    assert fitted.score(X, 1 - labels) == 0.0


def test_score_leaves_unknown_labels_out(fitted):
    X, Y = stream(50, seed=7)
    hidden = hide(Y)
    known = ~np.isnan(hidden)
    right = fitted.predict(X) == Y
    assert fitted.score(X, hidden) == pytest.approx(right[known].mean(), abs=1e-15)


def test_score_of_flat_targets_is_accuracy():
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    clf = EFCMLClassifier(**QUICK).fit(X, y)
    y = np.roll(y, 1)  # other labels than it has learned, some of them equal
    expected = accuracy_score(y, clf.predict(X))
    assert 0.0 < expected < 1.0
    assert clf.score(X, y) == pytest.approx(expected, abs=1e-15)
    assert clf.score(X, y[:, None]) == clf.score(X, y)
    weight = np.arange(40.0)
    expected = accuracy_score(y, clf.predict(X), sample_weight=weight)
    assert clf.score(X, y, weight) == pytest.approx(expected, abs=1e-12)
    assert clf.score(X, np.full(40, "never seen")) == 0.0


# -- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("no", "yes", "dtype"),
    [
        (0, 1, int),
        (-1, 1, np.int8),
        (3, 7, int),
        (0.0, 1.0, float),
        (False, True, bool),
        ("a", "b", str),
        ("no", "yes", object),
    ],
)
def test_flat_targets_of_any_two_classes(no, yes, dtype):
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, yes, no).astype(dtype)
    clf = EFCMLClassifier(**QUICK).fit(X, y)
    assert clf.classes_.tolist() == [no, yes]
    decision, probability = clf.decision_function(X), clf.predict_proba(X)
    assert decision.shape == (40,)
    assert probability.shape == (40, 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    assert (np.diff(probability[np.argsort(decision), 1]) >= 0.0).all()
    assert clf.predict(X).tolist() == [yes if value >= 0.0 else no for value in decision]
    column = EFCMLClassifier(**QUICK).fit(X, Y[:, :1])
    np.testing.assert_array_equal(column.decision_function(X), decision[:, None])


def test_one_column_of_zeros_and_ones_is_one_label():
    X, Y = stream()
    clf = EFCMLClassifier(**QUICK).fit(X, Y[:, :1])
    assert clf.classes_.tolist() == [0]
    for answer in (clf.predict(X), clf.predict_proba(X), clf.decision_function(X)):
        assert answer.shape == (40, 1)


def test_one_column_of_strings_is_a_flat_target():
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    column = EFCMLClassifier(**QUICK).fit(X, y[:, None])
    flat = EFCMLClassifier(**QUICK).fit(X, y)
    assert freeze(column) == freeze(flat)
    assert column.predict(X).shape == (40,)


def test_a_column_follows_the_first_call():
    X, Y = stream()
    y = Y[:, 0].astype(int)
    column, flat = EFCMLClassifier(**QUICK), EFCMLClassifier(**QUICK)
    column.partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:, None])
    assert freeze(column) == freeze(flat.partial_fit(X, y))


@pytest.mark.parametrize(
    ("value", "classes"),
    [(0, [0, 1]), (1, [0, 1]), (True, [False, True]), (1.0, [0.0, 1.0]), (5, [5]), ("a", ["a"])],
)
def test_a_single_class_is_always_answered(value, classes):
    X, _ = stream(20)
    clf = EFCMLClassifier(**QUICK).fit(X, np.full(20, value))
    assert clf.classes_.tolist() == classes
    assert clf.predict(X).tolist() == [value] * 20
    assert clf.predict_proba(X).shape == (20, len(classes))
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert clf.score(X, np.full(20, value)) == 1.0


def test_classes_announce_what_comes_later():
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    order = np.argsort(y, kind="stable")  # all "no" first
    clf = EFCMLClassifier(**QUICK)
    clf.partial_fit(X[order][:5], y[order][:5], classes=["yes", "no"])
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.predict(X[:1]).tolist() == ["no"]
    clf.partial_fit(X[order][5:], y[order][5:], classes=["no", "yes"])
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).partial_fit(X[order], y[order]))


@pytest.mark.parametrize("classes", [[0, 1, 2], ["a", "b", "c"], [np.array([0, 1])] * 3])
def test_classes_of_many_labels_are_counted(classes):
    X, Y = stream(5)
    clf = EFCMLClassifier(**QUICK).partial_fit(X, Y, classes=classes)
    assert clf.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "convert",
    [
        lambda table: table.tolist(),
        lambda table: np.asfortranarray(table),
        lambda table: np.repeat(table, 2, axis=0)[::2],
        lambda table: table.astype(object),
        lambda table: np.frombuffer(table.tobytes()).reshape(table.shape),  # not writeable
    ],
    ids=["lists", "columns", "strides", "objects", "read-only"],
)
def test_layout_and_type_do_not_matter(convert):
    X, Y = stream()
    expected = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    A, B = convert(X), convert(Y)
    clf = EFCMLClassifier(**QUICK).fit(A[:20], B[:20]).partial_fit(A[20:], B[20:])
    assert freeze(clf) == freeze(expected)
    np.testing.assert_array_equal(clf.predict(A), expected.predict(X))
    assert clf.score(A, B) == expected.score(X, Y)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32])
def test_label_types_do_not_matter(dtype):
    X, Y = stream()
    clf = EFCMLClassifier(**QUICK).fit(X, Y.astype(dtype))
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).fit(X, Y))


def test_input_is_not_touched_or_kept():
    X, Y = stream()
    X0, Y0 = X.copy(), Y.copy()
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:6], Y[:6])
    held = freeze(clf)
    X[:6], Y[:6] = 9.0, 1.0
    assert freeze(clf) == held
    X[:6], Y[:6] = X0[:6], Y0[:6]
    clf.partial_fit(X[6:], Y[6:])
    clf.fit(X, Y)
    clf.predict(X)
    assert X.tobytes() == X0.tobytes()
    assert Y.tobytes() == Y0.tobytes()


# -- names ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pd():
    return pytest.importorskip("pandas")


def test_frames_give_names(pd):
    X, Y = stream()
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    clf = EFCMLClassifier(**QUICK).fit(frame, labels)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.label_names_.tolist() == ["u", "v", "w"]
    plain = EFCMLClassifier(**QUICK).fit(X, Y)
    assert freeze(clf.learner_) == freeze(plain.learner_)
    assert not hasattr(plain, "label_names_")
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(clf.predict(frame), plain.predict(X))
    assert clf.score(frame, labels) == plain.score(X, Y)
    clf.partial_fit(frame[:3], labels[:3]).partial_fit(frame[3:5], Y[3:5])
    assert freeze(clf.learner_) == freeze(plain.partial_fit(X[:5], Y[:5]).learner_)
    clf.fit(X, Y)
    assert not hasattr(clf, "label_names_")
    assert not hasattr(clf, "feature_names_in_")


def test_names_of_a_warm_up(pd):
    X, Y = stream(5)
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    clf = EFCMLClassifier(**QUICK).partial_fit(frame, labels)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.label_names_.tolist() == ["u", "v", "w"]


def test_numbers_as_label_names_become_strings(pd):
    X, Y = stream()
    assert EFCMLClassifier(**QUICK).fit(X, pd.DataFrame(Y)).label_names_.tolist() == list("012")


def test_series_are_flat_targets(pd):
    X, Y = stream()
    y = pd.Series(np.where(Y[:, 0] == 1.0, "yes", "no"), name="target")
    clf = EFCMLClassifier(**QUICK).fit(X, y)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.score(X, y) == accuracy_score(y, clf.predict(X))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64"])
def test_nullable_types_of_pandas(pd, dtype):
    X, Y = stream()
    labels = pd.DataFrame({"a": pd.array(Y[:, 0] == 1.0, dtype="boolean"), "b": Y[:, 1] == 1.0})
    labels["b"] = labels["b"].astype(dtype)
    flat = EFCMLClassifier(**QUICK).fit(X, labels["b"].astype(dtype))
    assert flat.classes_.tolist() == [0, 1]
    labels.loc[::4, "b"] = pd.NA
    expected = Y[:, :2].copy()
    expected[::4, 1] = np.nan
    clf = EFCMLClassifier(**QUICK).fit(X, labels)
    assert freeze(clf.learner_) == freeze(EFCMLClassifier(**QUICK).fit(X, expected).learner_)
    assert clf.score(X, labels) == clf.score(X, expected)


# -- unknown labels ---------------------------------------------------------------------------


def test_fit_leaves_rows_without_labels_out():
    X, Y = stream()
    Y = hide(Y)
    Y[[0, 3, 39]] = np.nan
    labelled = ~np.isnan(Y).all(axis=1)
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).fit(X[labelled], Y[labelled]))
    assert np.isfinite(clf.decision_function(X)).all()


def test_none_is_an_unknown_label():
    X, Y = stream()
    Y = hide(Y)
    objects = Y.astype(object)
    objects[np.isnan(Y)] = None
    clf = EFCMLClassifier(**QUICK).fit(X, objects)
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).fit(X, Y))


@pytest.mark.parametrize("start", ["new", "warm-up", "fit", "unknown labels"])
def test_rows_without_labels_change_nothing(start):
    X, Y = stream()
    clf = EFCMLClassifier(**EVERYTHING)
    if start == "warm-up":
        clf.partial_fit(X[:6], Y[:6])
    elif start != "new":
        clf.fit(X, hide(Y) if start == "unknown labels" else Y)
    else:
        clf.partial_fit(X[:1], np.full((1, 3), np.nan))

    def state():
        learner = clf.learner_
        return freeze([learner.rules, learner.held, learner.counts, clf.decision_function(X)])

    before = state()
    clf.partial_fit(*(5.0 * X[:7], np.full((7, 3), np.nan)))
    assert state() == before


def test_known_labels_are_learned_from_partly_known_rows():
    X, Y = stream(200, n_labels=2)
    Y[:, 1] = Y[:, 0]
    hidden = Y.copy()
    hidden[::2, 0] = np.nan
    clf = EFCMLClassifier(prior=1.0).fit(X[:100], hidden[:100])
    clf.partial_fit(X[100:], hidden[100:])
    right = (clf.predict(X) == Y).mean(axis=0)
    assert (right > 0.85).all()


# -- warm-up and chunks -----------------------------------------------------------------------


def test_warm_up_holds_rows_and_answers_frequencies():
    X, Y = stream(12)
    waiting = QUICK | {"provisional": False}
    clf = EFCMLClassifier(**waiting)
    for t in range(11):
        clf.partial_fit(X[t : t + 1], Y[t : t + 1])
        check_is_fitted(clf)
        assert clf.n_rules_ == 0
        assert len(clf.learner_.held) == t + 1
        frequencies = np.tile(Y[: t + 1].mean(axis=0), (4, 1))
        np.testing.assert_allclose(clf.decision_function(X[:4]), frequencies - 0.5, atol=1e-15)
        np.testing.assert_array_equal(clf.predict(X[:4]), clf.decision_function(X[:4]) >= 0.0)
    clf.partial_fit(X[11:], Y[11:])
    assert clf.n_rules_ > 0
    assert clf.learner_.held == []
    assert freeze(clf) == freeze(EFCMLClassifier(**waiting).fit(X, Y))


def test_frequencies_leave_unknown_labels_out():
    X, _ = stream(3)
    Y = np.array([[1.0, np.nan, np.nan], [np.nan, 0.0, np.nan], [0.0, 0.0, np.nan]])
    clf = EFCMLClassifier(**QUICK).partial_fit(X, Y)
    assert clf.decision_function(X[:1]).tolist() == [[0.0, -0.5, -0.5]]


@pytest.mark.parametrize("labels", ["known", "unknown"])
@pytest.mark.parametrize(
    "options", [QUICK, EVERYTHING, {"warmup_rows": 20}], ids=["quick", "everything", "defaults"]
)
def test_warm_up_is_fit_then_partial_fit(options, labels):
    X, Y = stream(60)
    first = options["warmup_rows"]
    if labels == "unknown":
        Y = hide(Y)
        first += np.isnan(Y[:first]).all(axis=1).sum()
        assert first == options["warmup_rows"] + 1
    expected = EFCMLClassifier(**options).fit(X[:first], Y[:first])
    expected.partial_fit(X[first:], Y[first:])
    assert freeze(EFCMLClassifier(**options).partial_fit(X, Y)) == freeze(expected)


@pytest.mark.parametrize("rows", [1, 2])
def test_shortest_warm_up(rows):
    X, Y = stream(20)
    clf = EFCMLClassifier(warmup_rows=rows).partial_fit(X, Y)
    assert clf.n_rules_ > 0
    assert np.isfinite(clf.decision_function(X)).all()
    assert clf.score(X, Y) > 0.5


@pytest.mark.parametrize("labels", ["known", "unknown"])
@pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
@pytest.mark.parametrize("start", ["new", "fit"])
def test_any_split_gives_the_same_state(options, labels, start, rng):
    X, Y = stream(60)
    if labels == "unknown":
        Y[15:] = hide(Y[15:])
    initial = EFCMLClassifier(**options)
    if start == "fit":
        initial.fit(X[:20], Y[:20])
    whole = learn_in_chunks(pickle.loads(pickle.dumps(initial)), X, Y, [60])
    assert whole.n_rules_ > 1
    cuts = np.sort(rng.choice(np.arange(1, 60), size=9, replace=False))
    random = np.diff([0, *cuts, 60])
    for sizes in ([1] * 60, [7] * 8 + [4], [59, 1], random):
        clf = learn_in_chunks(pickle.loads(pickle.dumps(initial)), X, Y, sizes)
        assert freeze(clf) == freeze(whole)
        assert clf.decision_function(X).tobytes() == whole.decision_function(X).tobytes()


def test_partial_fit_goes_on_after_fit():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    learner, before = clf.learner_, freeze(clf)
    support = clf.learner_.rules.support.sum()
    clf.partial_fit(X[30:], Y[30:])
    assert clf.learner_ is learner
    assert freeze(clf) != before
    assert clf.learner_.rules.support.sum() == support + 30


def test_fit_starts_anew():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    wide, many = stream(20, n_features=2, n_labels=4)
    clf.fit(wide, many)
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).fit(wide, many))


def test_fit_ends_a_warm_up():
    X, Y = stream(30)
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:5], Y[:5]).fit(X[10:], Y[10:])
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).fit(X[10:], Y[10:]))


# -- the paper's formulas ---------------------------------------------------------------------

PRINTED = {
    "correlation": "paper",
    "lipschitz": "paper",
    "merge_consequents": "paper",
    "merge_volume": "paper",
    "bandwidth": 1.0,
    "forgetting": 1.0,
    "n_steps": 1,
    "step_interval": 0.0,
    "variance_floor": 0.0,
    "birth_learning": False,
    "birth_plane": "nearest",
    "cases": 0,
    "product_space": True,
    "weight_limit": 1e6,
}


def test_paper_has_every_formula_as_printed():
    parameters = EFCMLClassifier.paper().get_params()
    assert {name: parameters[name] for name in PRINTED} == PRINTED
    assert parameters["alpha"] > 0.0
    assert parameters["beta"] > 0.0
    Params(**{name: value for name, value in parameters.items() if name != "random_state"})


def test_paper_takes_changes():
    clf = EFCMLClassifier.paper(vigilance=0.9, lipschitz="exact", random_state=1)
    assert (clf.vigilance, clf.lipschitz, clf.random_state) == (0.9, "exact", 1)
    assert clf.correlation == "paper"
    with pytest.raises(TypeError, match="vigilanze"):
        EFCMLClassifier.paper(vigilanze=0.9)


def test_paper_can_be_cloned_and_derived_from():
    class Mine(EFCMLClassifier):
        pass

    clf = Mine.paper(beta=0.5)
    assert type(clf) is Mine
    assert clone(clf).get_params() == clf.get_params()


def test_paper_learns():
    X, Y = stream(60)
    clf = EFCMLClassifier.paper(warmup_rows=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        clf.partial_fit(X, Y)
    assert clf.n_rules_ > 0
    assert np.isfinite(clf.decision_function(X)).all()


def test_only_labels_can_be_named():
    X, Y = stream(40)
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    assert clf.column_names() == (None, None)
    assert clf.name_columns(label_names=["u", "v", "w"]) is clf
    clf.predict(X)  # without a warning: features have no names
    features, labels = clf.column_names()
    assert (features, labels.tolist()) == (None, ["u", "v", "w"])
    with pytest.raises(ValueError, match="feature_names must be 3 different names"):
        clf.name_columns(["a"], ["r", "s", "t"])
    assert clf.column_names()[1].tolist() == ["u", "v", "w"]


# Labels that appear late


def test_late_labels():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    late = np.column_stack([Y, Y[:, 0]])
    assert clf.add_labels(1) is clf
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    clf.partial_fit(X[30:], late[30:])
    assert clf.predict(X).shape == (60, 4)
    assert clf.score(X, late) > 0.5
    twin = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    twin.learner_.add_labels(1)  # whoever works with the learner finds a face that agrees
    twin.partial_fit(X[30:], late[30:])
    assert np.array_equal(clf.decision_function(X), twin.decision_function(X))


def test_late_labels_with_names(pd):
    X, Y = (pd.DataFrame(table) for table in stream(40))
    X, Y = X.add_prefix("x"), Y.add_prefix("y")
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="labels must be a list of new names, each once; got 1"):
        clf.add_labels(1)
    for names in (["y0"], ["a", "a"], "calm", [], 1.5, None, [1]):
        with pytest.raises(ValueError, match="labels must be a list of new names"):
            clf.add_labels(names)
    clf.add_labels(["calm"])
    assert clf.label_names_.tolist() == [*Y.columns, "calm"]
    clf.partial_fit(X, Y.assign(calm=1))
    assert "calm" in clf.rules_.label_names
    with pytest.raises(ValueError, match="y must have the columns"):
        clf.partial_fit(X, Y)


def test_models_that_take_no_late_labels():
    X, Y = stream(40)
    with pytest.raises(ValueError, match="has one label; fit a 2-D y"):
        EFCMLClassifier(**QUICK).fit(X, Y[:, 0]).add_labels(1)
    with pytest.raises(ValueError, match="without names of labels, must be a whole number >= 1"):
        EFCMLClassifier(**QUICK).fit(X, Y).add_labels(["calm"])
    with pytest.raises(NotImplementedError, match="fit again with all"):
        OneVsRestEFC(**QUICK).fit(X, Y).add_labels(1)
    with pytest.raises(NotFittedError):
        EFCMLClassifier().add_labels(1)


# Probabilities


def test_probabilities_are_bent_scores():
    """Between 0 and 1, in the order of the scores; the ends are reached by rounding alone."""
    scores = np.array([-1e300, -3.0, 0.0, 0.05, 0.3, 0.95, 1.0, 4.0, 1e300])
    bent = squash(scores)
    assert bent[3:6].tolist() == [0.05, 0.3, 0.95]
    assert (np.diff(bent) > 0.0).all()
    assert (bent[1:-1] > 0.0).all()
    assert (bent[1:-1] < 1.0).all()
    assert (bent[0], bent[-1]) == (pytest.approx(0.0), 1.0)
    for words in (EFCMLClassifier.predict_proba.__doc__, squash.__doc__):
        assert "never reach" not in words
