"""RiverEFCML as river sees it: its checks, evaluation, pipelines; and what comes and goes."""

import copy
import math
import pickle
import random
import warnings
from fractions import Fraction

import numpy as np
import pytest
from helpers.models import EVERYTHING, QUICK, freeze, hide, stream
from test_package import run

from efcml import EFCMLClassifier, datasets, prequential
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.support.probability import squash

pytest.importorskip("river")

import river.datasets  # noqa: E402
from river import checks, evaluate, metrics, preprocessing  # noqa: E402

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


def accuracy():
    return metrics.multioutput.MicroAverage(metrics.Accuracy())


# -- river's own checks -----------------------------------------------------------------------


class LocalMusic:
    """Stands for river's data set of the same name, which would be downloaded."""

    rows = list(dicts(*stream(500, n_features=6), features="abcdef"))

    def take(self, k):
        return iter(self.rows[:k])  # once only, as river's own


def river_checks(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(river.datasets, "Music", LocalMusic)
        return {check.__name__: check for check in checks.yield_checks(model)}


def all_checks():
    for parameters in RiverEFCML._unit_test_params():
        for name in river_checks(RiverEFCML(**parameters)):
            slow = pytest.mark.slow if "memory_growth" in name else ()
            rows = parameters.get("warmup_rows", "default")
            yield pytest.param(parameters, name, id=f"{rows}-{name}", marks=slow)


def test_nothing_is_skipped():
    assert len(list(all_checks())) >= 30
    assert RiverEFCML()._unit_test_skips() == set()


@pytest.mark.parametrize(("parameters", "name"), list(all_checks()))
def test_checks_of_river_pass(parameters, name):
    random.seed(1)
    model = RiverEFCML(**parameters)
    river_checks(model)[name](model.clone())


@pytest.mark.slow
def test_checks_of_river_pass_on_the_data_they_name(monkeypatch):
    """Music is the data set emotions."""
    try:
        ds = datasets.load("emotions")
    except datasets.DatasetNotFound:
        pytest.skip("needs the data set emotions")
    rows = list(dicts(ds.X, ds.Y, ds.feature_names, ds.label_names))
    monkeypatch.setattr(LocalMusic, "rows", rows)
    monkeypatch.setattr(river.datasets, "Music", LocalMusic)
    random.seed(2)
    checks.check_estimator(RiverEFCML(warmup_rows=20))


# -- the same learner -------------------------------------------------------------------------


@pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
@pytest.mark.parametrize("some_unknown", [False, True])
def test_equal_to_the_estimator_bit_for_bit(options, some_unknown):
    X, Y = stream(40)
    if some_unknown:
        Y[1:] = hide(Y)[1:]
        Y[np.isnan(Y).all(axis=1), 0] = 1.0  # the estimator would count rows without labels
    model, clf = RiverEFCML(**options), EFCMLClassifier(**options)
    for t, (x, y) in enumerate(dicts(X, Y)):
        if t:
            answer = model.predict_proba_one(x)
            expected = clf.predict_proba(X[[t]])[0].tolist()
            assert [answer[name][True] for name in LABELS] == expected
            assert [answer[name][False] for name in LABELS] == [1.0 - p for p in expected]
            assert list(model.predict_one(x).values()) == clf.predict(X[[t]])[0].tolist()
        model.learn_one(x, y)
        clf.partial_fit(X[[t]], Y[[t]])
    assert freeze(model.learner) == freeze(clf.learner_)
    assert model.n_rules == clf.n_rules_ > 1


def test_time_passes_with_rows_without_labels():
    """The labels of the last known row become older, as they do in the estimator."""
    X, Y = stream(120)
    Y[20:][np.random.default_rng(0).random(100) < 0.5] = np.nan
    model, clf = RiverEFCML(**QUICK), EFCMLClassifier(**QUICK)
    for t, (x, y) in enumerate(dicts(X, Y)):
        if t > 20:
            answer = model.predict_proba_one(x)
            expected = clf.predict_proba(X[[t]])[0].tolist()
            assert [answer[name][True] for name in LABELS] == expected
        model.learn_one(x, y)
        clf.partial_fit(X[[t]], Y[[t]])
    assert freeze(model.learner) == freeze(clf.learner_)
    pandas = pytest.importorskip("pandas")
    frames = pandas.DataFrame(X[20:], columns=FEATURES), pandas.DataFrame(Y[20:], columns=LABELS)
    found = prequential(learned(20), *frames, progress=False)
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:20], stream(20)[1])
    expected = prequential(clf, X[20:], Y[20:], progress=False)
    np.testing.assert_array_equal(found.scores, expected.probabilities)


