"""Test-then-train: what is scored is what was known before the row, and learning is partial_fit."""

import pickle

import numpy as np
import pytest
from helpers.models import EVERYTHING, N_INITIAL, QUICK, freeze, hide, problem, stream
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hamming_loss, label_ranking_average_precision_score

from efcml import EFCMLClassifier
from efcml.evaluation import prequential

OPTIONS = pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
LABELS = pytest.mark.parametrize("labels", ["known", "unknown"])


def initial(options, X, Y):
    return EFCMLClassifier(**options).fit(X[:N_INITIAL], Y[:N_INITIAL])


def copy(clf):
    return pickle.loads(pickle.dumps(clf))


@OPTIONS
@LABELS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_is_predict_then_learn_row_by_row(options, labels, start):
    X, Y = problem(labels)
    clf = EFCMLClassifier(**options)
    if start == "fit":
        clf = initial(options, X, Y)
        X, Y = X[N_INITIAL:], Y[N_INITIAL:]
    slow, whole = copy(clf), copy(clf)
    result = prequential(clf, X, Y)
    begin = 0
    if start == "new":  # a new classifier has no answer before its first row
        assert (result.scores[0] == 0.0).all()
        slow.partial_fit(X[:1], Y[:1])
        assert result.rules[0] == slow.n_rules_
        begin = 1
    for t in range(begin, len(X)):
        np.testing.assert_array_equal(
            result.scores[t] - 0.5, slow.decision_function(X[t : t + 1])[0], err_msg=f"row {t}"
        )
        slow.partial_fit(X[t : t + 1], Y[t : t + 1])
        assert result.rules[t] == slow.n_rules_
    assert freeze(clf) == freeze(slow) == freeze(whole.partial_fit(X, Y))
    assert result.rules[-1] == clf.n_rules_


@OPTIONS
def test_measures_are_those_of_scikit_learn(options):
    X, Y = problem()
    clf = initial(options, X, Y)
    X, Y = X[N_INITIAL:], Y[N_INITIAL:]
    result = prequential(clf, X, Y)
    ranked = Y.any(axis=1)
    assert ranked.sum() < len(Y)
    labels = result.scores >= 0.5
    assert result.pa == pytest.approx(1.0 - hamming_loss(Y, labels), abs=1e-12)
    expected = label_ranking_average_precision_score(Y[ranked], result.scores[ranked])
    assert result.ap == pytest.approx(expected, abs=1e-12)
    assert isinstance(result.pa, float)
    assert isinstance(result.ap, float)
    assert result.pa_trend.shape == (len(Y),)
    assert result.ap_trend.shape == (ranked.sum(),)
    for t in (0, 11, len(Y) - 1):
        expected = 1.0 - hamming_loss(Y[: t + 1], labels[: t + 1])
        assert result.pa_trend[t] == pytest.approx(expected, abs=1e-12)
    half = np.flatnonzero(ranked)[:15]
    expected = label_ranking_average_precision_score(Y[half], result.scores[half])
    assert result.ap_trend[14] == pytest.approx(expected, abs=1e-12)


@LABELS
@pytest.mark.parametrize("start", ["new", "fit"])
def test_trends_end_at_the_final_values(labels, start):
    X, Y = problem(labels)
    clf = EFCMLClassifier(**QUICK) if start == "new" else initial(QUICK, X, Y)
    result = prequential(clf, X, Y)
    assert result.pa_trend[-1] == pytest.approx(result.pa, abs=1e-12)
    assert result.ap_trend[-1] == pytest.approx(result.ap, abs=1e-12)
    assert (result.summary()["pa"], result.summary()["ap"]) == (result.pa, result.ap)
    known = ~np.isnan(Y)
    right = (result.scores >= 0.5) == Y
    assert result.pa == pytest.approx(right[known].mean(), abs=1e-12)


def test_trend_is_nan_until_a_label_is_known():
    X, Y = problem()
    clf = initial(QUICK, X, Y)
    Y[:2] = np.nan
    trend = prequential(clf, X, Y).pa_trend
    assert np.isnan(trend[:2]).all()
    assert np.isfinite(trend[2:]).all()


@LABELS
@pytest.mark.parametrize("start", ["warm-up", "fit"])
def test_a_static_model_is_not_changed(labels, start):
    X, Y = problem(labels)
    if start == "fit":
        clf = initial(EVERYTHING, X, Y)
    else:
        clf = EFCMLClassifier(**EVERYTHING).partial_fit(X[:5], Y[:5])
    before = freeze(clf)
    result = prequential(clf, X, Y, learn=False)
    assert freeze(clf) == before
    np.testing.assert_array_equal(result.scores - 0.5, clf.decision_function(X))
    assert (result.rules == clf.n_rules_).all()
    assert result.events == ()
    assert result.pa == pytest.approx(clf.score(X, Y), abs=1e-12)


