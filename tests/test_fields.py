"""The tables of arrays: what they say of merges and of late labels is what happens."""

import numpy as np
import pytest
from helpers.streams import learner_with_rules, random_rows, start_variance
from numpy.testing import assert_allclose

from efcml.model.arguments import Cases, Rules, Scratch
from efcml.model.fields import CASE_FIELDS, FIELDS, MERGED, UNITS, allocate
from efcml.model.merging import MergeTest, compare, merge
from efcml.model.rulebase import BETWEEN_RULES, RuleBase
from efcml.model.scratch import CASE_SCRATCH, LENGTHS, SCRATCH

P_, K_ = 2, 3
LOOSE = MergeTest(overlap=1e-9, log_volume=50.0, width=2.0, product_space=True)
COMPUTED = [field for field in FIELDS if field.merged == "computed"]
BY_RULE = [field for field in FIELDS if MERGED[field.merged]]

# What a merge works out of the two old values of the field itself.
FROM_OLD = {
    "support": "their sum, capped",
    "updates": "their sum, and one for the second birth",
    "prior_share": "the larger one, as far as the cap leaves it",
    "tested": "with every other rule the later test of the two",
    "W_prior": "their mean by weight",
    "label_weight": "pooled",
    "label_mean": "pooled",
    "label_cov": "pooled",
    "uid": "that of the rule with more support",
}


def names(fields):
    return [field.name for field in fields]


def by_name(field):
    return field.name


# The tables themselves


@pytest.mark.parametrize(
    "table", [FIELDS, CASE_FIELDS, SCRATCH, CASE_SCRATCH, CASE_FIELDS + CASE_SCRATCH]
)
def test_no_two_arrays_of_a_table_have_one_name(table):
    assert len(set(names(table))) == len(table)


def test_bundles_hold_the_tables():
    assert list(Rules._fields) == names(FIELDS)
    assert list(Scratch._fields) == names(SCRATCH)
    assert list(Cases._fields) == [*names(CASE_FIELDS + CASE_SCRATCH), "width", "noise"]


def named(dims):
    """Return the dimensions that are called by a name."""
    return {dim for dim in dims if not dim.isdigit()}


@pytest.mark.parametrize("field", FIELDS, ids=by_name)
def test_every_field_says_what_becomes_of_it(field):
    assert field.merged in MERGED
    assert field.late in ("zero", "computed")
    assert named(field.dims) <= set(RuleBase.sizes_of(1, 1, 1, 1, 1))


@pytest.mark.parametrize("field", FIELDS + CASE_FIELDS, ids=by_name)
def test_every_field_says_what_a_change_of_units_does(field):
    assert field.units in UNITS


@pytest.mark.parametrize("field", SCRATCH + CASE_SCRATCH, ids=by_name)
def test_sizes_of_scratch_arrays_are_known(field):
    sizes = {"m"} | set(LENGTHS) | set(RuleBase.sizes_of(1, 1, 1, 1, 1))
    assert named(field.dims) <= sizes
    assert field.meaning


# Merges


def three_rules(rng, share):
    """Rules of which every field has its own values, and a pair to be merged."""
    learner = learner_with_rules(rng, 3, P_, K_, vigilance=1e9, merging=False)
    learner.learn(*random_rows(rng, 40, P_, K_, share))
    rules = learner.rules
    assert rules.n_groups == (1 if share == 1.0 else K_)
    rules.updates[:], rules.stopped[:], rules.born[:] = (5, 17, 9), (0, 12, 3), (4, 2, 0)
    rules.support[:], rules.prior_share[:] = (6.0, 18.0, 10.0), (0.5, 0.75, 1.0)
    rules.arrays.tested[:3, :3] = [[0, 7, 5], [7, 0, 11], [5, 11, 0]]
    return learner


def merged_pair(learner, poison=None):
    """Merge the first two rules; before, ``poison`` may change them."""
    rules = learner.rules.copy()
    pair = compare(rules, 0, 1, learner.start_variance, LOOSE)
    if poison is not None:
        poison(rules)
    assert merge(rules, pair, max_support=1e9) == 0
    return rules


