"""Rows that lack features, through learners, faces and files."""

import numpy as np
import pytest
from helpers.streams import assert_identical, random_rows, state_of, with_gaps

import efcml
from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets, prequential
from efcml.explain.phrases import plain_number
from efcml.kernels.scale_watch import note_row
from efcml.model.following_scale import FollowingScale
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.scaler import Scaler, is_resting
from efcml.model.trace import Trace
from efcml.rivals import GlobalRLS

N, START, P, K = 150, 60, 4, 3
QUICK = {"prior": 1.0, "cases": 10}
FORMS = {
    "default": {},
    "fixed": {"forgetting": 1.0, "scaling": "frozen"},
    "input space": {"product_space": False, "alpha": 0.05},
}


@pytest.fixture(scope="module")
def rows():
    """Rows of which features, and some labels, are missing."""
    rng = np.random.default_rng(3)
    X, Y = random_rows(rng, N, P, K)
    Y[rng.random(N) < 0.1] = np.nan
    Y[rng.random(Y.shape) < 0.1] = np.nan
    X = with_gaps(rng, X)
    X[100:130, 2] = np.nan  # a sensor is gone
    X[40:44] = X[40]
    return X, Y


@pytest.fixture(scope="module")
def fitted(rows):
    X, Y = rows
    return EFCMLClassifier(**QUICK).fit(X[:START], Y[:START])


def new_learner(form):
    return Learner(Params(**(QUICK | FORMS[form])), P, K)


def learned(rows, form, cuts):
    """State and scores of a learner that got the stream in pieces."""
    X, Y = rows
    learner, scores = new_learner(form).fit(X[:START], Y[:START]), []
    edges = [START, *cuts, N]
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        trace = Trace.for_rows(last - first, K)
        learner.learn(X[first:last], Y[first:last], trace=trace)
        scores.append(trace.scores)
    return state_of(learner), np.concatenate(scores)


@pytest.mark.parametrize("form", FORMS)
def test_any_split_of_the_stream_gives_the_same_bits(rows, form):
    whole, scores = learned(rows, form, [])
    assert np.isfinite(scores).all()
    for cuts in ([75, 76, 77, 101], range(START + 1, N)):
        state, others = learned(rows, form, cuts)
        assert_identical(state, whole)
        np.testing.assert_array_equal(others, scores)


def test_scores_that_nobody_wants_change_nothing(rows):
    X, Y = rows
    watched, _ = learned(rows, "default", [])
    learner = new_learner("default").fit(X[:START], Y[:START])
    learner.learn(X[START:], Y[START:])
    assert_identical(state_of(learner), watched)


def test_a_look_at_gaps_leaves_complete_rows_as_they_are(rng):
    X, Y = random_rows(rng, N, P, K)
    one, two = (new_learner("default").fit(X[:START], Y[:START]) for _ in range(2))
    for first in range(START, N, 30):
        part = slice(first, first + 30)
        two.score(with_gaps(rng, X[part]))
        np.testing.assert_array_equal(one.score(X[part]), two.score(X[part]))
        one.learn(X[part], Y[part])
        two.learn(X[part], Y[part])
    assert_identical(state_of(one), state_of(two))


