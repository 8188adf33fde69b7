"""Models from elsewhere run through prequential as in a loop written by hand."""

import copy
import warnings

import numpy as np
import pytest
from helpers.models import hide, stream
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import hamming_loss, label_ranking_average_precision_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from efcml.evaluation import prequential

X, Y = stream(60)
START = 20
DELAYS = pytest.mark.parametrize("delay", [0, 1, 7, 39, 40, 100])


class Recorder:
    """Notes every call; features are row numbers. Answers with the number of rows learned."""

    def __init__(self, n_labels=2):
        self.n_labels = n_labels
        self.calls = []

    def predict(self, X):
        self.calls += [("predict", int(x[0])) for x in X]
        learned = sum(kind == "learn" for kind, _ in self.calls)
        return np.full((len(X), self.n_labels), float(learned))

    def partial_fit(self, X, y):
        self.calls += [("learn", int(x[0])) for x in X]


class RiverRecorder:
    """The same with dictionaries."""

    def __init__(self):
        self.calls, self.labels = [], []

    def predict_one(self, x):
        self.calls.append(("predict", int(x[0])))
        learned = sum(kind == "learn" for kind, _ in self.calls)
        return {0: float(learned), 1: float(learned)}

    def learn_one(self, x, y):
        self.calls.append(("learn", int(x[0])))
        self.labels.append(y)


@pytest.mark.parametrize("make", [Recorder, RiverRecorder])
@pytest.mark.parametrize("delay", [0, 1, 3, 9, 10, 15])
def test_every_row_is_predicted_then_learned(make, delay):
    model, n = make(), 10
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


@pytest.mark.parametrize("make", [Recorder, RiverRecorder])
def test_a_static_model_only_predicts(make):
    model = make()
    result = prequential(model, np.arange(5.0)[:, None], np.ones((5, 2)), learn=False, delay=2)
    assert model.calls == [("predict", t) for t in range(5)]
    assert result.queried.tolist() == [False] * 5


# -- scikit-learn -----------------------------------------------------------------------------


def log_loss():
    return MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))


def hinge():
    return MultiOutputClassifier(SGDClassifier(random_state=0))


def network():
    return MLPClassifier((4,), random_state=0)


class ChainLike:
    """A chain with partial_fit that gives decisions; scikit-learn's own has no partial_fit."""

    def __init__(self):
        self.estimator = SGDClassifier(random_state=0)
        self.links = None

    def partial_fit(self, X, y, classes=None):
        if self.links is None:
            assert [list(part) for part in classes] == [[0, 1]] * y.shape[1]
            self.links = [copy.deepcopy(self.estimator) for _ in classes]
            self.classes = classes
        for c, link in enumerate(self.links):
            link.partial_fit(np.hstack([X, y[:, :c]]), y[:, c], classes=self.classes[c])

    def decision_function(self, X):
        if self.links is None:
            raise NotFittedError("not yet")
        columns = np.empty((len(X), 0))
        for link in self.links:
            answer = link.decision_function(np.hstack([X, columns > 0.0]))
            columns = np.column_stack([columns, answer])
        return columns


def scores_by_hand(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X) + 0.5
    if not hasattr(model, "predict_proba"):
        return model.predict(X).astype(float)
    answer = model.predict_proba(X)
    return np.column_stack([part[:, 1] for part in answer]) if isinstance(answer, list) else answer


SKLEARN = pytest.mark.parametrize("make", [log_loss, hinge, network, ChainLike])


@SKLEARN
@DELAYS
def test_scikit_learn_models_give_what_their_own_loop_gives(make, delay):
    model = make()
    classes = np.arange(3) if make is network else [np.array([0, 1])] * 3
    model.partial_fit(X[:START], Y[:START].astype(int), classes=classes)
    twin = copy.deepcopy(model)
    rows, labels = X[START:], Y[START:]
    result = prequential(model, rows, labels, delay=delay)
    expected, learned = [], 0
    for t in range(len(rows)):
        while learned < t - delay:
            twin.partial_fit(rows[[learned]], labels[[learned]].astype(int))
            learned += 1
        expected.append(scores_by_hand(twin, rows[[t]])[0])
    for t in range(learned, len(rows)):
        twin.partial_fit(rows[[t]], labels[[t]].astype(int))
    expected = np.array(expected)
    np.testing.assert_array_equal(result.scores, expected)
    assert result.pa == pytest.approx(1.0 - hamming_loss(labels, expected >= 0.5), abs=1e-12)
    ranked = labels.any(axis=1)
    ap = label_ranking_average_precision_score(labels[ranked], expected[ranked])
    assert result.ap == pytest.approx(ap, abs=1e-12)
    np.testing.assert_array_equal(scores_by_hand(model, X), scores_by_hand(twin, X))
    assert (result.rules == 0).all()
    assert result.events == ()
    assert result.births == result.merges == result.drops == 0
    assert "rules=0" in repr(result)


