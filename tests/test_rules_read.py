"""Rules as they are read: arrays in the units of the data, order, shares, what they name."""

import copy
import re
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, hide, stream
from helpers.pages import Page
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import entropy
from sklearn.exceptions import NotFittedError

from efcml import EFCMLClassifier, datasets
from efcml.explain import read_rules
from efcml.explain.choosing import Condition, Partition, Text, plain_number, thin_out

ONE_RULE = TWO_RULES | {"vigilance": 1e9}


@pytest.fixture(scope="module")
def two():
    return fit_blocks().rules_


@pytest.fixture(scope="module")
def several():
    return EFCMLClassifier(**QUICK, alpha=0.05).fit(*stream(60))


def test_every_rule_is_there_once_by_what_it_decides(several):
    rules, arrays = several.rules_, several.learner_.rules
    assert len(rules) == several.n_rules_ > 3
    order = [(rule.covers_all, -rule.decides, -rule.weight) for rule in rules]
    assert order == sorted(order)
    assert len({rule.decides for rule in rules}) > 2
    assert sum(rule.decides for rule in rules) == pytest.approx(1.0, abs=1e-12)
    assert sorted(rule.uid for rule in rules) == sorted(arrays.uid.tolist())
    for i, rule in enumerate(rules):
        r = arrays.uid.tolist().index(rule.uid)
        assert (rule.place, rule.support, rule.born) == (r, arrays.support[r], arrays.born[r])
        assert rule.weight == arrays.weight[r]
        assert rule.decided == (several.activations(stream(60)[0]).argmax(axis=1) == i).sum()
        assert rule.decides == pytest.approx(rule.decided / 60)


def test_the_list_is_a_sequence_that_later_learning_does_not_reach():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK | {"cases": 0}).fit(X[:20], Y[:20])
    rules = clf.rules_
    part, before = rules[1:3], [rule.weights.copy() for rule in rules]
    assert [rule.uid for rule in part] == [rules[1].uid, rules[2].uid]
    assert part.title == f"2 of {len(rules)} rules after 20 rows"
    assert repr(rules) == str(rules)
    clf.activations(X)
    for t in range(20, 60, 8):
        clf.partial_fit(X[t : t + 8], Y[t : t + 8])
        why = clf.explain(X[0])  # columns of activations are in the order of reading at that time
        by_uid = dict(zip([rule.uid for rule in why.rules], why.activation, strict=True))
        expected = [by_uid[rule.uid] for rule in clf.rules_]
        assert_allclose(clf.activations(X[:1])[0], expected, atol=1e-12)
    assert_array_equal([rule.weights for rule in rules], before)


def test_what_was_read_cannot_be_changed(two):
    rule = two[0]
    text = str(rule)
    assert rule.sparse.any()
    for thing in (rule, two.background):
        for array in vars(thing).values():
            if isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0.0
    for name in ("name", "weights", "uid"):
        with pytest.raises(
            AttributeError, match=f"^{name} of a rule cannot be set: .* stay as it is"
        ):
            setattr(rule, name, 0)
    assert str(rule) == text == str(copy.deepcopy(rule)) == str(replace(rule))


def test_before_there_are_rules_there_is_nothing_to_read():
    X, Y = stream(5)
    assert not hasattr(EFCMLClassifier(), "rules_")
    warm = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    assert len(warm.rules_) == len(warm.rules_.to_frame()) == 0
    note = "no rules yet: label frequencies of 5 rows answer"
    assert str(warm.rules_) == Page(warm.rules_._repr_html_()).text.strip() == note
    assert warm.rules_.trust is None
    assert_array_equal(warm.rules_.importance(), np.zeros((3, 3)))
    assert_array_equal(warm.rules_.background.label_means, Y.mean(axis=0))
    for method in ("activations", "effective_rules", "trust"):
        with pytest.raises(NotFittedError):
            getattr(EFCMLClassifier(), method)(X)
        with pytest.raises(ValueError, match="there are no rules yet"):
            getattr(warm, method)(X)
        with pytest.raises(ValueError, match="2 features"):
            getattr(fit_blocks(), method)(X[:, :2])


