"""The whole learner against the naive learner, row by row, every field."""

import itertools
import os

import numpy as np
import pytest
from helpers.streams import (
    COMPILED,
    assert_balanced,
    assert_near,
    assert_same_rules,
    naive_learner,
    random_rows,
    unscaled_learner,
    with_gaps,
)
from naive.cases import similarity
from numpy.testing import assert_allclose

from efcml.model.divergence import DivergenceWarning
from efcml.model.fields import CASE_FIELDS, FIELDS
from efcml.model.memories import follow_antecedents
from efcml.model.sequel_fields import SEQUEL_FIELDS

pytestmark = pytest.mark.uncompiled

# Errors stay in the state, and the learner is compared after every row: more rows find no more,
# once everything has happened in them.
ROWS = 80 if COMPILED else 50
# Of the three ways to run this, the one that users run has other rows than the two others.
SEED = 1 if COMPILED and not os.environ.get("NUMBA_BOUNDSCHECK") else 0

SPLIT = {"splitting": "labels", "vigilance": 1.5, "bandwidth": 0.5, "merge_overlap": 0.9}
SHARED = {"shared": 2.0, "renewal": 10}
VARIANTS = {
    "base": {},
    "three steps": {"n_steps": 3},
    "seldom corrected": {"step_interval": 0.8, "forgetting": 0.97},
    "partial, seldom corrected": {"step_interval": 0.8, "share": 0.6},
    "laplacian": {"correlation": "laplacian"},
    "signed, input space": {"correlation": "signed", "product_space": False},
    "raw": {"correlation": "paper"},
    "none": {"correlation": "none"},
    "no penalties": {"alpha": 0.0, "beta": 0.0},
    "only L1": {"beta": 0.0},
    "only correlation": {"alpha": 0.0},
    "forgetting": {"forgetting": 0.9},
    "forgetting, partial": {"forgetting": 0.8, "share": 0.7},
    "partial": {"share": 0.6},
    "partial, two steps": {"share": 0.6, "n_steps": 2},
    "partial, input space": {"share": 0.6, "product_space": False},
    "no floors": {"variance_floor": 0.0, "activation_floor": 0.0, "rows": ROWS + 20},
    "large floors": {"variance_floor": 0.5, "activation_floor": 0.05},
    "printed merge test": {"merge_volume": "paper", "vigilance": 0.3},
    "printed merge of weights": {"merge_consequents": "paper"},
    "many merges": {"vigilance": 0.5, "merge_overlap": 0.5, "merge_volume": 1.5},
    "no merging": {"merging": False, "vigilance": 0.4},
    "nobody learns a birth row": {"birth_learning": False, "bandwidth": 1.0},
    "born with all planes": {"birth_plane": "blend"},
    "born with all planes, partial": {"birth_plane": "blend", "share": 0.6},
    "narrow": {"bandwidth": 0.5},
    "cases": {"cases": 12},
    "cases, partial": {"cases": 8, "share": 0.6, "case_noise": 0.3},
    "cases, forgetting": {"cases": 6, "forgetting": 0.95, "case_width": 0.1},
    "cases, nobody learns a birth row": {"cases": 6, "birth_learning": False, "bandwidth": 1.0},
    "distance alone": {"activation": "distance"},
    "splits": {**SPLIT, "cases": 6},
    "splits, partial": {**SPLIT, "share": 0.6},
    "splits, forgetting": {**SPLIT, "forgetting": 0.95},
    "splits, input space": {**SPLIT, "product_space": False, "merging": False},
    "splits along the axis": {**SPLIT, "splitting": "axis", "split_share": 0.2},
    "shared planes": SHARED,
    "shared planes, partial, forgetting": {**SHARED, "share": 0.6, "forgetting": 0.95},
    "shared planes, splits": {**SPLIT, **SHARED, "cases": 6},
    "follows": {"forgetting": "auto"},
    "follows, partial": {"forgetting": "auto", "share": 0.6},
    "follows, cases": {"forgetting": "auto", "cases": 12, "beta": 0.0},
    "follows, cases, partial, splits": {**SPLIT, "forgetting": "auto", "cases": 6, "share": 0.6},
    "follows, shared planes, splits": {**SPLIT, **SHARED, "forgetting": "auto"},
    "follows, many merges": {"forgetting": "auto", "vigilance": 0.5, "merge_overlap": 0.5},
    "follows, takes in": {"forgetting": "auto", "least_share": 0.2, "vigilance": 0.4},
    "follows, nobody learns a birth row": {
        "forgetting": "auto",
        "cases": 6,
        "birth_learning": False,
        "bandwidth": 1.0,
    },
    "caution": {"caution": True},
    "caution and time": {"caution": True, "time": True, "cases": 6},
    "time, partial": {"time": True, "share": 0.6},
    "follows, caution and time, partial": {
        "forgetting": "auto",
        "cases": 6,
        "caution": True,
        "time": True,
        "share": 0.3,
    },
    # In the first hundred rows nobody is taken in.
    "takes in": {"least_share": 0.2, "merging": False, "vigilance": 0.4, "rows": 2 * ROWS - 40},
    "takes in, partial": {"least_share": 0.2, "share": 0.6, "vigilance": 0.4},
}
# Of rows that lack features (how_it_works.md 11).
GAPPED = {
    "base": {},
    "hardly any feature": {"gaps": 0.9},
    "one feature": {"p": 1},
    "partial, time, caution": {"share": 0.6, "time": True, "caution": True, "cases": 6},
    "distance alone, input space": {"activation": "distance", "product_space": False},
    "input space": {"product_space": False, "vigilance": 0.4},
    "forgetting": {"forgetting": 0.9, "cases": 6},
    "nobody learns a birth row": {"birth_learning": False, "bandwidth": 1.0, "cases": 6},
    "born with all planes, splits": {"birth_plane": "blend", **SPLIT},
    "shared planes": SHARED,
    "follows": {"forgetting": "auto", "cases": 6, "beta": 0.0, "caution": True, "time": True},
    "follows, partial": {"forgetting": "auto", "share": 0.5, "cases": 4},
    "follows, many merges": {"forgetting": "auto", "vigilance": 0.5, "merge_overlap": 0.5},
}
# What must happen in the streams; in those that are not named, births and merges.
EVENTS = {
    "forgetting": ("merges", "repairs"),
    "forgetting, partial": ("merges", "repairs"),
    "printed merge test": ("births",),
    "no merging": ("births",),
    "splits": ("splits",),
    "splits, partial": ("splits",),
    "splits, forgetting": ("splits", "repairs"),
    "splits, input space": ("splits",),
    "splits along the axis": ("splits",),
    "shared planes, splits": ("splits",),
    "follows, cases, partial, splits": ("splits", "repairs"),
    "follows, shared planes, splits": ("splits", "repairs"),
}
PRINTED = {"lipschitz": "paper", "correlation": "paper", "beta": 10.0, "weight_limit": 1e3}
SHAPES = [(3, 3), (1, 1), (1, 3), (4, 1)]


