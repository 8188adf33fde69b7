"""Test-then-train: what is scored was known before the row, and learning is partial_fit."""

import copy
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.models import EVERYTHING, N_INITIAL, QUICK, freeze, learn_late, problem, stream
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
from efcml.evaluation import blocks
from efcml.measures import MEASURES, trend
from efcml.model.learner import Learner

MODELS = {
    "efcml": lambda: EFCMLClassifier(**QUICK),
    "everything": lambda: EFCMLClassifier(**EVERYTHING),
    "ovr": lambda: OneVsRestEFC(**QUICK),
    "chain": lambda: ChainEFC(**QUICK, order=[2, 0, 1]),
}


def start(name, how, X, Y):
    """Return a model, and the rows of its stream."""
    model, n = MODELS[name](), N_INITIAL if how == "fit" else 0
    return model.fit(X[:n], Y[:n]) if n else model, X[n:], Y[n:]


def in_blocks_of(monkeypatch, size):
    monkeypatch.setattr(blocks, "ROWS", size)


# -- models of efcml ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "labels", "how", "delay"),
    [
        ("efcml", "known", "fit", 0),
        ("efcml", "unknown", "new", 0),
        ("everything", "known", "new", 9),
        ("efcml", "unknown", "fit", 1),
        ("everything", "unknown", "fit", 0),
        ("ovr", "unknown", "fit", 9),
        ("chain", "unknown", "new", 0),
        ("chain", "unknown", "new", 60),
    ],
)
def test_a_row_is_scored_by_what_was_learned_before_it(name, labels, how, delay, monkeypatch):
    """Row j by the model that has learned rows 0..j-d-1; blocks change no bit."""
    X, Y = problem(labels, n=45)
    model, X, Y = start(name, how, X, Y)
    before = X.tobytes(), Y.tobytes()
    slow, whole = copy.deepcopy(model), copy.deepcopy(model)
    in_blocks_of(monkeypatch, 7)
    result = prequential(model, X, Y, delay=delay)
    assert (X.tobytes(), Y.tobytes()) == before
    learned = 0
    for j in range(len(X)):
        if j - delay > learned:
            learn_late(slow, X[[learned]], Y[[learned]], delay)
            assert result.rules[learned] == slow.learner_.n_rules
            learned += 1
        if how == "new" and learned == 0:
            assert (result.scores[j] == 0.0).all()
            continue
        expected = slow.decision_function(X[[j]])[0]
        np.testing.assert_array_equal(result.scores[j] - 0.5, expected, err_msg=f"row {j}")
        np.testing.assert_array_equal(result.decisions[j], slow.predict(X[[j]])[0])
        np.testing.assert_array_equal(result.probabilities[j], slow.predict_proba(X[[j]])[0])
    learn_late(whole, X[:1], Y[:1], delay)
    assert freeze(model) == freeze(learn_late(whole, X[1:], Y[1:], delay))
    assert result.rules[-1] == model.learner_.n_rules
    rows = [row for row, _, _ in result.events]
    assert rows == sorted(rows)
    np.testing.assert_array_equal(result.Y, Y)
    assert result.queried.tolist() == [True] * len(X)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [(QUICK, {"birth", "merge"}), (EVERYTHING | {"merging": False}, {"birth", "drop"})],
    ids=["merged", "dropped"],
)
def test_events_account_for_every_change(options, kinds):
    X, Y = stream(150, n_features=2, n_labels=2)
    clf = EFCMLClassifier(**options).fit(X[:N_INITIAL], Y[:N_INITIAL])
    rules, counts = clf.n_rules_, clf.learner_.rules.counts.copy()
    uids = set(clf.learner_.rules.uid.tolist())
    result = prequential(clf, X[N_INITIAL:], Y[N_INITIAL:])
    changes = np.zeros(len(X) - N_INITIAL, dtype=int)
    for row, kind, uid in result.events:
        assert type(row) is type(uid) is int
        changes[row] += {"birth": 1, "merge": -1, "drop": -1}[kind]
        assert (uid in uids) == (kind != "birth")
        uids.add(uid)
    assert np.array_equal(np.cumsum(changes) + rules, result.rules)
    for kind, own in (("birth", result.births), ("merge", result.merges), ("drop", result.drops)):
        assert own == clf.learner_.rules.counts[kind] - counts[kind]
        assert own > 0 or kind not in kinds
    assert result.event_counts["births"] == result.births


