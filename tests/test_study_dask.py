"""A study on a Dask cluster: real workers on this machine, one of them killed."""

import signal

import pytest
from helpers.study_files import keep_method, model, same, small_set
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_tuning_dask import processes, start_scheduler, start_worker

from efcml import ActiveLearner, EFCMLClassifier, Study, datasets
from efcml.studies import study_work
from efcml.support import cluster

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def method(monkeypatch):
    keep_method(monkeypatch)


def test_threads_of_a_cluster_give_the_same():
    def make():
        active = [None, ActiveLearner.random(0.5)]
        models = {"a": model(), "scaled": make_pipeline(StandardScaler(), model())}
        return Study(models, data=[small_set()], orders=2, active=active)

    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as place,
        distributed.Client(place) as client,
    ):
        assert same(make().run(dask=client), make().run())


@pytest.mark.slow
def test_a_worker_is_killed_in_the_middle(tmp_path, monkeypatch):
    ds = datasets.load("stationary-clusters", n=400, n_initial=100)
    models = Study.vary(EFCMLClassifier(prior=1.0), beta=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    write, killed = study_work.write_record, []
    with processes() as start:
        _, address = start_scheduler(start, tmp_path)
        victim = start_worker(start, tmp_path, address, "victim")
        start_worker(start, tmp_path, address, "other")
        with distributed.Client(address, timeout="30s") as client:
            client.wait_for_workers(2, timeout=60)

            def kill(*record):
                write(*record)
                if not killed:
                    killed.append(sum(map(len, client.processing().values())))
                    victim.send_signal(signal.SIGKILL)
                    victim.wait()

            monkeypatch.setattr(study_work, "write_record", kill)
            found = Study(models, data=ds, orders=3).run(dask=address)
            assert len(client.scheduler_info()["workers"]) == 1
    assert victim.returncode == -signal.SIGKILL
    assert killed[0] > 0, "nothing was left to do"
    monkeypatch.setattr(study_work, "write_record", write)
    assert same(found, Study(models, data=ds, orders=3).run())


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 0.5)
    study = Study({"a": model()}, data=small_set(), orders=1)
    with pytest.raises(ValueError, match="no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        study.run(dask="tcp://127.0.0.1:9")
