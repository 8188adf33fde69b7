"""Whole learners against their slow twins, row by row, every field."""

import itertools
import os

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    assert_balanced,
    assert_identical,
    make_params,
    naive_learner,
    random_rows,
    state_of,
    unscaled_learner,
    with_gaps,
)
from helpers.twins import SHARED, SPLIT, assert_same
from naive import active as naive_active
from numpy.testing import assert_allclose

from efcml.active import ActiveLearner
from efcml.active.asked_stream import run_stream
from efcml.active.draws import draws_for
from efcml.model.divergence import DivergenceWarning
from efcml.model.fields import FIELDS
from efcml.model.learner import Learner
from efcml.model.trace import Trace
from efcml.support import pacing

pytestmark = pytest.mark.uncompiled

ROWS = 60 if COMPILED else 45
# Of the ways to run this, the one that users run has other rows than the others.
SEED = 1 if COMPILED and not os.environ.get("NUMBA_BOUNDSCHECK") else 0

AUTO, FEW = {"forgetting": "auto"}, {"cases": 6}
PARTIAL, WEIGHTED = {"share": 0.6}, {"weights": True}  # labels that are known; weights of rows
INPUT = {"product_space": False}
MANY_MERGES = {"vigilance": 0.5, "merge_overlap": 0.5, "merge_volume": 1.5}
NO_BIRTH_ROW = {"birth_learning": False, "bandwidth": 1.0, "cases": 6}
BOTH = {"caution": True, "time": True}
SELDOM, NO_PENALTY = {"step_interval": 0.8}, {"alpha": 0.0, "beta": 0.0}
TAKES_IN = {"least_share": 0.2, "vigilance": 0.4}
CASES = {"cases": 8, "case_width": 0.1, "case_noise": 0.3}
NO_FLOORS = {"variance_floor": 0.0, "activation_floor": 0.0, "rows": ROWS + 20}
LARGE_FLOORS = {"variance_floor": 0.5, "activation_floor": 0.05}
VARIANTS = {
    "base": {},
    "weighted": {**WEIGHTED, **FEW},
    "three steps, raw": {"n_steps": 3, "correlation": "paper"},
    "laplacian, seldom, forgetting": {**SELDOM, "correlation": "laplacian", "forgetting": 0.97},
    "signed, input, distance": {**INPUT, "correlation": "signed", "activation": "distance"},
    "no correction": {"correlation": "none", "cases": 12},
    "no penalties, narrow": {**NO_PENALTY, "bandwidth": 0.5},
    "only L1, large floors": {**LARGE_FLOORS, "beta": 0.0},
    "only correlation, no floors": {**NO_FLOORS, "alpha": 0.0},
    "forgetting": {"forgetting": 0.9},
    "forgetting, partial, cases": {**PARTIAL, **CASES, **WEIGHTED, "forgetting": 0.8},
    "partial, two steps, seldom": {**PARTIAL, **SELDOM, "n_steps": 2},
    "partial, born with all planes": {**PARTIAL, "birth_plane": "blend"},
    "partial, input space": {**PARTIAL, **INPUT},
    "printed merge test": {"merge_volume": "paper", "vigilance": 0.3},
    "printed merge of weights": {"merge_consequents": "paper", "merge_overlap": 0.5},
    "many merges": MANY_MERGES,
    "nobody learns a birth row": NO_BIRTH_ROW,
    "splits, cases": {**SPLIT, **FEW},
    "splits, partial, forgetting": {**SPLIT, **PARTIAL, "forgetting": 0.95},
    "splits, input space": {**SPLIT, **INPUT, "merging": False},
    "splits along the axis": {**SPLIT, "splitting": "axis", "split_share": 0.2},
    "shared planes, partial, forgetting": {**SHARED, **PARTIAL, "forgetting": 0.95},
    "follows, cases": {**AUTO, "cases": 12, "beta": 0.0},
    "follows, partial, splits, weighted": {**SPLIT, **AUTO, **FEW, **PARTIAL, **WEIGHTED},
    "follows, shared planes, splits": {**SPLIT, **SHARED, **AUTO},
    "follows, many merges": {**AUTO, **MANY_MERGES, "merge_volume": 1.1},
    "follows, nobody learns a birth row": {**AUTO, **NO_BIRTH_ROW},
    "caution": {"caution": True},
    "caution and time, weighted": {**BOTH, **FEW, **WEIGHTED},
    "time, partial": {**PARTIAL, "time": True},
    "follows, caution and time, partial": {**AUTO, **BOTH, **FEW, "share": 0.3},
    # In the first hundred rows nobody is taken in.
    "takes in": {**TAKES_IN, "merging": False, "rows": 120},
    "follows, takes in, partial": {**AUTO, **TAKES_IN, **PARTIAL},
    "one feature, one label": {"p": 1, "K": 1},
    "one label, partial": {**PARTIAL, "p": 4, "K": 1},
    "one feature, partial": {**PARTIAL, "p": 1},
    "wider, partial": {**PARTIAL, "p": 6, "K": 5, "bandwidth": 6.0, "rows": 40},
}
# Of rows that lack features (how_it_works.md 11).
GAPPED = {
    "base": {},
    "hardly any feature": {**WEIGHTED, "gaps": 0.9},
    "one feature": {"p": 1},
    "partial, time, caution": {**BOTH, **PARTIAL, **FEW},
    "distance alone, input space": {**INPUT, "activation": "distance"},
    "forgetting, nobody learns a birth row": {**NO_BIRTH_ROW, "forgetting": 0.9},
    "born with all planes, splits": {**SPLIT, "birth_plane": "blend"},
    "shared planes": SHARED,
    "follows": {**AUTO, **BOTH, **FEW, "beta": 0.0},
    "follows, partial, weighted": {**AUTO, **PARTIAL, **WEIGHTED, "cases": 4},
    "follows, many merges": {**AUTO, "vigilance": 0.5, "merge_overlap": 0.5},
}
# What must happen in some of the streams.
EVENTS = {
    "births": ["base", "one feature, one label"],
    "merges": ["many merges", "printed merge of weights", "follows, many merges", "takes in"],
    "repairs": ["forgetting", "splits, partial, forgetting"],
    "splits": ["splits, cases", "splits along the axis", "follows, shared planes, splits"],
}
PRINTED = {"lipschitz": "paper", "correlation": "paper", "beta": 10.0, "weight_limit": 1e3}


