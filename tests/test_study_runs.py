"""Where the runs of a study are done and kept: processes, folders, interruptions, bad input."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.cli_files import PATH
from helpers.study_files import keep_method, model, rows, same, small_set

from efcml import ActiveLearner, EFCMLClassifier, Study, datasets, measures
from efcml.studies import Variant, cell_run
from efcml.studies.record_folder import file_name
from efcml.studies.study_work import StudyInterrupted, split
from efcml.support import watch


@pytest.fixture(autouse=True)
def method(monkeypatch):
    keep_method(monkeypatch)


def make(folder=None, orders=3, **more):
    models = {"a": model(), "b": model(correlation="none")}
    return Study(models, data=small_set(), orders=orders, folder=folder, **more)


def count_fits(monkeypatch):
    fits, fit = [], EFCMLClassifier.fit

    def counted(self, X, Y):
        fits.append(len(X))
        return fit(self, X, Y)

    monkeypatch.setattr(EFCMLClassifier, "fit", counted)
    return fits


def test_models_are_fitted_once(monkeypatch):
    fits = count_fits(monkeypatch)
    make().run()
    assert len(fits) == 2
    active = [None, ActiveLearner(0.5)]
    Study({"a": model()}, data=small_set(), orders=3, active=active).run()
    assert len(fits) == 3
    Study({"a": model()}, data=small_set(), orders=3, start=[None, 10]).run()
    assert fits[3:] == [20, 10]


def test_models_are_left_alone():
    given = model()
    Study({"a": given}, data=small_set(), orders=1).run()
    assert not hasattr(given, "learner_")


@pytest.mark.slow
def test_processes_give_the_same():
    assert same(make().run(), make().run(jobs=2))


def test_a_second_run_does_nothing(monkeypatch):
    study = make().run()
    fits = count_fits(monkeypatch)
    assert study.run() is study
    assert fits == []


def test_a_folder_goes_on_and_grows(monkeypatch, tmp_path):
    make(tmp_path, orders=2).run()
    fits = count_fits(monkeypatch)
    again = make(tmp_path, orders=2)
    assert again.done == 4
    again.run()
    assert fits == []
    grown = make(tmp_path, orders=4)
    assert (grown.done, grown.total) == (4, 8)
    assert same(grown.run(), make(orders=4).run())
    more = {"a": model(), "c": model(beta=1.0)}
    other = Study(more, data=[small_set(), small_set("other", seed=3)], folder=tmp_path, orders=2)
    assert (other.done, other.total) == (2, 8)


def test_only_what_is_wanted_is_run(tmp_path):
    sets = {"one": small_set(), "two": small_set(seed=3)}
    models = {"a": model(), "b": model(correlation="none"), "c": model(beta=1.0)}

    def wanted(data, name, order):
        return name == "a" or (name == "b" and order == 0) or (name == "c" and data == "two")

    study = Study(models, data=sets, orders=2, only=wanted).run()
    assert (study.done, study.total) == (8, 8)
    assert study.table()["orders"].to_dict() == {
        ("one", "a"): 2,
        ("one", "b"): 1,
        ("two", "a"): 2,
        ("two", "b"): 1,
        ("two", "c"): 2,
    }
    pairs = [("one", "b"), ("two", "b"), ("two", "c")]
    assert list(study.differences().index) == pairs
    assert study.comparisons(["pa"]) == 3
    assert "differences_pa.svg" in study.write(tmp_path)
    with pytest.raises(ValueError, match="c on one, order 0 is not run yet"):
        study.result("c", "one")


def test_records_say_everything(tmp_path):
    study = make(tmp_path, seed=2).run()
    facts = study.findings.facts("small", "b", 1)
    parameters = facts["parameters"]["model"]
    assert parameters["class"].endswith("EFCMLClassifier")
    assert parameters["parameters"]["correlation"] == "none"
    assert (facts["order"], facts["seed"], facts["method"]) == (1, 2, "m1")
    assert {"efcml", "numpy", "numba"} <= set(facts["versions"])
    assert facts["fingerprint"] == study.plan.data["small"].fingerprint
    with np.load(tmp_path / "runs" / file_name("b on small, order 1")) as file:
        assert file["scores"].shape == (24, 3)
        assert json.loads(file["facts"].item()) == facts


def test_seeds_shuffle_differently():
    first, second = (make(seed=seed).run() for seed in (0, 1))
    assert np.array_equal(first.result("a", order=0).scores, second.result("a", order=0).scores)
    assert not np.array_equal(first.result("a", order=1).Y, second.result("a", order=1).Y)


def test_a_changed_method_is_noticed(monkeypatch, tmp_path):
    make(tmp_path).run()
    keep_method(monkeypatch, "m2")
    changed = make(tmp_path)
    assert changed.done == 0
    with pytest.raises(ValueError, match=r"nothing has been run yet: call study.run\(\) first"):
        changed.table()
    changed.run()
    assert changed.done == 6
    keep_method(monkeypatch, "m1")
    assert make(tmp_path).done == 0


@pytest.mark.parametrize("cut", [0, 100])
def test_a_cut_file_is_made_again(tmp_path, cut):
    study = make(tmp_path).run()
    file = tmp_path / "runs" / file_name("a on small, order 2")
    file.write_bytes(file.read_bytes()[:cut])
    again = make(tmp_path)
    assert again.done == 5
    assert same(again.run(), study)


def test_a_folder_goes_with_its_study():
    study = make()
    place = study.folder.path
    assert place.exists()
    del study
    assert not place.exists()


def test_interrupted_and_taken_up(monkeypatch):
    study, stream = make(), cell_run.stream
    done = []

    def interrupt(*given):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(1)
        return stream(*given)

    monkeypatch.setattr(cell_run, "stream", interrupt)
    with pytest.raises(StudyInterrupted, match=r"^after 4 of 6 runs; run\(\) goes on from there$"):
        study.run()
    assert study.done == 4
    assert study.table().loc[("small", "b"), "orders"] == 1
    monkeypatch.setattr(cell_run, "stream", stream)
    assert same(study.run(), make().run())


LONG = """
import sys
from efcml import EFCMLClassifier, Study, datasets
from efcml.studies import provenance
provenance.method = lambda: "m1"
ds = datasets.load("stationary-clusters", n=500, n_initial=100)
models = Study.vary(EFCMLClassifier(prior=1.0), correlation=["shift", "none"])
study = Study(models, data=ds, orders=8, folder=sys.argv[1])
study.run(jobs=int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_and_resumed(tmp_path, jobs):
    """The whole group of processes is killed, as by the power switch."""
    command = [sys.executable, "-c", LONG, str(tmp_path / "kept"), str(jobs)]
    env = os.environ | {"PYTHONPATH": PATH}
    process = subprocess.Popen(command, env=env, start_new_session=True)
    try:
        end = time.monotonic() + 120
        while len(list(tmp_path.glob("kept/runs/*.npz"))) < 3:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < end
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    ds = datasets.load("stationary-clusters", n=500, n_initial=100)
    models = Study.vary(EFCMLClassifier(prior=1.0), correlation=["shift", "none"])
    resumed = Study(models, data=ds, orders=8, folder=tmp_path / "kept")
    assert 3 <= resumed.done < 16
    assert same(resumed.run(), Study(models, data=ds, orders=8).run())


class Deadly(EFCMLClassifier):
    """Ends its process when it is fitted, unless that is where it was made."""

    home = os.getpid()

    def __init__(self):
        super().__init__(prior=1.0)
        self.born = os.getpid()

    def fit(self, X, Y):
        if os.getpid() != self.born:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, Y)


