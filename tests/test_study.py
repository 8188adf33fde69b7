"""Studies: runs, folders that go on, tables, paired differences, words, pictures, refusals."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers.cli_files import PATH
from helpers.study_files import model, rows, same, small_set
from numba import njit
from scipy import stats
from scipy.sparse import csr_array
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from efcml import (
    ActiveLearner,
    EFCMLClassifier,
    OneVsRestEFC,
    Study,
    __version__,
    datasets,
    plots,
    prequential,
    register,
)
from efcml.active import CRITERIA, Criterion
from efcml.studies import Variant, intervals, provenance, runs, workers
from efcml.studies import study as study_module
from efcml.studies.page import panels
from efcml.studies.provenance import digest
from efcml.studies.workers import RunsInterrupted

X, Y = rows()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Compile nothing that these tests do not need."""
    monkeypatch.setattr(workers, "warmup", lambda **given: None)


@pytest.fixture(scope="module")
def study():
    """Two data sets, one of them a data frame; the second model differs in nothing."""
    X, Y = rows(1)
    frames = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=list("uvw"))
    models = {"default": model(), "same": model(), "static": Variant(model(), learn=False)}
    return Study(models, data={"small": small_set(), "mine": frames}, orders=3, block=1).run()


def make(folder=None, orders=3, **more):
    models = {"a": model(), "b": model(correlation="shift")}
    return Study(models, data=small_set(), orders=orders, folder=folder, **more)


def count_fits(monkeypatch):
    fits, fit = [], EFCMLClassifier.fit
    counted = lambda self, X, Y: (fits.append(len(X)), fit(self, X, Y))[1]  # noqa: E731
    monkeypatch.setattr(EFCMLClassifier, "fit", counted)
    return fits


class Constant:
    """Always answers the same; one that warns says so."""

    def __init__(self, answer=0.0, words=""):
        self.answer, self.words = answer, words

    def get_params(self, deep=True):
        return vars(self)

    def fit(self, X, Y):
        if self.words:
            warnings.warn(self.words, UserWarning, stacklevel=1)
        return self

    def partial_fit(self, X, Y):
        return self

    def predict(self, X):
        return np.full((len(X), 3), self.answer)


class OwnSize(Constant):
    """Answers for five labels."""

    def predict(self, X):
        return np.zeros((len(X), 5))


class Broken:
    """Cannot learn."""

    def fit(self, X, Y):
        return self

    def partial_fit(self, X, Y):
        raise ZeroDivisionError("it\nbroke")

    def predict(self, X):
        return np.zeros((len(X), 3))


# -- numbers --------------------------------------------------------------------------------


def test_runs_are_those_of_prequential(study):
    """The first order is that of the file; the others shuffle the stream, not the initial part."""
    ds = small_set()
    X, Y = ds.stream
    for order in range(3):
        clf = model().fit(*ds.initial)
        rng = np.random.default_rng(order)
        arriving = rng.permutation(len(X)) if order else np.arange(len(X))
        wanted = prequential(clf, X[arriving], Y[arriving])
        found = study.result("default", "small", order)
        for name in ("scores", "Y", "rules", "decisions", "probabilities", "queried"):
            assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
        assert found.events == wanted.events
    static = study.result("static", "small", 0)
    assert np.array_equal(static.scores - 0.5, model().fit(*ds.initial).decision_function(X))


def test_a_table_has_means_over_the_orders(study):
    measures = ("pa", "ap", "macro_f1", "coverage", "calibration_error")
    table = study.table(measures)
    assert table.index.names == ["data", "model"]
    assert list(table.columns)[:5] == list(measures)
    for data, name in table.index:
        results = [study.result(name, data, order) for order in range(3)]
        for measure in measures:
            wanted = np.mean([one.measure(measure) for one in results])
            assert table.loc[(data, name), measure] == pytest.approx(wanted, abs=1e-12)
        assert table.loc[(data, name), "rules"] == np.mean([r.rules[-1] for r in results])
        seconds = np.mean([one.seconds_per_sample for one in results])
        assert table.loc[(data, name), "ms_per_sample"] == pytest.approx(1e3 * seconds)
    assert table["asked"].tolist() == [1.0, 1.0, 0.0] * 2


def test_differences_are_those_of_the_table(study):
    table, found = study.table(), study.differences("static")
    for data in study.data:
        for measure in ("pa", "ap"):
            wanted = table.loc[(data, "static"), measure] - table.loc[(data, "default"), measure]
            line = found.loc[data, measure]
            assert line["difference"] == pytest.approx(wanted, abs=1e-12)
            assert line["low"] <= line["difference"] <= line["high"]
        pairs = [[study.result(m, data, o) for m in ("default", "static")] for o in range(3)]
        largest = max(np.abs(a.scores - b.scores).max() for a, b in pairs)
        changed = np.mean([a.decisions != b.decisions for a, b in pairs])
        line = found.loc[data, "scores"]
        assert (line["largest change"], line["decisions changed"]) == (largest, changed)
    assert found.attrs == {"to": "default", "comparisons": 8, "level": 0.95}
    turned = study.differences("default", to="static")
    assert turned["pa", "difference"].tolist() == (-found["pa", "difference"]).tolist()
    assert (study.differences("same") == 0.0).all(axis=None)
    single = study.differences("static", measures="pa", comparisons=1)
    width = (found["pa", "high"] - found["pa", "low"]) / (
        single["pa", "high"] - single["pa", "low"]
    )
    assert (width > 1.3).all()
    errors = study.table("calibration_error")["calibration_error"]
    one = study.differences("static", measures="calibration_error", comparisons=1).loc["small"]
    wanted = errors["small", "static"] - errors["small", "default"]
    assert one["calibration_error", "difference"] == pytest.approx(wanted, abs=1e-12)
    assert one["calibration_error", "low"] <= wanted <= one["calibration_error", "high"]
    both = study.differences()
    assert list(both.index) == [(d, m) for d in study.data for m in ("same", "static")]
    assert both.loc[("mine", "static")].tolist() == found.loc["mine"].tolist()


