"""What follows the rules: cases, time, labels, the warm start, missing features, one by one."""

import itertools

import numpy as np
import pytest
from helpers.streams import (
    make_params,
    random_rows,
    unscaled_learner,
    with_gaps,
)
from naive.cases import process_posterior, similarity
from naive.rules import NaiveRules
from naive.stages import NaiveLabels, NaiveTemporal
from numpy.testing import assert_allclose

from efcml._jit import plain
from efcml.kernels.planes import share_of
from efcml.kernels.temporal import LATE, LOG_RATIO, OUTWEIGHED, TIME
from efcml.model import cases as cases_module
from efcml.model import warm_start as warm_module
from efcml.model.cases import CaseStage, RecentStage, find_apart
from efcml.model.labels import LabelLayer, flip_while_better, plain_answer
from efcml.model.learner import Learner
from efcml.model.reshape import label_correlation
from efcml.model.temporal import TemporalStage
from efcml.model.warm_start import WarmStart

pytestmark = pytest.mark.uncompiled


def stream_of_scores(rng, n, K, known=1.0):
    """Scores that tell something of labels, whose errors depend on each other and on the last."""
    shared, Y = np.cumsum(rng.random(n) < 0.05) % 2.0, np.zeros((n, K))
    Y[:] = (rng.normal(size=(n, K)) + 3.0 * shared[:, None] > 1.5).astype(float)
    scores = 0.5 + 0.3 * (Y - 0.5) + 0.4 * rng.normal(size=(n, 1)) + 0.2 * rng.normal(size=(n, K))
    return scores, np.where(rng.random((n, K)) < known, Y, np.nan)


def follow(stage, scores, Y, weights=None, kept=None, rows=None):
    n = len(Y)
    rows = np.zeros((n, 1)) if rows is None else rows
    weights, kept = (np.ones(n) if part is None else part for part in (weights, kept))
    return stage.follow(rows, scores, Y, weights, kept)


# Cases


def test_cases_are_a_gaussian_process_on_the_errors(rng):
    """If every row is a case and nothing is forgotten: the textbook, whatever the order."""
    X, errors = 2.0 * rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    stage = CaseStage(2, 3, 20)
    follow(stage, np.zeros((12, 3)), errors, rows=X)
    expected = process_posterior(X, errors, X + 0.3, 0.25, 1.0)
    stage.arrays.trust_sums[:] = 0.0  # trusted as at the start
    assert_allclose(stage.answer(X + 0.3, np.zeros((12, 3))), expected, atol=1e-10)
    batch = CaseStage(2, 3, 12)
    batch.begin(X, np.zeros((12, 3)), errors, np.ones(12))
    assert_allclose(batch.answer(X + 0.3, np.zeros((12, 3))), expected, atol=1e-10)
    assert_allclose(batch.similarity(X), similarity(X, X, 0.25), atol=1e-12)


def test_a_weight_is_so_many_rows(rng):
    X, errors = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    one, two = CaseStage(2, 1, 10), CaseStage(2, 1, 10)
    follow(one, np.zeros((6, 1)), errors, weights=np.full(6, 2.0), rows=X)
    follow(two, np.zeros((12, 1)), np.repeat(errors, 2, axis=0), rows=np.repeat(X, 2, axis=0))
    n = one.n_cases
    assert_allclose(one.arrays.weights[:n], two.arrays.weights[:n], atol=1e-10)


def test_forgotten_cases_expect_nothing(rng):
    X, errors = rng.normal(size=(10, 2)), np.ones((10, 1))
    stage = CaseStage(2, 1, 10)
    follow(stage, np.zeros((10, 1)), errors, rows=X)
    before = np.abs(stage.arrays.weights).max()
    follow(stage, np.zeros((60, 1)), np.zeros((60, 1)), kept=np.full(60, 0.5),
           rows=np.full((60, 2), 9.0))  # fmt: skip
    assert np.abs(stage.arrays.weights).max() < 1e-3 * before


def test_an_inverse_that_is_derived_anew_is_the_same(rng, monkeypatch):
    X, Y = random_rows(rng, 120, 2, 2)
    one, two = RecentStage(2, 2), RecentStage(2, 2)
    first = follow(one, np.zeros((120, 2)), Y, rows=X)
    two.arrays.count[1] = cases_module.REFRESH - 10
    assert_allclose(follow(two, np.zeros((120, 2)), Y, rows=X), first, atol=1e-9)
    assert 0 < two.arrays.count[1] < 120


