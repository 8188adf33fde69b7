"""Kernels of cases, missing features, questions, decisions and the watched scale."""

import numpy as np
import pytest
from helpers.streams import learner_with_rules, random_covariance
from hypothesis import given
from hypothesis import strategies as st
from naive import active as naive_active
from naive import scale_watch as naive_watch
from naive import together as naive_together
from naive.calibration import NaiveCalibration, sigma
from naive.cases import NaiveCases, process_posterior, similarity
from naive.gaps import left_open, marginal
from naive.label_thresholds import best_thresholds
from numpy.testing import assert_allclose

from efcml.active.options import make_ask, start_state
from efcml.kernels import cases as kernels
from efcml.kernels import gaps, querying, scale_watch
from efcml.kernels.constants import F1, HAMMING, SUBSET
from efcml.model.casebase import CaseBase
from efcml.model.definite import whole
from efcml.model.filling import row_for, rows_for, rows_for_all
from efcml.model.following_scale import FollowingScale
from efcml.model.label_layer import LabelLayer

pytestmark = pytest.mark.uncompiled

WIDTH, NOISE = 0.3, 0.5


# Remembered cases


def learn(base, X, errors, forgetting=1.0, first=0):
    """Let a case base learn a stream of errors."""
    for t, (x, e) in enumerate(zip(X, errors, strict=True)):
        known = ~np.isnan(e)
        kernels.compare_with_cases(x, base.arrays)
        kernels.learn_case(e.copy(), known, known.sum(), first + t, forgetting, base.arrays)
    kernels.bring_covariance(base.arrays)


def recalled(base, X):
    scores = np.zeros((len(X), base.arrays.weights.shape[1]))
    for x, row in zip(X, scores, strict=True):
        kernels.recall(x, base.arrays, row)
    return scores


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("capacity", [1, 4, 100])
def test_cases_of_a_stream_are_those_of_the_twin(rng, capacity, forgetting, share):
    X, errors = 2.0 * rng.normal(size=(25, 2)), rng.normal(size=(25, 3))
    unknown = rng.uniform(size=(25, 3)) > share
    unknown[:, 1] = False
    errors[unknown] = np.nan
    X[20] = X[19]  # not novel: learned, but never a case
    X[5] = [-9.0, 7.0]  # far values count as less far
    base = CaseBase(2, 3, capacity, WIDTH, NOISE)
    twin = NaiveCases(2, 3, capacity, WIDTH, NOISE)
    assert not recalled(base, X).any()
    for t in range(25):
        learn(base, X[t : t + 1], errors[t : t + 1], forgetting, first=t)
        twin.learn(X[t], errors[t], t, forgetting)
        assert np.array_equal(np.sort(base.state()["age"]), twin.age)
    assert base.n_cases == len(twin.rows) == min(capacity, len(twin.rows))
    assert 20 not in twin.age or capacity == 1
    assert_allclose(recalled(base, X), [twin.recall(x) for x in X], rtol=1e-7, atol=1e-9)


def test_with_room_for_all_rows_it_is_a_gaussian_process(rng):
    X, errors, X_new = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.normal(size=(7, 3))
    stream, batch = CaseBase(3, 2, 20, WIDTH, NOISE), CaseBase(3, 2, 40, WIDTH, NOISE)
    learn(stream, X, errors)
    batch.fill(X, errors)
    expected = process_posterior(X, errors, X_new, WIDTH, NOISE)
    assert_allclose(recalled(stream, X_new), expected, rtol=1e-8, atol=1e-10)
    assert_allclose(recalled(batch, X_new), expected, rtol=1e-8, atol=1e-10)


def test_a_batch_projects_all_rows_on_the_cases(rng):
    """Subset of regressors: all rows are learned through the similarity to the chosen ones."""
    X, errors = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    base = CaseBase(2, 2, 8, WIDTH, NOISE)
    base.fill(X, errors)
    chosen = X[::5]
    assert np.array_equal(base.state()["rows"], chosen)
    K, Q = similarity(chosen, chosen, WIDTH), similarity(X, chosen, WIDTH)
    weights = np.linalg.solve(Q.T @ Q + NOISE * K, Q.T @ errors)
    assert_allclose(recalled(base, X), Q @ weights, rtol=1e-7, atol=1e-9)


