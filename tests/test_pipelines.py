"""Pipelines of scikit-learn and river in streams, studies and searches, against loops by hand."""

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.models import freeze
from helpers.study_files import QUICK, keep_method, model, rows, same, small_set
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from efcml import ActiveLearner, EFCMLClassifier, Study, prequential
from efcml.studies import Variant
from efcml.tuning import Grid, tune

X, Y = rows()
X = 5.0 * X + 3.0
START = 20


def fitted(*steps, last=None):
    return make_pipeline(*steps, last or model()).fit(X[:START], Y[:START])


def rest(pipeline, **options):
    return prequential(pipeline, X[START:], Y[START:], progress=False, **options)


def agree(first, second):
    """Compare two results, times aside."""
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.rules, second.rules)
    np.testing.assert_array_equal(first.queried, second.queried)
    np.testing.assert_array_equal(first.decisions, second.decisions)
    assert first.events == second.events


def follow_by_hand(pipeline, table):
    """Return rows as a scaler transforms them that learns each of them afterwards."""
    scaler, found = copy.deepcopy(pipeline[0]), []
    for row in table:
        found.append(scaler.transform(row[None])[0])
        scaler.partial_fit(row[None])
    return np.array(found), scaler


OPTIONS = [
    {},
    {"delay": 3},
    {"learn": False},
    {"active": lambda: ActiveLearner(0.5, random_state=0)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "late", "static", "asked"])
def test_constant_steps_are_those_of_the_initial_part(options):
    constant = ColumnTransformer([("all", StandardScaler(), [0, 1])])
    asks = {"active": options["active"]()} if "active" in options else {}
    pipeline = fitted(constant)
    twin = copy.deepcopy(pipeline[-1])
    result = rest(pipeline, **(options | asks))
    again = {"active": options["active"]()} if asks else {}
    wanted = prequential(twin, pipeline[:-1].transform(X[START:]), Y[START:], **(options | again))
    agree(result, wanted)
    assert result.rules.any()
    assert freeze(pipeline[-1]) == freeze(twin)
    assert pipeline[0].named_transformers_["all"].n_samples_seen_ == START


@pytest.mark.parametrize("options", [{}, {"delay": 3}], ids=["in time", "late"])
def test_steps_learn_each_row_after_it_has_passed(options):
    pipeline = fitted(StandardScaler())
    twin = copy.deepcopy(pipeline[-1])
    table, scaler = follow_by_hand(pipeline, X[START:])
    agree(rest(pipeline, **options), prequential(twin, table, Y[START:], **options))
    np.testing.assert_array_equal(pipeline[0].mean_, scaler.mean_)
    assert pipeline[0].n_samples_seen_ == len(X)


def test_any_split_of_a_stream_gives_the_same_bits():
    whole, parts = fitted(StandardScaler()), fitted(StandardScaler())
    wanted, found = rest(whole), []
    for low, high in [(START, 21), (21, 33), (33, len(X))]:
        found.append(prequential(parts, X[low:high], Y[low:high]).scores)
    np.testing.assert_array_equal(np.concatenate(found), wanted.scores)
    assert freeze(parts[-1]) == freeze(whole[-1])


@pytest.mark.parametrize("options", [{"learn": False}, {}], ids=["static", "frozen"])
def test_steps_that_do_not_learn(options):
    scaler = StandardScaler().fit(X[:START])
    pipeline = fitted(FrozenEstimator(scaler) if not options else scaler)
    wanted = prequential(
        copy.deepcopy(pipeline[-1]), scaler.transform(X[START:]), Y[START:], **options
    )
    agree(rest(pipeline, **options), wanted)
    assert scaler.n_samples_seen_ == START


def test_tables_with_text_and_gaps():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] > 3, "hot", "cold"))
    frame.loc[::5, "b"] = np.nan
    parts = [
        ("numbers", SimpleImputer(), ["a", "b"]),
        ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
    ]
    columns = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(
        transform="pandas"
    )
    pipeline = make_pipeline(columns, StandardScaler().set_output(transform="pandas"), model())
    pipeline.fit(frame[:START], Y[:START])
    result = prequential(pipeline, frame[START:], Y[START:])
    names = ["a", "b", "kind_cold", "kind_hot"]
    assert pipeline[-1].feature_names_in_.tolist() == names
    table = pipeline[0].transform(frame)
    own = make_pipeline(StandardScaler(), model()).fit(table[:START].to_numpy(), Y[:START])
    agree(result, prequential(own, table[START:].to_numpy(), Y[START:]))


def test_inner_pipelines_and_steps_left_out():
    inner = Pipeline([("gone", "passthrough"), ("scale", StandardScaler())])
    pipeline = fitted(inner, "passthrough")
    agree(rest(pipeline), rest(fitted(StandardScaler())))
    assert inner.named_steps["scale"].n_samples_seen_ == len(X)


def test_models_from_elsewhere_at_the_end():
    last = MultiOutputClassifier(SGDClassifier(random_state=0))
    pipeline = fitted(StandardScaler(), last=last)
    twin = copy.deepcopy(pipeline[-1])
    table, _ = follow_by_hand(pipeline, X[START:])
    agree(rest(pipeline), prequential(twin, table, Y[START:]))


def test_steps_must_be_fitted_and_the_classifier_need_not():
    with pytest.raises(NotFittedError, match="call pipeline.fit"):
        prequential(make_pipeline(StandardScaler(), model()), X, Y)
    pipeline = make_pipeline(FunctionTransformer(), model(warmup_rows=10))
    agree(prequential(pipeline, X, Y), prequential(model(warmup_rows=10), X, Y))


def test_a_pipeline_without_a_model():
    with pytest.raises(TypeError, match="ends in no model"):
        prequential(Pipeline([("scale", StandardScaler()), ("end", "passthrough")]), X, Y)