def test_rows_that_are_alike_are_one_case(rng):
    Z = rng.normal(size=(8, 2))
    K = similarity(np.repeat(Z, 2, axis=0), np.repeat(Z, 2, axis=0), 0.25)
    assert find_apart(K) == list(range(0, 16, 2))
    stage = CaseStage(2, 1, 16)
    follow(stage, np.zeros((16, 1)), np.ones((16, 1)), rows=np.repeat(Z, 2, axis=0))
    assert stage.n_cases == 8
    wild = np.vstack([Z, Z[:1] * 1e9])
    assert np.abs(stage.similarity(wild)).max() <= 1.0 + 1e-12


@pytest.mark.parametrize(
    "trial, held, towards, share",
    [
        ([0.0, 0.0, 0.0, 0.0], 5.0, 1.0, 1.0),
        ([0.0, 0.0, 0.0, 3.0], 5.0, 0.25, 0.25),
        ([2.0, 4.0, 0.0, 1.0], 5.0, 0.0, 0.5),
        ([2.0, 2.0, 2.0, 2.0], 2.0, 0.0, 0.5),
        ([2.0, 2.0, 2.0, 2.0], 2.0, 1.0, 1.0),
        ([-3.0, 2.0, 2.0, 2.0], 2.0, 0.0, 0.0),
        ([30.0, 2.0, 2.0, 2.0], 2.0, 0.0, 1.0),
    ],
)
def test_shares_by_hand(trial, held, towards, share):
    assert plain(share_of)(np.array(trial), held, towards) == pytest.approx(share)


# Time


def test_labels_that_repeat_are_told_by_the_last_row(rng):
    n = 300
    state = (np.cumsum(rng.random(n) < 0.05) % 2).astype(float)
    Y, scores = state[:, None], np.full((n, 1), 0.5) + 0.05 * rng.normal(size=(n, 1))
    stage = TemporalStage(1, 1)
    out = follow(stage, scores, Y)
    wrong = [((part[150:] >= 0.5) != (Y[150:] == 1.0)).mean() for part in (scores, out)]
    assert wrong[1] < 0.12 < wrong[0]
    addends = stage.addends(scores[-1])
    answer = stage.answer(None, scores[-1:])[0]
    assert_allclose(scores[-1] + sum(addends.values()), answer, atol=1e-12)
    assert set(addends) == {"label frequencies", "the last errors", "the last labels"}


@pytest.mark.parametrize("known", [1.0, 0.6])
@pytest.mark.parametrize("delay, by_hand", [(3, False), (40, False), (3, True), (40, True)])
def test_late_labels_teach_by_what_was_known(rng, known, delay, by_hand):
    """Late in a stream, or by hand: rows go by, and their labels come when somebody answers."""
    scores, Y = stream_of_scores(rng, 160, 3, known)
    stage, twin = TemporalStage(1, 3), NaiveTemporal(3)
    stage.begin(None, scores[:40], Y[:40], np.ones(40))
    twin.begin(scores[:40], Y[:40], np.ones(40))
    if not by_hand:
        stage.come_late(delay, gone_by=False)
        twin.forget_time()
        twin.delay = delay
    for t in range(40, 160):
        row = t - delay if by_hand else t
        if by_hand:
            stage.pass_rows(1)
            twin.pass_row()
        if row >= 40:
            if by_hand:
                learned_at = stage.arrays.tally[LATE]
                stage.come_late(delay, gone_by=True)
                if stage.arrays.tally[LATE] != learned_at:
                    twin.forget_time()
                twin.delay = int(stage.arrays.clock[1])
            part = slice(row, row + 1)
            out = follow(stage, scores[part], Y[part])[0]
            wanted = twin.learn(scores[row], Y[row], 1.0, delay if by_hand else None)
            assert_allclose(out, wanted, atol=1e-9)
        ahead = t % 7
        answer = stage.answer(None, scores[t : t + 1], ahead=ahead)[0]
        assert_allclose(answer, twin.answer(scores[t], ahead), atol=1e-9)
    assert stage.arrays.clock.tolist()[1] == delay