@pytest.mark.parametrize("how", ["warm-up", "fit"])
def test_a_static_model_is_not_changed(how):
    X, Y = problem("unknown")
    clf = EFCMLClassifier(**EVERYTHING)
    clf = clf.fit(X[:20], Y[:20]) if how == "fit" else clf.partial_fit(X[:5], Y[:5])
    before = freeze(clf)
    result = prequential(clf, X, Y, learn=False)
    assert freeze(clf) == before
    np.testing.assert_array_equal(result.scores - 0.5, clf.decision_function(X))
    np.testing.assert_array_equal(result.decisions, clf.predict(X))
    assert (result.rules == clf.n_rules_).all() and result.events == ()
    assert result.queried.tolist() == [False] * len(X)
    assert result.pa == pytest.approx(clf.score(X, Y), abs=1e-12)


def test_flat_targets_and_frames():
    X, Y = problem()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    clf = EFCMLClassifier(**QUICK).fit(X[:20], y[:20])
    twin = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20, :1])
    result, expected = prequential(clf, X[20:], y[20:]), prequential(twin, X[20:], Y[20:, :1])
    np.testing.assert_array_equal(result.scores, expected.scores)
    np.testing.assert_array_equal(result.Y, Y[20:, :1])
    proba = clf.predict_proba(X[20:])[:, 1]
    static = prequential(clf, X[20:], y[20:], learn=False)
    np.testing.assert_array_equal(static.probabilities[:, 0], proba)
    clf, plain = EFCMLClassifier(**QUICK), EFCMLClassifier(**QUICK)
    frames = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    result = prequential(clf, *frames)
    assert clf.label_names_.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(result.scores, prequential(plain, X, Y).scores)


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_an_active_learner_says_what_is_learned(unit):
    X, Y = problem(n=50)
    clf = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20])
    slow = copy.deepcopy(clf)
    active = ActiveLearner.random(0.5, unit, random_state=1)
    result = prequential(clf, X[20:], Y[20:], active=active)
    assert result.queried.shape == ((30, 3) if unit == "labels" else (30,))
    assert 0 < result.queried.mean() <= 0.5
    for t, asked in enumerate(result.queried):
        expected = slow.decision_function(X[[20 + t]])[0]
        np.testing.assert_allclose(result.scores[t] - 0.5, expected, rtol=0, atol=1e-12)
        slow.partial_fit(X[[20 + t]], np.where(asked, Y[[20 + t]], np.nan))
        assert result.rules[t] == slow.n_rules_
    queried = result.to_frame()["queried"]
    assert (
        queried.tolist() == (result.queried.sum(axis=1) if unit == "labels" else queried).tolist()
    )


# -- blocks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "how"), [("efcml", "fit"), ("efcml", "new"), ("chain", "fit")])
def test_an_interrupt_leaves_whole_blocks(name, how, monkeypatch):
    X, Y = problem(n=45)
    model, X, Y = start(name, how, X, Y)
    expected = copy.deepcopy(model).partial_fit(X[:14], Y[:14])
    in_blocks_of(monkeypatch, 7)
    real, calls = Learner.learn_at_once, []

    def interrupted(self, X, Y, *given, **more):
        """Send Ctrl-C before the second block, for the models per label in the midst of it."""
        calls.extend([1] * (len(X) == 7))  # not what is compiled before
        if len(calls) == (5 if name == "chain" else 2):
            signal.raise_signal(signal.SIGINT)
        return real(self, X, Y, *given, **more)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Learner, "learn_at_once", interrupted)
        prequential(model, X, Y)
    assert freeze(model) == freeze(expected)


# -- results --------------------------------------------------------------------------------


