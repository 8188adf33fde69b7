"""Planes that all rules share, and go on learning."""

import numpy as np
import pytest
from helpers.streams import learner_with_rules, random_rows
from numpy.testing import assert_allclose

from efcml.model.batch import extended
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.prior import Prior, precision
from efcml.model.sharing import next_renewal, share_planes, shared_planes

P_, K_ = 3, 2
PLAIN = {"alpha": 0.0, "beta": 0.0, "merging": False, "activation_floor": 0.0}


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_shared_planes_of_a_stream_are_those_of_all_its_rows(rng, share):
    """Whatever rule a row went to: activations sum to one."""
    X, Y = random_rows(rng, 120, P_, K_, share)
    learner = learner_with_rules(rng, 3, P_, K_, vigilance=1e9, **PLAIN)
    learner.learn(X, Y)
    planes = shared_planes(learner.rules, precision(5.0, P_))
    assert_allclose(planes, Prior(1.0, 5.0).planes(X, Y), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_rules_move_as_if_they_had_always_been_held_to_the_new_planes(rng, share):
    learner = learner_with_rules(rng, 3, P_, K_, vigilance=1e9, **PLAIN)
    learner.learn(*random_rows(rng, 60, P_, K_, share))
    rules, planes = learner.rules, rng.normal(size=(K_, P_ + 1))
    share_planes(rules, planes)
    for r in range(3):
        for c in range(K_):
            group = c if rules.n_groups > 1 else 0
            H = rules.G[r, group] + np.diag(rules.Delta[r, group])
            target = rules.B[r, c] + rules.Delta[r, group] * planes[c]
            assert_allclose(rules.W[r, c], np.linalg.solve(H, target), rtol=1e-6, atol=1e-9)
    assert_allclose(rules.W_prior, np.tile(planes, (3, 1, 1)))


def test_renewals_come_with_more_rows_and_not_too_often_with_many_features():
    assert [next_renewal(rows, 4) for rows in (0, 1, 33, 34, 391)] == [1, 2, 34, 36, 403]
    assert [next_renewal(rows, 260) for rows in (0, 322, 5000)] == [33, 355, 5151]


def test_strongly_held_rules_follow_what_all_rows_say(rng):
    """Rules that may not differ from the shared planes answer as one plane over all rows does."""
    X = rng.normal(size=(900, 4))
    Y = (X @ rng.normal(size=(4, 2)) + rng.normal(size=(900, 2)) > 0.0).astype(float)
    learner = Learner(Params(cases=0, beta=0.0, split_share=0.3), 4, 2)
    learner.fit(X[:60], Y[:60])
    scaled = learner.scaler.transform(X)
    learner.build(scaled[:60], Y[:60], Prior(1e8, 1.0), 0.3)
    learner.learn(X[60:], Y[60:])
    assert learner.n_rules > 2
    few = extended(scaled) @ Prior(1.0, 1.0).planes(scaled[:60], Y[:60]).T
    all_rows = extended(scaled) @ Prior(1.0, 1.0).planes(scaled, Y).T
    found = learner.score(X)
    assert np.abs(found - all_rows).max() < 0.2 * np.abs(few - all_rows).max()