@pytest.mark.parametrize("known", [1.0, 0.6])
def test_rows_ahead_know_less(rng, known):
    scores, Y = stream_of_scores(rng, 300, 3, known)
    stage, twin = TemporalStage(1, 3), NaiveTemporal(3)
    stage.begin(None, scores[:40], Y[:40], np.ones(40))
    twin.begin(scores[:40], Y[:40], np.ones(40))
    out = follow(stage, scores[40:], Y[40:])
    for t in range(260):
        assert_allclose(out[t], twin.answer(scores[40 + t]), atol=1e-9)
        twin.learn(scores[40 + t], Y[40 + t], 1.0)
    assert stage.arrays.evidence[TIME, LOG_RATIO] > OUTWEIGHED  # so time has a say
    later = stage.answer(None, scores[:5], ahead=3 + np.arange(5))
    assert np.array_equal(stage.answer(None, scores[:5], ahead=3)[0], later[0])
    for t in range(5):
        assert_allclose(later[t], twin.answer(scores[t], ahead=3 + t), atol=1e-9)
        addends = stage.addends(scores[t], ahead=3 + t)
        assert_allclose(scores[t] + sum(addends.values()), later[t], atol=1e-9)
    passed = stage.copy()
    passed.pass_rows(3)
    assert np.array_equal(passed.answer(None, scores[:5], ahead=np.arange(5)), later)


def test_how_late_labels_come_is_learned_row_by_row(rng):
    """In any split of late rows; and where they come late once more, time begins anew again."""
    scores, Y = stream_of_scores(rng, 900, 2)
    stage = TemporalStage(1, 2)
    stage.begin(None, scores[:40], Y[:40], np.ones(40))
    anew, row = [], 40
    for delay, rows in ((60, 100), (0, 500), (60, 100)):
        before = stage.arrays.tally[LATE]
        stage.come_late(delay, gone_by=False)
        anew.append(stage.arrays.tally[LATE] != before)
        follow(stage, scores[row : row + rows], Y[row : row + rows])
        row += rows
    assert anew == [True, False, True]
    X, Y = random_rows(rng, 150, 2, 2)
    learners = []
    for size in (30, 4, 1):
        learner = Learner(make_params(time=True), 2, 2).fit(X[:100], Y[:100])
        learner.pass_rows(33)
        for first in range(100, 130, size):
            part = slice(first, min(first + size, 130))
            learner.learn(X[part], Y[part], late=33)
        learners.append(learner.state()[1])
    assert learners[0]["temporal/clock"][1] == 33
    for name, array in learners[0].items():
        assert all(array.tobytes() == other[name].tobytes() for other in learners), name


def test_rows_of_a_batch_do_not_know_their_own_labels(rng):
    scores, Y = stream_of_scores(rng, 30, 2)
    for t in (0, 7, 29):
        other = Y.copy()
        other[t] = 1.0 - other[t]
        one, two = (
            TemporalStage(1, 2).begin(None, scores, part, np.ones(30)) for part in (Y, other)
        )
        # Only by label frequencies of rows before it: hardly at all
        assert_allclose(one[t], two[t], atol=1e-12 if t == 0 else 0.02)


# Labels


def gaussian_layer(rng, K=4, decision="hamming", n=300):
    layer = LabelLayer(K, decision)
    mixing = rng.normal(size=(K, K))
    errors = rng.normal(size=(n, K)) @ mixing * 0.2
    Y = (rng.random((n, K)) < 0.4).astype(float)
    layer.begin(None, Y - errors, Y, np.ones(n))
    return layer, (Y - errors)[:40], Y[:40]


def test_known_labels_tell_others_as_in_a_gaussian(rng):
    layer, scores, Y = gaussian_layer(rng)
    assert layer.share > 0.5
    twin = NaiveLabels(4, "hamming")
    twin.covariance = layer.arrays.covariance
    twin.shared, twin.own = layer.arrays.curve[-1], layer.arrays.curve[:-1]
    known = np.where(rng.random(Y.shape) < 0.5, Y, np.nan)
    known[0] = np.nan
    given, sharpness = layer.condition(scores, known)
    said = layer.say(scores, known)
    for t in range(len(Y)):
        mean, sharp = twin.condition(scores[t], known[t])
        assert_allclose((given[t], sharpness[t]), (mean, sharp), atol=1e-9)
        chances = np.where(np.isnan(known[t]), twin.probabilities(mean, sharp), known[t])
        assert_allclose(said.probabilities[t], chances, atol=1e-9)
        assert np.array_equal(said.decisions[t], twin.decide(scores[t], known[t]))
    gaps = [((part - Y)[np.isnan(known)] ** 2).mean() for part in (scores, given)]
    assert gaps[1] < gaps[0]
    assert np.array_equal(said.scores, given)


