"""A row without any known label changes nothing, whichever way it comes in.

That is without time, under which the last known row is then further away: tests/test_sequel.py.
"""

import numpy as np
import pytest
from helpers.streams import assert_identical, random_rows, state_of, unscaled_learner
from test_learner_chunks import STREAMS, make_learner, rows_of

import efcml
from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets, prequential
from efcml.compat.river import RiverEFCML
from efcml.rivals import GlobalRLS, LabelFrequencies

CAP = {"vigilance": 0.2, "bandwidth": 1.0, "max_rules": 3, "prior": 1.0, "cases": 5}
CAP |= {"warmup_rows": 10, "merging": False, "time": False}


def half_labelled(rng, n=80, p=2, K=3):
    """Return rows of which half have labels, most of them known; and those rows alone."""
    X, Y = random_rows(rng, n, p, K, 0.8)
    Y[rng.random(n) < 0.5] = np.nan
    labelled = ~np.isnan(Y).all(axis=1)
    return (X, Y), (X[labelled], Y[labelled]), labelled


@pytest.mark.parametrize("name", STREAMS)
def test_learner(name):
    X, Y = rows_of(name)
    Y[::2] = np.nan
    labelled = ~np.isnan(Y).all(axis=1)
    learner, other = make_learner(name), make_learner(name)
    learner.learn(X, Y)
    other.learn(X[labelled], Y[labelled])
    assert learner.rows_seen == labelled.sum()
    assert_identical(state_of(learner), state_of(other))


def test_after_a_stream(rng):
    learner = unscaled_learner(2, 2, vigilance=0.3)
    X, Y = random_rows(rng, 30, 2, 2)
    learner.learn(X, Y)
    before = state_of(learner)
    learner.learn(1000.0 * X, np.full_like(Y, np.nan))
    assert_identical(state_of(learner), before)


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
@pytest.mark.parametrize("fitted", [False, True])
def test_saved_file(make, fitted, rng, tmp_path):
    initial = random_rows(rng, 20, 2, 3)
    for number, (X, Y) in enumerate(half_labelled(rng)[:2]):
        clf = make(**CAP)
        if fitted:
            clf.fit(*initial)
        for half in (slice(None, len(X) // 2), slice(len(X) // 2, None)):
            clf.partial_fit(X[half], Y[half])
        assert clf.learner_.counts["drops"] > 0
        efcml.save(clf, tmp_path / f"{number}.npz")
    first, second = ((tmp_path / f"{number}.npz").read_bytes() for number in (0, 1))
    assert first == second


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC, GlobalRLS])
def test_stream_with_scores(make, rng):
    """In a test-then-train run such a row is answered, and that is all."""
    initial = random_rows(rng, 20, 2, 3)
    whole, known, labelled = half_labelled(rng)
    keys = make().get_params()
    runs = []
    for X, Y in (whole, known):
        clf = make(**{name: value for name, value in CAP.items() if name in keys}).fit(*initial)
        runs.append((prequential(clf, X, Y), clf))
    (result, clf), (expected, other) = runs
    assert np.array_equal(result.scores[labelled], expected.scores)
    assert np.array_equal(clf.decision_function(whole[0]), other.decision_function(whole[0]))
    assert clf.learner_.rows_seen == other.learner_.rows_seen


def test_active_learner_without_answers(rng):
    """Questions that nobody can answer cost the budget, and teach nothing."""
    initial, (X, _) = random_rows(rng, 20, 2, 3), random_rows(rng, 20, 2, 3)
    clf = EFCMLClassifier(**CAP).fit(*initial)
    before = state_of(clf.learner_)
    active = ActiveLearner.all()
    prequential(clf, X, np.full((20, 3), np.nan), active=active)
    assert active.spent == 20
    for x in X:
        active.tell(clf, active.ask(clf, x), [np.nan] * 3)
    assert_identical(state_of(clf.learner_), before)


def test_late_labels_of_frequencies():
    """Every labelled row so far counts as not having a label that comes late; others do not."""
    nan = np.nan
    clf = LabelFrequencies().fit([[0.0], [0.0], [0.0]], [[1, 0], [nan, nan], [0, nan]])
    clf.learner_.add_labels(1)
    assert clf.learner_.known.tolist() == [2.0, 1.0, 2.0]


def test_river():
    models = [RiverEFCML(**CAP), RiverEFCML(**CAP)]
    ds = datasets.load("drifting-clusters", n=60, n_initial=30)
    for t, (x, y) in enumerate(zip(ds.X, ds.Y, strict=True)):
        row, labels = dict(enumerate(x)), dict(enumerate(y))
        for model in models:
            model.learn_one(row, labels)
        models[0].learn_one({0: 3.0 * t}, {name: None for name in labels})
    assert_identical(*(state_of(model.learner) for model in models))
