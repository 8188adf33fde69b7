"""RuleBase against a list of dictionaries, and labels that come late."""

import copy
import pickle

import numpy as np
import pytest
from helpers.streams import COMPILED, add_rule, learner_with_rules, random_rows, unscaled_learner
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.testing import assert_allclose

from efcml.model.fields import FIELDS
from efcml.model.rulebase import RuleBase

pytestmark = pytest.mark.uncompiled

BETWEEN = "tested"
PLAIN = [field for field in FIELDS if field.name != BETWEEN]
PER_LABEL = ("label_weight", "label_mean")


def grow_rule(one, grouped, K, count, p, S_0, floor):
    """What `add_labels` should make of one rule of the model."""
    new = {}
    best = int(np.argmax(np.diagonal(one["label_weight"]))) if grouped else 0
    for field in PLAIN:
        old = one[field.name]
        room = {"K": count, "L": count, "q": count, "g": count if grouped else 0}
        pads = [(0, room.get(dim, 0)) for dim in field.dims[1:]]
        new[field.name] = np.pad(old, pads) if pads else old
        if grouped and "g" in field.dims and field.name not in PER_LABEL:
            new[field.name][K:] = old[best]
    weight, mean = new["label_weight"], new["label_mean"]
    if grouped:
        own = np.diagonal(one["label_weight"])
        for c in range(K):
            weight[c, K:] = weight[K:, c] = own[c]
            mean[K:, c] = one["label_mean"][c, c]
        weight[K:, K:] = own.max()
    else:
        weight[0, K:] = one["weight"]
    variance = S_0 * (one["prior_share"] / one["support"] + floor)
    new["joint_precision"][range(p + K, p + K + count), range(p + K, p + K + count)] = 1 / variance
    new["log_det"] = one["log_det"] + [count * np.log(variance), 0.0]
    return new


class Growing(RuleBasedStateMachine):
    """Random births, removals and changes of shape."""

    @initialize(p=st.integers(1, 3), K=st.integers(1, 3), capacity=st.integers(1, 4))
    def start(self, p, K, capacity):
        self.base = RuleBase(p, K, capacity=capacity)
        self.model, self.tested = [], {}
        self.born, self.value = 0, 0
        self.kept = []

    def fill_random(self, index):
        """Give a rule values that no other rule has, in the base and in the model."""
        one = {}
        for field in PLAIN:
            target = getattr(self.base.arrays, field.name)[index : index + 1]
            if field.name != "uid":
                self.value += 1
                target[...] = self.value + np.arange(target.size).reshape(target.shape) / 64
            one[field.name] = getattr(self.base, field.name)[index].copy()
        self.model[index] = one
        uid = int(one["uid"])
        for j, other in enumerate(self.model):
            self.value += 1
            pair = frozenset((uid, int(other["uid"])))
            self.base.tested[index, j] = self.base.tested[j, index] = self.value
            self.tested[pair] = self.value

    @rule()
    def append(self):
        index = self.base.append()
        assert index == len(self.model)
        for field in PLAIN:
            wanted = self.born if field.name == "uid" else field.fill
            assert (getattr(self.base, field.name)[index] == wanted).all()
        self.born += 1
        self.model.append({"uid": self.base.uid[index].copy()})
        self.fill_random(index)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def swap_remove(self, data):
        index = data.draw(st.integers(0, len(self.model) - 1))
        self.base.swap_remove(index)
        last = self.model.pop()
        if index < len(self.model):
            self.model[index] = last

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def rewrite(self, data):
        self.fill_random(data.draw(st.integers(0, len(self.model) - 1)))

    @rule(capacity=st.integers(1, 20))
    def reserve(self, capacity):
        before = self.base.capacity
        self.base.reserve(capacity)
        assert self.base.capacity >= max(before, capacity)
        assert self.base.capacity % before == 0

    @rule()
    def split_groups(self):
        if self.base.n_groups == 1:
            for one in self.model:
                for field in PLAIN:
                    if "g" in field.dims:
                        one[field.name] = np.repeat(one[field.name], self.base.n_labels, axis=0)
        self.base.split_groups()
        assert self.base.n_groups == self.base.n_labels

    @precondition(lambda self: self.base.n_labels < 5)
    @rule(count=st.integers(1, 2), floor=st.sampled_from([0.0, 0.1]))
    def add_labels(self, count, floor):
        base = self.base
        p, K, grouped = base.n_features, base.n_labels, base.n_groups > 1
        self.model = [grow_rule(one, grouped, K, count, p, 0.25, floor) for one in self.model]
        S_0 = np.append(np.arange(1.0, p + 1), np.full(K, 0.25))
        grown = base.add_labels(count, S_0, floor)
        assert_allclose(grown, np.append(S_0, np.full(count, 0.25)))
        assert base.n_groups == (base.n_labels if grouped else 1)

    @rule()
    def go_on_with_a_copy(self):
        old = self.base
        self.base = old.copy()
        assert self.base.capacity == old.capacity
        self.kept = [(old, copy.deepcopy(self.model), dict(self.tested))]

    @rule()
    def go_on_with_a_saved_state(self):
        self.base = RuleBase.from_state(self.base.state(), self.base.facts)

    @rule()
    def go_on_with_a_pickle(self):
        self.base = pickle.loads(pickle.dumps(self.base))

    def compare(self, base, model, tested):
        assert base.n_rules == len(model)
        for field in PLAIN:
            array = getattr(base, field.name)
            assert array.dtype == field.dtype
            for i, one in enumerate(model):
                assert_allclose(array[i], one[field.name], rtol=1e-14, err_msg=field.name)
        for i, one in enumerate(model):
            for j, two in enumerate(model):
                pair = frozenset((int(one["uid"]), int(two["uid"])))
                assert base.tested[i, j] == tested[pair]

    @invariant()
    def same_as_the_model(self):
        if hasattr(self, "base"):
            self.compare(self.base, self.model, self.tested)
            for kept in self.kept:
                self.compare(*kept)

    @invariant()
    def spare_rows_hold_the_fill_value(self):
        if hasattr(self, "base"):
            n = self.base.n_rules
            for field in FIELDS:
                array = getattr(self.base.arrays, field.name)
                assert array.shape[0] == self.base.capacity
                assert (array[n:] == field.fill).all()
                if field.name == BETWEEN:
                    assert (array[:, n:] == field.fill).all()


