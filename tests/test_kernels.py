"""Kernels of rules and planes, against numpy and the slow twin."""

import faulthandler
import itertools

import numpy as np
import pytest
from helpers.rules import rules_with, set_row, settings_with
from helpers.streams import (
    AsWritten,
    learner_with_rules,
    polish,
    random_correlation,
    random_covariance,
    random_precisions,
    random_rows,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import (
    antecedent,
    consequent,
    descent,
    firing,
    growth,
    linalg,
    memory,
    pairs,
    proximal,
    rule_update,
    triangle,
    waiting,
)
from efcml.model import batch

pytestmark = pytest.mark.uncompiled

SHAPES = [(1, 1), (1, 3), (4, 1), (3, 3)]
DIMENSIONS = [1, 2, 3, 4, 5, 7, 8, 11]
SPARE = 3  # rows of an array beyond the part in use


# Products and matrices kept by their lower triangle


def make_triangle(rng, n):
    """Return a symmetric matrix, and an array with its lower triangle and NaN elsewhere."""
    A = rng.normal(size=(n, n))
    A = A @ A.T + n * np.eye(n)
    kept = np.full((n + SPARE, n + SPARE), np.nan)
    kept[np.tril_indices(n)] = A[np.tril_indices(n)]
    return A, kept


def assert_holds(kept, A):
    """See that the lower triangle holds the matrix, and that nothing else was touched."""
    lower = np.tril_indices(len(A))
    assert_allclose(kept[lower], A[lower], rtol=1e-11, atol=1e-11)
    rest = np.ones(kept.shape, dtype=bool)
    rest[lower] = False
    assert np.isnan(kept[rest]).all()


@pytest.mark.parametrize("n", [0, *DIMENSIONS])
def test_triangles_are_whole_matrices(rng, n):
    A, kept = make_triangle(rng, n)
    v, w, u = rng.normal(size=(3, n))
    product = np.full(n + SPARE, 7.0)
    triangle.multiply(kept, v, product)
    assert_allclose(product[:n], A @ v, rtol=1e-11, atol=1e-11)
    assert_allclose(linalg.quadratic_form(kept, v), v @ A @ v, rtol=1e-12)
    assert_allclose(linalg.dot(w, v), w @ v, atol=1e-12)
    inverse = np.full(kept.shape, np.nan)
    triangle.invert(kept, inverse, n, np.zeros(n))
    assert_holds(inverse, np.linalg.inv(A))
    assert_holds(kept, A)
    triangle.shrink_and_multiply(kept, w, v, product)
    A = A - np.outer(w, w)
    assert_allclose(product[:n], A @ v, rtol=1e-11, atol=1e-11)
    assert (product[n:] == 7.0).all()
    assert_holds(kept, A)
    before = kept.copy()
    triangle.shrink_and_multiply(kept, np.zeros(n), v, product)  # exactly nothing
    assert np.array_equal(kept, before, equal_nan=True)
    triangle.shrink(kept, w, 1.5)
    A = 1.5 * (A - np.outer(w, w))
    assert_holds(kept, A)
    triangle.shrink_twice(kept, u, w, 0.5)
    A = 0.5 * (A - np.outer(u, u)) - np.outer(w, w)
    triangle.scale_and_add_outer(kept, v, 0.9)
    A = 0.9 * A + np.outer(v, v)
    assert_holds(kept, A)
    triangle.exchange(kept, v, u, w)
    A = A + np.outer(v, u) + np.outer(u, v) + np.outer(w, w)
    triangle.add_outer(kept, u)
    A = A + np.outer(u, u)
    assert_holds(kept, A)
    for k in {0, n // 2, n - 1} if n else ():
        line = np.zeros(n)
        triangle.read_line(kept, k, n, line)
        assert_allclose(line, A[k], rtol=1e-11, atol=1e-11)
        triangle.write_line(kept, k, n, 0.5, v)
        A[k] = A[:, k] = 0.5 * v
        assert_holds(kept, A)
    mirrored = np.tril(A)
    linalg.mirror(mirrored)
    assert np.array_equal(mirrored, np.tril(A) + np.tril(A, -1).T)


@pytest.mark.parametrize("n", [1, 7, 16])
def test_four_outer_products_are_four_times_one_bit_for_bit(rng, n):
    A, w = rng.normal(size=(n, n)), rng.normal(size=(4, n))
    for silent in ([], [0, 2]):
        w[silent] = 0.0
        one, four = A.copy(), A.copy()
        for s in set(range(4)) - set(silent):
            triangle.add_outer(one, w[s])
        triangle.add_four_outer(four, w)
        assert np.array_equal(one, four)
        lower = np.tril_indices(n)
        assert_allclose(one[lower], (A + w.T @ w)[lower], rtol=1e-10, atol=1e-12)


# Gaussians


def test_a_row_is_novel_beyond_the_radius_only():
    for vigilance, dimension, support in itertools.product((0.1, 3.0), (1, 5, 40), (1.0, 7.5, 1e6)):
        radius = naive.radius(vigilance, dimension, support)
        for share in (0.5, 1.0 - 1e-9, 1.0 + 1e-9, 2.0):
            distance = (share * radius) ** 2
            novel = antecedent.is_novel(distance, float(dimension), support, vigilance)
            assert novel == (share > 1.0)
    assert not antecedent.is_novel(256.0, 1.0, 1.0, 1.0)  # 1 / (1 - 1/2)^4 = 16, no rounding


@pytest.mark.parametrize(("p", "K"), SHAPES)
@pytest.mark.parametrize(("support", "amount"), [(1.0, 0.0), (3.7, 0.3), (1e4, 0.3)])
def test_move_is_exact_in_both_spaces(rng, p, K, support, amount):
    """The variance of one coordinate, of labels too, is lifted by the amount."""
    q = p + K
    for j in range(q):
        S, center, z = random_covariance(rng, q), rng.normal(size=q), rng.normal(size=q)
        parts = S, S[:p, :p]
        joint, marginal = (np.linalg.inv(part) for part in parts)
        log_det = [np.linalg.slogdet(part)[1] for part in parts]
        fields = {"center": center, "joint_precision": joint, "input_precision": marginal}
        rules = rules_with(p, K, log_det=log_det, support=support, **fields)
        rules.scratch.z[:] = z
        antecedent.move_rule(0, j, amount, rules.arrays, rules.scratch)
        share = 1.0 / (support + 1.0)
        S = (1.0 - share) * (S + share * np.outer(z - center, z - center))
        S[j, j] += amount
        assert rules.support[0] == support
        assert_allclose(rules.center[0], center + share * (z - center), rtol=1e-12)
        assert_allclose(rules.joint_precision[0] @ S, np.eye(q), atol=1e-8)
        assert_allclose(rules.input_precision[0] @ S[:p, :p], np.eye(p), atol=1e-8)
        expected = np.linalg.slogdet(S)[1], np.linalg.slogdet(S[:p, :p])[1]
        assert_allclose(rules.log_det[0], expected, rtol=1e-9, atol=1e-10)


# Which rules fire, win, and are compared


def test_of_two_equal_rules_the_first_wins_and_those_beyond_are_not_looked_at():
    settings, z, e = settings_with(1, 1), np.zeros(2), np.zeros(2)
    center = np.array([[3.0, 0.0], [1.0, 2.0], [1.0, -2.0]])
    rules = rules_with(1, 1, 3, center=center, joint_precision=np.eye(2)).arrays
    bounds = np.array([9.0, 5.0, 1.0])  # the last is looked at first
    assert firing.find_winner(z, bounds, 3, rules, settings, e) == (1, 5.0)
    precision, center = (
        np.array([[[np.nan] * 2] * 2, np.eye(2)]),
        np.array([[2.0, 0.0], [1.0, 0.0]]),
    )
    rules = rules_with(1, 1, 2, center=center, joint_precision=precision).arrays
    assert firing.find_winner(z, np.array([1.1, 0.5]), 2, rules, settings, e) == (1, 1.0)


def gap(center, precision, a, b):
    n = precision.shape[1]
    e = center[a, :n] - center[b, :n]
    return min(e @ precision[a] @ e, e @ precision[b] @ e)


def test_closest_pair(rng):
    assert pairs.find_closest_pair(1, np.zeros((1, 1)), np.ones((1, 1, 1)), np.zeros(1)) == (-1, -1)
    for n_rules in (2, 3, 6):
        center, precision = (
            rng.normal(size=(n_rules + 1, 3)),
            random_precisions(rng, n_rules + 1, 3),
        )
        found = pairs.find_closest_pair(n_rules, center, precision, np.zeros(3))
        every = list(itertools.combinations(range(n_rules), 2))
        assert found == min(every, key=lambda pair: gap(center, precision, *pair))
        for a, b in every:
            actual = pairs.center_gap(a, b, center, precision, np.zeros(3))
            assert_allclose(actual, gap(center, precision, a, b), rtol=1e-10)


def test_rules_grow_too_large_fall_silent_and_stay_idle():
    """Of 0.1 of the rows: silent after a hundred rows without any, idle with fewer than a tenth."""
    rules = rules_with(1, 1, 3, updates=[59, 39, 8], last_won=[500, 399, 398], born=[0, 400, 410])
    settings = settings_with(1, 1, splits=True, split_share=0.59, least_share=0.1, max_rules=3)
    arrays = rules.arrays
    rows = (498, 499, 500)
    assert [growth.find_silent(row, 3, arrays, settings) for row in rows] == [-1, 2, 2]
    assert growth.find_silent(499, 2, arrays, settings) == -1
    assert growth.find_silent(1000, 1, arrays, settings) == 0
    in_use = [growth.count_rows_in_use(row, 3, arrays, settings) for row in rows]
    assert in_use == [109, 100, 60]
    assert not growth.is_too_large(0, 498, 3, arrays, settings)  # 60 of 109, and no room
    assert growth.is_too_large(0, 499, 3, arrays, settings)  # 60 of 100, a silent one can go
    assert not growth.is_too_large(0, 499, 3, arrays, settings.replace(splits=False))
    assert not growth.is_too_large(0, 499, 3, arrays, settings.replace(split_share=0.6))
    assert not growth.is_too_large(0, 10, 3, arrays, settings.replace(split_share=0.1))  # no room
    roomy = settings.replace(split_share=0.1, max_rules=4)
    assert growth.is_too_large(0, 10, 3, arrays, roomy)
    assert growth.is_too_large(1, 10, 3, arrays, roomy)
    arrays.updates[1] = 38  # 39 rows are too few for two
    assert not growth.is_too_large(1, 10, 3, arrays, roomy)
    idle = [growth.find_idle(row, 3, arrays, settings) for row in (500, 509, 510, 600)]
    assert idle == [-1, -1, 2, 2]
    assert growth.find_idle(601, 3, arrays, settings) == 0
    assert growth.find_idle(9999, 1, arrays, settings) == -1
    assert growth.find_idle(9999, 3, arrays, settings.replace(least_share=0.0)) == -1


def test_a_trial_says_whom_to_trust():
    cases = [([3.0, 1.0, 4.0, 5.0], 3.0 / 5.0), ([9.0, 1.0, 4.0, 5.0], 1.0)]
    cases += [
        ([-1.0, 1.0, 4.0, 5.0], 0.0),
        ([1.0, 1.0, 1.0, 0.0], 0.0),
        ([1.0, 0.0, 0.0, 1.0], 0.0),
    ]
    for trial, share in cases:
        assert_allclose(memory.brief_share(np.array(trial)), share)
        assert_allclose(memory.long_factor(np.array(trial)), 0.97**share**2)
    assert memory.most_support(np.zeros(4)) == np.inf
    assert_allclose(memory.most_support(np.array([9.0, 1.0, 4.0, 5.0])), 1.0 / 0.03)
    high, low, middle = ([x, 1.0, 0.0, 1.0] for x in (0.51, 0.24, 0.4))
    rules = rules_with(1, 1, 1)
    for trial, before, after in (
        (high, memory.STEADY, memory.NEWS),
        (middle, memory.STEADY, memory.STEADY),
        (high, memory.DRIFTING, memory.DRIFTING),
        (middle, memory.DRIFTING, memory.DRIFTING),
        (low, memory.DRIFTING, memory.STEADY),
        (low, memory.SPLIT, memory.SPLIT - 1),
        (high, memory.QUIET, memory.QUIET),
        (low, memory.QUIET, memory.STEADY),
    ):
        rules.arrays.trial[0], rules.arrays.drifting[0] = trial, before
        memory.note_drift(0, rules.arrays)
        assert rules.arrays.drifting[0] == after


# Least squares and label moments


def random_state(rng, p, K, n=12):
    """P, G, B, D, Delta, W of a rule that has learned a few rows."""
    X, Y = random_rows(rng, n, p, K)
    R = np.column_stack([X, np.ones(n)])
    G, B, *_ = naive.batch_moments(R, Y, rng.uniform(0.05, 1.0, size=n))
    Delta = rng.uniform(0.2, 1.0, size=p + 1)
    W = rng.normal(size=(p + 1, K))
    D = naive.gradient(G, B, Delta, W, rng.normal(size=(p + 1, K)))
    P = np.linalg.inv(G + np.diag(Delta))
    return 0.5 * (P + P.T), G, B, D, Delta, W


@pytest.mark.parametrize("groups", [1, 2])
def test_a_prior_that_is_half_forgotten_and_a_large_shrink_mark_a_rule(groups):
    row, known = np.array([1.0, 1.0]), np.array([True, False])
    for Delta, P, expected in ((0.6, 1.0, 0), (0.5, 1.0, 1), (0.6, 1e8, 1)):
        rules = rules_with(1, 2, 2, n_groups=groups, Delta=Delta, P=P * np.eye(2))
        set_row(rules, row, [1.0, 0.0], [0.9, 1.0], known)  # the second rule does not learn
        consequent.shrink_inverses(2, 1.0, rules.arrays, rules.scratch)
        assert rules.stale.tolist() == [expected, 0]
        learned = np.zeros((2, groups), dtype=bool)
        learned[0, 0] = True
        kept = np.where(learned, 0.9 * Delta, Delta)
        assert_allclose(rules.Delta, np.stack([kept, kept], axis=-1))
        assert np.array_equal(rules.scratch.scale != waiting.NOTHING, learned)


def test_inverses_are_checked_along_the_row_now_and_then(rng):
    P, G, _, _, Delta, _ = random_state(rng, 4, 1)
    row, gain, back = np.append(rng.normal(size=4), 1.0), np.zeros(5), np.zeros(5)
    assert consequent.inverse_error(P, G, Delta, row, gain, back) < 1e-12
    rules = rules_with(4, 2, 2, n_groups=2, P=P, G=G, Delta=Delta)
    rules.arrays.unchecked[:] = [[254, 254], [255, 255]]
    set_row(rules, row, [1.0, 0.0], [1.0, 1.0], [True, False])
    for unchecked, error, stale in ((255, 0.0, 0), (0, 0.0, 0), (1, 1e-6, 0)):
        rules.arrays.P[0, 0, 4, 0] += error
        rule_update.check_inverses(2, rules.arrays, rules.scratch)
        assert rules.unchecked.tolist() == [[unchecked, 254], [255, 255]]
        assert rules.stale.tolist() == [stale, 0]
    rules.arrays.unchecked[0, 0] = 255
    rule_update.check_inverses(2, rules.arrays, rules.scratch)
    assert rules.stale.tolist() == [1, 0]
    P[0, -1] = P[-1, 0] = P[-1, 0] + 0.01
    off = P @ (G + np.diag(Delta)) @ row - row
    expected = np.linalg.norm(off) / np.linalg.norm(row)
    assert_allclose(consequent.inverse_error(P, G, Delta, row, gain, back), expected, rtol=1e-9)
    P[0, 0] = np.nan
    assert np.isnan(consequent.inverse_error(P, G, Delta, row, gain, back))


# Correlation, penalties and proximal steps; W, D and the like have one row per label


@pytest.mark.parametrize("pairs", [False, True])
def test_constant_and_unseen_labels_are_uncorrelated(pairs):
    cov = np.array([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0], [0.9, 0.0, 0.5]])
    weight = np.full((3, 3), 2.0)
    expected = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])  # clipped to 1
    if pairs:
        weight[0, 2] = weight[2, 0] = 0.0  # never known together
        expected[0, 2] = expected[2, 0] = 0.0
    corr = np.full((3, 3), np.nan)
    proximal.correlate(cov, weight if pairs else weight[:1], corr)
    assert_allclose(corr, expected)
    proximal.correlate(np.zeros((3, 3)), np.zeros((1, 3)), corr)
    assert np.array_equal(corr, np.eye(3))


