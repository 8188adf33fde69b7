"""Every parameter at the ends of its range, on a stream that spares nothing: all stays finite.

Compiled only: thousands of rows.
"""

import numpy as np
import pytest
from helpers.ranges import FACTS, rule_of

import efcml
from efcml import EFCMLClassifier
from efcml.kernels.cases import learn_case
from efcml.model.casebase import CaseBase
from efcml.support.checks import check_number

pytestmark = pytest.mark.slow

# Where a range is open, far enough; some ends would take too long, or leave nothing to learn.
ENDS = {
    name: [limits.get("least", 1e-12), limits.get("most", 1e12)]
    for name, (check, limits) in ((name, rule_of(name)) for name in FACTS)
    if check is check_number
} | {
    "alpha": [1e9],
    "forgetting": [1e-9, 0.5],
    "variance_floor": [1e-9, 1e9],
    "merge_overlap": [1e-9, 1.0],
    "activation_floor": [0.0, 0.999],
    "split_share": [1e-9, 1.0],
    "least_share": [0.0, 0.999],
    "clip": [1e-9, 1e6],
    "weight_limit": [1e-12, 1e300],
    "n_steps": [20],
    "max_rules": [1, 2, 100],
    "cases": [0, 1],
}
BASES = {
    "default": {},
    "narrow": {"vigilance": 0.3, "bandwidth": 1.0, "forgetting": 0.99},
    "laplacian": {"correlation": "laplacian", "alpha": 0.1, "beta": 1.0, "product_space": False},
}


def hard_rows(n=600):
    """Columns that follow from others, rest, jump, or lie far off; wild and repeated rows."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=(n, 2))
    flag, skew, far = rng.integers(0, 2, n), rng.normal(size=n) ** 3, 1e4 + rng.normal(size=n)
    X = np.column_stack([base, base.sum(axis=1), np.full(n, 7.0), flag, skew, far])
    X[rng.integers(300, n, 15), rng.integers(0, 2, 15)] *= 1e12
    X[rng.integers(300, n, 150)] = X[5]
    X[n // 2 :, 5] += 50.0
    Y = np.column_stack([base[:, 0] > 0.0, base[:, 1] > 1.5, rng.random(n) < 0.02]).astype(float)
    Y[rng.random(Y.shape) < 0.05] = np.nan
    return X, Y


# A limit of weights that every plane passes says so, and so do rows that lie far off.
@pytest.mark.filterwarnings("ignore::efcml.model.clipping.ClippingWarning")
@pytest.mark.filterwarnings("ignore::efcml.model.divergence.DivergenceWarning")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ENDS)
def test_ends_of_ranges(name, base, tmp_path):
    X, Y = hard_rows()
    for value in ENDS[name]:
        given = {"cases": 40, "prior": 1.0} | BASES[base] | {name: value}
        if name == "clip":  # a rule that holds a value 1e9 deviations off is all rounding
            given["scaling"] = "frozen"
        clf = EFCMLClassifier(**given).fit(X[:300], Y[:300])
        clf.partial_fit(X[300:], Y[300:])
        assert np.isfinite(clf.decision_function(X)).all(), value
        efcml.save(clf, tmp_path / "model.npz")
        again = efcml.load(tmp_path / "model.npz")
        last = X[-20:]
        assert np.array_equal(again.decision_function(last), clf.decision_function(last)), value


@pytest.mark.parametrize("width", [1.0, 3.0, 10.0])
def test_cases_that_hardly_doubt_over_a_long_stream(width, rng, tmp_path):
    """The variance that many rows leave is near rounding errors, which must not grow."""
    X = rng.normal(size=(60_000, 2))
    Y = np.column_stack([X[:, 0] > 0.0, X.sum(axis=1) > 0.0, rng.random(len(X)) < 0.5])
    few = {"max_rules": 1, "prior": 1.0, "cases": 60, "case_width": width}
    clf = EFCMLClassifier(**few, case_noise=1e-4).fit(X[:200], Y[:200])
    clf.partial_fit(X[200:], Y[200:])
    covariance = clf.learner_.cases.state()["covariance"]
    assert np.abs(clf.decision_function(X[:1000])).max() < 10.0
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    efcml.save(clf, tmp_path / "model.npz")
    efcml.load(tmp_path / "model.npz")


@pytest.mark.parametrize("width", [0.01, 0.25, 3.0])
def test_rounding_below_zero_does_not_grow(width):
    """A kernel that is given less noise than the range allows stays finite all the same."""
    base, rng = CaseBase(1, 1, 100, width, 1e-10), np.random.default_rng(0)
    known = np.ones(1, dtype=np.bool_)
    for t in range(1000):
        base.similar_to(rng.normal(size=1))  # compares the row with the cases
        learn_case(rng.normal(size=1), known, 1.0, t, 1.0, base.arrays)
    assert np.isfinite(base.arrays.covariance).all()
    assert np.isfinite(base.arrays.weights).all()
