"""Tables of what was run behind decisions; the short grid beside a wide one."""

import pytest
from helpers.tool_files import ROOT, load_tool

pytestmark = pytest.mark.plain


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    return load_tool("decision_tables", "docs/tools")


@pytest.fixture
def short_grid(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))
    return load_tool("short_grid", "experiments/decisions")


def run(setting, name, order, pa, ap, rules):
    return {"setting": setting, "set": name, "order": order, "pa": pa, "ap": ap, "rules": rules}


def test_parts_are_compared_run_by_run(tables):
    records = [
        run("without", "a", "file", 0.6, 0.5, 2),
        run("default", "a", "file", 0.7, 0.5, 4),
        run("default", "b", "file", 0.5, 0.5, 8),
        run("without", "b", "file", 0.48, 0.52, 3),
    ]
    head, _, without, default = tables.parts_table(records).splitlines()
    assert head == "| changed | PA of the default above it | AP of the default above it | rules |"
    # Gaps of 10 and 2 points: mean 6, standard error 4.
    assert without == "| without | +6.00 ± 7.84 | -1.00 ± 1.96 | 2 / 3 |"
    assert default == "| default | +0.00 ± 0.00 | +0.00 ± 0.00 | 4 / 8 |"


def point(vigilance, alpha, beta, pa, ap=0.5):
    return {"vigilance": vigilance, "alpha": alpha, "beta": beta, "pa": pa, "ap": ap}


def test_the_best_of_either_grid_and_the_defaults(short_grid, tables):
    usual = [getattr(short_grid.Params, key) for key in short_grid.KEYS]
    points = [
        point(*usual, 0.5),
        point(0.5, 0.5, 10.0, 0.6, 0.5),
        point(0.8, 0.5, 10.0, 0.6, 0.7),
        point(0.1, 0.5, 10.0, 0.9),
    ]
    found = short_grid.chosen(points)
    assert found == {"defaults": points[0], "short grid": points[2], "wide grid": points[3]}
    for one in found.values():
        one["pa_later"] = 0.25
    shown = tables.short_grid_table([{"set": "songs", "points": found}]).splitlines()
    assert shown[3:] == [
        "| songs | short grid | 0.8, 0.5, 10 | 0.6000 | 0.2500 |",
        "| songs | wide grid | 0.1, 0.5, 10 | 0.9000 | 0.2500 |",
    ]


def test_the_wide_grid_holds_the_short_one(short_grid):
    for key in short_grid.KEYS:
        wide, short = (getattr(grid, key) for grid in (short_grid.WIDE, short_grid.SHORT_GRID))
        assert set(short) <= set(wide)


def test_scales_are_shown_by_what_happens(tables):
    def moved(scale, seed, before, after, changes):
        spans = {"before": before, "after": after}
        run = {"happens": "+20", "scale": scale, "seed": seed, "spans": spans}
        return run | dict(zip(("re_expressed", "left"), changes, strict=True))

    records = [
        moved("frozen", 0, 0.9, 0.5, (0, 0)),
        moved("follow", 0, 0.9, 0.8, (1, 0)),
        moved("frozen", 1, 0.8, 0.4, (0, 0)),
        moved("follow", 1, 0.8, 0.9, (1, 2)),
    ]
    assert tables.moved_scales_table(records).splitlines() == [
        "| what happens | scale | before | after | re-expressed / left as it was |",
        "| --- | --- | --- | --- | --- |",
        "| +20 | frozen | 0.850 | 0.450 | 0 / 0 |",
        "| +20 | follow | 0.850 | 0.850 | 2 / 2 |",
    ]
