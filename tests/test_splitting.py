"""A rule is cut in two: halves of a Gaussian, and together what the rule was."""

import numpy as np
import pytest
from helpers.rules import rules_with, settings_with
from helpers.streams import learner_with_rules, random_covariance, random_rows
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels import growth
from efcml.model.fields import FIELDS, SPLIT
from efcml.model.learner import Learner
from efcml.model.merging import MergeTest, compare, merge, solve_weights
from efcml.model.params import Params
from efcml.model.splitting import cut_direction, split

pytestmark = pytest.mark.uncompiled

P_, K_ = 4, 3
LOOSE = MergeTest(0.0, np.inf, 1.0, True)
# What a rule that comes out of a merge has of its own, whatever its parts were.
NOT_GIVEN_BACK = set("penalty penalty_top penalty_slack curvature tested unchecked D W".split())


def learned_rule(rng, share, by="labels"):
    """A learner with one mature rule, and what it was before and after a cut."""
    learner = learner_with_rules(rng, 1, P_, K_, vigilance=1e9, merging=False, alpha=0.0, beta=0.0)
    learner.learn(*random_rows(rng, 200, P_, K_, share))
    before = learner.rules.copy()
    other = split(learner.rules, 0, learner.rows_seen, learner.start_variance, by)
    for half in (0, other):
        solve_weights(learner.rules, half)
    return learner, before


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_says_what_its_halves_start_with(field):
    assert field.split in SPLIT


@pytest.mark.parametrize("by", ["labels", "axis"])
@pytest.mark.parametrize("share", [1.0, 0.7])
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


def test_halves_have_the_moments_of_the_rows_on_both_sides(rng):
    """A rule that knows a Gaussian exactly, and many rows of it, cut at the same place."""
    q, n = P_ + K_, 400_000
    S, center = random_covariance(rng, q), rng.normal(size=q)
    fields = {"joint_precision": np.linalg.inv(S), "support": 1e12, "prior_share": 1.0}
    rules = rules_with(P_, K_, 1, center=center, updates=1000, **fields)
    v = cut_direction(S, P_, "labels")
    split(rules, 0, 5, np.ones(q), "labels")
    Z = rng.multivariate_normal(center, S, size=n)
    above = (Z[:, :P_] - center[:P_]) @ v > 0.0
    for half, rows in ((0, Z[~above]), (1, Z[above])):
        assert_allclose(rules.center[half], rows.mean(axis=0), atol=0.01)
        assert_allclose(np.linalg.inv(rules.joint_precision[half]), np.cov(rows.T), atol=0.02)
    assert_allclose(rules.log_det[:, 0], -np.linalg.slogdet(rules.joint_precision)[1], rtol=1e-9)
    assert_allclose(rules.log_det[:, 1], -np.linalg.slogdet(rules.input_precision)[1], rtol=1e-9)
    assert rules.uid.tolist() == [0, 1]
    assert rules.born.tolist() == [0, 5]
    assert rules.updates.sum() + 1 == 1000


def test_halves_of_a_plane_without_prior_say_what_it_said(rng):
    """Only what is linear in x is known of a rule, and no half knows anything else."""
    learner, before = learned_rule(rng, 1.0)
    rules = learner.rules
    free = [np.linalg.solve(G[0], B.T) for G, B in zip(rules.G, rules.B, strict=True)]
    whole = np.linalg.solve(before.G[0, 0], before.B[0].T)
    assert_allclose(free[0], whole, rtol=1e-6, atol=1e-8)
    assert_allclose(free[1], whole, rtol=1e-6, atol=1e-8)
    assert np.abs(rules.center[0] - rules.center[1]).max() > 0.1
    for G in rules.G[:, 0]:
        assert np.linalg.eigvalsh(G).min() > 0.0
    for cov in rules.label_cov:
        assert np.linalg.eigvalsh(cov).min() > -1e-9


def test_direction_of_the_cut(rng):
    S = random_covariance(rng, P_ + K_)
    for by in ("labels", "axis"):
        assert_allclose(cut_direction(S, P_, by), naive.cut_direction(S, P_, by), rtol=1e-8)
    S[:P_, P_:] = S[P_:, :P_] = 0.0  # labels that depend on nothing
    assert_allclose(cut_direction(S, P_, "labels"), naive.cut_direction(S, P_, "axis"), rtol=1e-8)


# What is too large, and what is idle


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


# In streams


def blobs(rng, n, centers):
    """Rows around some centers; each has a label of its own."""
    at = rng.integers(len(centers), size=n)
    return centers[at] + 0.3 * rng.normal(size=(n, centers.shape[1])), np.eye(len(centers))[at]


def test_clusters_are_found_and_kept(rng):
    """Five groups of rows: they end as five rules, one for each, however it began."""
    centers = 3.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, 0], [0, -1, -1]], float)
    X, Y = blobs(rng, 1500, centers)
    learner = Learner(Params(cases=0, split_share=0.25), 3, 5).fit(X[:300], Y[:300])
    learner.learn(X[300:], Y[300:])
    assert learner.counts["splits"] >= 4
    assert learner.n_rules == 5
    nearest = np.linalg.norm(
        learner.scaler.transform(centers)[:, None] - learner.rules.center[None, :, :3], axis=2
    )
    assert nearest.min(axis=1).max() < 0.2


def test_a_batch_tells_when_a_rule_won_last(rng):
    X, Y = random_rows(rng, 60, 3, 2)
    Y[-5:] = np.nan  # rows without labels have no number
    learner = Learner(Params(prior=1.0, vigilance=1e9, splitting="off"), 3, 2).fit(X, Y)
    assert learner.rules.last_won.tolist() == [54]


def test_a_row_far_away_does_not_keep_a_rule(rng):
    X, Y = random_rows(rng, 600, 3, 2)
    X[200] = 50.0
    learner = Learner(Params(vigilance=0.7, splitting="off", clip=100.0), 3, 2).fit(
        X[:150], Y[:150]
    )
    learner.learn(X[150:201], Y[150:201])
    assert (learner.rules.updates == 0).any()
    lonely = learner.rules.uid[learner.rules.updates == 0]
    learner.learn(X[201:], Y[201:])
    assert not np.isin(lonely, learner.rules.uid).any()
    age = learner.rows_seen - learner.rules.born
    old = age >= growth.TRIAL
    assert (learner.rules.updates + 1 >= 0.01 * age)[old].all()
