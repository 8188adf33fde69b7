"""RiverEFCML as river sees it: its checks, evaluation, what comes and goes, and files."""

import itertools
import math
import random
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from helpers.models import EVERYTHING, QUICK, freeze, hide, stream

from efcml import EFCMLClassifier
from efcml.model.learner import Learner
from efcml.model.params import Params

pytest.importorskip("river")

import river.datasets  # noqa: E402
from river import checks  # noqa: E402

from efcml.compat.river import RiverEFCML  # noqa: E402

FEATURES, LABELS = ("a", "b", "c"), ("u", "v", "w")
WARM = QUICK["warmup_rows"]
STATES = pytest.mark.parametrize("rows", [0, WARM - 2, WARM + 8], ids=["new", "warm-up", "fitted"])


def dicts(X, Y, features=FEATURES, labels=LABELS):
    """Rows as river has them; labels that are NaN are left out."""
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        known = {
            name: value == 1.0 for name, value in zip(labels, y, strict=True) if value == value
        }
        yield dict(zip(features, x, strict=True)), known


def learned(n, options=QUICK):
    """Return a model that has learned so many rows."""
    model = RiverEFCML(**options)
    for x, y in dicts(*stream(n)):
        model.learn_one(x, y)
    return model


def chances(model, x):
    return [answer[True] for answer in model.predict_proba_one(x).values()]


class LocalMusic:
    """Stands for river's data set of the same name, which would be downloaded."""

    rows = list(dicts(*stream(500, n_features=6), features="abcdef"))

    def take(self, k):
        return iter(self.rows[:k])  # once only, as river's own


def test_checks_of_river_pass(monkeypatch):
    monkeypatch.setattr(river.datasets, "Music", LocalMusic)
    random.seed(1)
    quick, _ = RiverEFCML._unit_test_params()
    model = RiverEFCML(**quick)
    found = list(checks.yield_checks(model))
    assert len(found) >= 15
    assert model._unit_test_skips() == set()
    for check in found:
        check(model.clone())
    changed = RiverEFCML(**EVERYTHING).clone({"vigilance": 0.7})
    expected = vars(Params(**EVERYTHING | {"vigilance": 0.7})) | {"stages": []}  # no tuple
    assert changed._get_params() == expected
    assert changed.clone().stages == ()
    assert changed.learner.params.vigilance == 0.7


@pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
def test_equal_to_the_estimator_bit_for_bit(options):
    X, Y = stream(60)
    Y[1:] = hide(Y)[1:]
    Y[30:][np.random.default_rng(0).random(30) < 0.3] = np.nan  # time passes with such rows
    Y[3, 0] = 1.0
    model, clf = RiverEFCML(**options), EFCMLClassifier(**options)
    for t, (x, y) in enumerate(dicts(X, Y)):
        if t:
            answer, expected = model.predict_proba_one(x), clf.predict_proba(X[[t]])[0].tolist()
            assert [answer[name][True] for name in LABELS] == expected
            assert [answer[name][False] for name in LABELS] == [1.0 - p for p in expected]
            assert list(model.predict_one(x).values()) == clf.predict(X[[t]])[0].tolist()
        model.learn_one(x, y)
        clf.partial_fit(X[[t]], Y[[t]])
    assert freeze(model.learner) == freeze(clf.learner_)
    assert model.n_rules == clf.n_rules_ > 1


def test_a_warm_up_answers_in_plain_python():
    X, Y = stream(WARM)
    model = RiverEFCML(**QUICK)
    assert model.predict_one({"a": 1.0}) == model.predict_proba_one({}) == {}
    for t, (x, y) in enumerate(dicts(X[:-1], Y[:-1]), start=1):
        model.learn_one(x, y)
        expected = (Y[:t].sum(axis=0) + 0.5) / (t + 1.0)
        np.testing.assert_allclose(chances(model, {"z": 1.0}), expected, atol=0.2)
        assert model.n_rules == 0
    model.learn_one(*next(dicts(X[-1:], Y[-1:])))
    assert model.n_rules > 0
    assert {type(value) for value in model.predict_one(x).values()} == {bool}
    assert {type(value) for value in chances(model, x)} == {float}
    half = RiverEFCML()
    half.learn_one({"a": 1.0}, {"u": True})
    half.learn_one({}, {"u": False})
    assert half.predict_one({"a": 1.0}) == {"u": True}


