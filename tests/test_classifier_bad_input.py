"""Bad input is refused in one line that says what is wrong, and leaves the model as it was."""

import numpy as np
import pytest
import scipy.sparse
from helpers.models import QUICK, freeze, hide, stream
from helpers.ranges import FACTS, refused
from sklearn.exceptions import NotFittedError

from efcml import EFCMLClassifier
from efcml.model.learner import Learner

X, Y = stream()
FLAT = Y[:, 0].astype(int)
NAMES = np.where(FLAT == 1, "yes", "no")


def put(table, value):
    """Return a copy with another value at row 2, column 1."""
    table = table.astype(float if isinstance(value, float) else object)
    table[2, 1] = value
    return table


def unfitted(Y):
    return EFCMLClassifier(**QUICK)


def warming_up(Y):
    return EFCMLClassifier(**QUICK).partial_fit(X[:6], Y[:6])


def fitted(Y):
    return EFCMLClassifier(**QUICK).fit(X, Y)


def partly_labelled(Y):
    return EFCMLClassifier(**QUICK).fit(X, hide(Y))


STATES = [unfitted, warming_up, fitted]


def refuse(clf, call, match, error=ValueError):
    """Check that a call raises one line and changes nothing; return the line."""
    before = freeze(clf)
    with pytest.raises(error, match=match) as caught:
        call()
    assert freeze(clf) == before
    line = str(caught.value)
    assert "\n" not in line
    assert 10 < len(line) < 220
    return line


# What is wrong whatever the model has seen. ------------------------------------------------