@pytest.mark.slow
def test_a_worker_that_dies():
    study = Study({"good": model(), "deadly": Deadly()}, data=small_set(), orders=2)
    with pytest.raises(RuntimeError, match="a process was ended from outside") as caught:
        study.run(jobs=2)
    assert "\n" not in str(caught.value)
    study.run()  # in this process it does no harm
    assert study.done == 4


def test_an_error_names_its_run():
    study = Study({"bad": Broken()}, data=small_set(), orders=1)
    with pytest.raises(RuntimeError) as caught:
        study.run()
    assert str(caught.value) == "bad on small, order 0: ZeroDivisionError: it broke"


class Broken:
    """Cannot learn."""

    def partial_fit(self, X, Y):
        raise ZeroDivisionError("it\nbroke")

    def predict(self, X):
        return np.zeros((len(X), 3))


def test_batches_are_split_for_idle_workers():
    study = make(orders=6)
    batches, _ = study.plan.missing(study.folder)
    assert [len(batch.passes) for batch in batches] == [6, 6]
    assert split(batches, 2) == batches
    parts = split(batches, 3)
    assert sorted(len(batch.passes) for batch in parts) == [3, 3, 6]
    assert sorted(len(batch.passes) for batch in split(batches, 100)) == [1] * 12


def test_a_bar_follows_the_folder(monkeypatch, capsys):
    monkeypatch.setattr(watch, "EVERY", 0.01)
    make().run(progress=True)
    assert "study" in capsys.readouterr().err