def test_built_in_streams_are_made_anew_and_not_shuffled(monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda name, seed=0: small_set(name, seed=seed))
    models = {"a": model(), "b": model(max_rules=1)}
    study = Study(models, data="drifting-clusters", orders=3, seed=1).run()
    data = study.sets["drifting-clusters"]
    assert data.redrawn
    gaps = [study.result("b", order=o).pa - study.result("a", order=o).pa for o in range(3)]
    found = study.differences("b", comparisons=1)["pa"].iloc[0]
    wanted = stats.ttest_1samp(gaps, 0.0).confidence_interval(0.95)
    assert found[["low", "high"]].tolist() == pytest.approx(list(wanted))
    ds = small_set(seed=1002)
    wanted = prequential(model().fit(*ds.initial), *ds.stream)
    assert np.array_equal(study.result("a", order=2).scores, wanted.scores)
    assert np.array_equal(study.result("a", order=2).Y, wanted.Y)
    gaps = [study.result("b", order=o).pa - study.result("a", order=o).pa for o in range(3)]
    assert study.differences("b")["pa", "difference"].item() == pytest.approx(np.mean(gaps))


def test_models_from_elsewhere():
    ds = small_set()
    other = MultiOutputClassifier(SGDClassifier(random_state=0))
    study = Study({"sgd": other, "ovr": OneVsRestEFC(max_rules=2, prior=1.0)}, ds, orders=2).run()
    wanted = prequential(other.fit(*ds.initial), *ds.stream)
    assert np.array_equal(study.result("sgd").scores, wanted.scores)
    ovr = OneVsRestEFC(max_rules=2, prior=1.0).fit(*ds.initial)
    assert np.array_equal(study.result("ovr").scores, prequential(ovr, *ds.stream).scores)
    X, Y = rows(n_labels=1)
    Y[3] = np.nan  # left out of its initial part
    study = Study({"sgd": SGDClassifier(random_state=0)}, data=(X, Y), orders=1).run()
    assert study.data == ["data"] and len(study.sets["data"].dataset) == len(X)
    assert study.table()["pa"].item() > 0.5


# -- variants -------------------------------------------------------------------------------


def test_every_value_of_an_axis_makes_a_line():
    vary = Study.vary(EFCMLClassifier(), correlation=["shift", "none"], beta=[0, 1.0, 0.1000001])
    assert list(vary)[:3] == [f"correlation=shift, beta={beta}" for beta in (0, 1, 0.1000001)]
    assert (len(vary), vary["correlation=none, beta=1"].correlation) == (6, "none")


def test_variants_say_how_labels_come():
    asking = {"all": None, "some": ActiveLearner(0.3), "r": ActiveLearner.random(0.3, "labels")}
    models = {name: Variant(model(), active=asks) for name, asks in asking.items()}
    study = Study(models, data=small_set(), orders=2).run()
    asked = study.table()["asked"]
    assert asked.iloc[0] == 1.0 and (asked.iloc[1:] <= 0.3).all()
    random = [study.result("r", order=order).queried for order in range(2)]
    ds = small_set()
    wanted = prequential(
        model().fit(*ds.initial),
        *ds.stream,
        active=ActiveLearner.random(0.3, "labels", random_state=0),
    )
    assert np.array_equal(random[0], wanted.queried)
    assert not np.array_equal(*random)  # the seed is that of the order
    late = Study({"e": Variant(model(), delay=5)}, data=ds, orders=1).run()
    wanted = prequential(model().fit(*ds.initial), *ds.stream, delay=5)
    assert np.array_equal(late.result().scores, wanted.scores)


def test_models_are_fitted_once_and_left_alone(monkeypatch):
    fits, given = count_fits(monkeypatch), model()
    asks = Variant(model(), active=ActiveLearner(0.5))
    study = Study({"a": given, "asks": asks}, small_set(), orders=3).run()
    assert fits == [20] and not hasattr(given, "learner_")
    assert study.run() is study and fits == [20]


def test_models_need_no_names():
    one = Study(model(), small_set())
    assert one.models == ["EFCMLClassifier"]
    several = Study([model(), OneVsRestEFC(), Variant(model(beta=2.0), delay=3)], small_set())
    assert several.models[1] == "OneVsRestEFC" and "beta=2.0" in several.models[2]


