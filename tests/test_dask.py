"""Studies and searches on a Dask cluster: the same numbers, and errors that say what to do."""

import numpy as np
import pytest
from helpers.streams import random_rows
from helpers.study_files import model, same, small_set

from efcml import ActiveLearner, EFCMLClassifier, Study, register
from efcml.active import CRITERIA, Criterion
from efcml.studies import Variant, workers
from efcml.tuning import tune

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.long

GRID = {"vigilance": [0.1, 0.2, 0.3]}


@pytest.fixture(scope="module")
def inside():
    """A client of a cluster in this very process."""
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    return random_rows(np.random.default_rng(5), 60, 8, 3)


def search_with(rows, **options):
    return tune(
        *rows, EFCMLClassifier(prior=1.0), **({"grid": GRID, "folds": 3, "block": 1} | options)
    )


def test_a_cluster_gives_the_same(inside, rows):
    expected = search_with(rows)
    assert search_with(rows, dask=inside) == expected
    assert search_with(rows, dask=inside.cluster) == expected

    def make():
        asks = Variant(model(), active=ActiveLearner.random(0.5))
        return Study({"a": model(), "asks": asks}, data=small_set(), orders=2)

    assert same(make().run(dask=inside), make().run())


def test_workers_get_what_is_registered():
    """Of a worker that is a process of its own."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    register("split", "of this test", lambda S, p: np.eye(p)[-1])
    CRITERIA["of this test"] = Criterion("every other", lambda row: row.scores[0] > 0.5)
    asks = Variant(model(), active=ActiveLearner(0.5, criteria=("of this test",)))

    def make():
        models = {"cut": model(splitting="of this test"), "asks": asks}
        return Study(models, small_set(), orders=1)

    try:
        with distributed.LocalCluster(**options) as place:
            assert same(make().run(dask=place), make().run())
    finally:
        del CRITERIA["of this test"]


def test_errors_of_workers(inside, rows, monkeypatch):
    def fail(*given):
        raise RuntimeError("vigilance 0.3 failed")

    monkeypatch.setattr(workers, "do_run", fail)
    with pytest.raises(RuntimeError, match=r"^vigilance 0\.3 failed$"):
        search_with(rows, dask=inside)


def test_other_versions_lost_schedulers_and_nobody_there(inside, rows, tmp_path, monkeypatch):
    future = inside.submit(workers.run_on_worker, None, None, "", "other", {}, pure=False)
    with pytest.raises(
        RuntimeError, match="has other code of efcml, .*, than this process, other:"
    ):
        future.result()
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        search_with(rows, dask="127.0.0.1:1", folder=tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(workers, "PATIENCE", 0.3)
    monkeypatch.setattr(workers, "LOOK_EVERY", 0.1)
    options = {"processes": False, "n_workers": 0, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as place:
        with pytest.raises(TimeoutError):
            search_with(rows, dask=place)
