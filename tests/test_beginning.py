"""Answers before there are rules: a plain twin, chunks, files, odd rows, never behind."""

import numpy as np
import pytest
from helpers.streams import make_params, random_rows

from efcml import EFCMLClassifier, datasets, load, prequential, save
from efcml.datasets import DatasetNotFound
from efcml.measures import average_precision, partial_accuracy
from efcml.model import beginning
from efcml.model.learner import Learner
from efcml.rivals import LabelFrequencies
from efcml.saving.learners import learner_shapes

pytestmark = pytest.mark.uncompiled

ROWS = 40


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
def test_twin(known):
    X, Y = rows(known=known)
    X[12, 1] *= 20.0  # far out: counts as 3 deviations
    Y[:, 0] = np.where(np.isnan(Y[:, 0]), np.nan, X[:, 0] > 0.0)  # something to be learned
    Y = Y[(labelled := ~np.isnan(Y).all(axis=1))]
    X = X[labelled]
    learner = begin()
    assert np.allclose(trace_of(learner, X, Y), plain_scores(X, Y), atol=1e-9)
    assert learner.beginning.share > 0.1


def test_fewer_than_eight_rows_leave_the_frequencies_alone():
    X, Y = rows()
    learner = begin()
    learner.learn(X[:8], Y[:8])
    assert not learner.beginning.evidence.any()
    assert np.array_equal(learner.score(X), np.tile(Y[:8].mean(axis=0), (ROWS, 1)))
    learner.learn(X[8:9], Y[8:9])
    assert learner.beginning.evidence[2:].all()


def test_plain_waiting():
    X, Y = rows()
    learner = begin(provisional=False)
    learner.learn(X, Y)
    assert np.array_equal(learner.score(X), np.tile(learner.frequencies, (ROWS, 1)))
    assert not learner.beginning.evidence.any()
    assert not EFCMLClassifier.paper().provisional


@pytest.mark.parametrize("cuts", [range(1, ROWS), (5, 9, 31), (20,)])
def test_chunks(cuts):
    X, Y = rows(known=0.8)
    whole, parts = begin(), begin()
    whole.learn(X, Y)
    for part in np.split(np.arange(ROWS), list(cuts)):
        parts.score(X[:3])  # questions change nothing
        parts.learn(X[part], Y[part])
    same(whole, parts, X)


def test_rows_together_are_rows_alone():
    X, Y = rows()
    learner = begin()
    learner.learn(X, Y)
    assert np.array_equal(learner.score(X), np.vstack([learner.score(x[None]) for x in X]))


def test_copies_go_their_own_way():
    X, Y = rows()
    learner, other = begin(), begin()
    learner.learn(X[:20], Y[:20])
    twin = learner.copy()
    twin.learn(X[20:], Y[20:])
    other.learn(X[:20], Y[:20])
    same(learner, other, X)
    learner.learn(X[20:], Y[20:])
    same(learner, twin, X)


