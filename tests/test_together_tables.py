"""Tables of the page on labels together: marks that are met or missed, pairs, and costs."""

import copy
import json

import pytest
from helpers.tool_files import ROOT, load_tool

pytestmark = pytest.mark.plain


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    return load_tool("together_tables")


def change(before, after):
    gain = after - before
    return {"before": before, "after": after, "gain": [gain, gain - 0.01, gain + 0.01]}


def a_record(name, pa=0.8, ap=0.7):
    """Return a record of a set in which every mark is just met."""
    likely = change(0.03, 0.02) | {"drawn_before": 0.01, "drawn_after": 0.0105}
    measures = ("pa", "example_f1", "micro_f1", "macro_f1", "subset_accuracy")
    decided = {measure: change(0.5, 0.6) for measure in measures}
    half = {"pa": change(0.8, 0.9), "brier_score": change(0.2, 0.1), "log_loss": change(0.5, 0.4)}
    found = {"set": name, "pa": pa, "ap": ap, "labels": 6, "rows": 9, "share": [0.25, 1.0]}
    return found | {
        "penalty": {"pa": change(0.8, 0.8), "ap": change(0.7, 0.6999)},
        "given_half": half | {"calibration_error": likely},
        "decisions": {"subset": decided, "f1": decided},
        "probabilities": {
            "calibration_error": likely,
            "log_loss": change(0.5, 0.4),
            "brier_score": change(0.2, 0.1),
        },
    }


def an_ablation(name, pa=0.8, ap=0.7):
    gains = {"pa_gain": [0.001, -0.002, 0.003], "ap_gain": [-0.0, -0.0, 0.0]}
    values = {"default": (pa, ap), "without both": (pa, ap)}
    values |= dict.fromkeys(("without time", "without caution"), (0.1, 0.1))
    runs = [
        {"set": name, "delay": 0, "variant": variant, "pa": pair[0], "ap": pair[1]} | gains
        for variant, pair in values.items()
    ]
    return runs + [dict(run, delay=5, pa=0.0) for run in runs]


def test_a_pair_has_both_values_and_the_difference(tables):
    assert tables.as_change(change(0.5, 0.51)) == "0.5000, 0.5100 (+10.0 [+0.0, +20.0])"
    assert tables.as_gain([-1e-9, 0.0, 0.0]) == "+0.0 [+0.0, +0.0]"


def test_lines_come_in_the_order_of_the_page(tables):
    records = [a_record(name) for name in ("mediamill", "birds", "emotions")]
    for make in ("penalty", "given", "subset", "f1", "probabilities"):
        lines = tables.PARTS[make](records).splitlines()[2:]
        assert [line.split(" | ")[0] for line in lines] == ["| emotions", "| birds", "| mediamill"]
        assert len({line.count("|") for line in tables.PARTS[make](records).splitlines()}) == 1


def test_what_chance_does_is_taken_off(tables):
    before, after = tables.above_drawn(a_record("yeast")["probabilities"])
    assert (before, after) == pytest.approx((0.02, 0.0095))
    assert "| 0.0100, 0.0105 | +20.0, +9.5 |" in tables.probability_table([a_record("yeast")])
    assert "| 6 | 0.25, 1.00 |" in tables.given_table([a_record("yeast")])


def lines_of(tables, record, ablation):
    found = tables.marks([record], tables.ablation_records(ablation))
    return {(one.what, one.name): one.met for one in found}


def test_every_mark_is_judged_by_its_own_number(tables):
    good = a_record("yeast", 0.8064, 0.7688)
    ablation = an_ablation("yeast")
    assert all(lines_of(tables, good, ablation).values())
    spoiled = {
        ("given_half", "pa", "after", 0.874): "half given half",
        ("decisions", "subset", "subset_accuracy", "after", 0.234): "subset accuracy by",
        ("decisions", "f1", "macro_f1", "after", 0.459): "macro F1",
        ("probabilities", "calibration_error", "after", 0.0206): "calibration error",
        ("probabilities", "log_loss", "gain", (1e-6, 0.0, 0.0)): "log loss",
        ("pa", 0.8043): "PA, not lower",
        ("ap", 0.7667): "AP, not lower",
    }
    for (*path, key, value), mark in spoiled.items():
        record = copy.deepcopy(good)
        tables.part_of(record, path)[key] = value
        missed = [what for (what, _), met in lines_of(tables, record, ablation).items() if not met]
        assert len(missed) == 1 and missed[0].startswith(mark)


def test_what_was_not_noted_is_compared_with_neither_caution_nor_time(tables):
    found = lines_of(tables, a_record("birds", 0.7981, 0.6979), an_ablation("birds"))
    assert found["PA, not lower by more than .002", "birds"]
    assert not found["AP, not lower by more than .002", "birds"]
    assert not any("not lower" in what for what, _ in lines_of(tables, a_record("birds"), []))
    # Where there is a mark of its own, that one counts.
    found = lines_of(tables, a_record("mediamill", 0.8, 0.79), an_ablation("mediamill", ap=0.9))
    assert found["AP", "mediamill"]
    assert ("AP, not lower by more than .002", "mediamill") not in found
    table = tables.marks_table([a_record("birds", 0.8, 0.6)], an_ablation("birds"))
    assert "|  | 0.6980 | 0.7000 | 0.6000 | **missed** |" in table
    table = tables.marks_table([a_record("yeast")], an_ablation("yeast", ap=0.5))
    assert "| yeast | 0.810 | 0.8750 | 0.8000 | 0.9000 | met |" in table
    assert "| yeast | 0.7688 | 0.7668 | 0.5000 | 0.7000 | **missed** |" in table
    assert "| yeast |  | 0.0100 | 0.0200 | 0.0095 | met |" in table


