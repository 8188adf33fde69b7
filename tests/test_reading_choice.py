"""What a rule names: features that decide that it fires, and planes by few features."""

from itertools import combinations

import numpy as np
import pytest
from helpers.models import QUICK, TWO_RULES, fit_blocks, stream
from helpers.tool_files import load_tool
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, datasets
from efcml.explain.landscape import Exchange, Landscape, draw_rows
from efcml.explain.sparse import thin_out

BLOCKS = [[0], [1, 3], [2], [4]]


def land(seed=0, rules=3, p=5):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(rules, p, p))
    covariances = roots @ roots.transpose(0, 2, 1) + np.eye(p)
    volumes = np.linalg.slogdet(covariances)[1]
    centers, shares = rng.normal(size=(rules, p)), np.arange(1.0, rules + 1.0)
    samples = tuple(
        draw_rows(c, S, 7 + r) for r, (c, S) in enumerate(zip(centers, covariances, strict=True))
    )
    shares /= shares.sum()
    return Landscape(centers, covariances, np.linalg.inv(covariances), volumes, shares, samples)


def naive_lead(some, rule, rival, x):
    """How much nearer a row is to a rule than to a rival."""
    energies = []
    for o in (rival, rule):
        gap = x - some.centers[o]
        energies.append(gap @ np.linalg.inv(some.covariances[o]) @ gap + some.log_volumes[o])
    return energies[0] - energies[1]


@pytest.mark.parametrize("chosen", [[], [1], [3, 1]])
@pytest.mark.parametrize("pair", [(0, 2), (2, 0)])
def test_leads_are_those_of_the_definition(chosen, pair):
    """Rows of the rule with the columns of rows of the rival, one partner after the other."""
    some = land()
    exchange = Exchange(some, *pair, BLOCKS)
    for block in chosen:
        exchange.take(block)
    found = exchange.lost()
    rows, partners = (some.samples[o] for o in pair)
    before = [naive_lead(some, *pair, x) for x in rows]
    floor = 0.1 * max(np.mean(before), 1e-6)
    for block in {*range(4)} - {*chosen}:
        columns = [j for one in [*chosen, block] for j in BLOCKS[one]]
        lost = []
        for i, x in enumerate(rows):
            changed = x.copy()
            changed[columns] = partners[i % len(partners)][columns]
            share = (before[i] - naive_lead(some, *pair, changed)) / max(before[i], floor)
            lost.append(min(max(share, 0.0), 1.0))
        assert found[block] == pytest.approx(np.mean(lost))


def test_every_rival_is_told_apart():
    """One rival is far along x0, the other along x2: both have to be named, x1 does not."""
    centers = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
    same = np.tile(np.eye(3), (3, 1, 1))
    samples = tuple(draw_rows(center, np.eye(3), 20) for center in centers)
    some = Landscape(centers, same, same, np.zeros(3), np.array([5.0, 3.0, 2.0]), samples)
    every, blocks = np.ones(3, dtype=bool), [[0], [1], [2]]
    assert some.telling(0, blocks, every, 4) == [0, 2]
    assert some.telling(1, blocks, every, 1) == [0]
    assert some.telling(2, blocks, every, 1) == [2]
    assert some.telling(0, blocks, every, 1) == [0]
    assert some.telling(0, blocks, np.array([False, True, True]), 1) == [2]
    assert some.telling(0, blocks, ~every, 4) == []


def test_rows_of_a_gaussian():
    some = land(p=2)
    rows = draw_rows(some.centers[0], some.covariances[0], 20_000)
    assert_allclose(rows.mean(axis=0), some.centers[0], atol=0.05)
    assert_allclose(np.cov(rows.T), some.covariances[0], rtol=0.05, atol=0.05)
    assert_allclose(draw_rows(some.centers[0], some.covariances[0], 20_000), rows)


def test_a_single_rule_has_no_rival():
    some = land(rules=1)
    assert some.telling(0, BLOCKS, np.ones(4, dtype=bool), 4) == []


def test_means_and_covariance_of_all_rows():
    some = land()
    share = some.shares
    mean = sum(w * c for w, c in zip(share, some.centers, strict=True))
    second = sum(
        w * (S + np.outer(c, c))
        for w, c, S in zip(share, some.centers, some.covariances, strict=True)
    )
    assert_allclose(some.mean, mean)
    assert_allclose(some.covariance, second - np.outer(mean, mean))


# -- planes by few features -------------------------------------------------------------------


def variance_kept(slopes, covariance, columns):
    """Share of the variance of the answers that a regression on some columns explains."""
    inverse = np.linalg.inv(covariance[np.ix_(columns, columns)])
    cross = slopes @ covariance[:, columns]
    whole = np.trace(slopes @ covariance @ slopes.T)
    return np.trace(cross @ inverse @ cross.T) / whole