def test_warm_up_answers_label_frequencies():
    X, Y = stream(WARM)
    model = RiverEFCML(**QUICK, provisional=False)
    assert model.predict_one({"a": 1.0}) == model.predict_proba_one({}) == {}
    for t, (x, y) in enumerate(dicts(X[:-1], Y[:-1]), start=1):
        model.learn_one(x, y)
        answer = model.predict_proba_one({"z": 1.0})
        assert [answer[name][True] for name in LABELS] == squash(Y[:t].mean(axis=0)).tolist()
        assert model.n_rules == 0
    model.learn_one(*next(dicts(X[-1:], Y[-1:])))
    assert model.n_rules > 0


def test_answers_are_plain_python():
    model = learned(WARM + 1)
    x = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert {type(value) for value in model.predict_one(x).values()} == {bool}
    answer = model.predict_proba_one(x)
    assert {type(value) for pair in answer.values() for value in pair.values()} == {float}
    assert {tuple(pair) for pair in answer.values()} == {(True, False)}


def test_a_score_of_one_half_is_a_yes():
    model = RiverEFCML()
    for value in (True, False):
        model.learn_one({"a": 1.0}, {"u": value})
    assert model.predict_one({"a": 1.0}) == {"u": True}


def test_results_of_progressive_validation():
    X, Y = stream(60)
    model = RiverEFCML(**QUICK)
    metric = evaluate.progressive_val_score(dicts(X, Y), model, accuracy())
    result = prequential(EFCMLClassifier(**QUICK), X, Y)
    right = ((result.scores >= 0.5) == Y)[1:]  # river does not count the empty first answer
    assert metric.get() == pytest.approx(right.mean(), abs=1e-12)
    steps = evaluate.iter_progressive_val_score(
        dicts(X, Y), RiverEFCML(**QUICK), accuracy(), step=20, measure_memory=True
    )
    values = [(state["Step"], state["MicroAverage"].get(), state["Memory"]) for state in steps]
    assert [step for step, _, _ in values] == [20, 40, 60]
    assert values[-1][1] == metric.get()
    assert values[-1][2] > model.learner.rules.arrays.P.nbytes


def test_labels_may_come_late():
    X, Y = stream(40)
    metric = evaluate.progressive_val_score(dicts(X, Y), RiverEFCML(**QUICK), accuracy(), delay=5)
    result = prequential(EFCMLClassifier(**QUICK), X, Y, delay=4)  # river reveals before it asks
    right = ((result.scores >= 0.5) == Y)[5:]  # five empty answers do not count
    assert metric.get() == pytest.approx(right.mean(), abs=1e-12)


def test_pipelines():
    X, Y = stream(40)
    scaler, alone = preprocessing.StandardScaler(), RiverEFCML(**QUICK)
    pipeline = preprocessing.StandardScaler() | RiverEFCML(**QUICK)
    for x, y in dicts(X, Y):
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        pipeline.learn_one(x, y)
        alone.learn_one(scaled, y)
        assert pipeline.predict_proba_one(x) == alone.predict_proba_one(scaled)
    assert freeze(pipeline["RiverEFCML"].learner) == freeze(alone.learner)
    assert alone.n_rules > 0
    new = pipeline.clone()
    assert new.predict_one(x) == {}
    assert evaluate.progressive_val_score(dicts(X, Y), new, accuracy()).get() > 0.5


@pytest.mark.parametrize("delay", [0, 3])
def test_prequential_runs_it(delay):
    X, Y = stream(40)
    names = {"columns": list(FEATURES)}, {"columns": list(LABELS)}
    pandas = pytest.importorskip("pandas")
    frames = pandas.DataFrame(X, **names[0]), pandas.DataFrame(Y, **names[1])
    model = RiverEFCML(**QUICK)
    result = prequential(model, *frames, delay=delay)
    expected = prequential(EFCMLClassifier(**QUICK), X, Y, delay=delay)
    first = 1 + delay  # the empty answers before count as 0
    np.testing.assert_array_equal(result.scores[first:], expected.probabilities[first:])
    assert not result.scores[:first].any()
    np.testing.assert_array_equal(result.decisions, result.scores >= 0.5)
    assert model.label_names == LABELS


