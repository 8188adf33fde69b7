"""Labels may be sparse, of any format; what is made of them is what dense ones give."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from helpers.models import freeze
from helpers.study_files import keep_method, model, rows, same
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier

from efcml import EFCMLClassifier, Study, datasets, measures, prequential
from efcml.support.dense import densify

X, Y = rows()
FORMATS = ("coo", "csr", "csc", "lil", "dok", "dia", "bsr")


def to_pandas(table):
    return pd.DataFrame(table).astype(pd.SparseDtype(float, 0.0))


@pytest.fixture(scope="module")
def dense():
    return model().fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, to_pandas])
def test_fitted_as_if_dense(dense, kind):
    clf = model().fit(X[:20], kind(Y[:20])).partial_fit(X[20:], kind(Y[20:]))
    assert freeze(clf.learner_) == freeze(dense.learner_)
    assert clf.score(X, kind(Y)) == dense.score(X, Y)
    assert hasattr(clf, "label_names_") == (kind is to_pandas)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format):
    for make in (scipy.sparse.coo_array, scipy.sparse.coo_matrix):
        np.testing.assert_array_equal(densify(make(Y).asformat(format)), Y)


def test_frames_keep_their_gaps_and_mixed_ones_are_left_alone():
    table = Y.copy()
    table[3, 1] = np.nan
    gaps = pd.DataFrame(table).astype(pd.SparseDtype(float, np.nan))
    np.testing.assert_array_equal(densify(gaps).to_numpy(), table)
    np.testing.assert_array_equal(densify(gaps[1]).to_numpy(), table[:, 1])
    mixed = gaps.assign(more=1.0)
    assert densify(mixed) is mixed
    assert densify(table) is table


def test_what_is_held_twice_is_added_up():
    twice = scipy.sparse.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=Y.shape)
    with pytest.raises(ValueError, match="0, 1 or NaN .unknown.; got 2"):
        EFCMLClassifier().fit(X, twice)


def test_features_stay_refused():
    with pytest.raises(TypeError, match="[Ss]parse"):
        EFCMLClassifier().fit(scipy.sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match=r"X is a sparse matrix.*X.toarray"):
        datasets.from_arrays(scipy.sparse.csr_array(X), Y)


@pytest.mark.parametrize("kind", [scipy.sparse.coo_array, to_pandas])
def test_streams_and_studies(monkeypatch, kind):
    keep_method(monkeypatch)
    for make in (model, lambda: MultiOutputClassifier(SGDClassifier(random_state=0))):
        found, wanted = (prequential(make(), X, labels) for labels in (kind(Y), Y))
        np.testing.assert_array_equal(found.scores, wanted.scores)
        np.testing.assert_array_equal(found.Y, Y)
    found, wanted = (
        Study({"a": model()}, data=(X, labels), orders=1).run(progress=False)
        for labels in (kind(Y), Y)
    )
    assert same(found, wanted)


def test_measures_take_sparse_labels_and_decisions():
    said = (np.roll(Y, 1, axis=0) >= 0.5).astype(float)
    sparse = scipy.sparse.coo_array(Y), scipy.sparse.lil_matrix(said)
    assert measures.partial_accuracy(*sparse) == measures.partial_accuracy(Y, said)
    assert measures.macro_f1(to_pandas(Y), to_pandas(said)) == measures.macro_f1(Y, said)
