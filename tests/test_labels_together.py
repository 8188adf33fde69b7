"""The covariance of errors, conditioning and joint decisions: against twins and closed forms."""

import pickle

import numpy as np
import pytest
from naive import together as naive
from numpy.testing import assert_allclose, assert_array_equal

from efcml.kernels import conditioning, joint_decision
from efcml.model.definite import whole
from efcml.model.labels_together import MOST_PARTLY, LabelsTogether

pytestmark = pytest.mark.uncompiled

FIELDS = [field.name for field in LabelsTogether.FIELDS]


def correlated(rng, n, K, unknown=0.0):
    """Errors with something in common; no row is unknown as a whole."""
    errors = 0.4 * (rng.normal(size=(n, 1)) * np.linspace(-1, 1, K) + rng.normal(size=(n, K)))
    gone = rng.random((n, K)) < unknown
    gone[np.arange(n), rng.integers(K, size=n)] = False
    return np.where(gone, np.nan, errors)


def begun(rng, K=5, n=40, unknown=0.0):
    together = LabelsTogether(K)
    together.begin(correlated(rng, n, K, unknown))
    return together


def assert_same(together, twin):
    arrays = together.arrays
    assert_allclose(whole(arrays.covariance), twin.E_m, rtol=1e-9, atol=1e-12)
    assert_allclose(whole(arrays.precision), np.linalg.inv(twin.E), rtol=1e-8, atol=1e-9)
    assert_allclose(whole(arrays.form), np.linalg.inv(twin.E_m), rtol=1e-8, atol=1e-9)
    assert_allclose(arrays.trial, twin.trial, rtol=1e-9, atol=1e-12)
    assert arrays.count.tolist() == [twin.rows, twin.renewal]


@pytest.mark.parametrize("kept", [1.0, 0.97])
@pytest.mark.parametrize("unknown", [0.0, 0.5])
def test_it_is_its_twin(rng, unknown, kept):
    first = correlated(rng, 30, 4, unknown)
    together, twin = LabelsTogether(4), naive.NaiveTogether(first)
    together.begin(first)
    assert_same(together, twin)
    assert 0.0 < together.share < 1.0
    for e in correlated(rng, 25, 4, unknown):
        together.note(e, kept)
        twin.note(e, kept)
        assert_same(together, twin)


def test_rows_without_a_known_label_change_nothing(rng):
    together = begun(rng)
    before = together.state()
    together.note(np.full(5, np.nan))
    for name, array in together.state().items():
        assert_array_equal(array, before[name])
    more = np.vstack([correlated(rng, 9, 3), np.full((2, 3), np.nan)])
    one, other = LabelsTogether(3), LabelsTogether(3)
    one.begin(more)
    other.begin(more[:9])
    assert one.arrays.count[0] == 9
    assert_allclose(one.arrays.trial, other.arrays.trial, rtol=1e-10)


def test_many_partly_known_rows_are_asked_in_part(rng):
    errors = correlated(rng, MOST_PARTLY + 400, 3, 0.3)
    together = LabelsTogether(3)
    together.begin(errors)
    assert together.arrays.trial[3] == pytest.approx(len(errors))
    twin = naive.NaiveTogether(errors[:150])  # the same share, from other rows
    assert together.share == pytest.approx(twin.share, abs=0.15)


def test_independent_labels_are_not_trusted_and_twins_are(rng):
    """Where errors have nothing in common, m goes to 0; where they are the same, to 1."""
    alone, same = LabelsTogether(6), LabelsTogether(2)
    alone.begin(rng.normal(size=(2000, 6)))
    same.begin(np.tile(rng.normal(size=(2000, 1)), (1, 2)))
    assert alone.share < 0.25
    assert same.share > 0.98


def test_unknown_labels_leave_it_definite(rng):
    """Pairs that are hardly ever known together would make T_ij / n_ij indefinite."""
    for _ in range(20):
        errors = correlated(rng, 12, 6, 0.8)
        together = LabelsTogether(6)
        together.begin(errors)
        assert (
            np.linalg.eigvalsh(naive.covariance(errors, np.ones(12), together.arrays.variance))[0]
            > 0
        )
        assert np.linalg.eigvalsh(whole(together.arrays.covariance))[0] > 0


