"""One learner per label and the chain: equal to what a slow loop by hand gives, bit for bit."""

import numpy as np
import pytest
from helpers.models import EVERYTHING, N_INITIAL, QUICK, freeze, hide, learn_late, problem, stream
from numpy.testing import assert_array_equal

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.rivals.per_label import LABEL_STEP

ALONE = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
SMALL = QUICK | {"max_rules": 5}
RIVALS = pytest.mark.parametrize("make", [OneVsRestEFC, ChainEFC])


def of_one_label(learner):
    """Return the learner as it would be among models of one label each: these do not decide."""
    other = learner.copy()
    other.layered, other.labels = False, None
    if other.other is not None:
        other.other = of_one_label(other.other)
    return other


@pytest.mark.parametrize(
    ("options", "labels", "begin"),
    [(QUICK | {"clip": 1.0}, "unknown", 0), (EVERYTHING, "known", N_INITIAL)],
)
def test_one_versus_rest_is_one_classifier_per_label(options, labels, begin):
    X, Y = problem()
    Y = hide(Y) if labels == "unknown" else Y
    clf = OneVsRestEFC(**options)
    alone = [EFCMLClassifier(**(ALONE | options | {"projection": None})) for _ in range(3)]
    if begin:
        clf.fit(X[:begin], Y[:begin])
        alone = [one.fit(X[:begin], Y[:begin, [c]]) for c, one in enumerate(alone)]
    result = prequential(clf, X[begin:], Y[begin:])
    rules = 0
    for c, one in enumerate(alone):
        expected = prequential(one, X[begin:], Y[begin:, [c]])
        assert_array_equal(result.scores[:, [c]], expected.scores)
        assert freeze(clf.learner_.models[c]) == freeze(of_one_label(one.learner_))
        rules = rules + expected.rules
        assert_array_equal(clf.decision_function(X)[:, [c]], one.decision_function(X))
    assert_array_equal(result.rules, rules)
    assert clf.n_rules_ == rules[-1]


class SlowChain:
    """A chain by hand: one row at a time, one learner per label."""

    def __init__(self, clf, n_features, n_labels, order):
        params = {name: getattr(clf, name) for name in Params.names()}
        params = Params(**params | {"projection": None})
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
        for model, label in zip(self.models, self.order, strict=True):
            model.learn(x[None], y[None, [label]])
            x = np.append(x, y[label])


@pytest.mark.parametrize(
    ("options", "labels", "order", "begin"),
    [(QUICK, "known", [2, 0, 1], N_INITIAL), (EVERYTHING, "unknown", np.array([2, 0, 1]), 0)],
)
def test_the_chain_is_the_loop_by_hand(options, labels, order, begin):
    X, Y = problem(labels)  # with unknown labels from row 25 on
    clf = ChainEFC(**options, order=order)
    slow = SlowChain(clf, 3, 3, order)
    if begin:
        clf.fit(X[:begin], Y[:begin])
        slow.fit(X[:begin], Y[:begin])
    result = prequential(clf, X[begin:], Y[begin:])
    for t in range(begin, len(X)):
        assert_array_equal(result.scores[t - begin], slow.score(X[t]), err_msg=str(t))
        slow.learn(X[t], Y[t])
        assert result.rules[t - begin] == sum(model.n_rules for model in slow.models)
    for model, twin in zip(clf.learner_.models, slow.models, strict=True):
        assert freeze(model) == freeze(twin)
    found = np.vstack([clf.decision_function(x[None]) for x in X])  # each as the next row
    assert_array_equal(found, np.array([slow.score(x) for x in X]) - 0.5)


def test_a_chain_is_fitted_with_unknown_labels_as_missing_features():
    X, Y = problem()
    Y[5:15, 0] = Y[10:20, 1] = np.nan
    clf = ChainEFC(**QUICK).fit(X, Y)
    for c in range(3):
        inputs = np.hstack([X, Y[:, :c]])
        model = Learner(clf.learner_.params, 3 + c, 1, layered=False).fit(inputs, Y[:, [c]])
        assert freeze(clf.learner_.models[c]) == freeze(model)