# -- bad input ------------------------------------------------------------------------------

GOOD = {"a": model()}
X, Y = rows()


@pytest.mark.parametrize(
    ("models", "data", "words"),
    [
        ({}, "small", "there are no models: give at least one"),
        ({"a": 3}, "small", "'a' is no model that learns from a stream but of type int: give one"),
        ({"a": EFCMLClassifier}, "small", "'a' is the class EFCMLClassifier: give a model of it"),
        ({3: model()}, "small", "names of models must be words; got 3"),
        ([model()], "small", "give models with their names, as in"),
        (model(), "small", "give models with their names, as in"),
        ([("a", model()), (" a ", model())], "small", "two variants are named 'a'"),
        ({"a": Variant(model(), delay=-1)}, "small", "delay of 'a' must be a whole number >= 0"),
        ({"a": Variant(model(), start=1.5)}, "small", "start of 'a' must be a number of rows, or"),
        ({"a": Variant(model(), start=44)}, "small", "small has 44 rows, of which 44 are the"),
        ({"a": Variant(model(), active=3)}, "small", "active of 'a' must be an ActiveLearner"),
        (
            {"a": Variant(model(), active=ActiveLearner(), delay=3)},
            "small",
            "'a' asks for labels: leave delay and learn as they are",
        ),
        (
            {"a": Variant(Broken(), active=ActiveLearner())},
            "small",
            "that needs an EFCMLClassifier",
        ),
        (GOOD, [], "there is no data: give at least one data set"),
        (GOOD, "emotonis", "there is no data set 'emotonis': did you mean 'emotions'?"),
        (GOOD, 3, "data is of type int: give names of data sets, datasets, or pairs"),
        (GOOD, [3], "3 is no data set: give names"),
        (GOOD, X, "a table alone does not say which columns are labels"),
        (GOOD, [(X, Y), (X, Y)], "two data sets are named 'data': name them"),
        (GOOD, (X[:3], Y), "X has 3 rows and Y has 44"),
    ],
)
def test_bad_models_and_data(models, data, words):
    data = small_set() if isinstance(data, str) and data == "small" else data
    with pytest.raises((ValueError, TypeError), match="^") as caught:
        Study(models, data=data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"orders": 0}, "orders must be a whole number from 1 to 1000; got 0"),
        ({"orders": []}, "orders is empty"),
        ({"orders": [1, 1]}, "orders has the same one twice"),
        ({"orders": "ten"}, "orders must be a whole number"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"delay": []}, "delay is an empty list"),
        ({"delay": [3, 3]}, "two variants are named 'a, 3 rows late'"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match="^") as caught:
        Study(GOOD, data=small_set(), **options)
    assert words in str(caught.value)


