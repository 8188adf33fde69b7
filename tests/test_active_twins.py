"""The active learner against its slow twin, row by row, and the two ways of use."""

import itertools

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    assert_identical,
    naive_learner,
    random_rows,
    state_of,
    unscaled_learner,
)
from naive import active as naive_active
from numpy.testing import assert_allclose

from efcml.active import ActiveLearner
from efcml.active.asked_stream import run_stream
from efcml.active.draws import draws_for
from efcml.model.trace import Trace
from efcml.support import pacing

pytestmark = pytest.mark.uncompiled

ROWS, START, P, K = 40, 15, 2, 3
EVERY = ("novelty", "ambiguity", "instability")
CRITERIA = [
    EVERY,
    ("novelty",),
    ("ambiguity",),
    ("instability",),
    ("random",),
    ("all",),
    ("ambiguity", "random"),
]
VARIANTS = [
    {"unit": unit, "criteria": criteria, "adaptation": adaptation}
    for unit, criteria in itertools.product(("samples", "labels"), CRITERIA)
    for adaptation in ("quantile", "multiplicative", "none")
    if adaptation == "quantile" or {"ambiguity", "instability"} & {*criteria}
] + [
    {"unit": unit, "criteria": ("instability",), "instability": "determinant"}
    for unit in ("samples", "labels")
]
# Uncompiled, every other variant has the small budget.
BUDGETS = [
    (variant, budget)
    for place, variant in enumerate(VARIANTS)
    for budget in (0.3, 1.0)
    if COMPILED or (budget == 0.3) == place % 2
]
SEED = 3


def identity(variant):
    words = (variant["unit"], *variant["criteria"], variant.get("adaptation", "determinant"))
    return "-".join(words)


def started(rng):
    """A learner that knows some rows, its twin, and the rest of the stream."""
    X, Y = random_rows(rng, START + ROWS, P, K)
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


def masked(y, labels):
    return np.where(labels, y, np.nan)


@pytest.mark.parametrize(
    ("variant", "budget"), BUDGETS, ids=[f"{identity(v)}-{budget}" for v, budget in BUDGETS]
)
def test_every_row_as_the_twin_decides(rng, variant, budget):
    learner, twin_learner, X, Y = started(rng)
    active = ActiveLearner(budget, random_state=SEED, **variant)
    twin = naive_active.NaiveActive(budget, **variant)
    draws = naive_active.random_numbers(SEED, 0, ROWS)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        reasons, labels = twin.row(twin_learner, x, draws[t])
        thresholds = active.thresholds
        question = active.ask(learner, x)
        assert question.row == t
        assert (question.reasons, np.flatnonzero(question.labels).tolist()) == (reasons, labels)
        assert bool(question) == bool(labels)
        assert question.thresholds == thresholds
        assert_allclose(question.scores, twin_learner.score(x), rtol=1e-6, atol=1e-7)
        active.tell(learner, x, masked(y, question.labels) if question else None)
        if labels:
            twin_learner.learn_row(x, masked(y, question.labels))
        assert active.spent == twin.spent
        assert_allclose([*active.thresholds.values()], [twin.t2, twin.t3], rtol=1e-9)
    assert active.spent > 0
    if budget == 1.0 and variant["criteria"] == ("all",):
        assert active.share == 1.0


@pytest.mark.parametrize("first", [1, 7, 1000])
@pytest.mark.parametrize("variant", VARIANTS[::4], ids=identity)
def test_chunks_and_single_rows_ask_the_same(rng, variant, first, monkeypatch):
    monkeypatch.setattr(pacing, "FIRST_BLOCK", first)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)
    learner, _, X, Y = started(rng)
    single, once, twice = learner.copy(), learner.copy(), learner.copy()
    asks, tells = (ActiveLearner(0.3, random_state=SEED, **variant) for _ in range(2))
    trace, queried = run(asks, once, X, Y)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        question = tells.ask(single, x)
        assert np.array_equal(question.scores, trace.scores[t])
        expected = question.labels if variant["unit"] == "labels" else bool(question)
        assert np.array_equal(queried[t], expected)
        tells.tell(single, question, masked(y, question.labels) if question else None)
        assert single.n_rules == trace.rules[t]
    assert_identical(state_of(once), state_of(single))
    assert asks.log and len(asks.log) == len(tells.log)
    for one, other in zip(asks.log, tells.log, strict=True):
        assert np.array_equal(one.labels, other.labels)
        assert one[:2] + one[3:] == other[:2] + other[3:]
    parts = ActiveLearner(0.3, random_state=SEED, **variant)
    some = [run(parts, twice, X[cut], Y[cut]) for cut in (slice(0, 22), slice(22, None))]
    assert np.array_equal(np.concatenate([part[1] for part in some]), queried)
    assert np.array_equal(np.concatenate([part[0].scores for part in some]), trace.scores)
    assert_identical(state_of(twice), state_of(single))
    births = [
        event
        for part, add in zip(some, (0, 22), strict=True)
        for event in [(row + add, *rest) for row, *rest in part[0].events]
    ]
    assert births == trace.events


def test_asking_changes_nothing_and_repeats_itself(rng):
    learner, _, X, _ = started(rng)
    active = ActiveLearner(0.9, "labels", (*EVERY, "random"), random_state=1)
    before, state = state_of(learner), active.state.copy()
    found = [active.ask(learner, x) for x in (X[0], X[1], X[0])]
    assert np.array_equal(found[0].labels, found[2].labels)
    assert found[0].reasons == found[2].reasons
    assert np.array_equal(active.state, state)
    assert active.log == ()
    assert_identical(state_of(learner), before)


def test_random_numbers_are_splitmix(rng):
    for seed in (0, 1, 2**64 - 1):
        found = draws_for(seed, 5, 20)
        assert found.tolist() == naive_active.random_numbers(seed, 5, 20)
    many = draws_for(0, 0, 20_000)
    assert abs(many.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(many[1:], many[:-1])[0, 1]) < 0.03
    assert abs(np.corrcoef(many, draws_for(1, 0, 20_000))[0, 1]) < 0.03


def test_all_labels_given_is_a_full_update(rng):
    """A question that asks for every label teaches what plain learning does."""
    learner, _, X, Y = started(rng)
    plain = learner.copy()
    for unit in ("samples", "labels"):
        asked = learner.copy()
        run(ActiveLearner.all(unit), asked, X, Y)
        plain = learner.copy().learn(X, Y)
        assert_identical(state_of(asked), state_of(plain))


def test_an_interrupted_block_is_undone(rng, monkeypatch):
    learner, _, X, Y = started(rng)
    monkeypatch.setattr(pacing, "FIRST_BLOCK", 30)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)
    expected, expected_active = learner.copy(), ActiveLearner(0.5)
    run(expected_active, expected, X[:30], Y[:30])
    active, learn, calls = ActiveLearner(0.5), learner.learn, []

    def learn_until_stopped(*args, **options):
        calls.append(1)
        if len(calls) > len(expected_active.log) + 3:
            raise KeyboardInterrupt
        return learn(*args, **options)

    monkeypatch.setattr(type(learner), "learn", lambda self, *a, **o: learn_until_stopped(*a, **o))
    with pytest.raises(KeyboardInterrupt):
        run(active, learner, X, Y)
    assert active.rows == 30
    assert np.array_equal(active.state, expected_active.state)
    assert len(active.log) == len(expected_active.log)
    assert_identical(state_of(learner), state_of(expected))
