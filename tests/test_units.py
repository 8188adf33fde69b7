"""A change of units: the same functions of the rows, and the same state as if learned there."""

import numpy as np
import pytest
from helpers.streams import learner_with_rules, random_rows, unscaled_learner
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.kernels.cases import SIZE
from efcml.model import units
from efcml.model.casebase import CaseBase
from efcml.model.fields import CASE_FIELDS, FIELDS
from efcml.model.learner import Learner
from efcml.model.memories import follow_antecedents
from efcml.model.params import Params
from efcml.model.units import ChangeOfUnits, re_express, re_express_cases, renew_start_variance

pytestmark = pytest.mark.uncompiled

P_, K_ = 3, 2
A, B = np.array([2.0, 0.25, 1.3]), np.array([-3.0, 0.5, 7.0])
CHANGES = {
    "shift": ChangeOfUnits(np.ones(P_), B),
    "stretch": ChangeOfUnits(A, np.zeros(P_)),
    "both": ChangeOfUnits(A, B),
}
MODELS = {
    "plain": {},
    "forgetting": {"forgetting": 0.97},
    "two memories": {"forgetting": "auto"},
    "missing labels": {"share": 0.6},
    "correlation alone": {"alpha": 0.0, "beta": 2.0},
    "no penalties": {"correlation": "none"},
    "distance": {"activation": "distance"},
    "all": {"forgetting": 0.95, "share": 0.6, "beta": 2.0},
}


def trained(rng, cases=0, n=60, **changes):
    """A learner that takes rows as they are, with rules, and rows that it has not seen."""
    share = changes.pop("share", 1.0)
    learner = learner_with_rules(rng, 3, P_, K_, cases=cases, vigilance=1.5, **changes)
    learner.learn(*random_rows(rng, n, P_, K_, share))
    assert learner.rules.n_groups == (1 if share == 1.0 else K_)
    return learner, rng.normal(size=(40, P_))


