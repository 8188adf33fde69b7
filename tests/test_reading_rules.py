"""Rules as a person reads them: arrays in the units of the data, terms, tendencies, sentences.

`blocks`, `TWO_RULES` and `fit_blocks` are shared with the other tests of reading.
"""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, hide, stream
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, norm
from sklearn.exceptions import NotFittedError

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC
from efcml.explain import read_rules
from efcml.explain.phrases import distinctness, interval, level, with_spread
from efcml.kernels.scoring import activate_rows

ONE_RULE = TWO_RULES | {"vigilance": 1e9}


@pytest.fixture(scope="module")
def two():
    return fit_blocks().rules_


@pytest.fixture(scope="module")
def several():
    X, Y = stream(60)
    return EFCMLClassifier(**QUICK, alpha=0.05).fit(X, Y)


# -- the list ---------------------------------------------------------------------------------


def test_every_rule_is_there_once_by_what_it_decides(several):
    rules, arrays = several.rules_, several.learner_.rules
    assert len(rules) == several.n_rules_ > 3
    order = [(rule.covers_all, -rule.decides, -rule.share) for rule in rules]
    assert order == sorted(order)
    assert len({rule.decides for rule in rules}) > 2
    assert sum(rule.decides for rule in rules) == pytest.approx(1.0, abs=1e-12)
    shares = [rule.share for rule in rules]
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)
    assert sorted(rule.uid for rule in rules) == sorted(arrays.uid.tolist())
    for rule in rules:
        r = arrays.uid.tolist().index(rule.uid)
        assert (rule.support, rule.born) == (arrays.support[r], arrays.born[r])
        assert rule.weight == arrays.weight[r]
        assert rule.share == pytest.approx(rule.weight / arrays.weight.sum(), rel=1e-12)


def test_the_list_is_a_sequence(several):
    rules = several.rules_
    assert [rule.uid for rule in rules[1:3]] == [rules[1].uid, rules[2].uid]
    assert type(rules[1:3]) is type(rules)
    assert rules[-1].uid == list(rules)[-1].uid
    assert rules[1:3].title == f"2 of {len(rules)} rules after 60 rows"
    assert rules.title == f"{len(rules)} rules after 60 rows"
    assert repr(rules) == f"RuleList({len(rules)} rules, 3 features, 3 labels)"
    with pytest.raises(IndexError):
        rules[len(rules)]


def test_rules_are_frozen_and_later_learning_does_not_reach_them():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK).fit(X[:40], Y[:40])
    rules = clf.rules_
    with pytest.raises(FrozenInstanceError):
        rules[0].share = 0.0
    before = [str(rules), *(rule.weights.copy() for rule in rules)]
    clf.partial_fit(X[40:], Y[40:])
    assert str(rules) == before[0]
    for rule, weights in zip(rules, before[1:], strict=True):
        assert_array_equal(rule.weights, weights)
    assert str(clf.rules_) != before[0]


def test_reading_needs_a_model():
    clf = EFCMLClassifier()
    with pytest.raises(NotFittedError):
        clf.rules_  # noqa: B018
    assert not hasattr(clf, "rules_")
    with pytest.raises(NotFittedError):
        clf.explain([1.0])


def test_there_are_no_rules_during_the_warm_up():
    X, Y = stream(5)
    rules = EFCMLClassifier(warmup_rows=50).partial_fit(X, Y).rules_
    assert len(rules) == 0
    assert str(rules) == "no rules yet: label frequencies of 5 rows answer"
    assert_array_equal(rules.importance(), np.zeros((3, 3)))


# -- units ------------------------------------------------------------------------------------


def test_one_rule_has_the_moments_of_the_data():
    X, Y = blocks()
    (rule,) = EFCMLClassifier(**ONE_RULE).fit(X, Y).rules_
    assert_allclose(rule.center, X.mean(axis=0), rtol=1e-9)
    # The birth width is left in as one row of 40, and the label part as it is.
    start = 0.1 * np.ptp(X, axis=0) * X.std(axis=0)
    expected = np.cov(X.T, bias=True) + np.diag(start) / len(X)
    assert_allclose(rule.covariance, expected, rtol=1e-6)
    assert_allclose(rule.sigma, np.sqrt(np.diagonal(expected)), rtol=1e-6)
    assert_allclose(rule.label_means, Y.mean(axis=0), rtol=1e-12)
    assert_allclose(rule.label_weights, 40.0, rtol=1e-12)
    assert_allclose(rule.label_correlation, np.corrcoef(Y.T), atol=1e-9)
    assert (rule.support, rule.weight, rule.share, rule.born) == (40.0, 40.0, 1.0, 0)


