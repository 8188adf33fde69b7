"""EFCMLClassifier: targets, names, answers, warm-up, late labels and the paper's formulas."""

import numpy as np
import pandas as pd
import pytest
from helpers.models import EVERYTHING, QUICK, freeze, hide, stream
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, hamming_loss

from efcml import EFCMLClassifier, OneVsRestEFC
from efcml.model.params import Params
from efcml.support.statistics import squash

X, Y = stream()
WORDS = np.where(Y[:, 0] == 1.0, "yes", "no")


def new(**changes):
    return EFCMLClassifier(**QUICK | changes)


@pytest.fixture(scope="module")
def fitted():
    return new().fit(X, Y)


def test_predict_is_the_sign_of_the_decision(fitted):
    assert fitted.n_rules_ > 1
    rows, _ = stream(50, seed=5)
    decision, labels = fitted.decision_function(rows), fitted.predict(rows)
    assert decision.shape == labels.shape == (50, 3)
    assert labels.dtype.kind == "i"
    assert_array_equal(labels, decision >= 0.0)
    assert 0 < labels.sum() < labels.size
    half = new(warmup_rows=50).partial_fit(X[[0] * 8], np.tile([[1.0], [0.0]], (4, 1)))
    assert (half.decision_function(X) == 0.0).all()
    assert (half.predict(X) == 1).all()


def test_probabilities_of_a_single_target_are_bent_scores():
    rows = 3.0 * stream(200, seed=6)[0]
    clf = new().fit(X, Y[:, 0])
    decision, probability = clf.decision_function(rows), clf.predict_proba(rows)
    assert_allclose(probability[:, 1], squash(decision + 0.5), rtol=1e-13)
    assert_array_equal(probability[:, 0], 1.0 - probability[:, 1])
    ends = squash(np.array([-1.95, 0.0, 0.05, 0.3, 0.95, 1.0, 2.95]))
    assert_allclose(ends, [0.05 / 41, 0.025, 0.05, 0.3, 0.95, 0.975, 1 - 0.05 / 41], rtol=1e-14)
    assert_array_equal(probability.argmax(axis=1), clf.predict(rows))


def test_score_is_the_share_of_right_known_labels(fitted):
    clf, y = new().fit(X, WORDS), np.roll(WORDS, 1)
    wanted = accuracy_score(y, clf.predict(X))
    assert clf.score(X, y) == clf.score(X, y[:, None]) == pytest.approx(wanted, abs=1e-15)
    rows, labels = stream(50, seed=7)
    found = fitted.predict(rows)
    assert fitted.score(rows, labels) == pytest.approx(1 - hamming_loss(labels, found), abs=1e-15)
    hidden = hide(labels)
    wanted = (found == labels)[~np.isnan(hidden)].mean()
    assert fitted.score(rows, hidden) == pytest.approx(wanted, abs=1e-15)
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(rows)) * (np.arange(len(rows)) % 3)
    wanted = 1 - hamming_loss(labels, found, sample_weight=weights)
    assert fitted.score(rows, labels, weights) == pytest.approx(wanted, abs=1e-15)


def test_flat_targets_of_any_two_classes():
    expected = new().fit(X, Y[:, :1]).decision_function(X)
    for no, yes, dtype in [(-1, 1, np.int8), (3, 7, float), (0, 1, bool), ("no", "yes", object)]:
        clf = new().fit(X, np.where(Y[:, 0] == 1.0, yes, no).astype(dtype))
        assert clf.classes_.tolist() == [no, yes]
        assert_array_equal(clf.decision_function(X)[:, None], expected)
        assert clf.predict(X).tolist() == [yes if value >= 0.0 else no for value in expected]


def test_one_column_is_a_label_unless_the_first_call_had_another():
    clf = new().fit(X, Y[:, :1])
    assert clf.classes_.tolist() == [0]
    for answer in (clf.predict(X), clf.predict_proba(X), clf.decision_function(X)):
        assert answer.shape == (40, 1)
    y = Y[:, 0].astype(int)
    column = new().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:, None])
    assert freeze(column) == freeze(new().partial_fit(X, y))


