"""What the benchmarks derive from their figures, and the tables of docs/speed.md."""

import json
import sys

import numpy as np
import pytest
from helpers.streams import random_rows
from helpers.tool_files import ROOT, load_tool

from efcml.model.learner import Learner
from efcml.model.params import Params

pytestmark = pytest.mark.plain

FOLDER = "experiments/benchmarks"
tables = load_tool("speed_tables")


@pytest.fixture(scope="module")
def benchmarks():
    """Return a function that loads a benchmark, whose neighbours it imports."""
    sys.path.insert(0, str(ROOT / FOLDER))
    yield lambda name: load_tool(name, FOLDER)
    sys.path.remove(str(ROOT / FOLDER))


def model(pa, ms, title="other", rows=100, **ours):
    """Return the record of a model; ours are given as (pa, ms)."""
    ours = ours or {"efcml": (0.80, 1.0)}
    return {
        "title": title,
        "pa": pa,
        "ap": 0.5,
        "ms": ms,
        "rows": rows,
        "made_of": {"trees": 6},
        "versions": {"python": "3", "river": "0.26"},
        "ours": {
            name.replace("_", "-"): {"pa": own, "ms": time} for name, (own, time) in ours.items()
        },
    }


def a_set(**models):
    models = {"efcml": model(0.80, 1.0, "efcml"), **models}
    sizes = {"n_initial": 50, "n_stream": 100, "p": 7, "K": 3, "pa_of_no_label": 0.785}
    return sizes | {"missing": {}, "models": models}


# -- growth -----------------------------------------------------------------------------------


def test_slope_of_a_power_is_its_exponent(benchmarks):
    sizes = np.array([50, 100, 200, 400])
    slope, error = benchmarks("scaling").fit_slope(sizes, 3e-4 * sizes**1.7)
    assert slope == pytest.approx(1.7)
    assert error == pytest.approx(0.0, abs=1e-9)


def test_error_of_a_slope_is_that_of_least_squares(benchmarks, rng):
    from scipy.stats import linregress

    sizes = np.array([5, 10, 20, 40, 80])
    values = sizes * np.exp(0.2 * rng.normal(size=5))
    expected = linregress(np.log(sizes), np.log(values))
    found = benchmarks("scaling").fit_slope(sizes, values)
    assert found == pytest.approx((expected.slope, expected.stderr))


def test_inactive_rules_do_not_fire(benchmarks):
    scaling = benchmarks("scaling")
    sizes = {"p": 6, "K": 2, "rules": 5, "active": 2}
    scaling.WARM_ROWS = 4
    learner = scaling.prepare(sizes, cases=3)
    assert (learner.n_rules, scaling.count_active(learner)) == (5, 2)
    assert learner.cases.n_cases == 3
    assert scaling.count_active(scaling.prepare(sizes | {"active": None}, cases=0)) == 5


@pytest.mark.parametrize(("slope", "good"), [(0.4, True), (1.14, True), (1.16, False)])
def test_growth_holds_up_to_its_tolerance(slope, good):
    line = {
        "line": "rules",
        "changed": "rules",
        "cases": 0,
        "sizes": [5, 40],
        "ms": [0.25, 2.0],
        "slope": slope,
        "error": 0.02,
        "allowed": 1.0,
        "tolerance": 0.15,
        "rules": [5, 40],
        "active": [5, 40],
        "others": {"p": 100, "K": 10, "rules": 20, "active": None},
    }
    row = tables.scaling_part({"lines": [line]}).splitlines()[2]
    assert row.startswith("| rules | 5 | 40 | p = 100, K = 10, 5 to 40 rules, 5 to 40 active | 0 |")
    assert row.endswith("| yes |" if good else "| **no** |")
    assert f"| {slope:.2f} ± 0.02 | 1 + 0.15 |" in row
    flat = line | {"changed": "p", "rules": [20, 20], "active": [20, 20]}
    row = tables.scaling_part({"lines": [flat]}).splitlines()[2]
    assert "| K = 10, 20 rules, 20 active |" in row


# -- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_predicted_bytes_are_those_of_the_arrays(benchmarks, rng, share):
    learner = Learner(Params(cases=20, warmup_rows=30), 5, 3).fit(
        *random_rows(rng, 60, 5, 3, share)
    )
    parts = [learner.rules, learner.brief, learner.cases, learner.recent, learner.sequel]
    parts += [learner.following, *learner.labels._parts().values()]
    sizes = 5, 3, learner.rules.capacity, 20, learner.rules.n_groups
    assert benchmarks("memory").predict_bytes(*sizes) == sum(part.nbytes for part in parts)


def test_room_is_that_of_the_rule_base(benchmarks):
    from efcml.model.rulebase import RuleBase

    for count, most in ((1, 20), (8, 20), (9, 20), (20, 20), (9, 40), (40, 40), (2, 3)):
        rules = RuleBase(2, 1, capacity=min(8, most))
        rules.reserve(count, most)
        assert benchmarks("memory").rows_kept(count, most) == rules.capacity


