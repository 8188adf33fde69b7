"""Remembered cases: against their slow twin, and against the formulas of Gaussian processes."""

import numpy as np
import pytest
from naive.cases import NaiveCases, process_posterior, similarity
from numpy.testing import assert_allclose

from efcml.kernels import cases as kernels
from efcml.model.casebase import CASE_FIELDS, CaseBase

pytestmark = pytest.mark.uncompiled

WIDTH, NOISE = 0.3, 0.5


def random_errors(rng, n, K, share=1.0):
    errors = rng.normal(size=(n, K))
    unknown = rng.uniform(size=(n, K)) > share
    unknown[np.arange(n), rng.integers(K, size=n)] = False  # every row knows one
    return np.where(unknown, np.nan, errors)


def learn(base, X, errors, forgetting=1.0, first=0):
    """Let a case base learn a stream of errors."""
    for t, (x, e) in enumerate(zip(X, errors, strict=True)):
        known = ~np.isnan(e)
        kernels.compare_with_cases(x, base.arrays)
        kernels.learn_case(e.copy(), known, known.sum(), first + t, forgetting, base.arrays)
    kernels.bring_covariance(base.arrays)


def recalled(base, X):
    scores = np.zeros((len(X), base.arrays.weights.shape[1]))
    for x, row in zip(X, scores, strict=True):
        kernels.recall(x, base.arrays, row)
    return scores


def test_no_cases_add_nothing():
    base = CaseBase(2, 3, 4, WIDTH, NOISE)
    assert np.array_equal(recalled(base, np.ones((1, 2))), np.zeros((1, 3)))
    assert base.n_cases == 0


def test_similarities(rng):
    rows, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    cases = CaseBase(3, 1, 5, 4.0, NOISE).arrays
    cases.similar[4] = -1.0
    kernels.remember_rows(rows, np.arange(4), cases)
    kernels.compare_with_cases(x, cases)
    assert_allclose(cases.similar[:4], similarity(x[None], rows, 4.0)[0], rtol=1e-12)
    assert cases.similar[4] == -1.0