def changed(learner, change):
    other = learner.copy()
    other.start_variance = change.start_variance(learner.start_variance)
    other.rules = re_express(learner.rules, other.start_variance, change)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)
        other.brief = re_express(learner.brief, other.start_variance, change)
    other.cases = re_express_cases(learner.cases, change)
    other.recent = re_express_cases(learner.recent, change)
    return other


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("model", MODELS)
def test_scores_stay(rng, model, change):
    learner, X = trained(rng, **MODELS[model])
    other = changed(learner, CHANGES[change])
    assert_allclose(other.score(CHANGES[change].rows(X)), learner.score(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_scores_with_cases_stay_after_a_shift(rng, model):
    learner, X = trained(rng, cases=12, **MODELS[model])
    inside = np.clip(X, -2.9, 2.9)
    change = ChangeOfUnits(np.ones(P_), np.array([0.05, -0.05, 0.02]))
    other = changed(learner, change)
    assert_allclose(other.score(change.rows(inside)), learner.score(inside), rtol=0, atol=1e-9)


@pytest.mark.parametrize("change", CHANGES)
def test_cases_say_the_same_at_their_rows(rng, change):
    learner, _ = trained(rng, cases=6, case_width=0.05)
    arrays, n = learner.cases.arrays, learner.cases.n_cases
    old = learner.cases.state()
    said, spread = old["kernel"] @ old["weights"], old["kernel"] @ old["covariance"] @ old["kernel"]
    cases = changed(learner, CHANGES[change]).cases
    new = cases.state()
    kept = np.flatnonzero(np.isin(arrays.age[:n], new["age"]))
    assert_allclose(new["kernel"] @ new["weights"], said[kept], atol=1e-9)
    again = new["kernel"] @ new["covariance"] @ new["kernel"]
    assert_allclose(again, spread[np.ix_(kept, kept)], atol=1e-9)
    assert_allclose(new["kernel"] @ new["inverse"], np.eye(len(kept)), atol=1e-9)
    assert_allclose(new["rows"], CHANGES[change].rows(old["rows"])[kept])


def test_cases_that_come_too_near_to_newer_ones_go(rng):
    cases = CaseBase(1, 1, 8, 0.25, 1.0)
    cases.fill(np.array([[-2.0], [0.0], [2.0], [2.8]]), np.ones((4, 1)))
    before = cases.n_cases
    ages = cases.arrays.age[:before].copy()
    units.move_cases(cases.arrays, ChangeOfUnits(np.array([0.05]), np.zeros(1)))
    assert cases.n_cases < before
    assert ages.max() in cases.arrays.age[: cases.n_cases]
    for field in CASE_FIELDS:
        if field.name != "count":
            assert not getattr(cases.arrays, field.name)[cases.n_cases :].any(), field.name
    assert np.abs(cases.arrays.weights).max() < 30.0


def test_a_case_base_may_be_empty():
    cases = CaseBase(2, 1, 4, 0.25, 1.0)
    units.move_cases(cases.arrays, ChangeOfUnits(np.ones(2), np.ones(2)))
    assert cases.arrays.count[SIZE] == 0


@pytest.mark.parametrize("model", MODELS)
def test_what_follows_from_others_is_derived_anew(rng, model):
    """Every field by its definition, as the twin has it."""
    learner, _ = trained(rng, **MODELS[model])
    change = CHANGES["both"]
    old, new = learner.rules, changed(learner, change).rules
    T, a = change.matrix, np.concatenate([A, np.ones(K_)])
    for r in range(new.n_rules):
        S = np.linalg.inv(old.joint_precision[r]) * np.outer(a, a)
        assert_allclose(np.linalg.inv(new.joint_precision[r]), S, rtol=1e-8)
        S_x = np.linalg.inv(old.input_precision[r]) * np.outer(A, A)
        assert_allclose(np.linalg.inv(new.input_precision[r]), S_x, rtol=1e-8)
        expected = naive.log_determinant(S), naive.log_determinant(S_x)
        assert_allclose(new.log_det[r], expected, atol=1e-8)
        assert_allclose(new.center[r, :P_], A * old.center[r, :P_] + B)
        assert_allclose(new.B[r], old.B[r] @ T.T, atol=1e-12)
        for g in range(new.n_groups):
            assert_allclose(new.G[r, g], T @ old.G[r, g] @ T.T, rtol=1e-9, atol=1e-9)
            H = new.G[r, g] + np.diag(new.Delta[r, g])
            assert_allclose(new.P[r, g] @ H, np.eye(P_ + 1), atol=1e-8)
            assert_allclose(new.curvature[r, g], np.linalg.eigvalsh(H)[-1])
            v = new.curvature_direction[r, g]
            assert_allclose(H @ v, new.curvature[r, g] * v, atol=1e-7 * new.curvature[r, g])
        planes = [part[r].T for part in (new.B, new.W, new.W_prior)]
        D = naive.gradient(new.G[r], planes[0], new.Delta[r], planes[1], planes[2])
        assert_allclose(new.D[r].T, D, atol=1e-7)
    assert not new.stale.any()
    assert not new.unchecked.any()


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_a_field_changes_with_units_as_its_line_says(rng, field, share):
    learner, _ = trained(rng, share=share)
    learner.rules.arrays.unchecked[:], learner.rules.arrays.stale[:] = 3, 1
    old = np.array(getattr(learner.rules, field.name))
    new = getattr(changed(learner, CHANGES["both"]).rules, field.name)
    assert np.array_equal(old, new) == (field.units == "same")


@pytest.mark.parametrize("field", CASE_FIELDS, ids=lambda field: field.name)
def test_an_array_of_cases_changes_with_units_as_its_line_says(rng, field):
    learner, _ = trained(rng, cases=12)
    old = learner.cases.state()[field.name]
    new = changed(learner, CHANGES["both"]).cases.state()[field.name]
    assert field.units == "computed"
    assert not np.array_equal(old, new)


def test_the_old_state_is_left_alone(rng):
    learner, X = trained(rng, cases=5)
    before = learner.score(X)
    changed(learner, CHANGES["both"])
    assert np.array_equal(learner.score(X), before)


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_learned_there_or_moved_there(rng, forgetting, share):
    """With a negligible prior and no births, units do not matter."""
    options = {"forgetting": forgetting, "correlation": "none", "prior": 1e-9, "merging": False}
    options |= {"vigilance": 1e9, "splitting": "off"}
    change = CHANGES["both"]
    X, Y = random_rows(rng, 150, P_, K_, share)
    here, there = (unscaled_learner(P_, K_, **options) for _ in range(2))
    there.start_variance = change.start_variance(here.start_variance)
    here.learn(X, Y)
    there.learn(change.rows(X), Y)
    moved = changed(here, change)
    assert here.n_rules == 1
    assert_allclose(moved.start_variance, there.start_variance)
    new = rng.normal(size=(20, P_))
    assert_allclose(moved.score(change.rows(new)), there.score(change.rows(new)), atol=1e-7)
    for name in ("center", "joint_precision", "input_precision", "log_det", "G", "B", "support"):
        found, expected = (getattr(one.rules, name) for one in (moved, there))
        assert_allclose(
            found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max(), err_msg=name
        )
    more = random_rows(rng, 40, P_, K_, share)
    for one in (moved, there):
        one.learn(change.rows(more[0]), more[1])
    assert_allclose(moved.score(change.rows(new)), there.score(change.rows(new)), atol=1e-7)


def test_several_pairs_in_one_pass(rng):
    """All labels known: a batch fit of several pairs has one group of labels."""
    X, Y = random_rows(rng, 120, P_, K_)
    params = Params(prior=1.0, cases=6, clip=1e6, scaling="frozen")
    learner = Learner(params, P_, K_, pairs=[(0.0, 0.1), (0.05, 1.0)]).fit(X, Y)
    scaled = learner.scaler.transform(X)
    inside = scaled[(np.abs(scaled) < 2.5).all(axis=1)]
    change = ChangeOfUnits(np.ones(P_), 0.01 * B)
    other = changed(learner, change)
    found, expected = other._score_scaled(change.rows(inside)), learner._score_scaled(inside)
    assert_allclose(found, expected, atol=1e-9)
    rules = other.rules
    for r in range(rules.n_rules):
        for k in range(len(rules.D[r])):
            G, Delta = rules.G[r, 0], rules.Delta[r, 0]
            pull = Delta * (rules.W[r, k] - rules.W_prior[r, k])
            D = G @ rules.W[r, k] - rules.B[r, k % K_] + pull
            assert_allclose(rules.D[r, k], D, atol=1e-8)


def test_late_labels_after_a_change(rng):
    learner, X = trained(rng)
    other = changed(learner, CHANGES["both"])
    for one in (learner, other):
        one.add_labels(1)
    assert_allclose(other.score(CHANGES["both"].rows(X)), learner.score(X), atol=1e-9)


def test_of_an_unknown_feature_nothing_is_left(rng):
    learner, X = trained(rng, cases=6)
    change = ChangeOfUnits(np.array([1.0, 0.0, 1.0]), np.zeros(P_))
    other = changed(learner, change)
    rules, S_0 = other.rules, other.start_variance
    assert np.array_equal(S_0, learner.start_variance)
    assert not rules.W[:, :, 1].any()
    assert not rules.G[:, :, 1].any()
    assert not rules.center[:, 1].any()
    for r in range(rules.n_rules):
        S = np.linalg.inv(rules.input_precision[r])
        assert_allclose(S[1], [0.0, S_0[1], 0.0], atol=1e-12)
        S_old = np.linalg.inv(learner.rules.input_precision[r])
        assert_allclose(S[np.ix_([0, 2], [0, 2])], S_old[np.ix_([0, 2], [0, 2])], rtol=1e-9)
        assert_allclose(rules.log_det[r, 1], naive.log_determinant(S), atol=1e-9)
    other.learn(*random_rows(rng, 30, P_, K_))
    assert np.isfinite(other.score(X)).all()


def test_a_larger_start_variance_is_not_taken_off_twice(rng):
    learner, _ = trained(rng)
    rules, old = learner.rules, learner.start_variance
    share = rules.prior_share.copy()
    assert renew_start_variance(rules, old, old / 4.0) is not None
    assert np.array_equal(rules.prior_share, share)
    renew_start_variance(rules, old, old * np.append(4.0, np.ones(len(old) - 1)))
    assert_allclose(rules.prior_share, share / 4.0)