@pytest.mark.parametrize(
    ("counted", "resident", "end"),
    [
        (1.05e6, 0.95e6, "+5.0% | -5.0% | yes |"),
        (1.0e6, 1.11e6, "+0.0% | +11.0% | **no** |"),
        (0.85e6, 1.0e6, "-15.0% | +0.0% | **no** |"),
    ],
)
def test_memory_is_off_by_the_larger_difference(counted, resident, end):
    one = {
        "size": "yeast",
        "p": 103,
        "K": 14,
        "rules": 20,
        "room": 32,
        "groups": 1,
        "used_bytes": 0.7e6,
        "predicted_bytes": 1e6,
        "counted_bytes": counted,
        "resident_bytes": resident,
    }
    row = tables.memory_part({"within": 0.1, "sizes": [one]}).splitlines()[2]
    assert row == f"| yeast | 103 | 14 | 20 | 32 | 1.00 | {end} 0.700 |"
    grouped = tables.memory_part({"within": 0.1, "sizes": [one | {"groups": 14}]})
    assert "| yeast, labels missing |" in grouped


# -- other libraries --------------------------------------------------------------------------


def test_only_models_near_ours_are_compared():
    near = {"near": model(0.781, 3.0, "A"), "slow": model(0.79, 7.0, "S")}
    found = tables.verdict(a_set(**near, far=model(0.779, 0.1, "B")))
    assert found == (
        "Ahead of all 2 models within two points of the partial accuracy; "
        "the quickest of them is A, 3.00 times our time."
    )
    assert tables.verdict(a_set(far=model(0.5, 9.0))).startswith("No model")
    better = tables.verdict(a_set(better=model(0.9, 0.5, "C")))  # a better one counts as near
    assert (
        "**Behind C**: 0.500 ms at a partial accuracy of 0.900 against 1.00 ms at 0.800" in better
    )


def test_a_loss_names_our_settings_that_are_ahead():
    ours = {
        "efcml": (0.80, 1.0),
        "efcml_five": (0.79, 0.2),
        "efcml_rules": (0.795, 0.3),
        "efcml_plane": (0.70, 0.01),
        "efcml_ovr": (0.82, 5.0),
    }
    other = model(0.795, 0.4, "A", **ours)
    assert tables.faster_settings(other) == ["efcml-rules", "efcml-five"]
    titles = {name.replace("_", "-"): model(0.8, 1.0, name) for name in ours}
    found = tables.verdict(a_set(a=other, b=model(0.8, 2.0, "B"), **titles))
    assert found.startswith("Ahead of 1 of 2 models within two points. **Behind A**")
    assert found.endswith(
        "ahead of it: efcml_rules (0.300 ms, 0.795), efcml_five (0.200 ms, 0.790)."
    )
    alone = tables.tell_loss(model(0.795, 0.4, "A"), titles)
    assert alone.endswith("no setting of ours that was measured is ahead of it.")


def test_a_model_is_ahead_everywhere_by_its_own_accuracy():
    """A smaller one need not beat those that are far above or below it."""
    ours = {"efcml": (0.80, 1.0), "efcml_five": (0.79, 0.2)}
    quick, far = model(0.775, 0.1, **ours), model(0.76, 0.1, **ours)
    own = {"efcml-five": model(0.79, 0.2, "five")}
    one = a_set(a=model(0.79, 0.4, **ours), b=far, **own)
    assert tables.is_ahead("efcml-five", one)
    assert not tables.is_ahead("efcml", one)
    assert tables.tell_always_ahead({"x": one, "y": one}).endswith("above it: five.")
    two = a_set(a=quick, **own)
    assert tables.tell_always_ahead({"x": one, "y": two}).endswith("above it: none of ours.")


def test_models_that_do_not_beat_the_empty_answer_are_named():
    text = "To answer no label in every row has a partial accuracy of 0.785"
    assert tables.tell_floor(a_set(above=model(0.79, 0.4, "A"), far=model(0.7, 1.0))) == f"{text}."
    cut = model(0.785, 0.4, "C", rows=99)
    found = tables.tell_floor(a_set(near=model(0.785, 0.4, "B"), ours=model(0.79, 0.1), cut=cut))
    assert found == f"{text}; not above it, and yet within two points: B."


def test_cut_streams_are_compared_on_their_own_rows():
    cut = model(0.80, 3.0, "A", rows=25, efcml=(0.90, 2.0))
    assert not tables.is_near(cut)
    assert tables.ratio(cut) == 1.5


