"""What holds for any stream, any model and any way of learning it, drawn by hypothesis.

Splits of the stream, copies, files and the order of memory change no bit; later rows change no
earlier answer; the state stays sound; budgets hold; parameters are what they may be.
"""

import math
import pickle
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from helpers.models import freeze
from helpers.ranges import FACTS, accepted, refused, rule_of
from helpers.streams import assert_balanced, make_params, random_rows, state_of, unscaled_learner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, load, prequential, save
from efcml.kernels.linalg import whole
from efcml.model.params import Params
from efcml.support.checks import check_number
from efcml.support.declared import printed

pytestmark = [
    pytest.mark.filterwarnings("ignore::efcml.model.params.DivergenceWarning"),
]
# Files in tmp_path may be written over by the next example.
anything = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

EPS = np.finfo(float).eps
FEATURES = ("normal", "constant", "copy", "sum", "huge", "tiny", "two values", "late", "missing")
LABELS = ("plane", "never", "always", "copy", "opposite", "late")
UNKNOWN = ("none", "some", "rows", "one label")
NEXT_TO_NO_PRIOR = {  # P loses digits with the first rows, while only the prior holds it
    "seed": 53,
    "features": ["constant", "constant", "huge", "two values"],
    "labels": ["plane"],
    "unknown": "none",
    "n": 12,
    "initial": 0,
    "kind": EFCMLClassifier,
    "params": {
        "vigilance": 0.05,
        "forgetting": 1.0,
        "max_rules": 2,
        "alpha": 0.0,
        "beta": 0.0,
        "bandwidth": "dimension",
        "product_space": False,
        "merge_overlap": 0.5,
        "prior": 1e-06,
        "warmup_rows": 1,
    },
}


def draw_features(rng, n, kinds):
    """Return rows with one column of each kind; "copy" and "sum" look to the left."""
    X = rng.normal(size=(n, len(kinds)))
    for j, kind in enumerate(kinds):
        if kind == "constant":
            X[:, j] = rng.normal() * 10.0 ** float(rng.integers(-150, 151))
        elif kind == "copy":
            X[:, j] = X[:, 0]
        elif kind == "sum":
            X[:, j] = X[:, :j].sum(axis=1)
        elif kind in ("huge", "tiny"):
            X[:, j] *= 10.0 ** float(rng.integers(100, 151) * (1 if kind == "huge" else -1))
        elif kind == "two values":
            X[:, j] = rng.integers(2, size=n) * 1e3
        elif kind == "late":  # rests in the initial part
            X[: n // 2, j] = 1.0
        elif kind == "missing":
            X[rng.uniform(size=n) < 0.3, j] = np.nan
    return X


def draw_labels(rng, X, kinds, unknown):
    """Return labels of each kind, some of them unknown."""
    n = len(X)
    X = np.nan_to_num(X)
    scaled = np.nan_to_num((X - X.mean(axis=0)) / np.where(np.ptp(X, axis=0), np.ptp(X, axis=0), 1))
    Y = (scaled @ rng.normal(size=(X.shape[1], len(kinds))) + 0.1 * rng.normal(size=n)[:, None]) > 0
    Y = Y.astype(float)
    for k, kind in enumerate(kinds):
        if kind in ("never", "always"):
            Y[:, k] = float(kind == "always")
        elif kind in ("copy", "opposite"):
            Y[:, k] = Y[:, 0] if kind == "copy" else 1.0 - Y[:, 0]
        elif kind == "late":
            Y[: n // 2, k] = 0.0
    hidden = np.zeros(Y.shape, dtype=bool)
    if unknown == "some":
        hidden = rng.uniform(size=Y.shape) < 0.3
    elif unknown == "rows":
        hidden[rng.uniform(size=n) < 0.3] = True
    elif unknown == "one label":
        hidden[:, -1] = len(kinds) > 1  # never seen at all
    hidden[0] &= unknown == "one label"
    return np.where(hidden, np.nan, Y)


@st.composite
def plans(draw, kinds=(EFCMLClassifier,)):
    """Draw everything that tells one stream, and one model of it, from another."""
    choose = {
        "vigilance": [0.05, 0.4, 1.0],
        "forgetting": ["auto", 1.0, 0.999, 0.9],
        "max_rules": [1, 2, 4, 6],
        "alpha": [0.0, 0.05],
        "beta": [0.0, 0.5, 10.0],
        "correlation": ["shift", "laplacian", "signed", "none"],
        "bandwidth": ["dimension", 1.0, 0.5],
        "activation": ["density", "distance"],
        "product_space": [True, False],
        "splitting": ["labels", "axis", "off"],
        "split_share": [0.3, "auto"],
        "merge_overlap": [0.5, 0.8],
        "prior": [1.0, 1e-3, 1e-6, "auto"],
        "scaling": ["follow", "frozen"],
        "cases": [0, 7],
        "decision": ["hamming", "f1", "subset"],
        "time": [True, False],
        "update": ["rls", "paper"],
        "warmup_rows": [1, 5, 12],
    }
    kind = draw(st.sampled_from(kinds))
    if kind is not EFCMLClassifier:  # models with a learner for each label decide each alone
        choose |= {"decision": ["hamming"]}
    return {
        "seed": draw(st.integers(0, 2**32 - 1)),
        "features": draw(st.lists(st.sampled_from(FEATURES), min_size=1, max_size=4)),
        "labels": draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3)),
        "unknown": draw(st.sampled_from(UNKNOWN)),
        "n": draw(st.integers(12, 60)),
        "initial": draw(st.integers(0, 10)),
        "kind": kind,
        "params": {name: draw(st.sampled_from(values)) for name, values in choose.items()},
    }


