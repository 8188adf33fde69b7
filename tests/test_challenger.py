"""A challenger: fitted to the last rows, it learns beside the model until one of them is better."""

import numpy as np
import pytest
from helpers.streams import make_params
from numpy.testing import assert_array_equal

from efcml import EFCMLClassifier, load, prequential, save
from efcml.model.challenger import LEAST_ROWS, TRIAL
from efcml.model.learner import EARLY, Learner
from efcml.model.params import Params
from efcml.model.trace import Trace
from efcml.model.watch import BEGUN, DOUBT, ROWS, STEP, WHY, Watch

RISEN = "errors have risen"
QUICK = {"cases": 20, "prior": 1.0, "split_share": 0.3, "relevance": "off"}


def other_law(rng, n=1100, change=600, p=4):
    """Labels follow one plane, and from a row on the contrary of another."""
    X = rng.normal(size=(n, p))
    late = (np.arange(n) >= change)[:, None]
    H = np.where(late, -X[:, :2] - X[:, 2:], X[:, :2])
    return X, (H + 0.2 * rng.normal(size=H.shape) > 0.0).astype(float)


def same(one, other):
    facts, arrays = one.state()
    others, more = other.state()
    assert facts == others and arrays.keys() == more.keys()
    for name in arrays:
        assert_array_equal(arrays[name], more[name], err_msg=name)


def learn_until_beside(learner, X, Y):
    """Learn rows until a challenger stands beside the learner; return how many have come."""
    t = 200
    while learner.other is None:
        learner.learn(X[t : t + 20], Y[t : t + 20])
        t += 20
    return t


def test_it_takes_over_when_the_law_changes(rng):
    X, Y = other_law(rng)
    clf = EFCMLClassifier(**QUICK).fit(X[:200], Y[:200])
    result = prequential(clf, X[200:], Y[200:])
    anew = [(row, reason) for row, kind, reason in result.events if kind == "began anew"]
    assert [reason for _, reason in anew] == [RISEN]
    row = anew[0][0] + 200
    assert 600 + LEAST_ROWS < row <= 600 + LEAST_ROWS + 2 * STEP + TRIAL
    frozen = EFCMLClassifier(**QUICK | {"forgetting": 1.0}).fit(X[:200], Y[:200])
    without = prequential(frozen, X[200:], Y[200:])
    assert not any(kind == "began anew" for _, kind, _ in without.events)
    right = [(one.decisions[row - 200 :] == Y[row:]).mean() for one in (result, without)]
    assert right[0] > right[1] + 0.02
    uids = clf.learner_.rules.uid
    assert (uids > 0).all() and len({*uids.tolist()}) == len(uids)
    assert clf.learner_.rows_seen == 1100


def test_one_that_loses_leaves_no_trace(rng, monkeypatch):
    """It answers nothing, and the model learns as if it were alone."""
    X, Y = other_law(rng, 900, 2000)
    monkeypatch.setattr(Watch, "has_risen", False)
    alone = Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200]).learn(X[200:], Y[200:])
    monkeypatch.setattr(Watch, "has_risen", True)
    monkeypatch.setattr("efcml.model.challenger.SURE", np.inf)
    called = Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200])
    trace, beside = Trace.for_rows(700, 2), 0
    for t in range(200, 900):
        part = trace.part(slice(t - 200, t - 199))
        called.learn(X[t : t + 1], Y[t : t + 1], part)
        beside += called.other is not None
        assert not any(kind == "began anew" for _, kind, _ in part.events)
    assert beside >= TRIAL
    assert_array_equal(called.score(X), alone.score(X))
    assert_array_equal(called.rules.uid, alone.rules.uid)


@pytest.mark.parametrize("gaps", [False, True])
def test_any_split_copy_and_file_in_the_middle_of_a_trial(rng, tmp_path, gaps):
    X, Y = other_law(rng)
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
        Y[rng.random(Y.shape) < 0.1] = np.nan
        Y[::9] = np.nan
    whole, parts = (EFCMLClassifier(**QUICK).fit(X[:200], Y[:200]) for _ in range(2))
    whole.partial_fit(X[200:], Y[200:])
    trials = 0
    for t in range(200, 1100, 7):
        parts.partial_fit(X[t : t + 7], Y[t : t + 7])
        learner = parts.learner_
        if learner.other is not None and learner.watch[ROWS] - learner.watch[BEGUN] > 20:
            trials += 1
            if trials == 2:
                save(parts, tmp_path / "model.npz")
                parts = load(tmp_path / "model.npz")
            elif trials == 4:
                parts.learner_ = learner.copy()
    assert trials > 4
    same(whole.learner_, parts.learner_)
    assert_array_equal(whole.predict_proba(X[:9]), parts.predict_proba(X[:9]))


