"""Scores of a search against a loop by hand: one classifier for every point and fold."""

import dataclasses
import warnings

import numpy as np
import pytest
from helpers.streams import COMPILED, random_rows
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, datasets, measures, prequential
from efcml.datasets.catalog import DatasetNotFound
from efcml.model.divergence import DivergenceWarning
from efcml.tuning import Grid, task, tune

N = 90 if COMPILED else 30
GRID = Grid(vigilance=[0.5, 0.15], alpha=[0.0, 0.3], beta=[0.0, 2.0])
FIXED = {"forgetting": 1.0, "caution": False, "time": False}
BASE = {"prior": 1.0, "max_rules": 20, "splitting": "off", "activation": "distance"} | FIXED
MERGES = {"merge_overlap": 0.3, "merge_volume": 2.0}

SHARED = {  # one pass for all pairs
    "shift": {"correlation": "shift"},
    "laplacian": {"correlation": "laplacian", "n_steps": 2},
    "signed": {"correlation": "signed", "product_space": False},
    "none": {"correlation": "none"},
    "few rules": {"max_rules": 3, "merging": False},
    "forgetting": {"forgetting": 0.9},
    "prior": {"prior": "auto"},
}
ALONE = {  # one pass for each pair
    "printed penalty": {"correlation": "paper"},
    "printed step": {"lipschitz": "paper"},
}


def search_by_hand(X, Y, grid, folds, params):
    """Fit and stream one classifier per point and fold; return PA, AP, rules, and event counts."""
    edges = np.linspace(0, len(X), folds + 1).astype(int)
    shape = len(grid.vigilance), len(grid.pairs)
    pa, ap, rules = np.empty(shape), np.empty(shape), np.empty(shape)
    counts = {"births": 0, "merges": 0, "drops": 0}
    for row, vigilance in enumerate(grid.vigilance):
        for column, (alpha, beta) in enumerate(grid.pairs):
            right, known, precisions, ends = 0, 0, [], []
            for low, high in zip(edges[:-1], edges[1:], strict=True):
                clf = EFCMLClassifier(vigilance=vigilance, alpha=alpha, beta=beta, **params)
                rest = np.r_[0:low, high : len(X)]
                clf.fit(X[rest], Y[rest])
                result = prequential(clf, X[low:high], Y[low:high])
                hits = (result.scores >= 0.5) == result.Y
                right += hits[~np.isnan(result.Y)].sum()
                known += (~np.isnan(result.Y)).sum()
                precisions.extend(measures.average_precision_rows(result.Y, result.scores))
                ends.append(clf.n_rules_)
                for kind in counts:
                    counts[kind] += clf.learner_.counts[kind]
            pa[row, column] = right / known
            ap[row, column] = np.nanmean(precisions)
            rules[row, column] = np.mean(ends)
    return pa, ap, rules, counts


def assert_same_as_by_hand(result, by_hand):
    assert np.array_equal(result.pa, by_hand[0])
    assert_allclose(result.ap, by_hand[1], rtol=1e-10, atol=1e-10)
    assert_allclose(result.rules, by_hand[2], rtol=1e-12)


@pytest.fixture
def passes(monkeypatch):
    """The number of pairs of every pass that is run."""
    found = []
    run_pass = task.run_pass

    def counting(params, pairs, *rest):
        found.append(None if pairs is None else len(pairs))
        return run_pass(params, pairs, *rest)

    monkeypatch.setattr(task, "run_pass", counting)
    return found


@pytest.mark.parametrize("variant", SHARED)
def test_one_pass_carries_all_pairs(rng, passes, variant):
    X, Y = random_rows(rng, N, 2, 3)
    params = BASE | MERGES | SHARED[variant]
    result = tune(X, Y, grid=GRID, folds=2, params=params)
    assert passes == [4] * 4
    by_hand = search_by_hand(X, Y, GRID, 2, params)
    assert_same_as_by_hand(result, by_hand)
    counts = by_hand[3]
    assert counts["births"] > 3 * 16
    assert counts["drops" if variant == "few rules" else "merges"] > 0
    assert not result.diverged.any()
    if variant != "none":
        assert len({*zip(result.pa.flat, result.ap.flat, strict=True)}) >= 5


@pytest.mark.parametrize("variant", ALONE)
def test_printed_formulas_run_alone(rng, passes, variant):
    X, Y = random_rows(rng, N // 2, 2, 3)
    params = BASE | ALONE[variant]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        result = tune(X, Y, grid=GRID, folds=2, params=params)
        assert passes == [None] * 16
        assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 2, params))


def test_rows_that_know_some_labels_run_alone(rng, passes):
    X, Y = random_rows(rng, N // 2, 2, 3)
    Y[3, 1] = Y[-2, 0] = np.nan
    result = tune(X, Y, grid=GRID, folds=3, params=BASE)
    assert passes == [None] * 24
    assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 3, BASE))


def test_unknown_labels_in_the_fold_alone_are_enough(rng, passes):
    X, Y = random_rows(rng, 20, 2, 2)
    Y[0, 0] = np.nan
    result = tune(X, Y, grid=GRID, folds=2, params=BASE)
    assert passes == [None] * 16
    assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 2, BASE))


def test_rows_without_any_known_label_share_a_pass(rng, passes):
    X, Y = random_rows(rng, N, 2, 2)
    Y[::5] = np.nan
    result = tune(X, Y, grid=GRID, folds=3, params=BASE)
    assert passes == [4] * 6
    assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 3, BASE))


