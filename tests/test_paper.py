"""The paper's experiments and the evidence: what is run, how claims are judged, little data."""

import json

import numpy as np
import pytest
from helpers.models import QUICK

from efcml import EFCMLClassifier, Study, datasets
from efcml.studies import Variant
from efcml_paper import claims, plan, session


@pytest.fixture(scope="module")
def study():
    """A model, the same without learning, on a stream whose labels turn round in the middle."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = ((X[:, :2] > 0.0) ^ (np.arange(400) >= 250)[:, None]).astype(float)
    ds = datasets.from_arrays(X, Y, n_initial=100, name="turn")
    model = EFCMLClassifier(**QUICK)
    models = {"live": model, "again": model, "static": Variant(model, learn=False)}
    return Study(models, ds, orders=1, block=1).run()


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (claims.above("pa", "live", "static"), claims.HOLDS),
        (claims.above("pa", "static", "live"), claims.REFUTED),
        (claims.above("pa", "live", "again"), claims.OPEN),
        (claims.below("pa", "static", "live", "again"), claims.HOLDS),
        (claims.level("pa", "live", "again", 0.01), claims.HOLDS),
        (claims.level("pa", "live", "static", 0.01), claims.REFUTED),
        (claims.no_loss("pa", "live", "static", 0.01), claims.HOLDS),
        (claims.about("pa", "live", "static", 0.01), claims.REFUTED),
        (claims.leads("pa", "live", "static"), claims.HOLDS),
        (claims.leads("pa", "static", "live"), claims.REFUTED),
        (claims.falls("pa", "static"), claims.HOLDS),
        (claims.kept_near("live", {"turn": 18}), claims.HOLDS),
        (claims.kept_near("live", {"turn": 90}), claims.REFUTED),
        (claims.more_rules(100, "live", "static"), claims.REFUTED),
        (claims.more_rules(0, "live", "static"), claims.HOLDS),
    ],
)
def test_claims_are_judged_by_intervals_and_numbers(study, check, answer):
    claim = claims.Claim("pa-trends", "words", check, ("turn",))
    verdict, found = claim.judge(study, 3)
    assert verdict == answer == found["turn"][0]
    assert any(sign.isdigit() for sign in found["turn"][1])


def test_times_are_compared_with_those_printed(study, monkeypatch):
    table = study.table("pa")
    ratio = table.loc[("turn", "again"), "ms_per_sample"] / table["ms_per_sample"].iloc[0]
    for factor, answer in ((0.5, claims.HOLDS), (1.0, claims.OPEN), (2.0, claims.REFUTED)):
        monkeypatch.setitem(claims.SECONDS, "turn", (1.0, factor * ratio, 0.0))
        assert claims.times_faster("live", "again", 1)(study, "turn", 1)[0] == answer


EACH = pytest.mark.parametrize("experiment", plan.EXPERIMENTS)


def sets_of(experiment):
    return (plan.LARGE,) if experiment in session.NEEDS_LARGE else plan.SETS


@EACH
def test_every_claim_names_data_of_its_experiment(experiment, need):
    need(*sets_of(experiment))
    make, measures = plan.EXPERIMENTS[experiment]
    made = make(True)
    sets = {ds.name for ds in made["data"]}
    assert set(measures) <= {"pa", "ap"} and made["orders"] == 1
    assert all(len(ds) <= plan.QUICK_ROWS for ds in made["data"])
    own = [claim for claim in claims.CLAIMS if claim.experiment == experiment]
    assert all(set(claim.sets) <= sets for claim in own)
    assert own or experiment == "ablation"


def test_there_is_a_check_for_every_claim_and_set():
    assert claims.CHECKS == sum(len(claim.sets) for claim in claims.CLAIMS) > 80


def test_an_experiment_is_one_call(tmp_path, monkeypatch, need):
    need(*plan.SETS)
    tiny = lambda quick: plan.compared(True, ("water-quality",), 1)  # noqa: E731
    monkeypatch.setitem(plan.EXPERIMENTS, "speed", plan.Experiment(tiny, ("pa",)))
    own = [claim for claim in claims.CLAIMS if claim.experiment == "speed"]
    ours = [claims.Claim(c.experiment, c.words, c.check, ("water-quality",)) for c in own]
    monkeypatch.setattr(session, "CLAIMS", ours)
    said = []
    lines = session.reproduce(("speed",), tmp_path, say=said.append, jobs=1)
    assert [line["experiment"] for line in lines] == ["speed", "speed"]
    assert "printed" in lines[0]["numbers"] and "one-versus-rest" in said[1]
    assert (tmp_path / "speed" / "report.html").exists()
    rows = (tmp_path / "verdicts.md").read_text().splitlines()
    assert len(rows) == 4 and rows[0].startswith("| experiment | claim")


def test_names_of_experiments():
    assert session.choose_ids("all", False) == tuple(plan.EXPERIMENTS)
    assert "mediamill" not in session.choose_ids("all", True)
    with pytest.raises(ValueError, match="there is no experiment 'x': choose all or one of pa-tr"):
        session.choose_ids("x", False)


@pytest.mark.long
@EACH
def test_every_claim_can_be_judged_on_little_data(experiment, tmp_path, need):
    need(*sets_of(experiment))
    study = Study(**plan.EXPERIMENTS[experiment].make(True), folder=tmp_path)
    found = session.judge(experiment, study.run())
    assert all(line["verdict"] and line["numbers"] for line in found)


@pytest.mark.long
def test_all_records_on_little_data(tmp_path, monkeypatch, need):
    need(*plan.SETS)
    evidence = pytest.importorskip("evidence")
    records = evidence.jobs_of(tmp_path, 1, True)
    assert evidence.make_records(list(records), tmp_path, tmp_path, 1, True) == []
    for name in records:
        record = json.loads((tmp_path / f"{name}.json").read_text())
        assert record["lines"] and record["made"]["method"] == evidence.method()
    monkeypatch.setattr(evidence, "jobs_of", lambda *given: {"broken": lambda: 1 / 0})
    assert evidence.make_records([], tmp_path, tmp_path, 1, True) == ["broken"]