def test_new_labels_and_rows_that_go_by_reach_it(rng):
    X, Y = other_law(rng)
    learner = Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200])
    t = learn_until_beside(learner, X, Y)
    learner.add_labels(1)
    learner.pass_rows(3)
    clock = learner.other.stages[-1].arrays.clock.copy()
    learner.learn(X[t : t + 5], np.insert(Y[t : t + 5], 2, 0.0, axis=1), late=2)
    assert learner.other.n_labels == 3 and (learner.other.stages[-1].arrays.clock >= clock).all()
    learner.learn(X[t + 5 :], np.insert(Y[t + 5 :], 2, 0.0, axis=1))
    assert learner.score(X[:2]).shape == (2, 3)


@pytest.mark.filterwarnings("ignore:rule")
def test_the_paper_has_none(rng):
    X, Y = other_law(rng)
    clf = EFCMLClassifier.paper().fit(X[:200], Y[:200])
    result = prequential(clf, X[200:], Y[200:])
    assert {kind for _, kind, _ in result.events} <= {"birth", "merge", "drop", "split"}


# The first rows


@pytest.mark.uncompiled
def test_first_rows_are_fitted_early_and_once_more(rng):
    """The second fit gives what `fit` gives; up to it rules and similar rows answer."""
    X, Y = rng.normal(size=(90, 3)), (rng.normal(size=(90, 2)) > 0.0).astype(float)
    Y[:, 0] = X[:, 0] > 0.0
    params = make_params(warmup_rows=80, cases=8, time=True)
    learner, seen = Learner(params, 3, 2), []
    trace = Trace.for_rows(80, 2)
    for t in range(80):
        row = trace.part(slice(t, t + 1))
        learner.learn(X[t : t + 1], Y[t : t + 1], row)
        seen.append(learner.n_rules)
        if t == 60:
            rules = learner.score_scaled(learner.scaled(X[:5]))
            similar = learner.warm_start.answer(learner.frequencies, X[:5])
            assert_array_equal(learner.score(X[:5]), 0.5 * (rules + similar))
            again = Learner.from_state(*learner.state())
            assert_array_equal(again.score(X[:5]), learner.score(X[:5]))
            learner = again
        trace.take_events(row, t)
    assert seen[EARLY - 2] == 0 < min(seen[EARLY - 1 :])
    fitted = Learner(params, 3, 2).fit(X[:80], Y[:80])
    assert_array_equal(learner.rules.W, fitted.rules.W)
    assert_array_equal(learner.score(X), fitted.score(X))
    assert [row for row, kind, _ in trace.events if kind == "began anew"] == [79]
    assert not learner.warming_up and learner.held == []
    same(Learner(params, 3, 2).learn(X, Y), learner.learn(X[80:], Y[80:]))


def test_features_may_still_come_while_the_first_rows_are_held(rng):
    X, Y = rng.normal(size=(120, 4)), (rng.normal(size=(120, 1)) > 0.0).astype(float)
    wide = X.copy()
    wide[:70, 3] = np.nan
    learner, whole = Learner(make_params(warmup_rows=100), 3, 1), None
    learner.learn(X[:70, :3], Y[:70])
    assert learner.fitted and learner.warming_up
    learner.take_features(4)
    learner.held = [(np.append(x, np.nan), y) for x, y in learner.held]
    learner.learn(X[70:], Y[70:])
    whole = Learner(make_params(warmup_rows=100), 4, 1).learn(wide, Y)
    assert_array_equal(learner.rules.W, whole.rules.W)


# Files


def test_what_cannot_stand_beside_a_model_is_refused(rng):
    X, Y = other_law(rng)
    learner = Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200])
    learn_until_beside(learner, X, Y)
    facts, arrays = learner.state()
    twice = facts["other"] | {"other": facts["other"]}
    for name, value in (("n_labels", 3), ("other", twice), ("window", 0)):
        with pytest.raises(ValueError):
            Learner.from_state(facts | {"other": facts["other"] | {name: value}}, arrays)
    with pytest.raises(ValueError, match="arrays"):
        Learner.from_state(facts | {"other": None}, arrays)
    for entry, value in ((DOUBT, 2), (BEGUN, 10**6), (WHY, 3)):
        counts = arrays["watch/count"].copy()
        counts[entry] = value
        with pytest.raises(ValueError, match="counts of its last rows"):
            Learner.from_state(facts, arrays | {"watch/count": counts})


def test_a_fit_knows_nothing_of_a_stream_before(rng):
    """Nor how late labels came; a model in its warm-up is the same whether answers are noted."""
    X, Y = other_law(rng, 400)
    used = Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200])
    trace = Trace.for_rows(100, 2)
    trace.delay = 9
    used.learn(X[200:300], Y[200:300], trace)
    same(used.fit(X[:200], Y[:200]), Learner(Params(**QUICK), 4, 2).fit(X[:200], Y[:200]))
    quiet, noted = (Learner(Params(**QUICK), 4, 2) for _ in range(2))
    same(quiet.learn(X[:90], Y[:90]), noted.learn(X[:90], Y[:90], Trace.for_rows(90, 2)))
