"""Searches: scores against loops by hand, what is chosen, folders that go on, refusals."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.streams import random_rows
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from efcml import EFCMLClassifier, prequential
from efcml.measures import MEASURES
from efcml.model.params import DivergenceWarning
from efcml.studies import runs as runs_module
from efcml.studies.workers import RunsInterrupted
from efcml.tuning import PAPER_GRID, SHORT_GRID, TuningResult, tune
from efcml.tuning.search import compare, list_points

GRID = {"vigilance": [0.5, 0.15], "beta": [0.1, 2.0]}
BASE = {"prior": 1.0, "max_rules": 20}


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(7), 18, 2, 2)


def search_with(rows, **changes):
    usual = EFCMLClassifier(**(BASE | changes.pop("params", {})))
    return tune(*rows, usual, **({"grid": GRID, "folds": 2, "block": 1} | changes))


def measured_by_hand(make, X, Y, names, folds=2):
    """Fit and stream one model per fold; return measures over all held-out rows, and rules."""
    results = []
    for fold in np.array_split(np.arange(len(X)), folds):
        low, high = fold[0], fold[-1] + 1
        rest = np.r_[0:low, high : len(X)]
        model = make().fit(X[rest], Y[rest])
        results.append(prequential(model, X[low:high], Y[low:high]))
    found = {"rules": np.mean([one.rules[-1] for one in results])}
    for name in names:
        predicted = np.concatenate([one.taken_by(name) for one in results])
        truth = np.concatenate([one.Y for one in results])
        found[name] = MEASURES[name](truth, predicted, ready=True)
    return found


# -- scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "hide", "folds", "measure"),
    [
        ({}, None, 2, "pa"),
        ({"decision": "f1"}, None, 2, "macro_f1"),
        ({"correlation": "paper"}, np.s_[::5], 3, "log_loss"),
        ({"max_rules": 3, "forgetting": 1.0}, np.s_[3, 1:], 2, "ap"),
        ({"vigilance": 0.15}, np.s_[0, 0], 4, "calibration_error"),
    ],
)
def test_scores_are_those_of_the_model_that_people_get(rng, params, hide, folds, measure):
    X, Y = random_rows(rng, 28, 2, 3)
    if hide is not None:
        Y[hide] = np.nan
    given = BASE | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        usual = EFCMLClassifier(**given)
        result = tune(X, Y, usual, grid=GRID, folds=folds, measure=measure)
        assert result.default == {"vigilance": usual.vigilance, "beta": usual.beta}
        assert len(result.rows) == 5 - ("vigilance" in params)  # then the default is in the grid
        for row in result.rows:
            own = given | {name: row[name] for name in GRID}
            names = ("pa", "ap", measure)
            expected = measured_by_hand(lambda: EFCMLClassifier(**own), X, Y, names, folds)  # noqa: B023
            assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_a_pipeline_is_fitted_without_the_fold_and_passes_it_as_a_stream(rng):
    X, Y = random_rows(rng, 24, 2, 2)
    usual = EFCMLClassifier(prior=1.0, max_rules=5)
    pipeline, names = (
        make_pipeline(StandardScaler(), usual),
        [f"efcmlclassifier__{n}" for n in GRID],
    )
    result = tune(X, Y, pipeline, grid=dict(zip(names, GRID.values(), strict=True)), folds=2)
    assert list(result.default.values()) == [usual.vigilance, usual.beta]
    for row in result.rows[:2]:
        own = dict(zip(GRID, (row[name] for name in names), strict=True))
        last = EFCMLClassifier(prior=1.0, max_rules=5, **own)
        expected = measured_by_hand(lambda: make_pipeline(StandardScaler(), last), X, Y, ["pa"])  # noqa: B023
        assert row["pa"] == expected["pa"]
    assert not hasattr(pipeline[0], "mean_") and not hasattr(usual, "learner_")


def test_kinds_of_tables_do_not_matter(rows):
    X, Y = rows
    expected = search_with(rows)
    assert search_with((pd.DataFrame(X), pd.DataFrame(Y.astype(bool)))) == expected
    assert search_with((X.tolist(), Y.astype(int).tolist())) == expected
    flat = search_with((X, np.where(Y[:, 0] == 1, "yes", "no")))
    assert flat.rows[0]["pa"] == search_with((X, Y[:, :1])).rows[0]["pa"]
    none = search_with((X, 0 * Y))  # no row has a label
    assert np.isnan([row["ap"] for row in none.rows]).all()
    with pytest.raises(ValueError, match="no row that was held out has a value of ap"):
        search_with((X, 0 * Y), measure="ap")


def test_divergence_is_counted(rng):
    X, Y = random_rows(rng, 24, 2, 2)
    params = {"lipschitz": "paper", "correlation": "paper"}
    grid = {"alpha": [0.0, 0.3], "beta": [0.0, 2.0]}
    result = search_with((X, Y), grid=grid, params=params)
    counts = {(row["alpha"], row["beta"]): row["diverged"] for row in result.rows}
    assert counts[0.0, 0.0] == 0 < sum(counts.values())  # without a penalty nothing is stopped


# -- what is chosen -------------------------------------------------------------------------


def tallies(*shares, n=200, seed=0):
    """Return points of rows that are right with these shares, by the same luck."""
    luck = np.random.default_rng(seed).random(n)
    right = np.stack([luck < share for share in shares]).astype(float)
    return np.stack([right, np.ones_like(right)], axis=2)[..., None]


def verdicts(table, measure="pa"):
    rows = [{"x": place} | row for place, row in enumerate(compare(table, measure))]
    assert all(row.pop("reason") == "" for row in rows)
    return TuningResult(("x",), measure, tuple(rows))


def tied(result):
    """Return the points that cannot be told apart from the best."""
    return [row["x"] for row in result.table.to_dict("records") if row["tied"]]


def test_the_default_stays_unless_something_is_clearly_better():
    level = verdicts(tallies(0.8, 0.81, 0.5))
    assert level.top == {"x": 1} and level.chosen == level.default == {"x": 0}
    assert tied(level) == [1, 0]
    assert "2 of 3 points cannot be told apart from the best, x=1; nothing is" in repr(level)
    better = verdicts(tallies(0.5, 0.8, 0.81, 0.4))
    assert better.top == better.chosen == {"x": 2} and tied(better) == [2, 1]
    assert repr(better).endswith("x=2 is clearly better than the default")
    gains = {row.x: (row.low, row.gain, row.high) for row in better.table.itertuples(index=False)}
    assert list(gains) == [2, 1, 0, 3] and gains[0] == (0.0, 0.0, 0.0)
    assert 0.0 < gains[2][0] < gains[2][1] < gains[2][2] and gains[3][2] < 0.0
    same = verdicts(tallies(0.8, 0.8))
    assert same.top == same.chosen == {"x": 0} and len(tied(same)) == 2


def test_of_losses_the_lower_ones_gain():
    losses = verdicts(tallies(0.5, 0.2, 0.7), "log_loss")
    assert losses.top == losses.chosen == {"x": 1} and tied(losses) == [1]
    assert [row["gain"] > 0.0 for row in losses.rows] == [False, True, False]


def test_many_points_must_be_surer_than_one():
    alone, among = tallies(0.5, 0.53), tallies(0.5, 0.53, *[0.5] * 400)
    assert verdicts(alone).chosen == {"x": 1} and verdicts(among).chosen == {"x": 0}


def test_chance_is_not_taken_for_a_gain():
    """Points of equal worth, each with luck of its own: the best of ten leads by chance."""
    chosen = [
        verdicts(np.concatenate([tallies(0.7, seed=[s, p]) for p in range(10)])).chosen["x"]
        for s in range(20)
    ]
    assert sum(place != 0 for place in chosen) <= 3


def test_a_bad_default_is_left():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] * X[:, 1] > 0], axis=1).astype(float)
    one = EFCMLClassifier(max_rules=1, cases=0)
    result = tune(X, Y, one, grid={"max_rules": [1, 20]}, folds=3)
    assert (result.default, result.chosen) == ({"max_rules": 1}, {"max_rules": 20})


def test_results_are_shown_and_travel(rows):
    result = search_with(rows)
    assert pickle.loads(pickle.dumps(result)) == result
    frame = result.table
    assert len(frame) == 5 and frame["pa"].is_monotonic_decreasing
    assert [*frame][:4] == ["vigilance", "beta", "pa", "ap"]
    names = [text.get_text() for text in result.plot(most=3).get_yticklabels()]
    assert len(names) == 3 and names[0].startswith(f"vigilance={frame['vigilance'][0]}")


# -- folders --------------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch):
    """Keys of the runs that are done; after ``stop_after`` of them, the person has enough."""
    stream = runs_module.stream

    def spying(model, run):
        if len(spying.keys) == spying.stop_after:
            raise KeyboardInterrupt
        spying.keys.append(run.key)
        return stream(model, run)

    spying.keys, spying.stop_after = [], None
    monkeypatch.setattr(runs_module, "stream", spying)
    return spying


def forget(runs):
    keys, runs.keys, runs.stop_after = runs.keys, [], None
    return keys


def test_a_search_goes_on_after_ctrl_c(rows, runs, tmp_path, capsys):
    expected = search_with(rows)
    everything = forget(runs)
    assert len(everything) == 10
    runs.stop_after = 3
    with pytest.raises(RunsInterrupted, match="after 3 of 10 runs"):
        search_with(rows, folder=tmp_path)
    forget(runs)
    assert len(list(tmp_path.iterdir())) == 3
    assert search_with(rows, folder=str(tmp_path), progress=True) == expected
    assert "0/7 runs" in capsys.readouterr().err
    assert len(forget(runs)) == 7
    assert search_with(rows, folder=tmp_path, progress=False) == expected
    assert runs.keys == [] and capsys.readouterr().err == ""


def test_a_folder_knows_what_was_searched(rows, runs, tmp_path):
    X, Y = rows
    wide = GRID | {"vigilance": [0.5, 0.15, 0.3]}
    search_with(rows, folder=tmp_path)
    for changes, n_new in (
        ({"grid": wide}, 4),
        ({"folds": 3}, 15),
        ({"measure": "micro_f1"}, 0),
        ({"params": {"vigilance": 0.5}}, 0),
    ):
        forget(runs)
        found = search_with(**({"rows": rows} | changes), folder=tmp_path)
        assert len(forget(runs)) == n_new
        if n_new == 4:
            assert found == search_with(rows, **changes)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"cannot write to .*notes\.txt"):
        search_with(rows, folder=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


# -- where it runs, and what is refused -----------------------------------------------------


def test_grids(rows):
    assert np.prod([len(values) for values in PAPER_GRID.values()]) == 1360
    assert (PAPER_GRID["vigilance"][0], PAPER_GRID["vigilance"][-1]) == (0.1, 0.9)
    usual = EFCMLClassifier().get_params()
    assert usual["correlation"] == "none"
    usual |= {"correlation": "shift", "beta": 0.0}  # which is the same
    assert all(usual[name] in values for name, values in SHORT_GRID.items())
    given = {"vigilance": np.array([0.5, 0.25]), "correlation": ["none"]}
    points = list_points(EFCMLClassifier(), given)
    assert points[1] == {"vigilance": 0.5, "correlation": "none"} and len(points) == 3
    assert type(points[1]["vigilance"]) is float


def test_arrays_may_be_values_of_a_grid(rows):
    """Whether a point is the default has no one truth for arrays."""
    given = {"relevance": ["off", np.array([1.0, 0.0]), np.array([0.0, 1.0])]}
    result = search_with(rows, grid=given, params={"relevance": np.array([1.0, 0.0])})
    assert len(result.rows) == 3 and result.default["relevance"].tolist() == [1.0, 0.0]


def test_words_of_others(rows, tmp_path):
    assert repr(search_with(rows, n_jobs=1)) == repr(search_with(rows))
    for word, wanted in (("checkpoint", "folder"), ("cv", "folds")):
        with pytest.raises(TypeError, match=f"no argument '{word}': give {wanted}"):
            search_with(rows, **{word: tmp_path})


def test_few_rows_prefer_nothing(rows):
    result = search_with(rows, block=None)
    assert np.isnan([row["low"] for row in result.rows]).all() and result.chosen == result.default
    assert "; no intervals: 18 rows cannot tell how far they are alike: it takes 150" in repr(
        result
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"folds": 1}, "folds must be a whole number >= 2; got 1"),
        ({"folds": 19}, "number of splits n_splits=19 greater than the number of samples"),
        ({"jobs": 0}, "jobs must be a number of processes, or -1 .*got 0"),
        ({"jobs": 2, "dask": "tcp://127.0.0.1:1"}, "either jobs or dask"),
        ({"measure": "speed"}, "measure must be one of 'pa', .*got 'speed'"),
        ({"grid": {"rules": [3]}}, "a name in the grid must be one of .*got 'rules'"),
        ({"params": {"max_rules": 0}}, "max_rules must be a whole number >= 1; got 0"),
        ({"rows": (np.full((18, 2), np.inf), np.ones((18, 2)))}, "X contains infinity"),
        ({"rows": (np.ones((18, 2)), np.ones((17, 2)))}, "numbers of samples: .18, 17."),
        ({"rows": (np.ones((18, 2)), np.full((18, 2), 3.0))}, "must hold 0, 1 or NaN"),
        (
            {"rows": (np.ones((18, 1)), np.repeat([[1.0], [np.nan]], 9, axis=0))},
            r"^vigilance=1.7, beta=0.1; rows 0 to 8 held out: .*no known label",
        ),
    ],
)
def test_bad_searches(rows, tmp_path, changes, words):
    with pytest.raises(ValueError, match=words) as caught:
        search_with(**({"rows": rows, "folder": tmp_path / "folder"} | changes))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("*/*"))


def test_what_is_no_grid_and_dask_as_an_extra(rows, monkeypatch):
    for wrong in ([0.5], {"correlation": "none"}):
        with pytest.raises(TypeError, match="the grid is a dict of lists, such as"):
            search_with(rows, grid=wrong)
    with pytest.raises(ValueError, match="vigilance=0.0; rows 0 .*vigilance must be a number > 0"):
        search_with(rows, grid={"vigilance": [0.0]})
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "efcml\[distributed\]"$'):
        search_with(rows, dask="tcp://127.0.0.1:1")
