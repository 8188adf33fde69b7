"""The long streams of experiments/soak/, in short. Budget: half a minute."""

import copy

import numpy as np
import pytest
from helpers.tool_files import load_tool
from numpy.testing import assert_allclose

long_streams = load_tool("long_streams", "experiments/soak")
cycles = load_tool("drift_cycles", "experiments/soak")
checks = load_tool("state_checks", "experiments/soak")
phase_figures = load_tool("phase_figures", "experiments/soak")

SHAPE = {"rows": 24_000, "p": 8, "K": 3, "clusters": 4, "radius": 8.0, "turns": 0.25}
CYCLES = {"rows": 20_000, "p": 10, "K": 3, "phase": 1000}
TIMES = ("seconds", "megabytes")


def run_all(run, blocks=10**9):
    left = True
    while left and blocks:
        left, blocks = run.go_on(), blocks - 1
    return run.figures


def without_times(figures):
    blocks = [{k: v for k, v in block.items() if k not in TIMES} for block in figures["blocks"]]
    return figures | {"blocks": blocks}


@pytest.mark.slow
def test_a_stream_holds_and_can_be_taken_up(tmp_path):
    settings = long_streams.SETTINGS | {"forgetting": 0.995, "vigilance": 0.7, "block": 1200}
    figures = run_all(long_streams.LongRun(tmp_path, "whole", SHAPE, **settings))
    summary = long_streams.summarise(figures)
    # So short a stream turns fast: from the second tenth on the learner lags behind.
    assert long_streams.faults_of(summary | {"second_pa": summary["first_pa"]}) == []
    assert summary["repairs"] > 0  # forgetting has halved the prior of some rule
    run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings), 3)
    run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings), 4)
    parts = run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings))
    assert without_times(parts) == without_times(figures)
    assert {path.name for path in tmp_path.glob("parts*")} == {
        "parts-24000.npz",
        "parts-figures.json",
        "parts-frozen.npz",
    }


@pytest.mark.slow
def test_without_forgetting_nothing_is_repaired(tmp_path):
    settings = long_streams.SETTINGS | {"forgetting": 1.0, "vigilance": 0.7, "block": 1200}
    shape = SHAPE | {"rows": 12_000}
    summary = long_streams.summarise(
        run_all(long_streams.LongRun(tmp_path, "x", shape, **settings))
    )
    assert long_streams.faults_of(summary) == []
    assert summary["repairs"] == 0


@pytest.mark.slow
def test_all_drifts_are_lived_through_and_can_be_taken_up(tmp_path):
    figures = run_all(long_streams.LongRun(tmp_path, "whole", CYCLES))
    summary = long_streams.summarise(figures)
    phases = summary.pop("phases")
    # Phases are so short that no rule has recovered when its drift counts as late.
    assert long_streams.faults_of(summary | {"phases": {}}) == []
    for phase in ("reversed", "back", "labels"):
        assert phases[phase]["drifts_soon"][0] > 0
    for phase in cycles.SCALE_PHASES:
        assert all(sum(changes) > 0 for changes in phases[phase]["scale_changes"][1:])
    assert min(summary["scale_changes"]) > 0  # both readings
    run_all(long_streams.LongRun(tmp_path, "parts", CYCLES), 3)
    parts = run_all(long_streams.LongRun(tmp_path, "parts", CYCLES), 5)
    assert without_times(parts)["blocks"] == without_times(figures)["blocks"][:8]


# The stream in which everything drifts


@pytest.fixture(scope="module")
def stream():
    return cycles.DriftCycles(30_000, 10, 3, 1000)


def test_a_block_has_the_same_bits_wherever_it_begins(stream):
    whole = stream.block(0, 11_000)
    for start, count in ((0, 1), (49, 2), (7023, 777), (10_950, 50), (9999, 2)):
        for part, every in zip(stream.block(start, count), whole, strict=True):
            assert part.tobytes() == np.ascontiguousarray(every[start : start + count]).tobytes()
    other = cycles.DriftCycles(30_000, 10, 3, 1000, seed=1).block(0, 100)
    assert not np.array_equal(other[0], whole[0][:100])
    assert len(np.unique(whole[0][:, 0])) > 10_000  # no portion comes again


