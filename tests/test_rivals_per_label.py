"""One learner per label and the chain: equal to what a slow loop by hand gives, bit for bit."""

import pickle
from inspect import signature

import numpy as np
import pytest
from helpers.models import (
    EVERYTHING,
    N_INITIAL,
    QUICK,
    freeze,
    hide,
    learn_in_chunks,
    problem,
    stream,
)
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.trace import Trace
from efcml.rivals.per_label import ChainLearner, OneVsRestLearner, split_uid

ALONE = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
SMALL = QUICK | {"max_rules": 5}
OPTIONS = pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
LABELS = pytest.mark.parametrize("labels", ["known", "unknown"])
RIVALS = pytest.mark.parametrize("make", [OneVsRestEFC, ChainEFC])
ORDERS = pytest.mark.parametrize("order", [None, [2, 0, 1]], ids=["columns", "order"])


# -- one versus rest --------------------------------------------------------------------------


def of_one_label(learner):
    """Return the learner as it would be among models of one label each: these do not decide."""
    other = learner.copy()
    other.layered, other.labels = False, None
    return other


@OPTIONS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_one_versus_rest_is_one_classifier_per_label(options, start):
    X, Y = problem()
    y = Y.astype(int)
    clf = OneVsRestEFC(**options)
    alone = [EFCMLClassifier(**(ALONE | options)) for _ in range(3)]
    begin = 0
    if start == "fit":
        begin = N_INITIAL
        clf.fit(X[:begin], Y[:begin])
        alone = [one.fit(X[:begin], y[:begin, c]) for c, one in enumerate(alone)]
    result = prequential(clf, X[begin:], Y[begin:])
    rules = 0
    for c, one in enumerate(alone):
        expected = prequential(one, X[begin:], y[begin:, c])
        np.testing.assert_array_equal(result.scores[:, [c]], expected.scores)
        assert freeze(clf.learner_.models[c]) == freeze(of_one_label(one.learner_))
        rules = rules + expected.rules
        np.testing.assert_array_equal(clf.decision_function(X)[:, c], one.decision_function(X))
    np.testing.assert_array_equal(result.rules, rules)


def test_labels_that_are_partly_known_are_learned_alone():
    X, Y = problem("unknown")
    clf = OneVsRestEFC(**QUICK).fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    for c in range(3):
        one = EFCMLClassifier(**(ALONE | QUICK)).fit(X[:40], Y[:40, [c]])
        one.partial_fit(X[40:], Y[40:, [c]])
        assert freeze(clf.learner_.models[c]) == freeze(of_one_label(one.learner_))


# -- the chain --------------------------------------------------------------------------------


class SlowChain:
    """A chain by hand: one row at a time, one learner per label."""

    def __init__(self, clf, n_features, n_labels, order):
        params = Params(**{name: getattr(clf, name) for name in Params.names()})
        self.order = range(n_labels) if order is None else order
        self.models = [Learner(params, n_features + i, 1, layered=False) for i in range(n_labels)]

    def fit(self, X, Y):
        inputs = X
        for model, label in zip(self.models, self.order, strict=True):
            model.fit(inputs, Y[:, [label]])
            inputs = np.hstack([inputs, Y[:, [label]]])

    def score(self, x):
        scores = np.empty(len(self.models))
        for model, label in zip(self.models, self.order, strict=True):
            scores[label] = model.score(x[None])[0, 0]
            x = np.append(x, float(scores[label] >= 0.5))
        return scores

    def learn(self, x, y):
        decided = (self.score(x) >= 0.5).astype(float)
        for model, label in zip(self.models, self.order, strict=True):
            model.learn(x[None], y[None, [label]])
            x = np.append(x, decided[label] if np.isnan(y[label]) else y[label])