def test_weights_are_in_the_units_of_the_data():
    X, Y = blocks()
    clf = EFCMLClassifier(**ONE_RULE, cases=0).fit(X, Y)
    (rule,) = clf.rules_
    scores = X @ rule.weights[:, :-1].T + rule.weights[:, -1]
    assert_allclose(scores, clf.decision_function(X) + 0.5, atol=1e-9)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = scaled @ rule.slopes.T + rule.scaled_weights[:, -1]
    assert_allclose(scores, clf.decision_function(X) + 0.5, atol=1e-9)
    assert_allclose(rule.answer, scores.mean(axis=0), atol=1e-9)


def test_projections_come_from_the_covariance_not_from_the_precision(several):
    arrays, X = several.learner_.rules, stream(60)[0]
    for rule in several.rules_:
        r = arrays.uid.tolist().index(rule.uid)
        expected = np.linalg.inv(arrays.input_precision[r]) * np.outer(X.std(0), X.std(0))
        assert_allclose(rule.covariance, expected, rtol=1e-9, atol=1e-12)
        assert_allclose(rule.sigma**2, np.diagonal(expected), rtol=1e-9)
        assert_allclose(rule.center, X.mean(0) + X.std(0) * arrays.center[r, :3], rtol=1e-9)


def test_importance_is_the_mean_effect(several):
    expected = np.zeros((3, 3))
    for rule in several.rules_:
        for j in range(3):
            for k in range(3):
                expected[j, k] += rule.share * abs(rule.slopes[k, j]) * rule.scaled_sigma[j]
    assert_allclose(several.rules_.importance(), expected, atol=1e-12)
    part = several.rules_[:1]
    assert_allclose(part.importance(), np.abs(part[0].effects).T, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_label_means_are_weighted_by_activation(share):
    X, Y = stream(40)
    Y = hide(Y, share) if share else Y
    clf = EFCMLClassifier(**QUICK | {"activation_floor": 0.0}).fit(X, Y)
    known = ~np.isnan(Y)
    for rule in clf.rules_:
        psi = activations_of(clf, X, rule.uid)
        weights = psi @ known
        assert_allclose(rule.label_weights, psi[~np.isnan(Y).all(1)] @ known[known.any(1)])
        assert_allclose(rule.label_means, psi @ np.where(known, Y, 0.0) / weights, atol=1e-9)
    assert_allclose(clf.rules_.background.label_means, np.nanmean(Y, axis=0), atol=1e-9)


def activations(clf, X):
    """Return Psi of every row and rule."""
    learner = clf.learner_
    psi, rules = np.empty((len(X), learner.n_rules)), learner.rules
    scaled = learner.scaler.transform(X)
    activate_rows(scaled, len(psi.T), rules.arrays, learner.settings, rules.scratch, psi)
    return psi


def activations_of(clf, X, uid):
    return activations(clf, X)[:, clf.learner_.rules.uid.tolist().index(uid)]


# -- the IF part ------------------------------------------------------------------------------


def test_terms_name_what_tells_the_clusters_apart(two):
    first, second = sorted(two, key=lambda rule: rule.born)
    # Either of x0 and x2 is enough to tell them apart.
    assert {term.feature: term.term for term in first.terms} == {"x0": "low"}
    assert {term.feature: term.term for term in second.terms} == {"x0": "high"}
    feature, word, value, sigma = next(term for term in second.terms if term.feature == "x0")
    assert (value, sigma) == (second.center[0], second.sigma[0])
    assert value == pytest.approx(20.0, abs=0.5)


def test_a_single_rule_always_holds():
    X, Y = blocks()
    (rule,) = EFCMLClassifier(**ONE_RULE).fit(X, Y).rules_
    assert rule.terms == []
    assert rule.sentence() == "ALWAYS THEN labels as usual"


def test_constant_features_are_never_named():
    X, Y = blocks()
    X = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
    for rule in EFCMLClassifier(**TWO_RULES).fit(X, Y).rules_:
        assert {term.feature for term in rule.terms} == {"x0"}
        assert rule.center[4] == pytest.approx(7.0)
        assert_allclose(rule.distinctness[4:], 0.0, atol=1e-9)


def test_at_most_four_terms():
    """Many features tell two wide rules apart, none of them alone."""
    rng = np.random.default_rng(1)
    second = np.arange(80) >= 40
    X = rng.normal(size=(80, 23)) + 2.5 * second[:, None]
    X[:, :3] -= 2.5 * second[:, None]
    for rule in EFCMLClassifier(**TWO_RULES).fit(X, second[:, None].astype(float)).rules_:
        assert len(rule.terms) == 4
        assert not {term.feature for term in rule.terms} & {"x0", "x1", "x2"}


@pytest.mark.parametrize(
    ("z", "word"),
    [
        (-1.51, "very low"),
        (-1.49, "low"),
        (-0.51, "low"),
        (-0.49, "medium"),
        (0.0, "medium"),
        (0.49, "medium"),
        (0.5, "high"),
        (1.49, "high"),
        (1.5, "very high"),
        (99.0, "very high"),
    ],
)
def test_levels(z, word):
    assert level(z, 1.0) == word
    assert level(z, 0.5) == ("narrowly medium" if word == "medium" else word)
    assert level(z, 0.51) == word


@pytest.mark.parametrize(("z", "width"), [(0.0, 0.5), (1.2, 0.7), (-2.0, 0.3), (0.4, 1.0)])
def test_distinctness_is_the_symmetric_divergence(z, width):
    t = np.linspace(-12.0, 12.0, 100_001)
    rule, usual = norm.pdf(t, z, width), norm.pdf(t)
    gap = norm.logpdf(t, z, width) - norm.logpdf(t)
    expected = np.trapezoid((rule - usual) * gap, t)
    assert distinctness(np.array([z]), np.array([width])) == pytest.approx(expected, abs=1e-8)


def test_the_usual_is_the_mean_of_rows_not_of_rules(several):
    rules = several.rules_
    assert len({rule.decides for rule in rules}) > 2
    means = rules.background.feature_means
    assert_allclose(means, 0.0, atol=1e-9)
    assert np.abs(np.mean([rule.scaled_center for rule in rules], axis=0)).max() > 0.1


def test_what_a_reader_is_told_is_true_of_the_last_rows():
    """Shares of rows, of labels, and the usual ones, by rows that fade, after labels drift."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2400, 2)) + np.where(rng.random((2400, 1)) < 0.5, -6.0, 6.0)
    Y = (rng.random((2400, 2)) < np.where(X > 0, 0.8, 0.3)).astype(float)
    Y[1200:, 1] = 1.0 - Y[1200:, 1]
    Y[rng.random(Y.shape) < 0.1] = np.nan
    clf = EFCMLClassifier(splitting="off").fit(X[:400], Y[:400]).partial_fit(X[400:], Y[400:])
    rules, known, strongest = clf.rules_, ~np.isnan(Y), clf.activations(X).argmax(axis=1)
    counted = known.any(axis=1)  # rows without any label are not
    after = counted[::-1].cumsum()[::-1] - counted
    of_late = counted * 0.998 ** np.minimum(after, after[399])  # rows of `fit` count alike
    assert_allclose(rules.background.label_means, of_late @ np.nan_to_num(Y) / (of_late @ known))
    for r, rule in enumerate(rules):  # but for rows that another rule would decide by now
        rows = of_late * (strongest == r)
        assert rule.decides == pytest.approx(rows.sum() / of_late.sum(), abs=0.02)
        assert_allclose(rule.label_rows, rows @ known, atol=12.0)
        if rule.decides > 0.05:
            assert_allclose(rule.mean, rows @ X / rows.sum(), atol=0.1)
            assert_allclose(rule.label_shares, rows @ np.nan_to_num(Y) / (rows @ known), atol=0.04)


def test_shares_in_brackets_are_those_of_the_rows_that_a_rule_decides():
    """Rules are formed by labels too: their centers have other shares of flags and groups."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    g, u = rng.choice(["A", "B", "C"], 900, p=[0.5, 0.3, 0.2]), rng.normal(50, 10, 900)
    f = (rng.random(900) < np.where(g == "C", 0.9, 0.3)).astype(int)
    Y = np.stack([(g == "C") & (f == 1), u > 60, (f == 0) & (u < 45)], axis=1).astype(float)
    X = pandas.DataFrame({"u": u, "f": f, "g": pandas.Categorical(g)})
    clf = EFCMLClassifier().fit(X, Y)
    strongest, told = clf.activations(X).argmax(axis=1), 0
    for r, rule in enumerate(clf.rules_):
        rows = strongest == r
        shares = [f[rows].mean(), *((g[rows] == value).mean() for value in "ABC")]
        assert_allclose(rule.mean[1:], shares, atol=1e-9)
        for term in rule.terms:
            if term.feature == "f":
                told += 1
                yes = "yes" in str(term)
                assert f"({100 * abs(f[rows].mean() - (not yes)):.0f} %)" in str(term)
    assert told > 0


def test_a_rule_that_decides_nothing_of_late_says_so(two):
    rule = replace(two[0], label_rows=np.array([4.0, 2.0]))
    assert rule.consequent == "too few rows of late to tell"
    nothing = replace(two[0], label_rows=np.zeros(2), label_shares=np.full(2, np.nan))
    assert nothing.consequent == "too few rows of late to tell"
    assert nothing.label_tendencies == []
    assert_allclose(nothing.card()["answers"], nothing.probabilities)


def test_a_label_that_is_always_there_is_usual():
    X, Y = stream(40)
    Y[:, 1] = 1.0
    rules = EFCMLClassifier(**QUICK).fit(X, Y).rules_
    assert rules.background.label_means[1] <= 1.0
    assert rules.background.label_means[1] == pytest.approx(1.0, abs=1e-9)
    assert not any(t.label == "label1" for rule in rules for t in rule.label_tendencies)


def test_the_usual_follows_the_rows():
    X, Y = blocks()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    assert_allclose(clf.rules_.background.feature_means, 0.0, atol=1e-9)
    assert clf.rules_.background.feature_spreads.max() <= 1.0
    later = X + [0.0, 0.0, 0.0, 10.0]  # two standard deviations of feature 3
    clf.partial_fit(later, Y)
    of_late = 0.998 ** np.append(
        np.full(len(X), float(len(X))), np.arange(len(X) - 1.0, -1.0, -1.0)
    )
    mean = of_late @ np.concatenate([X, later]) / of_late.sum()
    usual = clf.rules_.background
    assert_allclose(usual.usual_center, mean, rtol=1e-9, atol=1e-9)


def test_numbers_show_two_digits_of_the_spread():
    assert with_spread(20.03, 1.44) == "20.0 ± 1.4"
    assert with_spread(1234.6, 250.0) == "1235 ± 250"
    assert with_spread(5.0, 0.0) == "5 ± 0"
    assert with_spread(1e-9, 2e-10) == "1e-09 ± 2e-10"


# -- the THEN part ----------------------------------------------------------------------------


def test_tendencies_and_trends_of_the_clusters(two):
    for rule in two:
        (tendency,) = rule.label_tendencies
        assert tendency.label == "label0"
        assert tendency.answer == rule.label_shares[0] == float(rule.born > 0)
        assert tendency.usual == pytest.approx(0.5, abs=1e-9)
        best = rule.important("label1")[0]
        assert best.feature == "x1"
        assert best.effect == pytest.approx(rule.slopes[1, 1] * rule.scaled_sigma[1])
        assert any(trend.startswith("label1 rises with x1 +") for trend in rule.trends)
    second = max(two, key=lambda rule: rule.born)
    said = "label0 1.00 (.84 to 1.00, usual .50)"
    assert second.sentence() == f"IF {second.antecedent} THEN {said}"
    text = str(second).splitlines()
    title = "decides 50 % of the rows, learned from 20 rows, born in row 20"
    assert text[0] == f"rule {second.uid}: {title}"
    assert text[1:3] == [f"  IF {second.antecedent}", f"  THEN {said}"]
    assert text[3:] == [f"    {trend}" for trend in second.trends]
    assert repr(second) == f"Rule({second.uid}, {second.sentence()!r})"


@pytest.mark.parametrize(
    ("answer", "rows", "named"),
    [
        (0.3, 1e6, False),
        (0.39, 1e6, False),
        (0.41, 1e6, True),
        (0.21, 1e6, False),
        (0.19, 1e6, True),
        (0.41, 10.0, False),
        (1.0, 4.0, True),
        (1.0, 0.0, False),
    ],
)
def test_a_tendency_is_a_share_surely_unlike_the_usual(two, answer, rows, named):
    background = replace(two.background, label_means=np.array([0.3, 0.0]))
    rule = replace(
        two[0],
        background=background,
        label_shares=np.array([answer, 0.0]),
        label_rows=np.array([rows, rows]),
    )
    assert [tendency.label for tendency in rule.label_tendencies] == ["label0"] * named
    for tendency in rule.label_tendencies:
        assert 0.0 <= tendency.low <= tendency.answer <= tendency.high <= 1.0
        assert tendency.answer == answer


def test_probabilities_at_the_center_are_within_0_and_1(two):
    weights = np.zeros((2, 5))
    weights[:, -1] = 1.2, -0.1
    assert replace(two[0], scaled_weights=weights).probabilities.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("share", "rows"), [(0.0, 3), (0.2, 10), (0.5, 40), (1.0, 100)])
