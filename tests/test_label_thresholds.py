"""Thresholds by counting: against the twin, and on labels whose best threshold is known."""

import pickle

import numpy as np
import pytest
from naive.label_thresholds import best_thresholds
from numpy.testing import assert_allclose, assert_array_equal

from efcml.measures import macro_f1
from efcml.model.label_thresholds import LabelThresholds

pytestmark = pytest.mark.uncompiled


def drawn(rng, n, K, unknown=0.0):
    """Rare labels: scores rise with the probability, but hardly ever reach .5."""
    p = rng.beta(0.5, 3.0, (n, K)) * np.linspace(0.2, 1.0, K)
    Y = (rng.random((n, K)) < p).astype(float)
    Y[rng.random((n, K)) < unknown] = np.nan
    return p + rng.normal(0.0, 0.05, (n, K)), Y


@pytest.mark.parametrize("kept", [1.0, 0.9])
@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_it_is_its_twin(rng, unknown, kept):
    scores, Y = drawn(rng, 60, 3, unknown)
    thresholds, rows = LabelThresholds(3), []
    thresholds.begin(scores[:20], Y[:20])
    rows = [(s, y, 1.0) for s, y in zip(scores[:20], Y[:20], strict=True)]
    for s, y in zip(scores[20:], Y[20:], strict=True):
        assert_allclose(thresholds.find(), best_thresholds(rows, 3), atol=1e-12)
        thresholds.note(s, y, kept)
        if not np.isnan(y).all():
            rows = [(*row, kept * weight) for *row, weight in rows] + [(s, y, 1.0)]


def test_rare_labels_are_said(rng):
    scores, Y = drawn(rng, 3000, 4)
    thresholds = LabelThresholds(4)
    thresholds.begin(scores[:1500], Y[:1500])
    rest, truth = scores[1500:], Y[1500:]
    found = macro_f1(truth, rest >= thresholds.find())
    assert found > macro_f1(truth, rest >= 0.5) + 0.1
    best = [
        max(macro_f1(truth[:, [k]], rest[:, [k]] >= g) for g in np.linspace(-0.1, 0.9, 41))
        for k in range(4)
    ]
    assert found > np.mean(best) - 0.05


def test_as_long_as_no_label_was_true_none_is_said_early(rng):
    thresholds = LabelThresholds(2)
    assert_array_equal(thresholds.find(), [0.5, 0.5])
    thresholds.begin(rng.random((20, 2)), np.zeros((20, 2)))
    assert_array_equal(thresholds.find(), [0.5, 0.5])


def test_labels_with_few_positives_are_held_to_the_others(rng):
    """One label is true once, at a low score; the others want .4."""
    scores = np.tile(np.linspace(0.0, 0.8, 200)[:, None], (1, 4))
    Y = (scores > 0.4).astype(float)
    Y[:, 3] = 0.0
    Y[2, 3] = 1.0
    thresholds = LabelThresholds(4)
    thresholds.begin(scores, Y)
    assert_allclose(thresholds.find(), 0.4, atol=0.026)


def test_a_copy_a_state_and_a_pickle_go_on_alike(rng):
    scores, Y = drawn(rng, 60, 3, 0.2)
    one = LabelThresholds(3)
    one.begin(scores[:30], Y[:30])
    others = [one.copy(), LabelThresholds(3).restore(one.state()), pickle.loads(pickle.dumps(one))]
    shapes = LabelThresholds.state_shapes(3)
    for each in (one, *others):
        for s, y in zip(scores[30:], Y[30:], strict=True):
            each.note(s, y, 0.99)
        for name, array in each.state().items():
            assert_array_equal(array, one.state()[name])
            assert (array.dtype.str, array.shape) == shapes[name]


def test_late_labels_were_never_true_and_scored_0(rng):
    scores, Y = drawn(rng, 50, 2)
    late, whole = LabelThresholds(2), LabelThresholds(3)
    late.begin(scores, Y)
    late.add_labels(1)
    whole.begin(np.hstack([scores, np.zeros((50, 1))]), np.hstack([Y, np.zeros((50, 1))]))
    for name, array in whole.state().items():
        assert_array_equal(late.state()[name], array)