@pytest.mark.parametrize("most", [1, 2, 3])
def test_sparse_planes_are_regressions_on_the_best_features(most):
    rng = np.random.default_rng(4)
    slopes, covariance = rng.normal(size=(2, 5)), land().covariances[0]
    thin = thin_out(slopes, covariance, [[j] for j in range(5)], most)
    assert len(thin.blocks) == most
    columns = list(thin.blocks)
    assert thin.kept == pytest.approx(variance_kept(slopes, covariance, columns))
    assert set(np.flatnonzero(np.abs(thin.slopes).sum(axis=0))) == set(columns)
    # What is left is not correlated with what is kept.
    assert_allclose(((slopes - thin.slopes) @ covariance)[:, columns], 0.0, atol=1e-9)
    if most == 1:
        best = max(variance_kept(slopes, covariance, [j]) for j in range(5))
        assert thin.kept == pytest.approx(best)
    else:
        pairs = combinations(range(5), most)
        best = max(variance_kept(slopes, covariance, list(some)) for some in pairs)
        assert 0.8 * best < thin.kept <= best + 1e-12


def test_all_features_keep_everything():
    slopes, covariance = np.random.default_rng(4).normal(size=(2, 5)), land().covariances[0]
    thin = thin_out(slopes, covariance, BLOCKS, 4)
    if len(thin.blocks) == 4:
        assert thin.kept == pytest.approx(1.0)
        assert_allclose(thin.slopes, slopes, atol=1e-9)
    assert thin.kept >= 0.98
    nothing = thin_out(np.zeros((2, 5)), covariance, BLOCKS, 4)
    assert (nothing.blocks, nothing.kept) == ((), 1.0)


def test_features_that_add_nothing_are_left_out():
    slopes = np.array([[1.0, 0.0, 0.001], [2.0, 0.0, 0.0]])
    thin = thin_out(slopes, np.eye(3), [[0], [1], [2]], 3)
    assert thin.blocks == (0,)
    assert 0.98 < thin.kept < 1.0
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert thin_out(np.array([[1.0, 2.0, 0.0]]), copies, [[0], [1], [2]], 3).blocks == (0,)


def test_rules_read_at_most_five_features():
    X, Y = stream(60, n_features=8)
    for rule in EFCMLClassifier(**QUICK).fit(X, Y).rules_:
        assert len(rule.sparse.blocks) <= 5
        assert 0.0 < rule.sparse.kept <= 1.0 + 1e-12
        if rule.trends:
            assert f"keep{'s' * (len(rule.sparse.blocks) == 1)} " in rule.trends[-1]


# -- the background ---------------------------------------------------------------------------


def test_a_rule_that_covers_all_is_the_background_and_stands_last():
    """Rows everywhere, and a small cloud within them."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(12, 2)) * 0.05 + [4.0, 4.0]])
    Y = np.concatenate([np.zeros(300), np.ones(12)])[:, None]
    clf = EFCMLClassifier(**TWO_RULES | {"vigilance": 2.5, "cases": 0}).fit(X, Y)
    rules = clf.rules_
    assert [rule.covers_all for rule in rules] == [False] * (len(rules) - 1) + [True]
    assert len(rules) > 1
    last = rules[-1]
    assert last.decides == max(rule.decides for rule in rules)
    assert last.terms == []
    assert last.sentence().startswith("OTHERWISE THEN ")
    assert "\n  OTHERWISE\n" in str(last)
    assert not any(rule.covers_all for rule in fit_blocks().rules_)


@pytest.mark.parametrize(("second", "covers"), [(70, False), (10, True)])
def test_a_rule_that_decides_nearly_all_is_the_background(second, covers):
    """Two clouds that lie apart; of the rows, the second has as many as told."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(130, 2)), rng.normal(size=(second, 2)) + 20.0])
    Y = np.concatenate([np.zeros(130), np.ones(second)])[:, None]
    rules = EFCMLClassifier(**TWO_RULES).fit(X, Y).rules_
    assert len(rules) > 1
    assert rules[-1].covers_all == covers
    assert (rules[-1].decides > 0.8) == covers
    assert not any(rule.covers_all for rule in rules[:-1])


# -- what is named matters --------------------------------------------------------------------


def test_shuffling_named_features_moves_the_model(rng):
    study = load_tool("named_features", "experiments/decisions")
    study.LEAST_ROWS, study.DRAWS, study.OTHER_DRAWS = 5, 3, 3
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK | {"bandwidth": 1.0}).fit(X, Y)
    records = list(study.judge(clf, X, rng))
    assert len(records) > 1
    for record in records:
        named, other = record["activation"]
        assert other is None or named > other


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "water-quality", "yeast"])
def test_named_features_matter_for_nine_rules_in_ten(name, rng):
    study = load_tool("named_features", "experiments/decisions")
    try:
        ds = datasets.load(name)
    except datasets.DatasetNotFound:
        pytest.skip(f"{name} is not here")
    clf = EFCMLClassifier(max_rules=6, bandwidth=4.0, prior=10.0).fit(*ds.initial)
    records = list(study.judge(clf, ds.initial[0], rng))
    good = [record["activation"][0] > record["activation"][1] for record in records]
    assert len(good) > 1
    assert sum(good) >= 0.9 * len(good)
