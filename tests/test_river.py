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
from river import checks, evaluate, metrics  # noqa: E402

from efcml.compat.river import ENOUGH, SPARES, RiverEFCML  # noqa: E402

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


def with_spares(X):
    """Return rows with the features that a fitted model keeps for what comes late."""
    return np.pad(X, ((0, 0), (0, SPARES)))


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
    model, clf, padded = RiverEFCML(**options), *(EFCMLClassifier(**options) for _ in "ab")
    for t, (x, y) in enumerate(dicts(X, Y)):
        if t:
            twin, row = (padded, with_spares(X[[t]])) if model.n_rules else (clf, X[[t]])
            answer, expected = model.predict_proba_one(x), twin.predict_proba(row)[0].tolist()
            assert [answer[name][True] for name in LABELS] == expected
            assert [answer[name][False] for name in LABELS] == [1.0 - p for p in expected]
            assert list(model.predict_one(x).values()) == twin.predict(row)[0].tolist()
        model.learn_one(x, y)
        clf.partial_fit(X[[t]], Y[[t]])
        padded.partial_fit(with_spares(X[[t]]), Y[[t]])
    assert freeze(model.learner) == freeze(padded.learner_)
    assert model.n_rules == padded.n_rules_ > 1


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
    clf.partial_fit(with_spares(X), Y)
    for t, (x, _) in enumerate(dicts(X[-5:], Y[-5:]), start=WARM + 5):
        expected = clf.predict_proba(with_spares(X[[t]]))[0]
        np.testing.assert_allclose(chances(model, x), expected, rtol=1e-6)


def test_a_feature_that_is_missing_is_nan_to_the_learner():
    model, y = learned(WARM + 5), {"u": True, "v": False, "w": True}
    learner, nan = model.learner.copy(), np.nan
    for missing, row in [
        ({"a": 0.4, "c": -1.0}, [0.4, nan, -1.0]),
        ({"a": 0.4, "b": None, "c": -1.0}, [0.4, nan, -1.0]),
        ({"a": 0.4, "b": np.float32("nan")}, [0.4, nan, nan]),
        ({}, [nan, nan, nan]),
    ]:
        row = with_spares(np.array([row]))
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


