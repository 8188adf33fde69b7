"""Trust and time: kernels against the slow twin, closed forms, and what a learner makes of them."""

import pickle

import numpy as np
import pytest
from helpers.streams import assert_identical, assert_near, state_of
from naive.sequel import NaiveSequel
from numpy.testing import assert_allclose

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, load, prequential, save
from efcml.kernels import sequel as kernels
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.sequelbase import SequelBase

pytestmark = pytest.mark.uncompiled

ROWS = 260


def follow_each_other(rng, n, K, stay=0.9):
    """Labels each of which stays what it was in the row before, mostly; and scores that know less.

    The first label of a row is what the last one was in the row before.
    """
    Y = np.zeros((n, K))
    for t in range(1, n):
        Y[t] = np.where(rng.random(K) < stay, Y[t - 1], rng.random(K) < 0.4)
        Y[t, 0] = Y[t - 1, -1]
    return 0.4 + 0.3 * (Y - 0.4) + 0.3 * rng.normal(size=(n, K)), Y


def independent(rng, n, K):
    """Labels drawn with the probabilities that the scores are: nothing to be made better."""
    S = rng.random((n, K)) * 0.9 + 0.05
    return S, (rng.random((n, K)) < S).astype(float)


def hide(rng, Y, labels=0.0, rows=0.0):
    """Make a share of labels, or of rows, unknown."""
    hidden = (rng.random(Y.shape) < labels) | (rng.random((len(Y), 1)) < rows)
    return np.where(hidden, np.nan, Y)


def learn(base, s, y):
    """Learn one row as the kernel of the stream does."""
    known = ~np.isnan(y)
    if known.any():
        base.arrays.scores[:] = s
        kernels.learn_sequel(y, known, int(known.sum()), base.arrays)
    else:
        kernels.pass_row(base.arrays)


def answer(base, s, ahead=0):
    scores = s.copy()
    kernels.answer_sequel(ahead, base.arrays, scores)
    return scores


def shares_of(base):
    answer(base, np.full(len(base.arrays.ago), 0.5))
    return base.arrays.shares.copy()


def run(rows, K, **switches):
    """Learn rows from nothing and return the layer and the scores before each row."""
    base = SequelBase(K, **({"trusts": True, "times": True} | switches))
    scores = []
    for s, y in zip(*rows, strict=True):
        scores.append(answer(base, s))
        learn(base, s, y)
    return base, np.array(scores)


# The kernels


@pytest.mark.parametrize(
    "hidden", [{}, {"labels": 0.4}, {"rows": 0.5}, {"labels": 0.3, "rows": 0.2}]
)
@pytest.mark.parametrize("make", [follow_each_other, independent])
@pytest.mark.parametrize("K", [1, 4])
def test_kernels_are_the_twin(rng, make, hidden, K):
    S, Y = make(rng, ROWS, K)
    Y = hide(rng, Y, **hidden)
    base, twin = SequelBase(K, trusts=True, times=True), NaiveSequel(K)
    timed = 0.0
    for s, y in zip(S, Y, strict=True):
        for ahead in (0, 1, 6):
            assert_near(answer(base, s, ahead), twin.answer(s, ahead), 1e-7, 1e-9, "answer")
        timed = max(timed, base.arrays.shares[2:].sum())
        learn(base, s, y)
        twin.learn(s, y)
        found = base.state()
        for name, expected in twin.arrays().items():
            assert_near(found[name], expected, 1e-7, 1e-9, name)
    assert make is independent or K == 1 or timed > 0.0


@pytest.mark.parametrize(("trusts", "times"), [(True, False), (False, True)])
def test_either_can_be_off(rng, trusts, times):
    S, Y = follow_each_other(rng, ROWS, 3)
    base, twin = SequelBase(3, trusts=trusts, times=times), NaiveSequel(3, trust=trusts, time=times)
    for s, y in zip(S, Y, strict=True):
        assert_allclose(answer(base, s, 1), twin.answer(s, 1), rtol=1e-7, atol=1e-9)
        learn(base, s, y)
        twin.learn(s, y)
    found = shares_of(base)
    assert (found[1] == 0.0) == (not trusts) or found[2:].sum() == 1.0
    assert (found[2:].sum() > 0.0) == times


