"""Properties of the whole learner: equal bits, equal sums, nothing that runs away, old bugs."""

import pickle
import warnings

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    assert_balanced,
    assert_identical,
    make_params,
    random_rows,
    state_of,
    unscaled_learner,
    with_gaps,
)
from numpy.testing import assert_allclose

from efcml.kernels.linalg import whole
from efcml.kernels.planes import learn_planes
from efcml.model import fit as fit_module
from efcml.model import reshape
from efcml.model.cases import CaseStage
from efcml.model.fit import folds_of
from efcml.model.learner import Learner
from efcml.model.params import DivergenceWarning, Params
from efcml.model.temporal import TemporalStage
from efcml.model.trace import Trace

pytestmark = [
    pytest.mark.uncompiled,
]

FULL = {"scaling": "follow", "cases": 6, "time": True, "forgetting": "auto"}
FULL |= {"splitting": "labels", "vigilance": 1.2, "max_rules": 8}


def full_stream(rng, n=150, gaps=False):
    """Unknown labels, rows without any, a change of units, a drift."""
    X, Y = random_rows(rng, n + 40, 3, 3)
    Y[40 + n // 2 :, 0] = 1.0 - Y[40 + n // 2 :, 0]
    X[40 + n // 3 :, 1] = 5.0 + 8.0 * X[40 + n // 3 :, 1]
    Y[40:][rng.random((n, 3)) < 0.2] = np.nan
    Y[60:64] = np.nan
    if gaps:
        X[40:] = with_gaps(rng, X[40:], 0.1)
    return (X[:40], Y[:40]), (X[40:], Y[40:])


def learn_traced(learner, X, Y, weights=None):
    trace = Trace.for_rows(*Y.shape)
    learner.learn(X, Y, trace, weights)
    return trace


# Equal bits


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("step", [1, 7, 64])
def test_any_split_into_calls_gives_the_same_bits(rng, step, gaps):
    batch, (X, Y) = full_stream(rng, gaps=gaps)
    w = rng.uniform(0.5, 2.0, size=len(X))
    one = Learner(make_params(**FULL), 3, 3).fit(*batch)
    other = one.copy()
    trace = learn_traced(one, X, Y, w)
    parts = [slice(first, first + step) for first in range(0, len(X), step)]
    traces = [learn_traced(other, X[part], Y[part], w[part]) for part in parts]
    assert_identical(state_of(other), state_of(one))
    for name in ("scores", "rules", "decisions", "probabilities"):
        found = np.concatenate([getattr(part, name) for part in traces])
        assert found.tobytes() == getattr(trace, name).tobytes(), name
    assert_balanced(one)


@pytest.mark.parametrize("way", ["copy", "state", "pickle"])
@pytest.mark.parametrize("at", [0, 30, 75])
def test_copies_go_on_alike(rng, way, at):
    """Also in the middle of a doubt about the scale, and before there are rules."""
    batch, (X, Y) = full_stream(rng)
    learner = Learner(make_params(warmup_rows=25, **FULL), 3, 3)
    if at:
        learner.fit(*batch)
    learner.learn(X[: at or 15], Y[: at or 15])
    before = state_of(learner)
    other = {
        "copy": lambda: learner.copy(),
        "state": lambda: Learner.from_state(*learner.state()),
        "pickle": lambda: pickle.loads(pickle.dumps(learner)),
    }[way]()
    first = learn_traced(learner, X[at:], Y[at:])
    assert_identical(state_of(other), before)
    second = learn_traced(other, X[at:], Y[at:])
    assert first.scores.tobytes() == second.scores.tobytes()
    assert_identical(state_of(other), state_of(learner))


def test_later_labels_change_no_earlier_answer(rng):
    batch, (X, Y) = full_stream(rng)
    one = Learner(make_params(**FULL), 3, 3).fit(*batch)
    other = one.copy()
    turned = Y.copy()
    turned[80:] = 1.0 - turned[80:]
    first, second = learn_traced(one, X, Y), learn_traced(other, X, turned)
    for name in ("scores", "decisions", "probabilities"):
        a, b = (getattr(trace, name) for trace in (first, second))
        assert a[:81].tobytes() == b[:81].tobytes()
        assert name == "decisions" or not np.array_equal(a[81:], b[81:])


def test_answers_change_nothing_and_are_those_of_the_stream(rng):
    batch, (X, Y) = full_stream(rng, gaps=True)
    learner = Learner(make_params(**FULL), 3, 3).fit(*batch).learn(X[:90], Y[:90])
    before = state_of(learner)
    learner.score(X)
    learner.answer(X[90:], Y[90:])
    learner.activations(learner.scaler.transform(X))
    said = learner.answer(X[90:91])
    assert_identical(state_of(learner), before)
    trace = learn_traced(learner, X[90:91], Y[90:91])
    assert_allclose(trace.scores, said.scores, atol=1e-14)
    assert_allclose(trace.probabilities, said.probabilities, atol=1e-14)


def test_rows_without_labels_or_weight_are_answered_only(rng):
    X, Y = random_rows(rng, 80, 2, 2)
    learner = Learner(make_params(**FULL | {"time": False}), 2, 2).fit(X[:40], Y[:40])
    before = state_of(learner)
    learner.learn(X[40:], np.full((40, 2), np.nan))
    assert_identical(state_of(learner), before)
    unlabelled, there = learner.copy(), np.arange(40) % 2 == 0
    hidden = np.where(there[:, None], Y[40:], np.nan)
    unlabelled.learn(X[40:], hidden)
    learner.learn(X[40:][there], Y[40:][there])
    assert_identical(state_of(unlabelled), state_of(learner))


def test_a_weight_of_two_is_the_row_twice_for_a_plain_rule(rng):
    X, Y = random_rows(rng, 40, 3, 2)
    changes = {"max_rules": 1, "correlation": "none", "variance_floor": 0.0}
    one, other = (unscaled_learner(3, 2, **changes) for _ in range(2))
    one.learn(X, Y, weights=np.full(40, 2.0))
    other.learn(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    for name in ("G", "B"):  # the first row makes the rule
        pair = [getattr(learner.rules, name)[0, 0] for learner in (one, other)]
        extra = np.append(X[0], 1.0)
        first = np.outer(extra, extra) if name == "G" else np.outer(Y[0], extra)
        gap = pair[1] - pair[0]
        assert_allclose(np.tril(gap), np.tril(np.broadcast_to(first, gap.shape)), atol=1e-9)


# Equal sums


@pytest.mark.parametrize("known", [1.0, 0.7])
def test_a_stream_ends_where_a_batch_does(rng, known):
    """With one rule, nothing forgotten and no steps, order does not matter to the planes.

    Where labels are unknown it does a little, since they share P.
    """
    X, Y = random_rows(rng, 120, 3, 2, known)
    learner = unscaled_learner(3, 2, max_rules=1, correlation="none", alpha=0.0).learn(X, Y)
    rules, R = learner.rules, np.insert(X, 3, 1.0, axis=1)
    first = int(np.flatnonzero(~np.isnan(Y).all(axis=1))[0])
    R[first] = 0.0  # it gave birth, and was not learned
    R = np.where(np.abs(R) > 6.0, 6.0 * np.sign(R), R)
    for c in range(2):
        there = ~np.isnan(Y[:, c])
        H = R[there].T @ R[there] + np.diag([1.0, 1.0, 1.0, 0.01])
        expected = np.linalg.solve(H, R[there].T @ Y[there, c])
        assert_allclose(rules.W[0, 0, c], expected, atol=1e-9 if known == 1.0 else 0.05)


@pytest.mark.parametrize("forgetting", [1.0, 0.99, "auto"])
def test_inverses_stay_inverses(rng, forgetting):
    n = 4000 if COMPILED else 400
    X, Y = random_rows(rng, n, 3, 2, 0.9)
    X[:, 2] *= 1e-3  # a direction that hardly any row excites
    learner = unscaled_learner(3, 2, forgetting=forgetting, vigilance=2.0, splitting="labels")
    learner.learn(X, Y)
    rules = learner.rules
    assert rules.n_rules > 2
    for i, m in np.ndindex(*rules.G.shape[:2]):
        P, G = whole(rules.P[i, m].copy()), whole(rules.G[i, m].copy())
        assert np.abs(P @ (G + np.diag(rules.Delta[i, m])) - np.eye(4)).max() < 1e-7
        assert (rules.Delta[i, m] >= 0.49 * reshape.precision(1.0, 3)).all()
    for joint, log_det in zip(rules.joint, rules.log_det, strict=True):
        assert_allclose(-np.linalg.slogdet(whole(joint.copy()))[1], log_det, atol=1e-6)


@pytest.mark.parametrize("shared", [None, 2.0])
def test_planes_are_least_squares_of_their_own_sums_after_any_row(rng, shared):
    """Also where forgetting has halved the prior, which is put back: a merge moves none."""
    X, Y = random_rows(rng, 400, 3, 2, 0.9)
    Y[200:] = 1.0 - Y[200:]
    learner = unscaled_learner(3, 2, forgetting="auto", shared=shared, correlation="none",
                               alpha=0.0, vigilance=2.0, splitting="labels")  # fmt: skip
    for t in range(400):
        rules = learner.learn(X[t : t + 1], Y[t : t + 1]).rules
        for i, m in np.ndindex(*rules.G.shape[:2]):
            sums = rules.G[i, m], rules.B[i, m], rules.Delta[i, m], rules.W_0[i, m]
            assert_allclose(rules.W[i, m], reshape.solve_planes(*sums), atol=1e-9)


@pytest.mark.parametrize("floor, most", [(0.0, np.inf), (0.1, 100.0)])
def test_support_is_capped_alike_by_rows_and_merges(rng, floor, most):
    """Forgetting caps it where there is a floor for the variance, and there alone."""
    X, Y = random_rows(rng, 400, 2, 2)
    learner = unscaled_learner(2, 2, forgetting=0.99, variance_floor=floor, max_rules=2)
    rules = learner.learn(X, Y).rules
    before = rules.support.sum()
    assert rules.n_rules == 2
    rules._merge(rules._compare(0, 1)[0])
    assert rules.support.tolist() == [pytest.approx(min(before, most))]


@pytest.mark.parametrize("known", [1.0, 0.7])
@pytest.mark.parametrize("direction", [reshape.across_labels, reshape.along_axis])
def test_to_merge_the_halves_gives_the_rule_back(rng, known, direction):
    X, Y = random_rows(rng, 120, 3, 3, known)
    changes = {"max_rules": 3, "forgetting": "auto", "vigilance": 1e6}
    rules = unscaled_learner(3, 3, **changes).learn(X, Y).rules
    assert rules.n_rules == 1
    before = {
        name: np.array(getattr(rules, name)[0]) for name in ("G", "B", "label_sums", "center")
    }
    S = reshape.invert(rules.joint[0].copy())
    numbers = {n: float(getattr(rules, n)[0]) for n in ("support", "prior_share", "weight", "use")}
    reshape.split(rules.arrays, 0, 1, rules.S_0, direction)
    n, ones, _ = rules.arrays.label_sums[:2].diagonal(axis1=2, axis2=3).swapaxes(0, 1)
    means = ones / n
    assert np.abs(means[0] - means[1]).max() > 0.1
    pair = reshape.Pair(rules.arrays, 0, 1, rules.S_0, True, 6.0)
    reshape.merge(rules.arrays, pair, 2, np.inf)
    for name, value in before.items():
        found = np.array(getattr(rules.arrays, name)[0])
        if name == "G":
            found, value = np.tril(found), np.tril(value)
        assert_allclose(found, value, rtol=1e-12, atol=1e-12 * np.abs(value).max(), err_msg=name)
    for name, value in numbers.items():
        assert_allclose(rules.arrays.facts[name][0], value, rtol=1e-12)
    assert_allclose(reshape.invert(rules.arrays.joint[0].copy()), S, rtol=1e-9, atol=1e-10)


def test_a_prior_that_rounding_took_is_raised(rng):
    rules = unscaled_learner(2, 2, max_rules=1).learn(*random_rows(rng, 30, 2, 2)).rules.arrays
    rules.G[0, 0] = np.outer([1e9, 2e9, 1.0], [1e9, 2e9, 1.0])
    prior = np.full(3, 1e-9)
    rules.Delta[0] = prior
    reshape.settle(rules, 0, prior)
    assert (rules.Delta[0] > 1e3).all()
    assert np.isfinite(rules.P[0]).all() and np.isfinite(rules.W[0]).all()


def test_ill_conditioned_rows_get_a_ridge(rng):
    X, Y = random_rows(rng, 40, 2, 1)
    X = np.column_stack([X, X[:, 0]])
    params = make_params(prior=1e-9, max_rules=1, correlation="none", alpha=0.0)
    learner = Learner(params, 3, 1).fit(X * 1e3, Y)
    H = learner.rules.G[0, 0] + np.diag(learner.rules.Delta[0, 0])
    values = np.linalg.eigvalsh(H)
    assert values[-1] <= 1.01 * fit_module.WORST_CONDITION * values[0]
    assert np.isfinite(learner.score(X)).all()


# Old bugs


def cluster_rows(rng, n, which):
    """Rows of some of four clusters at the corners of a square; the labels tell which."""
    corners = np.array([[4.0, 4.0], [-4.0, -4.0], [4.0, -4.0], [-4.0, 4.0]])
    chosen = rng.choice(which, size=n)
    return corners[chosen] + 0.4 * rng.normal(size=(n, 2)), np.eye(4)[chosen][:, :2]


@pytest.mark.slow
def test_silent_rules_are_not_merged_with_whatever_is_near(rng):
    """They were, once they had won less than a hundredth of all rows."""
    n = 30_000 if COMPILED else 1_000
    learner = Learner(Params(prior=1.0, split_share=0.4, cases=0, time=False, vigilance=0.9), 2, 4)
    X, Y = cluster_rows(rng, 400, [0, 1, 2, 3])
    Y = np.column_stack([Y, 1.0 - Y])
    learner.fit(X, Y)
    silent = [learner.activations(learner.scaler.transform(corner[None]))[0].argmax()
              for corner in np.array([[4.0, -4.0], [-4.0, 4.0]])]  # fmt: skip
    uids = {int(learner.rules.uid[i]) for i in silent}
    centers = {int(learner.rules.uid[i]): learner.rules.center[i].copy() for i in silent}
    assert len(uids) == 2
    X, Y = cluster_rows(rng, n, [0, 1])
    learner.learn(X, np.column_stack([Y, 1.0 - Y]))
    for i, uid in enumerate(learner.rules.uid):
        if uid in uids:
            assert np.array_equal(learner.rules.center[i], centers[int(uid)])
    assert uids <= set(learner.rules.uid.tolist())


def test_a_label_that_comes_to_be_known_is_learned_from_then_on(rng):
    """All labels of a rule share P, which by then hardly moves any plane."""
    n = 2000 if COMPILED else 300
    X = rng.normal(size=(n, 3))
    Y = (X @ rng.normal(size=(3, 3)) > 0.0).astype(float)
    there = Y.copy()
    there[: n // 2, 2] = np.nan
    errors = []
    for known in (Y, there):
        learner = Learner(Params(cases=0, time=False, max_rules=1, forgetting=1.0, prior=1.0), 3, 3)
        learner.fit(X[:30], known[:30]).learn(X[30:], known[30:])
        errors.append(np.abs(learner.score(X)[:, 2] - Y[:, 2]).mean())
    assert errors[1] < 1.05 * errors[0]


def test_to_read_an_array_of_the_rules_copies_nothing(rng):
    rules = unscaled_learner(3, 2).learn(*random_rows(rng, 40, 3, 2)).rules
    for name in ("G", "P", "W", "joint", "center"):
        assert np.shares_memory(getattr(rules, name), getattr(rules.arrays, name))
    assert rules.uid.base is not None
    with pytest.raises(AttributeError):
        rules.no_such_array  # noqa: B018


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("stage", [CaseStage, TemporalStage])
def test_a_fit_that_is_broken_off_changes_nothing(rng, monkeypatch, error, stage):
    """It left a new scale with the rules of before."""
    batch, (X, Y) = full_stream(rng)
    learner = Learner(make_params(**FULL), 3, 3).fit(*batch).learn(X[:20], Y[:20])
    before, scores = state_of(learner), learner.score(X)

    def broken(*given):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(stage, "begin", broken)
        with pytest.raises(error):
            learner.fit(X + 100.0, np.nan_to_num(Y))
    assert_identical(state_of(learner), before)
    assert learner.score(X).tobytes() == scores.tobytes()


def test_a_second_fit_starts_from_nothing(rng):
    batch, (X, Y) = full_stream(rng)
    learner = Learner(make_params(**FULL), 3, 3).fit(*batch).learn(X, Y)
    learner.fit(*batch)
    assert_identical(state_of(learner), state_of(Learner(make_params(**FULL), 3, 3).fit(*batch)))


def test_folds_are_interleaved_too_if_rows_are_sorted(rng):
    """On contiguous folds alone every fold lacks a class."""
    n = 100
    Y = (rng.random((n, 2)) < 0.5).astype(float)
    assert len(folds_of(Y)) == 1
    ordered = Y[np.lexsort(Y.T)]
    kinds = folds_of(ordered)
    assert len(kinds) == 2
    for folds in kinds:
        assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(n))
    assert all(np.array_equal(fold, np.arange(i, n, 5)) for i, fold in enumerate(kinds[1]))
    assert len(folds_of(np.ones((20, 2)))) == 1
    ordered[::3, 0] = np.nan
    assert len(folds_of(ordered)) == 2


def test_sorted_rows_are_told_by_planes_that_lean(rng, monkeypatch):
    """Where rows are sorted by class, contiguous folds alone ask for flat planes."""
    centers, classes = rng.normal(size=(5, 8)), np.arange(150) // 30
    X, X_new = (centers[classes] + 0.5 * rng.normal(size=(150, 8)) for _ in range(2))
    Y, wrong, priors = np.eye(5)[classes], [], []
    for most in (2, 1):
        monkeypatch.setattr(fit_module, "folds_of", lambda Y, most=most: folds_of(Y)[:most])
        learner = Learner(make_params(prior="auto", max_rules=1), 8, 5).fit(X, Y)
        wrong.append(((learner.score(X_new) - Y) ** 2).mean())
        priors.append(tuple(learner.rules.prior))
    assert priors[1] == (fit_module.STRENGTHS[-1], None)
    assert wrong[0] < 0.6 * wrong[1]


# Odd data


@pytest.mark.parametrize("p, K", [(1, 1), (1, 3), (4, 1)])
def test_few_features_and_labels(rng, p, K):
    X, Y = random_rows(rng, 150, p, K)
    learner = Learner(Params(warmup_rows=30, cases=10), p, K).learn(X, Y)
    assert learner.fitted
    assert ((learner.score(X) >= 0.5) == (Y == 1.0)).mean() > 0.6


@pytest.mark.parametrize("scaling", ["follow", "frozen"])
def test_constant_features_and_labels(rng, scaling):
    X, Y = random_rows(rng, 160, 3, 3)
    X[:, 1], Y[:, 2] = 7.0, 0.0
    learner = Learner(Params(cases=10, scaling=scaling), 3, 3).fit(X[:60], Y[:60])
    trace = learn_traced(learner, X[60:], Y[60:])
    assert np.isfinite(trace.scores).all()
    assert np.abs(trace.scores[:, 2]).max() < 0.2


@pytest.mark.parametrize("value", [1e9, 1e150, 1e300])
def test_huge_values(rng, value):
    X, Y = random_rows(rng, 200, 3, 2)
    X[70], X[100:110, 0], X[150, 2] = value, -value, value
    learner = Learner(Params(cases=10), 3, 2).fit(X[:60] * value / 10.0, Y[:60])
    assert np.isfinite(learn_traced(learner, X[60:], Y[60:]).scores).all()
    learner = Learner(Params(cases=10, clip=1e6), 3, 2).fit(X[:60], Y[:60])
    assert np.isfinite(learn_traced(learner, X[60:], Y[60:]).scores).all()
    assert all(np.isfinite(a).all() for a in learner.rules.state().values() if a.dtype == float
               and a.size > 2)  # fmt: skip


def test_labels_that_are_unknown_for_a_while_and_late_ones(rng):
    batch, (X, Y) = full_stream(rng)
    Y[30:110] = np.nan
    learner = Learner(make_params(**FULL), 3, 3).fit(*batch)
    learner.learn(X[:110], Y[:110])
    scores = learner.score(X[110:])
    learner.add_labels(2)
    assert_allclose(learner.score(X[110:])[:, :3], scores, atol=1e-12)
    assert np.abs(learner.score(X[110:])[:, 3:]).max() < 1e-9
    more = (rng.random((len(X) - 110, 2)) < 0.5).astype(float)
    trace = learn_traced(learner, X[110:], np.column_stack([Y[110:], more]))
    assert np.isfinite(trace.scores).all()
    assert learner.labels.arrays.covariance.shape == (5, 5)
    other = Learner.from_state(*learner.state())
    assert_identical(state_of(other), state_of(learner))


@pytest.mark.parametrize("known", [1.0, 0.7])
def test_late_labels_are_labels_that_were_absent(rng, known):
    """The planes are those of a learner that knew them from the start as 0."""
    X, Y = random_rows(rng, 90, 2, 2, known)
    changes = {"product_space": False, "correlation": "none", "forgetting": "auto"}
    changes["variance_floor"] = 0.0  # coordinates of z take turns
    late, early = unscaled_learner(2, 2, **changes), unscaled_learner(2, 3, **changes)
    third = np.where(np.isnan(Y[:60]).all(axis=1), np.nan, 0.0)
    late.learn(X[:60], Y[:60])
    early.learn(X[:60], np.column_stack([Y[:60], third]))
    late.add_labels(1)
    assert not late.rules.W[:, :, 2].any()
    if known == 1.0:
        more = np.column_stack([Y[60:], Y[60:, 0]])
        one, two = learn_traced(late, X[60:], more), learn_traced(early, X[60:], more)
        assert_allclose(one.scores[:, :3], two.scores, atol=1e-9)


def test_late_labels_in_a_warm_up(rng):
    X, Y = random_rows(rng, 40, 2, 2)
    learner = Learner(make_params(warmup_rows=30), 2, 2).learn(X[:20], Y[:20])
    learner.add_labels(1)
    learner.learn(X[20:], np.column_stack([Y[20:], np.ones(20)]))
    assert learner.fitted and learner.score(X).shape == (40, 3)


def test_what_nothing_is_asked_of_is_not_kept(rng):
    """Label sums, penalty and joint covariance grow with the square of the labels."""
    X, Y = random_rows(rng, 200, 3, 30)
    changes = {"product_space": False, "splitting": "axis", "alpha": 0.0, "vigilance": 1.0}
    usual = Learner(make_params(**changes, correlation="shift", beta=1e-9), 3, 30)
    plain = Learner(make_params(**changes, correlation="none"), 3, 30)
    for learner in (usual, plain):
        learner.fit(X[:100], Y[:100]).learn(X[100:], Y[100:])
        assert learner.n_rules > 2
    assert_allclose(plain.score(X), usual.score(X), atol=1e-6)
    arrays = plain.rules.arrays._asdict()
    assert not any(arrays.pop(name).size for name in ("joint", "label_sums", "penalty"))
    assert all(array.size < 22 * 2 * 30 * 4 + 1 for array in arrays.values())
    plain.add_labels(2)
    other = Learner.from_state(*plain.state())
    more = np.column_stack([Y, Y[:, :2]])
    assert_identical(state_of(other.learn(X, more)), state_of(plain.learn(X, more)))


def test_a_single_rule_takes_every_row(rng):
    X, Y = random_rows(rng, 200, 3, 2)
    learner = Learner(Params(max_rules=1, cases=0), 3, 2).fit(X[:50], Y[:50])
    X[100:] += 40.0
    assert (learn_traced(learner, X[50:], Y[50:]).rules == 1).all()


def test_the_cap_is_kept(rng):
    X, Y = random_rows(rng, 300, 3, 3)
    for merging in (True, False):
        learner = unscaled_learner(3, 3, vigilance=0.2, max_rules=5, merging=merging)
        trace = learn_traced(learner, X, Y)
        assert trace.rules.max() == 5
        assert_balanced(learner)
        assert learner.rules.counts["birth"] > 20
    batch = Learner(make_params(vigilance=0.2, max_rules=5), 3, 3).fit(X, Y)
    assert batch.n_rules <= 5


PRINTED = {"correlation": "paper", "lipschitz": "paper", "alpha": 0.1, "beta": 1.0}


@pytest.mark.parametrize("batch", [False, True])
def test_printed_formulas_are_stopped_and_told_of_once(rng, batch):
    X, Y = random_rows(rng, 200, 3, 3)
    with pytest.warns(DivergenceWarning, match=r"rule \d+ .* at row \d+ .*steps too far") as told:
        learner = unscaled_learner(3, 3, vigilance=3.0, **PRINTED)
        if batch:
            learner = Learner(make_params(**PRINTED), 3, 3).fit(X[:60], Y[:60])
        trace = learn_traced(learner, X, Y)
        learner.learn(X, Y)
    assert len(told) == 1
    assert np.isfinite(trace.scores).all()
    assert np.abs(learner.rules.W).max() < 1e7
    assert learner.rules.stopped.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Learner.from_state(*learner.state()).learn(X, Y)


def test_an_update_that_loses_digits_asks_for_a_new_inverse():
    row, heights = np.array([1e6, 1.0]), np.zeros(1)
    given = np.ones(1), 1.0, 1.0, heights, np.eye(2), np.zeros((1, 2)), np.zeros(2)
    assert learn_planes(row, *given)
    assert not learn_planes(np.array([0.5, 1.0]), *given)


def test_the_warm_up_ends_with_a_fit_of_the_held_rows(rng):
    X, Y = random_rows(rng, 40, 2, 2)
    Y[5] = np.nan
    learner = Learner(make_params(warmup_rows=20), 2, 2)
    trace = learn_traced(learner, X, Y)
    there = np.delete(np.arange(21), 5)
    expected = Learner(make_params(warmup_rows=20), 2, 2).fit(X[there], Y[there])
    second = learn_traced(expected, X[21:], Y[21:])
    assert trace.scores[21:].tobytes() == second.scores.tobytes()
    assert (trace.rules[:20] == 0).all()


def test_the_last_rows_are_remembered(rng):
    X, Y = random_rows(rng, 700, 2, 2)
    Y[600:650] = np.nan
    n = 700 if COMPILED else 60
    learner = Learner(make_params(max_rules=2), 2, 2).fit(X[:50], Y[:50]).learn(X[50:n], Y[50:n])
    rows, labels, _ = learner.latest
    known = ~np.isnan(Y[:n]).all(axis=1)
    assert np.array_equal(labels, Y[:n][known][-500:])
    assert_allclose(rows, learner.scaler.transform(X[:n][known][-500:]))