def test_measures_tables_and_pictures_of_a_result():
    X, Y = problem("unknown")
    clf = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20])
    static = prequential(clf, X[20:], Y[20:], learn=False)
    result = prequential(clf, X[20:], Y[20:])
    for name, value in result.summary().items():
        predicted = result.taken_by(name)
        assert value == result.measure(name) == MEASURES[name](result.Y, predicted, ready=True)
        expected = trend(result.Y, predicted, name, window=5, ready=True)
        np.testing.assert_array_equal(result.trend(name, window=5), expected)
    assert result.taken_by("pa") is result.decisions
    assert result.taken_by("log_loss") is result.probabilities
    assert (result.pa, result.ap) == (result.summary()["pa"], result.summary()["ap"])
    ap = MEASURES["ap"].rows(result.Y, result.scores)
    assert len(result.ap_trend) == (~np.isnan(ap)).sum() < len(result.Y) == len(result.trend("ap"))
    np.testing.assert_array_equal(result.ap_trend, result.trend("ap")[~np.isnan(ap)])
    assert result == result and result != static and len({result, static}) == 2
    assert result.ap_trend[-1] == pytest.approx(result.ap, abs=1e-12)
    assert result.pa_trend[-1] == pytest.approx(result.pa, abs=1e-12)
    frame = result.to_frame()
    np.testing.assert_array_equal(frame["ap"], ap)
    np.testing.assert_array_equal(frame["pa"], MEASURES["pa"].rows(result.Y, result.scores))
    np.testing.assert_array_equal(frame["rules"], result.rules)
    assert frame["ap_trend"].iloc[-1] == pytest.approx(result.ap)
    words = f"PrequentialResult(n=40, pa={result.pa:.4f}, ap={result.ap:.4f}, rules={clf.n_rules_}"
    assert repr(result) == f"{words}, ms_per_sample={result.ms_per_sample:.3g})"
    assert result.ms_per_sample == 1e3 * result.seconds_per_sample
    ax = result.plot(measure="macro_f1", window=10)
    x, y = ax.get_lines()[0].get_data()
    assert x[0] == 9  # before, there are fewer rows than the axis says
    np.testing.assert_allclose(y, result.trend("macro_f1", window=10)[9:])
    assert ax.get_ylabel() == "last 10 rows"
    assert result.plot("rules").get_ylabel() == "rules"
    both = result.plot(window=10**6)
    assert [len(line.get_xdata()) for line in both.get_lines()[:2]] == [1, 1]


# -- models from elsewhere ------------------------------------------------------------------

X, Y = stream(60)
CLASSES = [np.array([0, 1])] * 3


class Recorder:
    """Notes every call; features are row numbers. Answers with the number of rows learned."""

    def __init__(self):
        self.calls, self.labels = [], []

    def predict(self, X):
        self.calls += [("predict", int(x[0])) for x in X]
        learned = sum(kind == "learn" for kind, _ in self.calls)
        return np.full((len(X), 2), float(learned))

    def partial_fit(self, X, y):
        self.calls += [("learn", int(x[0])) for x in X]
        self.labels += y.tolist()


@pytest.mark.parametrize("delay", [0, 3, 9, 15])
def test_every_row_is_predicted_then_learned(delay):
    model, n = Recorder(), 10
    result = prequential(model, np.arange(float(n))[:, None], np.ones((n, 2)), delay=delay)
    expected = []
    for t in range(n):
        expected.append(("predict", t))
        if t >= delay:
            expected.append(("learn", t - delay))
    expected += [("learn", t) for t in range(max(n - delay, 0), n)]
    assert model.calls == expected
    learned_before = np.maximum(np.arange(n) - delay, 0)
    np.testing.assert_array_equal(result.scores, np.column_stack([learned_before] * 2))
    static = Recorder()
    prequential(static, np.arange(5.0)[:, None], np.ones((5, 2)), learn=False, delay=2)
    assert static.calls == [("predict", t) for t in range(5)]


def test_unknown_labels_are_not_passed_on():
    labels = np.array([[1, 0], [np.nan, 1], [np.nan, np.nan], [0, 0]])
    model = Recorder()
    prequential(model, np.arange(4.0)[:, None], labels)
    assert [row for kind, row in model.calls if kind == "learn"] == [0, 3]
    assert model.labels == [[1, 0], [0, 0]]