def test_without_evidence_a_score_stays_what_it_is():
    base = SequelBase(3, trusts=True, times=True)
    scores = np.array([0.1234567, 1.3, -0.2])
    assert np.array_equal(answer(base, scores), scores)


def test_where_rows_are_independent_and_the_model_right_nothing_changes(rng):
    S, Y = independent(rng, 600, 5)
    base, scores = run((S, Y), 5)
    assert np.array_equal(scores[50:], S[50:])
    assert shares_of(base).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_noise_is_not_trusted(rng):
    """Scores that say nothing: trust falls to 0, and frequencies answer."""
    Y = (rng.random((500, 4)) < [0.1, 0.3, 0.5, 0.8]).astype(float)
    S = rng.random((500, 4))
    base, scores = run((S, Y), 4)
    f = (base.arrays.ones + 0.5) / (base.arrays.seen + 1.0)
    assert base.arrays.steering[kernels.TRUST] < 0.1
    wrong, usual = (np.mean((Y[200:] - np.clip(each, 0, 1)) ** 2) for each in (scores[200:], f))
    assert wrong < 1.01 * usual


def test_labels_that_follow_each_other_are_told(rng):
    S, Y = follow_each_other(rng, 500, 4)
    base, scores = run((S, Y), 4)
    right, before = (((each >= 0.5) == Y)[100:].mean() for each in (scores, S))
    assert right > before + 0.1
    assert shares_of(base)[kernels.LINKED] > 0.5  # the first label is what the last one was
    assert ((scores >= 0.5) == Y)[200:, 0].mean() > 0.9


