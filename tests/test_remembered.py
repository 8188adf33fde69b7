"""What remembered rows add to an answer: cases and recent cases together."""

import numpy as np
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier
from efcml.explain.remembered import remembered_by


def follow(rng):
    """A model whose recent cases are trusted: errors stay the same for a while."""
    X = rng.normal(size=(160, 2))
    Y = (X + 1.5 * np.sign(np.sin(np.arange(160) / 9.0))[:, None] > 0.0).astype(float)
    return EFCMLClassifier(prior=1.0, max_rules=2, cases=20).fit(X[:60], Y[:60]), X, Y


def test_parts_of_both_sum_to_what_they_add(rng):
    model, X, Y = follow(rng)
    model.partial_fit(X[60:], Y[60:])
    learner = model.learner_
    assert learner.recent_share > 0.1
    for x in learner.scaler.transform(X[-5:]):
        adds, numbers, similar = remembered_by(learner, x)
        parts = [case.similar_to(x)[0].sum(axis=0) for case in (learner.cases, learner.recent)]
        expected = parts[0] + learner.recent_share * parts[1]
        assert_allclose(adds.sum(axis=0), expected, rtol=0, atol=1e-12)
        assert len(set(numbers)) == len(numbers) > learner.cases.n_cases
        assert (np.diff(similar) <= 0.0).all()


def test_before_the_stream_there_are_cases_alone(rng):
    model, X, _ = follow(rng)
    x = model.learner_.scaler.transform(X[:1])[0]
    for mine, theirs in zip(
        remembered_by(model.learner_, x), model.learner_.cases.similar_to(x), strict=True
    ):
        assert (mine == theirs).all()