def test_the_oldest_case_goes_first_and_the_inverse_stays_exact(rng):
    base = CaseBase(2, 1, 5, 0.5, NOISE)
    learn(base, 2.0 * rng.normal(size=(200, 2)), np.zeros((200, 1)))
    ages = np.sort(base.state()["age"])
    assert np.all(np.diff(ages) >= kernels.RENEWAL)
    assert 10 < base.arrays.count[kernels.CHANGES] < kernels.REFRESH
    for _ in range(2):
        state = base.state()
        assert_allclose(state["inverse"] @ state["kernel"], np.eye(5), atol=1e-9)
        base.arrays.inverse[0, 0] += 0.1  # as rounding would, in the long run
        base.arrays.count[kernels.CHANGES] = kernels.REFRESH
        learn(base, 2.0 * rng.normal(size=(10, 2)), np.zeros((10, 1)), first=200)
        assert base.arrays.count[kernels.CHANGES] < kernels.RENEWAL
    empty = CaseBase(2, 1, 0, WIDTH, NOISE)
    empty.fill(rng.normal(size=(5, 2)), np.ones((5, 1)))
    assert empty.n_cases == empty.capacity == 0


def test_where_no_variance_is_left_nothing_is_learned(rng):
    base = CaseBase(2, 1, 4, WIDTH, NOISE)
    base.fill(rng.normal(size=(4, 2)), np.ones((4, 1)))
    before = base.state()
    kernels.take_in(np.ones(1), np.array([True]), 1.0, 0.0, base.arrays)
    assert all(np.array_equal(base.state()[name], array) for name, array in before.items())


# Rows that lack features

P, K = 5, 2


@pytest.fixture
def learner(rng):
    """Three rules with Gaussians that know how features go together."""
    learner = learner_with_rules(rng, 3, P, K)
    arrays = learner.rules.arrays
    for r in range(3):
        S = random_covariance(rng, P + K)
        arrays.joint_precision[r], arrays.input_precision[r] = (
            np.tril(np.linalg.inv(part)) for part in (S, S[:P, :P])
        )
        arrays.log_det[r] = [np.linalg.slogdet(part)[1] for part in (S, S[:P, :P])]
        arrays.support[r] = 5.0 + r
    return learner


def covariance(learner, rule):
    return np.linalg.inv(whole(learner.rules.arrays.joint_precision[rule]))


@pytest.mark.parametrize("missing", [[0], [1, 3], [0, 1, 2, 3, 4]])
def test_a_row_with_gaps_is_seen_by_marginals(rng, learner, missing):
    z = rng.normal(size=P + K)
    z[missing] = np.nan
    x, scratch, arrays = z[:P], learner.rules.scratch, learner.rules.arrays
    scratch.gaps[0] = gaps.find_missing(x, scratch)
    gaps.view_gaps(x, 3, arrays, learner.settings, scratch)
    expected = [marginal(x, arrays.center[r, :P], covariance(learner, r)[:P, :P]) for r in range(3)]
    for r, (distance, size, filled) in enumerate(expected):
        assert_allclose(scratch.marginal[r], distance, atol=1e-10)
        assert_allclose(scratch.distances[r] + arrays.log_det[r, 1], distance + size, atol=1e-9)
        assert_allclose(scratch.own[r], np.append(filled, 1.0), rtol=1e-9)
        assert_allclose(row_for(learner.rules, r, x), filled, rtol=1e-9)
    values = np.array([distance + size for distance, size, _ in expected])
    psi = np.exp((values.min() - values) / (2.0 * learner.settings.bandwidth))
    together = (psi / psi.sum()) @ [filled for _, _, filled in expected]
    assert_allclose(scratch.filled, together, rtol=1e-9)
    X = np.stack([x, rng.normal(size=P)])
    assert_allclose(rows_for_all(learner.rules, X, learner.settings), [together, X[1]], rtol=1e-9)
    assert_allclose(rows_for(learner.rules, 2, X), [expected[2][2], X[1]], rtol=1e-9)
    whole_rows = X[1:]
    assert rows_for(learner.rules, 0, whole_rows) is whole_rows
    # The winner learns what is there.
    scratch.gaps[0] = gaps.find_missing(x, scratch)
    scratch.z[:], S, center = z, covariance(learner, 1), arrays.center[1].copy()
    a = 1.0 / (arrays.support[1] + 1.0)
    e = marginal(z, center, S)[2] - center
    S = (1.0 - a) * (S + a * np.outer(e, e)) + a * left_open(z, S)
    turn = (arrays.updates[1] + 1) % (P + K)
    if turn not in missing:
        floor = learner.settings.variance_floor * (P + K) * learner.start_variance[turn]
        S[turn, turn] += a * floor
    gaps.update_gapped_winner(1, learner.start_variance, arrays, learner.settings, scratch)
    assert_allclose(arrays.center[1], center + a * e, rtol=1e-9)
    assert_allclose(covariance(learner, 1), S, rtol=1e-8, atol=1e-10)
    assert_allclose(whole(arrays.input_precision[1]) @ S[:P, :P], np.eye(P), atol=1e-8)
    sizes = [np.linalg.slogdet(part)[1] for part in (S, S[:P, :P])]
    assert_allclose(arrays.log_det[1], sizes, atol=1e-9)