@pytest.mark.parametrize("K", [4, 11])
def test_the_likeliest_set(rng, K):
    """Enumerated, or searched for by flips when labels are many; known ones stay."""
    layer, scores, Y = gaussian_layer(rng, K, "subset", 60)
    known = np.where(rng.random(Y.shape) < 0.2, Y, np.nan)
    decided, F = layer.say(scores[:8], known[:8]).decisions, layer.arrays.form
    sets, best = np.array(list(itertools.product((0.0, 1.0), repeat=K))), 0
    for t in range(8):
        there = ~np.isnan(known[t])
        assert np.array_equal(decided[t, there], known[t, there])
        mine = sets[(sets[:, there] == known[t, there]).all(axis=1)] - scores[t]
        least = ((mine @ F) * mine).sum(axis=1).min()
        gap = decided[t] - scores[t]
        best += gap @ F @ gap <= least + 1e-9
        plain = np.where(there, known[t], scores[t] >= 0.5) - scores[t]
        assert gap @ F @ gap <= plain @ F @ plain + 1e-9
    assert best == 8 if K == 4 else best >= 6
    y = np.zeros(2)
    flip_while_better(np.ones(2), np.full(2, True), y, np.eye(2))
    assert y.tolist() == [1.0, 1.0]


def test_rare_labels_are_said_by_f1(rng):
    n = 400
    Y = (rng.random((n, 2)) < [0.1, 0.5]).astype(float)
    scores = np.where(Y == 1.0, [0.3, 0.7], [0.1, 0.3]) + 0.1 * rng.normal(size=(n, 2))
    layer = LabelLayer(2, "f1")
    layer.begin(None, scores[:200], Y[:200], np.ones(200))
    said = follow(layer, scores[200:], Y[200:])
    assert layer.thresholds()[0] < 0.35
    rare = Y[200:, 0] == 1.0
    assert said.decisions[rare, 0].mean() > 0.5 > 0.1 > (scores[200:][rare, 0] >= 0.5).mean()
    assert LabelLayer(2, "hamming").thresholds().tolist() == [0.5, 0.5]


def test_probabilities_are_calibrated_by_the_stream(rng):
    n = 2000
    chance = rng.random((n, 1))
    Y = (rng.random((n, 1)) < chance).astype(float)
    layer = LabelLayer(1, "hamming")
    said = follow(layer, 0.5 + 0.2 * (chance - 0.5), Y).probabilities
    assert np.abs(said[1500:] - chance[1500:]).mean() < 0.1


def test_wild_scores_teach_nothing(rng):
    layer, scores, Y = gaussian_layer(rng)
    before = layer.state()
    said = follow(layer, np.where(Y == 1.0, 1e4, -1e12), Y)
    assert {tuple(np.unique(said.decisions))} == {(0.0, 1.0)}
    after = layer.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    layer.begin(None, np.full((5, 4), 1e9), Y[:5], np.ones(5))
    assert np.isfinite(layer.arrays.covariance).all()


def test_late_labels_were_never_true_nor_wrong(rng):
    layer, scores, Y = gaussian_layer(rng, 4, "f1")
    before = layer.say(scores)
    layer.add_labels(2)
    assert layer.arrays.covariance.shape == (6, 6)
    after = layer.say(np.column_stack([scores, np.zeros((40, 2))]))
    assert_allclose(after.probabilities[:, :4], before.probabilities, atol=1e-12)
    assert not after.decisions[:, 4:].any()


def test_answers_without_a_layer():
    scores = np.array([[0.2, 0.5, 2.0]])
    plain = plain_answer(scores, np.array([[np.nan, 0.0, np.nan]]))
    assert plain.decisions.tolist() == [[0.0, 0.0, 1.0]]
    assert plain.probabilities[0, 0] == 0.2 and plain.probabilities[0, 1] == 0.0
    learner = Learner(make_params(), 2, 2, layered=False)
    learner.fit(*random_rows(np.random.default_rng(0), 30, 2, 2))
    assert learner.labels is None and learner.answer(np.zeros((1, 2))).scores.shape == (1, 2)


def test_correlation_of_labels_is_that_of_weighted_rows(rng):
    Y, w = (rng.random((40, 4)) < 0.4).astype(float), rng.uniform(0.1, 2.0, size=40)
    Y[:, 3] = 1.0
    Y[rng.random(Y.shape) < 0.3] = np.nan
    known, ones = ~np.isnan(Y), np.nan_to_num(Y)
    sums = np.stack([(w * a.T) @ b for a, b in ((known, known), (ones, known), (ones, ones))])
    C = label_correlation(sums)
    assert C[3].tolist() == [0.0, 0.0, 0.0, 1.0]
    there = known[:, :3].all(axis=1)
    full = ones[there][:, :3]
    every, v = np.ones_like(full), w[there]
    sums = np.stack([(v * a.T) @ b for a, b in ((every, every), (full, every), (full, full))])
    C = label_correlation(sums)
    cov = np.cov(full.T, aweights=v, bias=True)
    assert_allclose(C, cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov))), atol=1e-9)


