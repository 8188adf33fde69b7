"""Two rules become one and one becomes two, exactly; P is derived anew."""

import numpy as np
import pytest
from helpers.rules import rules_with, settings_with
from helpers.streams import (
    COMPILED,
    AsWritten,
    assert_same_rules,
    learner_with_rules,
    naive_learner,
    random_covariance,
    random_rows,
    start_variance,
)
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import growth
from efcml.model.definite import invert, whole
from efcml.model.fields import FIELDS
from efcml.model.learner import Learner
from efcml.model.merging import MergeTest, compare, may_merge, merge, solve_weights
from efcml.model.params import Params
from efcml.model.repair import ROUNDING, restore_inverse
from efcml.model.splitting import cut_direction, split

pytestmark = pytest.mark.uncompiled

P_, K_ = 2, 3
LOOSE = MergeTest(overlap=1e-9, log_volume=50.0, width=2.0, product_space=True)


def two_rules(rng, share=1.0):
    """A learner with two rules that have learned some rows."""
    learner = learner_with_rules(rng, 2, P_, K_, vigilance=1e9, merging=False)
    learner.learn(*random_rows(rng, 30, P_, K_, share))
    return learner


def do_merge(learner, a=0, b=1, **options):
    options = {"max_support": np.inf} | options
    pair = compare(learner.rules, a, b, learner.start_variance, LOOSE)
    return merge(learner.rules, pair, **options)


@pytest.mark.parametrize(
    ("share", "weights", "forgetting", "alike"),
    [
        (1.0, "exact", 1.0, False),
        (0.6, "exact", 0.95, False),
        (1.0, "paper", 0.95, True),
        (0.6, "paper", 1.0, False),
    ],
)
def test_every_field_of_a_merge_is_that_of_the_twin(rng, share, weights, forgetting, alike):
    changes = {"merge_consequents": weights, "forgetting": forgetting}
    learner = two_rules(rng, share)
    rules = AsWritten(learner.rules)
    rules.W[:] = rng.normal(size=rules.W.shape)
    if alike:
        rules.W[1] = 1.01 * rules.W[0]
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


def test_rules_without_weight_average_their_priors_by_support(rng):
    learner = two_rules(rng)
    rules = learner.rules
    rules.support[:] = 17.0, 9.0
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


@pytest.mark.parametrize("product_space", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_merge_test_is_the_naive_one(rng, share, product_space):
    learner = two_rules(rng, share)
    rules, n = learner.rules, P_ + K_ if product_space else P_
    S_0, parts = start_variance(P_, K_)[:n], []
    for i in range(2):
        S = np.linalg.inv(rules.joint_precision[i])[:n, :n]
        parts += [rules.center[i, :n], S, rules.support[i], rules.prior_share[i]]
    distance = naive.bhattacharyya(parts[0], parts[1], parts[4], parts[5])
    merged = naive.merge_gaussians(*parts, S_0)[1]
    halves = [0.5 * naive.log_determinant(S) for S in (parts[1], parts[5])]
    blow_up = 0.5 * naive.log_determinant(merged) - np.logaddexp(*halves)
    overlap = np.exp(-distance / 1.7)
    pair = compare(rules, 0, 1, learner.start_variance, MergeTest(0.1, 0.0, 1.7, product_space))
    assert_allclose([pair.overlap, pair.log_blow_up], [overlap, blow_up], rtol=1e-8)
    for least, most, may in (
        (pair.overlap, pair.log_blow_up, True),
        (1.001 * pair.overlap, pair.log_blow_up, False),
        (pair.overlap, pair.log_blow_up - 1e-6, False),
    ):
        assert may_merge(pair, MergeTest(least, most, 1.7, product_space)) == may


# P is derived anew


@pytest.fixture
def weakly_held():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X[:, :2] > 0.0).astype(float)
    return Learner(Params(prior=1e-6, cases=0), 3, 2).fit(X, Y).rules


def gradient(rules):
    """The gradient of what the planes of the first rule minimise, by its definition."""
    arrays = rules.arrays
    pull = (arrays.W - arrays.W_prior)[0] * arrays.Delta[0, 0]
    return arrays.D[0] - pull  # what depends on G, which no repair changes


def test_a_prior_that_is_there_is_left_alone(weakly_held):
    rules, arrays = weakly_held, weakly_held.arrays
    Delta, D = arrays.Delta[0, 0].copy(), arrays.D[0].copy()
    arrays.P[0, 0] = 0.0
    restore_inverse(rules, 0, 0, Delta)
    assert_allclose(whole(arrays.P[0, 0]), invert(arrays.G[0, 0] + np.diag(Delta)), rtol=1e-12)
    assert (arrays.Delta[0, 0] == Delta).all()
    assert (arrays.D[0] == D).all()


def test_a_prior_that_rounding_took_is_raised(weakly_held):
    rules, arrays = weakly_held, weakly_held.arrays
    far = np.array([1e6, 3e6, -2e6, 1.0])
    G = np.outer(far, far)
    arrays.G[0, 0], arrays.Delta[0, 0] = G, 1e-9
    with pytest.raises(np.linalg.LinAlgError):
        invert(G + np.diag(arrays.Delta[0, 0]))
    before, planes = gradient(rules), arrays.W[0].copy()
    restore_inverse(rules, 0, 0, np.full(4, 1e-9))
    assert (arrays.Delta[0, 0] == ROUNDING * G.max()).all()
    P = whole(arrays.P[0, 0])
    assert (np.linalg.eigvalsh(P) > 0.0).all()
    assert (arrays.W[0] == planes).all()
    assert_allclose(gradient(rules), before, rtol=1e-9)


