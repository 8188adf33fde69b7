"""Answers before there are rules: a plain twin, copies and files, odd rows."""

import numpy as np
import pytest
from helpers.streams import COMPILED, make_params, random_rows

from efcml import EFCMLClassifier, load, save
from efcml.model import beginning
from efcml.model.learner import Learner

pytestmark = pytest.mark.uncompiled

ROWS = 40 if COMPILED else 26


def begin(p=3, K=2, **changes):
    return Learner(make_params(warmup_rows=100, **changes), p, K)


def rows(n=ROWS, p=3, K=2, known=1.0, seed=4):
    X, Y = random_rows(np.random.default_rng(seed), n, p, K, known)
    return 50.0 * X - 3.0, Y


def plain_answers(X, Y, x):
    """What the six memories say of a row, by the formulas, one label and one pair at a time."""
    n, p = X.shape
    mean, spread = X.mean(axis=0), X.std(axis=0)

    def place(row):
        return np.clip((row - mean) / spread, -3.0, 3.0)

    found = []
    for width, noise, kept in beginning.MEMORIES:

        def alike(a, b, width=width):
            return np.exp(-((place(a) - place(b)) ** 2).sum() / (2.0 * p * width))

        C = np.array([[alike(a, b) for b in X] for a in X])
        C += np.diag([noise / kept ** (n - 1 - i) for i in range(n)])
        inverse = np.linalg.inv(C)
        k = np.array([alike(a, x) for a in X])
        answer = []
        for y in Y.T:
            known = ~np.isnan(y)
            y = np.where(known, y, y[known].mean() if known.any() else 0.0)
            level = inverse.sum(axis=0) @ y / inverse.sum()
            answer.append(level + k @ inverse @ (y - level))
        found.append(answer)
    return np.array(found)


def plain_scores(X, Y):
    """The scores of all rows, each before it is held."""
    scores, wrong, gained, moved = np.zeros(Y.shape), np.zeros(6), 0.0, 0.0
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        seen = [Y[:t, c][~np.isnan(Y[:t, c])] for c in range(Y.shape[1])]
        usual = np.array([label.mean() if len(label) else 0.0 for label in seen])
        scores[t] = usual
        if t < 8:
            continue
        answers = plain_answers(X[:t], Y[:t], x)
        together = np.average(answers, axis=0, weights=np.exp(-(wrong - wrong.min())))
        share = min(1.0, max(0.0, gained / (moved + 2.0)))
        scores[t] = (1.0 - share) * usual + share * together
        known = ~np.isnan(y)
        gained += ((together - usual) * (y - usual))[known].sum()
        moved += ((together - usual) ** 2)[known].sum()
        wrong += ((np.clip(answers, 0.0, 1.0) - y) ** 2)[:, known].sum(axis=1)
    return scores


def trace_of(learner, X, Y):
    """The score of every row before it is learned."""
    scores = []
    for t in range(len(X)):
        scores.append(learner.score(X[t : t + 1])[0])
        learner.learn(X[t : t + 1], Y[t : t + 1])
    return np.array(scores)


def same(a, b, X):
    """Whether two learners hold the same and answer the same, to the last bit."""
    assert np.array_equal(a.beginning.evidence, b.beginning.evidence)
    assert np.array_equal(a.score(X), b.score(X))
    assert a.state()[0] == b.state()[0]


@pytest.mark.parametrize("known", [1.0, 0.7])
def test_scores_are_those_of_the_plain_formulas(known):
    X, Y = rows(known=known)
    X[12, 1] *= 20.0  # far out: counts as 3 deviations
    Y[:, 0] = np.where(np.isnan(Y[:, 0]), np.nan, X[:, 0] > 0.0)  # something to be learned
    Y = Y[(labelled := ~np.isnan(Y).all(axis=1))]
    X = X[labelled]
    learner = begin()
    assert np.allclose(trace_of(learner, X, Y), plain_scores(X, Y), atol=1e-9)
    assert learner.beginning.share > 0.1


def test_without_provisional_answers_frequencies_answer():
    X, Y = rows()
    learner = begin(provisional=False)
    learner.learn(X, Y)
    assert np.array_equal(learner.score(X), np.tile(learner.frequencies, (ROWS, 1)))
    assert not learner.beginning.evidence.any()
    assert not EFCMLClassifier.paper().provisional


def test_questions_copies_and_files_change_nothing(tmp_path):
    X, Y = rows(known=0.8)
    whole = EFCMLClassifier().partial_fit(X, Y)
    parts = EFCMLClassifier().partial_fit(X[:25], Y[:25])
    parts.decision_function(X[:3])
    save(parts, tmp_path / "model.npz")
    loaded, copied = load(tmp_path / "model.npz"), parts.learner_.copy()
    assert loaded.learner_.beginning.share > 0.0
    copied.learn(X[25:], Y[25:])
    same(parts.learner_, loaded.learner_, X)
    loaded.partial_fit(X[25:], Y[25:])
    same(whole.learner_, loaded.learner_, X)
    same(whole.learner_, copied, X)


def test_labels_that_come_late_were_never_true():
    X, Y = rows()
    learner = begin()
    learner.learn(X[:20], Y[:20])
    before = learner.score(X)
    learner.add_labels(1)
    assert np.allclose(learner.score(X)[:, :2], before, atol=1e-12)
    assert not learner.score(X)[:, 2].any()
    whole = begin(K=3)
    whole.learn(X[:20], np.column_stack([Y[:20], np.zeros(20)]))
    assert np.allclose(learner.score(X), whole.score(X), atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda X, Y: (X, np.ones_like(Y)),
        lambda X, Y: (np.full_like(X, 7.0), Y),
        lambda X, Y: (np.where(np.arange(len(X))[:, None] == 9, 1e300, X), Y),
        lambda X, Y: (X, np.column_stack([Y[:, 0], np.full(len(Y), np.nan)])),
        lambda X, Y: (np.where(X > 60.0, np.nan, X), Y),
        lambda X, Y: (np.column_stack([X[:, :2], np.nan * X[:, 0]]), Y),
    ],
    ids=["one class", "constant", "wild", "never known", "gaps", "a feature that nobody has"],
)
def test_odd_rows_have_answers_near_labels(change):
    X, Y = change(*rows())
    scores = trace_of(begin(), X, Y)
    assert scores.min() > -1.0
    assert scores.max() < 2.0


def test_only_the_newest_rows_are_remembered(monkeypatch):
    monkeypatch.setattr(beginning, "NEWEST", 10)
    X, Y = rows()
    held = list(zip(X, Y, strict=True))
    found = beginning.Recollection(held, 6.0).answers(X[0])
    assert np.array_equal(found, beginning.Recollection(held[-10:], 6.0).answers(X[0]))