def test_intervals_are_those_of_wilson(share, rows):
    expected = binomtest(round(share * rows), rows).proportion_ci(method="wilson")
    assert interval(share, float(rows)) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_hardly_any_rows_tell_nothing():
    for rows in (0.0, 1e-300, 1e-154, 1e-10):
        assert interval(0.3, rows) == (0.0, 1.0)
    assert interval(0.3, 1e-8) == pytest.approx((0.0, 1.0), abs=1e-6)


def test_at_most_five_tendencies_the_largest_gaps_first(two):
    names = tuple("abcdefgh")
    background = replace(two.background, label_names=names, label_means=np.full(8, 0.5))
    rule = replace(
        two[0],
        background=background,
        scaled_weights=np.zeros((8, 5)),
        label_shares=np.array([0.5, 0.9, 0.1, 0.7, 0.52, 0.0, 0.25, 0.2]),
        label_rows=np.full(8, 1e4),
    )
    assert [tendency.label for tendency in rule.label_tendencies] == ["f", "b", "c", "h", "g"]
    assert rule.trends == []


def test_important_features_are_few_and_not_weak(two):
    weights = np.zeros((2, 5))
    weights[0, :4] = [0.3, -0.2, 0.09, 0.15]
    weights[1, :4] = [0.009, 0.0, 0.0, 0.0]
    rule = replace(two[0], scaled_weights=weights, scaled_covariance=np.eye(4))
    assert rule.important(0) == [("x0", 0.3), ("x1", -0.2), ("x3", 0.15)]
    assert rule.important("label0", 2) == rule.important(0)[:2]
    assert [push.feature for push in rule.important(0, 9)] == ["x0", "x1", "x3"]
    assert rule.important("label1") == rule.important(-1) == []
    assert rule.trends[0] == "label0 rises with x0 +.30, x3 +.15 and falls with x1 -.20"
    assert rule.trends[1].startswith("4 features keep 100 %")
    for label in ("label2", 2, -3, None):
        with pytest.raises(ValueError, match="there is no label"):
            rule.important(label)


