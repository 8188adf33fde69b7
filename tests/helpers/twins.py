"""A whole learner against its slow twin: what both remember, field by field."""

import itertools

import numpy as np
from naive.cases import similarity

from efcml.model.fields import CASE_FIELDS
from efcml.model.memories import follow_antecedents
from efcml.model.sequel_fields import SEQUEL_FIELDS
from helpers.streams import assert_near, assert_same_rules

SPLIT = {"splitting": "labels", "vigilance": 1.5, "bandwidth": 0.5, "merge_overlap": 0.9}
SHARED = {"shared": 2.0, "renewal": 10}


def assert_same_tests(rules, tested):
    """Compare when each pair of rules was last tested for a merge."""
    uids, found = rules.uid.tolist(), rules.tested.tolist()
    for i, j in itertools.permutations(range(rules.n_rules), 2):
        assert found[i][j] == tested.get(frozenset((uids[i], uids[j])), 0)


def assert_same_cases(cases, twin):
    """Compare the remembered rows, oldest first; of the weights what they say of the cases."""
    found = cases.state()
    order = np.argsort(found["age"])
    K = similarity(twin.rows, twin.rows, twin.width)
    expected = {
        "rows": twin.rows,
        "age": twin.age,
        "kernel": K,
        "inverse": np.linalg.inv(K),
        "weights": twin.u,
        "covariance": twin.C,
        "count": [len(twin.rows), twin.changes, twin.wait],
    }
    similar = found["kernel"]
    found["weights"] = similar @ found["weights"]
    found["covariance"] = similar @ found["covariance"] @ similar
    for field in CASE_FIELDS:
        value, wanted = found[field.name], expected[field.name]
        for axis in range(field.dims.count("m")):
            value = value.take(order, axis=axis)
        if field.name == "rows":  # what is missing there is filled in
            assert_near(value, wanted, 1e-7, 1e-9, field.name)
        elif field.name in ("age", "count"):
            assert np.array_equal(value, wanted), field.name
        else:
            # Entries of a matrix are as exact as the largest of them allows.
            atol = 1e-8 * max(1.0, np.abs(wanted).max(initial=0.0))
            assert_near(value, wanted, 1e-6, atol, field.name)


def assert_same_sequel(sequel, twin):
    """Compare all that trust and time remember."""
    found, expected = sequel.state(), twin.arrays()
    assert found.keys() == expected.keys() == {field.name for field in SEQUEL_FIELDS}
    for name, value in found.items():
        assert_near(value, expected[name], 1e-6, 1e-8, name)


def assert_same(learner, twin):
    """Compare everything that the two remember."""
    assert_same_rules(learner.rules, twin.rules)
    assert_same_tests(learner.rules, twin.tested)
    assert not learner.rules.stale.any()  # between rows every P is derived that is to be
    assert_same_cases(learner.cases, twin.cases)
    if twin.sequel is not None:
        assert_same_sequel(learner.sequel, twin.sequel)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)
        twin.bring_gaussians()
        assert_same_rules(learner.brief, twin.short.rules)
        assert_same_cases(learner.recent, twin.recent)
        assert_near(learner.recent_trial, twin.recent_trial, 1e-6, 1e-9, "recent_trial")
