"""Changes of P and G that wait: the same as carried out at once, entry by entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from efcml.kernels import waiting
from efcml.model.rulebase import RuleBase

P, K, N_RULES = 3, 2, 2
D = P + 1


def make_rules(rng, groups):
    """A rule base with random symmetric P and G, of which the kernels see the lower triangle."""
    rules = RuleBase(P, K, n_groups=groups)
    for _ in range(N_RULES):
        rules.append()
    for name in ("P", "G"):
        A = rng.normal(size=(N_RULES, groups, D, D))
        A[..., *np.triu_indices(D, 1)] = np.nan
        getattr(rules.arrays, name)[:N_RULES] = A
    return rules


def queue(row, weights, keeps, known, work):
    """Let a row wait for every G."""
    slots = work.rows, work.weight, work.keep, work.count
    waiting.queue_row(row, weights, keeps, N_RULES, known, *slots)


@pytest.mark.parametrize("scale", [1.0, 1.25])
def test_a_change_of_P_waits_for_the_product(rng, scale):
    """Whether it was carried out before or on the way, every bit of the product is the same."""
    rules = make_rules(rng, 1)
    P, work = rules.arrays.P, rules.consequent_work.waiting
    w, row, products = rng.normal(size=D), rng.normal(size=D), np.zeros((2, D))
    expected = scale * (rules.P[1, 0] - np.outer(w, w))
    P[0] = P[1]
    for rule in range(2):
        work.shrink[rule, 0], work.scale[rule, 0] = w, scale
    waiting.carry_out_shrink(P, work.shrink, work.scale, 0, 0, np.ones(D), np.zeros(D))
    assert_allclose(rules.P[0, 0], expected, rtol=1e-12, atol=1e-14)
    for rule in range(2):
        waiting.multiply_P(P, work.shrink, work.scale, rule, 0, row, products[rule])
        assert_allclose(products[rule], expected @ row, rtol=1e-12, atol=1e-14)
    assert np.array_equal(*products)
    assert np.array_equal(*rules.P)


def test_a_product_with_nothing_waiting_changes_nothing(rng):
    rules = make_rules(rng, 1)
    before, product = rules.P.copy(), np.zeros(D)
    work = rules.consequent_work.waiting
    work.shrink[0, 0] = np.nan  # left from long ago
    row = rng.normal(size=D)
    waiting.multiply_P(rules.arrays.P, work.shrink, work.scale, 0, 0, row, product)
    assert np.array_equal(rules.P, before)
    assert_allclose(product, before[0, 0] @ row, rtol=1e-12)


@pytest.mark.parametrize("groups", [1, K])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
@pytest.mark.parametrize("early", [False, True])
def test_rows_wait_for_their_matrices(rng, groups, n_rows, early):
    """Rows with weights by rule and group; one G is read in between, ahead of the others."""
    rules = make_rules(rng, groups)
    G, expected, work = rules.arrays.G, rules.G.copy(), rules.consequent_work.waiting
    for s in range(n_rows):
        row = rng.normal(size=D)
        weights, keeps = rng.uniform(0.1, 1.0, size=(2, N_RULES))
        weights[rng.integers(N_RULES)] = 0.0
        keeps[weights == 0.0] = 1.0
        known = rng.uniform(size=K) < 0.7
        queue(row, weights, keeps, known, work)
        for rule in range(N_RULES):
            for group in range(groups):
                if groups == 1 or known[group]:
                    expected[rule, group] *= keeps[rule]
                    expected[rule, group] += weights[rule] * np.outer(row, row)
        if early and s == 1:
            waiting.bring_G(G, 1, 0, work)
            assert_allclose(rules.G[1, 0], expected[1, 0], rtol=1e-12)
    waiting.bring_all_G(G, N_RULES, work)
    assert_allclose(rules.G, expected, rtol=1e-12)
    before = rules.G.copy()
    waiting.bring_all_G(G, N_RULES, work)  # nothing is added twice
    assert np.array_equal(rules.G, before)


def test_everything_is_brought(rng):
    rules = make_rules(rng, 1)
    arrays, work = rules.arrays, rules.consequent_work.waiting
    expected_P, expected_G = rules.P.copy(), rules.G.copy()
    row, w = rng.normal(size=D), rng.normal(size=D)
    queue(row, np.array([0.5, 0.0]), np.ones(2), np.ones(K, dtype=bool), work)
    expected_G[0, 0] += 0.5 * np.outer(row, row)
    work.shrink[1, 0], work.scale[1, 0] = w, 2.0
    expected_P[1, 0] = 2.0 * (expected_P[1, 0] - np.outer(w, w))
    for _ in range(2):  # the second time there is nothing to do
        waiting.bring_all(arrays.P, arrays.G, N_RULES, row.copy(), np.zeros(D), work)
        assert_allclose(rules.P, expected_P, rtol=1e-12, atol=1e-14)
        assert_allclose(rules.G, expected_G, rtol=1e-12, atol=1e-14)