def test_features_after_the_warm_up_are_counted_and_then_learned():
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
    for t in range(ENOUGH - 2):
        model.learn_one(x | {"late": t % 3}, y)
        twin.learn_one(x, y)
    assert freeze(model.learner) == freeze(twin.learner)
    with pytest.warns(UserWarning, match="'late' has come often: it is learned"):
        model.learn_one(x | {"late": 0.5}, y)
    twin.learner.learn(np.array([[1.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 1.0]]))
    assert model.feature_names == (*FEATURES, "late")
    assert model.unknown_features_ == {"late": ENOUGH, "later": 1}
    assert freeze(model.learner) == freeze(twin.learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(ENOUGH + 1):
            model.learn_one(x | dict.fromkeys("54321", 1.0), y)
    assert model.feature_names == (*FEATURES, "late", "1", "2", "3")  # there is room for four


def test_a_late_feature_that_decides_a_label_is_learned():
    """After it has come, decisions are nearly as good as with a feature that was always there."""
    rng, n, late = np.random.default_rng(0), 3000, 1000
    X = rng.normal(size=(n, 4))
    Y = np.c_[X[:, 0] > 0, X[:, 1] + X[:, 2] > 0, X[:, 3] > 0]
    rows = [*dicts(X, Y.astype(float), features="abcz")]
    right = {}
    for known in (0, late):
        model, right[known] = RiverEFCML(warmup_rows=100), 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for t, (x, y) in enumerate(rows):
                x = x if t >= known else {name: x[name] for name in "abc"}
                if t >= late + 200:
                    right[known] += sum(model.predict_one(x)[name] == y[name] for name in y)
                model.learn_one(x, y)
        assert model.feature_names == ("a", "b", "c", "z")
    assert right[late] > right[0] - 0.02 * 3 * (n - late - 200)
    assert "z" in model.rules[0].sentence()


def test_a_category_is_read_as_one_thing():
    """Also a value that comes late."""
    rng, model = np.random.default_rng(1), RiverEFCML(warmup_rows=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in range(900):
            places = ("city", "harbour", "suburb")[: 2 + (t > 300)]
            zone = places[rng.integers(len(places))]
            x = {f"zone={one}": int(one == zone) for one in places} | {"size": rng.normal()}
            model.learn_one(x, {"late": zone == "suburb", "large": x["size"] > 0})
    assert "zone=suburb" in model.feature_names
    text = str(model.rules)
    assert "zone is suburb" in text or "zone is mostly suburb" in text, text
    assert "zone=" not in text and "unused" not in text


def test_the_first_row_of_a_label_can_be_counted():
    """Not KeyError: an answer has False for a label that the model does not know."""
    metric = metrics.multioutput.MicroAverage(metrics.Accuracy())
    rows = [*dicts(*stream(40), labels=("v", "w", "u"))]
    late = [(x, y if t > 20 else {"v": y["v"]}) for t, (x, y) in enumerate(rows)]
    evaluate.progressive_val_score(late, RiverEFCML(**QUICK), metric)
    model = RiverEFCML(**QUICK)
    model.learn_one({"a": 1.0}, {"v": True})
    assert model.predict_one({"a": 1.0})["w"] is False
    assert model.predict_proba_one({"a": 1.0})["w"] == {True: 0.0, False: 1.0}
    model.add_labels(["w", "u"])
    assert [*model.predict_one({"a": 1.0})] == ["v", "w", "u"]
    for wrong in ([], ["v"], ["x", "x"]):
        with pytest.raises(ValueError, match="labels must be a list of new names"):
            model.add_labels(wrong)


@pytest.mark.parametrize("at", [1, WARM - 1, WARM, WARM + 5])
def test_labels_that_appear_later(at):
    X, Y = stream(WARM + 8)
    model, learner = RiverEFCML(**QUICK), Learner(Params(**QUICK), 3, 1)
    for t, (x, y) in enumerate(dicts(X, Y, labels=("v", "w", "u"))):
        if t == at:
            learner.add_labels(2)
        model.learn_one(x, y if t >= at else {"v": y["v"]})
        columns = [0, 2, 1] if t >= at else [0]  # u and w come together, in this order
        if t == WARM - 1:
            learner.take_features(3 + SPARES)
            learner.held = [(with_spares(row[None])[0], known) for row, known in learner.held]
        row = with_spares(X[[t]]) if t >= WARM - 1 else X[[t]]
        learner.learn(row, np.ascontiguousarray(Y[[t]][:, columns]))
        assert list(model.predict_one(x)) == (["v", "u", "w"] if t >= at else ["v"])
    assert model.label_names == ("v", "u", "w")
    assert freeze(model.learner) == freeze(learner)


def test_missing_labels_are_unknown_and_numbers_of_all_kinds_are_read():
    X, Y = stream(WARM + 5)
    clf = EFCMLClassifier(**QUICK).partial_fit(with_spares(X), Y)
    clf.partial_fit(with_spares([[1.0, 0.3, -0.5]]), [[1.0, np.nan, np.nan]])
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
    X, Y = stream(WARM + 10)
    clf = EFCMLClassifier(**QUICK).partial_fit(with_spares(X), Y)
    assert model.rules.feature_names[:3] == FEATURES
    assert model.rules.label_names == LABELS
    why, row = model.explain_one({"c": 0.5, "a": 1.0}), [1.0, np.nan, 0.5]
    np.testing.assert_array_equal(why.x[:3], row)
    np.testing.assert_array_equal(why.score, clf.explain(row + [0.0] * SPARES).score)
    assert (why.feature_names[:3], why.label_names) == (FEATURES, LABELS)