def test_no_error_ever_is_no_division_by_zero():
    together = LabelsTogether(3)
    together.begin(np.zeros((20, 3)))
    together.note(np.zeros(3))
    assert together.share == 0.0
    assert np.isfinite(together.arrays.form).all()


# -- conditioning -------------------------------------------------------------------------------


def test_conditioning_is_that_of_a_gaussian(rng):
    together = begun(rng, K=6)
    E = whole(together.arrays.covariance)
    scores, Y = rng.random((50, 6)), rng.integers(2, size=(50, 6)).astype(float)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    Y[0], Y[1] = np.nan, [1, 0, 1, 0, 1, 0]
    found, sharpness = together.condition(scores, Y)
    for s, y, row, sharp in zip(scores, Y, found, sharpness, strict=True):
        if np.isnan(y).all():
            assert_array_equal(row, s)
            assert_array_equal(sharp, np.ones(6))
            continue
        expected, C = naive.given(s, E, y)
        assert_allclose(row, expected, rtol=1e-10, atol=1e-12)
        open_ = np.isnan(y)
        assert_allclose(sharp[open_], np.sqrt(np.diag(E)[open_] / np.diag(C)[open_]), rtol=1e-10)
        assert_array_equal(sharp[~open_], 1.0)
        assert (sharp >= 1.0 - 1e-12).all()


def test_conditioning_is_what_many_draws_show(rng):
    """Brute force: draws of the Gaussian that have the known value, and the mean of the others."""
    together = begun(rng, K=3, n=200)
    E, s = whole(together.arrays.covariance), np.array([0.3, 0.6, 0.5])
    draws = rng.multivariate_normal(s, E, size=400_000)
    near = draws[np.abs(draws[:, 1] - 1.0) < 0.02]
    found, sharpness = together.condition(s[None], np.array([[np.nan, 1.0, np.nan]]))
    assert_allclose(found[0, [0, 2]], near[:, [0, 2]].mean(axis=0), atol=0.02)
    deviations = near[:, [0, 2]].std(axis=0)
    assert_allclose(np.sqrt(np.diag(E))[[0, 2]] / sharpness[0, [0, 2]], deviations, rtol=0.03)


def test_labels_told_one_by_one_or_together_agree(rng):
    together = begun(rng, K=7)
    arrays = together.arrays
    y, s = np.array([1, np.nan, 0, np.nan, 1, np.nan, 0]), rng.random(7)
    at_once = together.condition(s[None], y[None])[0][0]
    for order in ([0, 2, 4, 6], [6, 0, 4, 2]):
        scores, matrix, left = s.copy(), arrays.covariance.copy(), np.ones(7, dtype=bool)
        for label in order:
            conditioning.settle(label, y[label], left, scores, matrix, arrays.line)
        assert_allclose(scores, at_once, rtol=1e-12, atol=1e-14)
        assert_array_equal(left, np.isnan(y))


def test_an_untrusted_covariance_says_nothing(rng):
    together = LabelsTogether(4)
    scores, Y = rng.random((3, 4)), np.array([[1, np.nan, 0, np.nan]] * 3)
    found, sharpness = together.condition(scores, Y)
    assert_array_equal(found[:, [1, 3]], scores[:, [1, 3]])
    assert_array_equal(sharpness, np.ones((3, 4)))


# -- joint decisions ----------------------------------------------------------------------------


def test_search_finds_the_best_of_all_sets_nearly_always(rng):
    hits = 0
    for seed in range(8):
        together = begun(np.random.default_rng(seed), K=6, n=300)
        E = whole(together.arrays.covariance)
        scores, Y = rng.uniform(-0.2, 1.2, (25, 6)), np.full((25, 6), np.nan)
        Y[::5, 2] = 1.0
        found = together.decide(scores, Y)
        for s, y, labels in zip(scores, Y, found, strict=True):
            sets = naive.all_sets(y)
            values = [naive.form(one, s, E) for one in sets]
            assert any((labels == one).all() for one in sets)  # zeros, ones, and what is known
            alone = np.where(np.isnan(y), naive.given(s, E, y)[0] >= 0.5, y)
            mine = naive.form(labels, s, E)
            assert min(values) - 1e-9 <= mine <= naive.form(alone, s, E) + 1e-9
            hits += mine <= min(values) + 1e-9
            flipped = [np.where(np.arange(6) == k, 1 - labels, labels) for k in range(6)]
            assert all(
                naive.form(one, s, E) >= mine - 1e-7
                for k, one in enumerate(flipped)
                if np.isnan(y[k])
            )
    assert hits >= 0.95 * 200


