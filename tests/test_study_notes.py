"""What runs of a study note of their models: kept, the same everywhere, never mixed."""

from functools import partial

import numpy as np
import pytest
from helpers.study_files import keep_method, model, small_set

from efcml import Study
from efcml.studies.noting import describe_note


@pytest.fixture(autouse=True)
def method(monkeypatch):
    keep_method(monkeypatch)


def make(folder=None, note=None, orders=2):
    models = {"a": model(), "b": model(correlation="none")}
    return Study(models, data=small_set(), orders=orders, folder=folder, note=note)


def weights(clf, result):
    """Return something of the model, and something of the result."""
    W = clf.learner_.rules.W
    return {"largest": float(np.abs(W).max()), "shape": list(W.shape), "pa": result.pa}


def all_notes(study):
    return [study.noted(name, order=order) for name in study.models for order in study.plan.orders]


def test_it_is_of_the_model_after_the_last_row():
    study = make(note=weights).run()
    ds = small_set()
    clf = model().fit(*ds.initial)
    before = weights(clf, study.result("a"))
    clf.partial_fit(*ds.stream)
    assert study.noted() == study.noted("a", "small", 0) == weights(clf, study.result("a"))
    assert study.noted() != before
    assert len({str(found) for found in all_notes(study)}) == 4


@pytest.mark.slow
def test_processes_note_the_same():
    here = make(note=weights).run()
    assert all_notes(make(note=weights).run(jobs=2)) == all_notes(here)
    closed = 7  # goes to the processes with the function
    study = make(note=lambda clf, result: {"closed": closed}).run(jobs=2)
    assert all_notes(study) == [{"closed": 7}] * 4


def test_threads_of_a_cluster_note_the_same():
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        assert all_notes(make(note=weights).run(dask=client)) == all_notes(make(note=weights).run())


def test_another_note_is_not_mixed_in(tmp_path):
    make(tmp_path).run()
    first = make(tmp_path, weights)
    assert first.done == 0, "nothing was noted yet"
    first.run()
    assert make(tmp_path, weights, orders=3).done == 4, "the same note goes on"
    assert make(tmp_path).done == 4, "the runs are the same"
    other = make(tmp_path, lambda clf, result: {"rules": clf.n_rules_})
    assert other.done == 0
    with pytest.raises(ValueError, match="a on small, order 0 is not run yet"):
        other.noted()
    assert list(other.run().noted()) == ["rules"]
    assert first.done == 0


class Noting:
    def __init__(self, share):
        self.share = share

    def __repr__(self):
        return f"Noting({self.share})"

    def __call__(self, clf, result):
        return {"share": self.share}

    def other(self, clf, result):
        return {"other": self.share}


def holding(value, default=0):
    def note(clf, result, default=default):
        return {"value": str(value)} if default in {"a", "b", "c"} else {}

    return note


def with_extra(extra, clf, result, word=""):
    return {"extra": str(extra), "word": word}


def test_what_tells_notes_apart():
    rows = np.arange(5000.0)
    moved = rows.copy()
    moved[2500] = 0.0  # left out where arrays are printed
    notes = [
        weights,
        holding(1),
        holding(2),
        holding(1, default=1),
        holding(rows),
        holding(moved),
        holding({"rows": rows}),
        holding({"rows": moved}),
        partial(with_extra, 1),
        partial(with_extra, 2),
        partial(with_extra, 1, word="b"),
        Noting(1),
        Noting(2),
        Noting(1).other,
        print,
        lambda clf, result: {"a": 1},
        lambda clf, result: {"a": 2},
        lambda clf, result: {"a": clf.n_rules_},
        lambda clf, result: {"a": clf.n_labels_},
    ]
    texts = [describe_note(note) for note in notes]
    assert len(set(texts)) == len(texts)
    again = [holding(rows), partial(with_extra, 2), Noting(1), Noting(1).other]
    assert [describe_note(note) for note in again] == [texts[at] for at in (4, 9, 11, 13)]


@pytest.mark.parametrize(
    "found",
    [
        None,
        [1],
        {1: 2},
        {"a": np.arange(2)},
        {"a": np.int64(1)},
        {"a": (1, 2)},
        {"a": {"b": [{3: 4}]}},
    ],
)
def test_what_is_refused(found):
    with pytest.raises(RuntimeError) as caught:
        make(note=lambda clf, result: found).run()
    told = str(caught.value)
    assert told.startswith("a on small, order 0: TypeError: note must return a dict of numbers")
    assert "\n" not in told


def test_plain_values_come_back():
    found = {"a": [1, 2.5, None, True], "b": {"c": "text", "d": []}, "e": np.float64(0.5)}
    assert make(note=lambda clf, result: found).run().noted() == found


def test_bad_notes():
    with pytest.raises(TypeError, match="note must be a function of model and result; got 3"):
        make(note=3)
    with pytest.raises(ValueError, match="nothing is noted: give Study a function"):
        make().run().noted()
    with pytest.raises(ValueError, match="there is no order 9: choose from 0, 1"):
        make(note=weights).noted(order=9)