# -- features that come and go ----------------------------------------------------------------


def test_the_order_of_keys_does_not_matter(rng):
    X, Y = stream(40)
    model, shuffled = RiverEFCML(**QUICK), RiverEFCML(**QUICK)
    for x, y in dicts(X, Y):
        x_keys, y_keys = rng.permutation(FEATURES).tolist(), rng.permutation(LABELS).tolist()
        other = {name: x[name] for name in x_keys}
        assert shuffled.predict_proba_one(other) == model.predict_proba_one(x)
        model.learn_one(x, y)
        shuffled.learn_one(other, {name: y[name] for name in y_keys})
    assert freeze(shuffled.learner) == freeze(model.learner)
    assert shuffled.feature_names == FEATURES
    assert shuffled.label_names == LABELS


def test_names_of_several_kinds():
    one, two = RiverEFCML(warmup_rows=1, prior=1.0), RiverEFCML(warmup_rows=1, prior=1.0)
    one.learn_one({1: 0.0, "a": 1.0, ("b", 2): 2.0}, {"u": True, 7: False})
    two.learn_one({("b", 2): 2.0, "a": 1.0, 1: 0.0}, {7: False, "u": True})
    assert one.feature_names == two.feature_names == ("a", ("b", 2), 1)  # by what is printed
    assert one.label_names == two.label_names == ("u", 7)
    assert freeze(one.learner) == freeze(two.learner)


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
        answer = [value[True] for value in model.predict_proba_one(x).values()]
        np.testing.assert_allclose(answer, clf.predict_proba(X[[t]])[0], rtol=1e-6)


def test_huge_values_in_the_warm_up_have_a_mean():
    model = RiverEFCML(warmup_rows=3, prior=1.0)
    for x in ({"a": 1e308, "b": 1.0}, {"a": 1.5e308, "b": 2.0}, {"b": 3.0}):
        model.learn_one(x, {"u": True})
    assert model.learner.scaler.mean[0] == pytest.approx(1.25e308)


@pytest.mark.parametrize("missing", [{}, {"b": None}, {"b": math.nan}, {"b": np.float32("nan")}])
def test_a_feature_that_is_missing_is_nan_to_the_learner(missing):
    model = learned(WARM + 5)
    learner = model.learner.copy()
    x, y = {"a": 0.4, "c": -1.0} | missing, {"u": True, "v": False, "w": True}
    rows = np.array([[0.4, np.nan, -1.0], [np.nan, np.nan, np.nan]])
    for features, row in ((x, rows[:1]), ({}, rows[1:])):
        answer = [value[True] for value in model.predict_proba_one(features).values()]
        assert answer == learner.answer(row).probabilities[0].tolist()
        model.learn_one(features, y)
        learner.learn(row, np.array([[1.0, 0.0, 1.0]]))
    assert freeze(model.learner) == freeze(learner)
    assert model.predict_proba_one(x) != model.predict_proba_one(x | {"b": 3.0})


def test_features_after_the_warm_up_are_counted_and_ignored():
    model, twin = learned(WARM), learned(WARM)
    x, y = {"a": 1.0, "b": 0.0, "c": 0.5}, {"u": True, "v": False, "w": True}
    with warnings.catch_warnings():  # asking does not warn or count
        warnings.simplefilter("error")
        assert model.predict_one(x | {"late": 1.0}) == twin.predict_one(x)
        assert not model.unknown_features_
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