def rows_of(plan):
    rng = np.random.default_rng(plan["seed"])
    X = draw_features(rng, plan["n"], plan["features"])
    return X, draw_labels(rng, X, plan["labels"], plan["unknown"])


def begin(plan, X, Y, **changes):
    """Return a classifier that has seen the initial rows, and how many they are."""
    clf = plan["kind"](**plan["params"] | changes)
    initial = plan["initial"] if not np.isnan(Y[: plan["initial"]]).all() else 0
    return (clf.fit(X[:initial], Y[:initial]) if initial else clf), initial


def learn(plan, X, Y, **changes):
    clf, initial = begin(plan, X, Y, **changes)
    return clf.partial_fit(X[initial:], Y[initial:])


def through_a_file(clf, folder):
    save(clf, folder / "model.npz")
    return load(folder / "model.npz")


WAYS = ("on", "copy", "file", "memory")


@anything
@given(
    plan=plans(kinds=(EFCMLClassifier,) * 6 + (OneVsRestEFC, ChainEFC)),
    cuts=st.lists(st.tuples(st.integers(1, 59), st.sampled_from(WAYS)), min_size=1, max_size=6),
)
def test_no_way_of_learning_the_same_rows_changes_a_bit(plan, cuts, tmp_path):
    X, Y = rows_of(plan)
    whole = learn(plan, X, Y)
    clf, low = begin(plan, X, Y)
    for cut, way in [*sorted(cuts), (len(X), "on")]:
        high = min(cut, len(X))
        if high <= low:
            continue
        rows = X[low:high], Y[low:high]
        if way == "memory":
            rows = np.asfortranarray(rows[0]), np.repeat(rows[1], 2, axis=1)[:, ::2]
        clf.partial_fit(*rows)
        if way == "copy":
            clf = pickle.loads(pickle.dumps(clf))
        elif way == "file":
            clf = through_a_file(clf, tmp_path)
        low = high
    assert freeze(clf) == freeze(whole)


@pytest.mark.parametrize("forgetting", [1.0, "auto"])
@pytest.mark.parametrize("p", [13, 35])
def test_nor_do_many_features_whose_sums_compilers_reorder(p, forgetting):
    X, Y = random_rows(np.random.default_rng(p), 90, p, 3)
    states = []
    for edges in ([0, 90], range(91), [0, 1, 6, 20, 21, 37, 90]):
        learner = unscaled_learner(p, 3, vigilance=0.6, forgetting=forgetting, cases=40)
        for low, high in zip(edges, edges[1:], strict=False):
            learner.learn(X[low:high], Y[low:high])
        states.append(freeze(state_of(learner)))
    assert learner.rules.counts["birth"] > 1
    assert states[1:] == states[:1] * 2