# Warm start


def recollect(places, labels, place):
    """A Gaussian process around a level that generalised least squares finds."""
    Q = np.linalg.inv(similarity(places, places, 0.5) + 0.2 * np.eye(len(places)))
    ones = np.ones(len(places))
    level = ones @ Q @ labels / (ones @ Q @ ones)
    return level + similarity(place[None], places, 0.5)[0] @ Q @ (labels - level)


@pytest.mark.parametrize("known, gaps", [(1.0, 0.0), (0.7, 0.2)])
def test_the_warm_start_is_its_formulas(rng, known, gaps):
    """Each row is told by the others, to find how far all of them are trusted."""
    X, Y = random_rows(rng, 30, 3, 2, known)
    X = np.where(rng.random(X.shape) < gaps, np.nan, X)
    for n in (7, 8, 20, 29):
        rows, labels, f = X[:n], Y[:n], np.nanmean(Y[:n], axis=0)
        means, gained, moved = np.nanmean(rows, axis=0), 0.0, 0.0
        whole = np.where(np.isnan(X), means, X)
        scaled = (whole - whole[:n].mean(axis=0)) / whole[:n].std(axis=0)
        places, filled = np.clip(scaled, -3, 3), np.where(np.isnan(labels), f, labels)
        for i in range(n):
            rest, there = np.arange(n) != i, ~np.isnan(labels[i])
            usual = np.nanmean(labels[rest], axis=0)
            step = (recollect(places[:n][rest], filled[rest], places[i]) - usual)[there]
            gained += step @ (labels[i] - usual)[there]
            moved += step @ step
        share = np.clip(gained / (moved + 2.0), 0.0, 1.0) if n >= 8 else 0.0
        warm = WarmStart(list(zip(rows, labels, strict=True)), 6.0)
        assert warm.share == pytest.approx(share, abs=1e-9)
        expected = f + share * (recollect(places[:n], filled, places[n]) - f)
        assert_allclose(warm.answer(f, X[n : n + 1])[0], expected, atol=1e-8)
    assert share > 0.0


def test_only_the_newest_rows_are_recollected(rng, monkeypatch):
    monkeypatch.setattr(warm_module, "NEWEST", 10)
    X, Y = random_rows(rng, 25, 2, 2)
    held, f = list(zip(X, Y, strict=True)), Y.mean(axis=0)
    every, newest = (WarmStart(rows, 6.0).answer(f, X) for rows in (held, held[-10:]))
    assert np.array_equal(every, newest) and not np.array_equal(every, np.tile(f, (25, 1)))


# Missing features


def test_missing_features_are_conditional_means(rng):
    X, Y = random_rows(rng, 80, 3, 2)
    for activation in ("density", "distance"):
        learner = unscaled_learner(3, 2, activation=activation).learn(X, Y)
        rules, twin = learner.rules, NaiveRules(learner.params, 3, 2, learner.rules.S_0)
        assert rules.n_rules > 1
        for center, joint in zip(rules.center, rules.joint, strict=True):
            full = np.tril(joint) + np.tril(joint, -1).T
            rule = type("Rule", (), {"center": center, "S": np.linalg.inv(full)})
            twin.rules.append(rule)
        gapped = with_gaps(rng, X[:40])
        filled = learner.fill(gapped)
        for t in range(40):
            assert_allclose(filled[t], twin.fill(gapped[t]), atol=1e-9)
        assert np.array_equal(filled[~np.isnan(gapped)], gapped[~np.isnan(gapped)])


def test_to_fill_in_is_better_than_to_guess(rng):
    X, Y = random_rows(rng, 600, 3, 3)
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=600)
    learner = Learner(make_params(cases=10), 3, 3).fit(X[:200], Y[:200])
    lost = X[200:].copy()
    lost[:, 0] = np.nan
    right = [((learner.score(part) >= 0.5) == (Y[200:] == 1.0)).mean() for part in (X[200:], lost)]
    assert right[1] > right[0] - 0.02


def test_a_batch_that_lacks_features(rng):
    X, Y = random_rows(rng, 120, 4, 2)
    X[:, 3] = np.nan  # nobody has it
    gapped = with_gaps(rng, X, 0.2)
    learner = Learner(make_params(cases=8, scaling="follow"), 4, 2).fit(gapped[:80], Y[:80])
    assert learner.rules.uid.min() == 0
    scores = learner.learn(gapped[80:], Y[80:]).score(gapped)
    assert np.isfinite(scores).all()
    assert ((scores >= 0.5) == (Y == 1.0)).mean() > 0.6