def test_saved_in_the_middle(tmp_path):
    X, Y = rows(known=0.8)
    clf = EFCMLClassifier().partial_fit(X[:25], Y[:25])
    save(clf, tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    same(clf.learner_, loaded.learner_, X)
    assert loaded.learner_.beginning.share > 0.0
    for one in (clf, loaded):
        one.partial_fit(X[25:], Y[25:])
    same(clf.learner_, loaded.learner_, X)


@pytest.mark.parametrize(
    "lie", [[], [0.0] * 7, [0] * 8, [0.0, -1.0, *[0.0] * 6], [float("nan")] * 8, ["a"] * 8]
)
def test_evidence_that_nothing_can_have_shown(lie):
    X, Y = rows()
    learner = begin()
    learner.learn(X, Y)
    facts, _ = learner.state()
    learner_shapes(facts)
    with pytest.raises(ValueError, match="evidence of a warm-up must be 8 numbers"):
        learner_shapes(facts | {"evidence": lie})


def test_labels_that_come_late():
    X, Y = rows()
    learner, parts = begin(), begin()
    for one, cuts in ((learner, [20]), (parts, [5, 20, 21])):
        for part in np.split(np.arange(ROWS), cuts):
            late = part[0] >= 20
            if late and one.n_labels == 2:
                before = one.score(X)
                one.add_labels(1)
                assert np.allclose(one.score(X)[:, :2], before, atol=1e-12)
                assert not one.score(X)[:, 2].any()
            labels = Y[part] if not late else np.column_stack([Y[part], X[part, 0] > 0.0])
            one.learn(X[part], labels)
    same(learner, parts, X)


def test_an_interrupt_leaves_whole_rows(monkeypatch):
    """What breaks off a row has not counted it."""
    X, Y = rows()
    learner, other = begin(), begin()
    learner.learn(X[:20], Y[:20])
    other.learn(X[:20], Y[:20])

    def fail(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(beginning, "solve", fail)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(X[20:], Y[20:])
    same(learner, other, X)


ODD = {
    "one class": lambda X, Y: (X, np.ones_like(Y)),
    "never 1": lambda X, Y: (X, np.zeros_like(Y)),
    "constant rows": lambda X, Y: (np.full_like(X, 7.0), Y),
    "constant feature": lambda X, Y: (np.column_stack([X[:, :2], np.full(len(X), 1e9)]), Y),
    "wild value": lambda X, Y: (np.where(np.arange(len(X))[:, None] == 9, 1e300, X), Y),
    "one label never known": lambda X, Y: (X, np.column_stack([Y[:, 0], np.full(len(Y), np.nan)])),
    "missing features": lambda X, Y: (np.where(X > 60.0, np.nan, X), Y),
    "a feature that nobody has": lambda X, Y: (np.column_stack([X[:, :2], np.nan * X[:, 0]]), Y),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_rows(case):
    X, Y = ODD[case](*rows())
    learner = begin()
    scores = trace_of(learner, X, Y)
    assert np.isfinite(scores).all()
    assert scores.min() > -1.0
    assert scores.max() < 2.0


@pytest.mark.parametrize(("p", "K"), [(1, 1), (120, 1), (4, 101)])
def test_sizes(p, K):
    X, Y = rows(30, p, K)
    assert np.isfinite(trace_of(begin(p, K), X, Y)).all()


def test_rows_without_labels_change_nothing():
    X, Y = rows()
    learner, other = begin(), begin()
    learner.learn(X, Y)
    gaps = np.insert(Y, [10, 30], np.nan, axis=0)
    other.learn(np.insert(X, [10, 30], 5.0, axis=0), gaps)
    same(learner, other, X)


def test_only_the_newest_rows_are_remembered(monkeypatch):
    monkeypatch.setattr(beginning, "NEWEST", 10)
    X, Y = rows()
    held = list(zip(X, Y, strict=True))
    found = beginning.Recollection(held, 6.0).answers(X[0])
    assert np.array_equal(found, beginning.Recollection(held[-10:], 6.0).answers(X[0]))


def test_what_the_rules_say_meanwhile():
    X, Y = rows()
    Y[:, 0] = X[:, 0] > 0.0
    clf = EFCMLClassifier().partial_fit(X, Y)
    share = clf.learner_.beginning.share
    assert share > 0.1
    assert str(clf.rules_).startswith("no rules yet: label frequencies of 40 rows answer, and sim")
    assert f"by {100 * share:.0f} %" in str(clf.rules_)
    explanation = clf.explain(X[0])
    assert np.array_equal(explanation.base, clf.decision_function(X[:1])[0] + 0.5)
    assert np.array_equal(clf.rules_.background.label_means, Y.mean(axis=0))


# One or two label decisions, no more: 2 of 20 rows with 6 labels are .017.
CLOSE = 0.02


@pytest.mark.parametrize("name", ["emotions", "stationary-clusters"])
@pytest.mark.parametrize("order", [0, 1])
def test_never_behind_label_frequencies(name, order):
    try:
        ds = datasets.load(name)
    except DatasetNotFound:
        pytest.skip(f"{name} is not there")
    chosen = np.arange(len(ds.X)) if order == 0 else np.random.default_rng(1).permutation(len(ds.X))
    X, Y = ds.X[chosen[:150]], ds.Y[chosen[:150]]
    ours, theirs = (
        prequential(model, X, Y, progress=False).scores
        for model in (EFCMLClassifier(), LabelFrequencies())
    )
    for n in (10, 20, 30, 50, 100, 150):
        pa = [partial_accuracy(Y[:n], scores[:n] >= 0.5) for scores in (ours, theirs)]
        ap = [average_precision(Y[:n], scores[:n]) for scores in (ours, theirs)]
        assert pa[0] >= pa[1] - CLOSE
        assert ap[0] >= ap[1] - CLOSE
    assert pa[0] > pa[1] + 0.04
    assert ap[0] > ap[1] + 0.04