@given(plan=plans(), share=st.floats(0.0, 1.0))
def test_later_rows_change_no_earlier_answer(plan, share):
    X, Y = rows_of(plan)
    clf, initial = begin(plan, X, Y)
    other = pickle.loads(pickle.dumps(clf))
    X, Y = X[initial:], Y[initial:]
    at = int(share * (len(X) - 1))
    result = prequential(clf, X, Y)
    X, Y = X.copy(), Y.copy()
    Y[at:] = 1.0 - Y[at:]  # the answer for row `at` is given before its labels are known
    X[at + 1 :] = X[at + 1 :] * 3.0 + 1.0
    changed = prequential(other, X, Y)
    for name in ("scores", "decisions"):
        before, after = getattr(result, name)[: at + 1], getattr(changed, name)[: at + 1]
        assert_array_equal(before, after, err_msg=name)


@given(plan=plans(kinds=(EFCMLClassifier, EFCMLClassifier, OneVsRestEFC, ChainEFC)))
def test_test_then_train_is_answering_then_learning_row_by_row(plan):
    X, Y = rows_of(plan)
    clf, initial = begin(plan, X, Y)
    slow = pickle.loads(pickle.dumps(clf))
    X, Y = X[initial:], Y[initial:]
    result = prequential(clf, X, Y)
    for t in range(len(X)):
        if initial or t:  # a new classifier has no answer before its first row
            row = X[t : t + 1]
            assert_array_equal(result.scores[t] - 0.5, slow.decision_function(row)[0])
            assert_array_equal(result.decisions[t], slow.predict(row)[0].astype(bool))
        slow.partial_fit(X[t : t + 1], Y[t : t + 1])
        assert result.rules[t] == slow.n_rules_
    assert freeze(clf) == freeze(slow)


def assert_sound(clf, X):
    learner = clf.learner_
    for answers in (clf.decision_function(X), clf.predict_proba(X)):
        assert np.isfinite(answers).all()
    if not learner.fitted:
        return
    assert_balanced(learner)
    rules = learner.rules
    assert 1 <= rules.n_rules <= clf.max_rules
    for name, array in learner.state()[1].items():
        if name.startswith("rules/") and name != "rules/prior":
            assert np.isfinite(array).all(), name
    for P, G, Delta in zip(rules.P, rules.G, rules.Delta, strict=True):
        for at in range(len(P)):
            inverse, H = whole(P[at].copy()), whole(G[at].copy()) + np.diag(Delta[at])
            eigenvalues = np.linalg.eigvalsh(inverse)
            assert eigenvalues[0] > -20 * EPS * eigenvalues[-1]
            # A prior that is next to nothing leaves a Hessian that no inverse can be true to. What
            # is lost with the first rows is noticed later only.
            atol = 1e-6 + 20 * EPS * np.linalg.norm(H, 2) / Delta[at].min()
            assert_allclose(inverse @ H, np.eye(len(H)), atol=atol)
    psi = learner.activations(learner.scaler.transform(np.nan_to_num(X)))
    assert (psi >= 0.0).all()
    assert_allclose(psi.sum(axis=1), 1.0, rtol=1e-9)


@example(plan=NEXT_TO_NO_PRIOR)
@given(plan=plans())
def test_the_state_stays_sound_whatever_comes(plan):
    X, Y = rows_of(plan)
    assert_sound(learn(plan, X, Y), X)


def permuted(plan, X, Y, features, labels):
    """Return the scores of a permuted stream, put back into order, and the counts of its events.

    Without the variance floor, which takes the features in turn, with a prior that keeps the
    Hessian well-conditioned, and without proximal steps, the order cannot matter.
    """
    changes = {"variance_floor": 0.0, "forgetting": 1.0, "prior": 1.0, "correlation": "none"}
    changes |= {"decision": "hamming", "cases": 0, "time": False, "scaling": "frozen"}
    X, Y = np.ascontiguousarray(X[:, features]), np.ascontiguousarray(Y[:, labels])
    clf = learn(plan, X, Y, **changes)
    counts = clf.learner_.rules.counts if clf.learner_.fitted else None
    return clf.learner_.score(X)[:, np.argsort(labels)], counts


def test_the_order_of_features_and_labels_is_nothing():
    """A row on a threshold may fall to either side; then the comparison does not count."""
    compared = []

    @given(plan=plans())
    def check(plan):
        X, Y = rows_of(plan)
        rng = np.random.default_rng(plan["seed"])
        straight, counts = permuted(plan, X, Y, np.arange(X.shape[1]), np.arange(Y.shape[1]))
        orders = rng.permutation(X.shape[1]), rng.permutation(Y.shape[1])
        turned, turned_counts = permuted(plan, X, Y, *orders)
        compared.append(turned_counts == counts)
        if compared[-1]:
            assert_allclose(turned, straight, rtol=1e-5, atol=1e-5)

    check()
    assert np.mean(compared) > 0.8