@SKLEARN
@pytest.mark.parametrize("delay", [0, 4])
def test_label_frequencies_answer_for_a_new_model(make, delay):
    result = prequential(make(), X, Y, delay=delay)
    assert (result.scores[: delay + 1] == 0.0).all()
    assert (result.scores[delay + 1 :] != 0.0).any()


def test_frequencies_are_those_of_the_rows_that_have_arrived():
    labels = Y.copy()
    labels[:6, 0] = np.nan  # none of these rows can be learned
    result = prequential(log_loss(), X, labels, delay=2)
    for t in range(9):  # row 6 is learned after row 8 was scored
        count = max(t - 2, 0)
        expected = [0.0, *labels[:count, 1:].sum(axis=0) / max(count, 1)]
        np.testing.assert_allclose(result.scores[t], expected, rtol=0, atol=1e-15)
    assert ((result.scores[9] > 0.0) & (result.scores[9] < 1.0)).all()


def test_rows_that_lack_a_label_are_not_learned_by_scikit_learn_models():
    model, labels = Recorder(3), hide(Y)
    prequential(model, np.arange(60.0)[:, None], labels)
    learned = [row for kind, row in model.calls if kind == "learn"]
    assert learned == np.flatnonzero(~np.isnan(labels).any(axis=1)).tolist()
    assert 0 < len(learned) < 60


def test_flat_labels_are_passed_flat():
    y = Y[:, 0].astype(int)
    result = prequential(SGDClassifier(random_state=0), X, y)
    twin = SGDClassifier(random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, 60):
        assert result.scores[t, 0] == twin.decision_function(X[[t]])[0] + 0.5
        twin.partial_fit(X[[t]], y[[t]])
    assert result.Y.shape == (60, 1)


def test_probabilities_of_one_label():
    static = LogisticRegression().fit(X, Y[:, 0])

    class OnlyProbabilities:
        def predict_proba(self, X):
            return static.predict_proba(X)

    result = prequential(OnlyProbabilities(), X, Y[:, 0], learn=False)
    np.testing.assert_array_equal(result.scores[:, 0], static.predict_proba(X)[:, 1])


def test_batch_models_run_as_static_ones():
    labels = Y.astype(int)
    labels[:, 1] = 1  # a constant label: scikit-learn gives it a single column
    labels[:, 2] = 0
    model = MultiOutputClassifier(DecisionTreeClassifier(max_depth=2, random_state=0))
    model.fit(X, labels)
    result = prequential(model, X, labels, learn=False)
    assert (result.scores[:, 1] == 1.0).all()
    assert (result.scores[:, 2] == 0.0).all()
    np.testing.assert_array_equal(result.scores[:, 0], model.predict_proba(X)[0][:, 1])


def test_frames_stay_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    model, twin = log_loss(), log_loss()
    classes = [np.array([0, 1])] * 3
    for each, rows in ((model, frame), (twin, X)):
        each.partial_fit(rows[:START], Y[:START].astype(int), classes=classes)
    result = prequential(model, frame[START:], pd.DataFrame(Y[START:]))  # no warning about names
    np.testing.assert_array_equal(result.scores, prequential(twin, X[START:], Y[START:]).scores)


def test_a_model_that_asks_for_no_classes():
    class Mean:
        def predict(self, X):
            if not hasattr(self, "mean"):
                raise NotFittedError("not yet")
            return np.tile(self.mean, (len(X), 1))

        def partial_fit(self, X, y):
            self.mean = y.mean(axis=0)

    result = prequential(Mean(), X, Y)
    np.testing.assert_array_equal(result.scores, np.vstack([np.zeros(3), Y[:-1]]))


# -- river ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def river():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        river = pytest.importorskip("river")
        from river import linear_model, metrics, multioutput, preprocessing, tree  # noqa: F401
    return river


def as_dicts(rows, labels):
    for x, y in zip(rows.tolist(), labels.tolist(), strict=True):
        yield dict(enumerate(x)), {c: value == 1.0 for c, value in enumerate(y)}


def per_output(river, kind):
    """Return a class of river, which its older versions do not have."""
    if not hasattr(river.multioutput, kind):
        pytest.skip(f"this river has no {kind}")
    return getattr(river.multioutput, kind)


