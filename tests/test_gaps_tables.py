"""The table of the page on missing features."""

import pytest
from helpers.tool_files import load_tool


@pytest.mark.plain
def test_ways_stand_side_by_side_and_draws_are_averaged():
    records = [
        {"set": "s", "pattern": "none", "way": "native", "pa": 0.9, "ap": 0.8},
        {"set": "s", "pattern": "30 %", "way": "native", "pa": 0.8, "ap": 0.7},
        {"set": "s", "pattern": "30 %", "way": "native", "pa": 0.6, "ap": 0.5},
        {"set": "s", "pattern": "30 %", "way": "mean", "pa": 0.5, "ap": 0.4},
    ]
    lines = load_tool("write_docs").missing_features_table(records).splitlines()
    assert lines[0] == "| set | missing | native | mean | iterative |"
    assert lines[2] == "| s | none | 0.9000 / 0.8000 |  |  |"
    assert lines[3] == "| s | 30 % | 0.7000 / 0.6000 | 0.5000 / 0.4000 |  |"


@pytest.mark.plain
def test_differences_are_paired_by_draw():
    scores = {"native": (0.8, 0.7), "mean": (0.7, 0.65), "iterative": (0.81, 0.69)}
    records = [
        {"set": "s", "pattern": "30 %", "way": way, "seed": seed, "pa": pa, "ap": 1.0 - pa}
        for way, values in scores.items()
        for seed, pa in enumerate(values)
    ]
    table = load_tool("write_docs").missing_features_differences(records).splitlines()
    assert table[0].startswith("| set | missing | draws | PA to mean | AP to mean |")
    assert table[2] == (
        "| s | 30 % | 2 | +7.50 ± 2.50 | -7.50 ± 2.50 | +0.00 ± 1.00 | +0.00 ± 1.00 |"
    )
    assert table[3] == "| mean |  |  | +7.50 | -7.50 | +0.00 | +0.00 |"