def test_what_is_refused_leaves_the_steps_alone():
    pipeline = fitted(StandardScaler())
    before = copy.deepcopy(vars(pipeline[0]))
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        prequential(pipeline, X, 7.0 + Y)
    wrong = X.astype(object)
    wrong[30, 0] = "text"
    with pytest.raises(ValueError, match="text"):
        prequential(pipeline, wrong, Y)
    assert pipeline[0].n_samples_seen_ == before["n_samples_seen_"]
    np.testing.assert_array_equal(pipeline[0].mean_, before["mean_"])


# -- river ----------------------------------------------------------------------------------


def test_river_pipelines_take_text_and_gaps():
    preprocessing = pytest.importorskip("river.preprocessing")
    from river import compose, stats

    from efcml.compat.river import RiverEFCML

    def make():
        numbers = compose.Select("a") | preprocessing.StatImputer(("a", stats.Mean()))
        kinds = compose.Select("kind") | preprocessing.OneHotEncoder()
        return (numbers + kinds) | RiverEFCML(**QUICK, warmup_rows=10)

    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 3, "hot", "cold")})
    frame.loc[::4, "a"] = np.nan
    result, twin = prequential(make(), frame, Y), make()
    for t, row in enumerate(frame.to_dict("records")):
        x = {name: None if value != value else value for name, value in row.items()}
        answer = twin.predict_proba_one(x)
        scores = [(answer.get(c) or {}).get(True, 0.0) for c in range(3)]
        assert result.scores[t].tolist() == scores
        twin.learn_one(x, {c: bool(value) for c, value in enumerate(Y[t])})


# -- studies --------------------------------------------------------------------------------


def test_a_study_of_pipelines(monkeypatch, tmp_path):
    keep_method(monkeypatch)
    preprocessing = pytest.importorskip("river.preprocessing")
    from efcml.compat.river import RiverEFCML

    models = {
        "scaled": make_pipeline(StandardScaler(), model()),
        "asked": Variant(make_pipeline(StandardScaler(), model()), active=ActiveLearner(0.5)),
        "other": make_pipeline(
            StandardScaler(), MultiOutputClassifier(SGDClassifier(random_state=0))
        ),
        "river": preprocessing.StandardScaler() | RiverEFCML(**QUICK),
    }
    study = Study(models, data=small_set(), orders=2, folder=tmp_path).run(progress=False)
    ds = small_set()
    wanted = prequential(make_pipeline(StandardScaler(), model()).fit(*ds.initial), *ds.stream)
    agree(study.result("scaled"), wanted)
    assert study.result("asked").queried.mean() < 0.9
    facts = study.findings.facts("small", "scaled", 0)["parameters"]["model"]["parameters"]
    assert facts["efcmlclassifier__max_rules"] == 3
    assert facts["standardscaler__with_mean"] is True
    assert "0x" not in str(facts)
    found = Study(models, data=small_set(), orders=2, folder=tmp_path)
    assert not found.plan.missing(found.folder)[0]  # everything is kept, and known again


def test_processes_give_the_same(monkeypatch):
    keep_method(monkeypatch)

    def make():
        return Study({"a": make_pipeline(StandardScaler(), model())}, data=small_set(), orders=2)

    assert same(make().run(jobs=2, progress=False), make().run(progress=False))


def test_axes_of_pipelines_and_those_that_cannot_learn():
    pipeline = make_pipeline(StandardScaler(), model())
    names = list(Study.vary(pipeline, efcmlclassifier__beta=[0.0, 1.0]))
    assert names == ["efcmlclassifier__beta=0", "efcmlclassifier__beta=1"]
    with pytest.raises(TypeError, match="learns from a stream"):
        Study({"scaler": make_pipeline(StandardScaler(), OneHotEncoder())}, data=small_set())


# -- searches -------------------------------------------------------------------------------

GRID = Grid(vigilance=[0.5, 0.15], alpha=[0.0], beta=[0.0, 2.0])


def test_a_search_fits_the_steps_without_the_fold():
    fixed = {"prior": 1.0, "max_rules": 3, "forgetting": 1.0, "caution": False, "time": False}
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), EFCMLClassifier(**fixed))
    table = X.copy()
    table[::7, 1] = np.nan
    found = tune(table, Y, grid=GRID, folds=2, pipeline=pipeline)
    assert found.best_params == fixed | {n: found.best_params[n] for n in GRID.__annotations__}
    half = len(X) // 2
    right = 0
    for held in (slice(0, half), slice(half, None)):
        kept = np.delete(np.arange(len(X)), held)
        own = copy.deepcopy(pipeline).set_params(
            efcmlclassifier__vigilance=0.15, efcmlclassifier__beta=2.0
        )
        own.fit(table[kept], Y[kept])
        result = prequential(own, table[held], Y[held])
        right += ((result.scores >= 0.5) == result.Y).sum()
    at = GRID.vigilance.index(0.15), GRID.pairs.index((0.0, 2.0))
    assert found.pa[at] == pytest.approx(right / Y.size, abs=1e-12)
    assert not hasattr(pipeline[1], "mean_")
    assert tune(pd.DataFrame(table), Y, grid=GRID, folds=2, pipeline=pipeline, jobs=2) == found


def test_searches_that_make_no_sense():
    for wrong in (make_pipeline(StandardScaler(), SGDClassifier()), model()):
        with pytest.raises(TypeError, match="ends in an EFCMLClassifier"):
            tune(X, Y, grid=GRID, pipeline=wrong)
    pipeline = make_pipeline(StandardScaler(), model())
    with pytest.raises(ValueError, match="choose fewer folds"):
        tune(X, Y, grid=GRID, folds=90, pipeline=pipeline)