@pytest.mark.parametrize("kind", ["ClassifierChain", "PerOutputClassifier"])
@pytest.mark.parametrize("delay", [0, 5])
def test_river_models_give_what_their_own_loop_gives(river, kind, delay):
    def make():
        base = river.linear_model.LogisticRegression()
        return river.preprocessing.StandardScaler() | per_output(river, kind)(base)

    model, twin = make(), make()
    for each in (model, twin):
        for x, y in as_dicts(X[:START], Y[:START]):
            each.learn_one(x, y)
    rows, labels = X[START:], Y[START:]
    result = prequential(model, rows, labels, delay=delay)
    micro = river.metrics.multioutput.MicroAverage(river.metrics.Accuracy())
    each_label = river.metrics.multioutput.PerOutput(river.metrics.Accuracy())
    expected, waiting = [], []
    for x, y in as_dicts(rows, labels):
        answer = twin.predict_proba_one(x)
        decision = twin.predict_one(x)
        micro.update(y, decision)
        each_label.update(y, decision)
        expected.append([answer[c][True] for c in range(3)])
        waiting.append((x, y))
        if len(waiting) > delay:
            twin.learn_one(*waiting.pop(0))
    expected = np.array(expected)
    np.testing.assert_array_equal(result.scores, expected)
    assert result.pa == pytest.approx(micro.get(), abs=1e-12)
    by_label = ((result.scores >= 0.5) == labels).mean(axis=0)
    for c, metric in each_label.get().items():
        assert by_label[c] == pytest.approx(metric.get(), abs=1e-12)
    ranked = labels.any(axis=1)
    ap = label_ranking_average_precision_score(labels[ranked], expected[ranked])
    assert result.ap == pytest.approx(ap, abs=1e-12)


def test_river_regressors_answer_with_numbers(river):
    model = per_output(river, "PerOutputRegressor")(river.linear_model.LinearRegression())
    twin = model.clone()
    result = prequential(model, X, Y)
    for t, (x, y) in enumerate(as_dicts(X, Y)):
        answer = twin.predict_one(x)
        assert result.scores[t].tolist() == [answer.get(c, 0.0) for c in range(3)]
        twin.learn_one(x, y)


def test_river_pipelines_of_regressors(river):
    """A pipeline has predict_proba_one, and its last step has not."""
    base = per_output(river, "PerOutputRegressor")(river.linear_model.LinearRegression())
    model = river.preprocessing.StandardScaler() | base
    twin = model.clone()
    assert hasattr(model, "predict_proba_one")
    result = prequential(model, X, Y)
    for t, (x, y) in enumerate(as_dicts(X, Y)):
        answer = twin.predict_one(x)
        assert result.scores[t].tolist() == [answer.get(c, 0.0) for c in range(3)]
        twin.learn_one(x, y)


def test_an_attribute_that_is_missing_later_is_an_error():
    class Fails(RiverRecorder):
        def predict_proba_one(self, x):
            return {}.missing if x[0] == 3.0 else {}

    with pytest.raises(AttributeError, match="missing"):
        prequential(Fails(), np.arange(5.0)[:, None], np.ones((5, 2)))


def test_a_new_river_model_starts_with_zeros(river):
    model = river.multioutput.ClassifierChain(river.linear_model.LogisticRegression())
    result = prequential(model, X, Y)
    assert (result.scores[0] == 0.0).all()  # it knows no label yet
    assert (result.scores[1] != 0.0).any()


class NoProbabilities:
    """A river model as some are: the method is there and not implemented."""

    def __init__(self):
        self.asked = 0

    def predict_proba_one(self, x):
        self.asked += 1
        raise NotImplementedError

    def predict_one(self, x):
        return {"u": True, "w": False} if x["a"] > 0.0 else None

    def learn_one(self, x, y):
        self.last = y


def test_river_models_without_probabilities():
    pd = pytest.importorskip("pandas")
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    labels.iloc[-1, 1] = np.nan
    model = NoProbabilities()
    result = prequential(model, frame, labels)
    expected = np.column_stack([X[:, 0] > 0.0, np.zeros(60), np.zeros(60)])
    np.testing.assert_array_equal(result.scores, expected)
    assert model.asked == 1
    assert model.last == {"u": bool(Y[-1, 0]), "w": bool(Y[-1, 2])}


def test_unknown_labels_are_not_passed_to_river():
    model, labels = RiverRecorder(), np.array([[1, 0], [np.nan, 1], [np.nan, np.nan], [0, 0]])
    prequential(model, np.arange(4.0)[:, None], labels)
    assert model.labels == [{0: True, 1: False}, {1: True}, {0: False, 1: False}]
    assert all(type(value) is bool for y in model.labels for value in y.values())
    assert ("learn", 2) not in model.calls


def test_static_river_models(river):
    model = per_output(river, "PerOutputClassifier")(river.linear_model.LogisticRegression())
    for x, y in as_dicts(X[:START], Y[:START]):
        model.learn_one(x, y)
    result = prequential(model, X, Y, learn=False)
    expected = [[model.predict_proba_one(x)[c][True] for c in range(3)] for x, _ in as_dicts(X, Y)]
    np.testing.assert_array_equal(result.scores, expected)


