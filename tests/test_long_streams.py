"""The long streams of experiments/soak/, in short. Budget: a quarter of a minute."""

import pytest
from helpers.tool_files import load_tool

long_streams = load_tool("long_streams", "experiments/soak")
SHAPE = {"rows": 24_000, "p": 8, "K": 3, "clusters": 4, "radius": 8.0, "turns": 0.25}
TIMES = ("seconds", "megabytes")


def run_all(run, blocks=10**9):
    left = True
    while left and blocks:
        left, blocks = run.go_on(), blocks - 1
    return run.figures


@pytest.mark.slow
def test_a_stream_holds_and_can_be_taken_up(tmp_path):
    settings = {"forgetting": 0.995, "vigilance": 0.7, "block": 1200}
    figures = run_all(long_streams.LongRun(tmp_path, "whole", SHAPE, **settings))
    summary = long_streams.summarise(figures)
    # So short a stream turns fast: from the second tenth on the learner lags behind.
    assert long_streams.faults_of(summary | {"second_pa": summary["first_pa"]}) == []
    assert summary["repairs"] > 0  # forgetting has halved the prior of some rule
    run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings), 3)
    run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings), 4)
    parts = run_all(long_streams.LongRun(tmp_path, "parts", SHAPE, **settings))
    for one in (*figures["blocks"], *parts["blocks"]):
        for name in TIMES:
            del one[name]
    assert parts == figures
    assert {path.name for path in tmp_path.glob("parts*")} == {
        "parts-24000.npz",
        "parts-figures.json",
        "parts-frozen.npz",
    }


@pytest.mark.slow
def test_without_forgetting_nothing_is_repaired(tmp_path):
    settings = {"forgetting": 1.0, "vigilance": 0.7, "block": 1200}
    shape = SHAPE | {"rows": 12_000}
    summary = long_streams.summarise(
        run_all(long_streams.LongRun(tmp_path, "x", shape, **settings))
    )
    assert long_streams.faults_of(summary) == []
    assert summary["repairs"] == 0


GOOD = {
    "finite": True,
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
        ("first_pa", 0.811, "worse"),
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
