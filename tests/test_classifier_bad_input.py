"""Bad input is refused in one line that says what is wrong, and leaves the model as it was."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.models import QUICK, freeze, stream
from helpers.ranges import FACTS, refused
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from efcml import EFCMLClassifier
from efcml.model.learner import Learner

X, Y = stream()
FLAT = Y[:, 0].astype(int)
NAMES = np.where(FLAT == 1, "yes", "no")
FRAME, LABELS = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
TARGETS = {"table": (X, Y), "flat": (X, FLAT), "names": (X, NAMES), "frames": (FRAME, LABELS)}
STATES = ("unfitted", "warming up", "fitted")
QUESTIONS = ("predict", "predict_proba", "decision_function")


@cache  # a refused call changes nothing, and `refuse` looks
def model(state, kind="table"):
    clf = EFCMLClassifier(**QUICK)
    rows, labels = TARGETS[kind]
    if state == "warming up":
        clf.partial_fit(rows[:6], labels[:6])
    if state == "fitted":
        clf.fit(rows, labels)
    return clf


def put(table, value):
    """Return a copy with another value at row 2, column 1."""
    table = table.astype(float if isinstance(value, float) else object)
    table[2, 1] = value
    return table


def refuse(clf, call, match, error=ValueError):
    """Check that a call raises one line and changes nothing."""
    before = freeze(clf)
    with pytest.raises(error, match=match) as caught:
        call()
    assert freeze(clf) == before
    assert "\n" not in str(caught.value)


BAD_X = {
    "infinity": (put(X, -np.inf), Y, r"Input X contains infinity.*row 2, column 1: NaN is a"),
    "strings": (
        np.full((40, 3), "a"),
        Y,
        "must hold numbers: could not convert string to float: .*'a'",
    ),
    "one string": (put(X, "a"), Y, "to float: 'a': turn them into numbers first"),
    "3-D": (X[None], Y[:1], "Found array with dim 3"),
    "a row": (
        X[0],
        Y[:1],
        r"shape \(rows, features\); got \(3,\). Reshape your data: a single row",
    ),
    "a list": ([1.0, 2.0], Y[:1], r"shape \(rows, features\); got \(2,\). Reshape your data"),
    "a number": (3.0, Y[:1], r"shape \(rows, features\); got \(\). Reshape your data"),
    "complex": (X * 1j, Y, "^Complex data not supported: X must hold real numbers"),
    "sparse and complex": (csr_array(X * 1j), Y, "^Complex data not supported"),
    "huge": (put(X, 10**400), Y, "^X must hold numbers: int too large to convert to float"),
    "no rows": (X[:0], Y[:0], r"0 sample\(s\).*a minimum of 1 is required"),
    "no features": (X[:, :0], Y, r"0 feature\(s\).*a minimum of 1 is required"),
}
SHAPE = r"y must have the shape \(rows, labels\).*got |y must be 2-D with 3 labels"
VALUES = r"y must hold 0, 1 or NaN \(unknown\); got "
BAD_Y = {
    "fewer labels than rows": (Y[:9], "inconsistent numbers of rows: 40 and 9"),
    "no labels": (Y[:, :0], SHAPE + r"\(40, 0\)"),
    "3-D": (Y[None], SHAPE),
    "0-D": (1.0, SHAPE),
    "nothing": (None, "requires y to be passed, but the target y is None"),
    "2": (put(Y, 2.0), VALUES + "2"),
    "0.5": (put(Y, 0.5), VALUES + "0.5"),
    "strings": (np.full((40, 3), "a"), VALUES + "other objects"),
    "one string": (put(Y, "1"), VALUES + "other objects"),
    "complex": (Y * (1 + 0j), VALUES + "other objects"),
    "huge": (put(Y, 10**400), VALUES + "other objects"),
    "complex frame": (LABELS * (1 + 0j), "^Complex data not supported$"),
}


@pytest.mark.parametrize(("rows", "labels", "match"), BAD_X.values(), ids=BAD_X)
def test_bad_features(rows, labels, match):
    for clf in map(model, STATES):
        refuse(clf, lambda clf=clf: clf.fit(rows, labels), match)
        refuse(clf, lambda clf=clf: clf.partial_fit(rows, labels), match)
    for name in QUESTIONS:
        refuse(clf, lambda name=name: getattr(clf, name)(rows), match)


@pytest.mark.parametrize(("labels", "match"), BAD_Y.values(), ids=BAD_Y)
def test_bad_labels(labels, match):
    for clf in map(model, STATES):
        refuse(clf, lambda clf=clf: clf.fit(X, labels), match)
        refuse(clf, lambda clf=clf: clf.partial_fit(X, labels), match)
    refuse(clf, lambda: clf.score(X, labels), match)


BAD_FLAT = {
    "NaN": (np.where(FLAT == 1, 1.0, np.nan), "Input y contains NaN.*1-D y must be complete"),
    "None": (np.where(FLAT == 1, 1, None), "Unknown label type.*numbers only or strings only"),
    "None and strings": (np.where(FLAT == 1, "yes", None), "Unknown label type.*strings only"),
    "fractions": (X[:, 0], "Unknown label type: continuous"),
    "wrong length": (FLAT[:7], "inconsistent numbers of rows: 40 and 7"),
    "three classes": (np.arange(40) % 3, "Only binary classification.*2-D array of 0 and 1"),
}


@pytest.mark.parametrize(("y", "match"), BAD_FLAT.values(), ids=BAD_FLAT)
def test_bad_flat_targets(y, match):
    other = "y has other labels than .0, 1.: give all classes at first"
    for state in STATES:
        clf = model(state, "flat")
        refuse(clf, lambda clf=clf: clf.fit(X, y), match)
        late = other if state != "unfitted" and "binary" in match else match
        refuse(clf, lambda clf=clf: clf.partial_fit(X, y), late)


@pytest.mark.parametrize("state", STATES[1:])
def test_what_does_not_go_with_the_rows_before(state):
    clf, flat, named = model(state), model(state, "names"), model(state, "frames")
    wide, swapped = np.ones((40, 4)), LABELS[list("vuw")]
    first = "as in the first call; got shape"
    for one, rows, labels, match in [
        (clf, wide, Y, "X has 4 features, but EFCMLClassifier is expecting 3 features"),
        (clf, X[:, :2], Y, "X has 2 features, but EFCMLClassifier is expecting 3 features"),
        (clf, X, wide, "y has 4 labels, but 3 are expected"),
        (clf, X, FLAT, rf"y must be 2-D with 3 labels, {first} \(40,\)"),
        (flat, X, Y, rf"y must be 1-D, {first} \(40, 3\)"),
        (named, FRAME, swapped, r"y must have the columns \['u', 'v', 'w'\], in this order"),
    ]:
        refuse(one, lambda m=one, x=rows, y=labels: m.partial_fit(x, y), match)
        refuse(one, lambda m=one, x=rows, y=labels: m.score(x, y), match)
    refuse(flat, lambda: flat.partial_fit(X, FLAT), r"y has other labels than \['no', 'yes'\]")
    before = freeze(named)
    for call in (lambda x: named.partial_fit(x, LABELS), named.predict):
        with pytest.raises(ValueError, match="The feature names should match"):
            call(FRAME[list("bac")])
    assert freeze(named) == before


def test_classes_that_do_not_fit():
    cases = [
        (model(state), Y, classes, f"y has 3 labels, but {np.size(classes)} are expected")
        for state in STATES
        for classes in ([0, 1], [0, 1, 2, 3], 3)
    ]
    flat, match = model("fitted", "names"), r"classes must be \['no', 'yes'\], as in the first"
    cases += [(flat, NAMES, classes, match) for classes in (["no"], ["no", "maybe"])]
    cases += [(model("unfitted"), FLAT, [0, 1, 2], "Only binary")]
    cases += [(model("unfitted"), NAMES, ["no"], r"than \['no'\]: give all classes at first")]
    for clf, y, classes, match in cases:
        refuse(clf, lambda c=clf, y=y, k=classes: c.partial_fit(X, y, classes=k), match)


def test_what_cannot_be_learned_leaves_no_trace():
    hours = pd.date_range("2024-01-01", periods=40, freq="h")
    dates = "X must hold numbers; column 'b' holds dates or times"
    for clf in map(model, STATES):
        for learn in (clf.fit, clf.partial_fit):
            refuse(
                clf,
                lambda k=learn: k(X, Y, weights=1),
                "argument 'weights'",
                error=TypeError,
            )
        for x, y, match in [
            (FRAME.assign(b=hours.tz_localize("UTC")), Y, dates),
            (FRAME.assign(b=hours - hours[0]), Y, dates),
            (hours.to_numpy()[:, None], Y, "X must hold numbers; it holds dates or times"),
            (X, np.full((40, 1), np.nan), "y has no known label: at least one"),
            (FRAME, 2 * LABELS, "must hold 0, 1 or NaN"),
            (
                FRAME.assign(b="word"),
                Y,
                "must hold numbers: could not convert string to float: 'word'",
            ),
        ]:
            refuse(clf, lambda clf=clf, x=x, y=y: clf.fit(x, y), match)


def test_questions_before_learning_and_nothing_to_score():
    clf, match = model("unfitted"), "This EFCMLClassifier instance is not fitted yet"
    calls = [lambda name=name: getattr(clf, name)(X) for name in QUESTIONS]
    calls += [lambda: clf.score(X, Y), lambda: clf.n_rules_, lambda: clf.rules_]
    calls += [lambda: clf.begin_stream(X, Y, learn=False), lambda: clf.name_columns(["a"] * 3)]
    calls += [lambda: clf.check_features(X), lambda: clf.check_labels(Y, 40)]
    for call in calls:
        refuse(clf, call, match, error=NotFittedError)
    assert set(vars(clf)) == set(clf.get_params())
    clf, match = model("fitted"), "y has no known label to score"
    refuse(clf, lambda: clf.score(X, np.full(Y.shape, np.nan)), match)


def test_bad_parameters_are_named_when_learning_begins():
    cases = [(name, refused(name)[0], f"^{name} must be .*; got ") for name in FACTS]
    cases += [("random_state", "seed", "'seed' cannot be used to seed")]
    for name, value, match in cases:
        clf = EFCMLClassifier(**{name: value})
        refuse(clf, lambda clf=clf: clf.fit(X, Y), match)
        refuse(clf, lambda clf=clf: clf.partial_fit(X, Y), match)
    clf = EFCMLClassifier(**QUICK).fit(X, Y).set_params(vigilance=-1.0)
    refuse(clf, lambda: clf.fit(X, Y), "vigilance must be a number > 0; got -1.0")
    clf.partial_fit(X, Y)  # parameters were read by the first call


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_fit_that_breaks_off_leaves_the_old_model(error, monkeypatch):
    def breaks(self, X, Y, weights=None):
        raise error("in the middle")

    wide, many = stream(20, n_features=2, n_labels=4)
    models = [model(state) for state in STATES]
    monkeypatch.setattr(Learner, "fit", breaks)
    for clf in models:
        refuse(clf, lambda clf=clf: clf.fit(wide, many), "in the middle", error)
