"""Rules are formed over the features that matter: found, followed, kept, saved, and read."""

import numpy as np
import pytest
from helpers.models import freeze
from numpy.testing import assert_array_equal

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, load, plots, prequential, save
from efcml.model import challenger, learner, relevance
from efcml.report import draw_run

QUICK = {"prior": 1.0, "max_rules": 6}


def rows_and_labels(rng, n, p=4, noise=20, K=2):
    """Labels by clusters along the first features; the others mean nothing."""
    X = rng.normal(size=(n, p + noise))
    heights = np.stack([X[:, k] * X[:, k + 1] + 0.5 * X[:, k] for k in range(K)], axis=1)
    return X, (heights + 0.3 * rng.normal(size=(n, K)) > 0.0) * 1.0


def axes_of(clf):
    return np.flatnonzero(clf.feature_relevance_).tolist()


def test_noise_does_no_harm(rng):
    X, Y = rows_and_labels(rng, 1400)
    few = prequential(EFCMLClassifier(**QUICK).fit(X[:400, :4], Y[:400]), X[400:, :4], Y[400:])
    clf = EFCMLClassifier(**QUICK).fit(X[:400], Y[:400])
    assert set(axes_of(clf)) >= {0, 1, 2} and len(axes_of(clf)) <= 5
    off = EFCMLClassifier(**QUICK, relevance="off").fit(X[:400], Y[:400])
    assert off.feature_relevance_.tolist() == [1.0] * 24
    many = prequential(clf, X[400:], Y[400:])
    assert many.pa > few.pa - 0.02
    assert prequential(off, X[400:], Y[400:]).pa < few.pa - 0.05  # without the mechanism


