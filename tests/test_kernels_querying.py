"""Kernels of active learning against their definitions."""

import numpy as np
import pytest
from helpers.rules import arrays_of
from helpers.streams import SIZES, learner_with_rules, naive_learner, random_covariance, random_rows
from hypothesis import given
from hypothesis import strategies as st
from naive import active as naive_active
from naive import learner as naive
from numpy.testing import assert_allclose

from efcml.active.options import make_ask, start_state
from efcml.kernels import querying
from efcml.model.casebase import CaseBase
from efcml.model.fields import CASE_FIELDS

pytestmark = pytest.mark.uncompiled

EVERY = ("novelty", "ambiguity", "instability")
KINDS = {"trace": querying.TRACE, "determinant": querying.DETERMINANT}


def ask_for(
    budget=0.1,
    unit="samples",
    criteria=EVERY,
    instability="trace",
    adaptation="quantile",
    step=0.01,
    window=100,
):
    return make_ask(budget, unit, criteria, instability, adaptation, step, window)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("psi", [1e-6, 0.3, 1.0])
def test_instability_is_what_an_update_takes_away(rng, kind, p, psi):
    P, r = random_covariance(rng, p + 1), np.append(rng.normal(size=p), 1.0)
    found = querying.instability_of(KINDS[kind], psi, P, r, np.zeros(p + 1))
    expected = naive_active.instability(P, r, psi, kind)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    assert 0.0 < found < 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "K", "n_rules"), SIZES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_largest_instability_over_rules(rng, kind, p, K, n_rules, share):
    learner = learner_with_rules(rng, n_rules, p, K, activation_floor=0.05, vigilance=1e9)
    learner.learn(*random_rows(rng, 12, p, K, share))
    rules = learner.rules
    twin = naive_learner(p, K, activation_floor=0.05)
    X, _ = random_rows(rng, 4, p, K)
    for x in X:
        centers, precisions = rules.center[:, :p], rules.input_precision
        psi = naive.activations(naive.densities(x, centers, precisions), twin.tau)
        rules.scratch.row[:] = row = np.append(x, 1.0)
        rules.scratch.activation[: rules.n_rules] = psi
        found = querying.largest_instability(
            KINDS[kind], 0.05, rules.n_rules, rules.arrays, rules.scratch
        )
        expected = max(
            naive_active.instability(naive_active.least_known(*state), row, weight, kind)
            for weight, *state in zip(psi, rules.P, rules.label_weight, strict=True)
            if weight >= 0.05
        )
        assert_allclose(found, expected, rtol=1e-7)


def test_a_fresh_rule_is_less_unstable_than_one_over_p():
    for p in (5, 14, 40):
        r = np.append(np.full(p, 50.0), 1.0)
        found = querying.instability_of(querying.TRACE, 1.0, np.eye(p + 1), r, np.zeros(p + 1))
        assert 0.9 / p < found < 1.0 / p
        share = querying.instability_of(
            querying.DETERMINANT, 1.0, np.eye(p + 1), r, np.zeros(p + 1)
        )
        assert share > 0.99


@given(
    budget=st.one_of(st.sampled_from([0.1, 0.29, 0.3, 1 / 3, 0.57, 1.0]), st.floats(0.001, 1.0)),
    rows=st.integers(0, 3000),
    K=st.integers(1, 7),
    by_label=st.booleans(),
    used=st.floats(0.0, 1.0),
)
def test_allowance_is_the_most_that_the_budget_permits(budget, rows, K, by_label, used):
    size = K if by_label else 1
    ask = ask_for(budget, "labels" if by_label else "samples")
    state = start_state()
    state[querying.ROWS], state[querying.ROOM] = rows, rows * size
    state[querying.SPENT] = np.floor(used * budget * rows * size)
    found = querying.allowance(ask, state, K)
    spent, room = int(state[querying.SPENT]), (rows + 1) * size
    fitting = [n for n in range(1, size + 1) if (spent + n) / room <= budget]
    assert found == (fitting[-1] if fitting else 0)
    state[querying.RECENT] = 100 * budget * (1 + 1e-12)
    expected = found if budget == 1.0 else 0
    assert querying.allowance(ask, state, K) == expected


def test_round_budgets_are_not_lost_to_rounding():
    for percent in range(1, 101):
        state = start_state()
        state[querying.ROWS] = state[querying.ROOM] = 99
        state[querying.SPENT] = percent - 1
        assert querying.allowance(ask_for(percent / 100), state, 3) == 1


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=6), st.integers(0, 7), st.floats(0.0, 0.6))
def test_labels_are_chosen_by_ambiguity(scores, allowed, radius):
    scores = np.array(scores)
    wanted = np.ones(len(scores), dtype=np.bool_)
    count = querying.choose_labels(scores, float(allowed), radius, wanted)
    gaps = np.abs(scores - 0.5)
    order = [c for c in np.argsort(gaps, kind="stable") if gaps[c] < radius]
    assert np.flatnonzero(wanted).tolist() == sorted(order[:allowed])
    assert count == wanted.sum()


def test_of_equally_ambiguous_labels_the_first_is_chosen():
    wanted = np.zeros(4, dtype=np.bool_)
    assert querying.choose_labels(np.array([0.0, 0.75, 0.25, 0.75]), 2.0, np.inf, wanted) == 2.0
    assert wanted.tolist() == [False, True, True, False]


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=6), st.floats(0.5, 1.0))
def test_ambiguity_is_a_band_around_one_half(scores, threshold):
    count = querying.count_ambiguous(np.array(scores), threshold)
    assert count == sum(abs(score - 0.5) < threshold - 0.5 for score in scores)


@pytest.mark.parametrize("adaptation", ["quantile", "multiplicative", "none"])
@pytest.mark.parametrize("criteria", [EVERY, ("ambiguity",), ("instability",), ("novelty",)])
@pytest.mark.parametrize("step", [0.01, 0.9])
def test_thresholds_move_as_the_twin_says(rng, adaptation, criteria, step):
    ask = ask_for(0.2, "labels", criteria, adaptation=adaptation, step=step)
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


def state_arrays(learner):
    """The arrays that learning changes, without scratch arrays."""
    cases = arrays_of(learner.cases.arrays)
    kept = {field.name: cases[field.name] for field in CASE_FIELDS}
    return arrays_of(learner.rules.arrays) | kept


@pytest.mark.parametrize("kind", KINDS)
def test_scanning_reads_the_rules_only(rng, kind):
    learner = learner_with_rules(rng, 3, 2, 2)
    learner.cases = CaseBase(2, 2, 3, 0.25, 1.0)
    learner.cases.fill(*random_rows(rng, 5, 2, 2))
    before = {name: array.copy() for name, array in state_arrays(learner).items()}
    X, _ = random_rows(rng, 20, 2, 2)
    scores, wanted = np.empty((20, 2)), np.zeros(2, dtype=np.bool_)
    row, state = 0, start_state()
    asked = []
    while row < 20:
        row, bits = learner.find_question(
            X, np.zeros(20), row, ask_for(0.5, instability=kind), state, scores, wanted
        )
        assert (bits != 0) == (row < 20)
        asked.append(row)
        row += 1
    assert len(asked) > 3
    assert state[querying.ROWS] == 20
    assert_allclose(scores, learner.score(X))
    for name, array in state_arrays(learner).items():
        assert np.array_equal(array, before[name]), name
