"""Decisions and probabilities from scores: the parts together, in any chunks."""

import pickle

import numpy as np
import pytest
from naive import together as naive
from numpy.testing import assert_allclose, assert_array_equal

from efcml.kernels.constants import F1, HAMMING, SUBSET
from efcml.model.definite import whole
from efcml.model.label_layer import LabelLayer

pytestmark = pytest.mark.uncompiled

DECISIONS = (HAMMING, F1, SUBSET)


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
    layer = begun(rng)
    parts = layer.together.copy(), layer.calibration.copy(), layer.thresholds.copy()
    layer.follow(scores[:0], scores, Y, np.full(30, 0.99), HAMMING)
    for s, y in zip(scores, Y, strict=True):
        parts[0].note(y - s, 0.99)
        parts[1].note(s, y)
        parts[2].note(s, y, 0.99)
    for part, other in zip(layer._parts().values(), parts, strict=True):
        assert_equal(part, other)


def test_scores_of_rows_ahead_are_shown_before_a_row_is_noted(rng):
    """With late labels, the rows shown are others than those that are learned."""
    (shown, _), (learned, Y) = rows(rng, 20), rows(rng, 20)
    layer = begun(rng)
    other = layer.copy()
    _, decided, probabilities = layer.follow(shown, learned, Y, np.ones(20), F1)
    for t in range(20):
        answer = other.answer(shown[t : t + 1], F1)
        assert_array_equal(answer.decisions[0], decided[t])
        assert_array_equal(answer.probabilities[0], probabilities[t])
        other.follow(shown[:0], learned[t : t + 1], Y[t : t + 1], np.ones(1), F1)


@pytest.mark.parametrize("decision", DECISIONS)
def test_known_labels_stay_and_tell_the_others(rng, decision):
    layer = begun(rng, K=5)
    scores, Y = rows(rng, 40, K=5, unknown=0.5)
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


def test_a_copy_a_state_and_a_pickle_go_on_alike(rng):
    layer = begun(rng, unknown=0.2)
    scores, Y = rows(rng, 30)
    others = [layer.copy(), LabelLayer(4).restore(layer.state()), pickle.loads(pickle.dumps(layer))]
    shapes = LabelLayer.state_shapes(4)
    for name, array in layer.state().items():
        assert (array.dtype.str, array.shape) == shapes[name]
    for each in (layer, *others):
        each.follow(scores[:0], scores, Y, np.ones(30), HAMMING)
        assert_equal(layer, each)


def test_late_labels_take_part_at_once(rng):
    layer = begun(rng, K=3)
    layer.add_labels(2)
    scores, Y = rows(rng, 20, K=5)
    for decision in DECISIONS:
        _, decided, p = layer.copy().follow(scores, scores, Y, np.ones(20), decision)
        assert decided.shape == p.shape == (20, 5)
        assert np.isfinite(p).all()


@pytest.mark.parametrize("wild", [np.nan, np.inf, -1e200, 2e3])
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
