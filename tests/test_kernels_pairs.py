"""Which pairs of rules are looked at for a merge."""

import itertools

import numpy as np
import pytest
from helpers.rules import rules_with, settings_with
from helpers.streams import SIZES, random_precisions
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import pairs

pytestmark = pytest.mark.uncompiled


def random_rules(rng, n_rules, n, spread=1.0):
    return spread * rng.normal(size=(n_rules, n)), random_precisions(rng, n_rules, n)


def due_pair(winner, center, precision, updates, tested, width=1.0, overlap=0.8):
    """The rule that is to be compared with the winner, in the joint space; ``tested`` is written.

    With one dimension the space is that of the input, for which there need be no label.
    """
    n_rules, q = center.shape
    joint = q > 1
    p = q - 1 if joint else q
    fields = {"center": center if joint else np.pad(center, ((0, 0), (0, 1)))}
    fields["joint_precision" if joint else "input_precision"] = precision
    rules = rules_with(p, 1, n_rules, updates=updates, tested=tested, **fields)
    values = {"product_space": joint, "joint_bandwidth": width, "merge_overlap": overlap}
    settings = settings_with(p, 1, **values)
    found = pairs.find_due_pair(winner, n_rules, rules.arrays, settings, rules.scratch.e)
    tested[:] = rules.arrays.tested
    return found


def gap(center, precision, a, b):
    n = precision.shape[1]
    e = center[a, :n] - center[b, :n]
    return min(e @ precision[a] @ e, e @ precision[b] @ e)


@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
def test_gap_of_centers(rng, p, K, n_rules):
    center, _ = random_rules(rng, n_rules, p + K)
    for n in (p, p + K):
        precision = random_precisions(rng, n_rules, n)
        for a, b in itertools.product(range(n_rules), repeat=2):
            actual = pairs.center_gap(a, b, center, precision, np.zeros(p + K))
            assert_allclose(actual, gap(center, precision, a, b), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_due_pair_is_the_first_that_passes_the_screen(seed):
    rng = np.random.default_rng(seed)
    n_rules, n, width, overlap = 6, 3, 1.5, 0.8
    center, precision = random_rules(rng, n_rules, n)
    updates = rng.integers(0, 10, size=n_rules)
    tested = np.triu(rng.integers(0, 20, size=(n_rules, n_rules)), 1)
    tested += tested.T
    for winner in range(n_rules):
        expected, marked = -1, tested.copy()
        for r in range(n_rules):
            samples = updates[winner] + updates[r] + 2
            young = min(updates[winner], updates[r]) + 1 < n
            if r == winner or young or samples < 1.1 * tested[winner, r]:
                continue
            both = precision[winner], precision[r]
            if naive.merge_screen(center[winner] - center[r], *both, width, overlap):
                expected = r
                break
            marked[winner, r] = marked[r, winner] = samples
        actual_marks = tested.copy()
        actual = due_pair(winner, center, precision, updates, actual_marks, width, overlap)
        assert actual == expected
        assert np.array_equal(actual_marks, marked)


def test_a_pair_is_due_again_after_a_tenth_more_samples():
    center, precision = np.zeros((2, 1)), np.ones((2, 1, 1))
    tested = np.array([[0, 40], [40, 0]])
    for updates, expected in ((30, -1), (32, -1), (33, 1)):  # 44 samples with the births
        updates = np.array([updates, 9])
        found = due_pair(0, center, precision, updates, tested)
        assert found == expected


def test_young_rules_are_not_compared():
    center, precision = np.zeros((2, 3)), np.stack([np.eye(3)] * 2)
    for pair, expected in (((1, 50), -1), ((50, 1), -1), ((2, 2), 1)):
        tested, updates = np.zeros((2, 2), dtype=int), np.array(pair)
        found = due_pair(0, center, precision, updates, tested)
        assert found == expected
        assert not tested.any()


def test_no_pair_without_a_second_rule():
    one, e = (np.zeros((1, 1)), np.ones((1, 1, 1))), np.zeros(1)
    updates, tested = np.zeros(1, dtype=int), np.zeros((1, 1), dtype=int)
    assert due_pair(0, *one, updates, tested) == -1
    assert pairs.find_closest_pair(1, *one, e) == (-1, -1)


@pytest.mark.parametrize("n_rules", [2, 3, 6])
def test_closest_pair(rng, n_rules):
    center, precision = random_rules(rng, n_rules + 1, 3)
    found = pairs.find_closest_pair(n_rules, center, precision, np.zeros(3))
    every = itertools.combinations(range(n_rules), 2)
    assert found == min(every, key=lambda pair: gap(center, precision, *pair))