def test_the_ablation_has_what_the_default_has_more(tables):
    line = tables.ablation_table(an_ablation("birds")).splitlines()[-1]
    gains = ["+1.0 [-2.0, +3.0]", "+0.0 [+0.0, +0.0]"] * 3
    assert line == f"| birds | 0.8000 / 0.7000 | {' | '.join(gains)} |"


def test_ways_to_fill_in_labels_are_compared_draw_by_draw(tables):
    def record(draw, gain):
        marks = {"winner": 0.8, "known": 0.8 + gain, "learned": 0.8 - gain}
        ways = {way: {"pa": value, "ap": value - 0.1} for way, value in marks.items()}
        errors = {"squared_error": {"winner": 0.2, "known": 0.1}}
        return {"set": "yeast", "unknown": 0.3, "draw": draw} | errors | ways

    line = tables.filled_table([record(1, 0.001), record(2, 0.003)]).splitlines()[-1]
    gains = ["+2.0 [+1.0, +3.0]"] * 2 + ["-2.0 [-3.0, -1.0]"] * 2
    assert line == f"| yeast | 30% | 0.200, 0.100 | 0.8000 / 0.7000 | {' | '.join(gains)} |"


def test_late_labels_are_means_of_the_orders(tables):
    def record(name, after):
        part = {key: change(0.5, after) for key in ("half", "subset", "log_loss")}
        return {"set": name} | {case: part | {"share": [0.1, after]} for case in tables.LATE}

    lines = tables.late_table([record("birds", 0.5), record("yeast", 0.6), record("yeast", 0.8)])
    lines = lines.splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| yeast"] * 4 + ["| birds"] * 4
    cell = "0.5000, 0.7000 (+200.0 [+100.0, +300.0])"
    assert lines[1] == f"| yeast | 10 rows later | 0.70 | {cell} | {cell} | {cell} |"


def test_caution_by_label_is_held_against_none(tables):
    def record(share, gain):
        marks = {"time": 0.8, "alone": 0.8 + gain, "pooled": 0.8 - gain}
        ways = {way: {"pa": value, "ap": value - 0.1} for way, value in marks.items()}
        return {"set": "yeast", "share": share} | ways

    records = [record(0.15, 0.0), record(0.5, 0.001), record(0.5, 0.003)]
    half, small = tables.by_label_table(records).splitlines()[2:]
    gains = ["+2.0 [+1.0, +3.0]"] * 2 + ["-2.0 [-3.0, -1.0]"] * 2
    assert half == f"| yeast | 50% | 0.8000 / 0.7000 | {' | '.join(gains)} |"
    assert small.startswith("| yeast | 15% |")


def test_costs_are_ratios_of_learned_rows_and_times_of_answers(tables, tmp_path):
    assert tables.learning_cost_table(tmp_path).startswith("Not measured yet")
    assert tables.answering_cost_table(tmp_path).startswith("Not measured yet")
    names = ("without caution", "without time", "without both", "without the label layer")
    learned = {"default": 2.0} | dict(zip(names, (1.0, 2.0, 4.0, 1.6), strict=True))
    line = {"data": "s", "labels": 6, "learned": learned, "answered": {"scores": 0.5, "f1": 123.4}}
    path = tmp_path / "experiments" / "results" / "benchmarks" / "labels_speed.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"lines": [line]}))
    found = tables.learning_cost_table(tmp_path).splitlines()[-1]
    assert found == "| s | 6 | 2.00 | 2.00 | 1.00 | 0.50 | 1.25 |"
    head, _, found = tables.answering_cost_table(tmp_path).splitlines()
    assert head == "| data | labels | scores, ms | f1, ms |"
    assert found == "| s | 6 | 0.500 | 123 |"


def test_the_picture_has_a_panel_for_each_set(monkeypatch):
    tool = load_tool("draw_labels_together")
    table = [[0.1, -1.0, 0.8], [0.2, -1.0, 0.7], [50.0, 0.0, 20.0]]
    likely = {"reliability_before": table, "reliability_after": table}
    records = {name: {"rows": 9, "probabilities": likely} for name in "abcd"}
    axes = tool.draw(records).axes
    assert [ax.get_title(loc="left") for ax in axes] == [*(f"{n}, 9 rows" for n in "abcd"), "", ""]
    said, happened, counts = tool.read_curve(table)
    assert said[0] == 0.1 and happened[2] == 0.7
    assert str(said[1]) == str(happened[1]) == "nan" and counts[1] == 0.0