def test_one_rule_has_the_moments_of_the_data():
    X, Y = blocks()
    clf = EFCMLClassifier(**ONE_RULE, cases=0).fit(X, Y)
    (rule,) = clf.rules_
    assert_allclose([rule.center, rule.mean], [X.mean(axis=0)] * 2, rtol=1e-9)
    # The birth width is left in as one row of 40.
    start = 0.1 * np.ptp(X, axis=0) * X.std(axis=0)
    expected = np.cov(X.T, bias=True) + np.diag(start) / len(X)
    assert_allclose(rule.covariance, expected, rtol=1e-6)
    assert_allclose(rule.sigma, np.sqrt(np.diagonal(expected)), rtol=1e-6)
    assert_allclose(rule.label_shares, Y.mean(axis=0), rtol=1e-12)
    assert_allclose(rule.label_rows, 40.0, rtol=1e-12)
    assert_allclose(rule.label_correlation, np.corrcoef(Y.T), atol=1e-9)
    assert (rule.support, rule.weight, rule.born) == (40.0, 40.0, 0)
    answers = clf.decision_function(X) + 0.5
    assert_allclose(X @ rule.weights[:, :-1].T + rule.weights[:, -1], answers, atol=1e-9)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(scaled @ rule.slopes.T + rule.scaled_weights[:, -1], answers, atol=1e-9)
    assert_allclose(rule.answer, answers.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("bandwidth", ["dimension", 0.5])
@pytest.mark.parametrize("activation", ["density", "distance"])
def test_activations_are_those_of_the_formula(bandwidth, activation):
    X, Y = stream(40)
    options = {"bandwidth": bandwidth, "activation": activation, "activation_floor": 0.0}
    Y = hide(Y, 0.4)
    clf = EFCMLClassifier(**QUICK | options).fit(X, Y)
    found = clf.activations(X)
    gaps = X[:, None] - clf.rules_.centers
    energies = np.einsum("nri,rij,nrj->nr", gaps, np.linalg.inv(clf.rules_.covariances), gaps)
    nearest = energies.argmin(axis=1)
    if activation == "density":
        energies = energies + np.linalg.slogdet(clf.rules_.covariances)[1]
        assert (nearest != found.argmax(axis=1)).any()
    logits = -energies / (2.0 * (3.0 if bandwidth == "dimension" else bandwidth))
    expected = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(found, expected, atol=1e-9)
    assert clf.n_rules_ > 3
    assert_allclose(clf.rules_.background.label_means, np.nanmean(Y, axis=0), atol=1e-9)
    assert_allclose(clf.effective_rules(X), np.exp(entropy(found, axis=1)), rtol=1e-9)


def test_what_a_reader_is_told_is_true_of_the_last_rows():
    """Shares of rows, of labels, and the usual ones, by the last 500 rows, after labels drift."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 2)) + np.where(rng.random((1000, 1)) < 0.5, -6.0, 6.0)
    X[:200] -= 30.0 * (rng.random((200, 1)) < 0.2)  # rows of which none come later
    Y = (rng.random((1000, 2)) < np.where(X > 0, 0.8, 0.3)).astype(float)
    Y[500:, 1] = 1.0 - Y[500:, 1]
    Y[rng.random(Y.shape) < 0.1] = np.nan
    params = {"splitting": "off", "prior": 1.0, "scaling": "frozen", "product_space": False}
    clf = (
        EFCMLClassifier(**params, vigilance=0.3).fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    )
    late = np.flatnonzero(~np.isnan(Y).all(axis=1))[-500:]  # rows without any label do not count
    rules, X, Y = clf.rules_, X[late], Y[late]
    strongest = clf.activations(X).argmax(axis=1)
    assert_allclose(rules.background.label_means, np.nanmean(Y, axis=0))
    usual = rules.background
    assert_allclose(usual.offset + usual.unit * usual.feature_means, X.mean(axis=0))
    spreads = rules.background.feature_spreads * rules.background.unit
    assert_allclose(spreads, X.std(axis=0))
    assert rules.trust.rows == 500
    for r, rule in enumerate(rules):
        own = strongest == r
        assert (rule.decided, rule.decides) == (own.sum(), own.mean())
        if own.sum() >= 5:
            assert_array_equal(rule.label_rows, (~np.isnan(Y[own])).sum(axis=0))
            assert_allclose(rule.mean, X[own].mean(axis=0))
            assert_allclose(rule.label_shares, np.nanmean(Y[own], axis=0))
        else:
            own, i = clf.learner_.rules, rule.place
            assert_array_equal(rule.label_rows, own.seen[i, 0])
            means = own.B[i, 0, :, -1] / own.G[i, 0, -1, -1]
            assert_array_equal(rule.label_shares, np.clip(means, 0.0, 1.0))
            assert_array_equal(rule.mean, rule.center)
    silent = [rule for rule in rules if rule.decided == 0 and rule.weight > 10.0]
    assert silent and all(rule.decides == 0.0 for rule in silent)
    assert all(rule.consequent.endswith(", but hardly any row of late") for rule in silent)


def tickets(n=900, seed=1):
    """Routers fail in the afternoon, television is paid back after a wait."""
    rng = np.random.default_rng(seed)
    product = rng.choice(["Router", "Phone", "TV"], n)
    table = pd.DataFrame({f"product={one}": product == one for one in ("Router", "Phone", "TV")})
    table["hour"], table["wait"] = rng.integers(0, 24, n), rng.gamma(2.0, 2.0, n).round(1)
    table["contract"] = rng.random(n) < 0.3
    noise = rng.random((n, 2)) < 0.03
    outage, refund = (product == "Router") & (table.hour > 11), (product == "TV") & (table.wait > 5)
    return table.astype(float), pd.DataFrame({"outage": outage, "refund": refund}) ^ noise


def by_words(text, X):
    """Return which rows fit a text, by its words alone."""
    fit = np.zeros(len(X), dtype=bool)
    for alternative in text.split(" OR "):
        here = np.ones(len(X), dtype=bool)
        for condition in alternative.split(" AND "):
            name, kind, rest = re.fullmatch(r"(\w+) (is|above|up to) (.*)", condition).groups()
            if kind == "is" and name in X:
                here &= X[name] == (rest == "yes")
            elif kind == "is":
                out = re.fullmatch(r"(?:not|neither) (.*)", rest)
                named = [
                    X[f"{name}={value}"] for value in re.split(" n?or |, ", out[1] if out else rest)
                ]
                some = sum(one == (not out) for one in named)
                here &= (some == len(named)) if out else (some > 0)
            else:
                low, _, high = rest.partition(" and up to ")
                here &= (X[name] > float(low)) if kind == "above" else (X[name] <= float(low))
                here &= (X[name] <= float(high)) if high else True
        fit |= here
    return fit


def test_values_of_one_group_are_said_together():
    """Of a week, two days decide beside a flag: three alternatives become one."""
    rng = np.random.default_rng(0)
    day, open_ = rng.integers(0, 7, 500), rng.random(500) < 0.5
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    X = pd.DataFrame(np.eye(7)[day], columns=[f"day={name}" for name in names])
    X["open"] = open_.astype(float)
    rule = EFCMLClassifier(**TWO_RULES).fit(X, open_[:, None] * 1.0).rules_[0]
    days = tuple((Condition(7, True, 0.0), Condition(j, True, 0.0)) for j in (5, 6))
    some = SimpleNamespace(texts={rule.place: Text((*days, (Condition(7, False, 0.0),)))})
    usual = replace(rule.background, partition=some, relevant=np.ones(8, dtype=bool))
    said = replace(rule, background=usual, covers_all=False)
    assert said.terms == ["open is yes AND day is Sat or Sun", "open is no"]


@pytest.fixture(scope="module")
def desk():
    X, Y = tickets()
    return EFCMLClassifier().fit(X[:300], Y[:300]).partial_fit(X[300:600], Y[300:600]), X[600:]


def test_texts_find_the_rule_that_decides_rows_to_come(desk):
    stream = datasets.load("drifting-clusters", n=2600)
    far = EFCMLClassifier().fit(stream.X[:600], stream.Y[:600])
    far.partial_fit(stream.X[600:2400], stream.Y[600:2400])
    for clf, later in (desk, (far, stream.X[2400:])):
        winner, found = clf.activations(later).argmax(axis=1), clf.rules_.matches(later)
        right = found[np.arange(len(later)), winner]
        assert clf.n_rules_ > 4 and right.mean() > 0.9
        assert (right & (found.sum(axis=1) == 1)).mean() > 0.9


def test_rows_match_as_the_words_say(desk):
    clf, later = desk
    rules, gaps = clf.rules_, later.mask(np.random.default_rng(0).random(later.shape) < 0.3)
    for rows in (later, gaps):  # a missing value fits no condition
        expected = np.transpose([by_words(rule.antecedent, rows) for rule in rules])
        assert_array_equal(rules.matches(rows), expected)
        assert_array_equal(rules[1:3].matches(csr_array(rows.to_numpy())), expected[:, 1:3])
    assert not rules.matches(np.full((1, 6), np.nan)).any()
    late = tickets()[0][100:600]
    winner, found = clf.activations(late).argmax(axis=1), rules.matches(late)
    for i, rule in enumerate(rules):
        own, fit = winner == i, found[:, i]
        assert rule.text.fitting == pytest.approx(fit[own].mean())
        assert rule.text.decided == pytest.approx(own[fit].mean())
    for wrong in (later.iloc[:, :2], np.zeros(6)):
        with pytest.raises(ValueError, match=r"X must be rows of 6 features; got shape \("):
            rules.matches(wrong)


def test_wide_rows_match_by_their_own_columns():
    rng = np.random.default_rng(0)
    topic = np.eye(3)[rng.integers(0, 3, 400)]
    dense = (rng.random((400, 400)) < 0.03) * 1.0
    dense[:, 100:130] = rng.random((400, 30)) < 0.7 * np.repeat(topic, 10, axis=1)
    X, Y = csr_array(dense), topic
    rules = EFCMLClassifier(projection=4, vigilance=0.5).fit(X, Y).rules_
    table = pd.DataFrame(dense, columns=[f"x{j}" for j in range(400)])
    told = [rule for rule in rules if rule.terms]
    assert len(told) > 1
    for rule, fit in zip(rules, rules.matches(X).T, strict=True):
        assert_array_equal(fit, by_words(rule.antecedent, table) if rule.terms else False)


def partition(rows, winners, groups=()):
    columns = np.arange(rows.shape[1])
    return Partition(rows, rows, np.asarray(winners), max(winners) + 1, columns, groups)


def test_a_text_is_short_and_says_what_tells_apart():
    """Of six features one tells rule 0, two tell the others; alternatives are joined by OR."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (400, 6)).astype(float)
    apart = np.where(X[:, 2] > 40, 0, np.where(X[:, 4] > 70, 1, 2))
    high, low = Condition(2, True, 40.0), Condition(2, False, 40.0)
    first, second, third = (text.alternatives for text in partition(X, apart).texts)
    assert first == ((high,),)
    assert second == ((low, Condition(4, True, 70.0)),)
    assert third == ((low, Condition(4, False, 70.0)),)
    ends = partition(X, ((X[:, 0] < 20) | (X[:, 0] > 80)).astype(int)).texts[1]
    assert {*ends.alternatives} == {(Condition(0, False, 19.0),), (Condition(0, True, 80.0),)}
    assert (ends.fitting, ends.decided) == (1.0, 1.0)
    many = partition(rng.normal(size=(400, 30)), rng.integers(0, 6, 400)).texts
    assert all(len(text.alternatives) <= 3 and not text.long for text in many)
    assert Text() in many  # nothing tells them apart
    assert partition(X, np.zeros(400, int)).texts == [Text()]
    flags = np.eye(3)[rng.integers(0, 3, 400)]
    last = partition(flags, flags.argmax(axis=1), [[0, 1, 2]]).texts
    assert [text.alternatives for text in last] == [((Condition(j, True, 0.0),),) for j in range(3)]


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(12, 13, 12), (45.2, 61, 50), (-0.3, 4, 0), (0.47, 0.53, 0.5), (1e300, 2e300, 1e300)],
)
def test_bounds_are_plain_numbers(low, high, number):
    assert plain_number(low, high) == number


