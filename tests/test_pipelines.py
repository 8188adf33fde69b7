"""Pipelines of scikit-learn in streams: steps stay as they were fitted."""

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.models import freeze
from helpers.study_files import model, rows
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
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


def agree(first, second):
    """Compare two results, times aside."""
    for name in ("scores", "rules", "queried", "decisions", "probabilities"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.events == second.events


@pytest.mark.parametrize("kind", ["plain", "late", "static", "asked"])
def test_steps_are_those_of_the_initial_part(kind):
    options = {"plain": {}, "late": {"delay": 3}, "static": {"learn": False}, "asked": {}}[kind]
    asks = [{"active": ActiveLearner(0.5, random_state=0)} if kind == "asked" else {} for _ in "ab"]
    pipeline = fitted(StandardScaler())
    twin = copy.deepcopy(pipeline[-1])
    result = rest(pipeline, **options, **asks[0])
    table = pipeline[:-1].transform(X[START:])
    agree(result, prequential(twin, table, Y[START:], **options, **asks[1]))
    assert result.rules.any()
    assert freeze(pipeline[-1]) == freeze(twin)
    assert pipeline[0].n_samples_seen_ == START


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


def test_inner_pipelines_and_steps_that_are_left_out():
    inner = Pipeline([("gone", "passthrough"), ("scale", StandardScaler())])
    agree(rest(fitted(inner, "passthrough")), rest(fitted(StandardScaler())))
    last = make_pipeline(StandardScaler(), model())
    agree(rest(fitted(last=last)), rest(fitted(StandardScaler())))
    pipeline = make_pipeline(FunctionTransformer(), model(warmup_rows=10))
    agree(prequential(pipeline, X, Y), prequential(model(warmup_rows=10), X, Y))


def test_what_is_no_fitted_pipeline_with_a_model_is_refused():
    with pytest.raises(NotFittedError, match="not fitted"):
        prequential(make_pipeline(StandardScaler(), model()), X, Y)
    for end in ("passthrough", None):
        with pytest.raises(TypeError, match="needs a model with begin_stream or partial_fit"):
            prequential(Pipeline([("scale", StandardScaler()), ("end", end)]), X, Y)