BAD_ROWS = {
    "infinity in X": (put(X, -np.inf), Y, r"Input X contains infinity.*row 2, column 1: NaN is a"),
    "strings in X": (np.full((40, 3), "a"), Y, "must hold numbers; row 0, column 0 is 'a'"),
    "one string in X": (put(X, "a"), Y, "must hold numbers; row 2, column 1 is 'a': encode"),
    "complex X": (X * 1j, Y, "Complex data not supported: X must hold real numbers"),
    "1-D X": (X[0], Y[:1], r"X must be 2-D. Reshape your data: X.reshape\(1, -1\)"),
    "3-D X": (X[None], Y[:1], "Found array with dim 3"),
    "0-D X": (1.0, Y[:1], "X must be 2-D"),
    "ragged X": ([[1.0], [1.0, 2.0]], Y[:2], "inhomogeneous shape"),
    "no rows": (X[:0], Y[:0], r"0 sample\(s\).*a minimum of 1 is required"),
    "no features": (X[:, :0], Y, r"0 feature\(s\).*a minimum of 1 is required"),
    "fewer labels than rows": (X, Y[:9], "inconsistent numbers of rows: 40 and 9"),
    "more labels than rows": (X[:9], Y, "inconsistent numbers of rows: 9 and 40"),
    "no labels": (X, Y[:, :0], r"y must have the shape \(rows, labels\).*got \(40, 0\)"),
    "3-D Y": (X, Y[None], r"y must have the shape \(rows, labels\).*got \(1, 40, 3\)"),
    "0-D Y": (X, 1.0, r"y must have the shape \(rows, labels\).*got \(\)"),
    "a word as Y": (X, "labels", r"y must have the shape \(rows, labels\).*got \(\)"),
    "no Y": (X, None, "requires y to be passed, but the target y is None"),
    "ragged Y": (X, [[1], [1, 0]] * 20, "inhomogeneous shape"),
    "a label of 2": (X, put(Y, 2.0), r"y must hold 0, 1 or NaN \(unknown\); got 2"),
    "a label of -1": (X, 2 * Y - 1, r"y must hold 0, 1 or NaN \(unknown\); got -1"),
    "a label of 0.5": (X, put(Y, 0.5), r"y must hold 0, 1 or NaN \(unknown\); got 0.5"),
    "infinity in Y": (X, put(Y, np.inf), r"y must hold 0, 1 or NaN \(unknown\); got inf"),
    "strings in Y": (X, np.full((40, 3), "a"), "y must hold 0, 1 or NaN .*got other objects"),
    "numbers as strings in Y": (X, Y.astype(int).astype(str), "y must hold 0, 1 or NaN .*objects"),
    "one string in Y": (X, put(Y, "1"), "y must hold 0, 1 or NaN .*other objects"),
    "lists in Y": (X, put(Y, [1]), "y must hold 0, 1 or NaN .*other objects"),
    "complex Y": (X, Y * (1 + 0j), "Complex data not supported: y must hold real numbers"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case, state, method):
    rows, labels, match = BAD_ROWS[case]
    clf = state(Y)
    if case in ("3-D Y", "0-D Y", "a word as Y") and state is not unfitted:
        match = f"({match}|y must be 2-D with 3 labels)"
    refuse(clf, lambda: getattr(clf, method)(rows, labels), match)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sparse_input(make, state, method):
    clf = state(Y)
    learn = getattr(clf, method)
    refuse(clf, lambda: learn(make(X), Y), "[Ss]parse.*toarray", error=TypeError)


BAD_FLAT = {
    "NaN": (np.where(FLAT == 1, 1.0, np.nan), "Input y contains NaN.*1-D y must be complete"),
    "infinity": (np.where(FLAT == 1, np.inf, 0.0), "Input y contains NaN or infinity"),
    "None": (np.where(FLAT == 1, 1, None), "Unknown label type.*numbers only or strings only"),
    "None and strings": (np.where(FLAT == 1, "yes", None), "Unknown label type.*strings only"),
    "fractions": (X[:, 0], "Unknown label type: continuous"),
    "complex": (FLAT * 1j, "Complex data not supported: y must hold real numbers"),
    "wrong length": (FLAT[:7], "inconsistent numbers of rows: 40 and 7"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("case", BAD_FLAT)
def test_bad_flat_targets(case, state, method):
    y, match = BAD_FLAT[case]
    clf = state(FLAT)
    refuse(clf, lambda: getattr(clf, method)(X, y), match)


@pytest.mark.parametrize("state", STATES)
def test_three_classes(state):
    y = np.arange(40) % 3
    clf = state(FLAT)
    match = "Only binary classification is supported.*2-D array of 0 and 1"
    refuse(clf, lambda: clf.fit(X, y), match)
    if state is unfitted:
        refuse(clf, lambda: clf.partial_fit(X, y), match)
        refuse(clf, lambda: clf.partial_fit(X, FLAT, classes=[0, 1, 2]), match)
    else:
        match = r"y has other labels than \[0, 1\]: give all classes at first"
        refuse(clf, lambda: clf.partial_fit(X, y), match)


# What does not go with the rows before. -----------------------------------------------------


@pytest.mark.parametrize("state", [warming_up, fitted, partly_labelled])
def test_rows_of_another_shape(state):
    clf = state(Y)
    for width in (2, 4):
        wide = np.ones((40, width))
        match = f"X has {width} features, but EFCMLClassifier is expecting 3 features"
        refuse(clf, lambda wide=wide: clf.partial_fit(wide, Y), match)
        refuse(clf, lambda wide=wide: clf.predict(wide), match)
        labels = np.ones((40, width))
        match = f"y has {width} labels, but 3 are expected"
        refuse(clf, lambda labels=labels: clf.partial_fit(X, labels), match)
        refuse(clf, lambda labels=labels: clf.score(X, labels), match)
    match = r"y must be 2-D with 3 labels, as in the first call; got shape \(40,\)"
    refuse(clf, lambda: clf.partial_fit(X, FLAT), match)
    refuse(clf, lambda: clf.score(X, FLAT), match)
    refuse(clf, lambda: clf.partial_fit(X[:1], Y[0]), "y must be 2-D with 3 labels")


@pytest.mark.parametrize("state", [warming_up, fitted])
def test_tables_after_a_flat_target(state):
    clf = state(NAMES)
    match = r"y must be 1-D, as in the first call; got shape \(40, 3\)"
    refuse(clf, lambda: clf.partial_fit(X, Y), match)
    refuse(clf, lambda: clf.score(X, Y), match)
    line = refuse(clf, lambda: clf.partial_fit(X, FLAT), "y has other labels than")
    assert "['no', 'yes']" in line  # and not [np.str_('no'), ...]


@pytest.mark.parametrize("state", [warming_up, fitted])
def test_a_wrong_value_in_one_column(state):
    clf = state(Y[:, :1])
    refuse(clf, lambda: clf.partial_fit(X, 2 * Y[:, :1]), r"must hold 0, 1 or NaN.*; got 2\.")


def test_a_class_that_was_not_announced():
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:3], np.full(3, "a"))
    line = refuse(clf, lambda: clf.partial_fit(X, NAMES), "give all classes at first")
    assert "['a']" in line


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2, 3], [], 3])
def test_wrong_number_of_classes_for_a_table(state, classes):
    clf = state(Y)
    match = f"y has 3 labels, but {np.size(classes)} are expected"
    refuse(clf, lambda: clf.partial_fit(X, Y, classes=classes), match)


