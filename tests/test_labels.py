"""What errors teach of labels: covariance, probabilities, thresholds, and all in one layer."""

import numpy as np
import pytest
from naive import together as naive
from naive.calibration import NaiveCalibration, sigma
from naive.label_thresholds import best_thresholds
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from efcml.kernels.constants import F1, HAMMING, SUBSET
from efcml.model.calibration import ScoreCalibration, shorten_step
from efcml.model.definite import whole
from efcml.model.label_layer import LabelLayer
from efcml.model.label_thresholds import LabelThresholds
from efcml.model.labels_together import MOST_PARTLY, LabelsTogether

pytestmark = pytest.mark.uncompiled

DECISIONS = (HAMMING, F1, SUBSET)

# Probabilities


def curved(rng, n, K, unknown=0.0):
    """Scores, and labels whose probability is a steeper curve of them, shifted by label."""
    scores = rng.normal(0.4, 0.3, (n, K))
    p = sigma(np.linspace(-1, 1, K) + 2.5 * 4 * (scores - 0.5))
    Y = (rng.random((n, K)) < p).astype(float)
    Y[rng.random((n, K)) < unknown] = np.nan
    return scores, Y


def assert_same_curves(calibration, twin):
    arrays = calibration.arrays
    assert_allclose(arrays.shared, twin.t, rtol=1e-10)
    assert_allclose(arrays.own, twin.d, rtol=1e-9, atol=1e-13)
    assert_allclose(arrays.shared_information, twin.H[[0, 0, 1], [0, 1, 1]], rtol=1e-10)
    own = [A[[0, 0, 1], [0, 1, 1]] for A in twin.A]
    assert_allclose(arrays.own_information, own, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("unknown", [0.0, 0.6])
def test_calibration_is_its_twin(rng, unknown):
    calibration, twin = ScoreCalibration(4), NaiveCalibration(4)
    for s, y in zip(*curved(rng, 60, 4, unknown), strict=True):
        assert_allclose(calibration.probabilities(s[None])[0], twin.probabilities(s), rtol=1e-11)
        calibration.note(s, y)
        if not np.isnan(y).all():
            twin.note(s, y)
        assert_same_curves(calibration, twin)


@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_the_batch_is_where_a_plain_optimiser_ends(rng, unknown):
    scores, Y = curved(rng, 60, 3, unknown)
    calibration, twin = ScoreCalibration(3), NaiveCalibration(3)

    def loss(numbers):
        twin.t, twin.d = numbers[:2], numbers[2:].reshape(3, 2)
        return twin.loss(scores, Y)

    found = minimize(loss, np.array([0.0, 1.0, *np.zeros(6)]), method="BFGS", tol=1e-10)
    calibration.begin(scores, Y)
    arrays = calibration.arrays
    assert loss(np.concatenate([arrays.shared, arrays.own.ravel()])) <= found.fun + 1e-7
    assert_allclose(np.concatenate([arrays.shared, arrays.own.ravel()]), found.x, atol=2e-4)


def test_sharper_is_further_from_one_half():
    calibration = ScoreCalibration(1)
    plain = calibration.probabilities(np.array([[0.7]]))[0, 0]
    sharper = calibration.probabilities(np.array([[0.7]]), np.array([[2.0]]))[0, 0]
    logit = np.log(plain / (1 - plain))
    assert sharper == pytest.approx(sigma(2.0 * logit))
    assert plain == pytest.approx(sigma(0.8))


def test_late_labels_begin_with_the_curve_of_all(rng):
    calibration = ScoreCalibration(2)
    calibration.begin(*curved(rng, 100, 2))
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


# Thresholds


def rare(rng, n, K, unknown=0.0):
    """Rare labels: scores rise with the probability, but hardly ever reach .5."""
    p = rng.beta(0.5, 3.0, (n, K)) * np.linspace(0.2, 1.0, K)
    Y = (rng.random((n, K)) < p).astype(float)
    Y[rng.random((n, K)) < unknown] = np.nan
    return p + rng.normal(0.0, 0.05, (n, K)), Y


@pytest.mark.parametrize(("unknown", "kept"), [(0.0, 1.0), (0.4, 0.9)])
def test_thresholds_are_their_twin(rng, unknown, kept):
    scores, Y = rare(rng, 60, 3, unknown)
    thresholds = LabelThresholds(3)
    thresholds.begin(scores[:20], Y[:20])
    rows = [(s, y, 1.0) for s, y in zip(scores[:20], Y[:20], strict=True)]
    for s, y in zip(scores[20:], Y[20:], strict=True):
        assert_allclose(thresholds.find(), best_thresholds(rows, 3), atol=1e-12)
        thresholds.note(s, y, kept)
        if not np.isnan(y).all():
            rows = [(*row, kept * weight) for *row, weight in rows] + [(s, y, 1.0)]


def test_late_labels_were_never_true_and_scored_0(rng):
    scores, Y = rare(rng, 50, 2)
    late, whole = LabelThresholds(2), LabelThresholds(3)
    late.begin(scores, Y)
    late.add_labels(1)
    whole.begin(np.hstack([scores, np.zeros((50, 1))]), np.hstack([Y, np.zeros((50, 1))]))
    for name, array in whole.state().items():
        assert_array_equal(late.state()[name], array)


# The covariance of errors


def correlated(rng, n, K, unknown=0.0):
    """Errors with something in common; no row is unknown as a whole."""
    errors = 0.4 * (rng.normal(size=(n, 1)) * np.linspace(-1, 1, K) + rng.normal(size=(n, K)))
    gone = rng.random((n, K)) < unknown
    gone[np.arange(n), rng.integers(K, size=n)] = False
    return np.where(gone, np.nan, errors)


def taught(rng, K=5, n=40, unknown=0.0):
    together = LabelsTogether(K)
    together.begin(correlated(rng, n, K, unknown))
    return together


def assert_same_covariance(together, twin):
    arrays = together.arrays
    assert_allclose(whole(arrays.covariance), twin.E_m, rtol=1e-9, atol=1e-12)
    assert_allclose(whole(arrays.precision), np.linalg.inv(twin.E), rtol=1e-8, atol=1e-9)
    assert_allclose(whole(arrays.form), np.linalg.inv(twin.E_m), rtol=1e-8, atol=1e-9)
    assert_allclose(arrays.trial, twin.trial, rtol=1e-9, atol=1e-12)
    assert arrays.count.tolist() == [twin.rows, twin.renewal]


@pytest.mark.parametrize(("unknown", "kept"), [(0.0, 1.0), (0.5, 0.97)])
def test_labels_together_are_their_twin(rng, unknown, kept):
    first = correlated(rng, 30, 4, unknown)
    together, twin = LabelsTogether(4), naive.NaiveTogether(first)
    together.begin(first)
    assert_same_covariance(together, twin)
    assert 0.0 < together.share < 1.0
    for e in correlated(rng, 25, 4, unknown):
        together.note(e, kept)
        twin.note(e, kept)
        assert_same_covariance(together, twin)


def test_rows_without_a_known_label_change_nothing(rng):
    together = taught(rng)
    before = together.state()
    together.note(np.full(5, np.nan))
    for name, array in together.state().items():
        assert_array_equal(array, before[name])


def test_many_partly_known_rows_are_asked_in_part(rng):
    errors = correlated(rng, MOST_PARTLY + 400, 3, 0.3)
    together = LabelsTogether(3)
    together.begin(errors)
    assert together.arrays.trial[3] == pytest.approx(len(errors))
    twin = naive.NaiveTogether(errors[:150])  # the same share, from other rows
    assert together.share == pytest.approx(twin.share, abs=0.15)


def test_conditioning_is_that_of_a_gaussian(rng):
    together = taught(rng, K=6)
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


def test_search_finds_the_best_of_all_sets_nearly_always(rng):
    hits = 0
    for seed in range(2):
        together = taught(np.random.default_rng(seed), K=6, n=100)
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
    assert hits >= 0.95 * 50


def test_late_labels_were_never_wrong(rng):
    errors = correlated(rng, 40, 3)
    together = LabelsTogether(3)
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
    assert together.arrays.count[0] == 41


# The layer


def rows(rng, n, K=4, unknown=0.0):
    """Scores and labels with errors that have something in common."""
    common = rng.normal(0, 0.3, (n, 1))
    p = np.clip(rng.random((n, K)) * 0.8 + common, 0, 1)
    Y = (rng.random((n, K)) < p).astype(float)
    Y[rng.random((n, K)) < unknown] = np.nan
    return np.clip(p - common, -0.2, 1.2), Y


def begun(rng, K=4, unknown=0.0):
    scores, Y = rows(rng, 80, K, unknown)
    layer = LabelLayer(K)
    layer.begin(Y - scores, Y)
    return layer


def assert_equal(one, other):
    for name, array in one.state().items():
        assert_array_equal(array, other.state()[name], err_msg=name)


@pytest.mark.parametrize("decision", DECISIONS)
def test_any_chunks_and_a_loop_of_answers_give_the_same_bits(rng, decision):
    scores, Y = rows(rng, 60, unknown=0.2)
    Y[10:12] = np.nan
    kept = rng.choice([1.0, 0.99], 60)
    whole_ = begun(rng, unknown=0.1)
    chunks, loop = whole_.copy(), whole_.copy()
    found = whole_.follow(scores, scores, Y, kept, decision)
    parts = [
        chunks.follow(scores[b], scores[b], Y[b], kept[b], decision)
        for b in (slice(0, 1), slice(1, 17), slice(17, 60))
    ]
    for mine, pieces in zip(found, zip(*parts, strict=True), strict=True):
        assert_array_equal(mine, np.concatenate(pieces))
    for t in range(60):
        answer = loop.answer(scores[t : t + 1], decision)
        assert_array_equal(answer.scores, scores[t : t + 1])
        assert_array_equal(answer.decisions[0], found[1][t])
        assert_array_equal(answer.probabilities[0], found[2][t])
        loop.follow(scores[:0], scores[t : t + 1], Y[t : t + 1], kept[t : t + 1], decision)
    assert_equal(whole_, chunks)
    assert_equal(whole_, loop)


def test_rows_are_noted_by_all_three_parts(rng):
    scores, Y = rows(rng, 30, unknown=0.3)
    scores = np.round(64.0 * scores) / 64.0  # no rounding in errors
    layer, parts = LabelLayer(4), (LabelsTogether(4), ScoreCalibration(4), LabelThresholds(4))
    layer.begin(Y - scores, Y)
    parts[0].begin(Y - scores)
    for part in parts[1:]:
        part.begin(np.where(np.isnan(Y), 0.0, scores), Y)
    layer.follow(scores[:0], scores, Y, np.full(30, 0.99), HAMMING)
    for s, y in zip(scores, Y, strict=True):
        parts[0].note(y - s, 0.99)
        parts[1].note(s, y)
        parts[2].note(s, y, 0.99)
    for part, other in zip(layer._parts().values(), parts, strict=True):
        assert_equal(part, other)


@pytest.mark.parametrize("decision", DECISIONS)
def test_known_labels_stay_and_tell_the_others(rng, decision):
    layer = begun(rng, K=5)
    scores, Y = rows(rng, 15, K=5, unknown=0.5)
    found = layer.answer(scores, decision, Y)
    known, E = ~np.isnan(Y), whole(layer.together.arrays.covariance)
    for part in found:
        assert_array_equal(part[known], Y[known])
    given, sharpness = layer.together.condition(scores, Y)
    assert_allclose(found.scores[~known], given[~known], rtol=1e-12)
    p = layer.calibration.probabilities(given, sharpness)
    assert_allclose(found.probabilities[~known], p[~known], rtol=1e-12)
    least = {HAMMING: 0.5, F1: layer.thresholds.find(), SUBSET: None}[decision]
    if least is not None:
        assert_array_equal(found.decisions[~known], (given >= least)[~known])
        return
    assert set(np.unique(found.decisions)) <= {0.0, 1.0}
    for s, y, labels in zip(scores, Y, found.decisions, strict=True):
        best = min(naive.form(one, s, E) for one in naive.all_sets(y))
        assert naive.form(labels, s, E) <= best + 0.5


@pytest.mark.parametrize("wild", [np.nan, -np.inf, 2e3])
def test_scores_that_run_away_teach_nothing(rng, wild):
    scores, Y = rows(rng, 20)
    layer = begun(rng)
    other = layer.copy()
    hidden, mad = Y.copy(), scores.copy()
    hidden[3:9, 1], mad[3:9, 1] = np.nan, wild
    layer.follow(scores[:0], mad, Y, np.ones(20), HAMMING)
    other.follow(scores[:0], scores, hidden, np.ones(20), HAMMING)
    assert_equal(layer, other)
    one, two = LabelLayer(4), LabelLayer(4)
    one.begin(Y - mad, Y)
    two.begin(hidden - scores, hidden)
    assert_equal(one, two)
    with np.errstate(all="ignore"):  # uncompiled, infinity in a sum would warn
        for decision in DECISIONS:
            assert set(np.unique(layer.answer(mad, decision).decisions)) <= {0.0, 1.0}