def test_slopes_that_the_penalty_removed_are_never_named():
    rules = fit_blocks(alpha=100.0).rules_
    assert all((rule.slopes == 0.0).all() for rule in rules)
    assert all(rule.trends == [] for rule in rules)


def test_a_newborn_rule_has_learned_nothing():
    X, Y = blocks()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    before = clf.n_rules_
    clf.partial_fit(X[:1] + [60.0, 600.0, 6.0, 300.0], Y[:1])
    assert clf.n_rules_ == before + 1
    newborn = max(clf.rules_, key=lambda rule: rule.born)
    assert (newborn.share, newborn.support, newborn.born) == (0.0, 1.0, 40)
    assert newborn.consequent == "nothing learned yet"
    assert np.isnan(newborn.label_means).all()
    assert "learned from 0 rows, born in row 40" in newborn.title
    assert not np.isnan(clf.rules_.background.label_means).any()


# -- names and other models -------------------------------------------------------------------


def test_names_of_a_frame_are_used():
    pd = pytest.importorskip("pandas")
    X, Y = blocks()
    frame = pd.DataFrame(X, columns=["tempo", "pitch", "loud", "noise"])
    clf = EFCMLClassifier(**TWO_RULES).fit(frame, pd.DataFrame(Y, columns=["sad", "happy"]))
    rules = clf.rules_
    assert rules.feature_names == ("tempo", "pitch", "loud", "noise")
    assert rules.label_names == rules[0].label_names == ("sad", "happy")
    assert {term.feature for term in rules[0].terms} == {"tempo"}
    assert rules[0].important("happy")[0].feature == rules[0].feature_names[1]