@pytest.mark.parametrize("most", [1, 2, 3])
def test_sparse_planes_are_regressions_on_the_best_features(most):
    rng = np.random.default_rng(4)
    slopes, covariance = rng.normal(size=(2, 5)), np.cov(rng.normal(size=(9, 5)).T)

    def variance_kept(columns):
        inverse = np.linalg.inv(covariance[np.ix_(columns, columns)])
        cross = slopes @ covariance[:, columns]
        return np.trace(cross @ inverse @ cross.T) / np.trace(slopes @ covariance @ slopes.T)

    every = np.ones(5, dtype=bool)
    thin = thin_out(slopes, covariance, every, most)
    columns = np.flatnonzero(np.abs(thin).sum(axis=0)).tolist()
    assert len(columns) == most
    # What is left is not correlated with what is kept.
    assert_allclose(((slopes - thin) @ covariance)[:, columns], 0.0, atol=1e-9)
    best = max(variance_kept(list(some)) for some in combinations(range(5), most))
    assert (1.0 if most == 1 else 0.8) * best - 1e-9 <= variance_kept(columns) <= best + 1e-9
    assert max(range(5), key=lambda j: variance_kept([j])) in columns
    assert not thin_out(slopes, covariance, every & (np.arange(5) != columns[0]), most)[
        :, columns[0]
    ].any()