# Questions

EVERY = ("novelty", "ambiguity", "instability")


def ask_for(budget=0.1, unit="samples", criteria=EVERY, adaptation="quantile", step=0.01):
    return make_ask(budget, unit, criteria, "trace", adaptation, step, 100)


@pytest.mark.parametrize("kind", ["trace", "determinant"])
@pytest.mark.parametrize("p", [1, 5])
def test_instability_is_what_an_update_takes_away(rng, kind, p):
    code = {"trace": querying.TRACE, "determinant": querying.DETERMINANT}[kind]
    for psi in (1e-6, 0.3, 1.0):
        A, r = random_covariance(rng, p + 1), np.append(rng.normal(size=p), 1.0)
        found = querying.instability_of(code, psi, A, r, np.zeros(p + 1))
        expected = naive_active.instability(A, r, psi, kind)
        assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    weights = np.array([[3.0, 9.0, 9.0], [0.0, 2.0, 9.0], [0.0, 0.0, 2.0]])
    assert [querying.least_known(w) for w in (weights, weights[:1])] == [1, 0]


def test_a_fresh_rule_is_less_unstable_than_one_over_p():
    for p in (5, 14, 40):
        r, A = np.append(np.full(p, 50.0), 1.0), np.eye(p + 1)
        found = querying.instability_of(querying.TRACE, 1.0, A, r, np.zeros(p + 1))
        assert 0.9 / p < found < 1.0 / p
        share = querying.instability_of(querying.DETERMINANT, 1.0, A, r, np.zeros(p + 1))
        assert share > 0.99


@given(
    budget=st.one_of(st.sampled_from([0.1, 0.29, 0.3, 1 / 3, 0.57, 1.0]), st.floats(0.001, 1.0)),
    rows=st.integers(0, 3000),
    n_labels=st.integers(1, 7),
    by_label=st.booleans(),
    used=st.floats(0.0, 1.0),
)
def test_allowance_is_the_most_that_the_budget_permits(budget, rows, n_labels, by_label, used):
    size = n_labels if by_label else 1
    ask = ask_for(budget, "labels" if by_label else "samples")
    state = start_state()
    state[querying.ROWS], state[querying.ROOM] = rows, rows * size
    state[querying.SPENT] = np.floor(used * budget * rows * size)
    found = querying.allowance(ask, state, n_labels)
    spent, room = int(state[querying.SPENT]), (rows + 1) * size
    fitting = [n for n in range(1, size + 1) if (spent + n) / room <= budget]
    assert found == (fitting[-1] if fitting else 0)
    state[querying.RECENT] = 100 * budget * (1 + 1e-12)
    expected = found if budget == 1.0 else 0
    assert querying.allowance(ask, state, n_labels) == expected