def test_wrong_classes_for_a_flat_target():
    clf = EFCMLClassifier(**QUICK)
    refuse(clf, lambda: clf.partial_fit(X, NAMES, classes=["no"]), r"other labels than \['no'\]")
    refuse(clf, lambda: clf.partial_fit(X, NAMES, classes=[]), r"other labels than \[\]")
    clf.partial_fit(X, NAMES, classes=["no", "yes"])
    for classes in (["no"], ["no", "maybe"], ["a", "b", "c"]):
        match = r"classes must be \['no', 'yes'\], as in the first call"
        refuse(clf, lambda classes=classes: clf.partial_fit(X, NAMES, classes=classes), match)


@pytest.mark.parametrize("state", STATES)
def test_fit_without_any_label(state):
    clf = state(Y)
    for labels in (np.full((40, 3), np.nan), np.full((40, 1), np.nan)):
        refuse(clf, lambda labels=labels: clf.fit(X, labels), "y has no known label: at least one")


@pytest.mark.parametrize("state", [warming_up, fitted])
def test_label_names_in_another_order(state):
    pd = pytest.importorskip("pandas")
    clf = state(pd.DataFrame(Y, columns=list("uvw")))
    swapped = pd.DataFrame(Y, columns=list("vuw"))
    match = r"y must have the columns \['u', 'v', 'w'\], in this order"
    refuse(clf, lambda: clf.partial_fit(X, swapped), match)
    refuse(clf, lambda: clf.score(X, swapped), match)


@pytest.mark.parametrize("state", STATES)
def test_refused_frames_leave_no_names(state):
    pd = pytest.importorskip("pandas")
    clf = state(Y)
    frame = pd.DataFrame(put(X, np.inf), columns=list("abc"))
    refuse(clf, lambda: clf.fit(frame, Y), "row 2, column 1")
    assert not hasattr(clf, "feature_names_in_")
    frame.loc[2, "b"] = 0.0
    refuse(clf, lambda: clf.fit(frame, 2 * Y), "must hold 0, 1 or NaN")
    refuse(clf, lambda: clf.fit(frame, pd.DataFrame(2 * Y)), "must hold 0, 1 or NaN")
    frame["b"] = "word"
    refuse(clf, lambda: clf.fit(frame, Y), "row 0, column 1 .b. is 'word'")


@pytest.mark.parametrize("state", [warming_up, fitted])
def test_feature_names_in_another_order(state):
    pd = pytest.importorskip("pandas")
    clf = EFCMLClassifier(**QUICK)
    learn = clf.fit if state is fitted else clf.partial_fit
    learn(pd.DataFrame(X[:10], columns=list("abc")), Y[:10])
    before = freeze(clf)
    swapped = pd.DataFrame(X, columns=list("bac"))
    for call in (lambda: clf.partial_fit(swapped, Y), lambda: clf.predict(swapped)):
        # scikit-learn's own message, in many lines; its checks ask for it word by word
        with pytest.raises(ValueError, match="The feature names should match"):
            call()
        assert freeze(clf) == before


# Questions. ---------------------------------------------------------------------------------

QUESTIONS = ["predict", "predict_proba", "decision_function"]


@pytest.mark.parametrize("method", QUESTIONS)
def test_questions_before_learning(method):
    clf = EFCMLClassifier()
    match = "This EFCMLClassifier instance is not fitted yet"
    refuse(clf, lambda: getattr(clf, method)(X), match, error=NotFittedError)
    refuse(clf, lambda: clf.score(X, Y), match, error=NotFittedError)
    refuse(clf, lambda: clf.n_rules_, match, error=NotFittedError)


def test_a_refused_first_call_leaves_the_model_unfitted():
    clf = EFCMLClassifier()
    for learn in (clf.fit, clf.partial_fit):
        refuse(clf, lambda learn=learn: learn(X, 2 * Y), "must hold 0, 1 or NaN")
    refuse(clf, lambda: clf.predict(X), "not fitted yet", error=NotFittedError)
    assert set(vars(clf)) == set(clf.get_params())