# -- budgets ----------------------------------------------------------------------------------

EVERY = ("novelty", "ambiguity", "instability")
MIXES = [EVERY, ("novelty",), ("ambiguity",), ("instability",), ("random",), ("all",)]


def asked(active, clf, X, Y):
    """Return the share of the labels asked for at every prefix."""
    queried = prequential(clf, X, Y, active=active).queried
    assert queried.shape == (Y.shape if active.unit == "labels" else (len(Y),))
    assert active.spent == queried.sum()
    flat = queried.reshape(len(queried), -1)
    return np.cumsum(flat.sum(axis=1)) / (flat.shape[1] * np.arange(1, len(flat) + 1))


@given(
    plan=plans(),
    budget=st.one_of(st.sampled_from([0.1, 0.3, 1 / 3, 1.0]), st.floats(0.01, 1.0)),
    unit=st.sampled_from(["samples", "labels"]),
    criteria=st.sampled_from(MIXES),
)
def test_no_prefix_passes_the_budget(plan, budget, unit, criteria):
    X, Y = rows_of(plan | {"initial": 10, "unknown": "none"})
    clf = EFCMLClassifier(**plan["params"]).fit(X[:10], Y[:10])
    active = ActiveLearner(budget, unit, criteria, random_state=0)
    shares = asked(active, clf, X[10:], Y[10:])
    assert (shares <= budget).all()
    assert active.share == shares[-1]


@pytest.mark.parametrize(
    ("criteria", "budget", "unit"),
    [
        (EVERY, 0.1, "samples"),
        (EVERY, 0.3, "labels"),
        (("ambiguity",), 0.1, "labels"),
        (("instability",), 0.3, "samples"),
        (("random",), 0.1, "samples"),
    ],
)
def test_a_long_stream_uses_its_budget(criteria, budget, unit):
    X, Y = random_rows(np.random.default_rng(1), 1000, 2, 3)
    clf = EFCMLClassifier(prior=1.0, cases=0, forgetting=1.0).fit(X[:50], Y[:50])
    active = ActiveLearner(budget, unit, criteria, random_state=0)
    assert 0.9 * budget <= asked(active, clf, X[50:], Y[50:])[-1] <= budget


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_questions_go_to_the_most_ambiguous(unit):
    """Of the gain in ambiguity that the best choice would have, at least 80 % is reached."""
    X, Y = random_rows(np.random.default_rng(3), 3000, 2, 4)
    clf = EFCMLClassifier(prior=1.0, cases=0, max_rules=1, time=False).fit(X[:50], Y[:50])
    result = prequential(clf, X[50:], Y[50:], active=ActiveLearner(0.1, unit, "ambiguity"))
    gaps, queried = np.abs(result.scores - 0.5)[1000:], result.queried[1000:]
    gaps = gaps if unit == "labels" else gaps.min(axis=1)
    best, mean = np.sort(gaps, axis=None)[: queried.sum()].mean(), gaps.mean()
    assert mean - gaps[queried].mean() >= 0.8 * (mean - best)


# -- parameters -------------------------------------------------------------------------------

# One of each kind, word for word.
MESSAGES = {
    ("vigilance", "high"): "vigilance must be a number > 0, or a function, or the name of one "
    """(efcml.register("birth", ...)); got 'high'.""",
    ("beta", math.inf): "beta must be a number >= 0 and <= 1e+09; got inf.",
    ("bandwidth", 0): "bandwidth must be 'dimension' or a number >= 1e-09; got 0.",
    ("forgetting", 1.01): "forgetting must be 'auto' or a number > 0 and <= 1; got 1.01.",
    ("cases", -1): "cases must be a whole number from 0 to 2000; got -1.",
    ("merging", "yes"): "merging must be True or False, or a function, or the name of one "
    """(efcml.register("merging", ...)); got 'yes'.""",
    ("lipschitz", "none"): "lipschitz must be one of 'exact', 'paper'; got 'none'.",
}