@RIVALS
@pytest.mark.parametrize("labels", ["known", "unknown"])
def test_with_late_labels_rows_are_answered_by_what_is_known(make, labels):
    X, _ = stream(60)
    Y = (np.arange(60)[:, None] // [5, 8, 3] % 2).astype(float)  # the last labels tell the next
    if labels == "unknown":
        Y[25:] = hide(Y[25:])
    late, other = (make(**QUICK).fit(X[:20], Y[:20]) for _ in range(2))
    result = prequential(late, X[20:], Y[20:], delay=3)
    for t in range(40):
        if t > 3:  # row t + delay is answered before row t is learned
            learn_late(other, X[16 + t : 17 + t], Y[16 + t : 17 + t], 3)
        waiting = X[max(20, 17 + t) : 21 + t]  # rows that have come and whose labels have not
        assert_array_equal(other.decision_function(waiting)[-1], result.scores[t] - 0.5)


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
    before = freeze(clf)
    clf.learner_.copy().learn(X, Y)
    assert freeze(clf) == before


@RIVALS
def test_events_name_label_and_rule(make):
    X, Y = stream(100, n_features=2, n_labels=2)
    Y[-30:] = hide(Y[-30:])
    clf = make(**SMALL | {"vigilance": 0.2}).fit(X[:N_INITIAL], Y[:N_INITIAL])
    X, Y = X[N_INITIAL:], Y[N_INITIAL:]
    before, rules = [model.rules.counts.copy() for model in clf.learner_.models], clf.n_rules_
    alive = [set(model.rules.uid.tolist()) for model in clf.learner_.models]
    result = prequential(clf, X, Y)
    changes = np.zeros(len(X), dtype=int)
    for row, kind, uid in result.events:
        label, rule = divmod(uid, LABEL_STEP)
        changes[row] += 1 if kind == "birth" else -1
        assert (rule in alive[label]) == (kind != "birth")
        alive[label].add(rule)
    assert_array_equal(np.cumsum(changes) + rules, result.rules)
    assert result.births > 0
    assert result.merges + result.drops > 0
    for kind in ("birth", "merge", "drop"):
        now = sum(model.rules.counts[kind] for model in clf.learner_.models)
        assert result.event_counts[f"{kind}s"] == now - sum(counts[kind] for counts in before)
    rows = [row for row, _, _ in result.events]
    assert rows == sorted(rows)


@RIVALS
def test_parameters_are_those_of_the_engine(make):
    parameters = make().get_params()
    assert parameters.pop("random_state") is None
    assert parameters.pop("order", None) is None
    assert parameters == vars(Params()) | ALONE
    assert make(**EVERYTHING)._params() == Params(**EVERYTHING)
    X, Y = stream(20)
    with pytest.raises(ValueError, match="decision='f1' needs a model that learns all labels"):
        make(**QUICK, decision="f1").fit(X, Y)
    with pytest.raises(NotImplementedError, match="cannot take in late labels: fit again"):
        make(**SMALL).fit(X, Y).add_labels(1)


def test_orders_of_the_chain():
    X, Y = stream(2, n_labels=6)
    orders = [
        ChainEFC(order=order, random_state=seed).partial_fit(X, Y).learner_.order.tolist()
        for order, seed in ((None, 0), ("random", 0), ("random", 1))
    ]
    assert orders == [[*range(6)]] + [
        np.random.RandomState(seed).permutation(6).tolist() for seed in (0, 1)
    ]
    wrong = [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2.0], "reverse", "012", 3, [[0, 1, 2]], {}]
    for order in wrong:
        clf = ChainEFC(**QUICK, order=order)
        before = freeze(clf)
        for learn in (clf.fit, clf.partial_fit):
            match = r"order must be None, 'random' or the labels 0..2, each once; got"
            with pytest.raises(ValueError, match=match):
                learn(X, Y[:, :3])
            assert freeze(clf) == before
