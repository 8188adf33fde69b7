"""Weights of rows: what faces make of them (what learners do with them: test_twins.py)."""

import numpy as np
import pytest
from helpers.models import freeze
from helpers.streams import assert_identical, state_of
from helpers.study_files import model, rows

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC

X, Y = rows()
W = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
START = 20


def test_chunks_do_not_matter_in_a_doubt():
    """A stream moves so far that its scale changes: rows are learned again, by their weights."""
    table = np.tile(X, (8, 1)) + 0.1 * np.random.default_rng(2).normal(size=(8 * len(X), 2))
    table[150:] += 30.0
    labels, w = np.tile(Y, (8, 1)), np.random.default_rng(3).uniform(0.2, 3.0, len(table))
    w[::9] = 0.0
    whole = model().fit(X, Y).partial_fit(table, labels, sample_weight=w)
    assert whole.learner_.scaler.mean.min() > 10.0
    parts = model().fit(X, Y)
    for low, high in [(0, 1), (1, 140), (140, 165), (165, 180), (180, len(table))]:
        parts.partial_fit(table[low:high], labels[low:high], sample_weight=w[low:high])
    assert_identical(state_of(parts.learner_), state_of(whole.learner_))
    alike = model().fit(X, Y).partial_fit(table, labels)
    assert freeze(alike.learner_) != freeze(whole.learner_)


def test_rows_of_no_weight_are_left_out():
    some = np.where(np.arange(len(X)) % 3 == 0, 0.0, W)
    kept = some > 0.0
    found = model().fit(X, Y, some)
    assert freeze(found.learner_) == freeze(model().fit(X[kept], Y[kept], W[kept]).learner_)
    hidden = np.where(kept[:, None], Y, np.nan)
    found, wanted = model().fit(X, Y), model().fit(X, Y)
    found.partial_fit(X, Y, sample_weight=some)
    wanted.partial_fit(X, hidden, sample_weight=W)
    assert freeze(found.learner_) == freeze(wanted.learner_)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.full(len(X), -1.0), "must be finite, and from 0 .* to 1e.09"),
        (np.full(len(X), np.nan), "must be finite"),
        (np.full(len(X), np.inf), "must be finite"),
        (np.where(np.arange(len(X)) == 3, 1e20, 1.0), "to 1e.09"),
        (np.ones(3), "a number for each of 44 rows"),
        (np.ones((len(X), 1)), "a number for each of 44 rows"),
        (["much"] * len(X), "a number for each of 44 rows"),
        (np.zeros(len(X)), "no known label.*weight above zero"),
    ],
)
def test_bad_weights(weight, words):
    with pytest.raises(ValueError, match=words):
        EFCMLClassifier().fit(X, Y, weight)
    if "label" not in words:
        clf = model().fit(X, Y)
        before = freeze(clf)
        with pytest.raises(ValueError, match=words):
            clf.partial_fit(X, Y, sample_weight=weight)
        assert freeze(clf) == before


def test_a_warm_up_takes_no_weights():
    early = EFCMLClassifier().partial_fit(np.tile(X, (3, 1)), np.tile(Y, (3, 1)))  # it has rules
    assert early.n_rules_ > 0
    for clf in (EFCMLClassifier(), EFCMLClassifier().partial_fit(X, Y), early):
        before = freeze(clf)
        with pytest.raises(ValueError, match="sample_weight needs more rows: call fit"):
            clf.partial_fit(X, Y, sample_weight=W)
        assert freeze(clf) == before


def test_models_for_each_label_take_weights():
    options = {"prior": 1.0, "correlation": "none", "alpha": 0.0, "beta": 0.0, "time": False}
    half = len(X) // 2
    clf = OneVsRestEFC(**options).fit(X[:half], Y[:half], W[:half])
    clf.partial_fit(X[half:], Y[half:], sample_weight=W[half:])
    for c, model_of_label in enumerate(clf.learner_.models):
        one = EFCMLClassifier(**options).fit(X[:half], Y[:half, [c]], W[:half])
        one.partial_fit(X[half:], Y[half:, [c]], sample_weight=W[half:])
        np.testing.assert_array_equal(model_of_label.score(X), one.learner_.score(X))
    chain = ChainEFC(**options).fit(X[:half], Y[:half], W[:half])
    assert freeze(chain.learner_.models[0]) == freeze(
        OneVsRestEFC(**options).fit(X[:half], Y[:half], W[:half]).learner_.models[0]
    )
