"""A merge is the union of what two rules have seen, the prior counted once."""

import numpy as np
import pytest
from helpers.streams import (
    AsWritten,
    assert_same_rules,
    learn_rows,
    learner_with_rules,
    naive_learner,
    prior_precision,
    random_rows,
    start_variance,
    unscaled_learner,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.model import batch
from efcml.model.definite import factor, invert, log_det
from efcml.model.merging import MergeTest, compare, may_merge, merge

P_, K_ = 2, 3
LOOSE = MergeTest(overlap=1e-9, log_volume=50.0, width=2.0, product_space=True)


def cluster_rows(learner, rule, X, Y):
    """Let one rule win given rows, the rest of the learner standing aside."""
    alone = unscaled_learner(P_, K_, vigilance=1e9, merging=False, variance_floor=0.0)
    z = np.append(X[0], Y[0])
    alone.rules.append()
    names = ("center", "joint_precision", "input_precision", "log_det", "support", "updates")
    for name in (*names, "prior_share", "P", "Delta"):
        getattr(alone.rules.arrays, name)[0] = getattr(learner.rules, name)[rule]
    alone.rules.center[0] = z
    for _ in learn_rows(alone, X[1:], Y[1:]):
        pass
    for name in (*names, "prior_share"):
        getattr(learner.rules.arrays, name)[rule] = getattr(alone.rules, name)[0]


def two_rules(rng, n_a=17, n_b=9, share=1.0):
    """A learner with two rules made of two sets of rows, and those rows with their weights."""
    learner = learner_with_rules(rng, 2, P_, K_)
    rules = learner.rules
    X, Y = random_rows(rng, n_a + n_b, P_, K_)
    X[n_a:] += 1.0
    cluster_rows(learner, 0, X[:n_a], Y[:n_a])
    cluster_rows(learner, 1, X[n_a:], Y[n_a:])
    seen = np.where(rng.uniform(size=Y.shape) <= share, Y, np.nan)
    if share < 1.0:
        rules.split_groups()
    psi = np.zeros((n_a + n_b, 2))
    psi[:n_a, 0] = rng.uniform(0.1, 1.0, size=n_a)
    psi[n_a:, 1] = rng.uniform(0.1, 1.0, size=n_b)
    batch.set_statistics(rules, X, seen, psi)
    return learner, X, Y, seen, psi


def do_merge(learner, a=0, b=1, **options):
    options = {"max_support": np.inf} | options
    pair = compare(learner.rules, a, b, learner.start_variance, LOOSE)
    return merge(learner.rules, pair, **options)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_merged_gaussian_is_that_of_all_rows(rng, order):
    learner, X, Y, _, _ = two_rules(rng)
    assert do_merge(learner, *order) == 0
    rules = learner.rules
    assert rules.n_rules == 1
    center, S = naive.batch_gaussian(np.column_stack([X, Y]), start_variance(P_, K_))
    assert rules.support[0] == len(X)
    assert rules.updates[0] == len(X) - 1
    assert rules.prior_share[0] == 1.0
    assert_allclose(rules.center[0], center, rtol=1e-10)
    assert_allclose(np.linalg.inv(rules.joint_precision[0]), S, rtol=1e-9, atol=1e-11)
    assert_allclose(np.linalg.inv(rules.input_precision[0]), S[:P_, :P_], rtol=1e-9, atol=1e-11)
    expected = naive.log_determinant(S), naive.log_determinant(S[:P_, :P_])
    assert_allclose(rules.log_det[0], expected, rtol=1e-9)


def test_merged_statistics_are_those_of_all_rows(rng):
    learner, X, Y, _, psi = two_rules(rng)
    priors, weights = AsWritten(learner.rules).W_prior.copy(), learner.rules.weight.copy()
    do_merge(learner)
    rules = AsWritten(learner.rules)
    R = np.column_stack([X, np.ones(len(X))])
    G, B, weight, mean, cov = naive.batch_moments(R, Y, psi.sum(axis=1))
    assert_allclose(rules.G[0, 0], G, rtol=1e-10, atol=1e-12)
    assert_allclose(rules.B[0], B, rtol=1e-10, atol=1e-12)
    assert_allclose(rules.weight[0], weight)
    assert_allclose(rules.label_weight[0, 0], weight)
    assert_allclose(rules.label_mean[0, 0], mean)
    assert_allclose(rules.label_cov[0], cov, rtol=1e-9, atol=1e-12)
    Delta = prior_precision(P_)
    assert_allclose(rules.Delta[0, 0], Delta)
    W_prior = np.tensordot(weights / weights.sum(), priors, 1)
    assert_allclose(rules.W_prior[0], W_prior)
    assert_allclose(rules.P[0, 0], np.linalg.inv(G + np.diag(Delta)), rtol=1e-9, atol=1e-12)
    assert_allclose(rules.W[0], naive.ridge(G, B, Delta, W_prior), rtol=1e-8)
    assert not rules.D.any()
    top = np.linalg.eigvalsh(G + np.diag(Delta))[-1]
    assert rules.curvature[0, 0] >= Delta.max()
    assert top > 0.0


def test_merged_pair_moments_are_those_of_all_rows(rng):
    learner, X, _, seen, psi = two_rules(rng, share=0.6)
    do_merge(learner)
    rules, weights = AsWritten(learner.rules), psi.sum(axis=1)
    R = np.column_stack([X, np.ones(len(X))])
    for c in range(K_):
        for e in range(K_):
            both = ~np.isnan(seen[:, [c, e]]).any(axis=1)
            G, B, weight, mean, cov = naive.batch_moments(
                R[both], seen[both][:, [c, e]], weights[both]
            )
            assert_allclose(rules.label_weight[0, c, e], weight)
            assert_allclose(rules.label_mean[0, c, e], mean[1], atol=1e-12)
            assert_allclose(rules.label_cov[0, c, e], cov[0, 1], rtol=1e-9, atol=1e-11)
            if c == e:
                Delta = prior_precision(P_)
                assert_allclose(rules.G[0, c], G, rtol=1e-10, atol=1e-12)
                assert_allclose(rules.B[0][:, c], B[:, 0], rtol=1e-10, atol=1e-12)
                W = naive.ridge(G, B[:, :1], Delta, rules.W_prior[0][:, [c]])
                assert_allclose(rules.W[0][:, c], W[:, 0], rtol=1e-8)


def test_pooled_moments_of_labels_never_seen_are_zero(rng):
    learner, *_ = two_rules(rng, share=0.6)
    rules = learner.rules
    for name in ("label_weight", "label_mean", "label_cov"):
        getattr(rules, name)[:, 0, 1] = getattr(rules, name)[:, 1, 0] = 0.0
    do_merge(learner)
    assert rules.label_weight[0, 0, 1] == rules.label_mean[0, 0, 1] == rules.label_cov[0, 0, 1] == 0


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("weights", ["exact", "paper"])
@pytest.mark.parametrize("forgetting", [1.0, 0.95])
def test_every_field_of_a_merge(rng, share, weights, forgetting):
    changes = {"merge_consequents": weights, "forgetting": forgetting}
    learner, *_ = two_rules(rng, share=share)
    rules = AsWritten(learner.rules)
    rules.W[:] = rng.normal(size=rules.W.shape)
    rules.Delta[1] *= 0.8
    rules.prior_share[:] = 0.7, 0.9
    rules.curvature[:] = 30.0
    twin = naive_learner(P_, K_, alpha=0.0, beta=0.0, **changes)
    one, two = naive.unstack_rules({name: getattr(rules, name) for name in naive.FIELD_NAMES})
    c1, S1, _ = twin.antecedent(one)
    c2, S2, _ = twin.antecedent(two)
    overlap = np.exp(-naive.bhattacharyya(c1, S1, c2, S2) / LOOSE.width)
    expected = twin.merged_rule(one, two, overlap)
    do_merge(learner, max_support=twin.k_max, paper_weights=weights == "paper")
    assert_same_rules(learner.rules, [expected], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("alike", [True, False])
def test_printed_average_of_weights(rng, alike):
    learner, *_ = two_rules(rng)
    rules = AsWritten(learner.rules)
    rules.W[0] = rng.normal(size=(P_ + 1, K_))
    rules.W[1] = 1.01 * rules.W[0] if alike else -50.0 * rules.W[0]
    W1, W2 = rules.W.copy()
    S = [np.linalg.inv(A) for A in rules.joint_precision]
    distance = naive.bhattacharyya(rules.center[0], S[0], rules.center[1], S[1])
    overlap = np.exp(-distance / LOOSE.width)
    expected = naive.merge_weights_paper(W1, W2, 17.0, 9.0, overlap)
    do_merge(learner, paper_weights=True)
    assert np.array_equal(expected, W1) != alike
    assert_allclose(rules.W[0], expected, rtol=1e-12)
    given = (rules.G[0], rules.B[0], rules.Delta[0], rules.W[0], rules.W_prior[0])
    assert_allclose(rules.D[0], naive.gradient(*given), rtol=1e-9, atol=1e-9)


def test_rules_without_weight_average_their_priors_by_support(rng):
    learner, *_ = two_rules(rng)
    rules = learner.rules
    for name in ("weight", "G", "B", "label_weight", "label_mean", "label_cov"):
        getattr(rules.arrays, name)[:] = 0.0
    expected = (17.0 * rules.W_prior[0] + 9.0 * rules.W_prior[1]) / 26.0
    do_merge(learner)
    assert_allclose(rules.W_prior[0], expected)
    assert_allclose(rules.W[0], expected)


def test_identity_and_history_of_a_merged_rule(rng):
    learner = learner_with_rules(rng, 4, P_, K_)
    rules = learner.rules
    rules.support[:] = 1.0, 2.0, 3.0, 4.0
    rules.born[:] = 3, 5, 4, 6
    rules.stopped[:] = 0, 0, 9, 0
    tested = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]])
    rules.tested[:] = tested
    assert do_merge(learner, 2, 1) == 1
    assert rules.uid.tolist() == [0, 2, 3]  # the better supported one lives on
    assert rules.born.tolist() == [3, 4, 6]
    assert rules.stopped.tolist() == [0, 9, 0]
    between = [rules.tested[i, j] for i, j in ((0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1))]
    assert between == [2, 3, 6, 2, 3, 6]