def scores_by_hand(model, X):
    if not hasattr(model, "predict_proba"):
        return model.predict(X).astype(float)
    answer = model.predict_proba(X)
    return np.column_stack([part[:, 1] for part in answer]) if isinstance(answer, list) else answer


SKLEARN = {
    "log loss": lambda: MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0)),
    "hinge": lambda: MultiOutputClassifier(SGDClassifier(random_state=0)),
    "network": lambda: MLPClassifier((4,), random_state=0),
}


@pytest.mark.parametrize(
    ("name", "delay"), [("log loss", 7), ("hinge", 0), ("network", 0), ("network", 100)]
)
def test_scikit_learn_models_give_what_their_own_loop_gives(name, delay):
    model, rows, labels = SKLEARN[name](), X[20:], Y[20:]
    classes = np.arange(3) if name == "network" else CLASSES
    model.partial_fit(X[:20], Y[:20].astype(int), classes=classes)
    twin = copy.deepcopy(model)
    result = prequential(model, pd.DataFrame(rows).to_numpy(), labels, delay=delay)
    expected, learned = [], 0
    for t in range(len(rows)):
        while learned < t - delay:
            twin.partial_fit(rows[[learned]], labels[[learned]].astype(int))
            learned += 1
        expected.append(scores_by_hand(twin, rows[[t]])[0])
    for t in range(learned, len(rows)):
        twin.partial_fit(rows[[t]], labels[[t]].astype(int))
    rounding = 1e-12 if name == "network" else 0.0  # its products depend on where arrays lie
    np.testing.assert_allclose(result.scores, expected, rtol=rounding)
    later = scores_by_hand(model, X), scores_by_hand(twin, X)
    np.testing.assert_allclose(*later, rtol=rounding)
    assert (result.rules == 0).all() and result.events == ()


def test_flat_labels_frames_and_batch_models():
    y = Y[:, 0].astype(int)
    model, twin = (SGDClassifier(random_state=0).fit(X[:20], y[:20]) for _ in "ab")
    result = prequential(model, X[20:], y[20:])
    for t in range(20, 60):
        assert result.scores[t - 20, 0] == twin.decision_function(X[[t]])[0] + 0.5
        twin.partial_fit(X[[t]], y[[t]])
    fitted = LogisticRegression().fit(X, y)
    alone = type("Alone", (), {"predict_proba": lambda self, X: fitted.predict_proba(X)})()
    result = prequential(alone, X, y, learn=False)
    np.testing.assert_array_equal(result.scores[:, 0], fitted.predict_proba(X)[:, 1])
    labels = np.column_stack([y, np.ones(60), np.zeros(60)]).astype(int)
    tree = MultiOutputClassifier(DecisionTreeClassifier(max_depth=2, random_state=0))
    frame = pd.DataFrame(X, columns=list("abc"))
    result = prequential(tree.fit(frame, labels), frame, labels, learn=False)
    assert (result.scores[:, 1:] == [1.0, 0.0]).all()  # constant labels have a single column
    np.testing.assert_array_equal(result.scores[:, 0], tree.predict_proba(frame)[0][:, 1])


@pytest.mark.parametrize("seen", [0, 1])
def test_a_model_that_has_seen_one_class_says_that_class(seen):
    y = np.full(60, seen)
    for model, labels in [
        (GaussianNB(), y),
        (DecisionTreeClassifier(), y[:, None]),
        (MLPClassifier(max_iter=1, random_state=0), y),
        (MultiOutputClassifier(GaussianNB()), y[:, None]),
        (MultiOutputClassifier(MLPClassifier(max_iter=1, random_state=0)), y[:, None].repeat(2, 1)),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, labels)
        result = prequential(model, X, labels, learn=False)
        assert (result.scores == seen).all() and result.pa == 1.0
    one_label = type("Own", (), {"predict_proba": lambda self, X: np.full((len(X), 1), 0.7)})()
    one_label.classes_ = [0]  # the number of the label: these are not shares of classes
    assert (prequential(one_label, X, y, learn=False).scores == 0.7).all()