def test_the_better_of_both_ends_is_taken(rng):
    together, differ = begun(rng, K=8, n=2000), 0
    E, free = whole(together.arrays.covariance), np.full(8, np.nan)
    scores = rng.uniform(0.0, 1.0, (150, 8))
    for s, labels in zip(scores, together.decide(scores, np.full((150, 8), np.nan)), strict=True):
        ends = [(s >= 0.5).astype(float), np.empty(8)]
        line, left = np.empty(8), np.ones(8, dtype=bool)
        joint_decision.decide_greedily(left, s.copy(), E.copy(), line, ends[1])
        for end in ends:
            work = np.empty((2, 8))
            joint_decision.flip_while_better(free, s, together.arrays.form, end, *work, line)
        values = [naive.form(end, s, E) for end in ends]
        assert naive.form(labels, s, E) == pytest.approx(min(values))
        differ += values[1] < values[0] - 1e-6
    assert differ > 2


def test_labels_without_correlation_are_decided_alone(rng):
    together = LabelsTogether(5)
    scores = rng.uniform(-0.5, 1.5, (30, 5))
    scores[0, 0] = 0.5
    found = together.decide(scores, np.full((30, 5), np.nan))
    assert_array_equal(found, scores >= 0.5)


def test_greedy_start_settles_the_surest_label_first():
    """Exclusive labels, the first a little ahead: the second gives way."""
    s, E = np.array([0.6, 0.55]), np.array([[0.25, 0.0], [-0.2, 0.25]])
    labels, line = np.empty(2), np.empty(2)
    joint_decision.decide_greedily(np.ones(2, dtype=bool), s, E.copy(), line, labels)
    assert labels.tolist() == [1.0, 0.0]
    labels = np.array([1.0, 1.0])
    free = np.full(2, np.nan)
    form = np.linalg.inv(np.array([[0.25, -0.2], [-0.2, 0.25]]))
    s, slope, gaps = np.array([0.6, 0.55]), np.empty(2), np.empty(2)
    joint_decision.flip_while_better(free, s, form, labels, gaps, slope, line)
    assert labels.tolist() == [1.0, 0.0]
    labels[:] = 1.0
    joint_decision.flip_while_better(np.array([np.nan, 1]), s, form, labels, gaps, slope, line)
    assert labels.tolist() == [0.0, 1.0]  # a known label stays


# -- state --------------------------------------------------------------------------------------


def test_a_copy_a_state_and_a_pickle_go_on_alike(rng):
    together = begun(rng, unknown=0.2)
    others = [
        together.copy(),
        LabelsTogether(5).restore(together.state()),
        pickle.loads(pickle.dumps(together)),
    ]
    shapes = LabelsTogether.state_shapes(5)
    for name, array in together.state().items():
        assert (array.dtype.str, array.shape) == shapes[name]
    errors = correlated(rng, 30, 5, 0.1)
    before = others[0].copy().state()
    for e in errors:
        together.note(e, 0.99)
    for name, array in before.items():
        assert_array_equal(others[0].state()[name], array)
    for other in others:
        for e in errors:
            other.note(e, 0.99)
        for name, array in together.state().items():
            assert_array_equal(other.state()[name], array)


def test_late_labels_were_never_wrong(rng):
    errors = correlated(rng, 40, 3)
    together, other = LabelsTogether(3), LabelsTogether(5)
    together.begin(errors)
    mean = together.arrays.variance.mean()
    before = together.state()
    together.add_labels(2)
    arrays = together.arrays
    assert_array_equal(whole(arrays.sums)[:3, :3], before["sums"])
    assert not whole(arrays.sums)[3:].any()
    assert_array_equal(arrays.rows, [40.0] * 5)
    assert_allclose(arrays.variance[3:], mean)
    zeros = np.hstack([errors, np.zeros((40, 2))])
    expected = naive.covariance(zeros, np.ones(40), arrays.variance)
    expected[~np.eye(5, dtype=bool)] *= together.share
    assert_allclose(whole(arrays.covariance), expected, rtol=1e-10)
    together.note(np.ones(5))
    assert together.state().keys() == other.state().keys()
    assert {name: a.shape for name, a in together.state().items()} == {
        name: a.shape for name, a in other.state().items()
    }