# The test


@pytest.mark.parametrize("product_space", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_merge_test_is_the_naive_one(seed, product_space):
    rng = np.random.default_rng(seed)
    learner, *_ = two_rules(rng)
    rules, n = learner.rules, P_ + K_ if product_space else P_
    S_0 = start_variance(P_, K_)[:n]
    parts = []
    for i in range(2):
        S = np.linalg.inv(rules.joint_precision[i])[:n, :n]
        parts += [rules.center[i, :n], S, rules.support[i], rules.prior_share[i]]
    distance = naive.bhattacharyya(parts[0], parts[1], parts[4], parts[5])
    merged = naive.merge_gaussians(*parts, S_0)[1]
    halves = [0.5 * naive.log_determinant(S) for S in (parts[1], parts[5])]
    blow_up = 0.5 * naive.log_determinant(merged) - np.logaddexp(*halves)
    for overlap, log_volume in ((0.3, 0.0), (0.99, 5.0), (0.1, blow_up), (0.1, blow_up - 1e-6)):
        test = MergeTest(overlap, log_volume + 1e-9, 1.7, product_space)
        pair = compare(rules, 0, 1, learner.start_variance, test)
        assert_allclose(pair.overlap, np.exp(-distance / 1.7), rtol=1e-9)
        assert_allclose(pair.log_blow_up, blow_up, rtol=1e-8, atol=1e-9)
        wanted = naive.merge_allowed(*parts, S_0, 1.7, log_volume + 1e-9, overlap)
        assert may_merge(pair, test) == wanted


def test_twins_overlap_fully(rng):
    learner, *_ = two_rules(rng)
    for name in ("center", "joint_precision", "log_det"):
        getattr(learner.rules.arrays, name)[1] = getattr(learner.rules, name)[0]
    pair = compare(learner.rules, 0, 1, learner.start_variance, LOOSE)
    assert_allclose(pair.overlap, 1.0, rtol=1e-12)
    assert pair.overlap <= 1.0


# Cholesky helpers


@pytest.mark.parametrize("n", [1, 2, 6])
def test_definite_matrices(rng, n):
    A = rng.normal(size=(n, n + 2))
    A = A @ A.T
    inverse = invert(A)
    assert np.array_equal(inverse, inverse.T)
    assert_allclose(inverse @ A, np.eye(n), atol=1e-8)
    assert_allclose(log_det(factor(A)), np.linalg.slogdet(A)[1], rtol=1e-9, atol=1e-9)


def test_indefinite_matrices_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        invert(np.array([[1.0, 2.0], [2.0, 1.0]]))
