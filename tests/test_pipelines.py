"""Pipelines of scikit-learn and river in streams, studies and searches, against loops by hand."""

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.models import freeze
from helpers.study_files import QUICK, model, rows
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from efcml import ActiveLearner, prequential

X, Y = rows()
X = 5.0 * X + 3.0
START = 20


def fitted(*steps, last=None):
    return make_pipeline(*steps, last or model()).fit(X[:START], Y[:START])


def rest(pipeline, **options):
    return prequential(pipeline, X[START:], Y[START:], progress=False, **options)


def sgd():
    return MultiOutputClassifier(SGDClassifier(random_state=0))


def agree(first, second):
    """Compare two results, times aside."""
    for name in ("scores", "rules", "queried", "decisions", "probabilities"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.events == second.events


def follow_by_hand(pipeline, table):
    """Return rows as a scaler transforms them that learns each of them afterwards."""
    scaler, found = copy.deepcopy(pipeline[0]), []
    for row in table:
        found.append(scaler.transform(row[None])[0])
        scaler.partial_fit(row[None])
    return np.array(found), scaler


@pytest.mark.parametrize("kind", ["plain", "late", "static", "asked"])
def test_constant_steps_are_those_of_the_initial_part(kind):
    options = {"plain": {}, "late": {"delay": 3}, "static": {"learn": False}, "asked": {}}[kind]
    asks = [{"active": ActiveLearner(0.5, random_state=0)} if kind == "asked" else {} for _ in "ab"]
    pipeline = fitted(ColumnTransformer([("all", StandardScaler(), [0, 1])]))
    twin = copy.deepcopy(pipeline[-1])
    result = rest(pipeline, **options, **asks[0])
    table = pipeline[:-1].transform(X[START:])
    agree(result, prequential(twin, table, Y[START:], **options, **asks[1]))
    assert result.rules.any()
    assert freeze(pipeline[-1]) == freeze(twin)
    assert pipeline[0].named_transformers_["all"].n_samples_seen_ == START


@pytest.mark.parametrize("options", [{}, {"delay": 3}], ids=["in time", "late"])
def test_steps_learn_each_row_after_it_has_passed(options):
    for last in (model(), sgd()):
        pipeline = fitted(StandardScaler(), last=last)
        twin = copy.deepcopy(pipeline[-1])
        table, scaler = follow_by_hand(pipeline, X[START:])
        agree(rest(pipeline, **options), prequential(twin, table, Y[START:], **options))
        np.testing.assert_array_equal(pipeline[0].mean_, scaler.mean_)
        assert pipeline[0].n_samples_seen_ == len(X)


def test_tables_of_pandas_and_sparse_rows():
    frame, scaler = pd.DataFrame(X, columns=["a", "b"]), StandardScaler()
    pipeline = make_pipeline(scaler.set_output(transform="pandas"), model())
    pipeline.fit(frame[:START], Y[:START])
    result = prequential(pipeline, frame[START:], Y[START:])
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(result.scores, rest(fitted(StandardScaler())).scores, atol=1e-9)
    words = np.where(X[:, 0] > 3.0, "hot", "cold")
    hasher = HashingVectorizer(n_features=8)
    dense = FunctionTransformer(lambda table: table.toarray())
    pipeline = make_pipeline(hasher, dense, model()).fit(words[:START], Y[:START])
    twin, table = copy.deepcopy(pipeline[-1]), hasher.transform(words[START:]).toarray()
    agree(prequential(pipeline, words[START:], Y[START:]), prequential(twin, table, Y[START:]))


def test_steps_that_do_not_learn_or_are_left_out():
    for frozen, options in ((False, {"learn": False}), (True, {})):
        scaler = StandardScaler().fit(X[:START])
        pipeline = fitted(FrozenEstimator(scaler) if frozen else scaler)
        twin = copy.deepcopy(pipeline[-1])
        wanted = prequential(twin, scaler.transform(X[START:]), Y[START:], **options)
        agree(rest(pipeline, **options), wanted)
        assert scaler.n_samples_seen_ == START
    inner = Pipeline([("gone", "passthrough"), ("scale", StandardScaler())])
    agree(rest(fitted(inner, "passthrough")), rest(fitted(StandardScaler())))
    assert inner.named_steps["scale"].n_samples_seen_ == len(X)
    pipeline = make_pipeline(FunctionTransformer(), model(warmup_rows=10))
    agree(prequential(pipeline, X, Y), prequential(model(warmup_rows=10), X, Y))


def test_what_is_refused_leaves_the_steps_alone():
    with pytest.raises(NotFittedError, match="not fitted"):
        prequential(make_pipeline(StandardScaler(), model()), X, Y)
    for end in ("passthrough", None):
        with pytest.raises(TypeError, match="ends in no model"):
            prequential(Pipeline([("scale", StandardScaler()), ("end", end)]), X, Y)
    pipeline = fitted(StandardScaler())
    mean = pipeline[0].mean_.copy()
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        prequential(pipeline, X, 7.0 + Y)
    assert pipeline[0].n_samples_seen_ == START
    np.testing.assert_array_equal(pipeline[0].mean_, mean)


def test_river_pipelines_take_text_and_gaps():
    pytest.importorskip("river")
    from river import compose, preprocessing, stats

    from efcml.compat.river import RiverEFCML

    numbers = compose.Select("a") | preprocessing.StatImputer(("a", stats.Mean()))
    kinds = compose.Select("kind") | preprocessing.OneHotEncoder()
    pipeline = (numbers + kinds) | RiverEFCML(**QUICK, warmup_rows=10)
    twin = pipeline.clone()
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 3, "hot", "cold")})
    frame.loc[::4, "a"] = np.nan
    result = prequential(pipeline, frame, Y)
    for t, row in enumerate(frame.to_dict("records")):
        x = {name: None if value != value else value for name, value in row.items()}
        answer = twin.predict_proba_one(x)
        scores = [(answer.get(c) or {}).get(True, 0.0) for c in range(3)]
        assert result.scores[t].tolist() == scores
        twin.learn_one(x, {c: bool(value) for c, value in enumerate(Y[t])})