def assert_same_tests(rules, tested):
    """Compare when each pair of rules was last tested for a merge."""
    uids, found = rules.uid.tolist(), rules.tested.tolist()
    for i, j in itertools.permutations(range(rules.n_rules), 2):
        assert found[i][j] == tested.get(frozenset((uids[i], uids[j])), 0)


def assert_same_cases(cases, twin):
    """Compare the remembered rows, oldest first; of the weights what they say of the cases."""
    found = cases.state()
    order = np.argsort(found["age"])
    K = similarity(twin.rows, twin.rows, twin.width)
    expected = {
        "rows": twin.rows,
        "age": twin.age,
        "kernel": K,
        "inverse": np.linalg.inv(K),
        "weights": twin.u,
        "covariance": twin.C,
        "count": [len(twin.rows), twin.changes, twin.wait],
    }
    similar = found["kernel"]
    found["weights"] = similar @ found["weights"]
    found["covariance"] = similar @ found["covariance"] @ similar
    for field in CASE_FIELDS:
        value, wanted = found[field.name], expected[field.name]
        for axis in range(field.dims.count("m")):
            value = value.take(order, axis=axis)
        if field.name == "rows":  # what is missing there is filled in
            assert_near(value, wanted, 1e-7, 1e-9, field.name)
        elif field.name in ("age", "count"):
            assert np.array_equal(value, wanted), field.name
        else:
            # Entries of a matrix are as exact as the largest of them allows.
            atol = 1e-8 * max(1.0, np.abs(wanted).max(initial=0.0))
            assert_near(value, wanted, 1e-6, atol, field.name)


def assert_same_sequel(sequel, twin):
    """Compare all that trust and time remember."""
    found, expected = sequel.state(), twin.arrays()
    assert found.keys() == expected.keys() == {field.name for field in SEQUEL_FIELDS}
    for name, value in found.items():
        assert_near(value, expected[name], 1e-6, 1e-8, name)