def run_both(
    seed,
    p=2,
    K=3,
    share=1.0,
    rows=ROWS,
    moves=None,
    gaps=0.0,
    weights=False,
    chunks=(1, 3, 10),
    **changes,
):
    """Learn a stream with both, compare after every chunk; return learner and twin.

    From row ``moves`` on rows come from elsewhere. ``gaps`` is the share of missing features.
    """
    rng = np.random.default_rng(seed)
    X, Y = random_rows(rng, rows, p, K, share)
    X[moves:] += 0.0 if moves is None else 40.0
    X = with_gaps(rng, X, gaps) if gaps else X
    amounts = rng.uniform(0.2, 3.0, rows) if weights else np.ones(rows)
    learner = unscaled_learner(p, K, **changes)
    twin = naive_learner(p, K, gaps=gaps > 0.0, **changes)
    first, sizes = 0, itertools.cycle(chunks)
    while first < rows:
        chunk = slice(first, first := min(first + next(sizes), rows))
        for x, y, amount in zip(X[chunk], Y[chunk], amounts[chunk], strict=True):
            twin.weigh(amount)
            twin.learn_row(x, y)
        learner.learn(X[chunk], Y[chunk], None, amounts[chunk] if weights else None)
        assert_same(learner, twin)
        assert_balanced(learner)
    assert learner.counts["births"] == twin.births
    assert learner.counts["merges"] == twin.merges
    assert learner.counts["splits"] == twin.splits
    assert learner.rows_seen == twin.row
    assert learner.renewal == twin.renewal
    assert learner.rules.n_groups == twin.groups
    expected = [twin.score(x, ahead) for ahead, x in enumerate(X[:5])]
    assert_allclose(learner.score(X[:5]), expected, rtol=1e-6, atol=1e-7)
    return learner, twin


@pytest.mark.parametrize("variant", VARIANTS)
def test_learner_is_the_naive_learner(variant):
    learner, _ = run_both(SEED, **VARIANTS[variant])
    for event, variants in EVENTS.items():
        if COMPILED and variant in variants:
            assert learner.counts[event] > (event == "births"), event


@pytest.mark.parametrize("variant", GAPPED)
def test_rows_that_lack_features(variant):
    learner, _ = run_both(4, **({"p": 4, "gaps": 0.3, "rows": ROWS - 20} | GAPPED[variant]))
    assert learner.n_rules > 1 or not COMPILED  # fewer rows


def test_printed_formulas_are_stopped_alike():
    with pytest.warns(DivergenceWarning):
        learner, _ = run_both(1, **PRINTED)
    assert learner.rules.stopped.any()


@pytest.mark.slow
@pytest.mark.parametrize("forgetting", [1.0, "auto"])
def test_what_fell_silent_holds_no_share(forgetting):
    """Ninety rows are less than .4 of all, but all of late: older rules are silent after 67."""
    silent = {"least_share": 0.15, "forgetting": forgetting}
    learner, _ = run_both(1, rows=290, moves=200, chunks=[29], **SPLIT, **silent)
    here = learner.rules.center[:, 0] > 20.0
    assert here.sum() > 1
    assert (learner.rules.updates[here] + 1).sum() == 90


