"""What a search is given and what it gives back: one-line errors, kinds of tables, results."""

import pickle
import sys

import numpy as np
import pytest
from helpers.streams import random_rows
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier
from efcml.tuning import PAPER_GRID, Grid, TuningResult, tune

GRID = Grid(vigilance=[0.3, 0.8], alpha=[0.0, 0.1], beta=[0.0, 1.0])
ONE = Grid(vigilance=0.5, alpha=0.0, beta=0.0)
PARAMS = {"prior": 1.0}


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(3), 12, 2, 2)


def test_grid_of_the_paper():
    assert len(PAPER_GRID) == 1360
    assert PAPER_GRID.vigilance == tuple(n / 100 for n in range(10, 91, 5))
    assert len(PAPER_GRID.pairs) == 80
    assert PAPER_GRID.pairs[:2] == ((0.0, 0.0), (0.0, 0.1))
    assert PAPER_GRID.pairs[-1] == (10.0, 100.0)
    assert len(set(PAPER_GRID.pairs)) == 80


def test_grid_takes_anything_that_holds_numbers():
    grid = Grid(vigilance=np.array([0.5, 0.25]), alpha=iter([0, 1]), beta=2)
    assert grid == Grid((0.5, 0.25), (0.0, 1.0), (2.0,))
    assert all(type(value) is float for value in grid.vigilance + grid.alpha + grid.beta)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vigilance": []}, "no value of vigilance"),
        ({"vigilance": [0.5, 0.0]}, "vigilance must be a number > 0; got 0.0"),
        ({"alpha": [-1.0]}, "alpha must be a number >= 0"),
        ({"beta": [np.nan]}, "beta must be a number >= 0"),
        ({"beta": "1"}, "beta must be a number >= 0 and <= 1e.09; got '1'"),
        ({"alpha": [1, 1.0]}, "a value of alpha twice"),
    ],
)
def test_bad_grids(changes, words):
    with pytest.raises(ValueError, match=words) as caught:
        Grid(**({"vigilance": 0.5, "alpha": 0.0, "beta": 0.0} | changes))
    assert "\n" not in str(caught.value)


