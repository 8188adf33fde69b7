"""How far a reading can be trusted: activations, simpler readings against the model's decisions."""

import numpy as np
import pytest
from helpers.models import QUICK, blocks, fit_blocks, freeze, stream
from numpy.testing import assert_allclose
from scipy.stats import entropy
from sklearn.exceptions import NotFittedError

from efcml import EFCMLClassifier
from efcml.explain.trust import share


@pytest.fixture(scope="module")
def several():
    X, Y = stream(60)
    options = {"bandwidth": 1.0, "cases": 60, "case_noise": 0.05}
    return EFCMLClassifier(**QUICK | options).fit(X, Y)


# -- activations ------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", ["dimension", 0.5])
@pytest.mark.parametrize("activation", ["density", "distance"])
def test_activations_are_those_of_the_formula(bandwidth, activation):
    X, Y = stream(40)
    options = {"bandwidth": bandwidth, "activation": activation, "activation_floor": 0.5}
    clf = EFCMLClassifier(**QUICK | options).fit(X, Y)
    found = clf.activations(X)
    energies = clf.rules_.squared_distances(X)
    if activation == "density":
        energies = energies + np.linalg.slogdet(clf.rules_.covariances)[1]
    logits = -energies / (2.0 * (3.0 if bandwidth == "dimension" else bandwidth))
    expected = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(found, expected, atol=1e-9)
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)  # also what is below the floor
    assert found.shape == (40, clf.n_rules_)
    assert clf.n_rules_ > 3


def test_columns_are_in_the_order_of_the_rules(several):
    X = stream(60)[0]
    why = several.explain(X[3])
    by_uid = dict(zip([rule.uid for rule in why.rules], why.activation, strict=True))
    expected = [by_uid[rule.uid] for rule in several.rules_]
    assert_allclose(several.activations(X[3:4])[0], expected, atol=1e-12)


def test_the_order_follows_what_is_learned():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK | {"cases": 0}).fit(X[:20], Y[:20])
    clf.activations(X)
    for t in range(20, 60, 8):
        clf.partial_fit(X[t : t + 8], Y[t : t + 8])
        why = clf.explain(X[0])
        by_uid = dict(zip([rule.uid for rule in why.rules], why.activation, strict=True))
        expected = [by_uid[rule.uid] for rule in clf.rules_]
        assert_allclose(clf.activations(X[:1])[0], expected, atol=1e-12)


def test_effective_rules_are_the_entropy_of_activations(several):
    X = stream(60)[0]
    psi = several.activations(X)
    assert_allclose(several.effective_rules(X), np.exp(entropy(psi, axis=1)), rtol=1e-9)
    one = fit_blocks(vigilance=1e9)
    assert_allclose(one.effective_rules(blocks()[0]), 1.0)
    assert (several.effective_rules(X) > 1.0).any()


@pytest.mark.parametrize("method", ["activations", "effective_rules", "trust"])
def test_rows_are_checked_and_rules_must_be_there(method, several):
    X, Y = stream(5)
    with pytest.raises(NotFittedError):
        getattr(EFCMLClassifier(), method)(X)
    warm = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y)
    with pytest.raises(ValueError, match="there are no rules yet"):
        getattr(warm, method)(X)
    with pytest.raises(ValueError, match="2 features"):
        getattr(several, method)(X[:, :2])
    before = freeze(several)
    getattr(several, method)(X)
    assert freeze(several) == before


# -- trust ------------------------------------------------------------------------------------


def naive_trust(clf, X):
    """Shares of decisions, row by row and from explanations alone."""
    strongest, sparse, rules, corrections, effective = [], [], [], [], []
    for x in X:
        why = clf.explain(x)
        first = why.rules[0]
        decided = why.score >= 0.5
        strongest += ((why.by_rule[0] / why.activation[0] >= 0.5) == decided).tolist()
        gap = (x - first.center) / first.background.unit
        sparse += ((first.answer + first.sparse.slopes @ gap >= 0.5) == decided).tolist()
        rules += ((why.by_rule.sum(axis=0) >= 0.5) == decided).tolist()
        corrections += np.abs(why.by_cases + sum(why.afterwards.values())).tolist()
        effective.append(np.exp(entropy(why.activation)))
    means = [np.mean(values) for values in (strongest, sparse, rules, corrections)]
    return [*means, np.median(effective)]


def test_trust_is_what_explanations_say(several):
    X = stream(30, seed=5)[0]
    trust = several.trust(X)
    found = [trust.strongest, trust.sparse, trust.rules, trust.correction, trust.effective]
    assert found == pytest.approx(naive_trust(several, X))
    assert 0.0 < trust.turned < 1.0 and trust.strongest < 1.0
    assert (trust.rows, trust.source) == (30, "row")
    assert str(trust).splitlines()[1].startswith("  by 30 rows: ")
    assert trust.taught == bool(several.explain(X[0]).afterwards)
    assert ("cases and what errors taught turn" in str(trust)) == trust.taught


def test_rules_are_printed_with_trust_by_remembered_rows(several):
    rules = several.rules_
    n = several.learner_.cases.n_cases
    assert (rules.trust.rows, rules.trust.source) == (n, "remembered row")
    assert str(rules).endswith(str(rules.trust))
    assert all(sentence in rules._repr_html_() for sentence in rules.trust.sentences)
    assert f"by {n} remembered rows that it has learned: " in str(rules)
    scaler = several.learner_.scaler
    rows = scaler.mean + scaler.scale * several.learner_.cases.arrays.rows[:n]
    again = several.trust(rows)
    assert again.strongest == rules.trust.strongest
    alone = fit_blocks(cases=0).rules_
    assert alone.trust is None
    assert "trust" not in str(alone)


def test_shares_that_are_not_whole_do_not_say_so():
    assert share(1.0) == "100 %"
    assert share(0.9999) == "99.9 %"
    assert share(0.5) == "50 %"


# -- the same for one row ---------------------------------------------------------------------


def test_remembered_rows_are_named_only_if_they_matter():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK | {"cases": 60}).fit(X, Y)
    seen = set()
    for x in stream(40, seed=9)[0]:
        why = clf.explain(x)
        turned = ((why.score - why.by_cases >= 0.5) != (why.score >= 0.5)).any()
        matters = bool(turned or np.abs(why.by_cases).max() >= 0.05)
        assert why.cases_matter == matters
        text = str(why)
        assert ("the most similar are rows" in text) == matters
        assert ("remembered rows change no decision" in text) == (not matters)
        if matters:
            named = f"rows {why.case_rows[0]} ({100 * why.case_similarity[0]:.0f} %)"
            assert named in text
        seen.add(matters)
    assert seen == {True, False}


def test_an_explanation_says_what_the_strongest_rule_decides_alone(several):
    seen = set()
    for x in stream(40, seed=9)[0]:
        why = several.explain(x)
        other = (why.alone >= 0.5) != (why.score >= 0.5)
        line = next(line for line in str(why).splitlines() if " alone decides " in line)
        if other.any():
            assert "otherwise for" in line
            assert all(why.label_names[k] in line for k in np.flatnonzero(other))
        else:
            assert line == f"rule {why.rules[0].uid} alone decides the same"
        seen.add(bool(other.any()))
    assert seen == {True, False}
