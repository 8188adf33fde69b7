"""Estimators in scikit-learn's own checks and in its tools for many labels."""

import numpy as np
import pytest
from helpers.models import stream
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from efcml import ChainEFC, EFCMLClassifier
from efcml.estimators.targets import check_table

X, Y = stream()
FAILING = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "a row of weight 2 is not quite the row twice: the scale and the choice of the prior take "
    "rows alike, and a rule that the first of both moves meets the second elsewhere",
)


@pytest.mark.parametrize(
    "model",
    [EFCMLClassifier(), pytest.param(ChainEFC(), marks=pytest.mark.long)],
    ids=["efcml", "chain"],
)
def test_scikit_learn_checks_pass(model):
    results = check_estimator(model, expected_failed_checks=FAILING, on_skip=None, on_fail=None)
    bad = [
        (result["check_name"], repr(result["exception"]))
        for result in results
        if result["status"] != "passed"
        and result["check_name"] not in ("check_array_api_input", *FAILING)
    ]
    assert not bad
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == {*list(FAILING)[: 1 + model.takes_sparse]}
    assert len(results) > 40


def test_tags_say_what_is_supported():
    tags = get_tags(EFCMLClassifier())
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_label and tags.target_tags.multi_output
    assert not tags.classifier_tags.multi_class and tags.input_tags.sparse
    assert tags.input_tags.allow_nan


class Bare(BaseEstimator):
    """An estimator that only notes columns."""

    takes_sparse = False


TABLES = [
    [[2**62 + 1, 1], [3, -1]],
    ((1.5, 2), (True, 4)),
    np.array([[1.5, 2.0]], dtype=">f8"),
    np.array([[2**64 - 1, 1]], dtype=np.uint64),
    np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    np.arange(12.0).reshape(2, 6)[:, ::3],
    np.arange(6.0).reshape(3, 2),
    np.array([[1, 2.5]], dtype=object),
    [["1", "2"]],
]


def test_tables_become_what_scikit_learn_makes_of_them():
    for table in TABLES:
        ours, theirs = Bare(), Bare()
        found = check_table(ours, table, reset=True)
        wanted = validate_data(theirs, table, dtype=np.float64, order="C", ensure_all_finite=False)
        np.testing.assert_array_equal(found, wanted, strict=True)
        assert found.flags.c_contiguous
        assert vars(ours) == vars(theirs) == {"n_features_in_": 2}
        np.testing.assert_array_equal(check_table(ours, table, reset=False), wanted, strict=True)
    bare = Bare()
    bare.feature_names_in_, bare.n_features_in_ = np.array(["a", "b"], dtype=object), 2
    check_table(bare, np.ones((1, 2)), reset=False)  # arrays are rows of a stream: no warning
    check_table(bare, np.ones((1, 3)), reset=True)
    assert vars(bare) == {"n_features_in_": 3}