def test_places_of_all_rules_at_once(several):
    learner = several.learner_
    rules, scaler = learner.rules, learner.scaler
    order = [rules.uid.tolist().index(rule.uid) for rule in several.rules_]
    X = scaler.mean + scaler.scale * np.random.default_rng(1).normal(size=(5, learner.n_features))
    expected = naive_distances(scaler.transform(X), rules, order)
    assert_allclose(several.rules_.squared_distances(X), expected)
    scaled = (several.rules_.centers - scaler.mean) / scaler.scale
    assert_allclose(scaled, rules.center[order, : learner.n_features])
    units = np.outer(scaler.scale, scaler.scale)
    assert_allclose(several.rules_.covariances / units, np.linalg.inv(rules.input_precision[order]))


def naive_distances(scaled, rules, order):
    p = scaled.shape[1]
    gaps = [[x - rules.center[r, :p] for r in order] for x in scaled]
    return [
        [gap @ rules.input_precision[r] @ gap for r, gap in zip(order, line, strict=True)]
        for line in gaps
    ]


def test_rules_of_a_frame(two):
    pytest.importorskip("pandas")
    table = two.to_frame()
    assert table["uid"].tolist() == [rule.uid for rule in two]
    assert table["antecedent"].tolist() == [rule.antecedent for rule in two]
    assert table["consequent"].tolist() == [rule.consequent for rule in two]
    assert table["label0"].tolist() == [rule.label_means[0] for rule in two]
    assert [*table.columns[:4]] == ["uid", "born", "decides", "support"]
    assert len(EFCMLClassifier().partial_fit(*stream(3)).rules_.to_frame()) == 0