def assert_same(learner, twin):
    """Compare everything that the two remember."""
    assert_same_rules(learner.rules, twin.rules)
    assert_same_tests(learner.rules, twin.tested)
    assert not learner.rules.stale.any()  # between rows every P is derived that is to be
    assert_same_cases(learner.cases, twin.cases)
    if twin.sequel is not None:
        assert_same_sequel(learner.sequel, twin.sequel)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)
        twin.bring_gaussians()
        assert_same_rules(learner.brief, twin.short.rules)
        assert_same_cases(learner.recent, twin.recent)
        assert_near(learner.recent_trial, twin.recent_trial, 1e-6, 1e-9, "recent_trial")


def run_both(seed, p=2, K=3, share=1.0, rows=ROWS, moves=None, gaps=0.0, **changes):
    """Learn a stream with both, compare after every row; return learner and twin.

    From row ``moves`` on rows come from elsewhere. ``gaps`` is the share of missing features.
    """
    rng = np.random.default_rng(seed)
    X, Y = random_rows(rng, rows, p, K, share)
    X[moves:] += 0.0 if moves is None else 40.0
    X = with_gaps(rng, X, gaps) if gaps else X
    learner = unscaled_learner(p, K, **changes)
    twin = naive_learner(p, K, gaps=gaps > 0.0, **changes)
    for x, y in zip(X, Y, strict=True):
        twin.learn_row(x, y)
        learner.learn(x[None], y[None])
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
    for event in EVENTS.get(variant, ("births", "merges")) if COMPILED else ():
        assert learner.counts[event] > (event == "births"), event


@pytest.mark.parametrize("variant", GAPPED)
def test_rows_that_lack_features(variant):
    learner, _ = run_both(4, **({"p": 4, "gaps": 0.3, "rows": ROWS - 20} | GAPPED[variant]))
    assert learner.n_rules > 1 or not COMPILED  # fewer rows


@pytest.mark.slow
@pytest.mark.parametrize("forgetting", [1.0, "auto"])
def test_what_fell_silent_holds_no_share(forgetting):
    """Ninety rows are less than .4 of all, but all of late: older rules are silent after 67."""
    silent = {"least_share": 0.15, "forgetting": forgetting}
    learner, _ = run_both(1, rows=290, moves=200, **SPLIT, **silent)
    here = learner.rules.center[:, 0] > 20.0
    assert here.sum() > 1
    assert (learner.rules.updates[here] + 1).sum() == 90


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize(("p", "K"), SHAPES)
def test_small_shapes(p, K, share):
    run_both(7, p, K, share)


@pytest.mark.parametrize("seed", [0, 1])
def test_printed_formulas_are_stopped_alike(seed):
    with pytest.warns(DivergenceWarning):
        learner, twin = run_both(seed, **PRINTED)
    assert learner.rules.stopped.any()


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "share"), [("shift", 1.0), ("signed", 0.7)])
def test_longer_and_wider_streams(mode, share):
    changes = {"correlation": mode, "vigilance": 0.5, "bandwidth": 6.0}
    learner, _ = run_both(3, 6, 5, share, rows=120, **changes)
    assert learner.counts["births"] > 5


# Is every field compared?


@pytest.fixture(scope="module")
def learned_pair():
    return run_both(0, share=0.7, rows=30, cases=4, forgetting=0.95, caution=True, time=True)


def assert_noticed(learner, twin, array, index):
    """See that a change of one entry does not pass."""
    before = array[index]
    array[index] = before + 1 if array.dtype.kind == "i" else before + 0.1 + abs(before)
    with pytest.raises(AssertionError):
        assert_same(learner, twin)
    array[index] = before
    assert_same(learner, twin)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_of_a_rule_is_compared(learned_pair, field):
    learner, twin = learned_pair
    assert learner.rules.n_groups == 3
    assert learner.n_rules > 1
    array = getattr(learner.rules.arrays, field.name)
    index = (1, *(0 for _ in field.dims[1:]))  # the lower triangle; of a pair of rules the second
    assert_noticed(learner, twin, array, index)


@pytest.mark.parametrize("field", CASE_FIELDS, ids=lambda field: field.name)
def test_every_field_of_the_cases_is_compared(learned_pair, field):
    learner, twin = learned_pair
    assert learner.cases.n_cases == 4
    array = getattr(learner.cases.arrays, field.name)
    for index in np.ndindex((3,) if field.name == "count" else (1,)):
        if field.name == "count" and index == (0,):
            continue  # the number of cases: the others have as many rows
        assert_noticed(learner, twin, array, index + (0,) * (len(field.dims) - 1))


@pytest.mark.parametrize("field", SEQUEL_FIELDS, ids=lambda field: field.name)
def test_every_field_of_trust_and_time_is_compared(learned_pair, field):
    learner, twin = learned_pair
    array = getattr(learner.sequel.arrays, field.name)
    assert_noticed(learner, twin, array, (0,) * len(field.dims))