@pytest.mark.parametrize("value", [np.inf, np.nan, 11.0, -11.0])
def test_guard_sees_large_weights_and_nan(value):
    W = np.array([[1.0, -10.0], [3.0, 4.0]])
    assert not proximal.is_beyond(W, 10.0)
    W[1, 0] = value
    assert proximal.is_beyond(W, 10.0)
    zero = np.zeros((2, 2))
    assert not proximal.take_step(W, zero.copy(), zero, zero) <= 100.0


def one_rule(rng, p, K, groups, **changes):
    """A learner with one rule that has learned something, and its Hessians' largest directions."""
    learner = learner_with_rules(rng, 1, p, K, **changes)
    if groups > 1:
        learner.rules.split_groups()
    rules = AsWritten(learner.rules)
    X, Y = random_rows(rng, 12, p, K)
    R = np.column_stack([X, np.ones(12)])
    G = np.array([(rng.uniform(0.1, 1.0, size=12) * R.T) @ R for _ in range(groups)])
    G, B = 0.5 * (G + G.transpose(0, 2, 1)), R.T @ Y
    Delta, W_prior = rng.uniform(0.2, 1.0, size=(groups, p + 1)), rng.normal(size=(p + 1, K))
    rules.B[0], rules.Delta[0], rules.W_prior[0] = B, Delta, W_prior
    learner.rules.arrays.G[0] = np.tril(G)
    learner.rules.arrays.P[0] = [np.linalg.inv(H) for H in naive.hessians(G, Delta, K)[:groups]]
    rules.W[0] = rng.normal(size=(p + 1, K))
    rules.D[0] = naive.gradient(G, B, Delta, rules.W[0], W_prior)
    corr = random_correlation(rng, K)
    rules.penalty[0], rules.penalty_top[0] = naive.penalty(corr, learner.params.correlation)
    for g, H in enumerate(naive.hessians(G, Delta, K)[:groups]):
        values, vectors = np.linalg.eigh(H)
        rules.curvature[0, g], rules.curvature_direction[0, g] = values[-1], vectors[:, -1]
    return learner