def test_a_phase_is_a_whole_number_of_portions():
    with pytest.raises(ValueError, match="multiple of 50"):
        cycles.DriftCycles(30_000, 10, 3, 1010)


def test_phases_come_one_after_the_other(stream):
    assert [stream.place(row) for row in (0, 999, 1000, 9999, 10_000)] == [
        (0, "elsewhere"),
        (0, "elsewhere"),
        (0, "reversed"),
        (0, "waking"),
        (1, "elsewhere"),
    ]
    assert stream.is_calm(1498, 4).tolist() == [False, False, True, True]


def moods_of(stream, cycle, phase, is_new=False):
    """Moods of the same rows in any phase, the common part and the offsets taken off."""
    rng = np.random.default_rng(0)
    cluster, around = np.arange(60) % cycles.N_CLUSTERS, rng.normal(size=(60, stream.p))
    found = stream._moods(cycle, phase, cluster, around, np.full(60, is_new))
    rest = cycles.add_common(np.zeros((60, 2)), around, stream.world)
    return cluster, found, rest + stream.world.offsets[cluster]


def own(stream, *where):
    cluster, moods, rest = moods_of(stream, *where)
    return moods - rest


def test_concepts_change_as_they_should(stream):
    first, other = own(stream, 2, "elsewhere"), own(stream, 2, "gradual", True)
    assert np.abs(first - other).max() > 0.5
    assert np.abs(first - own(stream, 1, "elsewhere")).max() > 0.5
    assert_allclose(own(stream, 2, "reversed"), -first)
    assert_allclose(own(stream, 2, "back"), first)
    assert_allclose(own(stream, 2, "gradual", False), first)
    for phase in cycles.PHASES[6:]:
        assert_allclose(own(stream, 2, phase), own(stream, 1, "elsewhere"))
    assert_allclose(own(stream, 0, "older"), own(stream, 0, "elsewhere"))
    cluster, moods, rest = moods_of(stream, 2, "local")
    one = (cluster == 2)[:, None]
    assert_allclose(moods - rest, np.where(one, -other, other))
    cluster, moods, _ = moods_of(stream, 2, "labels")
    turned = cycles.rotate(rest + other, np.full(60, cycles.LABEL_TURN))
    assert_allclose(moods, turned)


def test_rows_of_both_concepts_are_mixed_more_and_more(stream):
    drawn = []
    tell = stream._moods
    stream_copy = copy.copy(stream)
    stream_copy._moods = lambda *args: drawn.append(args[-1]) or tell(*args)
    stream_copy.block(3000, 1000)
    is_new = np.concatenate(drawn)
    assert is_new[500:].all()
    assert 0.05 < is_new[:200].mean() < 0.4 < 0.6 < is_new[300:500].mean() < 0.95


def told(stream, cycle, phase):
    return stream._tell(cycle, phase, np.random.default_rng(0).normal(size=(40, stream.p)))


def test_units_change_as_they_should(stream):
    plain, columns = told(stream, 0, "local"), np.arange(stream.p)
    assert (plain[:, list(cycles.SLEEPERS)] == cycles.CONSTANT).all()
    moved = told(stream, 0, "shift") - plain
    assert_allclose(moved, np.tile(20.0 * stream.deviation * np.isin(columns, (0, 4)), (40, 1)))
    factor = told(stream, 0, "units") / plain
    assert_allclose(factor, np.tile(np.where(np.isin(columns, (1, 5)), 1000.0, 1.0), (40, 1)))
    spreads = {}  # 1 is that of rows before they are told, here
    for cycle, (awake, asleep) in ((0, (2, 3)), (1, (3, 2)), (2, (2, 3)), (4, (2, 3))):
        waking = told(stream, cycle, "waking")
        spreads[cycle] = waking[:, awake].std() * stream.deviation[awake]
        assert (waking[:, asleep] == cycles.CONSTANT).all()
    assert_allclose([spreads[0], spreads[1]], 1.0, atol=0.3)
    assert_allclose([spreads[2] / spreads[0], spreads[4] / spreads[0]], [10.0, 0.01])
    here, there = (told(stream, cycle, "local") for cycle in (0, 1))
    steps = (there - here).mean(axis=0) / stream.deviation / 20.0
    assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.abs(steps).max() >= 1.0
    bent = [told(stream, cycle, "local").std(axis=0)[1] for cycle in range(5)]
    assert_allclose(np.array(bent) / bent[0], [1.0, 1.0, 1000.0, 1000.0, 1.0])