Growing.TestCase.settings = hypothesis_settings(
    max_examples=12 if COMPILED else 6, stateful_step_count=16
)
test_growing = Growing.TestCase


def test_a_cap_on_rules_is_one_on_spare_rows():
    base = RuleBase(1, 1, capacity=2)
    for wanted, most, capacity in ((2, 1, 2), (3, None, 4), (5, 6, 6), (7, 20, 12), (13, 12, 13)):
        base.reserve(wanted, most)
        assert base.capacity == capacity


def test_kernels_see_the_arrays_of_the_base(rng):
    learner = learner_with_rules(rng, 3, 2, 2, capacity=1)
    before = learner.model
    assert before is learner.model
    assert before.rules is learner.rules.arrays
    assert before.scratch is learner.rules.scratch
    add_rule(learner, np.zeros(4), np.zeros((3, 2)))
    add_rule(learner, np.zeros(4), np.zeros((3, 2)))  # there are four places
    assert learner.model is not before
    assert learner.model.rules is learner.rules.arrays
    assert learner.rules.capacity == 8


@pytest.mark.parametrize(("mode", "share"), [("none", 1.0), ("laplacian", 0.7), ("signed", 1.0)])
def test_late_labels_count_as_absent_so_far(rng, mode, share):
    # In the input space and without floor the antecedents cannot see the labels. With "shift" an
    # absent label is not without influence: it is uncorrelated, and that pulls at the others.
    p, n = 2, 60 if COMPILED else 25
    changes = {"product_space": False, "correlation": mode, "vigilance": 0.5, "variance_floor": 0}
    X, Y = random_rows(rng, 2 * n, p, 3)
    Y[:n, 2] = 0.0
    Y[rng.uniform(size=2 * n) > share, 1] = np.nan
    early = unscaled_learner(p, 3, **changes)
    late = unscaled_learner(p, 2, **changes)
    late.learn(X[:n], Y[:n, :2])
    early.learn(X[:n], Y[:n])
    late.add_labels(1)
    assert late.n_labels == 3
    for rows in (slice(0, 0), slice(n, 2 * n)):
        early.learn(X[rows], Y[rows])
        late.learn(X[rows], Y[rows])
        assert early.n_rules == late.n_rules > 1
        names = ("input_precision", "P", "G", "B", "Delta", "W_prior", "W", "D", "weight")
        for name in (*names, "label_weight", "label_mean", "label_cov", "curvature"):
            actual, expected = getattr(late.rules, name), getattr(early.rules, name)
            assert_allclose(actual, expected, rtol=1e-9, atol=1e-10, err_msg=name)
    assert early.rules.n_groups == (1 if share == 1.0 else 3)
    assert_allclose(late.score(X), early.score(X), rtol=1e-8, atol=1e-9)


def test_several_late_labels_at_once_leave_gaussians_whole(rng):
    X, Y = random_rows(rng, 30, 2, 2)
    learner = unscaled_learner(2, 2, vigilance=0.5).learn(X, Y)
    learner.add_labels(3)
    _, log_det = np.linalg.slogdet(learner.rules.joint_precision)
    assert_allclose(learner.rules.log_det[:, 0], -log_det, rtol=1e-9)
    assert learner.rules.joint_precision.shape[1:] == (7, 7)


def test_symmetric_matrices_are_read_whole_and_cannot_be_written_to(rng):
    base = RuleBase(3, 2, n_groups=2)
    base.append()
    name = "G"
    kept = getattr(base.arrays, name)[0]
    kept[:] = rng.normal(size=kept.shape)
    lower = np.tril(kept)
    kept[np.triu(np.ones(kept.shape, dtype=bool), 1)] = np.nan  # left by a kernel
    read = getattr(base, name)
    assert np.array_equal(np.tril(read[0]), lower)
    assert np.array_equal(read, np.swapaxes(read, -1, -2))
    with pytest.raises(ValueError, match="read-only"):
        read[0] = 0.0
    for other in (base.copy(), copy.deepcopy(base), pickle.loads(pickle.dumps(base))):
        assert np.array_equal(getattr(other, name), read)