def test_trust_is_that_of_least_squares(rng):
    """Without forgetting worth mention the closed form is that of all rows, held by ten."""
    S, Y = independent(rng, 40, 3)
    base, _ = run((S, Y), 3)
    ones = np.vstack([np.zeros(3), np.cumsum(Y, axis=0)[:-1]])
    f = (ones + 0.5) / (np.arange(40)[:, None] + 1.0)
    weight = kernels.KEPT ** np.arange(39, -1, -1.0)[:, None]
    g = np.clip(S, 0, 1) - f
    spread = np.sum(weight * g * g)
    held = kernels.TRUST_HELD * spread / weight.sum() + kernels.TINY
    expected = (np.sum(weight * g * (Y - f)) + held) / (spread + held)
    answer(base, S[0])
    assert_allclose(base.arrays.steering[kernels.TRUST], np.clip(expected, 0, 1), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("stay", [0.5, 0.9])
def test_phi_is_how_quickly_labels_change(rng, stay):
    """Of a label that stays with probability p, p is left after a row."""
    n, K = 3000, 3
    Y = np.zeros((n, K))
    for t in range(1, n):
        Y[t] = np.where(rng.random(K) < stay, Y[t - 1], rng.random(K) < 0.5)
    base, _ = run((np.full((n, K), 0.5), Y), K)
    answer(base, np.full(K, 0.5))
    assert_allclose(base.arrays.steering[kernels.PHI], stay, atol=0.06)


def test_phi_is_capped(rng):
    Y = np.repeat(rng.integers(0, 2, size=(4, 2)), 200, axis=0).astype(float)
    base, _ = run((np.full(Y.shape, 0.5), Y), 2)
    answer(base, np.full(2, 0.5))
    assert base.arrays.steering[kernels.PHI] == kernels.MOST_PHI


def test_far_ahead_nothing_of_time_is_left(rng):
    S, Y = follow_each_other(rng, 400, 3)
    base, _ = run((S, Y), 3)
    s = np.array([0.2, 0.5, 0.9])
    assert not np.array_equal(answer(base, s), answer(base, s, 1))
    shares = base.arrays.plain.copy()
    f = (base.arrays.ones + 0.5) / (base.arrays.seen + 1.0)
    t = base.arrays.steering[kernels.TRUST]
    plain = shares[0] * s + shares[1] * (f + t * (s - f))
    assert_allclose(answer(base, s, 10**6), plain, rtol=1e-12)


def test_rows_that_go_by_are_rows_ahead(rng):
    S, Y = follow_each_other(rng, 300, 3)
    base, _ = run((S, Y), 3)
    expected = answer(base, S[0], 4)
    passed, waited = base.copy(), base.copy()
    passed.pass_rows(3)
    kernels.pass_row(passed.arrays)
    waited.wait(4)
    assert np.array_equal(answer(passed, S[0]), expected)
    assert np.array_equal(answer(waited, S[0]), expected)
    waited.stop_waiting(held=1)
    assert np.array_equal(answer(waited, S[0]), answer(base, S[0], 3))


# The base


def test_a_batch_is_a_hint_and_not_the_row_before(rng):
    S, Y = follow_each_other(rng, 400, 3)
    base = SequelBase(3, trusts=True, times=True)
    base.begin(Y - S, Y)
    arrays = base.arrays
    assert_allclose(arrays.ones, Y.sum(axis=0))
    assert arrays.seen.tolist() == [400.0] * 3
    assert_allclose(arrays.tally[kernels.WEIGHT], 30.0)
    assert (arrays.ago == kernels.NEVER).all()
    assert not arrays.errors.any()
    rows = np.array([answer(base, s, t) for t, s in enumerate(S[:20])])
    assert np.array_equal(rows, np.array([answer(base, s) for s in S[:20]]))


def test_rows_of_a_batch_do_not_know_their_own_labels(rng):
    """A label that one row has: to that row its frequency is that of the others."""
    Y = np.zeros((10, 1))
    Y[4] = 1.0
    base = SequelBase(1, trusts=True, times=False)
    base.begin(Y - 0.5, Y)
    expected = sum(
        (y - f) * (0.5 - f) * k
        for y, f, k in zip(
            Y[:, 0],
            np.where(Y[:, 0] == 1.0, 0.05, 0.15),
            kernels.KEPT ** np.arange(9, -1, -1.0),
            strict=True,
        )
    )
    assert_allclose(base.arrays.targets[0], expected)


def test_unknown_labels_of_a_batch_are_no_evidence(rng):
    S, Y = follow_each_other(rng, 200, 3)
    hidden = hide(rng, Y, labels=0.3, rows=0.1)
    one, other = (SequelBase(3, trusts=True, times=True) for _ in range(2))
    one.begin(hidden - S, hidden)
    other.begin(hidden - np.where(np.isnan(hidden), 7.0, S), hidden)
    for name, value in one.state().items():
        assert np.array_equal(value, other.state()[name]), name
        assert np.isfinite(value).all(), name


def test_late_labels_begin_with_nothing(rng):
    S, Y = follow_each_other(rng, 300, 3)
    base, _ = run((S, Y), 3)
    old = base.state()
    answers = answer(base, S[0])
    base.add_labels(2)
    for name, value in base.state().items():
        before = tuple(map(slice, old[name].shape))
        assert np.array_equal(value[before], old[name]), name
    arrays = base.arrays
    assert arrays.seen.tolist() == [300.0] * 5
    assert arrays.ago.tolist() == [1] * 5
    assert_allclose(np.diagonal(arrays.link_covariance)[3:], arrays.link_start[0])
    found = answer(base, np.append(S[0], [0.0, 0.0]))
    assert np.array_equal(found[:3], answers)
    learn(base, np.append(S[0], [0.0, 0.0]), np.append(Y[0], [1.0, 0.0]))
    assert np.isfinite(answer(base, np.zeros(5))).all()


def test_a_copy_is_independent(rng):
    S, Y = follow_each_other(rng, 50, 3)
    base, _ = run((S, Y), 3)
    other = base.copy()
    learn(other, S[0], Y[0])
    assert not np.array_equal(base.arrays.targets, other.arrays.targets)
    restored = SequelBase(3, trusts=True, times=True).restore(base.state())
    assert np.array_equal(answer(restored, S[1]), answer(base, S[1]))


# In a learner


def stream(rng, n=260, K=3, p=2):
    """Rows whose labels follow each other, and features that say a little of them."""
    _, Y = follow_each_other(rng, n, K)
    X = rng.normal(size=(n, p)) + Y[:, :1]
    return X, Y


QUICK = {"prior": 1.0, "max_rules": 4, "cases": 20, "warmup_rows": 20}


@pytest.fixture(scope="module")
def rows():
    return stream(np.random.default_rng(11))


def fitted(rows, n=60, **more):
    return EFCMLClassifier(**QUICK, **more).fit(rows[0][:n], rows[1][:n])


def timed_share(clf):
    return shares_of(clf.learner_.sequel)[2:].sum()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
def test_a_loop_is_a_prequential_run(rows, kind):
    X, Y = rows
    looped, run_through = (kind(**QUICK).fit(X[:60], Y[:60]) for _ in range(2))
    Y = hide(np.random.default_rng(2), Y, labels=0.1, rows=0.1)
    result = prequential(run_through, X[60:], Y[60:])
    for t in range(60, len(X)):
        expected = result.scores[t - 60] - 0.5
        assert np.array_equal(looped.decision_function(X[t : t + 1])[0], expected)
        looped.partial_fit(X[t : t + 1], Y[t : t + 1])
    if kind is EFCMLClassifier:
        assert timed_share(looped) > 0.0


@pytest.mark.slow
def test_chunks_do_not_matter(rows):
    X, Y = rows
    Y = hide(np.random.default_rng(1), Y, labels=0.2, rows=0.2)
    states = []
    for size in (1, 7, 200):
        learner = fitted(rows).learner_
        for first in range(60, len(X), size):
            learner.learn(X[first : first + size], Y[first : first + size])
        states.append(state_of(learner))
    assert_identical(states[0], states[1])
    assert_identical(states[0], states[2])


@pytest.mark.slow
@pytest.mark.parametrize("delay", [1, 5])
def test_under_delay_only_what_is_known_by_then_has_a_say(rows, delay):
    X, Y = rows
    expected = []
    learner = fitted(rows).learner_
    for t in range(60, len(X)):
        between = min(delay, t - 60)
        expected.append(learner.score(X[t - between : t + 1])[-1])
        if t - delay >= 60:
            learner.learn(X[t - delay : t - delay + 1], Y[t - delay : t - delay + 1])
    result = prequential(fitted(rows), X[60:], Y[60:], delay=delay)
    assert np.array_equal(result.scores, np.array(expected))


@pytest.mark.slow
def test_fit_then_predict_has_no_time_in_it(rng):
    """Rows sorted by class: the last one fitted is not the row before."""
    X, Y = stream(rng)
    order = np.argsort(Y @ [4, 2, 1], kind="stable")
    clf = fitted((X[order], Y[order]), n=len(X))
    together = clf.decision_function(X)
    alone = np.vstack([clf.decision_function(x[None]) for x in X])
    assert np.array_equal(together, alone)
    off = fitted((X[order], Y[order]), n=len(X), caution=False, time=False)
    right, before = (((each.decision_function(X) >= 0) == Y).mean() for each in (clf, off))
    assert right > before - 0.01


@pytest.mark.slow
def test_rows_of_a_block_know_less_and_less(rows):
    X, Y = rows
    clf = fitted(rows).partial_fit(X[60:], Y[60:])
    same = np.repeat(X[:1], 200, axis=0)
    found = clf.decision_function(same)
    gaps = np.abs(found - found[-1]).max(axis=1)
    assert gaps[0] > 0.05
    assert (np.diff(gaps) <= 1e-12).all()
    assert gaps[100] < 0.01


@pytest.mark.slow
def test_off_is_as_it_was(rows):
    X, Y = rows
    clf = fitted(rows, caution=False, time=False).partial_fit(X[60:], Y[60:])
    assert not clf.learner_.sequel.is_on
    assert not any(name.startswith("sequel/") for name in clf.learner_.state()[1])


def test_several_pairs_have_none(rows):
    learner = Learner(Params(**QUICK), 2, 3, pairs=[(0.0, 0.1), (0.1, 0.1)])
    learner.fit(rows[0][:60], rows[1][:60]).learn(rows[0][60:80], rows[1][60:80])
    assert not learner.sequel.is_on


@pytest.mark.slow
def test_saved_and_loaded_it_goes_on(rows, tmp_path):
    X, Y = rows
    clf = fitted(rows).partial_fit(X[60:200], Y[60:200])
    save(clf, tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert_identical(state_of(loaded.learner_), state_of(clf.learner_))
    for one in (clf, loaded):
        one.partial_fit(X[200:], Y[200:])
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))