@pytest.mark.parametrize(
    ("name", "found"),
    {
        "plane": (lambda X, y: X[:, 0] > 0.0, {0}),
        "far from the mean": (lambda X, y: np.abs(X[:, 0]) > 1.0, {0}),
        "both together": (lambda X, y: X[:, 0] * X[:, 1] > 0.0, {0, 1}),
        "a rare label beside another": (
            lambda X, y: np.stack([X[:, 2] > 0.0, X[:, 3] > 1.6], axis=1),
            {2, 3},
        ),
    }.items(),
)
def test_what_is_found(rng, name, found):
    labels, features = found
    X = rng.normal(size=(500, 16))
    Y = np.reshape(labels(X, None), (500, -1)) * 1.0
    Y[rng.random(Y.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.05] = np.nan
    clf = EFCMLClassifier(**QUICK).fit(X, Y)
    assert features <= set(axes_of(clf)) and len(axes_of(clf)) <= len(features) + 1


def test_where_nothing_is_irrelevant_nothing_changes(rng):
    X, Y = rows_and_labels(rng, 700, p=3, noise=0)
    auto, off = (
        EFCMLClassifier(**QUICK, relevance=word).fit(X[:400], Y[:400]) for word in ("auto", "off")
    )
    results = [prequential(clf, X[400:], Y[400:]).scores for clf in (auto, off)]
    assert axes_of(auto) == [0, 1, 2]
    assert_array_equal(*results)


def test_chance_finds_little(rng):
    """Of 20 tables of noise few have any feature that counts; then all do."""
    found = 0
    for _ in range(20):
        Z, Y = rng.normal(size=(250, 12)), (rng.random((250, 3)) < 0.3) * 1.0
        U, shares = relevance.center_labels(Y, np.ones(250))
        told = relevance.surprise_of(*relevance.screen(Z, U, shares, rng))
        found += (told > relevance.least_surprise(told)).any()
    assert found <= 3


# -- along a stream ---------------------------------------------------------------------------


def moving_stream(rng, n=1800):
    """Feature 0 decides the label in the first half, feature 1 in the second."""
    X = rng.normal(size=(n, 12))
    Y = np.where(np.arange(n) < n // 2, X[:, 0], X[:, 1])[:, None] > 0.0
    return X, Y * 1.0


def test_what_begins_to_matter_joins_and_what_ceases_to_matter_leaves(rng):
    X, Y = moving_stream(rng)
    clf = EFCMLClassifier(**QUICK).fit(X[:300], Y[:300])
    assert axes_of(clf) == [0]
    before, rows = clf.learner_.rules.uid.max(), clf.learner_.rows_seen
    result = prequential(clf, X[300:], Y[300:])
    assert 1 in axes_of(clf)
    assert result.decisions[-300:].mean() > 0.0 and result.pa_trend[-1] > 0.75
    right = (result.decisions == (Y[300:] == 1.0)).mean(axis=1)
    assert right[-300:].mean() > 0.9
    assert clf.learner_.rows_seen == rows + 1500
    assert clf.learner_.rules.uid.min() > before  # others than before
    reasons = [what for _, kind, what in result.events if kind == "began anew"]
    assert reasons and {*reasons} <= {"errors have risen", "other features matter"}
    born = [uid for _, kind, uid in result.events if kind == "birth"]
    assert len(set(born)) == len(born)
    at, course = clf.learner_.relevance.course
    assert course[0, 0] > 1.0 > course[0, 1] and course[-1, 1] > 1.0
    assert (np.diff(at) > 0).all() and at[0] == 300


@pytest.mark.uncompiled
def test_looks_in_small(monkeypatch, tmp_path):
    """Features 0 and 1 decide together, then 1 alone; what is missing is filled."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(relevance, "LEAST_ROWS", 30)
    monkeypatch.setattr(challenger, "LEAST_ROWS", 40)
    for name, value in {"LOOK": 40, "BY_FEATURE": 1, "LAST_ROWS": 60}.items():
        monkeypatch.setattr(learner, name, value)
    X = rng.normal(size=(400, 5))
    Y = np.r_[X[:40, 0] + X[:40, 1], X[40:, 1]][:, None] > 0.0
    clf = EFCMLClassifier(**QUICK, cases=8).fit(X[:40], Y[:40] * 1.0)
    seen = [axes_of(clf)]
    for first in range(40, 400, 40):
        part = slice(first, first + 40)
        clf.partial_fit(X[part], Y[part] * 1.0)
        seen.append(axes_of(clf))
    assert seen[0] == [0, 1] and seen[-1] == [1]
    gaps = np.where(np.eye(5) == 1.0, np.nan, X[:5])
    save(clf, tmp_path / "model.npz")
    scores = load(tmp_path / "model.npz").decision_function(gaps)
    assert_array_equal(scores, clf.decision_function(gaps))
    assert np.isfinite(scores).all()


def test_what_ceases_to_matter_leaves(rng):
    X, Y = moving_stream(rng, 4000)
    Y[:300, 0] = X[:300, 0] + X[:300, 1] > 0.0
    Y[300:, 0] = X[300:, 1] > 0.0
    clf = EFCMLClassifier(**QUICK).fit(X[:300], Y[:300])
    assert axes_of(clf) == [0, 1]
    clf.partial_fit(X[300:3600], Y[300:3600])
    assert axes_of(clf) == [1]
    assert clf.score(X[3600:], Y[3600:]) > 0.95


@pytest.mark.parametrize("gaps", [False, True])
def test_any_split_copy_and_file_give_the_same_bits(rng, tmp_path, gaps):
    X, Y = moving_stream(rng, 1400)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
        Y[::7] = np.nan
    whole_stream = EFCMLClassifier(**QUICK).fit(X[:250], Y[:250])
    parts = EFCMLClassifier(**QUICK).fit(X[:250], Y[:250])
    whole_stream.partial_fit(X[250:], Y[250:])
    edges = [250, 251, 449, 450, 700, 703, 1050, 1400]
    for i, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        parts.partial_fit(X[low:high], Y[low:high])
        if i % 2:
            save(parts, tmp_path / "model.npz")
            parts = load(tmp_path / "model.npz")
        else:
            parts.learner_ = parts.learner_.copy()
    assert whole_stream.learner_.rules.uid.min() > 0  # it began anew
    assert freeze(parts.learner_.state()) == freeze(whole_stream.learner_.state())
    assert_array_equal(parts.predict_proba(X[:9]), whole_stream.predict_proba(X[:9]))


def test_rules_over_a_part_are_rules_of_the_part(rng):
    """With planes and cases over the same features, every bit is that of the smaller table."""
    X, Y = rows_and_labels(rng, 500)
    flags = np.arange(24) < 3
    part = EFCMLClassifier(**QUICK, relevance="off").fit(X[:300, :3], Y[:300])
    clf = EFCMLClassifier(**QUICK, relevance=flags)
    clf.fit(X[:300], Y[:300])
    watch = clf.learner_.relevance
    watch.arrays.used[:] = flags
    clf.learner_.stages = clf.learner_._make_stages()
    rows = clf.learner_.scaler.transform(X[:300])
    scores = None
    for stage in clf.learner_.stages[:2]:
        scores = stage.begin(rows, scores, Y[:300], np.ones(300))
    other, reference = clf.learner_.rules, part.learner_.rules
    assert_array_equal(other.center, reference.center)
    assert_array_equal(other.W, reference.W)
    assert_array_equal(other.answer(rows), reference.answer(rows[:, :3].copy()))


def test_a_feature_outside_of_the_rules_is_filled_by_the_planes(rng):
    X = rng.normal(size=(400, 3))
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=400)
    Y = (X[:, :1] > 0.0) * 1.0
    clf = EFCMLClassifier(**QUICK, relevance=[1, 1, 0]).fit(X, Y)
    row = clf.learner_.scaler.transform(np.array([[1.5, 0.0, np.nan]]))
    filled = clf.learner_.fill(row)[0]
    assert filled[2] == pytest.approx(row[0, 0], abs=0.3)
    assert np.isfinite(clf.decision_function([[np.nan, np.nan, np.nan]])).all()


# -- the parameter, and what is read ------------------------------------------------------------


@pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
def test_an_array_says_what_rules_are_formed_over(rng, tmp_path, kind):
    X, Y = rows_and_labels(rng, 260, noise=2)
    clf = kind(**QUICK, relevance=np.array([1.0, 0.5, 0, 0, 1, 0])).fit(X[:240], Y[:240])
    clf.partial_fit(X[240:], Y[240:])
    save(clf, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert_array_equal(again.predict(X), clf.predict(X))
    if kind is EFCMLClassifier:
        assert axes_of(clf) == axes_of(again) == [0, 1, 4]
    for learn in (kind.fit, kind.partial_fit):  # at once, not at the end of a warm-up
        with pytest.raises(ValueError, match="one entry for each of 6 features; got 2"):
            learn(kind(relevance=[1, 0]), X[:5], Y[:5])


def test_rules_name_what_matters_and_say_once_what_does_not(rng):
    rng = np.random.default_rng(0)  # of a hundred draws in some a flag is found by mistake
    X, Y = rows_and_labels(rng, 500, p=2, noise=0, K=1)
    weekday = np.eye(7)[rng.integers(0, 7, 500)]
    clf = EFCMLClassifier(**QUICK).fit(np.c_[X, weekday], Y)
    days = [f"day={i}" for i in range(7)]
    clf.name_columns(["size", "age", *days], ["sold"])
    text = str(clf.rules_)
    assert text.count("day") == 1 and "not used in the conditions: day (told no" in text
    assert str(clf.explain(np.r_[X[0], weekday[0]])).count("not used in the cond") == 1
    assert clf.rules_.importance().shape == (9, 1)
    assert clf.activations(np.c_[X, weekday]).sum(axis=1) == pytest.approx(1.0)


def test_pictures(rng):
    X, Y = moving_stream(rng, 900)
    clf = EFCMLClassifier(**QUICK).fit(X[:250], Y[:250]).partial_fit(X[250:], Y[250:])
    names = [f"f{i}" for i in range(12)]
    ax = plots.draw_relevance(clf.feature_relevance_, names, most=5)
    assert ax.get_yticklabels()[0].get_text() in ("f0", "f1")


def test_a_run_shows_it(rng):
    X, Y = moving_stream(rng, 1000)
    clf = EFCMLClassifier(**QUICK).fit(X[:250], Y[:250])
    figures = draw_run(prequential(clf, X[250:], Y[250:]), clf)
    above, below = figures["relevance"].axes
    assert len(below.lines) == 7 and below.get_yscale() == "log"