# Scores on the way, and several pairs (alpha, beta) in one pass


@pytest.mark.parametrize(("fitted", "others"), [(True, False), (True, True), (False, False)])
def test_rows_are_scored_before_the_next_is_learned(rng, fitted, others):
    n = 50 if COMPILED else 25
    X, Y = random_rows(rng, n + 20, 2, 2)
    learner = Learner(make_params(vigilance=0.3, warmup_rows=13, **BOTH), 2, 2)
    if fitted:
        learner.fit(X[:20], Y[:20])
    X, Y = X[20:], Y[20:]
    twin, trace = learner.copy(), Trace.for_rows(n, 2)
    rows = rng.normal(size=X.shape) if others else X
    trace.rows = rows if others else None
    learner.learn(X, Y, trace=trace)
    for t in range(n):
        assert np.array_equal(trace.scores[t], twin.score(rows[t : t + 1])[0]), t
        twin.learn(X[t : t + 1], Y[t : t + 1])
    assert_identical(state_of(learner), state_of(twin))


PAIRS = [(0.0, 0.0), (0.1, 0.0), (0.0, 5.0), (0.02, 0.5), (10.0, 100.0)]
WIDE = [field.name for field in FIELDS if "L" in field.dims]
# Rounded in the products of each pair, or left behind by the first pair's last step.
APART = {*WIDE, "curvature", "curvature_direction"}
WAYS = {
    "merges, forgetting": {**MANY_MERGES, "merge_overlap": 0.4, "forgetting": 0.9},
    "printed merge of weights": {"merge_consequents": "paper", "merge_overlap": 0.4},
    "cap, two steps": {"max_rules": 4, "merging": False, "n_steps": 2, "cases": 5},
    "prior by cross-validation": {**INPUT, "prior": "auto", "correlation": "signed"},
}


def fit_and_learn(params, X, Y, pairs=None):
    half = len(X) // 2
    learner = Learner(params, 3, 3, pairs=pairs).fit(X[:half], Y[:half])
    trace = Trace.for_rows(len(X) - half, 3 * learner.n_pairs)
    learner.learn(X[half:], Y[half:], trace=trace)
    return learner, trace


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_pairs_learn_as_if_alone(rng, way):
    changes = {"vigilance": 0.4} | WAYS[way]
    X, Y = random_rows(rng, 100, 3, 3)
    wide, wide_trace = fit_and_learn(make_params(**changes), X, Y, PAIRS)
    for index, (alpha, beta) in enumerate(PAIRS):
        params = make_params(**(changes | {"alpha": alpha, "beta": beta}))
        alone, trace = fit_and_learn(params, X, Y)
        columns = slice(index * 3, (index + 1) * 3)
        assert_allclose(wide_trace.scores[:, columns], trace.scores, rtol=1e-9, atol=1e-9)
        assert wide_trace.events == trace.events
        assert_allclose(wide.score(X)[:, columns], alone.score(X), rtol=1e-9, atol=1e-9)
        for field in FIELDS:
            actual, expected = getattr(wide.rules, field.name), getattr(alone.rules, field.name)
            if field.name in WIDE:
                assert_allclose(actual[:, columns], expected, rtol=1e-8, atol=1e-9)
            elif field.name not in APART and not field.name.startswith("penalty"):
                assert np.array_equal(actual, expected), field.name
    assert wide.counts["births"] > 3
    assert wide.counts["drops" if "max_rules" in changes else "merges"] > 0
    scores = wide_trace.scores.reshape(-1, len(PAIRS), 3)
    assert (np.abs(np.diff(scores, axis=1)).max(axis=(0, 2)) > 1e-6).all()


# The active learner

START, P, K = 15, 2, 3
EVERY = ("novelty", "ambiguity", "instability")
QUESTIONS = [
    ("samples", EVERY, "quantile", 0.3),
    ("labels", EVERY, "quantile", 1.0),
    ("samples", EVERY, "multiplicative", 1.0),
    ("labels", EVERY, "none", 0.3),
    ("samples", ("novelty",), "quantile", 1.0),
    ("labels", ("novelty",), "quantile", 0.3),
    ("samples", ("ambiguity",), "multiplicative", 0.3),
    ("labels", ("ambiguity",), "quantile", 0.3),
    ("samples", ("instability",), "quantile", 0.3),
    ("labels", ("instability",), "multiplicative", 1.0),
    ("samples", ("random",), "quantile", 0.3),
    ("labels", ("ambiguity", "random"), "none", 1.0),
    ("labels", ("all",), "quantile", 0.3),
    ("samples", ("all",), "quantile", 1.0),
]
KINDS = ["trace"] * len(QUESTIONS) + ["determinant"] * 2
QUESTIONS += [("samples", EVERY, "quantile", 0.3), ("labels", ("instability",), "quantile", 1.0)]