@OPTIONS
@LABELS
@ORDERS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_the_chain_is_the_loop_by_hand(options, labels, order, start):
    X, Y = problem(labels)  # with unknown labels from row 25 on
    clf = ChainEFC(**options, order=order)
    slow = SlowChain(clf, 3, 3, order)
    begin = 0
    if start == "fit":
        begin = N_INITIAL
        clf.fit(X[:begin], Y[:begin])
        slow.fit(X[:begin], Y[:begin])
    result = prequential(clf, X[begin:], Y[begin:])
    for t in range(begin, len(X)):
        np.testing.assert_array_equal(result.scores[t - begin], slow.score(X[t]), err_msg=str(t))
        slow.learn(X[t], Y[t])
        assert result.rules[t - begin] == sum(model.n_rules for model in slow.models)
    for model, twin in zip(clf.learner_.models, slow.models, strict=True):
        assert freeze(model) == freeze(twin)
    answers = np.array([slow.score(x) for x in X])
    found = np.vstack([clf.decision_function(x[None]) for x in X])  # each as the next row
    np.testing.assert_array_equal(found, answers - 0.5)


@ORDERS
def test_the_chain_never_sees_the_true_labels_of_the_row(order):
    """Whatever the labels of a row and of the rows after it are, its scores are the same."""
    X, Y = problem()
    Y[:, 1] = Y[:, 0]  # a leak would be seen at once: one label gives the next one away
    fitted = ChainEFC(**QUICK, order=order).fit(X[:N_INITIAL], Y[:N_INITIAL])
    for t in (N_INITIAL, 35, 59):
        seen = []
        for change in (lambda rows: rows, lambda rows: 1.0 - rows, lambda rows: rows * np.nan):
            labels = Y.copy()
            labels[t:] = change(labels[t:])
            clf = pickle.loads(pickle.dumps(fitted))
            result = prequential(clf, X[N_INITIAL:], labels[N_INITIAL:])
            seen.append(result.scores[: t - N_INITIAL + 1])
        np.testing.assert_array_equal(seen[0], seen[1])
        np.testing.assert_array_equal(seen[0], seen[2])