def test_a_flat_target_is_one_label_named_by_its_class():
    X, Y = blocks()
    y = np.where(Y[:, 0] == 1.0, "yes", "no")
    rules = EFCMLClassifier(**TWO_RULES).fit(X, y).rules_
    assert rules.label_names == ("class yes",)
    second = max(rules, key=lambda rule: rule.born)
    assert second.consequent == "class yes 1.00 (.84 to 1.00, usual .50)"


def test_labels_that_appear_late_get_names():
    clf = fit_blocks()
    clf.add_labels(1)
    assert clf.rules_.label_names == ("label0", "label1", "label2")
    assert clf.rules_[0].label_means[2] == 0.0


def test_bare_learners_can_be_read():
    clf = fit_blocks()
    names = list("abcd"), ["u", "v"]
    rules = read_rules(clf.learner_, *names)
    assert str(rules) == str(clf.rules_).replace("label0", "u").replace("label1", "v").replace(
        "x0", "a"
    ).replace("x1", "b").replace("x2", "c").replace("x3", "d")


@pytest.mark.parametrize("kind", [OneVsRestEFC, ChainEFC])
def test_models_with_one_rule_base_per_label(kind):
    X, Y = blocks()
    options = {"order": [1, 0]} if kind is ChainEFC else {}
    clf = kind(**TWO_RULES, **options).fit(X, Y)
    rules = clf.rules_
    assert set(rules) == {"label0", "label1"}
    assert sum(map(len, rules.values())) == clf.n_rules_
    chained = rules["label0"].feature_names
    assert chained == ("x0", "x1", "x2", "x3") + ("label1",) * (kind is ChainEFC)
    assert rules["label1"].feature_names == ("x0", "x1", "x2", "x3")
    assert rules["label1"].label_names == ("label1",)
    with pytest.raises(NotFittedError):
        kind().rules_  # noqa: B018