BAD = {
    "folds 1": ({"folds": 1}, "folds must be a whole number >= 2; got 1"),
    "folds 2.5": ({"folds": 2.5}, "folds must be a whole number >= 2"),
    "folds 13": ({"folds": 13}, "folds is 13 for 12 rows: choose fewer"),
    "jobs 0": ({"jobs": 0}, "jobs must be a number of processes, or -1 .*got 0"),
    "jobs -3": ({"jobs": -3}, "got -3"),
    "jobs x": ({"jobs": "x"}, "got 'x'"),
    "jobs True": ({"jobs": True}, "got True"),
    "jobs 1.5": ({"jobs": 1.5}, "got 1.5"),
    "both": ({"jobs": 2, "dask": "tcp://127.0.0.1:1"}, "either jobs or dask"),
    "grid": ({"grid": {"vigilance": [0.5]}}, r"grid is a dict: give Grid\("),
    "no grid": ({"grid": None}, "grid is a NoneType"),
    "searched": ({"params": {"alpha": 1.0}}, "params has 'alpha': give parameters of EFCML"),
    "unknown": ({"params": {"rules": 3}}, "params has 'rules'"),
    "value": ({"params": {"max_rules": 0}}, "max_rules must be a whole number >= 1; got 0"),
    "together": ({"params": {"forgetting": 0.9, "variance_floor": 0.0}}, "needs variance_floor"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_options_leave_no_file(rows, tmp_path, kind):
    changes, words = BAD[kind]
    with pytest.raises(ValueError, match=words) as caught:
        tune(*rows, **({"grid": ONE, "folds": 2, "checkpoint": tmp_path / "file"} | changes))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


BAD_ROWS = {
    "infinity in X": (lambda X, Y: (X + np.inf, Y), "X contains infinity"),
    "other lengths": (lambda X, Y: (X, Y[1:]), "numbers of rows: 12 and 11"),
    "X is flat": (lambda X, Y: (X[:, 0], Y), "X must be 2-D"),
    "counts": (lambda X, Y: (X, 3 * Y), "y must hold 0, 1 or NaN"),
    "words": (lambda X, Y: (X, Y.astype(str)), "y must hold 0, 1 or NaN"),
    "cube": (lambda X, Y: (X, Y[:, :, None]), r"y must have the shape \(rows, labels\)"),
    "no labels": (lambda X, Y: (X, Y[:, :0]), r"y must have the shape"),
    "no rows": (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
    "nothing known": (lambda X, Y: (X, Y * np.nan), "Y has no known label"),
    "three classes": (lambda X, Y: (X, np.arange(12) % 3), "Only binary"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_leave_no_file(rows, tmp_path, kind):
    change, words = BAD_ROWS[kind]
    with pytest.raises(ValueError, match=words):
        tune(*change(*rows), grid=ONE, folds=2, checkpoint=tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_all_labelled_rows_in_one_fold(rows):
    X, Y = rows
    Y[:6] = np.nan
    with pytest.raises(ValueError, match="all rows with labels are in fold 1, nothing is left"):
        tune(X, Y, grid=ONE, folds=2)
    Y[5] = 1.0
    tune(X, Y, grid=ONE, folds=2, params=PARAMS)


def test_tables_of_all_kinds(rows):
    pandas = pytest.importorskip("pandas")
    X, Y = rows
    expected = tune(X, Y, grid=GRID, folds=2, params=PARAMS)
    frames = pandas.DataFrame(X, columns=["a", "b"]), pandas.DataFrame(Y.astype(bool))
    assert tune(*frames, grid=GRID, folds=2, params=PARAMS) == expected
    assert tune(X.tolist(), Y.astype(int).tolist(), grid=GRID, folds=2, params=PARAMS) == expected
    turned = np.asfortranarray(X), np.asfortranarray(Y)
    assert tune(*turned, grid=GRID, folds=2, params=PARAMS) == expected
    X.flags.writeable = Y.flags.writeable = False
    assert tune(X, Y, grid=GRID, folds=2, params=PARAMS) == expected


def test_one_binary_label(rows):
    X, Y = rows
    expected = tune(X, Y[:, :1], grid=GRID, folds=2, params=PARAMS)
    assert tune(X, Y[:, 0], grid=GRID, folds=2, params=PARAMS) == expected
    words = np.where(Y[:, 0] == 1, "yes", "no")
    assert tune(X, words, grid=GRID, folds=2, params=PARAMS) == expected


def test_without_the_extra(rows, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "efcml\[distributed\]"$'):
        tune(*rows, grid=ONE, folds=2, dask="tcp://127.0.0.1:1", checkpoint=tmp_path / "file")
    assert not list(tmp_path.iterdir())


# -- results --------------------------------------------------------------------------------


def make_result(pa, ap):
    pa, ap = np.array(pa, dtype=float), np.array(ap, dtype=float)
    return TuningResult(GRID, pa, ap, 0 * pa + 3.0, 0 * pa, {"max_rules": 40})


def test_partial_accuracy_first_then_average_precision_then_order():
    low = [[0.5, 0.5, 0.5, 0.5]]
    ap = [[0.1, 0.1, 0.1, 0.1]]
    assert make_result([[0.1, 0.9, 0.2, 0.3], *low], [[0.9, 0.1, 0.9, 0.9], *ap]).best == (0, 1)
    assert make_result([*low, [0.5, 0.4, 0.5, 0.5]], [*ap, [0.1, 0.9, 0.1, 0.2]]).best == (1, 3)
    assert make_result([*low, *low], [*ap, *ap]).best == (0, 0)
    assert make_result([*low, *low], [[np.nan, 0.0, 0.1, 0.1], [0.1] * 4]).best == (0, 2)
    result = make_result([*low, [0.5, 0.5, 0.7, 0.5]], [*ap, *ap])
    assert result.best_params == {"max_rules": 40, "vigilance": 0.8, "alpha": 0.1, "beta": 0.0}
    assert (result.best_pa, result.best_ap) == (0.7, 0.1)
    assert "vigilance=0.8, alpha=0.1, beta=0; pa=0.7000, ap=0.1000, rules=3)" in repr(result)


def test_best_params_fit_a_classifier(rows):
    result = tune(*rows, grid=GRID, folds=2, params={"prior": 1.0, "random_state": 3})
    params = result.best_params
    assert "max_rules" not in params
    clf = EFCMLClassifier(**params).fit(*rows)
    assert clf.get_params()["random_state"] == 3
    assert (clf.vigilance, clf.alpha, clf.beta) == (
        GRID.vigilance[result.best[0]],
        *GRID.pairs[result.best[1]],
    )
    assert tune(*rows, grid=ONE, folds=2, params={"max_rules": 7}).params == {"max_rules": 7}


def test_rows_and_frame():
    pytest.importorskip("pandas")
    pa = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.7]]
    result = make_result(pa, [[0.0] * 4, [0.0, 0.0, 0.1, 0.2]])
    points = result.rows()
    assert len(points) == len(GRID)
    assert points[5] == {
        "vigilance": 0.8,
        "alpha": 0.0,
        "beta": 1.0,
        "pa": 0.6,
        "ap": 0.0,
        "rules": 3.0,
        "diverged": 0.0,
    }
    frame = result.to_frame()
    assert list(frame.columns) == list(points[0])
    assert_allclose(frame["pa"], [0.7, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    assert frame["ap"][0] == 0.2


def test_results_travel():
    result = make_result(np.arange(8).reshape(2, 4) / 7, np.full((2, 4), np.nan))
    assert TuningResult.from_json(result.to_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result
    assert "NaN" not in result.to_json()
    other = make_result(result.pa, np.zeros((2, 4)))
    assert result != other
    assert result != "result"
    assert result != make_result(result.pa + 1e-15, result.ap)
    numbers = TuningResult(GRID, *[result.pa] * 4, {"max_rules": np.int64(40)})
    assert TuningResult.from_json(numbers.to_json()).params == {"max_rules": 40}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"grid": 1}', "null"])
def test_other_texts_are_no_results(text):
    with pytest.raises(ValueError, match="no tuning result: give what to_json wrote"):
        TuningResult.from_json(text)