def test_the_table_is_in_order_of_time():
    found = a_set(slow=model(0.7, 250.4, "A"), quick=model(0.9, 0.0123, "B"))
    found["missing"] = {"moa-tree": "No module named 'capymoa'."}
    text = tables.peers_part({"sets": {"emotions": found}, "machine": "x86_64"})
    assert "above it: none of ours." in text
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert rows == [
        "| B | 0.900 | 0.500 | 6 trees | 100 | 0.0123 | 0.0123 | yes |",
        "| **efcml** | 0.800 | 0.500 | 6 trees | 100 | 1.00 | 1.00 |  |",
        "| A | 0.700 | 0.500 | 6 trees | 100 | 250 | 250 | no |",
    ]
    assert "Left out: `moa-tree` (No module named 'capymoa')." in text
    assert text.endswith("Versions: river 0.26; x86_64, one core.")


@pytest.mark.parametrize("name", list(tables.PARTS))
def test_a_record_may_be_missing(name, tmp_path):
    assert tables.speed_part(name, tmp_path).startswith("Not measured yet")


# -- the loop ---------------------------------------------------------------------------------


def test_a_search_is_told_in_seconds(tmp_path):
    assert tables.tuning_part(tmp_path).startswith("Not measured yet")
    part = {"rows": 9, "vigilance": [1, 2], "pairs": 5, "wide_seconds": [1.0, 3.0]}
    record = {
        "data": "songs",
        "sub_grid": part | {"points_seconds": 123.4},
        "short": {"points": 30, "folds": 5, "seconds": 7.6},
    }
    path = tmp_path / tables.RESULTS / "tuning_speed.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    head, _, *lines = tables.tuning_part(tmp_path).splitlines()
    assert head == "| songs, 9 rows, compiled, one process | seconds |"
    assert lines == [
        "| the short grid, 30 points, 5 folds | 7.60 |",
        "| 10 points of the paper's grid, one fold, in wide passes | 2.00 |",
        "| the same, one classifier for each point | 123 |",
    ]


def test_figures_of_a_cut_come_from_whole_turns(benchmarks):
    from types import SimpleNamespace

    peers = benchmarks("peers")
    Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    child = SimpleNamespace(
        name="efcml",
        scores=[[0.9, 0.1], [0.6, 0.7], [0.1, 0.2], [0.0, 1.0]],
        turns=[(2, 0.004), (2, 0.01)],
        facts={"made_of": {}},
    )
    first = peers.measure(child, Y, 2)
    assert first == pytest.approx({"pa": 0.75, "ap": 1.0, "ms": 2.0})
    short = SimpleNamespace(name="other", scores=[[0.9, 0.1]] * 2, turns=[(2, 0.1)], facts={})
    slow = SimpleNamespace(name="efcml-ovr", scores=[[0.9, 0.1]], turns=[(1, 0.1)], facts={})
    peers.MODELS = {name: (name,) for name in ("efcml", "efcml-ovr", "other")}
    models = peers.summarise([child, short, slow], Y)
    assert models["other"]["ours"] == {"efcml": first}  # the slow one has not done these rows
    assert models["efcml"]["ms"] == pytest.approx(3.5)
    assert models["efcml"]["median_ms"] == pytest.approx(3.5)


def test_models_have_one_interface(benchmarks):
    models = benchmarks("peer_models").MODELS
    assert len({title for title, _, _ in models.values()}) == len(models)
    for _, kind, _ in models.values():
        assert kind.library
        for method in ("fit", "run", "made_of", "warm"):
            assert callable(getattr(kind, method))


def test_rows_for_river_keep_features_and_labels_apart(benchmarks):
    libraries = benchmarks("peer_libraries")
    ((x, y),) = libraries.to_dictionaries(np.array([[1.5, 2.0]]), np.array([[1.0, 0.0]]))
    assert (x, y) == ({"x0000": 1.5, "x0001": 2.0}, {0: True, 1: False})
    assert not set(x) & set(y)


def test_every_row_is_scored_before_it_is_learned(benchmarks):
    libraries = benchmarks("peer_libraries")
    seen = []

    class Noting(libraries.Peer):
        def score(self, x):
            seen.append(("score", x[0]))
            return [x[0]]

        def learn(self, x, y):
            seen.append(("learn", x[0]))

    X = np.array([[1.0], [2.0]])
    model = Noting(1, 1, 1)
    scores, seconds = model.run(X, X)
    assert seen == [("score", 1.0), ("learn", 1.0), ("score", 2.0), ("learn", 2.0)]
    assert scores.tolist() == [[1.0], [2.0]] and seconds > 0.0
    model.fit(X, X)
    assert [kind for kind, _ in seen[4:]] == ["learn", "learn"]


SCRIPTS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("experiments/benchmarks", "experiments/decisions", "experiments/soak")
    for path in (ROOT / folder).glob("*.py")
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_can_be_imported(script, monkeypatch):
    """Nothing that it imports from efcml has gone; those of an hour are run too seldom to tell."""
    folder, _, name = script.rpartition("/")
    monkeypatch.syspath_prepend(str(ROOT / folder))
    load_tool(name.removesuffix(".py"), folder)