# One rule becomes two


# What a rule that comes out of a merge has of its own, whatever its parts were.
NOT_GIVEN_BACK = set("penalty penalty_top penalty_slack curvature tested unchecked D W".split())


def learned_rule(rng, share, by="labels"):
    """A learner with one mature rule, and what it was before and after a cut."""
    learner = learner_with_rules(rng, 1, P_, K_, vigilance=1e9, merging=False, alpha=0.0, beta=0.0)
    learner.learn(*random_rows(rng, 200 if COMPILED else 50, P_, K_, share))
    before = learner.rules.copy()
    other = split(learner.rules, 0, learner.rows_seen, learner.start_variance, by)
    for half in (0, other):
        solve_weights(learner.rules, half)
    return learner, before


@pytest.mark.parametrize(("share", "by"), [(1.0, "labels"), (0.7, "labels"), (0.7, "axis")])
def test_to_merge_the_halves_gives_the_rule_back(rng, share, by):
    learner, before = learned_rule(rng, share, by)
    rules = learner.rules
    assert rules.n_rules == 2
    merge(rules, compare(rules, 0, 1, learner.start_variance, LOOSE), max_support=1e9)
    for field in FIELDS:
        if field.name not in NOT_GIVEN_BACK:
            found, expected = getattr(rules, field.name), getattr(before, field.name)
            assert_allclose(found, expected, rtol=1e-8, atol=1e-9, err_msg=field.name)
    # W is the minimiser on the same sums; the recursion of the stream rounds a little.
    assert_allclose(rules.W, before.W, rtol=1e-6, atol=1e-8)


def test_direction_of_the_cut(rng):
    S = random_covariance(rng, P_ + K_)
    for by in ("labels", "axis"):
        assert_allclose(cut_direction(S, P_, by), naive.cut_direction(S, P_, by), rtol=1e-8)
    S[:P_, P_:] = S[P_:, :P_] = 0.0  # labels that depend on nothing
    assert_allclose(cut_direction(S, P_, "labels"), naive.cut_direction(S, P_, "axis"), rtol=1e-8)


def counted(updates, born=0, last_won=0, **values):
    """Rules with these numbers of updates, and settings."""
    rules = rules_with(2, 1, len(updates), updates=updates, born=born, last_won=last_won)
    changes = {"splitting": "labels", "split_share": 0.4, "least_share": 0.1}
    return rules.n_rules, rules.arrays, settings_with(2, 1, changes | values)


@pytest.mark.parametrize(
    ("updates", "values", "expected"),
    [
        ([39, 0], {}, True),
        ([38, 0], {}, False),  # too few rows for two
        ([39, 60], {"split_share": 0.39}, True),
        ([39, 59], {"split_share": 0.4}, False),  # not more than the share
        ([1000, 0], {"splitting": "off"}, False),
        ([1000, 0], {"max_rules": 2}, False),  # no room
    ],
)
def test_a_rule_is_too_large_by_its_share(updates, values, expected):
    assert growth.is_too_large(0, 0, *counted(updates, **values)) == expected


@pytest.mark.parametrize(
    ("row", "values", "silent"),
    [
        (301, {}, 1),  # by a hundred rows and one; the least share is a tenth
        (300, {}, -1),
        (402, {}, 2),  # longer than 1
        (301, {"least_share": 0.0}, -1),
    ],
)
def test_a_rule_that_wins_nothing_falls_silent(row, values, silent):
    last = [300, 200, 201] if row < 400 else [400, 200, 199]
    facts = counted([40, 70, 0], last_won=last, **values)
    assert growth.find_silent(row, *facts) == silent
    shares = [41, 71, 1]
    in_use = sum(shares) if silent < 0 else sum(shares[:1]) + (1 if row < 400 else 0)
    assert growth.count_rows_in_use(row, *facts) == in_use


def test_silent_rules_hold_no_share_and_make_room():
    facts = {"updates": [59, 90], "last_won": [300, 200]}
    assert not growth.is_too_large(0, 300, *counted(**facts))
    assert growth.is_too_large(0, 301, *counted(**facts))
    assert growth.is_too_large(0, 301, *counted(**facts, max_rules=2))
    in_use = facts | {"last_won": [300, 201]}
    assert growth.is_too_large(0, 301, *counted(**in_use, split_share=0.3))
    assert not growth.is_too_large(0, 301, *counted(**in_use, split_share=0.3, max_rules=2))


@pytest.mark.parametrize(
    ("updates", "row", "values", "expected"),
    [
        ([50, 8], 100, {}, 1),
        ([50, 9], 100, {}, -1),  # ten rows of a hundred are enough
        ([50, 8], 99, {}, -1),  # still on trial
        ([8], 1000, {}, -1),  # nobody could take it in
        ([50, 0], 1000, {"least_share": 0.0}, -1),
    ],
)
def test_a_rule_is_idle_by_what_it_wins(updates, row, values, expected):
    assert growth.find_idle(row, *counted(updates, **values)) == expected


def test_a_batch_tells_when_a_rule_won_last(rng):
    X, Y = random_rows(rng, 60, 3, 2)
    Y[-5:] = np.nan  # rows without labels have no number
    learner = Learner(Params(prior=1.0, vigilance=1e9, splitting="off"), 3, 2).fit(X, Y)
    assert learner.rules.last_won.tolist() == [54]