def test_the_order_of_keys_does_not_matter(rng):
    model, shuffled = RiverEFCML(**QUICK), RiverEFCML(**QUICK)
    for x, y in dicts(*stream(25)):
        x_keys, y_keys = rng.permutation(FEATURES).tolist(), rng.permutation(LABELS).tolist()
        other = {name: x[name] for name in x_keys}
        assert shuffled.predict_proba_one(other) == model.predict_proba_one(x)
        model.learn_one(x, y)
        shuffled.learn_one(other, {name: y[name] for name in y_keys})
    assert freeze(shuffled.learner) == freeze(model.learner)
    assert (shuffled.feature_names, shuffled.label_names) == (FEATURES, LABELS)
    one, two = RiverEFCML(), RiverEFCML()
    one.learn_one({1: 0.0, "a": 1.0, ("b", 2): 2.0}, {"u": True, 7: False})
    two.learn_one({("b", 2): 2.0, "a": 1.0, 1: 0.0}, {7: False, "u": True})
    assert one.feature_names == two.feature_names == ("a", ("b", 2), 1)  # by what is printed
    assert one.label_names == two.label_names == ("u", 7)


def test_gaps_of_the_warm_up_are_those_of_the_learner(rng):
    X, Y = stream(WARM + 10)
    gaps = rng.random(X.shape) < 0.3
    gaps[0] = [False, True, True]  # b and c come later
    gaps[1] = False
    gaps[WARM - 1] = [False, False, True]  # the row that ends the warm-up has a gap
    X = np.where(gaps, np.nan, X)
    model, clf = RiverEFCML(**QUICK), EFCMLClassifier(**QUICK)
    for t, (x, y) in enumerate(dicts(X, Y)):
        model.learn_one({name: x[name] for j, name in enumerate(FEATURES) if not gaps[t, j]}, y)
        if t < WARM - 1:
            assert all(len(row) == len(model.feature_names) for row, _ in model.learner.held)
    assert model.feature_names == FEATURES
    clf.partial_fit(X, Y)
    for t, (x, _) in enumerate(dicts(X[-5:], Y[-5:]), start=WARM + 5):
        np.testing.assert_allclose(chances(model, x), clf.predict_proba(X[[t]])[0], rtol=1e-6)


def test_a_feature_that_is_missing_is_nan_to_the_learner():
    model, y = learned(WARM + 5), {"u": True, "v": False, "w": True}
    learner, nan = model.learner.copy(), np.nan
    for missing, row in [
        ({"a": 0.4, "c": -1.0}, [0.4, nan, -1.0]),
        ({"a": 0.4, "b": None, "c": -1.0}, [0.4, nan, -1.0]),
        ({"a": 0.4, "b": np.float32("nan")}, [0.4, nan, nan]),
        ({}, [nan, nan, nan]),
    ]:
        row = np.array([row])
        assert chances(model, missing) == learner.answer(row).probabilities[0].tolist()
        model.learn_one(missing, y)
        learner.learn(row, np.array([[1.0, 0.0, 1.0]]))
    assert freeze(model.learner) == freeze(learner)