def test_the_chain_learns_from_true_labels():
    """The second label repeats a first one that no feature tells: training must see it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.tile(rng.integers(0, 2, size=(80, 1)).astype(float), 2)
    clf = ChainEFC(**QUICK | {"vigilance": 9.0}).fit(X, Y)
    second = clf.learner_.models[1]
    asked = np.hstack([X[:10], np.zeros((10, 1))]), np.hstack([X[:10], np.ones((10, 1))])
    assert (second.score(asked[0]) < 0.5).all()
    assert (second.score(asked[1]) > 0.5).all()


def test_the_order_matters():
    X, Y = problem()
    scores = []
    for order in (None, [0, 1, 2], [2, 1, 0]):
        clf = ChainEFC(**QUICK, order=order).fit(X, Y)
        scores.append(clf.decision_function(X))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    # the first of the chain is a model alone
    one = EFCMLClassifier(**(ALONE | QUICK)).fit(X, Y[:, [2]])
    np.testing.assert_array_equal(scores[2][:, [2]], one.decision_function(X))


def test_random_orders_follow_the_seed():
    X, Y = stream(20, n_labels=6)
    orders = [
        ChainEFC(**SMALL, order="random", random_state=seed).fit(X, Y).learner_.order.tolist()
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(6))


@pytest.mark.parametrize(
    "order", [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2.0], "reverse", "012", 3, [[0, 1, 2]], {}]
)
def test_bad_orders(order):
    X, Y = stream(20)
    clf = ChainEFC(**QUICK, order=order)
    before = freeze(clf)
    match = r"order must be None, 'random' or the labels 0..2, each once; got"
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(ValueError, match=match) as caught:
            learn(X, Y)
        assert "\n" not in str(caught.value)
        assert freeze(clf) == before


def test_a_fitted_chain_stands_in_for_unknown_labels():
    X, Y = problem()
    Y[:, 0] = np.random.default_rng(5).integers(0, 2, size=60)  # no feature tells it
    Y[:, 1] = Y[:, 0]
    hidden = Y.copy()
    hidden[5:15, 0] = np.nan
    hidden[10:20, 1] = np.nan
    clf = ChainEFC(**QUICK).fit(X, hidden)
    inputs = own = X
    for c in range(3):
        y = hidden[:, [c]]
        model = Learner(clf.learner_.params, 3 + c, 1, layered=False).fit(inputs, y)
        assert freeze(clf.learner_.models[c]) == freeze(model)
        decided = (model.score(own) >= 0.5).astype(float)
        own = np.hstack([own, decided])
        inputs = np.hstack([inputs, np.where(np.isnan(y), decided, y)])


def test_rows_to_be_scored_need_not_be_those_learned():
    """With unknown labels the chain has to score both, and learns as if it had scored one."""
    X, Y = problem("unknown")
    clf = ChainEFC(**QUICK).fit(X[:N_INITIAL], Y[:N_INITIAL])
    plain, other = clf.learner_.copy(), clf.learner_.copy()
    slow = clf.learner_.copy()
    rows = X[::-1].copy()
    trace = Trace.for_rows(60, 3)
    trace.rows = rows
    other.learn(X, Y, trace)
    assert freeze(other) == freeze(plain.learn(X, Y))
    for t in range(60):
        np.testing.assert_array_equal(trace.scores[t], slow.score(rows[t : t + 1])[0])
        slow.learn(X[t : t + 1], Y[t : t + 1])
        assert trace.rules[t] == slow.n_rules


# -- both -------------------------------------------------------------------------------------


@RIVALS
@LABELS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_any_split_gives_the_same_state(make, labels, start):
    X, Y = problem(labels, n=45)
    initial = make(**QUICK)
    if start == "fit":
        initial.fit(X[:N_INITIAL], Y[:N_INITIAL])
    states = [
        freeze(learn_in_chunks(pickle.loads(pickle.dumps(initial)), X, Y, sizes))
        for sizes in ([45], [1] * 45, [7] * 6 + [3])
    ]
    assert states[0] == states[1] == states[2]


@RIVALS
def test_warm_up_is_fit_then_partial_fit(make):
    X, Y = stream(40)
    expected = make(**QUICK).fit(X[:12], Y[:12]).partial_fit(X[12:], Y[12:])
    clf = make(**QUICK).partial_fit(X[:5], Y[:5])
    assert clf.n_rules_ == 0
    assert not clf.learner_.fitted
    frequencies = np.tile(Y[:5].mean(axis=0), (4, 1))
    np.testing.assert_allclose(clf.decision_function(X[:4]), frequencies - 0.5, atol=1e-15)
    clf.partial_fit(X[5:], Y[5:])
    assert freeze(clf) == freeze(expected)
    assert clf.learner_.fitted
    assert clf.learner_.rows_seen == 40


@RIVALS
def test_a_label_that_is_never_known_stays_in_its_warm_up(make):
    X, Y = stream(40)
    Y[:20, 1] = np.nan
    clf = make(**QUICK).fit(X[:20], Y[:20])
    assert [model.fitted for model in clf.learner_.models] == [True, False, True]
    assert not clf.learner_.fitted
    assert (clf.decision_function(X)[:, 1] == -0.5).all()
    clf.partial_fit(X[20:], Y[20:])
    assert clf.learner_.fitted


@RIVALS
@LABELS
def test_events_name_label_and_rule(make, labels):
    X, Y = stream(100, n_features=2, n_labels=2)
    Y[-30:] = hide(Y[-30:]) if labels == "unknown" else Y[-30:]
    clf = make(**SMALL | {"vigilance": 0.2}).fit(X[:N_INITIAL], Y[:N_INITIAL])
    X, Y = X[N_INITIAL:], Y[N_INITIAL:]
    counts, rules = clf.learner_.counts, clf.n_rules_
    alive = [set(model.rules.uid.tolist()) for model in clf.learner_.models]
    result = prequential(clf, X, Y)
    changes = np.zeros(len(X), dtype=int)
    for row, kind, uid in result.events:
        label, rule = split_uid(uid)
        changes[row] += 1 if kind == "birth" else -1
        assert (rule in alive[label]) == (kind != "birth")
        alive[label].add(rule)
    np.testing.assert_array_equal(np.cumsum(changes) + rules, result.rules)
    assert result.births > 0
    assert result.merges + result.drops > 0
    for kind in ("births", "merges", "drops"):
        assert getattr(result, kind) == clf.learner_.counts[kind] - counts[kind]
    assert {split_uid(uid)[0] for _, _, uid in result.events} == {0, 1}
    rows = [row for row, _, _ in result.events]
    assert rows == sorted(rows)


@RIVALS
def test_copies_are_independent(make):
    X, Y = stream(40)
    learner = make(**QUICK).fit(X[:20], Y[:20]).learner_
    before = freeze(learner)
    other = learner.copy()
    assert type(other) is type(learner)
    assert freeze(other) == before
    other.learn(X[20:], Y[20:])
    assert freeze(learner) == before != freeze(other)
    learner.learn(X[20:], Y[20:])
    assert freeze(learner) == freeze(other)


@RIVALS
def test_fit_starts_anew(make):
    X, Y = stream(40)
    clf = make(**QUICK).fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    clf.learner_.fit(X[:20], Y[:20])
    assert freeze(clf.learner_) == freeze(make(**QUICK).fit(X[:20], Y[:20]).learner_)


@pytest.mark.parametrize("make", [OneVsRestLearner, ChainLearner])
def test_late_labels_are_refused(make):
    with pytest.raises(NotImplementedError, match="cannot take in late labels: fit again"):
        make(Params(), 3, 3).add_labels(1)


@RIVALS
def test_parameters_are_those_of_the_engine(make):
    parameters = make().get_params()
    assert parameters.pop("random_state") is None
    assert parameters.pop("order", None) is None
    assert parameters == vars(Params()) | ALONE
    clf = make(**EVERYTHING, random_state=3)
    assert clone(clf).get_params() == clf.get_params()
    assert clf.vigilance == EVERYTHING["vigilance"]
    assert clf._params() == Params(**EVERYTHING)


@RIVALS
def test_the_signature_shows_every_parameter(make):
    names = list(signature(make).parameters)
    extra = ["order"] if make is ChainEFC else []
    assert names == [*Params.names(), *extra, "random_state"]
    assert "vigilance=0.9" in repr(make(vigilance=0.9))
    with pytest.raises(TypeError, match="unexpected keyword argument 'vigilanze'"):
        make(vigilanze=0.9)
    with pytest.raises(TypeError, match="positional argument"):
        make(0.9)


@RIVALS
def test_bad_parameters_are_named(make):
    X, Y = stream(20)
    with pytest.raises(ValueError, match="vigilance must be a number > 0"):
        make(vigilance=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="forgetting < 1 needs variance_floor >= 1e-09"):
        make(forgetting=0.9, variance_floor=0.0).fit(X, Y)


@RIVALS
def test_flat_targets(make):
    X, Y = stream()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    clf = make(**QUICK).fit(X, y)
    one = EFCMLClassifier(**(ALONE | QUICK)).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), one.decision_function(X))
    assert clf.predict(X).tolist() == one.predict(X).tolist()


@pytest.mark.slow
@RIVALS
def test_scikit_learn_checks_pass(make):
    results = check_estimator(make(), on_skip=None, on_fail=None)
    bad = [
        (result["check_name"], result["status"], repr(result["exception"]))
        for result in results
        if result["status"] != "passed" and result["check_name"] != "check_array_api_input"
    ]
    assert not bad
    assert len(results) > 40
    assert not any(result["expected_to_fail"] for result in results)