@pytest.mark.parametrize("name", FACTS)
def test_parameters_stay_in_their_ranges(name):
    for value in refused(name):
        with pytest.raises(ValueError) as caught:
            make_params(**{name: value})
        message = str(caught.value)
        assert message.startswith(f"{name} must be ") and message.endswith(f"; got {value!r}.")
    for value in accepted(name):
        assert getattr(make_params(**{name: value}), name) == value
    for kind in (EFCMLClassifier, OneVsRestEFC, ChainEFC):
        default = signature(kind).parameters[name].default
        assert f"\n{name} : {FACTS[name].kind}, default={default!r}\n" in kind.__doc__


@pytest.mark.parametrize(("name", "value"), MESSAGES)
def test_messages_say_what_is_allowed(name, value):
    with pytest.raises(ValueError) as caught:
        make_params(**{name: value})
    assert str(caught.value) == MESSAGES[name, value]


def test_parameters_are_values():
    Params(**printed(Params))
    params = Params(alpha=0.5)
    with pytest.raises(AttributeError, match="alpha cannot be changed"):
        params.alpha = 1.0
    again = pickle.loads(pickle.dumps(params))
    assert params == again == replace(Params(), alpha=0.5) != Params()
    assert hash(params) == hash(again)
    assert make_params(forgetting=1.0).max_support == math.inf
    assert make_params(forgetting=0.99).max_support == pytest.approx(100.0)
    wide = make_params(bandwidth="dimension", merge_volume=1.5)
    assert wide.merge_width(4, 2) == 6.0
    assert wide.merge_log_volume(4, 2) == pytest.approx(6.0 * math.log(1.5))


# Where a range is open, far enough; some ends would take too long, or leave nothing to learn.
ENDS = {
    name: [limits.get("least", 1e-12), limits.get("most", 1e12)]
    for name, (check, limits) in ((name, rule_of(name)) for name in FACTS)
    if check is check_number
} | {
    "alpha": [1e9],
    "forgetting": [1e-9, 0.5],
    "variance_floor": [1e-9, 1e9],
    "merge_overlap": [1e-9, 1.0],
    "activation_floor": [0.0, 0.999],
    "split_share": [1e-9, 1.0],
    "clip": [1e-9, 1e6],
    "max_rules": [1, 2, 100],
    "cases": [0, 1],
}
BASES = {
    "default": {},
    "narrow": {"vigilance": 0.3, "bandwidth": 1.0, "forgetting": 0.99},
    "laplacian": {"correlation": "laplacian", "alpha": 0.1, "beta": 1.0, "product_space": False},
}


def hard_rows(n):
    """Columns that follow from others, rest, jump, or lie far off; wild and repeated rows."""
    rng = np.random.default_rng(1)
    base, half = rng.normal(size=(n, 2)), n // 2
    flag, skew, far = rng.integers(0, 2, n), rng.normal(size=n) ** 3, 1e4 + rng.normal(size=n)
    X = np.column_stack([base, base.sum(axis=1), np.full(n, 7.0), flag, skew, far])
    X[rng.integers(half, n, n // 40), rng.integers(0, 2, n // 40)] *= 1e12
    X[rng.integers(half, n, n // 4)] = X[5]
    X[half:, 5] += 50.0
    Y = np.column_stack([base[:, 0] > 0.0, base[:, 1] > 1.5, rng.random(n) < 0.02]).astype(float)
    Y[rng.random(Y.shape) < 0.05] = np.nan
    return X, Y


@pytest.mark.parametrize(
    ("base", "n"),
    [("default", 160), *(pytest.param(b, 600, marks=pytest.mark.long) for b in BASES)],
)
@pytest.mark.parametrize("name", ENDS)
def test_ends_of_ranges_leave_all_finite_and_saved(name, base, n, tmp_path):
    X, Y = hard_rows(n)
    for value in ENDS[name]:
        given = {"cases": 40, "prior": 1.0} | BASES[base] | {name: value}
        if name == "clip":  # a rule that holds a value 1e9 deviations off is all rounding
            given["scaling"] = "frozen"
        clf = EFCMLClassifier(**given).fit(X[: n // 2], Y[: n // 2])
        clf.partial_fit(X[n // 2 :], Y[n // 2 :])
        assert np.isfinite(clf.decision_function(X)).all(), value
        again = through_a_file(clf, tmp_path)
        assert_array_equal(again.decision_function(X[-20:]), clf.decision_function(X[-20:]))