def test_names_may_be_written_otherwise(study):
    models = Study.vary(model(), beta=[0, 1.0, 2.5], correlation=["shift", "none"])
    made = Study(models, small_set(), orders=1).run()
    wanted = made.result("beta=1, correlation=none")
    for name in ("beta=1.0, correlation=none", "beta=1, correlation='none'"):
        assert np.array_equal(made.result(name).scores, wanted.scores)
    with pytest.raises(ValueError, match="no model 'beta=1.5': choose from 'beta=0, corr"):
        made.result("beta=1.5")


def test_streams_are_drawn_when_they_are_needed(monkeypatch):
    seeds, load = [], datasets.load

    def noted(name, **given):
        seeds.append(given.get("seed", 0))
        return load(name, **given)

    monkeypatch.setattr(datasets, "load", noted)
    study = Study({"a": Constant()}, "drifting-clusters", orders=3)
    assert seeds == [0] and study.title.endswith("0 of 3 runs done") and seeds == [0, 1, 2]


# -- folders and interruptions --------------------------------------------------------------


def test_a_folder_goes_on_and_grows(monkeypatch, tmp_path):
    first = make(tmp_path, orders=2, seed=2).run()
    facts = first.cache.facts(first.runs["small", "b", 1])
    assert (facts["label"], facts["method"]) == ("b on small, order 1", provenance.method())
    assert facts["versions"]["efcml"] == __version__ and facts["fit_seconds"] > 0
    fits = count_fits(monkeypatch)
    again = make(tmp_path, orders=2, seed=2)
    assert again.done == 4
    again.run()
    assert fits == []
    grown = make(tmp_path, orders=3, seed=2)
    assert (grown.done, len(grown.runs)) == (4, 6)
    assert same(grown.run(), make(orders=3, seed=2).run())
    assert not np.array_equal(grown.result("a", order=1).Y, make().run().result("a", order=1).Y)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot write to"):
        make(tmp_path / "file")


def test_what_is_there_counts_by_its_content_alone(tmp_path, monkeypatch):
    """Names do not matter; models, rows, seeds and the code of the method do."""
    make(tmp_path).run()
    others = {"x": model(correlation="shift"), "y": model()}
    assert Study(others, {"other": small_set()}, orders=3, folder=tmp_path).done == 6
    for other in (
        {"models": {"a": model(beta=3.0)}},
        {"data": small_set(seed=5)},
        {"data": small_set(n_initial=10)},
        {"models": {"a": Variant(model(), delay=3)}},
        {"models": {"a": Variant(model(), learn=False)}},
        {"models": {"a": Variant(model(), active=ActiveLearner(0.5))}},
    ):
        given = {"models": {"a": model()}, "data": small_set()} | other
        assert Study(**given, orders=2, folder=tmp_path).done == 0, other
    assert make(tmp_path, seed=4).done == 2  # the order of the file
    monkeypatch.setattr(runs, "sources", lambda: "another method")
    changed = make(tmp_path)
    assert changed.done == 0
    with pytest.raises(ValueError, match="0 of 6 runs done: call study.run"):
        changed.table()


def test_a_pipeline_with_nan_parameters_is_taken_up(tmp_path, monkeypatch):
    imputer = SimpleImputer(missing_values=np.nan, fill_value=float("nan"))
    pipeline = make_pipeline(imputer, StandardScaler(), model())
    given = {"models": {"p": pipeline}, "data": (X, Y), "orders": 2, "folder": tmp_path}
    table = Study(**given).run().table()
    fits = count_fits(monkeypatch)
    again = Study(**given)
    assert again.done == 2 and again.run().table().equals(table) and fits == []


KILLED = """
import sys, time
from efcml import Study
from helpers.study_files import model, small_set
if sys.argv[2] == "slow":
    from efcml.studies import runs
    stream = runs.stream
    runs.stream = lambda *given: (time.sleep(0.4), stream(*given))[1]
study = Study({"m": model(), "n": model(beta=1.0)}, small_set(), orders=12, folder=sys.argv[1])
print(study.run(jobs=int(sys.argv[3])).title)
"""