levels = st.sampled_from([-1.0, 0.0, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0, 2.0])


@given(
    st.lists(levels, min_size=1, max_size=6), st.integers(0, 7), st.sampled_from([0.125, 0.25, 9])
)
def test_labels_are_chosen_by_ambiguity_the_first_of_equals(scores, allowed, radius):
    scores = np.array(scores)
    wanted = np.ones(len(scores), dtype=np.bool_)
    count = querying.choose_labels(scores, float(allowed), float(radius), wanted)
    off = np.abs(scores - 0.5)
    order = [c for c in np.argsort(off, kind="stable") if off[c] < radius]
    assert np.flatnonzero(wanted).tolist() == sorted(order[:allowed])
    assert count == wanted.sum()
    assert querying.count_ambiguous(scores, 0.5 + radius) == len(order)


@pytest.mark.parametrize("adaptation", ["quantile", "multiplicative", "none"])
@pytest.mark.parametrize("criteria", [EVERY, ("ambiguity",), ("instability",), ("novelty",)])
def test_thresholds_move_as_the_twin_says(rng, adaptation, criteria):
    step = 0.9 if criteria == EVERY else 0.01
    ask = ask_for(0.2, "labels", criteria, adaptation, step)
    twin = naive_active.NaiveActive(0.2, "labels", criteria, adaptation=adaptation, step=step)
    state = start_state()
    for _ in range(60):
        bits, share = int(rng.choice([0, 1, 2, 4, 6])), float(rng.uniform())
        saved = float(rng.uniform(-2, 40))
        reasons = [word for word, bit in zip(EVERY, (1, 2, 4), strict=True) if bits & bit]
        querying.adapt(ask, state, saved, share, bits)
        twin.adapt(saved, share, reasons)
        found = state[[querying.AMBIGUITY_THRESHOLD, querying.INSTABILITY_THRESHOLD]]
        assert_allclose(found, [twin.t2, twin.t3], rtol=1e-10)


# Decisions and probabilities


def labelled(rng, n, n_labels, unknown):
    """Scores and labels with errors that have something in common; every row knows one label."""
    common = rng.normal(0, 0.3, (n, 1))
    p = np.clip(rng.random((n, n_labels)) * 0.8 + common, 0, 1)
    Y = (rng.random((n, n_labels)) < p).astype(float)
    Y[:, 1:][rng.random((n, n_labels - 1)) < unknown] = np.nan
    return np.clip(p - common, -0.2, 1.2), Y


@pytest.mark.parametrize(("unknown", "kept"), [(0.0, 1.0), (0.5, 0.97)])
@pytest.mark.parametrize("decision", [F1, SUBSET])
def test_decisions_and_probabilities_are_those_of_the_twins(rng, decision, unknown, kept):
    scores, Y = labelled(rng, 50, 4, unknown)
    layer = LabelLayer(4)
    layer.begin((Y - scores)[:20], Y[:20])
    together = naive_together.NaiveTogether((Y - scores)[:20])
    calibration, arrays = NaiveCalibration(4), layer.calibration.arrays
    calibration.t, calibration.d = arrays.shared.copy(), arrays.own.copy()
    a, b, c = arrays.shared_information
    calibration.H = np.array([[a, b], [b, c]])
    calibration.A = [np.array([[a, b], [b, c]]) for a, b, c in arrays.own_information]
    rows = [(s, y, 1.0) for s, y in zip(scores[:20], Y[:20], strict=True)]
    for s, y in zip(scores[20:], Y[20:], strict=True):
        told = np.where(rng.random(4) < 0.3, y, np.nan)
        given_scores, open_part = naive_together.given(s, together.E_m, told)
        sharp = np.sqrt(np.diag(together.E_m) / np.diag(open_part))
        logits = [calibration.logit(k, value) for k, value in enumerate(given_scores)]
        expected = np.where(np.isnan(told), sigma(np.nan_to_num(sharp) * logits), told)
        answer = layer.answer(s[None], decision, told[None])
        assert_allclose(answer.scores[0], given_scores, rtol=1e-8, atol=1e-10)
        assert_allclose(answer.probabilities[0], expected, rtol=1e-8)
        if decision == F1:
            best = given_scores >= best_thresholds(rows, 4) - 1e-12
            best = np.where(np.isnan(told), best, told)
        else:
            sets = naive_together.all_sets(told)
            forms = [naive_together.form(labels, s, together.E_m) for labels in sets]
            best = sets[int(np.argmin(forms))]
        assert np.array_equal(answer.decisions[0], best)
        alone = layer.answer(s[None], HAMMING)
        assert np.array_equal(alone.decisions[0], s >= 0.5)
        shown = layer.follow(s[None], s[None], y[None], np.array([kept]), decision)
        assert_allclose(shown.probabilities[0], calibration.probabilities(s), rtol=1e-8)
        together.note(y - s, kept)
        calibration.note(s, y)
        rows = [(*row, kept * weight) for *row, weight in rows] + [(s, y, 1.0)]
        assert_allclose(whole(layer.together.arrays.covariance), together.E_m, rtol=1e-8, atol=1e-9)
        assert_allclose(layer.calibration.arrays.own, calibration.d, rtol=1e-8, atol=1e-12)
    before = layer.state()
    for s, y in ((np.full(4, 1e4), np.ones(4)), (np.zeros(4), np.full(4, np.nan))):
        layer.follow(s[None], s[None], y[None], np.ones(1), decision)  # runs away; knows nothing
    assert all(np.array_equal(before[name], array) for name, array in layer.state().items())