@LABELS
@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (QUICK, {"birth", "merge"}),
        (EVERYTHING | {"merge_overlap": 0.2}, {"birth", "merge"}),
        (EVERYTHING | {"merging": False}, {"birth", "drop"}),
    ],
    ids=["grown together", "merged at the cap", "dropped at the cap"],
)
def test_events_account_for_every_change(options, kinds, labels):
    X, Y = stream(150, n_features=2, n_labels=2)
    Y[-30:] = hide(Y[-30:]) if labels == "unknown" else Y[-30:]
    clf = initial(options, X, Y)
    X, Y = X[N_INITIAL:], Y[N_INITIAL:]
    rules, counts = clf.n_rules_, dict(clf.learner_.counts)
    uids = set(clf.learner_.rules.uid.tolist())
    result = prequential(clf, X, Y)
    changes = np.zeros(len(X), dtype=int)
    for row, kind, uid in result.events:
        assert type(row) is type(uid) is int
        changes[row] += {"birth": 1, "merge": -1, "drop": -1}[kind]
        if kind == "birth":
            assert uid not in uids
            uids.add(uid)
        else:
            assert uid in uids
    assert np.array_equal(np.cumsum(changes) + rules, result.rules)
    rows = [row for row, _, _ in result.events]
    assert rows == sorted(rows)
    for kind in ("birth", "merge", "drop"):
        assert result.count(kind) == clf.learner_.counts[f"{kind}s"] - counts[f"{kind}s"]
        assert result.count(kind) > 0 or kind not in kinds
    assert set(clf.learner_.rules.uid.tolist()) <= uids
    assert result.rules.max() <= clf.get_params()["max_rules"]


@LABELS
def test_warm_up_inside_the_stream(labels):
    X, Y = problem(labels)
    if labels == "unknown":
        Y[4] = np.nan
    waiting = QUICK | {"provisional": False}
    clf = EFCMLClassifier(**waiting)
    result = prequential(clf, X, Y)
    known = ~np.isnan(Y)
    last = np.flatnonzero(np.cumsum(known.any(axis=1)) == QUICK["warmup_rows"])[0]
    assert (result.rules[:last] == 0).all()
    assert result.rules[last] > 0
    for t in range(last + 1):
        count = known[:t].sum(axis=0)
        frequencies = np.where(known[:t], Y[:t], 0.0).sum(axis=0) / np.maximum(count, 1)
        np.testing.assert_allclose(result.scores[t], frequencies, rtol=0, atol=1e-15)
    assert all(row > last for row, _, _ in result.events)
    assert freeze(clf) == freeze(EFCMLClassifier(**waiting).partial_fit(X, Y))


def test_a_stream_that_ends_in_the_warm_up():
    X, Y = problem()
    clf = EFCMLClassifier(**QUICK)
    result = prequential(clf, X[:5], Y[:5])
    assert result.scores.shape == (5, 3)
    assert (result.rules == 0).all()
    assert prequential(clf, X[5:], Y[5:]).rules[-1] == clf.n_rules_ > 0


def test_one_row_at_a_time_is_the_same():
    X, Y = problem()
    clf = initial(QUICK, X, Y)
    other = copy(clf)
    whole = prequential(clf, X, Y)
    parts = [prequential(other, X[t : t + 1], Y[t : t + 1]) for t in range(len(X))]
    np.testing.assert_array_equal(np.vstack([part.scores for part in parts]), whole.scores)
    assert [int(part.rules[0]) for part in parts] == whole.rules.tolist()
    assert freeze(other) == freeze(clf)


def test_flat_targets():
    X, Y = problem()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    clf = EFCMLClassifier(**QUICK).fit(X[:N_INITIAL], y[:N_INITIAL])
    twin = EFCMLClassifier(**QUICK).fit(X[:N_INITIAL], Y[:N_INITIAL, :1])
    result = prequential(clf, X[N_INITIAL:], y[N_INITIAL:])
    expected = prequential(twin, X[N_INITIAL:], Y[N_INITIAL:, :1])
    np.testing.assert_array_equal(result.scores, expected.scores)
    np.testing.assert_array_equal(result.Y, Y[N_INITIAL:, :1])
    assert result.pa == expected.pa


def test_frames():
    pd = pytest.importorskip("pandas")
    X, Y = problem()
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    clf = EFCMLClassifier(**QUICK)
    result = prequential(clf, frame, labels)
    assert clf.label_names_.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(result.scores, prequential(EFCMLClassifier(**QUICK), X, Y).scores)


def test_the_result_describes_the_run():
    X, Y = problem("unknown")
    clf = initial(QUICK, X, Y)
    result = prequential(clf, X, Y)
    np.testing.assert_array_equal(result.Y, Y)
    assert result.Y is not Y
    assert result.scores.dtype == float
    assert result.rules.dtype.kind == "i"
    assert result.queried.tolist() == [True] * len(X)
    assert result.queried.dtype == bool
    assert 0.0 < result.seconds_per_sample < 60.0
    text = repr(result)
    assert f"n={len(X)}" in text
    assert f"pa={result.pa:.4f}" in text
    assert f"rules={clf.n_rules_}" in text
    assert "\n" not in text


def test_input_is_not_touched():
    X, Y = problem("unknown")
    X0, Y0 = X.copy(), Y.copy()
    prequential(EFCMLClassifier(**EVERYTHING), X, Y)
    assert X.tobytes() == X0.tobytes()
    assert Y.tobytes() == Y0.tobytes()