def test_a_missing_feature_is_not_a_mean(rows, fitted):
    """What goes with the feature tells more of it than its mean does."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(300, 1))
    X = np.hstack([first, first + 0.1 * rng.normal(size=(300, 1)), rng.normal(size=(300, 1))])
    Y = (X[:, :1] > 0.0).astype(float)
    clf = EFCMLClassifier(prior=1.0, cases=0).fit(X[:200], np.hstack([Y, 1 - Y])[:200])
    gone, mean = X[200:].copy(), X[200:].copy()
    gone[:, 0], mean[:, 0] = np.nan, X[:200, 0].mean()
    right = [((clf.predict(rows)[:, 0] == Y[200:, 0]).mean()) for rows in (X[200:], gone, mean)]
    assert right[1] > 0.9
    assert right[1] >= right[2]


def test_saved_in_the_middle(rows, tmp_path):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK).fit(X[:START], Y[:START]).partial_fit(X[60:105], Y[60:105])
    efcml.save(clf, tmp_path / "model")
    other = efcml.load(tmp_path / "model")
    for model in (clf, other):
        model.partial_fit(X[105:], Y[105:])
    assert_identical(state_of(other.learner_), state_of(clf.learner_))


def test_saved_in_the_warm_up_and_in_doubt(rows, tmp_path):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK, warmup_rows=20).partial_fit(X[:15], Y[:15])
    efcml.save(clf, tmp_path / "model")
    other = efcml.load(tmp_path / "model")
    far = X + np.where(np.arange(N) < 45, 0.0, 30.0)[:, None]
    for first in range(15, 90, 25):
        for model in (clf, other):
            model.partial_fit(far[first : first + 25], Y[first : first + 25])
        efcml.save(other, tmp_path / f"model-{first}")
        other = efcml.load(tmp_path / f"model-{first}")
    assert_identical(state_of(other.learner_), state_of(clf.learner_))
    assert sum(clf.learner_.following.changes) + clf.learner_.following.in_doubt > 0


@pytest.mark.parametrize("seed", range(6))
def test_fuzz(seed):
    """Whatever is missing: all scores and all of the state are finite."""
    rng = np.random.default_rng(seed)
    p, n_labels = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    X, Y = random_rows(rng, 120, p, n_labels, share=rng.choice([1.0, 0.5]))
    X = with_gaps(rng, X, rng.choice([0.05, 0.5, 0.95]))
    X[:, 0] = np.where(rng.random(120) < 0.5, X[:, 0], 1e3 * X[:, 0])
    Y[0] = 1.0
    choices = {
        "forgetting": rng.choice([0.9, 1.0]) if rng.random() < 0.5 else "auto",
        "product_space": bool(rng.random() < 0.5),
        "activation": str(rng.choice(["density", "distance"])),
        "vigilance": float(rng.choice([0.3, 1.0])),
    }
    learner = Learner(Params(**(QUICK | choices)), p, n_labels).fit(X[:40], Y[:40])
    trace = Trace.for_rows(80, n_labels)
    learner.learn(X[40:], Y[40:], trace=trace)
    assert np.isfinite(trace.scores).all()
    nothing = np.full((1, p), np.nan)
    assert np.isfinite(learner.score(nothing)).all()
    gaps = ("follow/labels", "follow/rows")
    for name, value in state_of(learner).items():
        if name not in (*gaps, "counts"):
            assert np.isfinite(np.array(value, dtype=float)).all(), name


@pytest.mark.filterwarnings("ignore::efcml.model.divergence.DivergenceWarning")
@pytest.mark.parametrize("preset", ["paper", "default"])
def test_a_column_without_any_value(rows, preset):
    X, Y = rows
    X = X.copy()
    X[:START, 1] = np.nan
    make = EFCMLClassifier.paper if preset == "paper" else EFCMLClassifier
    clf = make(**QUICK).fit(X[:START], Y[:START])
    assert (clf.learner_.scaler.mean[1], clf.learner_.scaler.scale[1]) == (0.0, 1.0)
    assert (clf.learner_.rules.center[:, 1] == 0.0).all()
    clf.partial_fit(X[START:], Y[START:])
    assert np.isfinite(clf.decision_function(X)).all()


def test_all_rows_lack_all_features():
    X, Y = np.full((30, 2), np.nan), np.tile([[0, 1], [1, 1]], (15, 1))
    clf = EFCMLClassifier(prior=1.0).fit(X, Y)
    scores = clf.decision_function(X[:1]) + 0.5
    np.testing.assert_allclose(scores, [[0.5, 1.0]], atol=0.1)


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
def test_faces_take_gaps(rows, make, delay):
    X, Y = rows
    clf = make(**QUICK).fit(X[:START], Y[:START])
    result = prequential(clf, X[START:100], Y[START:100], delay=delay, progress=False)
    assert np.isfinite(result.scores).all()
    assert clf.__sklearn_tags__().input_tags.allow_nan


def test_others_go_on_refusing(rows):
    X, Y = rows
    known = np.nan_to_num(Y)
    with pytest.raises(ValueError, match="Input X contains NaN or infinity.*fill it in"):
        GlobalRLS().fit(X, known)
    assert not GlobalRLS().__sklearn_tags__().input_tags.allow_nan
    clf = EFCMLClassifier(**QUICK)
    with pytest.raises(ValueError, match="X contains infinity, first at row 0, column 0: NaN is"):
        clf.fit(np.full((3, 2), np.inf), np.ones((3, 2)))


def test_none_and_frames(rows, fitted):
    pandas = pytest.importorskip("pandas")
    X, _ = rows
    table = X[:5].astype(object)
    table[np.isnan(X[:5])] = None
    expected = fitted.decision_function(X[:5])
    np.testing.assert_array_equal(fitted.decision_function(table), expected)
    np.testing.assert_array_equal(fitted.decision_function(pandas.DataFrame(X[:5])), expected)


@pytest.mark.parametrize("bare", [False, True])
def test_active_learners(rows, tmp_path, bare):
    X, Y = rows
    clf = EFCMLClassifier(**QUICK).fit(X[:START], Y[:START])
    model, active = (clf.learner_ if bare else clf), ActiveLearner(0.6)
    asked = [active.tell(model, x).row for x in X[START:90]]
    assert active.open_questions is not None
    efcml.save(active, tmp_path / "active")
    assert efcml.load(tmp_path / "active").spent == active.spent
    assert len(asked) == 30
    if not bare:
        result = prequential(clf, X[90:], Y[90:], active=ActiveLearner(0.5), progress=False)
        assert np.isfinite(result.scores).all()


def test_explanations_add_up_and_say_what_was_missing(rows, fitted):
    X, _ = rows
    names = ["heat", "load", "age", "size"]
    clf = EFCMLClassifier(**QUICK).fit(*(part[:START] for part in rows)).name_columns(names)
    for x in X[START : START + 12]:
        why = clf.explain(x)
        total = why.base + why.by_feature.sum(axis=0) + why.by_cases
        total = total + sum(why.afterwards.values())
        np.testing.assert_allclose(total, why.score, atol=1e-8)
        there = ~np.isnan(x)
        np.testing.assert_array_equal(why.taken[there], x[there])
        assert np.isfinite(why.taken).all()
    why = clf.explain(np.array([1.0, np.nan, 0.5, 2.0]))
    assert f"load (not given; taken as {plain_number(why.taken[1])})" in why.text()
    assert np.isfinite(fitted.activations(X)).all()
    assert 0.0 <= fitted.trust(X).rules <= 1.0


def test_data_sets_keep_gaps(rows):
    X, Y = rows
    ds = datasets.from_arrays(X, Y)
    np.testing.assert_array_equal(ds.X, X)


# -- scale ------------------------------------------------------------------------------------


def test_a_scale_ignores_what_is_missing(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 1e3]
    X[3, 2] = 1e12  # wild
    gapped = with_gaps(rng, X)
    scaler = Scaler.from_rows(gapped, 6.0)
    for j in range(3):
        there = gapped[~np.isnan(gapped[:, j]), j][:, None]
        alone = Scaler.from_rows(there, 6.0)
        assert (scaler.mean[j], scaler.scale[j]) == (alone.mean[0], alone.scale[0])
    scaled = scaler.transform(gapped)
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(gapped))
    assert scaler.count_clipped(scaled).sum() == (np.abs(np.nan_to_num(scaled)) >= 6.0).sum()


def test_rest_and_life_ignore_what_is_missing():
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [1.0, np.nan, np.nan]])
    assert is_resting(X).tolist() == [True, True, False]
    following = FollowingScale.from_rows(X, X, 2)
    assert following.arrays.asleep.tolist() == [True, True, False]
    assert following.arrays.lively.tolist() == [False, False, True]


def test_a_gap_says_nothing_of_the_scale(rng):
    followings = [FollowingScale(2, 1).copy() for _ in range(2)]
    rows = rng.normal(size=(30, 2))
    for x in rows:
        note_row(x, 6.0, followings[0].arrays)
        note_row(np.array([x[0], np.nan]), 6.0, followings[1].arrays)
    one, two = (following.state() for following in followings)
    for name in ("level", "square", "unfit", "previous"):
        assert one[name][0] == two[name][0]
        assert two[name][1] == FollowingScale(2, 1).state()[name][1]