def test_two_rows_of_a_cycle_are_wild(stream):
    X, _ = stream.block(0, 20_000)
    assert np.flatnonzero((X == cycles.WILD).any(axis=1)).tolist() == [5750, 7030, 15_750, 17_030]
    assert (X[5750] == cycles.WILD).all()


# What is looked at


@pytest.fixture(scope="module")
def learned():
    """A learner that has been through drifts and a change of units."""
    model = long_streams.EFCMLClassifier(prior=1.0, cases=40)
    rows = cycles.DriftCycles(6000, 10, 3, 200).block(0, 2400)
    learner, X, Y = model.begin_stream(*rows)
    return learner.learn(X, Y, long_streams.Trace.for_rows(len(X), 3))


def test_a_sound_state(learned):
    seen = checks.look_at(learned.copy())
    assert seen["finite"]
    assert seen["memories_agree"]
    assert max(value for name, value in seen.items() if name.endswith("off")) < 1e-7
    assert min(value for name, value in seen.items() if "least" in name) > 0.0


PLANTS = [
    ("inverse_off", lambda learner: learner.rules.arrays.P[0], 1.001),
    ("inverse_off", lambda learner: learner.brief.arrays.P[0], 1.001),
    ("gradient_off", lambda learner: learner.rules.arrays.W[0], 1.001),
    ("gradient_off", lambda learner: learner.brief.arrays.B[0], 1.001),
    ("gaussians_off", lambda learner: learner.rules.arrays.input_precision[0], 1.001),
    ("gaussians_off", lambda learner: learner.rules.arrays.log_det[0], 1.001),
    ("memories_agree", lambda learner: learner.brief.arrays.center[0], 1.001),
    ("memories_agree", lambda learner: learner.brief.arrays.uid[:1], 5),
    ("cases_off", lambda learner: learner.cases.arrays.inverse[0], 1.001),
    ("cases_off", lambda learner: learner.recent.arrays.inverse[0], 1.001),
    ("cases_off", lambda learner: learner.recent.arrays.rows[0], 1.01),
    ("cases_least", lambda learner: learner.recent.arrays.covariance, -1.0),
    ("least_eigenvalue", lambda learner: learner.brief.arrays.P[0], -1.0),
    ("gaussians_least", lambda learner: learner.rules.arrays.joint_precision[0], -1.0),
    ("finite", lambda learner: learner.recent_trial, np.nan),
    ("finite", lambda learner: learner.following.arrays.level, np.inf),
]


@pytest.mark.parametrize(("name", "part", "factor"), PLANTS)
def test_a_fault_in_the_state_is_seen(learned, name, part, factor):
    learner = learned.copy()
    values = part(learner)
    if np.isfinite(factor):
        values *= factor
        values += values == 0
    else:
        values[:] = factor
    seen = checks.look_at(learner)
    figures = {"pa": 0.8, "frozen_pa": 0.5, "rules": 3, "megabytes": 1.0, "seconds": 1.0}
    figures |= dict.fromkeys(("repairs", "births", "splits", "merges", "drops", "drifts"), 0)
    blocks = [
        {"end": end, "scores_finite": True, "scale_changes": [0, 0], **seen, **figures}
        for end in range(10, 101, 10)
    ]
    shape = {"rows": 100, "p": 10, "K": 3, "forgetting": "auto", "max_rules": 20}
    summary = long_streams.summarise(shape | {"blocks": blocks})
    assert summary[name] != GOOD[name]
    assert long_streams.faults_of(summary) != []