def test_bad_questions(tmp_path):
    study = make()
    for call, words in (
        (lambda: study.table(), "nothing has been run yet"),
        (lambda: study.differences("b"), "are not run yet on small: call study.run()"),
        (lambda: study.plot("pa"), "nothing has been run yet on small"),
        (lambda: study.result("c"), "there is no model 'c': choose from a, b"),
        (lambda: study.result("a", "big"), "there is no data set 'big': choose from small"),
        (lambda: study.result("a", order=9), "there is no order 9: choose from 0, 1, 2"),
        (lambda: study.result("a"), "a on small, order 0 is not run yet"),
        (lambda: study.plot("accuracy"), "there is no measure 'accuracy'"),
        (lambda: study.run(jobs=0), "jobs must be a number of processes"),
        (lambda: study.run(jobs=2, dask="tcp://nowhere"), "give either jobs or dask"),
        (lambda: Study.vary(model(), beat=[1]), "has no parameter 'beat': did you mean 'beta'?"),
        (lambda: Study.vary(model(), beta=1), "beta is 1: give a list of values"),
        (lambda: Study.vary(model(), correlation="none"), "give a list of values"),
        (lambda: Study.vary(model(), beta=[]), "one of the lists is empty"),
        (lambda: Study.vary(model(), beta=[1, 1]), "two variants are named 'beta=1'"),
        (lambda: Study.vary(Broken(), beta=[1]), "needs a model with set_params"),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert words in str(caught.value)
    single = Study(GOOD, data=small_set(), orders=1).run()
    with pytest.raises(ValueError, match="a single model has no differences: give at least two"):
        single.differences()


def test_folders_of_others(tmp_path):
    make(tmp_path / "first")
    place = str(tmp_path / "first")
    for other, reason in (
        ({"models": {"a": model(beta=3.0)}}, "'a' is something else there"),
        ({"data": small_set(seed=5)}, "'small' is something else there"),
        ({"seed": 4}, "its seed is 0, not 4"),
    ):
        given = {"models": GOOD, "data": small_set()} | other
        with pytest.raises(ValueError, match="has records of another study") as caught:
            Study(**given, folder=place)
        assert reason in str(caught.value)
    for text in ("{}", "no JSON", '{"format": 99, "seed": 0}'):
        (tmp_path / "first" / "study.json").write_text(text)
        with pytest.raises(ValueError, match="is no record of a study that can be read"):
            make(place)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot write to"):
        make(tmp_path / "file")


def test_draws_with_two_starts_are_paired_where_both_had_samples(monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda name, seed=0: small_set(name, seed=seed))
    study = Study(GOOD, data="drifting-clusters", orders=2, start=[None, 0.25]).run()
    first, second = list(study.plan.variants)[:2]
    late, early = (study.plan.n_initial("drifting-clusters", name) for name in (first, second))
    gaps = []
    for order in (0, 1):
        one, two = (study.result(name, "drifting-clusters", order) for name in (first, second))
        rows = slice(late - early, None)
        gaps.append(measures.partial_accuracy(two.Y[rows], two.decisions[rows]) - one.pa)
    assert study.differences(second)["pa", "difference"].item() == pytest.approx(np.mean(gaps))


def test_draws_of_a_stream_are_orders_of_their_own(monkeypatch):
    """Measures are means over draws, and intervals know how much draws differ."""
    monkeypatch.setattr(datasets, "load", lambda name, seed=0: small_set(name, seed=seed))
    study = Study({"a": model(), "b": model(max_rules=1)}, data="drifting-clusters", orders=4).run()
    results = [study.result("b", "drifting-clusters", order) for order in range(4)]
    table = study.table(["macro_f1", "calibration_error"]).loc["drifting-clusters", "b"]
    for name in ("macro_f1", "calibration_error"):
        expected = np.mean([result.measure(name) for result in results])
        assert table[name] == pytest.approx(expected, abs=1e-12)
    first = [study.result("a", "drifting-clusters", order).pa for order in range(4)]
    gaps = np.array([result.pa for result in results]) - first
    found = study.differences("b", comparisons=1)["pa"].iloc[0]
    assert found["difference"] == pytest.approx(gaps.mean())
    assert found["high"] - found["low"] > 2.0 * gaps.std(ddof=1) / np.sqrt(4)


def word_table(n=90):
    """Return a data frame with a column of words, and labels, one by the words."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"genre": rng.choice(["rock", "pop"], n), "tempo": rng.normal(size=n)})
    labels = {"liked": table["genre"] == "rock", "fast": table["tempo"] > 0.0}
    return table, pandas.DataFrame(labels).astype(int)


def test_pipelines_see_data_frames_as_they_are(tmp_path):
    """Words and all; the result is that of `prequential` on the same frames."""
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from efcml import prequential

    X, Y = word_table()
    encode = ColumnTransformer([("words", OneHotEncoder(), ["genre"])], remainder="passthrough")
    pipeline = make_pipeline(encode, model())
    study = Study({"ours": pipeline}, {"songs": (X, Y)}, orders=2, folder=tmp_path).run(2)
    n = 27  # 30 % of the rows
    alone = prequential(clone(pipeline).fit(X[:n], Y[:n]), X[n:], Y[n:], progress=False)
    assert np.array_equal(study.result("ours", "songs").scores, alone.scores)
    again = Study({"ours": pipeline}, {"songs": (X, Y)}, orders=2, folder=tmp_path)
    assert not again.plan.missing(again.plan.open_folder(tmp_path))[0]
    others = X.replace("rock", "jazz")
    with pytest.raises(ValueError, match="records of another study"):
        Study({"ours": pipeline}, {"songs": (others, Y)}, orders=2, folder=tmp_path)
    with pytest.raises(RuntimeError, match=r"ours on songs, order 0: .*"):
        Study({"ours": model()}, {"songs": (X, Y)}, orders=1).run()


def test_data_frames_of_numbers_are_the_same_data_as_arrays():
    X, Y = word_table()
    numbers = X[["tempo"]]
    framed, plain = (
        Study({"ours": model()}, {"songs": data}, orders=2).run()
        for data in ((numbers, Y), (numbers.to_numpy(), Y.to_numpy()))
    )
    one, other = (study.plan.data["songs"].fingerprint for study in (framed, plain))
    assert one == other
    assert same(framed, plain)