# The scale


STREAMS = {
    "far": lambda X: X + [3.0, 0.0],
    "wide": lambda X: X * [1.0, 5.0],
    "narrow": lambda X: X * [0.01, 1.0],
    "clipped": lambda X: np.where(np.arange(len(X))[:, None] % 4 > 1, 7.0, X),
    "still": lambda X: np.where([False, True], 0.3 + 0.001 * X, X),
    "calm": lambda X: X,
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("asleep", [False, True])
def test_a_scale_is_doubted_when_the_twin_does(rng, name, asleep):
    n_rows = 520 if name == "narrow" else 160
    X = STREAMS[name](rng.normal(size=(n_rows, 2)))
    X[:, 0] = 0.0 if asleep and name not in ("far", "narrow") else X[:, 0]
    Y = np.where(np.arange(n_rows)[:, None] % 7 == 3, np.nan, 1.0)
    follow = FollowingScale(2, 1)
    arrays = follow.arrays
    arrays.asleep[:], arrays.lively[:] = [asleep, False], [False, True]
    arrays.square[:], arrays.count[scale_watch.CALM] = 1.0, scale_watch.PAUSE
    expected = naive_watch.first_doubt(X, Y, 6.0, arrays.asleep, arrays.lively)
    given_rows = X, X, Y, np.zeros(0), 6.0, arrays
    n, doubts = scale_watch.watch_until_event(*given_rows)
    assert (n, doubts) == ((n_rows, False) if expected is None else (expected + 1, True))
    assert (expected is None) == (name == "calm")
    if doubts:  # then rows are held
        rest = X[n:], X[n:], Y[n:], np.arange(1.0 * n_rows)[n:], 6.0, arrays
        held, full = scale_watch.watch_until_event(*rest)
        labelled_rows = np.flatnonzero(~np.isnan(Y[n:, 0]))[: follow.held_amounts.size]
        assert held == (labelled_rows[-1] + 1 if full else len(X) - n)
        assert np.array_equal(follow.held[0], X[n:][labelled_rows])
        assert np.array_equal(follow.held_amounts, n + labelled_rows)


def test_missing_and_muted_features_raise_no_doubt():
    follow = FollowingScale(2, 1).arrays
    follow.square[:], follow.muted[:], follow.count[scale_watch.CALM] = 1.0, [0, 30], 1000
    X = np.column_stack([np.full(40, np.nan), np.full(40, 9.0)])
    n, doubts = scale_watch.watch_until_event(X, X, np.ones((40, 1)), np.zeros(0), 6.0, follow)
    assert (n, doubts) == (31, True)