def test_a_fold_without_known_labels_counts_nothing(rng):
    X, Y = random_rows(rng, 20, 2, 2)
    Y[10:] = np.nan
    with pytest.raises(ValueError, match="all rows with labels are in fold 0"):
        tune(X, Y, grid=GRID, folds=2)
    result = tune(X, Y, grid=GRID, folds=4, params=BASE)
    assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 4, BASE))


def test_a_pass_that_trips_the_guard_is_repeated_for_every_pair(rng, passes):
    X, Y = random_rows(rng, 24, 2, 2)
    params = BASE | {"weight_limit": 0.8}
    with pytest.warns(DivergenceWarning, match=r"rules ran away in \d+ of 16 fits"):
        result = tune(X, Y, grid=GRID, folds=2, params=params)
    assert passes.count(4) == 4
    assert 4 <= passes.count(None) <= 16
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        assert_same_as_by_hand(result, search_by_hand(X, Y, GRID, 2, params))
    assert result.diverged.sum() < 16  # without a penalty there is no step to stop
    assert not result.diverged[:, GRID.pairs.index((0.0, 0.0))].any()


def test_no_row_has_a_label(rng):
    X, Y = random_rows(rng, 20, 2, 2)
    result = tune(X, 0 * Y, grid=GRID, folds=2, params=BASE)
    assert np.isnan(result.ap).all()
    assert np.isnan(result.best_ap)
    assert (result.pa == 1.0).all()
    assert result.best == (0, 0)
    assert "ap=nan" in repr(result)


def test_order_of_the_grid_does_not_matter(rng):
    X, Y = random_rows(rng, 30, 2, 2)
    result = tune(X, Y, grid=GRID, folds=2, params=BASE)
    other = Grid(vigilance=GRID.vigilance[::-1], alpha=GRID.alpha, beta=GRID.beta[::-1])
    turned = tune(X, Y, grid=other, folds=2, params=BASE)
    for name in ("pa", "ap", "rules"):
        table = getattr(turned, name)[::-1].reshape(2, 2, 2)[:, :, ::-1].reshape(2, 4)
        assert_allclose(table, getattr(result, name), rtol=1e-12)


def test_pairs_go_by_the_memory_of_the_one_with_the_least_penalties(rng):
    X = rng.normal(size=(80, 2))
    Y = (X > 0.0).astype(float)
    Y[50:] = 1.0 - Y[50:]
    params = EFCMLClassifier(prior=1.0, max_rules=2, caution=False, time=False)._params()
    rows = X[:40], Y[:40], X[40:], Y[40:]
    pairs = [(0.3, 2.0), (0.0, 0.0), (0.3, 0.0), (0.0, 2.0)]
    together, differ = task.run_passes(params, pairs, *rows), []
    for index, (alpha, beta) in enumerate(pairs):
        own = dataclasses.replace(params, alpha=alpha, beta=beta)
        _, alone = task.run_pass(own, None, *rows)
        assert_allclose(together.scores[index], alone, rtol=0.0, atol=0.2)
        differ.append(not np.allclose(together.scores[index], alone, rtol=1e-10, atol=1e-10))
    assert differ == [True, False, True, True]


def test_folds_are_runs_of_rows_and_cover_all():
    tasks = task.make_tasks(GRID, 11, 3)
    assert [one.vigilance for one in tasks] == [0.15] * 3 + [0.5] * 3
    assert [(one.start, one.stop) for one in tasks[:3]] == [(0, 3), (3, 7), (7, 11)]
    assert len({one.key for one in tasks}) == 6
    assert [one.stop - one.start for one in task.make_tasks(GRID, 7, 7)] == [1] * 14


def test_smallest_search(rng):
    X, Y = random_rows(rng, 2, 1, 1)
    result = tune(X, Y, grid=Grid(0.5, 0.0, 0.0), folds=2)
    assert result.pa.shape == (1, 1)
    assert result.params == {}


@pytest.mark.slow
def test_raw_scores_on_real_data():
    try:
        ds = datasets.load("emotions")
    except DatasetNotFound as missing:
        pytest.skip(str(missing))
    X, Y = ds.X[:120], ds.Y[:120]
    pairs = ((0.0, 0.0), (0.0, 5.0), (0.05, 0.0), (0.1, 1.0), (1.0, 50.0), (10.0, 100.0))
    counts = {"births": 0, "merges": 0}
    for vigilance, held_out in ((0.2, slice(0, 60)), (0.6, slice(60, 120))):
        rest = [np.delete(table, held_out, axis=0) for table in (X, Y)]
        params = {"vigilance": vigilance, "max_rules": 12, "merge_overlap": 0.6} | FIXED
        wide = task.run_passes(
            EFCMLClassifier(**params)._params(), pairs, *rest, X[held_out], Y[held_out]
        )
        for index, (alpha, beta) in enumerate(pairs):
            clf = EFCMLClassifier(alpha=alpha, beta=beta, **params).fit(*rest)
            result = prequential(clf, X[held_out], Y[held_out])
            assert_allclose(wide.scores[index], result.scores, rtol=1e-10, atol=1e-10)
            assert wide.rules[index] == clf.n_rules_
            for kind in counts:
                counts[kind] += clf.learner_.counts[kind]
    assert counts["births"] > 12
    assert counts["merges"] > 0