@pytest.fixture
def no_hanging():
    """End the run with a traceback, where an endless loop of compiled code could not be stopped."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.usefixtures("no_hanging")
def test_a_vanishing_step_does_not_spoil_the_bound(rng):
    # With one label there is nothing to correlate: D only shrinks, by a factor a row, until the
    # square of a step underflows while that times the curvature does not.
    learner = one_rule(rng, 2, 1, 1, alpha=0.0, beta=0.5)
    rules = learner.rules
    W = rules.W.copy()
    bound = proximal.MARGIN * rules.curvature[0]
    for size in 2.0 ** -np.arange(500.0, 560.0, 3.0):
        rules.D[0] = [[0.0, 0.0, size]]
        polish(learner, 0)
        assert_allclose(rules.curvature[0], bound, rtol=1e-9)
    assert np.array_equal(rules.W, W)


@pytest.mark.usefixtures("no_hanging")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_gradient_stops_the_rule(rng, value):
    learner = one_rule(rng, 2, 2, 1, weight_limit=np.inf)
    rules = AsWritten(learner.rules)
    rules.D[0, 0, 1] = value
    with np.errstate(invalid="ignore"):
        polish(learner, 0)
        polish(learner, 0)
    assert rules.stopped[0] > 0
    expected = naive.ridge(rules.G[0], rules.B[0], rules.Delta[0], rules.W_prior[0])
    assert_allclose(rules.W[0], expected, rtol=1e-9)
    assert not rules.D.any()


# Accelerated proximal steps of the batch fit

STRENGTHS = np.array([(0.0, 0.0), (0.3, 0.0), (0.0, 2.0), (0.5, 1.0)])


def test_accepted_steps_are_extrapolated(rng):
    shape = (6, 2, 3)
    new, product, W, D_W, V, D_V = rng.normal(size=(6, *shape))
    target, momentum = rng.normal(size=shape[1:]), rng.uniform(1.0, 4.0, size=6)
    uphill = ((V - new) * (new - W)).sum(axis=(1, 2)) > 0.0
    assert uphill.any() and not uphill.all()
    old = np.where(uphill, 1.0, momentum)
    grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * old**2))
    push = ((old - 1.0) / grown)[:, None, None]
    D_new = product - target
    expected = new, D_new, new + push * (new - W), D_new + push * (D_new - D_W)
    descent.push_all(new, product, target, W, D_W, V, D_V, momentum)
    assert_allclose(momentum, grown, rtol=1e-14)
    for actual, wanted in zip((W, D_W, V, D_V), expected, strict=True):
        assert_allclose(actual, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("groups", [1, 3])
def test_pairs_are_minimised_as_if_alone(rng, groups, monkeypatch):
    K, d = 3, 4
    A = rng.normal(size=(groups, d, 9))
    hessians = A @ A.swapaxes(1, 2) + np.eye(d)
    M = naive.penalty(random_correlation(rng, K), "shift")[0]
    target = rng.normal(size=(K, d))
    start = np.linalg.solve(np.broadcast_to(hessians, (K, d, d)), target[:, :, None])[:, :, 0]
    start = np.tile(start, (4, 1, 1))
    lipschitz = np.linalg.eigvalsh(hessians).max() + STRENGTHS[:, 1:] * np.linalg.eigvalsh(M)[-1]
    strengths = STRENGTHS, np.repeat(lipschitz, K, axis=1)
    W, D = batch.minimise(start, hessians, M, strengths, 1e6)
    for m in range(4):
        part = tuple(np.ascontiguousarray(s[m : m + 1]) for s in strengths)
        alone, D_alone = batch.minimise(start[m : m + 1], hessians, M, part, 1e6)
        assert_allclose(W[m], alone[0], rtol=1e-12, atol=1e-13)
        assert_allclose(D[m], D_alone[0], rtol=1e-10, atol=1e-11)
    zero, H = np.zeros((groups, d)), hessians if groups > 1 else hessians[0]
    wanted = naive.fit_weights(H, target.T, zero, start[0].T, M, *STRENGTHS[3])
    assert_allclose(W[3], wanted.T, atol=1e-5)
    assert_allclose(W[0], start[0])
    assert batch.minimise(start, hessians, M, strengths, 1e-6) is None
    monkeypatch.setattr(batch, "MAX_ITERATIONS", 2)  # the last iterate is kept
    W, D = batch.minimise(start, hessians, M, strengths, 1e6)
    assert not np.array_equal(W, start)
    bent = np.einsum("cij,mcj->mci", np.broadcast_to(hessians, (K, d, d)), W - start)
    assert_allclose(D, bent, atol=1e-10)