def exchanged(learner):
    """The same learner, its first two rules in each other's places."""
    other = learner.copy()
    order = np.arange(other.rules.capacity)
    order[:2] = 1, 0
    for field in FIELDS:
        array = getattr(other.rules.arrays, field.name)
        array[:] = array[order]
        if field.name in BETWEEN_RULES:
            array[:] = array[:, order]
    return other


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("field", BY_RULE, ids=by_name)
def test_a_field_is_merged_as_its_line_says(rng, field, share):
    learner = three_rules(rng, share)
    old = getattr(learner.rules, field.name)
    expected = MERGED[field.merged](old[0], old[1])
    found = getattr(merged_pair(learner), field.name)[0]
    assert np.array_equal(found, expected)


def test_fields_that_need_their_old_values_are_computed():
    assert set(FROM_OLD) < set(names(COMPUTED))


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("field", [f for f in COMPUTED if f.name not in FROM_OLD], ids=by_name)
def test_a_merge_leaves_nothing_of_a_computed_field(rng, field, share):
    learner = three_rules(rng, share)

    def poison(rules):
        getattr(rules.arrays, field.name)[:2] = -999 if field.dtype == "i8" else np.nan

    clean, poisoned = merged_pair(learner), merged_pair(learner, poison)
    for other in FIELDS:
        a, b = (getattr(rules, other.name) for rules in (clean, poisoned))
        assert np.array_equal(a, b), other.name


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("name", FROM_OLD)
def test_a_merge_works_out_what_needs_old_values(rng, name, share):
    """Neither rule's value is left over: which of the two comes first does not matter."""
    learner = three_rules(rng, share)
    old = getattr(learner.rules, name)
    assert not np.array_equal(old[0], old[1])
    one, two = (getattr(merged_pair(each), name) for each in (learner, exchanged(learner)))
    assert_allclose(one, two, rtol=1e-12, atol=1e-14)


# Late labels


def filled_rules(rng, groups):
    """A rule base without a zero in any field."""
    rules = RuleBase(P_, K_, n_groups=groups, capacity=2)
    for field in FIELDS:
        array = getattr(rules.arrays, field.name)
        array[:] = rng.integers(1, 9, size=array.shape) + (0.5 if field.dtype == "f8" else 0)
    rules.n_rules = 2
    return rules


def grown(rules, count=2):
    other = rules.copy()
    other.add_labels(count, start_variance(P_, K_), 0.1)
    return other


def new_entries(old, new):
    """Tell which entries of an array were not there before."""
    there = np.zeros(new.shape, dtype=bool)
    there[tuple(map(slice, old.shape))] = True
    return ~there


@pytest.mark.parametrize("groups", [1, K_])
@pytest.mark.parametrize("field", [f for f in FIELDS if f.late == "zero"], ids=by_name)
def test_a_late_label_gets_zeros(rng, field, groups):
    rules = filled_rules(rng, groups)
    old, new = (getattr(base.arrays, field.name) for base in (rules, grown(rules)))
    added = new_entries(old, new)
    assert added.any() == bool({"K", "L", "q"} & set(field.dims))
    assert (new[added] == 0).all()
    assert np.array_equal(new[~added].ravel(), old.ravel())


def stays_zero(field, new):
    """Tell which entries of a computed field are rightly the zeros they began with."""
    zero = np.zeros(new.shape, dtype=bool)
    if field.name == "joint_precision":  # a new coordinate has not varied with any other
        q = P_ + K_
        zero[:, q:], zero[:, :, q:] = True, True
        zero[:, range(q, zero.shape[1]), range(q, zero.shape[1])] = False
    elif field.name == "label_mean":  # a new label was absent
        zero[:, :, K_:] = True
    return zero


@pytest.mark.parametrize("groups", [1, K_])
@pytest.mark.parametrize("field", [f for f in FIELDS if f.late == "computed"], ids=by_name)
def test_what_a_late_label_needs_is_written(rng, monkeypatch, field, groups):
    rules = filled_rules(rng, groups)
    old, clean = (getattr(base.arrays, field.name) for base in (rules, grown(rules)))

    def poisoned(which, sizes):
        array = allocate(which, sizes)
        if which is field:
            array[:] = -999
        return array

    monkeypatch.setattr("efcml.model.kept_arrays.allocate", poisoned)
    new = getattr(grown(rules).arrays, field.name)
    zero = stays_zero(field, new)
    assert np.array_equal(new[~zero], clean[~zero])
    assert (clean[zero] == 0).all()
    assert (new[zero] == -999).all()
    added = new_entries(old, clean)
    if groups > 1:
        changed = not np.array_equal(clean[~added].ravel(), old.ravel())
        assert changed or clean[added].any(), "zeros: the table need not say computed"