# -- labels that come and go ------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, WARM - 1, WARM, WARM + 5])
def test_labels_that_appear_later(at):
    X, Y = stream(30)
    model = RiverEFCML(**QUICK)
    learner = Learner(Params(**QUICK), 3, 1)
    for t, (x, y) in enumerate(dicts(X, Y, labels=("v", "w", "u"))):
        if t == at:
            learner.add_labels(2)
        model.learn_one(x, y if t >= at else {"v": y["v"]})
        columns = [0, 2, 1] if t >= at else [0]  # u and w come together, in this order
        learner.learn(X[[t]], np.ascontiguousarray(Y[[t]][:, columns]))
        assert list(model.predict_one(x)) == (["v", "u", "w"] if t >= at else ["v"])
    assert model.label_names == ("v", "u", "w")
    assert freeze(model.learner) == freeze(learner)


def test_missing_labels_are_unknown():
    models = [learned(WARM + 5) for _ in range(3)]
    x = {"a": 1.0, "b": 0.3, "c": -0.5}
    for model, y in zip(
        models, [{"u": True}, {"u": 1, "v": None, "w": float("nan")}, {"u": np.True_}], strict=True
    ):
        model.learn_one(x, y)
    assert freeze(models[0].learner) == freeze(models[1].learner) == freeze(models[2].learner)
    clf = EFCMLClassifier(**QUICK).partial_fit(*stream(WARM + 5))
    clf.partial_fit([[1.0, 0.3, -0.5]], [[1.0, np.nan, np.nan]])
    assert freeze(models[0].learner) == freeze(clf.learner_)


@STATES
@pytest.mark.parametrize("y", [{}, {"u": None}, {"new": None, "other": float("nan")}])
def test_of_rows_without_labels_nothing_is_learned(rows, y):
    model, twin = learned(rows), learned(rows)
    model.learn_one({"a": 1.0, "new feature": 2.0}, y)
    if twin.learner.fitted:
        twin.learner.pass_rows(1)  # time passes
    assert freeze(model) == freeze(twin)


# -- bad input --------------------------------------------------------------------------------

BAD_VALUES = {
    "infinity": float("inf"),
    "minus infinity": -np.inf,
    "too large": 10**400,
    "text": "1.5",
    "complex": 1j,
    "list": [1.0],
    "array": np.array([1.0]),
}


@STATES
@pytest.mark.parametrize("value", BAD_VALUES.values(), ids=BAD_VALUES)
@pytest.mark.parametrize("name", ["b", "new"])
def test_bad_features_are_refused(rows, value, name):
    model = learned(rows)
    x, y = {"a": 1.0, "first": 2.0, name: value}, {"u": True, "new": True}
    before = freeze(model)
    for call in (
        lambda: model.learn_one(x, y),
        lambda: model.predict_one(x),
        lambda: model.predict_proba_one(x),
        lambda: model.explain_one(x),
    ):
        with pytest.raises(ValueError, match=f"feature '{name}' must be a finite number, or None"):
            call()
    assert freeze(model) == before


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, np.float32(1.0), np.int8(1), np.True_, Fraction(1), np.float64(1.0)]
)
def test_numbers_of_all_kinds(value):
    model, twin = learned(WARM), learned(WARM)
    model.learn_one({"a": value, "b": 0.0, "c": 0.0}, {"u": value, "v": False, "w": 0})
    twin.learn_one({"a": 1.0, "b": 0.0, "c": 0.0}, {"u": True, "v": False, "w": False})
    assert freeze(model.learner) == freeze(twin.learner)


@STATES
@pytest.mark.parametrize("value", [2, -1, 0.5, float("inf"), "yes", "1", [1], 1j, np.array(1)])
def test_bad_labels_are_refused(rows, value):
    model = learned(rows)
    before = freeze(model)
    with pytest.raises(ValueError, match="label 'v' must be True or False"):
        model.learn_one({"a": 1.0, "new": 2.0}, {"u": True, "new": True, "v": value})
    assert freeze(model) == before


@pytest.mark.parametrize("other", [[1.0], np.ones(3), None, 1.0, "abc", {"a"}])
def test_other_things_than_dictionaries(other):
    model = learned(3)
    before = freeze(model)
    kind = type(other).__name__
    with pytest.raises(TypeError, match=f"x must be a dictionary of features; got {kind}"):
        model.learn_one(other, {"u": True})
    with pytest.raises(TypeError, match=f"x must be a dictionary of features; got {kind}"):
        model.predict_one(other)
    with pytest.raises(TypeError, match=f"y must be a dictionary of labels; got {kind}"):
        model.learn_one({"a": 1.0}, other)
    assert freeze(model) == before