def run_killed(folder, pace, jobs):
    here = os.path.dirname(__file__)
    path = os.pathsep.join([PATH, here, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", KILLED, str(folder), pace, str(jobs)]
    return subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
    )


def wait_for(condition, seconds=200.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.05)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_study_that_is_killed_goes_on_and_leaves_no_workers(tmp_path, jobs):
    first = run_killed(tmp_path, "slow", jobs)
    wait_for(lambda: len(list(tmp_path.glob("*.npz"))) >= 3)
    children = children_of(first.pid)
    first.send_signal(signal.SIGTERM if jobs == 2 else signal.SIGKILL)
    first.wait()
    first.stdout.close()
    if jobs == 2:
        assert children
        wait_for(lambda: not any(is_alive(child) for child in children), 10.0)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.npz")}
    assert 3 <= len(kept) < 24
    second = run_killed(tmp_path, "quick", 1)
    assert "24 of 24 runs done" in second.communicate()[0]
    assert all(file.stat().st_mtime_ns == written for file, written in kept.items())


def test_a_worker_that_starts_when_all_is_over_ends(tmp_path):
    """It got its work from a process that was killed since."""
    code = "import time; from efcml.studies.workers import end_with;"
    code += " end_with(999_999_999); time.sleep(200)"
    env = os.environ | {"PYTHONPATH": PATH}
    assert subprocess.run([sys.executable, "-c", code], env=env, timeout=100).returncode == 1


def children_of(pid):
    """Return the processes that a process has started; none where there is no /proc."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, ValueError):
            pass
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_interrupted_and_taken_up(monkeypatch):
    study, stream, done = make(), runs.stream, []

    def interrupt(*given):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(1)
        return stream(*given)

    monkeypatch.setattr(runs, "stream", interrupt)
    with pytest.raises(
        RunsInterrupted, match=r"^after 4 of 6 runs; another call goes on from there$"
    ):
        study.run()
    assert study.done == 4
    with pytest.raises(ValueError, match="4 of 6 runs done: call study.run"):
        study.table()
    monkeypatch.setattr(runs, "stream", stream)
    assert same(study.run(), make().run())


@pytest.mark.long
def test_processes_give_the_same(monkeypatch):
    closed = 7.0  # goes to the processes with the function
    cut = lambda S, p: np.eye(p)[int(closed) % p]  # noqa: E731
    monkeypatch.setitem(CRITERIA, "even", Criterion("every other", lambda row: row.scores[0] > 0.5))
    asks = Variant(model(), active=ActiveLearner(0.5, criteria=("even",)))
    given = {"a": model(), "b": model(splitting=cut), "asks": asks}
    here, there = (Study(given, small_set(), orders=2).run(n_jobs=jobs) for jobs in (1, 2))
    assert same(here, there)


def test_errors_and_warnings_name_their_runs(monkeypatch, capsys):
    with pytest.raises(RuntimeError) as caught:
        Study({"bad": Broken()}, data=small_set(), orders=1).run()
    assert str(caught.value) == "bad on small, order 0: ZeroDivisionError: it broke"
    models = {"a": Constant(words="look\nout")}
    study = Study(models, data=small_set(), orders=2).run(progress=True)
    assert study.notes() == ["2 of 2 runs of a on small warned: UserWarning: look out"]
    assert "study" in capsys.readouterr().err


def test_progress_is_a_bar_that_goes_on_or_lines_in_a_log(monkeypatch, capsys):
    said = []
    monkeypatch.setattr(workers, "LINE_EVERY", 0.0)
    make().run(progress=said.append)
    assert (
        any(line.startswith("study: 3 of 6 runs after ") for line in said)
        and capsys.readouterr().err == ""
    )
    make().run(progress=True)
    assert "0/6 runs" in capsys.readouterr().err
    make().run(progress=False)
    assert capsys.readouterr() == ("", "")


# -- content --------------------------------------------------------------------------------


def weights(clf, result):
    """Return something of the model, and something of the result."""
    return {"rules": clf.n_rules_, "pa": result.pa}


def holding(value, default=0):
    def note(clf, result, default=default):
        return {"value": str(value)} if default in {"a", "b", "c"} else {}

    return note


def test_a_digest_stands_for_what_functions_do_and_what_things_hold():
    rows = np.arange(5000.0)
    moved = np.where(rows == 2500, 0.0, rows)  # left out where arrays are printed
    things = [holding(1), holding(2), holding(1, default=1), holding(rows), holding(moved)]
    things += [holding({"rows": rows}), holding({"rows": moved}), print, weights]
    things += [partial(weights, 1), partial(weights, 2), partial(weights, a=2)]
    things += [Constant(1.0).fit, Constant(1.0).predict, Constant, Constant(), Constant(2.0)]
    things += [lambda clf, result: {"a": 1}, lambda clf, result: {"a": 2}]
    things += [lambda clf, result: {"a": clf.n_rules_}, lambda clf, result: {"a": clf.n_labels_}]
    things += [model(vigilance=njit(one)) for one in (lambda d, *_: d > 8, lambda d, *_: d > 9)]
    things += [model(splitting=(lambda S, p: np.eye(p)[0])), model(splitting=(lambda S, p: S[1]))]
    things += [make_pipeline(SimpleImputer(strategy=how), model()) for how in ("mean", "median")]
    things += [pd.DataFrame({"a": ["x", "y"], "b": [1.0, value]}) for value in (np.nan, 3.0)]
    things += [StandardScaler(), StandardScaler().fit(X), StandardScaler().fit(2 * X)]
    texts = [digest(thing) for thing in things]
    assert len(set(texts)) == len(texts)
    assert [digest(holding(rows)), digest(partial(weights, 2))] == [texts[3], texts[10]]
    assert digest(Constant(np.float64("nan"))) == digest(Constant(float("nan")))
    assert digest([1, "a"]) == digest((1, "a")) != digest([0, "a"])
    frames = [pd.DataFrame({"a": ["x", "y"], "b": [1.0, np.nan]}) for _ in "ab"]
    assert digest(frames[0]) == digest(frames[1])
    named = []
    for place in (0, 1):  # by its name a model has another function, then
        register("split", "of a test", lambda S, p, place=place: np.eye(p)[place])
        named.append(digest(model(splitting="of a test")))
    assert named[0] != named[1]


class Wrap:
    """Holds what cannot be pickled, and says nothing of it."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, Y):
        return self

    def partial_fit(self, X, Y):
        return self

    def predict(self, X):
        return np.full((len(X), 3), self.make())


def level():
    return LEVEL


LEVEL = 0.0


def test_what_cannot_be_pickled_counts_by_what_it_holds(tmp_path):
    """Two models that differ in a function alone had one key, and printed identical results."""
    given = {"data": (X, Y), "orders": 1, "folder": tmp_path}
    models = {"zero": Wrap(lambda: 0.0), "one": Wrap(lambda: 1.0)}
    study = Study(models, **given).run()
    assert study.result("zero").scores.max() == 0.0 and study.result("one").scores.min() == 1.0
    assert Study(models, **given).done == 2
    assert digest(Wrap(level)) != digest(Wrap(lambda: 0.0))


def test_what_a_function_uses_of_its_module_counts(monkeypatch):
    before = digest(Wrap(level))
    monkeypatch.setitem(globals(), "LEVEL", 1.0)
    constant = digest(Wrap(level))
    monkeypatch.setattr(Wrap, "partial_fit", lambda self, X, Y: None)
    assert len({before, constant, digest(Wrap(level))}) == 3


def test_what_has_no_content_is_refused():
    with pytest.raises(TypeError) as caught:
        Study({"lock": Wrap(threading.Lock())}, (X, Y), orders=1).run()
    assert str(caught.value) == (
        "a lock cannot be told from others (cannot pickle '_thread.lock' object): leave it out of"
        " the model, or give its class a __reduce__ that says what it is made of."
    )


def test_what_is_registered_counts_wherever_its_name_stands(monkeypatch):
    keys = []
    for answer in (True, False):
        register("stage", "of a test", lambda *sizes, answer=answer: answer)
        fires = lambda row, answer=answer: answer  # noqa: E731
        monkeypatch.setitem(CRITERIA, "of a test", Criterion("a test", fires))
        asks = Variant(model(), active=ActiveLearner(0.5, criteria=("of a test",)))
        study = Study({"asks": asks, "has": model(stages=("of a test",))}, small_set(), orders=1)
        keys += [study.runs["small", name, 0].key for name in study.models]
    assert len({*keys}) == 4


def test_the_whole_package_counts_but_for_what_shows(tmp_path, monkeypatch):
    root = tmp_path / "efcml"
    shutil.copytree(os.path.dirname(provenance.efcml.__file__), root)
    monkeypatch.setattr(provenance.efcml, "__file__", str(root / "__init__.py"))
    method, texts = provenance.sources.__wrapped__, []
    for file in ("plots/style.py", "support/statistics.py", "evaluation/adapters.py"):
        texts.append(method())
        (root / file).write_text((root / file).read_text() + "\nCHANGED = 1\n")
    assert texts[0] == texts[1] != texts[2] and method() not in texts


def test_masked_labels_are_not_the_values_below():
    tables = [runs.Table(X, np.ma.masked_array(Y, Y > limit)) for limit in (0.5, 2.0)]
    assert tables[0].key != tables[1].key


def test_a_digest_is_the_same_in_every_process():
    given = [
        "-c",
        "from helpers.study_files import *; from efcml.studies.provenance import digest;",
    ]
    given[1] += "print(digest(model(), small_set().X, {'a', 'b', 'c'}, small_set))"
    path = os.pathsep.join([PATH, os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    done = [
        subprocess.run(
            [sys.executable, *given],
            env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert done[0] == done[1]


def test_comments_and_docstrings_are_not_the_method():
    code = provenance.code_alone
    assert code(b'"""A."""\ndef f():\n    """B."""\n    return 1  # C') == code(
        b"def f(): return 1"
    )
    assert code(b"def f(): return 1") != code(b"def f(): return 2")
    assert code(b"if a:\n    'text'\n    b()") == code(b"if a:\n    'text'\n    b()")


def test_threads_may_read_the_method_at_the_same_time():
    source, usual = b"x = [1, (2, 3)]\n" * 500, gc.get_threshold()
    gc.callbacks.append(switch := lambda *_: time.sleep(0.0))
    gc.set_threshold(50)
    try:  # in Python 3.11 parsing fails if another thread parses in between
        with ThreadPoolExecutor(2) as pool:
            assert len({*pool.map(provenance.code_alone, [source] * 4)}) == 1
    finally:
        gc.set_threshold(*usual)
        gc.callbacks.remove(switch)


# -- words and pictures ---------------------------------------------------------------------


def test_many_models_have_room_for_their_legend(tmp_path):
    figure = plots.new_figure()
    for ax in panels(["first", "second"], figure, 1, 30):
        plots.draw_trends({f"model {i}": np.full(9, i) for i in range(30)}, ax=ax, ylabel="PA")
    plots.save_figure(figure, tmp_path / "many")  # matplotlib warns where a panel has no height


def test_words_of_a_study(study):
    text, html = repr(study), study._repr_html_()
    assert "Study of 3 models, 2 data sets, 3 orders: 18 of 18 runs done" in text
    assert "PA minus default" in text and "corrected for 8 comparisons" in text
    assert "On small, same changed nothing at all: every score is the same" in text
    assert "static changed" not in text
    pa = study.table().loc[("mine", "static"), "pa"]
    cell = intervals.Interval(*study.differences().loc[("mine", "static"), "pa"]).in_points()
    for told in (text, html):
        assert all(word in told for word in (*study.data, *study.models, f"{pa:.4f}", cell))
        assert cell.endswith("]")
    new = Study({"<b>": Constant()}, data=small_set(), orders=1)
    assert repr(new) == (
        "Study of 1 model, 1 data set, 1 order: 0 of 1 runs done; study.run() does them."
    )
    assert "study.run()" in new._repr_html_()
    assert "<b>" not in new.run()._repr_html_()


def test_notes_say_what_is_shown_and_how_little_changed():
    Y = np.zeros((len(X), 3))
    Y[::6, 0] = 1.0
    models = {"zeros": Constant(0.0)} | {f"ones {i}": Constant(1.0 + i) for i in range(8)}
    given = {"orders": 1, "block": 1, "measures": "pa"}
    study = Study(models | {"low": Constant(-1e-3)}, data=(X, Y), **given).run()
    told = study.notes()
    assert told[0].endswith("rows, of one order only, corrected for 9 comparisons.")
    assert told[1].startswith("Shown: ones 0 below it in PA on data; ones 1 below")
    assert told[1].count("below it") == 6 and "; 2 more. All other" in told[1]
    assert told[2] == "On data, low changed no score by more than 0.001, and no decision."
    alike = {f"zeros {i}": Constant(-1.0) for i in range(15)}
    told = Study(alike, data=(X, Y), **given).run().notes("pa")
    assert told[1] == "No difference could be shown: every interval has 0 in it."
    assert len(told) == 2 + 14
    ds = datasets.load("drifting-clusters", n=60, n_initial=40)
    drifting = {n: Study({"a": OwnSize()}, ds, orders=n).run().notes("pa") for n in (1, 2)}
    assert drifting[1] == []
    assert "drifting-clusters drifts, and a shuffle destroys the drift" in drifting[2][-1]


def test_one_correction_for_a_study(study):
    """Table, notes and pictures show the same intervals, of one measure or of all."""
    whole = study.differences()
    assert study.differences(measures="pa").attrs == whole.attrs
    assert study.differences(measures="pa")["pa"].equals(whole["pa"])
    assert "corrected for 8 comparisons" in study.notes("ap")[0]
    ax = study.plot_differences("ap")
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2][1:]
    wanted = 100 * whole["ap"][["low", "high"]].to_numpy()
    np.testing.assert_allclose(lines, wanted)
    assert study.differences(measures="log_loss").attrs["comparisons"] == 12


def test_differences_are_in_the_units_of_the_measure(study):
    shown = study.readable(("coverage", "pa"))["coverage minus default"]
    value = study.differences(measures="coverage").loc[("mine", "static"), "coverage"]
    assert shown["mine", "static"] == intervals.Interval(*value).in_points(1.0)
    told = study.notes(("coverage", "log_loss", "pa"))[0]
    assert "in points and in labels of coverage and in nats of log loss" in told
    assert (
        study.plot_differences("coverage")
        .get_xlabel()
        .startswith("coverage minus default, in labels;")
    )


def test_where_there_is_no_interval_the_notes_say_why():
    study = Study({"a": model(), "b": model(max_rules=1)}, small_set(), orders=1).run()
    found = study.differences()
    assert found["pa"].notna().iloc[0].tolist() == [True, False, False]
    told = study.notes()
    assert told[1] == "No difference could be shown."
    assert told[-1] == (
        "Without an interval: 2 on small; 24 rows cannot tell how far they are alike: it takes 150"
        " rows, or block=1 if rows do not depend on each other."
    )
    assert ", no interval" in study.to_text() and "b" in repr(study.plot_differences())


def test_tables_for_papers(study):
    table = study.table()
    assert (table["orders"] == 3).all()
    values = [study.result("static", "small", order).pa for order in range(3)]
    spread, mean = np.std(values, ddof=1), np.mean(values)
    assert table.loc[("small", "static"), "pa_std"] == pytest.approx(spread)
    text = study.to_latex()
    assert f"small & static & {mean:.4f} $\\pm$ {spread:.4f} & $" in text
    assert "over 3 orders." in text and "95 \\% intervals" in text
    models = {"a_1 & 50%": Constant(), "$x^2$ {~}#\\": Constant(1.0)}
    text = Study(models, {"[my_data]": (X, Y)}, orders=1, block=1).run().to_latex("coverage")
    assert "One order. Differences" in text and "rows, of one order only" in text
    assert r"{[}my\_data] & a\_1 \& 50\% & " in text
    assert r"\$x\textasciicircum{}2\$ \{\textasciitilde{}\}\#\textbackslash{} & " in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [line.replace(r"\&", "").count("&") for line in lines] == [3] * 3
    assert "$\\pm$" not in text and text.count("{") == text.count("}")


def test_models_are_ranked_over_data_sets():
    data = {f"set {seed}": small_set(seed=seed) for seed in range(4)}
    models = {"one": Constant(1.0), "zero": Constant(0.0), "efcml": model()}
    study = Study(models, data, orders=1).run()
    found = study.ranks("pa")
    table = study.table()["pa"].unstack()[list(models)]
    wanted = table.rank(axis=1, ascending=False).mean()
    assert found.mean.to_dict() == wanted.to_dict() and found.data == 4
    assert found.mean.index[0] == "efcml" and list(study.ranks("log_loss").mean.index) != []
    ax = study.plot_ranks("pa")
    words = [text.get_text() for text in ax.texts]
    assert f"efcml  {wanted['efcml']:.2f}" in words
    assert f"critical difference {found.critical_difference:.2f}" in words
    bars = [line for line in ax.lines if line.get_linewidth() == 4]
    assert len(bars) == len(found.groups)
    better = study.signed_ranks("efcml", to="one")
    assert better.better > 0.95 and study.signed_ranks("one", to="efcml").worse > 0.95


def test_pictures_of_a_study(study):
    axes = study.plot("pa")
    assert [ax.get_title(loc="left") for ax in axes] == ["small", "mine"]
    assert {line.get_label() for line in axes[0].lines} >= set(study.models)
    ax = study.plot("ap", data="mine", window=5)
    assert ax.get_ylabel() == "average precision, last 5 rows"
    x, y = ax.lines[0].get_data()
    trends = [study.result("default", "mine", o).trend("ap", window=5) for o in range(3)]
    first = len(study.sets["mine"].dataset) - len(study.result("default", "mine").Y)
    assert x.tolist() == list(range(first + 4, 44))
    np.testing.assert_allclose(y, np.mean(trends, axis=0)[4:])
    ax = study.plot("ap", data="mine", window=1000)  # more than there are
    assert ax.lines[0].get_xdata().tolist() == [43]
    assert study.plot("rules", data="small").get_ylim()[0] == 0.0
    ax = study.plot_differences("ap")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["same", "static"] * 2
    assert ax.get_xlabel() == "AP minus default, in points; 95 % intervals for 8 comparisons"


def test_tables_print_all_columns(study):
    for table in (study.differences(), study.table(), study.differences("static")):
        lines = repr(table).splitlines()
        assert "..." not in repr(table) and len(lines) >= len(table)
        assert f"{table.iloc[-1, 0]:.4g}" in lines[-1]


def test_a_picture_of_no_difference_does_not_zoom_into_rounding():
    ax = Study({"a": model(), "b": model()}, small_set(), orders=1).run().plot_differences()
    assert ax.get_xlim()[0] <= -0.1 and ax.get_xlim()[1] >= 0.1


def test_a_gradual_drift_is_a_band():
    ds = small_set()
    ds.marks.update(gradual_start=25, gradual_end=30, abrupt=40)
    ax = Study({"a": model()}, ds, orders=1).run().plot()
    assert {text.get_text() for text in ax.texts} >= {"gradual\ndrift", "abrupt\ndrift"}
    (band,) = ax.patches
    assert (band.get_x(), band.get_width()) == (25, 5)


def test_writing_leaves_no_figure_open_in_a_notebook(study, tmp_path, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    before = pyplot.get_fignums()
    study.write(tmp_path)
    assert pyplot.get_fignums() == before
    study.plot(data="small")  # is shown when the cell ends
    assert len(pyplot.get_fignums()) == len(before) + 1
    pyplot.close("all")


def test_names_are_escaped_on_pages(tmp_path):
    models = {"<b>bold</b>": Constant(), "$x$": Constant(1.0)}
    study = Study(models, {"<script>": (X, Y)}, orders=1).run()
    study.write(tmp_path)
    for page in ((tmp_path / "report.html").read_text(), study._repr_html_()):
        assert "<b>" not in page and "<script" not in page and "&lt;b&gt;bold" in page


def test_sparse_rows_go_to_the_first_step_of_a_pipeline():
    dense = make_pipeline(FunctionTransformer(lambda rows: rows.toarray()), model())
    found = Study({"p": dense}, (csr_array(X), Y), orders=2).run().result(order=1)
    wanted = Study({"p": model()}, (X, Y), orders=2).run().result(order=1)
    np.testing.assert_array_equal(found.scores, wanted.scores)


def test_pages_and_files(tmp_path):
    data = {"zero": (X, np.zeros((44, 3)))}  # no row has a label: there is no average precision
    study = Study({"a": Constant(0.0), "b": Constant(0.5)}, data=data, orders=3, block=1).run()
    files = study.write(tmp_path / "out", ("pa",))
    assert files == sorted(
        ["table.csv", "differences.csv", "summary.json", "report.html"]
        + [f"{n}.{kind}" for n in ("pa", "rules", "differences_pa") for kind in ("png", "svg")]
    )
    assert {file.name for file in (tmp_path / "out").iterdir()} == set(files)
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(word in page for word in ("answer", "zero", "b below it in PA"))
    table = pd.read_csv(tmp_path / "out" / "table.csv")
    assert table["pa"].tolist() == study.table()["pa"].tolist() == [1.0, 0.0]
    lines = pd.read_csv(tmp_path / "out" / "differences.csv")
    assert lines.loc[0, ["difference", "low", "high"]].tolist() == [-1.0] * 3
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["runs"], summary["orders"]) == (6, [0, 1, 2])
    study.write(tmp_path / "ap", "ap")
    summary = json.loads((tmp_path / "ap" / "summary.json").read_text())
    assert summary["table"][0]["ap"] is None and summary["differences"][0]["low"] is None


# -- refused --------------------------------------------------------------------------------

GOOD = {"a": model()}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": {}}, "there are no models: give at least one"),
        (
            {"models": {"a": 3}},
            "'a': prequential needs a model with begin_stream or partial_fit; got int",
        ),
        (
            {"models": {"a": EFCMLClassifier}},
            "'a': prequential needs a model; got the class EFCMLClassifier",
        ),
        ({"models": {3: model()}}, "names of models are text: name them, as in {"),
        ({"models": [model(), model()]}, 'two models are named "EFCMLClassifier(max_'),
        ({"block": 0}, "block must be a whole number >= 1; got 0"),
        ({"random_state": 3}, "there is no argument 'random_state': give seed."),
        ({"order": 3}, "there is no argument 'order'."),
        ({"models": {"a": Variant(model(), delay=-1)}}, "'a': delay must be a whole number"),
        ({"models": {"a": Variant(model(), active=3)}}, "'a': active must be an ActiveLearner"),
        (
            {"models": {"a": Variant(model(), active=ActiveLearner(), delay=3)}},
            "'a': active needs learn=True and delay=0",
        ),
        (
            {"models": {"a": Variant(Broken(), active=ActiveLearner())}},
            "'a': active needs an EFCMLClassifier; got Broken",
        ),
        ({"data": small_set(n_initial=44)}, "small has 44 rows, of which 44 are the"),
        ({"data": []}, "there is no data: give at least one data set"),
        ({"data": "emotonis"}, "there is no data set 'emotonis': did you mean 'emotions'?"),
        ({"data": 3}, "<class 'int'> is no data set: give names, datasets, or pairs (X, Y)."),
        ({"data": [3]}, "<class 'int'> is no data set: give names"),
        ({"data": X}, "<class 'numpy.ndarray'> is no data set"),
        ({"data": [(X, Y), (X, Y)]}, "two data sets are named 'data': name them"),
        ({"data": (X[:3], Y)}, "X has 3 rows and Y has 44"),
        ({"orders": 0}, "orders must be a whole number from 1 to 1000; got 0"),
        ({"orders": "ten"}, "orders must be a whole number"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
    ],
)
def test_bad_studies(changes, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        Study(**({"models": GOOD, "data": small_set()} | changes))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda one: one.table(), "0 of 6 runs done: call study.run() first"),
        (lambda one: one.differences("b"), "0 of 6 runs done: call study.run() first"),
        (lambda one: one.differences("b", comparisons=0), "comparisons must be a whole number >="),
        (lambda one: Study(GOOD, small_set()).differences(), "a single model has no differences"),
        (lambda one: one.plot("pa"), "0 of 6 runs done: call study.run() first"),
        (lambda one: one.plot("accuracy"), "there is no measure 'accuracy'"),
        (lambda one: one.result("c"), "there is no model 'c': choose from 'a', 'b'."),
        (lambda one: one.result("a", "big"), "there is no data set 'big': choose from 'small'."),
        (lambda one: one.result("a", order=9), "there is no order 9: choose from 0, 1, 2"),
        (lambda one: one.result("a"), "a on small, order 0 is not run yet"),
        (lambda one: one.run(jobs=0), "jobs must be a number of processes"),
        (lambda one: one.run(jobs=2, dask="tcp://nowhere"), "give either jobs or dask"),
        (lambda one: one.vary(model(), beat=[1]), "Invalid parameter 'beat' for estimator"),
        (lambda one: one.vary(model(), beta=1), "beta is 1: give a list of values"),
        (lambda one: one.vary(model(), correlation="none"), "give a list of values"),
        (lambda one: one.vary(model(), beta=[]), "one of the lists is empty"),
        (lambda one: one.vary(model(), beta=[1, 1]), "two variants are named 'beta=1'"),
        (lambda one: one.vary(Broken(), beta=[1]), "needs a model with set_params"),
    ],
)
def test_bad_questions(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call(make())
    assert words in str(caught.value)


def test_rows_of_all_orders_are_put_back_as_in_the_file(study, monkeypatch):
    seen, real = [], study_module.paired_difference

    def noted(first, second, *given, **more):
        seen.extend([first, second])
        return real(first, second, *given, **more)

    monkeypatch.setattr(study_module, "paired_difference", noted)
    study.differences("static", measures=("ap",))
    labelled = small_set().stream[1].any(axis=1)  # other rows have no average precision
    assert 0 < labelled.sum() < len(labelled)
    for tallies in seen[:2]:
        assert len(tallies) == 3
        for order in tallies:
            np.testing.assert_array_equal(order[:, 1, 0] > 0.0, labelled)