@pytest.mark.parametrize("method", QUESTIONS)
@pytest.mark.parametrize("state", [warming_up, fitted])
@pytest.mark.parametrize(
    "case",
    ["infinity in X", "strings in X", "complex X", "1-D X", "3-D X"],
)
def test_bad_questions(case, state, method):
    rows, _, match = BAD_ROWS[case]
    clf = state(Y)
    refuse(clf, lambda: getattr(clf, method)(rows), match)


@pytest.mark.parametrize("case", ["fewer labels than rows", "a label of 2", "strings in Y"])
def test_bad_labels_to_score(case):
    rows, labels, match = BAD_ROWS[case]
    clf = fitted(Y)
    refuse(clf, lambda: clf.score(rows, labels), match)


def test_nothing_to_score():
    clf = fitted(Y)
    match = "y has no known label to score"
    refuse(clf, lambda: clf.score(X, np.full(Y.shape, np.nan)), match)
    refuse(clf, lambda: clf.score(X, Y, np.zeros(40)), match)
    for weight in (np.ones(39), np.ones((40, 1)), 1.0):
        match = "sample_weight must hold one number per row"
        refuse(clf, lambda weight=weight: clf.score(X, Y, weight), match)


# Parameters. --------------------------------------------------------------------------------

BAD_PARAMETERS = [
    *((name, refused(name)[0], f"^{name} must be .*; got ") for name in FACTS),
    ("random_state", "seed", "'seed' cannot be used to seed"),
]


@pytest.mark.parametrize(("name", "value", "match"), BAD_PARAMETERS)
def test_bad_parameters_are_named_when_learning_begins(name, value, match):
    clf = EFCMLClassifier(**{name: value})
    refuse(clf, lambda: clf.fit(X, Y), match)
    refuse(clf, lambda: clf.partial_fit(X, Y), match)


def test_bad_parameters_leave_a_fitted_model():
    clf = fitted(Y).set_params(vigilance=-1.0)
    refuse(clf, lambda: clf.fit(X, Y), "vigilance must be a number > 0; got -1.0")
    clf.partial_fit(X, Y)  # parameters were read by the first call


def test_every_parameter_has_a_bad_value():
    assert {name for name, _, _ in BAD_PARAMETERS} == set(EFCMLClassifier().get_params())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_keywords_that_nobody_knows(method, state):
    clf = state(Y)
    call = getattr(clf, method)
    refuse(clf, lambda: call(X, Y, weights=1), "weights is not supported", error=TypeError)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("state", STATES)
def test_a_fit_that_breaks_off_leaves_the_old_model(state, error, monkeypatch):
    def breaks(self, X, Y):
        raise error("in the middle")

    clf = state(Y)
    before = freeze(clf)
    wide, many = stream(20, n_features=2, n_labels=4)
    monkeypatch.setattr(Learner, "fit", breaks)
    with pytest.raises(error):
        clf.fit(wide, many)
    assert freeze(clf) == before


def test_forgetting_needs_a_variance_floor():
    clf = EFCMLClassifier(forgetting=0.99, variance_floor=0.0)
    with pytest.raises(ValueError, match="forgetting < 1 needs variance_floor >= 1e-09"):
        clf.fit(np.arange(8.0).reshape(4, 2), np.eye(4)[:, :2])
    assert not hasattr(clf, "learner_")


def test_dates_are_no_numbers():
    pandas = pytest.importorskip("pandas")
    hours = pandas.date_range("2024-01-01", periods=8, freq="h")
    frame = pandas.DataFrame({"x": np.arange(8.0), "t": hours})
    Y = np.arange(8)[:, None] % 2
    for table, what in (
        (frame, "column 't'"),
        (frame.assign(t=hours.tz_localize("UTC")), "column 't'"),
        (frame.assign(t=hours - hours[0]), "column 't'"),
        (frame[["t"]].to_numpy(), "it"),
    ):
        with pytest.raises(ValueError, match=f"X must hold numbers; {what} holds dates or times"):
            EFCMLClassifier().fit(table, Y)
    seconds = frame.assign(t=frame["t"].astype("int64") / 1e9)
    EFCMLClassifier().fit(seconds, Y)