def test_features_that_add_nothing_are_left_out():
    every = np.ones(3, dtype=bool)
    assert not thin_out(np.zeros((2, 3)), np.eye(3), every, 3).any()
    thin = thin_out(np.array([[1.0, 0.0, 0.001], [2.0, 0.0, 0.0]]), np.eye(3), every, 3)
    assert_allclose(thin, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], atol=1e-12)
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    thin = thin_out(np.array([[1.0, 2.0, 0.0]]), copies, every, 3)
    assert_allclose(thin, [[3.0, 0.0, 0.0]], atol=1e-12)


def test_the_table_gets_what_the_rules_say(two):
    table = two.to_frame()
    for name in ("uid", "born", "decides", "weight", "support", "antecedent", "consequent"):
        assert table[name].tolist() == [getattr(rule, name) for rule in two]
    assert_array_equal(table[["label0", "label1"]], [rule.label_shares for rule in two])
    total = sum(rule.weight for rule in two)
    importance = sum(rule.weight * np.abs(rule.slopes * rule.scaled_sigma).T for rule in two)
    assert_allclose(two.importance(), importance / total)


def test_new_rules_and_late_labels_have_learned_nothing():
    X, Y = blocks()
    clf = fit_blocks().add_labels(1)
    assert (clf.rules_.label_names[2], clf.rules_[0].label_shares[2]) == ("label2", 0.0)
    clf = fit_blocks().partial_fit(X[:1] + [60.0, 600.0, 6.0, 300.0], Y[:1])
    newborn = max(clf.rules_, key=lambda rule: rule.born)
    assert (newborn.weight, newborn.support, newborn.born) == (0.0, 1.0, 40)
    assert newborn.consequent == "too few rows to tell"
    assert np.isnan(newborn.label_shares).all()
    assert_array_equal(newborn.mean, newborn.center)
    names = read_rules(clf.learner_, list("abcd"), ["u", "v"])
    assert str(names[0]).replace("IF a", "IF x0").replace("b +", "x1 +") == str(
        clf.rules_[0]
    ).replace("label0", "u").replace("label1", "v")


@pytest.mark.parametrize(("second", "covers"), [(70, False), (10, True), (0, True)])
def test_a_rule_that_covers_all_is_the_background_and_stands_last(second, covers):
    """Two clouds that lie apart, the second with so many rows; or a small one within the other."""
    rng = np.random.default_rng(0)
    n = 130 if second else 300
    cloud = rng.normal(size=(second, 2)) + (20.0 if second > 50 else 8.0)
    X = np.vstack([rng.normal(size=(n, 2)), cloud if second else np.full((12, 2), 4.0)])
    Y = (np.arange(len(X)) >= n).astype(float)[:, None]
    vigilance = 1.5 if second > 50 else 2.5
    rules = EFCMLClassifier(**TWO_RULES | {"vigilance": vigilance, "cases": 0}).fit(X, Y).rules_
    assert len(rules) > 1
    assert [rule.covers_all for rule in rules] == [False] * (len(rules) - 1) + [covers]
    assert rules[-1].sentence().startswith("OTHERWISE THEN ") == (rules[-1].terms == []) == covers
    assert (rules[-1].decides > 0.8) == covers
    expected = ~rules[:-1].matches(X).any(axis=1)
    if covers:
        assert_array_equal(rules.matches(X)[:, -1], expected)