@pytest.mark.slow
def test_late_labels_of_a_learner(rows):
    X, Y = rows
    learner = fitted(rows).learner_
    learner.learn(X[60:200], Y[60:200])
    learner.add_labels(1)
    more = np.column_stack([Y, Y[:, 0]])
    learner.learn(X[200:], more[200:])
    assert np.isfinite(learner.score(X[:5])).all()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_rows_that_nobody_asks_for_go_by(rows, unit):
    """A stream under a budget and single questions agree, also in how long ago rows were known."""
    X, Y = rows
    whole, single = fitted(rows), fitted(rows)
    asks, tells = (ActiveLearner(0.4, unit, random_state=3) for _ in range(2))
    result = prequential(whole, X[60:], Y[60:], active=asks)
    for t in range(60, len(X)):
        question = tells.ask(single, X[t])
        assert np.array_equal(question.scores, result.scores[t - 60])
        tells.tell(single, question, np.where(question.labels, Y[t], np.nan) if question else None)
    assert_identical(state_of(single.learner_), state_of(whole.learner_))


@pytest.mark.slow
def test_rows_held_for_their_scale_are_rows_that_wait(rows):
    X, Y = rows
    X = X.copy()
    X[120:] = X[120:] * 50.0 + 1000.0
    Y = hide(np.random.default_rng(4), Y, rows=0.2)
    one, many = fitted((X, Y)).learner_, fitted((X, Y)).learner_
    waited = 0
    for t in range(60, len(X)):
        one.learn(X[t : t + 1], Y[t : t + 1])
        waited = max(waited, int(one.sequel.arrays.waiting[0]))
    for part in np.array_split(
        np.arange(60, len(X)), 3
    ):  # so few that nothing is said about clipping
        many.learn(X[part], Y[part])
    assert waited > 30
    assert one.following.changes != (0, 0)
    assert one.sequel.arrays.waiting[0] == 0
    assert_identical(state_of(one), state_of(many))


@pytest.mark.slow
def test_what_is_added_is_told(rows):
    X, Y = rows
    clf = fitted(rows).partial_fit(X[60:], Y[60:])
    found = clf.explain(X[0])
    assert {"the last labels", "label frequencies"} <= found.afterwards.keys()
    added = found.base + found.by_feature.sum(axis=0) + found.by_cases
    assert_allclose(added + sum(found.afterwards.values()), found.score, atol=1e-9)
    frame = found.to_frame()
    assert_allclose(frame.groupby("label", sort=False).contribution.sum(), found.score, atol=1e-9)
    assert "the last labels move" in str(found)


@pytest.mark.slow
def test_pickled_it_owns_its_arrays(rows):
    X, Y = rows
    clf = fitted(rows).partial_fit(X[60:], Y[60:])
    buffers = []
    frozen = pickle.dumps(clf.learner_.sequel, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(frozen, buffers=[bytes(part) for part in buffers])  # read-only
    assert np.array_equal(answer(loaded, Y[0]), answer(clf.learner_.sequel, Y[0]))
    learn(loaded, Y[0], Y[1])