GOOD = {
    "finite": True,
    "memories_agree": True,
    "gradient_off": 1e-12,
    "gaussians_off": 1e-12,
    "gaussians_least": 0.1,
    "max_rules": 30,
    "least_eigenvalue": 1e-6,
    "inverse_off": 1e-9,
    "cases_off": 1e-12,
    "cases_least": 1e-3,
    "most_rules": 30,
    "memory_growth": 0.01,
    "forgetting": 0.999,
    "first_pa": 0.8,
    "second_pa": 0.815,
    "late_pa": 0.81,
    "frozen_late_pa": 0.6,
}


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("finite", False, "NaN"),
        ("least_eigenvalue", 0.0, "definite"),
        ("inverse_off", 2e-6, "inverse"),
        ("inverse_off", float("nan"), "inverse"),
        ("cases_off", 2e-6, "cases"),
        ("cases_least", 0.0, "cases"),
        ("most_rules", 31, "cap"),
        ("memory_growth", 0.06, "memory"),
        ("memories_agree", False, "same rules"),
        ("gradient_off", 2e-6, "gradient"),
        ("gaussians_off", float("nan"), "Gaussians"),
        ("gaussians_least", 0.0, "Gaussians"),
        ("first_pa", 0.821, "worse"),
        ("second_pa", 0.821, "worse"),
        ("frozen_late_pa", 0.8, "frozen"),
    ],
)
def test_faults_are_found(name, value, word):
    assert long_streams.faults_of(GOOD) == []
    (fault,) = long_streams.faults_of(GOOD | {name: value})
    assert word in fault


def test_a_drift_without_forgetting_is_no_fault():
    assert long_streams.faults_of(GOOD | {"forgetting": 1.0, "late_pa": 0.5}) == []


def test_the_first_tenth_may_be_easier_by_chance_where_labels_are_drawn_anew():
    drawn = GOOD | {"forgetting": "auto", "phase": 1000, "phases": {}}
    assert long_streams.faults_of(drawn | {"first_pa": 0.815}) == []
    (fault,) = long_streams.faults_of(drawn | {"first_pa": 0.825})
    assert "worse" in fault


def good_phases():
    steady = {"drifts_late": [0] * 6, "first_drift": [None] * 6, "frozen_pa": [0.5] * 6}
    steady["calm_pa"] = [0.85, 0.86, 0.85, 0.86, 0.85, 0.86]
    return {
        phase: steady
        | {"drifts_soon": [int(phase in cycles.CONCEPT_PHASES)] * 6}
        | {"scale_changes": [[0, int(phase in cycles.SCALE_PHASES)]] * 6}
        for phase in cycles.PHASES
    }


@pytest.mark.parametrize(
    ("phase", "changes", "word"),
    [
        ("back", {"calm_pa": [0.86, 0.86, 0.85, 0.85, 0.84, 0.84]}, "back: the calm part"),
        ("local", {"drifts_soon": [1, 1, 0, 1, 1, 1]}, "local: a drift"),
        ("units", {"scale_changes": [[0, 1]] * 5 + [[0, 0]]}, "units: the scale"),
        ("waking", {"drifts_late": [0, 1, 0, 1, 1, 1]}, "where there are none"),
    ],
)
def test_faults_of_phases_are_found(phase, changes, word):
    phases = good_phases()
    phases["elsewhere"]["scale_changes"] = [[0, 0]] + [[1, 0]] * 5
    assert phase_figures.faults_of_phases(phases, 1000) == []
    phases[phase] = phases[phase] | changes
    (fault,) = phase_figures.faults_of_phases(phases, 1000)
    assert word in fault
    summary = GOOD | {"forgetting": "auto", "phase": 1000, "phases": phases}
    assert fault in long_streams.faults_of(summary)


def test_what_is_seen_of_a_phase(stream):
    right = np.linspace(0.0, 1.0, 1000)
    events = [(3, "birth", 1), (40, "drift", 0), (499, "drift", 2), (500, "drift", 0)]
    seen = phase_figures.look_at_phase(stream, 11_000, right, events)
    assert seen.pop("calm_pa") == pytest.approx(right[500:].mean(), abs=1e-5)
    assert seen == {
        "cycle": 1,
        "phase": "reversed",
        "drifts_soon": 2,
        "drifts_late": 1,
        "first_drift": 40,
    }
