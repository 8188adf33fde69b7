"""Probabilities from scores: against the twin, and the batch against a plain optimiser."""

import pickle

import numpy as np
import pytest
from naive.calibration import NaiveCalibration, sigma
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from efcml.measures import calibration_error, log_loss
from efcml.model.calibration import ScoreCalibration, shorten_step

pytestmark = pytest.mark.uncompiled


def drawn(rng, n, K, unknown=0.0):
    """Scores, and labels whose probability is a steeper curve of them, shifted by label."""
    scores = rng.normal(0.4, 0.3, (n, K))
    p = sigma(np.linspace(-1, 1, K) + 2.5 * 4 * (scores - 0.5))
    Y = (rng.random((n, K)) < p).astype(float)
    Y[rng.random((n, K)) < unknown] = np.nan
    return scores, Y


def assert_same(calibration, twin):
    arrays = calibration.arrays
    assert_allclose(arrays.shared, twin.t, rtol=1e-10)
    assert_allclose(arrays.own, twin.d, rtol=1e-9, atol=1e-13)
    assert_allclose(arrays.shared_information, twin.H[[0, 0, 1], [0, 1, 1]], rtol=1e-10)
    own = [A[[0, 0, 1], [0, 1, 1]] for A in twin.A]
    assert_allclose(arrays.own_information, own, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("unknown", [0.0, 0.6])
def test_it_is_its_twin(rng, unknown):
    calibration, twin = ScoreCalibration(4), NaiveCalibration(4)
    for s, y in zip(*drawn(rng, 60, 4, unknown), strict=True):
        assert_allclose(calibration.probabilities(s[None])[0], twin.probabilities(s), rtol=1e-11)
        calibration.note(s, y)
        if not np.isnan(y).all():
            twin.note(s, y)
        assert_same(calibration, twin)


@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_the_batch_is_where_a_plain_optimiser_ends(rng, unknown):
    scores, Y = drawn(rng, 120, 3, unknown)
    calibration, twin = ScoreCalibration(3), NaiveCalibration(3)

    def loss(numbers):
        twin.t, twin.d = numbers[:2], numbers[2:].reshape(3, 2)
        return twin.loss(scores, Y)

    found = minimize(loss, np.array([0.0, 1.0, *np.zeros(6)]), method="BFGS", tol=1e-10)
    calibration.begin(scores, Y)
    arrays = calibration.arrays
    assert loss(np.concatenate([arrays.shared, arrays.own.ravel()])) <= found.fun + 1e-7
    assert_allclose(np.concatenate([arrays.shared, arrays.own.ravel()]), found.x, atol=2e-4)


def test_labels_that_scores_part_completely_do_not_run_away(rng):
    scores = rng.normal(0.5, 0.5, (3000, 5))
    calibration = ScoreCalibration(5)
    calibration.begin(scores, (scores > 0.5).astype(float))
    assert np.isfinite(calibration.arrays.own).all()
    assert 3.0 < calibration.arrays.shared[1] < 100.0
    calibration.begin(scores * 100.0, (scores > 0.5).astype(float))
    assert np.isfinite(calibration.probabilities(scores * 100.0)).all()


def test_it_learns_to_be_right(rng):
    scores, Y = drawn(rng, 3000, 4)
    calibration, said = ScoreCalibration(4), []
    for s, y in zip(scores, Y, strict=True):
        said.append(calibration.probabilities(s[None])[0])
        calibration.note(s, y)
    late, p = slice(1000, None), np.array(said)
    clipped = np.clip(scores, 0.01, 0.99)
    assert calibration_error(Y[late], p[late]) < 0.03 < calibration_error(Y[late], clipped[late])
    assert log_loss(Y[late], p[late]) < log_loss(Y[late], clipped[late]) - 0.05


def test_it_follows_a_change(rng):
    scores, Y = drawn(rng, 1500, 3)
    calibration = ScoreCalibration(3)
    calibration.begin(scores, Y)
    turned = (rng.random((1500, 3)) < 0.1).astype(float)  # scores no longer tell anything
    for s, y in zip(scores, turned, strict=True):
        calibration.note(s, y)
    assert abs(calibration.probabilities(scores).mean() - 0.1) < 0.03


def test_probabilities_rise_with_scores_whatever_was_learned(rng):
    calibration = ScoreCalibration(2)
    scores = rng.random((400, 2))
    calibration.begin(scores, (scores < 0.5).astype(float))
    grid = np.linspace(-3.0, 4.0, 200)[:, None] * np.ones((1, 2))
    p = calibration.probabilities(grid)
    assert (np.diff(p, axis=0) > 0).all()
    assert ((p > 0) & (p < 1)).all()


def test_sharper_is_further_from_one_half():
    calibration = ScoreCalibration(1)
    plain = calibration.probabilities(np.array([[0.7]]))[0, 0]
    sharper = calibration.probabilities(np.array([[0.7]]), np.array([[2.0]]))[0, 0]
    logit = np.log(plain / (1 - plain))
    assert sharper == pytest.approx(sigma(2.0 * logit))
    assert plain == pytest.approx(sigma(0.8))


def test_a_copy_a_state_and_a_pickle_go_on_alike(rng):
    scores, Y = drawn(rng, 60, 3, 0.2)
    one = ScoreCalibration(3)
    one.begin(scores[:30], Y[:30])
    others = [one.copy(), ScoreCalibration(3).restore(one.state()), pickle.loads(pickle.dumps(one))]
    shapes = ScoreCalibration.state_shapes(3)
    for each in (one, *others):
        for s, y in zip(scores[30:], Y[30:], strict=True):
            each.note(s, y)
        for name, array in each.state().items():
            assert_array_equal(array, one.state()[name])
            assert (array.dtype.str, array.shape) == shapes[name]


def test_late_labels_begin_with_the_curve_of_all(rng):
    calibration = ScoreCalibration(2)
    calibration.begin(*drawn(rng, 100, 2))
    before = calibration.state()
    calibration.add_labels(1)
    after = calibration.state()
    assert_array_equal(after["own"][:2], before["own"])
    assert_array_equal(after["own"][2], [0.0, 0.0])
    assert_array_equal(after["own_information"][2], [20.0, 0.0, 20.0])
    level, slope = before["shared"]
    expected = sigma(level + slope * 4.0 * 0.3)
    assert calibration.probabilities(np.full((1, 3), 0.8))[0, 2] == pytest.approx(expected)


def test_a_step_that_leads_too_far_is_shortened():
    def loss(x):
        return float((x**2).sum())

    assert shorten_step(loss, np.array([1.0]), np.array([-1.5])).tolist() == [-0.5]
    assert shorten_step(loss, np.array([1.0]), np.array([-8.0])).tolist() == [-1.0]
    assert shorten_step(loss, np.array([1.0]), np.array([8.0])).tolist() == [1.0]