def test_a_first_row_without_features():
    model = RiverEFCML()
    before = freeze(model)
    with pytest.raises(ValueError, match="x is empty, and no feature is known yet"):
        model.learn_one({}, {"u": True})
    assert freeze(model) == before
    model.learn_one({"a": 1.0}, {"u": True})
    model.learn_one({}, {"u": True})
    assert len(model.learner.held) == 2


def test_bad_parameters_are_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'vigilanc'"):
        RiverEFCML(vigilanc=0.5)
    with pytest.raises(TypeError, match="positional"):
        RiverEFCML(0.5)
    with pytest.raises(ValueError, match="vigilance must be a number > 0"):
        RiverEFCML(vigilance=0.0)
    with pytest.raises(ValueError, match="forgetting < 1 needs variance_floor >= 1e-09"):
        RiverEFCML(forgetting=0.9, variance_floor=0.0)


# -- copies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("move", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("start", [0, 5, WARM + 5])
def test_copies_go_on_bit_for_bit(move, start):
    X, Y = stream(WARM + 15)
    model = learned(0)
    rows = list(dicts(X, Y))
    for x, y in rows[:start]:
        model.learn_one({name: x[name] for name in x if name != "b" or x[name] > 0.0}, y)
    other = move(model)
    assert freeze(other) == freeze(model)
    for x, y in rows[start:]:
        model.learn_one(x, y)
    assert freeze(other) != freeze(model)
    for x, y in rows[start:]:
        other.learn_one(x, y)
    assert freeze(other) == freeze(model)


def test_clones_have_the_parameters_and_no_state():
    model = learned(WARM + 5, EVERYTHING)
    new = model.clone()
    assert new._get_params() == model._get_params() == vars(Params(**EVERYTHING))
    assert freeze(new) == freeze(RiverEFCML(**EVERYTHING))
    changed = model.clone({"vigilance": 0.7})
    assert changed.vigilance == changed.learner.params.vigilance == 0.7
    assert "vigilance=0.7" in repr(changed)
    assert 'correlation="laplacian"' in repr(changed)


# -- reading ----------------------------------------------------------------------------------


def test_rules_and_explanations_use_the_names():
    model = learned(WARM + 10)
    clf = EFCMLClassifier(**QUICK).partial_fit(*stream(WARM + 10))
    assert model.rules.feature_names == FEATURES
    assert model.rules.label_names == LABELS
    assert len(model.rules) == model.n_rules
    assert [rule.uid for rule in model.rules] == [rule.uid for rule in clf.rules_]
    why = model.explain_one({"c": 0.5, "a": 1.0})
    row = [1.0, np.nan, 0.5]
    np.testing.assert_array_equal(why.x, row)
    np.testing.assert_array_equal(why.score, clf.explain(row).score)
    assert why.feature_names == FEATURES
    assert why.label_names == LABELS


def test_reading_during_the_warm_up():
    model = learned(4)
    assert str(model.rules) == "no rules yet: label frequencies of 4 rows answer"
    why = model.explain_one({"a": 1.0})
    np.testing.assert_allclose(why.score, stream(4)[1].mean(axis=0))


def test_reading_before_anything_was_learned():
    model = RiverEFCML()
    assert model.n_rules == 0
    for read in (lambda: model.rules, lambda: model.explain_one({"a": 1.0})):
        with pytest.raises(ValueError, match="nothing has been learned yet"):
            read()


# -- imports ----------------------------------------------------------------------------------


def test_river_is_loaded_by_its_own_module_only():
    code = "import json, sys, {}\nprint(json.dumps([*sys.modules]))"
    assert not {"river", "sklearn", "pandas"} & set(run(code.format("efcml.compat")))
    loaded = set(run(code.format("efcml.compat.river")))
    assert "river" in loaded
    assert "sklearn" not in loaded


def test_without_river_one_sentence_says_what_to_do():
    code = """
import json, sys
sys.modules["river"] = None
try:
    from efcml.compat.river import RiverEFCML
except ImportError as error:
    print(json.dumps(str(error)))
"""
    assert run(code) == 'RiverEFCML needs river, which is missing: pip install "efcml[river]"'