def test_far_values_count_as_less_far():
    rows = np.array([[-9.0, 0.5], [3.1, 0.5], [7.0, 0.5]])
    base = CaseBase(2, 1, 3, 4.0, NOISE)
    kernels.remember_rows(rows, np.arange(3), base.arrays)
    assert np.array_equal(base.state()["rows"], [[-3.0, 0.5], [3.0, 0.5]])  # the third is not novel
    kernels.compare_with_cases(np.array([5.0, 0.5]), base.arrays)
    assert_allclose(base.arrays.similar[:2], [np.exp(-36.0 / 16.0), 1.0], rtol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("capacity", [1, 4, 100])
def test_stream_is_that_of_the_twin(rng, capacity, forgetting, share):
    X, errors = 2.0 * rng.normal(size=(40, 2)), random_errors(rng, 40, 3, share)
    X[20] = X[19]  # not novel: learned, but never a case
    base = CaseBase(2, 3, capacity, WIDTH, NOISE)
    twin = NaiveCases(2, 3, capacity, WIDTH, NOISE)
    for t in range(40):
        learn(base, X[t : t + 1], errors[t : t + 1], forgetting, first=t)
        twin.learn(X[t], errors[t], t, forgetting)
        order = np.argsort(base.state()["age"])
        assert np.array_equal(base.state()["age"][order], twin.age)
    assert base.n_cases == len(twin.rows) == min(capacity, len(twin.rows))
    assert 20 not in twin.age or capacity == 1
    expected = [twin.recall(x) for x in X]
    assert_allclose(recalled(base, X), expected, rtol=1e-7, atol=1e-9)


def test_with_room_for_all_rows_it_is_a_gaussian_process(rng):
    X, errors, X_new = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.normal(size=(7, 3))
    base = CaseBase(3, 2, 30, WIDTH, NOISE)
    learn(base, X, errors)
    expected = process_posterior(X, errors, X_new, WIDTH, NOISE)
    assert_allclose(recalled(base, X_new), expected, rtol=1e-8, atol=1e-10)


def test_batch_with_room_for_all_rows_is_a_gaussian_process(rng):
    X, errors, X_new = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.normal(size=(7, 3))
    base, given = CaseBase(3, 2, 50, WIDTH, NOISE), errors.copy()
    base.fill(X, given)
    assert np.array_equal(given, errors)
    expected = process_posterior(X, errors, X_new, WIDTH, NOISE)
    assert_allclose(recalled(base, X_new), expected, rtol=1e-8, atol=1e-10)


def test_before_any_error_the_prior_holds(rng):
    base = CaseBase(2, 1, 8, WIDTH, NOISE)
    kernels.remember_rows(rng.normal(size=(10, 2)), np.arange(8), base.arrays)
    state = base.state()
    assert_allclose(state["covariance"], state["inverse"], atol=1e-12)
    assert not base.arrays.weights.any()


def test_rows_of_a_batch_are_those_that_a_stream_would_take(rng):
    X = np.repeat(rng.normal(size=(12, 2)), 2, axis=0)  # every second row is nothing new
    X[6:8] = X[0] + 1e-3
    batch, stream = (CaseBase(2, 1, 20, WIDTH, NOISE) for _ in range(2))
    kernels.remember_rows(X, np.arange(len(X)), batch.arrays)
    learn(stream, X, np.zeros((len(X), 1)))
    batch, stream = batch.state(), stream.state()
    assert 5 < len(batch["rows"]) < 12
    for name in ("rows", "age", "kernel"):
        assert np.array_equal(batch[name], stream[name]), name
    assert_allclose(batch["inverse"], stream["inverse"], rtol=1e-6, atol=1e-6)
    assert_allclose(batch["covariance"], batch["inverse"], atol=1e-12)


def test_batch_projects_all_rows_on_the_cases(rng):
    """Subset of regressors: all rows are learned through the similarity to the chosen ones."""
    X, errors = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    base = CaseBase(2, 2, 8, WIDTH, NOISE)
    base.fill(X, errors)
    chosen = X[::5]
    assert np.array_equal(base.state()["rows"], chosen)
    K, Q = similarity(chosen, chosen, WIDTH), similarity(X, chosen, WIDTH)
    weights = np.linalg.solve(Q.T @ Q + NOISE * K, Q.T @ errors)
    assert_allclose(recalled(base, X), Q @ weights, rtol=1e-7, atol=1e-9)


def test_several_pairs_are_learned_as_if_alone(rng):
    X, errors = rng.normal(size=(20, 2)), rng.normal(size=(20, 4))
    errors[3, [1, 3]] = np.nan
    both = CaseBase(2, 4, 6, WIDTH, NOISE)
    both.fill(X, errors)
    for pair in (slice(0, 2), slice(2, 4)):
        alone = CaseBase(2, 2, 6, WIDTH, NOISE)
        alone.fill(X, errors[:, pair])
        assert_allclose(recalled(both, X)[:, pair], recalled(alone, X), rtol=1e-12, atol=1e-14)


def test_the_oldest_case_goes_first(rng):
    X, errors = rng.normal(size=(12 * kernels.RENEWAL, 2)), rng.normal(size=(60, 1))
    base = CaseBase(2, 1, 3, WIDTH, NOISE)
    learn(base, X, errors)
    ages = np.sort(base.state()["age"])
    assert np.all(np.diff(ages) == kernels.RENEWAL)
    assert ages[-1] >= len(X) - kernels.RENEWAL


def assert_inverse(base):
    state = base.state()
    identity = np.eye(base.n_cases)
    assert_allclose(state["inverse"] @ state["kernel"], identity, atol=1e-9)


def test_inverse_stays_exact_over_many_changes(rng):
    n = 400
    base = CaseBase(1, 1, 5, 0.5, NOISE)
    X = rng.normal(size=(n, 1))
    learn(base, X, np.zeros((n, 1)))
    assert 10 < base.arrays.count[kernels.CHANGES] < kernels.REFRESH
    assert_inverse(base)
    base.arrays.inverse[0, 0] += 0.1  # as rounding would, in the long run
    base.arrays.count[kernels.CHANGES] = kernels.REFRESH
    learn(base, rng.normal(size=(2 * kernels.RENEWAL, 1)), np.zeros((10, 1)), first=n)
    assert base.arrays.count[kernels.CHANGES] < kernels.RENEWAL
    assert_inverse(base)


def test_equal_rows_are_remembered_once():
    base = CaseBase(2, 1, 4, WIDTH, NOISE)
    base.fill(np.ones((6, 2)), np.ones((6, 1)))
    learn(base, np.ones((6, 2)), np.ones((6, 1)))
    assert base.n_cases == 1
    assert_allclose(recalled(base, np.ones((1, 2))), 12 / (12 + NOISE))


def test_late_labels_have_no_error(rng):
    X, errors = rng.normal(size=(10, 2)), rng.normal(size=(10, 2))
    base = CaseBase(2, 2, 6, WIDTH, NOISE)
    learn(base, X, errors)
    before = recalled(base, X)
    base.add_labels(1)
    assert np.array_equal(recalled(base, X), np.column_stack([before, np.zeros(10)]))
    learn(base, X, rng.normal(size=(10, 3)), first=10)
    assert recalled(base, X)[:, 2].any()


def test_copies_and_states_go_on_alike(rng):
    X, errors = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    base = CaseBase(2, 2, 6, WIDTH, NOISE)
    learn(base, X[:4], errors[:4])
    for rows in (slice(4, 30), slice(30, 60)):  # with free slots, and without
        twin = base.copy()
        read = CaseBase(2, 2, 6, WIDTH, NOISE).restore(base.state())
        for one in (base, twin, read):
            learn(one, X[rows], errors[rows], first=rows.start)
        for field in CASE_FIELDS:
            for other in (twin, read):
                mine, its = getattr(base.arrays, field.name), getattr(other.arrays, field.name)
                assert np.array_equal(mine, its), field.name


def test_state_is_what_it_says():
    base = CaseBase(2, 3, 5, WIDTH, NOISE)
    base.fill(np.arange(6.0).reshape(3, 2), np.ones((3, 3)))
    shapes = CaseBase.state_shapes(2, 3, base.n_cases)
    for name, array in base.state().items():
        assert shapes[name] == (array.dtype.str, array.shape)
    sizes = {"m": 5, "p": 2, "L": 3, "3": 3}
    assert base.nbytes == sum(8 * np.prod([sizes[dim] for dim in f.dims]) for f in CASE_FIELDS)


def test_no_room_means_no_cases(rng):
    base = CaseBase(2, 1, 0, WIDTH, NOISE)
    base.fill(rng.normal(size=(5, 2)), np.ones((5, 1)))
    assert base.n_cases == base.capacity == 0