def test_a_single_class_is_always_answered():
    for value, classes in [(0, [0, 1]), (True, [False, True]), (5, [5]), ("a", ["a"])]:
        clf = new().fit(X[:20], np.full(20, value))
        assert clf.classes_.tolist() == classes
        assert clf.predict(X).tolist() == [value] * 40
        assert clf.predict_proba(X).shape == (40, len(classes))
        assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_classes_announce_what_comes_later():
    order = np.argsort(WORDS, kind="stable")  # all "no" first
    A, y = X[order], WORDS[order]
    clf = new().partial_fit(A[:5], y[:5], classes=["yes", "no"])
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.predict(X[:1]).tolist() == ["no"]
    clf.partial_fit(A[5:], y[5:], classes=["no", "yes"])
    assert freeze(clf) == freeze(new().partial_fit(A, y))
    for classes in ([0, 1, 2], ["a", "b", "c"], [np.array([0, 1])] * 3):
        clf = new().partial_fit(X[:5], Y[:5], classes=classes)
        assert clf.classes_.tolist() == [0, 1, 2]


def test_types_do_not_matter_and_input_is_not_touched_or_kept(fitted):
    for dtype in (bool, np.int8, np.float32, object):
        assert freeze(new().fit(X, Y.astype(dtype))) == freeze(fitted)
    assert freeze(new().fit(X.astype(object), Y.tolist())) == freeze(fitted)
    A, B = X.copy(), Y.copy()
    clf = new().partial_fit(A[:6], B[:6])
    held = freeze(clf)
    A[:6], B[:6] = 9.0, 1.0
    assert freeze(clf) == held
    A, B = X.copy(), Y.copy()
    clf.partial_fit(A, B).fit(A, B).predict(A)
    assert_array_equal(A, X)
    assert_array_equal(B, Y)


FRAME, LABELS = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))


def test_frames_give_names():
    clf, plain = new().fit(FRAME, LABELS), new().fit(X, Y)
    warm = new().partial_fit(FRAME[:5], LABELS[:5])
    for named in (clf, warm):
        assert named.feature_names_in_.tolist() == ["a", "b", "c"]
        assert named.label_names_.tolist() == ["u", "v", "w"]
    assert freeze(clf.learner_) == freeze(plain.learner_)
    assert_array_equal(clf.predict(FRAME), plain.predict(X))
    assert clf.score(FRAME, LABELS) == plain.score(X, Y)
    clf.partial_fit(FRAME[:3], LABELS[:3]).partial_fit(FRAME[3:5], Y[3:5])
    assert freeze(clf.learner_) == freeze(plain.partial_fit(X[:5], Y[:5]).learner_)
    clf.fit(X, Y)
    assert not hasattr(clf, "label_names_") and not hasattr(clf, "feature_names_in_")
    clf.fit(X, pd.DataFrame(Y))
    assert clf.label_names_.tolist() == list("012")
    assert clf.name_columns(label_names=["u", "v", "w"]) is clf
    with pytest.raises(ValueError, match="feature_names must be 3 different names"):
        clf.name_columns(["a", "b", "b"], ["r", "s", "t"])
    assert clf.rules_.label_names == ("u", "v", "w")
    clf.name_columns(["a", "b", "c"])
    assert_array_equal(clf.predict(X), clf.predict(FRAME))  # arrays too, without a warning
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(FRAME[["b", "a", "c"]])


@pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC])
def test_flags_are_those_of_the_rows_that_are_remembered(kind):
    A = np.tile([[0.3, 0.0, 1.0], [1.0, 1.0, 0.0]], (30, 1))
    B = np.tile([[0.0, 1.0], [1.0, 0.0]], (30, 1))
    A[4, 1], B[4] = 0.3, np.nan  # not learned
    A[49, 2] = 7.0
    clf = kind(**QUICK | {"warmup_rows": 30})
    for first, flags in (
        (0, [False, True, True]),
        (20, [False, True, True]),
        (40, [False, True, False]),
    ):
        clf.partial_fit(A[first : first + 20], B[first : first + 20])
        assert clf._column_kinds().flags.tolist() == flags


def test_series_and_nullable_types_of_pandas():
    clf = new().fit(X, pd.Series(WORDS, name="target"))
    assert clf.classes_.tolist() == ["no", "yes"]
    assert freeze(clf.learner_) == freeze(new().fit(X, WORDS).learner_)
    labels = LABELS.astype({"u": "boolean", "v": "Int64"})
    assert new().fit(X, labels["v"]).classes_.tolist() == [0, 1]
    labels.loc[::4, "v"] = pd.NA
    expected = Y.copy()
    expected[::4, 1] = np.nan
    clf = new().fit(X, labels)
    assert freeze(clf.learner_) == freeze(new().fit(X, expected).learner_)
    assert clf.score(X, labels) == clf.score(X, expected)


def test_fit_leaves_rows_without_labels_out_and_none_is_unknown():
    hidden = hide(Y)
    hidden[[0, 3, 39]] = np.nan
    labelled = ~np.isnan(hidden).all(axis=1)
    clf = new().fit(X, hidden)
    assert freeze(clf) == freeze(new().fit(X[labelled], hidden[labelled]))
    assert np.isfinite(clf.decision_function(X)).all()
    assert freeze(new().fit(X, np.where(np.isnan(hidden), None, hidden))) == freeze(clf)


@pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
def test_a_warm_up_is_fit_then_partial_fit(options):
    A, B = stream(60)
    B = hide(B)  # of row 3 no label is known
    first = options["warmup_rows"] + 1
    A[:, 2] = A[:, 2] > 0.0
    A[first - 1, 2] = 0.5  # the last row that is fitted: no column of 0 and 1
    expected = EFCMLClassifier(**options).fit(A[:first], B[:first])
    learner, support = expected.learner_, expected.learner_.rules.support.sum()
    expected.partial_fit(A[first:], B[first:])
    assert expected.learner_ is learner
    assert learner.rules.support.sum() != support
    assert EFCMLClassifier(**options).partial_fit(A[:5], B[:5]).n_rules_ == 0
    assert freeze(EFCMLClassifier(**options).partial_fit(A, B)) == freeze(expected)


def test_fit_starts_anew_and_ends_a_warm_up():
    wide, many = stream(20, n_features=2, n_labels=4)
    expected = freeze(new(random_state=3).fit(wide, many))
    clf = new(vigilance=0.05).fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    clf.set_params(vigilance=QUICK["vigilance"], random_state=3)
    assert freeze(clf.fit(wide, many)) == expected
    assert freeze(new(random_state=3).partial_fit(X[:5], Y[:5]).fit(wide, many)) == expected


def test_paper_has_every_formula_as_printed_and_takes_changes():
    words = ("correlation", "lipschitz", "merge_consequents", "merge_volume")
    printed = dict.fromkeys(words, "paper") | {"bandwidth": 1.0, "forgetting": 1.0, "cases": 0}
    printed |= {"variance_floor": 0.0, "update": "paper", "product_space": True, "time": False}
    parameters = EFCMLClassifier.paper().get_params()
    assert {name: parameters[name] for name in printed} == printed
    parameters = EFCMLClassifier().get_params()
    assert parameters.pop("random_state") is None
    assert parameters == vars(Params())

    class Mine(EFCMLClassifier):
        pass

    clf = Mine.paper(vigilance=0.9, lipschitz="exact", random_state=1, warmup_rows=20)
    assert type(clf) is Mine
    assert (clf.vigilance, clf.lipschitz, clf.random_state) == (0.9, "exact", 1)
    assert clf.correlation == "paper"
    with pytest.raises(TypeError, match="vigilanze"):
        EFCMLClassifier.paper(vigilanze=0.9)


def test_late_labels():
    clf, twin = new().fit(X[:30], Y[:30]), new().fit(X[:30], Y[:30])
    assert clf.add_labels(1) is clf
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    twin.learner_.add_labels(1)
    for one in (clf, twin):
        one.partial_fit(X[30:], np.column_stack([Y, Y[:, 0]])[30:])
    assert clf.predict(X).shape == (40, 4)
    assert freeze(clf) == freeze(twin)
    clf = new().fit(FRAME, LABELS)
    for names in (1, ["u"], ["a", "a"], "calm", [], 1.5, None, [1]):
        with pytest.raises(ValueError, match="labels must be a list of new names, each once; got"):
            clf.add_labels(names)
    clf.add_labels(["calm"])
    assert clf.label_names_.tolist() == ["u", "v", "w", "calm"]
    clf.partial_fit(FRAME, LABELS.assign(calm=1))
    assert clf.rules_.label_names == ("u", "v", "w", "calm")
    with pytest.raises(ValueError, match="y must have the columns"):
        clf.partial_fit(FRAME, LABELS)


def test_models_that_take_no_late_labels():
    with pytest.raises(ValueError, match="has one label; fit a 2-D y"):
        new().fit(X, Y[:, 0]).add_labels(1)
    for labels in (["calm"], 0):
        with pytest.raises(ValueError, match="without names of labels, must be a whole number >="):
            new().fit(X, Y).add_labels(labels)
    with pytest.raises(NotFittedError):
        EFCMLClassifier().add_labels(1)


def test_clones_keep_functions_of_ones_own():
    own = {"splitting": lambda S, p: np.eye(p)[0], "merging": lambda pair: 0.0}
    own |= {"vigilance": lambda *given: False, "stages": (lambda p, K: None,)}
    clf = clone(EFCMLClassifier(**QUICK | own))
    assert all(getattr(clf, name) is value for name, value in own.items() if name != "stages")
    assert clf.stages == own["stages"]
