"""Searches: scores against loops by hand, files that go on, what a person sees, refusals."""

import json
import os
import pickle
import re
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.streams import random_rows
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from efcml import EFCMLClassifier, measures, prequential
from efcml.model import warm
from efcml.model.divergence import DivergenceWarning
from efcml.model.params import Params
from efcml.tuning import PAPER_GRID, SHORT_GRID, Grid, SearchInterrupted, TuningResult, search, tune
from efcml.tuning import search_record as record
from efcml.tuning import task as task_module

GRID = Grid(vigilance=[0.5, 0.15], alpha=[0.0, 0.3], beta=[0.0, 2.0])
ONE = Grid(vigilance=0.5, alpha=0.0, beta=0.0)
FIXED = {"forgetting": 1.0, "caution": False, "time": False}
BASE = {"prior": 1.0, "max_rules": 20, "splitting": "off", "activation": "distance"} | FIXED


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Everything is compiled already."""
    monkeypatch.setattr(warm, "warmup", lambda **options: None)


# -- scores ---------------------------------------------------------------------------------


def search_by_hand(X, Y, grid, folds, params):
    """Fit and stream one classifier per point and fold; return PA, AP and rules."""
    edges = np.linspace(0, len(X), folds + 1).astype(int)
    shape = len(grid.vigilance), len(grid.pairs)
    pa, ap, rules = np.empty(shape), np.empty(shape), np.empty(shape)
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
            pa[row, column], ap[row, column] = right / known, np.nanmean(precisions)
            rules[row, column] = np.mean(ends)
    return pa, ap, rules


@pytest.fixture
def passes(monkeypatch):
    """The number of pairs of every pass that is run."""
    found, run_pass = [], task_module.run_pass

    def counting(params, pairs, *rest):
        found.append(None if pairs is None else len(pairs))
        return run_pass(params, pairs, *rest)

    monkeypatch.setattr(task_module, "run_pass", counting)
    return found


@pytest.mark.parametrize(
    ("params", "hide", "folds", "together"),
    [
        ({"correlation": "shift", "merge_overlap": 0.3, "merge_volume": 2.0}, None, 2, True),
        ({"correlation": "laplacian", "n_steps": 2}, None, 2, True),
        ({"max_rules": 3, "merging": False, "product_space": False}, None, 2, True),
        ({}, np.s_[::5], 3, True),
        ({}, np.s_[14:], 4, True),
        ({"correlation": "paper"}, None, 2, False),
        ({"lipschitz": "paper"}, None, 2, False),
        ({}, np.s_[3, 1:], 2, False),
        ({}, np.s_[0, 0], 2, False),
    ],
)
def test_scores_are_those_of_a_loop_by_hand(rng, passes, params, hide, folds, together):
    """One pass carries all pairs of alpha and beta, where rules do not depend on them."""
    X, Y = random_rows(rng, 28, 2, 3)
    if hide is not None:
        Y[hide] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        result = tune(X, Y, grid=GRID, folds=folds, params=BASE | params)
        assert passes == ([4] * 2 * folds if together else [None] * 8 * folds)
        pa, ap, rules = search_by_hand(X, Y, GRID, folds, BASE | params)
    assert np.array_equal(result.pa, pa)
    assert_allclose(result.ap, ap, rtol=1e-10, atol=1e-10)
    assert_allclose(result.rules, rules, rtol=1e-12)


def test_a_pass_that_trips_the_guard_is_repeated_for_every_pair(rng, passes):
    X, Y = random_rows(rng, 24, 2, 2)
    params = BASE | {"weight_limit": 0.8}
    with pytest.warns(DivergenceWarning, match=r"rules ran away in (\d+) of 16 fits") as told:
        result = tune(X, Y, grid=GRID, folds=2, params=params)
    assert passes.count(4) == 4 and 4 <= passes.count(None) <= 16
    told = [one for one in told if "fits" in str(one.message)]
    assert str(int(result.diverged.sum())) in str(told[0].message)
    assert 0 < result.diverged.sum() < 16  # without a penalty there is no step to stop
    assert not result.diverged[:, GRID.pairs.index((0.0, 0.0))].any()


def test_a_pipeline_is_fitted_without_the_fold_and_passes_it_as_a_stream(rng):
    X, Y = random_rows(rng, 24, 2, 2)
    pipeline = make_pipeline(StandardScaler(), EFCMLClassifier(**BASE))
    result = tune(X, Y, grid=ONE, folds=2, pipeline=pipeline, params={"max_rules": 5})
    right = 0
    for fold in (slice(0, 12), slice(12, 24)):
        own = make_pipeline(StandardScaler(), EFCMLClassifier(**BASE | {"max_rules": 5}))
        own[-1].set_params(vigilance=0.5, alpha=0.0, beta=0.0)
        own.fit(np.delete(X, fold, axis=0), np.delete(Y, fold, axis=0))
        found = prequential(own, X[fold], Y[fold])
        right += ((found.scores >= 0.5) == found.Y).sum()
    assert result.best_pa == right / Y.size
    assert result.params["max_rules"] == 5 and result.params["activation"] == "distance"
    assert not hasattr(pipeline[0], "mean_")
    with pytest.raises(TypeError, match="must be a scikit-learn Pipeline that ends in an EFCML"):
        tune(X, Y, pipeline=make_pipeline(StandardScaler()))


def test_pairs_go_by_the_memory_of_the_one_with_the_least_penalties(rng):
    X = rng.normal(size=(80, 2))
    Y = (X > 0.0).astype(float)
    Y[50:] = 1.0 - Y[50:]
    params = EFCMLClassifier(prior=1.0, max_rules=2, caution=False, time=False)._params()
    rows, pairs = (X[:40], Y[:40], X[40:], Y[40:]), [(0.3, 2.0), (0.0, 0.0), (0.3, 0.0)]
    together = task_module.run_passes(params, pairs, *rows).scores
    for scores, (alpha, beta) in zip(together, pairs, strict=True):
        _, alone = task_module.run_pass(replace(params, alpha=alpha, beta=beta), None, *rows)
        assert np.allclose(scores, alone, rtol=0, atol=0.2)
        assert np.allclose(scores, alone, rtol=0, atol=1e-10) == (alpha == beta)


def test_folds_are_runs_of_rows_and_low_vigilances_come_first():
    tasks = task_module.make_tasks(GRID, 11, 3)
    assert [one.vigilance for one in tasks] == [0.15] * 3 + [0.5] * 3
    assert [(one.start, one.stop) for one in tasks[:3]] == [(0, 3), (3, 7), (7, 11)]
    assert [one.key for one in tasks[3:]] == [(0.5, 0), (0.5, 1), (0.5, 2)]


def test_order_of_the_grid_and_kinds_of_tables_do_not_matter(rng):
    X, Y = random_rows(rng, 16, 2, 2)
    options = {"grid": GRID, "folds": 2, "params": BASE}
    result = tune(X, Y, **options)
    assert tune(pd.DataFrame(X), pd.DataFrame(Y.astype(bool)), **options) == result
    assert tune(X.tolist(), Y.astype(int).tolist(), **options) == result
    other = Grid(vigilance=GRID.vigilance[::-1], alpha=GRID.alpha, beta=GRID.beta[::-1])
    turned = tune(X, Y, **options | {"grid": other})
    for name in ("pa", "ap", "rules"):
        table = getattr(turned, name)[::-1].reshape(2, 2, 2)[:, :, ::-1].reshape(2, 4)
        assert_allclose(table, getattr(result, name), rtol=1e-12)
    flat = tune(X, np.where(Y[:, 0] == 1, "yes", "no"), **options)
    assert flat == tune(X, Y[:, :1], **options)
    none = tune(X, 0 * Y, **options)  # no row has a label
    assert np.isnan(none.ap).all() and np.isnan(none.best_ap)
    assert (none.pa == 1.0).all() and none.best == (0, 0) and "ap=nan" in repr(none)


# -- results --------------------------------------------------------------------------------


def make_result(pa, ap):
    pa, ap = np.array(pa, dtype=float), np.array(ap, dtype=float)
    return TuningResult(GRID, pa, ap, 0 * pa + 3.0, 0 * pa, {"max_rules": 40})


def test_partial_accuracy_first_then_average_precision_then_order():
    low, ap = [0.5] * 4, [0.1] * 4
    assert make_result([[0.1, 0.9, 0.2, 0.3], low], [[0.9, 0.1, 0.9, 0.9], ap]).best == (0, 1)
    assert make_result([low, [0.5, 0.4, 0.5, 0.5]], [ap, [0.1, 0.9, 0.1, 0.2]]).best == (1, 3)
    assert make_result([low, low], [ap, ap]).best == (0, 0)
    assert make_result([low, low], [[np.nan, 0.0, 0.1, 0.1], ap]).best == (0, 2)
    result = make_result([low, [0.6, 0.5, 0.7, 0.5]], [ap, [0.3, 0.1, 0.2, 0.1]])
    chosen = {"max_rules": 40, "vigilance": 0.15, "alpha": 0.3, "beta": 0.0}
    assert result.best_params == chosen
    assert (result.best_pa, result.best_ap) == (0.7, 0.2)
    assert "vigilance=0.15, alpha=0.3, beta=0; pa=0.7000, ap=0.2000, rules=3)" in repr(result)
    points, frame = result.rows(), result.to_frame()
    numbers = {"pa": 0.5, "ap": 0.1, "rules": 3.0, "diverged": 0.0}
    assert points[5] == {"vigilance": 0.15, "alpha": 0.0, "beta": 2.0} | numbers
    assert len(points) == len(GRID) and list(frame.columns) == list(points[0])
    assert frame["pa"].tolist() == [0.7, 0.6, *[0.5] * 6]


def test_results_travel():
    result = make_result(np.arange(8).reshape(2, 4) / 7, np.full((2, 4), np.nan))
    assert TuningResult.from_json(result.to_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result
    assert "NaN" not in result.to_json()
    assert result not in (make_result(result.pa, np.zeros((2, 4))), "result")
    assert result != make_result(result.pa + 1e-15, result.ap)
    numbers = TuningResult(GRID, *[result.pa] * 4, {"max_rules": np.int64(40)})
    assert TuningResult.from_json(numbers.to_json()).params == {"max_rules": 40}
    for text in ("", "{}", "[]", '{"grid": 1}', "null"):
        with pytest.raises(ValueError, match="no tuning result: give what to_json wrote"):
            TuningResult.from_json(text)


def test_grids():
    assert len(PAPER_GRID) == 1360 and len(set(PAPER_GRID.pairs)) == 80
    assert PAPER_GRID.vigilance == tuple(n / 100 for n in range(10, 91, 5))
    assert (PAPER_GRID.pairs[1], PAPER_GRID.pairs[-1]) == ((0.0, 0.1), (10.0, 100.0))
    assert Params.vigilance in SHORT_GRID.vigilance
    assert (Params.alpha, Params.beta) in SHORT_GRID.pairs
    grid = Grid(vigilance=np.array([0.5, 0.25]), alpha=iter([0, 1]), beta=2)
    assert grid == Grid((0.5, 0.25), (0.0, 1.0), (2.0,))
    assert all(type(value) is float for value in grid.vigilance + grid.alpha + grid.beta)


# -- files ----------------------------------------------------------------------------------

SMALL = Grid(vigilance=[0.8, 0.3], alpha=0.0, beta=[0.0, 1.0])


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(7), 18, 2, 2)


def made_up(task, params, pairs, X, Y):
    """Return a line at once; its numbers depend on the task and the pair."""
    places = [10 * task.fold + place for place in range(len(pairs))]
    line = {"vigilance": task.vigilance, "fold": task.fold, "right": places}
    line |= {"ap": [0.1 * place for place in places], "rules": [os.getpid()] * len(pairs)}
    return line | {"diverged": [0] * len(pairs), "known": 30, "ranked": 6}


@pytest.fixture
def runs(monkeypatch):
    """Keys of the tasks that are run; after ``stop_after`` of them, the person has enough."""
    spy = SimpleNamespace(keys=[], stop_after=None)

    def spying(task, *rest):
        if len(spy.keys) == spy.stop_after:
            raise KeyboardInterrupt
        spy.keys.append(task.key)
        return made_up(task, *rest)

    monkeypatch.setattr(task_module, "run_task", spying)
    return spy


def search_with(rows, path=None, **changes):
    options = {"grid": SMALL, "folds": 3, "params": {"prior": 1.0, "correlation": "none"}}
    return tune(*rows, **(options | changes), checkpoint=path)


def forget(runs):
    keys, runs.keys, runs.stop_after = runs.keys, [], None
    return keys


@pytest.mark.parametrize("done", [0, 1, 3, 5])
def test_a_search_goes_on_after_ctrl_c(rows, runs, tmp_path, done, capsys):
    expected = search_with(rows)
    path, everything = tmp_path / "search.jsonl", forget(runs)
    assert len(everything) == 6
    runs.stop_after = done
    with pytest.raises(SearchInterrupted, match=f"after {done} of 6 passes") as caught:
        search_with(rows, path)
    assert path.exists() == (done > 0)  # nothing done leaves no file
    partial = caught.value.partial
    assert (partial is None) == (done < 3)
    if partial is not None:  # vigilances that have all their folds
        assert partial.grid.vigilance == (0.3,)
        assert np.array_equal(partial.pa[0], expected.pa[1])
    first = forget(runs)
    assert search_with(rows, str(path), progress=True) == expected
    assert f"{done}/6" in capsys.readouterr().err
    assert first + forget(runs) == everything
    written = path.read_bytes()
    assert search_with(rows, path) == expected
    assert runs.keys == [] and path.read_bytes() == written
    header, *lines = written.decode().splitlines()
    path.write_text("\n".join([header, *lines[::-1], lines[0]]) + "\n")
    assert search_with(rows, path) == expected and runs.keys == []


DAMAGED = [
    "}{",
    "[1]",
    '{"vigilance": 0.3, "fold": 0',
    *({"fold": 3}, {"fold": []}, {"ap": [0.5]}, {"ap": ["a", "b"]}, {"right": 3}, {"known": None}),
]


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("place", [3, 6])
def test_a_damaged_line_is_done_again(rows, runs, tmp_path, damage, place):
    path = tmp_path / "search.jsonl"
    expected = search_with(rows, path)
    lines = path.read_text().splitlines()
    line = json.loads(lines[place])
    lines[place] = damage if isinstance(damage, str) else json.dumps(line | damage)
    path.write_text("\n".join(lines) + ("\n" if place == 3 else ""))
    forget(runs)
    assert search_with(rows, path) == expected
    assert len(forget(runs)) == 1
    assert search_with(rows, path) == expected and runs.keys == []


def test_another_search_is_refused(rows, runs, tmp_path, monkeypatch):
    path, (X, Y) = tmp_path / "search.jsonl", rows
    search_with(rows, path)
    before, _ = path.read_bytes(), forget(runs)
    params = {"prior": 1.0, "correlation": "none"}
    for kind, changes in (
        ("data", {"rows": (X + 1e-9 * (X == X.max()), Y)}),
        ("data", {"rows": (X, 1.0 - Y)}),
        ("parameters", {"params": params | {"n_steps": 2}}),
        ("grid", {"grid": GRID}),
        ("folds", {"folds": 2}),
        ("parameters and folds", {"folds": 2, "params": {}}),
    ):
        with pytest.raises(ValueError, match=f"search with other {kind}: delete it or give"):
            search_with(**({"rows": rows, "path": path} | changes))
    numbers = {"prior": np.float32(1.0), "max_rules": np.int64(20), "merging": np.bool_(True)}
    search_with(rows, path, params=params | numbers)  # the same
    assert runs.keys == [] and path.read_bytes() == before
    monkeypatch.setattr(record, "__version__", "99.0")
    with pytest.raises(ValueError, match="search with other version: delete"):
        search_with(rows, path)


@pytest.mark.parametrize(
    "text", [b"a,b\n1,2\n", b"no end", b"\xff\xfe\x00\n\x80\n", b"{}\n", b"\n", b'{"format": 1}\n']
)
def test_a_foreign_file_is_refused_and_kept(rows, runs, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"notes\.txt .*give another file\.$"):
        search_with(rows, path)
    assert path.read_bytes() == text and runs.keys == []


def test_places_that_are_used_and_not(rows, runs, tmp_path):
    for place in ("missing/search.jsonl", "."):
        with pytest.raises(ValueError, match=r"cannot keep the search in .*: give another file\.$"):
            search_with(rows, tmp_path / place)
    assert runs.keys == [] and not list(tmp_path.iterdir())
    path = tmp_path / "search.jsonl"
    path.touch()  # an empty file is used, and stays
    runs.stop_after = 0
    with pytest.raises(KeyboardInterrupt):
        search_with(rows, path)
    assert path.read_text().count("\n") == 1


def test_an_error_names_its_task_and_keeps_the_others(rows, tmp_path, monkeypatch):
    run_pass = task_module.run_pass

    def failing(params, *rest):
        if params.vigilance == 0.8:
            raise FloatingPointError("too hot")
        return run_pass(params, *rest)

    monkeypatch.setattr(task_module, "run_pass", failing)
    path = tmp_path / "search.jsonl"
    words = r"vigilance 0\.8 failed on fold 0 \(rows 0 to 5 held out\): FloatingPointError: too hot"
    with pytest.raises(RuntimeError, match=words):
        search_with(rows, path)
    assert path.read_text().count("\n") == 4


# -- where it runs, and what is seen --------------------------------------------------------


def test_workers_give_the_same(rows, monkeypatch):
    expected = search_with(rows)
    with parallel_config(backend="threading"):
        assert search_with(rows, jobs=2) == expected


WATCHED = Grid(vigilance=[0.3, 0.6, 0.9], alpha=0.0, beta=[0.0, 1.0])


@pytest.mark.parametrize(
    ("spent", "jobs", "expected"), [(10, 1, "40 s"), (10, 2, "23 s in 2 processes"), (1, 2, "4 s")]
)
def test_the_estimate_is_the_mean_of_a_long_and_a_short_pass(
    rows, monkeypatch, spent, jobs, expected
):
    """Four passes are left; processes need three seconds to start, if it is worth it."""
    clock, keys, places = [0.0], [], []

    def slow(task, *rest):
        clock[0] += 1.5 * spent if task.vigilance < 0.5 else 0.5 * spent
        keys.append(task.key)
        return made_up(task, *rest)

    monkeypatch.setattr(task_module, "run_task", slow)
    monkeypatch.setattr(search, "perf_counter", lambda: clock[0])
    run_tasks = search.run_tasks

    def note(*given, jobs, **more):
        places.append(jobs)
        run_tasks(*given, jobs=1, **more)

    monkeypatch.setattr(search, "run_tasks", note)
    said, options = [], {"grid": WATCHED, "folds": 2}
    result = search_with(rows, jobs=jobs, say=said.append, **options)
    assert keys[:2] == [(0.3, 0), (0.9, 1)] and len(keys) == 6
    assert places == [2 if "processes" in expected else 1]
    assert result == search_with(rows, **options)
    size = "6 points (3 of vigilance, 2 of alpha and beta) in 2 folds: 6 passes"
    took = f"{1.5 * spent:g} s with vigilance 0.3, {0.5 * spent:g} s with vigilance 0.9"
    assert said == [f"{size}, about {expected} (a pass took {took})"]


def test_what_is_seen_and_said(rows, runs, tmp_path, capsys):
    path, said = tmp_path / "search.jsonl", []
    options = {"grid": WATCHED, "folds": 2, "path": path, "say": said.append}
    expected = search_with(rows, **options, progress=True)
    shown = capsys.readouterr().err
    steps = ["loading", "compiling, if it is the first time", "timing two passes", "tuning"]
    assert sorted(map(shown.index, steps)) == list(map(shown.index, steps))
    assert "2/6" in shown
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert search_with(rows, **options, progress=False) == expected
    assert capsys.readouterr().err == ""
    assert re.search(r": 6 passes, 2 of them done already, about \d+ s \(a pass took ", said[1])
    assert search_with(rows, **options) == expected
    assert said[2].endswith(": 6 passes, 6 of them done already")


# -- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vigilance": []}, "no value of vigilance"),
        ({"vigilance": [0.5, 0.0]}, "vigilance must be a number > 0; got 0.0"),
        ({"beta": [np.nan]}, "beta must be a number >= 0"),
        ({"beta": "1"}, "beta must be a number >= 0 and <= 1e.09; got '1'"),
        ({"alpha": [1, 1.0]}, "a value of alpha twice"),
    ],
)
def test_bad_grids(changes, words):
    with pytest.raises(ValueError, match=words):
        Grid(**({"vigilance": 0.5, "alpha": 0.0, "beta": 0.0} | changes))


def change_rows(change):
    return lambda X, Y: {"rows": change(X, Y)}


def unknown_before(last):
    return change_rows(lambda X, Y: (X, np.where(np.arange(18)[:, None] < last, np.nan, Y)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"folds": 1}, "folds must be a whole number >= 2; got 1"),
        ({"folds": 2.5}, "folds must be a whole number >= 2"),
        ({"folds": 19}, "folds is 19 for 18 rows: choose fewer"),
        ({"jobs": 0}, "jobs must be a number of processes, or -1 .*got 0"),
        ({"jobs": -3}, "got -3"),
        ({"jobs": True}, "got True"),
        ({"jobs": 2, "dask": "tcp://127.0.0.1:1"}, "either jobs or dask"),
        ({"grid": {"vigilance": [0.5]}}, r"grid is a dict: give Grid\("),
        ({"params": {"alpha": 1.0}}, "params has 'alpha': give parameters of EFCML"),
        ({"params": {"rules": 3}}, "params has 'rules'"),
        ({"params": {"max_rules": 0}}, "max_rules must be a whole number >= 1; got 0"),
        (change_rows(lambda X, Y: (X + np.inf, Y)), "X contains infinity"),
        (change_rows(lambda X, Y: (X, Y[1:])), "numbers of rows: 18 and 17"),
        (change_rows(lambda X, Y: (X, 3 * Y)), "y must hold 0, 1 or NaN"),
        (change_rows(lambda X, Y: (X[:0], Y[:0])), "0 sample"),
        (unknown_before(18), "Y has no known label"),
        (unknown_before(12), "all rows with labels are in fold 2, nothing is left"),
    ],
)
def test_bad_searches_leave_no_file(rows, runs, tmp_path, changes, words):
    changes = changes(*rows) if callable(changes) else changes
    with pytest.raises(ValueError, match=words) as caught:
        search_with(**({"rows": rows, "path": tmp_path / "file"} | changes))
    assert "\n" not in str(caught.value)
    assert runs.keys == [] and not list(tmp_path.iterdir())


def test_one_label_in_another_fold_is_enough_and_dask_is_an_extra(rows, runs, monkeypatch):
    X, Y = rows
    Y[:11] = np.nan
    assert search_with(rows).pa.shape == (2, 2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "efcml\[distributed\]"$'):
        search_with(rows, dask="tcp://127.0.0.1:1")
