"""Changes of P and G that wait: the same as carried out at once, entry by entry."""

import numpy as np
import pytest
from helpers.rules import rules_with, set_row
from numpy.testing import assert_allclose

from efcml.kernels import waiting

pytestmark = pytest.mark.uncompiled

P, K, N_RULES = 3, 2, 2
D = P + 1


def make_rules(rng, groups):
    """A rule base with random symmetric P and G, of which the kernels see the lower triangle."""
    fields = {}
    for name in ("P", "G"):
        fields[name] = rng.normal(size=(N_RULES, groups, D, D))
        fields[name][..., *np.triu_indices(D, 1)] = np.nan
    return rules_with(P, K, N_RULES, n_groups=groups, **fields)


def queue(row, weights, keeps, known, rules):
    """Let a row wait for every G."""
    set_row(rules, row, weights, keeps, known)
    waiting.queue_row(N_RULES, rules.scratch)


@pytest.mark.parametrize("scale", [1.0, 1.25])
def test_a_change_of_P_waits_for_the_product(rng, scale):
    """Whether it was carried out before or on the way, every bit of the product is the same."""
    rules = make_rules(rng, 1)
    P, scratch = rules.arrays.P, rules.scratch
    w, row, products = rng.normal(size=D), rng.normal(size=D), np.zeros((2, D))
    expected = scale * (rules.P[1, 0] - np.outer(w, w))
    P[0] = P[1]
    for rule in range(2):
        scratch.shrink[rule, 0], scratch.scale[rule, 0] = w, scale
    scratch.row[:] = 1.0
    waiting.bring_P(0, 0, P, scratch)
    assert scratch.scale[0, 0] == waiting.NOTHING
    assert_allclose(rules.P[0, 0], expected, rtol=1e-12, atol=1e-14)
    for rule in range(2):
        waiting.multiply_P(rule, 0, row, P, scratch, products[rule])
        assert_allclose(products[rule], expected @ row, rtol=1e-12, atol=1e-14)
    assert np.array_equal(*products)
    assert np.array_equal(*rules.P)
    before = rules.P.copy()
    waiting.bring_P(1, 0, P, scratch)  # nothing waits any more
    assert np.array_equal(rules.P, before)


def test_a_product_with_nothing_waiting_changes_nothing(rng):
    rules = make_rules(rng, 1)
    before, product = rules.P.copy(), np.zeros(D)
    rules.scratch.shrink[0, 0] = np.nan  # left from long ago
    row = rng.normal(size=D)
    waiting.multiply_P(0, 0, row, rules.arrays.P, rules.scratch, product)
    assert np.array_equal(rules.P, before)
    assert_allclose(product, before[0, 0] @ row, rtol=1e-12)


@pytest.mark.parametrize("groups", [1, K])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
@pytest.mark.parametrize("early", [False, True])
def test_rows_wait_for_their_matrices(rng, groups, n_rows, early):
    """Rows with weights by rule and group; one G is read in between, ahead of the others."""
    rules = make_rules(rng, groups)
    G, expected, scratch = rules.arrays.G, rules.G.copy(), rules.scratch
    for s in range(n_rows):
        row = rng.normal(size=D)
        weights, keeps = rng.uniform(0.1, 1.0, size=(2, N_RULES))
        weights[rng.integers(N_RULES)] = 0.0
        keeps[weights == 0.0] = 1.0
        known = rng.uniform(size=K) < 0.7
        queue(row, weights, keeps, known, rules)
        for rule in range(N_RULES):
            for group in range(groups):
                if groups == 1 or known[group]:
                    expected[rule, group] *= keeps[rule]
                    expected[rule, group] += weights[rule] * np.outer(row, row)
        if early and s == 1:
            waiting.bring_G(1, 0, G, scratch)
            assert_allclose(rules.G[1, 0], expected[1, 0], rtol=1e-12)
    waiting.bring_all_G(N_RULES, G, scratch)
    assert_allclose(rules.G, expected, rtol=1e-12)
    before = rules.G.copy()
    waiting.bring_all_G(N_RULES, G, scratch)  # nothing is added twice
    assert np.array_equal(rules.G, before)


def test_everything_is_brought(rng):
    rules = make_rules(rng, 1)
    scratch = rules.scratch
    expected_P, expected_G = rules.P.copy(), rules.G.copy()
    row, w = rng.normal(size=D), rng.normal(size=D)
    queue(row, np.array([0.5, 0.0]), np.ones(2), np.ones(K, dtype=bool), rules)
    expected_G[0, 0] += 0.5 * np.outer(row, row)
    scratch.shrink[1, 0], scratch.scale[1, 0] = w, 2.0
    expected_P[1, 0] = 2.0 * (expected_P[1, 0] - np.outer(w, w))
    for _ in range(2):  # the second time there is nothing to do
        waiting.bring_all(N_RULES, rules.arrays, scratch)
        assert_allclose(rules.P, expected_P, rtol=1e-12, atol=1e-14)
        assert_allclose(rules.G, expected_G, rtol=1e-12, atol=1e-14)