@pytest.mark.parametrize("rows", [3, WARM])
def test_a_row_that_breaks_off_leaves_neither_features_nor_labels(rows, monkeypatch):
    model = learned(rows)
    if rows < WARM:
        model.learn_one({"b": 1.0, "one more": 0.5}, {"v": True})
    before = freeze(model)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn_at_once", lambda *given, **more: 1 / 0)
        with pytest.raises(ZeroDivisionError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.learn_one({"a": 1.0, "new": 2.0}, {"u": True, "new label": True})
        assert freeze(model) == before
        with pytest.raises(ZeroDivisionError):
            model.learn_one({"a": 1.0}, {"u": True})
    assert freeze(model) == before


def test_features_after_the_warm_up_are_counted_and_ignored():
    model, twin = learned(WARM), learned(WARM)
    x, y = {"a": 1.0, "b": 0.0, "c": 0.5}, {"u": True, "v": False, "w": True}
    with warnings.catch_warnings():  # asking does not warn or count
        warnings.simplefilter("error")
        assert model.predict_one(x | {"late": 1.0}) == twin.predict_one(x)
        before = freeze(model)
        with pytest.raises(UserWarning, match="'late' first came after the warm-up"):
            model.learn_one(x | {"late": 1.0, "new label": 3.0}, y | {"z": True})
        assert freeze(model) == before
    with pytest.warns(UserWarning, match="'late' first came") as caught:
        model.learn_one(x | {"late": 1.0}, y)
        model.learn_one(x | {"late": 1.0, "later": 2.0}, y)  # no second warning
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for _ in range(2):
        twin.learn_one(x, y)
    assert model.unknown_features_ == {"late": 2, "later": 1}
    assert model.feature_names == FEATURES
    assert freeze(model.learner) == freeze(twin.learner)


@pytest.mark.parametrize("at", [1, WARM - 1, WARM, WARM + 5])
def test_labels_that_appear_later(at):
    X, Y = stream(WARM + 8)
    model, learner = RiverEFCML(**QUICK), Learner(Params(**QUICK), 3, 1)
    for t, (x, y) in enumerate(dicts(X, Y, labels=("v", "w", "u"))):
        if t == at:
            learner.add_labels(2)
        model.learn_one(x, y if t >= at else {"v": y["v"]})
        columns = [0, 2, 1] if t >= at else [0]  # u and w come together, in this order
        learner.learn(X[[t]], np.ascontiguousarray(Y[[t]][:, columns]))
        assert list(model.predict_one(x)) == (["v", "u", "w"] if t >= at else ["v"])
    assert model.label_names == ("v", "u", "w")
    assert freeze(model.learner) == freeze(learner)


def test_missing_labels_are_unknown_and_numbers_of_all_kinds_are_read():
    clf = EFCMLClassifier(**QUICK).partial_fit(*stream(WARM + 5))
    clf.partial_fit([[1.0, 0.3, -0.5]], [[1.0, np.nan, np.nan]])
    for one in (True, 1, np.float32(1.0), np.True_, Fraction(1)):
        for y in ({"u": one}, {"u": one, "v": None, "w": math.nan}):
            model = learned(WARM + 5)
            model.learn_one({"a": one, "b": 0.3, "c": -0.5}, y)
            assert freeze(model.learner) == freeze(clf.learner_)


@STATES
def test_of_rows_without_labels_nothing_is_learned(rows):
    for y in ({}, {"u": None}, {"new": None, "other": math.nan}):
        model, twin = learned(rows), learned(rows)
        model.learn_one({"a": 1.0, "new feature": 2.0}, y)
        if twin.learner.fitted:
            twin.learner.pass_rows(1)  # time passes
        assert freeze(model) == freeze(twin)


@STATES
def test_bad_rows_are_refused_and_change_nothing(rows):
    model = learned(rows)
    before, good = freeze(model), {"u": True, "new": True}
    calls = [lambda x: model.learn_one(x, good), model.predict_one, model.predict_proba_one]
    for value in (math.inf, -np.inf, "1.5", 1j, [1.0], np.array([1.0])):
        for name, call in itertools.product(("b", "new"), [*calls, model.explain_one]):
            with pytest.raises(ValueError, match=f"feature '{name}' must be a finite number, or"):
                call({"a": 1.0, "first": 2.0, name: value})
    for value in (2, -1, 0.5, math.inf, "1", [1], 1j, np.array(1)):
        with pytest.raises(ValueError, match="label 'v' must be True or False"):
            model.learn_one({"a": 1.0, "new": 2.0}, good | {"v": value})
    for other in ([1.0], None, "abc", {"a"}):
        kind = type(other).__name__
        for call in calls:
            with pytest.raises(TypeError, match=f"x must be a dictionary of features; got {kind}"):
                call(other)
        with pytest.raises(TypeError, match=f"y must be a dictionary of labels; got {kind}"):
            model.learn_one({"a": 1.0}, other)
    if not rows:
        with pytest.raises(ValueError, match="x is empty, and no feature is known yet"):
            model.learn_one({}, good)
    assert freeze(model) == before


def test_bad_parameters_and_a_missing_package_are_named(monkeypatch):
    for error, match, options in [
        (TypeError, "unexpected keyword argument 'vigilanc'", {"vigilanc": 0.5}),
        (ValueError, "vigilance must be a number > 0", {"vigilance": 0.0}),
    ]:
        with pytest.raises(error, match=match):
            RiverEFCML(**options)
    monkeypatch.delitem(sys.modules, "efcml.compat.river")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r'RiverEFCML needs river.*pip install "efcml\[river\]"'):
        import efcml.compat.river  # noqa: F401


def test_rules_and_explanations_use_the_names():
    model = RiverEFCML()
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        model.rules  # noqa: B018
    with pytest.raises(ValueError, match="there are no rules yet: they come when warmup_rows"):
        model.explain_one({"a": 1.0})
    model = learned(WARM + 10)
    clf = EFCMLClassifier(**QUICK).partial_fit(*stream(WARM + 10))
    assert (model.rules.feature_names, model.rules.label_names) == (FEATURES, LABELS)
    why, row = model.explain_one({"c": 0.5, "a": 1.0}), [1.0, np.nan, 0.5]
    np.testing.assert_array_equal(why.x, row)
    np.testing.assert_array_equal(why.score, clf.explain(row).score)
    assert (why.feature_names, why.label_names) == (FEATURES, LABELS)