# -- refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("start", ["warm-up", "fit"])
@pytest.mark.parametrize(
    ("rows", "labels", "match"),
    [
        (np.empty((0, 3)), np.empty((0, 3)), "the stream has no rows"),
        ([], [], "the stream has no rows"),
        (np.full((4, 3), np.inf), np.ones((4, 3)), "Input X contains infinity"),
        (np.ones((4, 2)), np.ones((4, 3)), "X has 2 features"),
        (np.ones((4, 3)), np.ones((4, 2)), "y has 2 labels, but 3 are expected"),
        (np.ones((4, 3)), np.ones((5, 3)), "inconsistent numbers of rows: 4 and 5"),
        (np.ones((4, 3)), np.full((4, 3), 2), "y must hold 0, 1 or NaN"),
        (np.ones((4, 3)), None, "requires y to be passed"),
    ],
)
def test_bad_streams(rows, labels, match, start, learn):
    X, Y = problem()
    n = 5 if start == "warm-up" else 20
    clf = EFCMLClassifier(**QUICK).partial_fit(X[:n], Y[:n])
    before = freeze(clf)
    with pytest.raises(ValueError, match=match) as caught:
        prequential(clf, rows, labels, learn=learn)
    assert "\n" not in str(caught.value)
    assert freeze(clf) == before


def test_a_bad_stream_leaves_a_new_classifier_new():
    clf = EFCMLClassifier(vigilance=-1.0)
    before = freeze(clf)
    with pytest.raises(ValueError, match="vigilance must be a number > 0"):
        prequential(clf, *problem())
    assert freeze(clf) == before


def test_a_static_model_must_be_fitted():
    clf = EFCMLClassifier()
    before = freeze(clf)
    with pytest.raises(NotFittedError, match="not fitted yet") as caught:
        prequential(clf, *problem(), learn=False)
    assert "\n" not in str(caught.value)
    assert freeze(clf) == before


@pytest.mark.parametrize(
    ("model", "got"),
    [
        (
            LogisticRegression(),
            " with begin_stream, partial_fit or learn_one; got LogisticRegression",
        ),
        (None, " with begin_stream, partial_fit or learn_one; got NoneType"),
        ("efcml", " with begin_stream, partial_fit or learn_one; got str"),
        (EFCMLClassifier, "; got the class EFCMLClassifier"),
    ],
)
def test_wrong_models(model, got):
    X, Y = problem()
    with pytest.raises(TypeError) as caught:
        prequential(model, X, Y)
    assert str(caught.value) == f"prequential needs a model{got}."


def test_result_as_frame_and_picture():
    X, Y = problem()
    result = prequential(initial(QUICK, X, Y), X[N_INITIAL:], Y[N_INITIAL:])
    frame = result.to_frame()
    assert len(frame) == len(X) - N_INITIAL
    assert frame["pa_trend"].iloc[-1] == pytest.approx(result.pa)
    assert frame["ap_trend"].iloc[-1] == pytest.approx(result.ap)
    assert (frame["rules"] == result.rules).all()
    ax = result.plot()
    assert len(ax.get_lines()) >= 2
    assert ax.get_ylabel() == "up to this row"


def two_runs():
    X, Y = problem()
    rows = X[N_INITIAL:], Y[N_INITIAL:]
    return [prequential(initial(QUICK, X, Y), *rows, learn=learn) for learn in (True, False)]


def test_runs_are_compared_in_one_line():
    learned, static = two_runs()
    ax = learned.plot(static=static)
    assert [line.get_label() for line in ax.get_lines()[:2]] == ["this run", "static"]
    for line, run in zip(ax.get_lines(), (learned, static), strict=False):
        np.testing.assert_allclose(line.get_ydata(), run.pa_trend)
    assert ax.get_ylabel() == "partial accuracy, up to this row"
    with pytest.raises(TypeError, match=r"^static must be the result of a run, not float\.$"):
        learned.plot(static=static.pa)


def test_a_picture_of_any_measure_over_a_window():
    learned, static = two_runs()
    ax = learned.plot(measure="macro_f1", window=10)
    x, y = ax.get_lines()[0].get_data()
    assert x[0] == 9  # before, there are fewer rows than the axis says
    np.testing.assert_allclose(y, learned.trend("macro_f1", window=10)[9:])
    assert ax.get_ylabel() == "macro F1, last 10 rows"
    both = learned.plot(window=10**6)
    assert [len(line.get_xdata()) for line in both.get_lines()[:2]] == [1, 1]
    assert both.get_ylabel() == "last 1000000 rows"
    with pytest.raises(ValueError, match="there is no measure 'x'"):
        learned.plot(measure="x", static=static)


def test_events_of_an_unknown_kind_are_not_counted():
    result = prequential(EFCMLClassifier(prior=1.0, warmup_rows=5), *stream(8))
    with pytest.raises(
        ValueError, match="'birth', 'split', 'merge', 'drop', 'drift'; got 'births'"
    ):
        result.count("births")