def started(rng, n=40):
    """A learner that knows some rows, its twin, and the rest of the stream."""
    X, Y = random_rows(rng, START + n, P, K)
    learner, twin = unscaled_learner(P, K), naive_learner(P, K)
    learner.learn(X[:START], Y[:START])
    for x, y in zip(X[:START], Y[:START], strict=True):
        twin.learn_row(x, y)
    return learner, twin, X[START:], Y[START:]


def run(active, learner, X, Y):
    trace = Trace.for_rows(*Y.shape)
    queried = np.zeros(Y.shape if active.unit == "labels" else len(Y), dtype=np.bool_)
    run_stream(active, learner, X, Y, trace, queried, after_block=lambda rows: None)
    return trace, queried


@pytest.mark.parametrize(("question", "kind"), [*zip(QUESTIONS, KINDS, strict=True)])
def test_every_row_as_the_twin_decides(rng, question, kind):
    unit, criteria, adaptation, budget = question
    options = {"unit": unit, "criteria": criteria, "adaptation": adaptation, "instability": kind}
    n = 40 if COMPILED else 25
    learner, twin_learner, X, Y = started(rng, n)
    active = ActiveLearner(budget, random_state=3, **options)
    twin = naive_active.NaiveActive(budget, **options)
    draws = naive_active.random_numbers(3, 0, n)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        reasons, labels = twin.row(twin_learner, x, draws[t])
        thresholds = active.thresholds
        question = active.ask(learner, x)
        assert question.row == t
        assert (question.reasons, np.flatnonzero(question.labels).tolist()) == (reasons, labels)
        assert bool(question) == bool(labels)
        assert question.thresholds == thresholds
        assert_allclose(question.scores, twin_learner.score(x), rtol=1e-6, atol=1e-7)
        told = np.where(question.labels, y, np.nan)
        active.tell(learner, x, told if question else None)
        if labels:
            twin_learner.learn_row(x, told)
        assert active.spent == twin.spent
        assert_allclose([*active.thresholds.values()], [twin.t2, twin.t3], rtol=1e-9)
    assert active.spent > 0


@pytest.mark.parametrize("first", [1, 7])
@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_blocks_and_single_rows_ask_the_same(rng, unit, first, monkeypatch):
    monkeypatch.setattr(pacing, "FIRST_BLOCK", first)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)
    learner, _, X, Y = started(rng, 30)
    single, once = learner.copy(), learner.copy()
    asks, tells = (ActiveLearner(0.3, unit, (*EVERY, "random"), random_state=3) for _ in range(2))
    trace, queried = run(asks, once, X, Y)
    before, state = state_of(single), tells.state.copy()
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        question = tells.ask(single, x)
        if t == 0:  # asking changes nothing
            assert_identical(state_of(single), before)
            assert np.array_equal(tells.state, state) and tells.log == ()
        assert np.array_equal(question.scores, trace.scores[t])
        expected = question.labels if unit == "labels" else bool(question)
        assert np.array_equal(queried[t], expected)
        told = np.where(question.labels, y, np.nan)
        tells.tell(single, question, told if question else None)
        assert single.n_rules == trace.rules[t]
    assert_identical(state_of(once), state_of(single))
    assert asks.log and len(asks.log) == len(tells.log)
    for one, other in zip(asks.log, tells.log, strict=True):
        assert np.array_equal(one.labels, other.labels)
        assert one[:2] + one[3:] == other[:2] + other[3:]
    plain, asked = learner.copy().learn(X, Y), learner.copy()
    run(ActiveLearner.all(unit), asked, X, Y)  # every label is asked for
    assert_identical(state_of(asked), state_of(plain))


def test_random_numbers_are_splitmix():
    for seed in (0, 1, 2**64 - 1):
        assert draws_for(seed, 5, 20).tolist() == naive_active.random_numbers(seed, 5, 20)


def test_an_interrupted_block_is_undone(rng, monkeypatch):
    learner, _, X, Y = started(rng)
    monkeypatch.setattr(pacing, "FIRST_BLOCK", 30)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)
    expected, expected_active = learner.copy(), ActiveLearner(0.5)
    run(expected_active, expected, X[:30], Y[:30])
    active, learn, calls = ActiveLearner(0.5), Learner.learn, []

    def learn_until_stopped(*args, **options):
        calls.append(1)
        if len(calls) > len(expected_active.log) + 3:
            raise KeyboardInterrupt
        return learn(*args, **options)

    monkeypatch.setattr(Learner, "learn", learn_until_stopped)
    with pytest.raises(KeyboardInterrupt):
        run(active, learner, X, Y)
    assert active.rows == 30
    assert np.array_equal(active.state, expected_active.state)
    assert len(active.log) == len(expected_active.log)
    assert_identical(state_of(learner), state_of(expected))
