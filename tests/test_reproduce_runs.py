"""Runs of the experiments: which rows they take, what their records hold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.reproduce_files import METHOD, TINY, forget, tiny_set, use_tiny_sets, without_times

from efcml import ActiveLearner, EFCMLClassifier, prequential
from efcml.studies import provenance
from efcml_paper.plan import IDS, NAMES, Plan
from efcml_paper.run_records import STEPS, Records, pack, pack_shares, unpack, unpack_shares
from efcml_paper.runs import Asking, make_run, order_of
from efcml_paper.scale import FULL, SETS
from efcml_paper.work import curve_points, run_missing

FEW = {"max_rules": 3, "prior": 1.0}


@pytest.fixture
def execute(tmp_path):
    """Return what does a run and returns its record."""

    def one(run):
        records = Records(tmp_path / "records" / "runs.jsonl")
        records.path.parent.mkdir(exist_ok=True)
        records.path.unlink(missing_ok=True)
        records.by_key.clear()
        run_missing([run], records, {}, say=lambda line: None)
        return Records(records.path).of(run)

    return one


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny_sets(monkeypatch)
    yield
    forget()


# -- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "initial", "stream"),
    [
        ({}, (0, 20), (20, 40)),
        ({"start": "small"}, (0, 4), (4, 40)),
        ({"start": "inside"}, (0, 16), (16, 20)),
        ({"limits": (5, 7)}, (15, 20), (20, 27)),
        ({"start": "small", "limits": (3, 2)}, (1, 4), (4, 6)),
        ({"start": "inside", "limits": (10, None)}, (10, 18), (18, 20)),
        ({"start": "inside", "limits": (None, 100)}, (0, 16), (16, 20)),
    ],
)
def test_rows_of_a_run(change, initial, stream):
    rows, whole = replace(make_run("emotions"), **change).rows(), tiny_set("emotions")
    for part, expected in ((rows.initial, initial), (rows.stream, stream)):
        assert np.array_equal(part[0], whole.X[slice(*expected)])
        assert np.array_equal(part[1], whole.Y[slice(*expected)])


def test_orders_are_shuffles_of_the_same_rows():
    run = make_run("emotions")
    assert order_of(run, 9).tolist() == list(range(9))
    one, two = order_of(run.in_order(1), 9), order_of(run.in_order(2), 9)
    assert sorted(one) == sorted(two) == list(range(9))
    assert one.tolist() != two.tolist()
    assert one.tolist() == np.random.default_rng(1).permutation(9).tolist()


def test_an_order_of_a_built_in_stream_is_its_seed():
    run = make_run("drifting-clusters").in_order(3)
    assert order_of(run, 5).tolist() == list(range(5))
    assert np.array_equal(run.rows().X, tiny_set("drifting-clusters", seed=3).X)
    assert run.source.fingerprint != run.in_order(0).source.fingerprint
    assert (run.shuffle, run.cell[2]) == (0, 0)
    assert run.cell[0] != run.in_order(0).cell[0]


def test_keys_tell_runs_apart():
    run = make_run("emotions", vigilance=0.4)
    asking = Asking(0.1, "labels", ("novelty", "ambiguity"))
    others = [
        replace(run, dataset="birds"),
        replace(run, model="ovr"),
        replace(run, parameters=()),
        replace(run, start="small"),
        run.in_order(2),
        replace(run, asking=asking),
        replace(run, asking=asking._replace(budget=0.2)),
        replace(run, asking=asking._replace(unit="samples")),
        replace(run, asking=asking._replace(criteria=("random",))),
        replace(run, limits=(9, None)),
        replace(run, limits=(None, 9)),
        replace(run, alone=True),
    ]
    assert len({one.key for one in [run, *others]}) == 1 + len(others)
    assert len({one.cell for one in [run, *others]}) == 1 + len(others)
    assert make_run("emotions", alpha=0.0, vigilance=0.4) == make_run(
        "emotions", vigilance=0.4, alpha=0.0
    )


# -- what a run gives -----------------------------------------------------------------------


def test_a_record_holds_what_prequential_gives(execute):
    run = replace(make_run("emotions", **FEW), order=2)
    record = execute(run)
    ds, order = tiny_set("emotions"), 20 + np.random.default_rng(2).permutation(20)
    result = prequential(EFCMLClassifier(**FEW).fit(*ds.initial), ds.X[order], ds.Y[order])
    assert (record["pa"], record["ap"]) == (result.pa, result.ap)
    assert record["rules"] == result.rules[-1]
    assert record["most_rules"] == result.rules.max()
    assert (record["births"], record["merges"], record["drops"]) == (
        result.births,
        result.merges,
        result.drops,
    )
    right = ((result.scores >= 0.5) == result.Y).sum(axis=1)
    assert unpack(record["right"], "u1")[order - 20].tolist() == right.tolist()
    assert unpack(record["curve"], "u2").tolist() == result.rules.tolist()
    ap = unpack_shares(record["ap_rows"])
    none = ~ds.Y[20:].any(axis=1)  # in the order of the file
    assert none[17]
    assert np.isnan(ap).tolist() == none.tolist()
    assert abs(np.nanmean(ap) - result.ap) < 0.5 / STEPS
    assert record["asked"] == 1.0
    assert record["parameters"] == FEW
    assert record["seed"] == record["order"] == 2
    assert set(record["versions"]) == {"efcml", "python", "numpy", "numba", "scipy"}
    assert record["machine"]["cores"] >= 1
    assert json.loads(json.dumps(record)) == record


def test_runs_repeat_exactly_whatever_was_run_before(execute):
    run = make_run("water-quality", **FEW)
    first = execute(run)
    execute(run.in_order(1))
    assert without_times(first) == without_times(execute(run))
    assert first["seconds"] > 0


def test_static_models_learn_nothing(execute):
    run = make_run("emotions", "static", **FEW)
    record = execute(run)
    ds = tiny_set("emotions")
    clf = EFCMLClassifier(**FEW).fit(*ds.initial)
    assert record["pa"] == clf.score(*ds.stream)
    assert record["asked"] == 0.0


def test_budgets_and_seeds_of_random_questions(execute):
    asking = Asking(0.3, "labels", ("random",))
    run = replace(make_run("emotions", **FEW, asking=asking), order=1)
    ds, order = tiny_set("emotions"), 20 + np.random.default_rng(1).permutation(20)
    active = ActiveLearner(0.3, "labels", ("random",), random_state=1)
    clf = EFCMLClassifier(**FEW).fit(*ds.initial)
    result = prequential(clf, ds.X[order], ds.Y[order], active=active)
    record = execute(run)
    assert record["pa"] == result.pa
    assert record["asked"] == pytest.approx(active.share)
    assert record["asking"] == {"budget": 0.3, "unit": "labels", "criteria": ["random"]}
    assert record["ap_rows"] is None
    assert execute(replace(run, dataset="mediamill"))["ap_rows"] is not None


def test_a_rule_that_runs_away_is_noted_without_a_word(execute):
    printed = EFCMLClassifier.paper().get_params()
    wild = {"alpha": 0.1, "beta": 50.0, "correlation": "paper", "lipschitz": "paper"}
    wild |= {name: printed[name] for name in ("bandwidth", "prior", "n_steps")}
    assert execute(make_run("emotions", **wild, weight_limit=2.0, max_rules=3))["diverged"]
    assert not execute(make_run("emotions", **FEW))["diverged"]


def test_an_error_names_the_run(execute):
    with pytest.raises(RuntimeError, match=r"emotions, efcml\(vigilance=-1\).*: ValueError: vigil"):
        execute(make_run("emotions", vigilance=-1))


def test_the_method_is_known_by_its_answers_and_defaults(monkeypatch):
    first = METHOD()
    METHOD.cache_clear()
    assert METHOD() == first
    METHOD.cache_clear()
    monkeypatch.setattr(provenance, "defaults", lambda: {"efcml": {"vigilance": 0.7}})
    assert METHOD() != first
    METHOD.cache_clear()
    monkeypatch.undo()
    use_tiny_sets(monkeypatch)
    monkeypatch.setattr(
        EFCMLClassifier, "fit", lambda self, X, Y, fit=EFCMLClassifier.fit: fit(self, X, 1 - Y)
    )
    assert METHOD() != first


# -- packing --------------------------------------------------------------------------------


def test_packed_arrays_come_back(rng):
    values = rng.integers(0, 60000, 300)
    assert unpack(pack(values, "u2"), "u2").tolist() == values.tolist()
    shares = rng.random(300)
    shares[::7] = np.nan
    back = unpack_shares(pack_shares(shares))
    assert np.isnan(back).tolist() == np.isnan(shares).tolist()
    assert np.nanmax(abs(back - shares)) <= 0.5 / STEPS + 1e-12
    exact = np.array([0.0, 0.5, 1.0])
    assert unpack_shares(pack_shares(exact)).tolist() == exact.tolist()


def test_curves_are_thinned_out():
    kept = curve_points(1000)
    assert (len(kept), kept[0], kept[-1]) == (200, 0, 999)
    assert curve_points(1).tolist() == [0]


# -- plans ----------------------------------------------------------------------------------


def plan_of(scale, tmp_path, choices=None):
    return Plan(scale, choices or {}, Records(tmp_path / "runs.jsonl"))


CHOICE = {"parameters": {"vigilance": 0.4, "alpha": 0.1, "beta": 1.0, "max_rules": 40}}


def test_trends_are_run_tuned_and_with_defaults(tmp_path):
    plan = plan_of(FULL, tmp_path, {"birds": CHOICE})
    lines = plan.lines("pa-trends")["birds"]
    assert lines["EFC-ML"].run == make_run("birds", **CHOICE["parameters"])
    assert lines["static"].run == make_run("birds", "static", **CHOICE["parameters"])
    assert lines["least squares only"].run == make_run(
        "birds", "rfwls", vigilance=0.4, max_rules=40
    )
    assert "one-versus-rest" not in lines  # its search is not done
    assert lines["EFC-ML"].orders == lines["EFC-ML, default"].orders == tuple(range(11))
    assert lines["one-versus-rest, default"].orders == (0,)
    assert set(plan.lines("rule-counts")) == {"emotions", "water-quality"}
    assert set(plan.lines("pa-trends")) == set(SETS)
    assert "EFC-ML" not in plan.lines("pa-trends")["yeast"]


def test_runs_are_shared_between_experiments(tmp_path):
    plan = plan_of(FULL, tmp_path)
    runs = {name: set(plan.runs(name)) for name in IDS}
    assert runs["pa-trends"] == runs["ap-trends"] > runs["rule-counts"]
    assert len(runs["al-labels"] & runs["al-samples"]) == 2 * 2 * 4 * 11  # full update, static
    assert len(runs["al-instability"] & runs["al-labels"]) == 2 * 4 * 11
    assert all(run.alone for run in runs["speed"])
    assert not any(run.alone for run in runs["pa-trends"])


def test_searches_of_rivals_stay_inside_the_initial_part(tmp_path):
    plan = plan_of(FULL, tmp_path)
    searches = plan.searches("rule-counts")
    assert len(searches) == 2 * 2 * 5 * 2
    assert len(plan.searches("pa-trends")) == 2 * 2 * (5 + 3) * 2  # fewer on the wide sets
    assert {run.start for run in searches} == {"inside"}
    sparse = [dict(run.parameters) for run in searches if "alpha" in dict(run.parameters)]
    assert {one["correlation"] for one in sparse} == {"shift"}  # or L1 would be off
    assert plan.searches("al-labels") == plan.searches("mediamill") == []


def test_the_ablation_changes_one_thing_or_a_pair(tmp_path):
    lines = plan_of(FULL, tmp_path).lines("ablation")
    assert set(lines) == {*SETS, "drifting-clusters"}
    assert lines["birds"]["bandwidth p/2"].run == make_run("birds", bandwidth=130.0)
    assert lines["birds"]["default"].run == make_run("birds")
    both = lines["yeast"]["no merging + input space"].run
    assert both == make_run("yeast", merging=False, product_space=False)
    assert list(lines["drifting-clusters"]) == [
        "default",
        "nothing forgotten",
        "forgetting .999",
        "forgetting .995",
        "no cases",
        "no cases + forgetting .995",
    ]
    printed = dict(lines["yeast"]["all as printed"].run.parameters)
    assert EFCMLClassifier(**printed).get_params() == EFCMLClassifier.paper().get_params()
    keys = [line.run.key for line in lines["yeast"].values()]
    assert len(set(keys)) == len(keys)


def test_mediamill_names_what_is_cut(tmp_path):
    plan = plan_of(TINY, tmp_path, {"mediamill": CHOICE})
    lines = plan.lines("mediamill")["mediamill"]
    assert lines["chain"].run == make_run("mediamill", "chain", limits=(None, 15), max_rules=3)
    assert lines["EFC-ML"].run == make_run("mediamill", limits=(None, 15), **CHOICE["parameters"])
    assert {NAMES["rls"], NAMES["frequencies"]} <= set(lines)
    full = plan.lines("al-mediamill")["mediamill"]["full update"]
    assert full == lines["EFC-ML, default"]