def test_sparse_rows_go_to_models_as_they_are():
    model = SKLEARN["network"]().partial_fit(X[:20], Y[:20].astype(int), classes=np.arange(3))
    twin = copy.deepcopy(model)
    sparse, dense = prequential(model, csr_array(X), Y), prequential(twin, X, Y)
    np.testing.assert_allclose(sparse.scores, dense.scores, rtol=1e-9)


# -- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "labels", "match"),
    [
        (X[:0], Y[:0], "the stream has no rows"),
        (X[:, 0], Y, r"X must have the shape \(rows, features\); got \(60,\)"),
        (X[:, :0], Y, r"X must have the shape \(rows, features\); got \(60, 0\)"),
        (X, Y[:9], "inconsistent numbers of rows: 60 and 9"),
        (X, Y[:, :0], r"Y must have the shape \(rows, labels\)"),
        (X, Y[None], r"Y must have the shape \(rows, labels\)"),
        (X, Y + 1, "y must hold 0, 1 or NaN"),
        (X, None, "requires y to be passed"),
    ],
)
def test_bad_streams_are_refused_before_the_first_call(rows, labels, match):
    model = Recorder()
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        prequential(model, rows, labels)
    assert "\n" not in str(caught.value)
    assert model.calls == []


class Odd:
    """Gives what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer if not callable(self.answer) else self.answer(X)

    def partial_fit(self, X, y):
        pass


def asking(**options):
    return {"active": ActiveLearner(0.5)} | options


@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
    [
        (EFCMLClassifier(), {"X": X + np.inf}, ValueError, "Input X contains infinity"),
        (EFCMLClassifier(), {"X": X[:9]}, ValueError, "inconsistent numbers of rows: 9 and 60"),
        (LogisticRegression(), {}, TypeError, "begin_stream or partial_fit; got Logis"),
        (None, {}, TypeError, "partial_fit; got NoneType"),
        (EFCMLClassifier, {}, TypeError, "prequential needs a model; got the class EFCMLClass"),
        (object(), {"learn": False}, TypeError, "a model with predict; got object"),
        (EFCMLClassifier(), {"learn": False}, NotFittedError, "not fitted yet"),
        (SKLEARN["hinge"](), {}, NotFittedError, "not fitted yet"),
        (EFCMLClassifier(vigilance=-1.0), {}, ValueError, "vigilance must be a number > 0"),
        *(
            (Recorder(), {"delay": delay}, ValueError, "delay must be a whole number >= 0; got")
            for delay in (-1, 1.0, True, None, "2")
        ),
        (EFCMLClassifier(), {"active": 3}, TypeError, "active must be an ActiveLearner; got int"),
        (EFCMLClassifier(), asking(delay=1), ValueError, "active needs learn=True and delay=0"),
        (EFCMLClassifier(), asking(learn=False), ValueError, "active needs learn=True and delay"),
        (Recorder(), asking(), TypeError, "active needs an EFCMLClassifier; got Recorder"),
        *(
            (Odd(answer), {}, ValueError, f"Odd.predict must give one number .*; got {got}")
            for answer, got in (
                (np.ones((1, 2)), r"ndarray of shape \(1, 2\)"),
                (np.ones((2, 3)), r"ndarray of shape \(2, 3\)"),
                (np.ones(3), r"ndarray of shape \(3,\)"),
                ([np.ones((1, 2))] * 2, "list"),
                ([np.ones((1, 3))] * 3, "list"),
                ([np.ones((1, 1))] * 3, "list"),
                (1.0, "float"),
            )
        ),
        (Odd(np.full((1, 3), np.nan)), {}, ValueError, "Odd answered NaN"),
        (Odd(lambda X: np.nan * X), {"learn": False}, ValueError, "Odd answered NaN"),
        (Odd(lambda X: 1 / 0), {}, ZeroDivisionError, "division by zero"),
    ],
)
def test_wrong_models_and_options(model, options, error, words):
    before = freeze(model)
    with pytest.raises(error, match=words) as caught:
        prequential(model, **({"X": X, "Y": Y} | options))
    assert "\n" not in str(caught.value)
    if isinstance(model, EFCMLClassifier):
        assert freeze(model) == before