# -- refused ----------------------------------------------------------------------------------

HOLE = X.copy()
HOLE[2, 1] = np.nan

BAD_STREAMS = {
    "no rows": (X[:0], Y[:0], "the stream has no rows"),
    "an empty list": ([], [], "the stream has no rows"),
    "NaN": (HOLE, Y, r"Input X contains NaN or infinity.*row 2, column 1"),
    "1-D X": (X[:, 0], Y, r"X must have the shape \(rows, features\); got \(60,\)"),
    "no features": (X[:, :0], Y, r"X must have the shape \(rows, features\); got \(60, 0\)"),
    "words": (X.astype(str).tolist() + [["a"] * 3], np.ones((61, 3)), "row 60, column 0 is 'a'"),
    "fewer labels": (X, Y[:9], "inconsistent numbers of rows: 60 and 9"),
    "no labels": (X, Y[:, :0], r"Y must have the shape \(rows, labels\)"),
    "3-D labels": (X, Y[None], r"Y must have the shape \(rows, labels\)"),
    "other labels": (X, Y + 1, "y must hold 0, 1 or NaN"),
    "None": (X, None, "requires y to be passed"),
}


@pytest.mark.parametrize("make", [Recorder, RiverRecorder])
@pytest.mark.parametrize("case", BAD_STREAMS)
def test_bad_streams_are_refused_before_the_first_call(make, case):
    rows, labels, match = BAD_STREAMS[case]
    model = make()
    with pytest.raises(ValueError, match=match) as caught:
        prequential(model, rows, labels)
    assert "\n" not in str(caught.value)
    assert model.calls == []


@pytest.mark.parametrize("make", [Recorder, RiverRecorder])
def test_sparse_and_complex_features_are_refused(make):
    with pytest.raises(TypeError, match=r"X is sparse; .* use X.toarray\(\)"):
        prequential(make(), csr_array(X), Y)
    with pytest.raises(ValueError, match="Complex data not supported: X"):
        prequential(make(), X * 1j, Y)


def test_a_frame_with_gaps_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="row 2, column 1"):
        prequential(Recorder(), pd.DataFrame(HOLE), Y)


@pytest.mark.parametrize("delay", [-1, 1.0, True, None, "2"])
def test_bad_delays(delay):
    model = Recorder()
    with pytest.raises(ValueError, match="delay must be a whole number >= 0; got"):
        prequential(model, X, Y, delay=delay)
    assert model.calls == []


def test_models_without_an_answer():
    with pytest.raises(TypeError, match="a model with predict or predict_one; got object"):
        prequential(object(), X, Y, learn=False)


def test_a_new_scikit_learn_model_cannot_be_static():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        prequential(log_loss(), X, Y, learn=False)


class Odd:
    """Gives what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer

    def partial_fit(self, X, y):
        raise AssertionError("must not be reached")


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (np.ones((1, 2)), r"ndarray of shape \(1, 2\)"),
        (np.ones((2, 3)), r"ndarray of shape \(2, 3\)"),
        (np.ones(3), r"ndarray of shape \(3,\)"),
        ([np.ones((1, 2))] * 2, "list"),
        ([np.ones((1, 3))] * 3, "list"),
        ([np.ones((1, 1))] * 3, "list"),
        ([np.ones((1, 1, 1))] * 3, "list"),
        (1.0, "float"),
    ],
)
def test_answers_of_a_wrong_shape(answer, got):
    with pytest.raises(ValueError, match=f"Odd.predict must give one number .*; got {got}"):
        prequential(Odd(answer), X, Y)


def test_a_list_of_columns_is_an_answer():
    model = Odd([np.array([0.1]), np.array([0.2]), np.array([0.7])])
    model.partial_fit = lambda X, y: None
    assert prequential(model, X, Y).scores[5].tolist() == [0.1, 0.2, 0.7]


def test_nan_is_no_answer():
    for learn in (True, False):
        n = 1 if learn else 60
        with pytest.raises(ValueError, match="Odd answered NaN"):
            prequential(Odd(np.full((n, 3), np.nan)), X, Y, learn=learn)


def test_errors_of_a_model_are_its_own():
    class Broken(Odd):
        def predict(self, X):
            raise ZeroDivisionError("inside the model")

    with pytest.raises(ZeroDivisionError, match="inside the model"):
        prequential(Broken(None), X, Y)


def test_river_models_must_answer_with_dictionaries():
    class Single(RiverRecorder):
        def predict_one(self, x):
            return True

    with pytest.raises(
        ValueError, match="Single must answer with a dictionary of labels; got bool"
    ):
        prequential(Single(), X, Y)
