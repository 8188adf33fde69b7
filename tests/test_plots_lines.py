"""Trends, rule counts and spending: what is drawn, and that no words cover each other."""

import numpy as np
import pytest
from helpers.pictures import color_at, inside, overlaps, pixels, words
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from efcml import plots
from efcml.evaluation import PrequentialResult
from efcml.measures import reliability
from efcml.plots import style
from efcml.plots._trends import POINTS
from efcml.plots.names import spread

MARKS = {"slow": (20, 40), "sudden": 60}
EVENTS = [(0, "birth", 1), (2, "split", 3), (3, "birth", 2), (3, "merge", 1), (4, "drop", 2)]


@pytest.mark.parametrize("values", [0.5, 0.0])
def test_names_at_line_ends_stay_apart(values):
    rows = np.arange(100)
    curves = {f"model {i}": (rows, np.full(100, values + 0.001 * i)) for i in range(6)}
    ax = plots.draw_trends(curves, marks=MARKS)
    assert words(ax) == ["slow", "sudden", *curves]
    assert not overlaps(ax.texts)
    assert inside(ax.texts)


def test_lines_lead_to_their_names():
    ax = plots.draw_trends({name: ([0, 9], [0.5, 0.5]) for name in ("low", "high")})
    for text, (color, dash) in zip(ax.texts, style.line_looks(2), strict=True):
        assert text.get_color() == color
        assert text.xy == (9, 0.5)
        # Dash patterns are scaled by the width of the line.
        assert (text.arrow_patch.get_linestyle() == "-") == (dash == "-")
    ax.figure.draw_without_rendering()
    low, high = (text.get_window_extent().y0 for text in ax.texts)
    assert low < high


def result_of_a_run(n=4):
    """What `prequential` gives, as far as pictures look at it."""
    Y = np.ones((n, 1))
    scores = np.linspace(0.0, 1.0, n)[:, None]
    events = ((1, "birth", 1), (2, "drop", 1))
    rules = 1 + np.arange(n)
    return PrequentialResult(Y, scores, rules, np.ones(n, bool), events, 0.1)


def test_trends_take_results_and_values_without_rows():
    result = result_of_a_run()
    curves = {
        "run": result,
        "values": result.pa_trend,
        "list": [0.25, 0.5],
        "pair": ([1, 2], [0, 1]),
    }
    ax = plots.draw_trends(curves, first_row=100)
    found = {line.get_label(): line.get_data() for line in ax.lines}
    for name in ("run", "values"):
        np.testing.assert_allclose(found[name], [[100, 101, 102, 103], result.pa_trend])
    np.testing.assert_allclose(found["list"], [[100, 101], [0.25, 0.5]])
    np.testing.assert_allclose(found["pair"], [[1, 2], [0, 1]])


def test_curves_that_cannot_be_drawn_are_refused_with_what_to_give():
    for curves in (result_of_a_run(), [0.5, 0.6], "words"):
        with pytest.raises(ValueError, match=r'^Give curves with their names, as in \{"mine": '):
            plots.draw_trends(curves)
    for curve, got in (("words", "a str"), (np.zeros((3, 4)), r"\(3, 4\)"), (None, r"\(\)")):
        with pytest.raises(ValueError, match=rf"^'a', if no result and no \(rows.* not {got}\.$"):
            plots.draw_trends({"a": curve})


def test_rule_counts_take_results():
    result = result_of_a_run()
    ax = plots.draw_rule_counts(result, first_row=10)
    assert ax.lines[0].get_data()[1].tolist() == result.rules.tolist()
    assert words(ax) == ["births (1)", "drops (1)"]
    assert words(plots.draw_rule_counts(result, events=())) == []
    ax = plots.draw_rule_counts({"one": result, "two": [1, 2]})
    assert words(ax) == ["two", "one"]  # events of one among several would mislead
    with pytest.raises(ValueError, match=r"^rules must be an array of shape \(any,\), not a dict"):
        plots.draw_rule_counts({"one": {"two": [1]}})


def test_trends_leave_out_nan_and_keep_the_last_point():
    values = np.linspace(0, 1, 4 * POINTS)
    values[:10] = np.nan
    ax = plots.draw_trends({"a": (np.arange(len(values)), values)})
    x, y = ax.lines[0].get_data()
    assert len(x) <= 1.5 * POINTS
    assert not np.isnan(y).any()
    assert (x[-1], y[-1]) == (len(values) - 1, 1.0)
    assert ax.get_xlabel() == "row"
    assert not ax.collections


def test_several_orders_give_their_mean_and_a_band(rng):
    values = rng.normal(size=(4, 30))
    values[2, :5] = np.nan
    rows = 100 + np.arange(30)
    ax = plots.draw_trends({"a": (rows, values), "b": (rows, values[0])})
    x, y = ax.lines[0].get_data()
    assert x.tolist() == rows[5:].tolist()
    np.testing.assert_allclose(y, values[:, 5:].mean(axis=0))
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for row, column in zip(rows[5:], values[:, 5:].T, strict=True):
        here = corners[corners[:, 0] == row, 1]
        assert (here.min(), here.max()) == pytest.approx((column.min(), column.max()))
    edges = [line.get_ydata() for line in ax.lines[1:3]]
    np.testing.assert_allclose(edges, [values[:, 5:].min(axis=0), values[:, 5:].max(axis=0)])
    assert ax.get_xlabel().endswith("\nlines: mean of 4 orders, bands: lowest to highest")
    assert words(ax) == (["a", "b"] if y[-1] < values[0, -1] else ["b", "a"])


def test_caption_does_not_count_orders_that_differ():
    curves = {"a": ([1, 2], [[1, 2], [3, 4]]), "b": ([1, 2], [[1, 2], [3, 4], [5, 6]])}
    assert "mean of all orders" in plots.draw_trends(curves).get_xlabel()


def test_bands_can_be_seen():
    ax = plots.draw_trends({"a": ([0, 9], [[0.0, 0.0], [1.0, 1.0]])})
    ax.set_ylim(-1, 2)
    inner, outer = color_at(ax, 4.5, 0.23), color_at(ax, 4.5, 1.73)
    assert outer == (255, 255, 255)
    assert inner[2] > inner[0] + 15


@pytest.mark.parametrize("values", [[0.1], [[0.1, 0.2, 0.3]], [[[0.1, 0.2]]], np.zeros((0, 2)), []])
def test_values_that_do_not_fit_the_rows_are_refused(values):
    ax = plots.new_axes()
    with pytest.raises(ValueError, match="'a' must have shape .* n = 2 rows, not"):
        plots.draw_trends({"a": ([1, 2], values)}, ax=ax)
    assert not ax.lines


def test_a_curve_of_nan_has_no_name_at_its_end():
    ax = plots.draw_trends({"empty": ([1, 2], [np.nan, np.nan])})
    assert not ax.texts


def test_marks_can_stay_without_names():
    ax = plots.draw_trends({"a": ([0, 99], [0, 1])}, marks=MARKS, name_marks=False)
    assert words(ax) == ["a"]


@settings(max_examples=100)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.floats(0.01, 3))
def test_spread_places_are_apart_and_balanced(places, least):
    places = sorted(places)
    moved = spread(places, least)
    assert all(np.diff(moved) >= least - 1e-9)
    assert np.mean(moved) == pytest.approx(np.mean(places), abs=1e-9)
    if all(np.diff(places) >= least):
        assert moved == pytest.approx(places)


@pytest.mark.parametrize("log", [False, True])
def test_rule_counts_show_every_event(log):
    ax = plots.draw_rule_counts([1, 1, 2, 2, 1], EVENTS, first_row=100, cap=2, log=log)
    assert words(ax) == ["cap: 2 rules", "births (2)", "splits (1)", "merges (1)", "drops (1)"]
    ticks = [[path[0, 0] for path in lines.get_segments()] for lines in ax.collections]
    assert ticks == [[100, 103], [102], [103], [104]]
    start = 1 if log else 0
    tops = [path[:, 1].max() for lines in ax.collections for path in lines.get_segments()]
    assert max(tops) < start
    assert ax.get_ylim()[0] < min(tops)
    assert ax.get_ylim()[0] < start == min(ax.get_yticks())
    assert ax.get_xlim() == (100, 104)
    assert not overlaps(ax.texts)


def test_rule_counts_without_events_start_at_zero():
    ax = plots.draw_rule_counts([3, 2], cap=9)
    assert ax.get_ylim()[0] == 0
    assert not ax.texts


def test_several_models_are_named_and_the_first_has_the_events():
    models = {"one": [1, 2, 2], "two": [1, 1, 1], "many": [90, 95, 99]}
    ax = plots.draw_rule_counts(models, EVENTS[:1])
    assert words(ax) == ["one births (1)", "two", "one", "many"]
    assert [line.get_ydata().tolist() for line in ax.lines[:3]] == list(models.values())
    assert len({str(line._unscaled_dash_pattern) for line in ax.lines[:3]}) == 3
    assert not overlaps(ax.texts)  # two lines end just above the events
    assert inside(ax.texts)


def test_logarithmic_counts_have_plain_numbers():
    models = {"few": [0, 2, 5], "many": [90, 200, 310], "none": [0, 0, 0]}
    ax = plots.draw_rule_counts(models, EVENTS[:1], log=True)
    ax.figure.draw_without_rendering()
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks == ["1", "2", "5", "10", "20", "50", "100", "200"]
    assert not ax.yaxis.get_minorticklocs().size
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [True, False, False]
    assert words(ax) == ["few births (1)", "few", "many"]
    assert not overlaps(ax.texts)


@pytest.mark.parametrize("log", [False, True])
def test_names_do_not_move_down_among_the_events(log):
    models = {f"model {i}": [1, 1] for i in range(5)} | {"many": [99, 99]}
    ax = plots.draw_rule_counts(models, EVENTS, log=log)
    assert not overlaps(ax.texts)


@pytest.mark.parametrize("log", [False, True])
def test_names_with_room_stand_where_their_lines_end(log):
    models = {"few": [4, 4], "some": [40, 40], "many": [99, 99]}
    ax = plots.draw_rule_counts(models, log=log)
    ax.figure.draw_without_rendering()
    for text, counts in zip(ax.texts, models.values(), strict=True):
        place = ax.transData.transform((1, counts[-1]))[1]
        box = Text.get_window_extent(text)
        assert (box.y0 + box.y1) / 2 == pytest.approx(place, abs=2.5)


def test_unknown_kinds_of_events_are_refused():
    with pytest.raises(ValueError, match="'death' is no kind of event; there are birth, split"):
        plots.draw_rule_counts([1], [(0, "death")])


def test_words_of_the_spending_stay_apart():
    reasons = {"novelty": [1, 2], "ambiguity": [], "instability": [2], "random": [3]}
    ax = plots.draw_spending([(1, 0.05), (9, 0.1)], budget=0.1, reasons=reasons, unit="labels")
    assert words(ax) == [
        "budget: 0.1",
        "novelty (2)",
        "ambiguity (0)",
        "instability (1)",
        "random (1)",
    ]
    assert not overlaps(ax.texts)
    assert ax.get_ylabel() == "share of labels asked"
    assert min(ax.get_yticks()) == 0
    assert ax.get_xlim() == (0, 9)


def test_spending_above_the_budget_is_still_seen():
    ax = plots.draw_spending([(1, 0.05), (9, 0.4)], budget=0.1)
    assert ax.get_ylim()[1] > 0.4
    with pytest.raises(ValueError, match="budget must be above 0, not 0"):
        plots.draw_spending([], budget=0)


def test_bands_of_marks_lie_below_the_lines():
    ax = plots.draw_trends({"a": ([0, 99], [0, 1])}, marks={"slow": (20, 40)})
    inner, outer = color_at(ax, 30, 0.83), color_at(ax, 60, 0.23)
    assert inner == tuple(int(style.PALE[i : i + 2], 16) for i in (1, 3, 5))
    assert outer == (255, 255, 255)
    assert len(np.unique(pixels(ax.figure).reshape(-1, 3), axis=0)) > 20


def test_reliability_draws_the_bins_that_have_labels():
    said, happened, counts = [0.1, np.nan, 0.75], [0.0, np.nan, 0.5], [10, 0, 40]
    ax = plots.draw_reliability({"one": (said, happened, counts), "two": ([0.2], [0.9], [5])})
    diagonal, first, second = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert first.get_xydata().tolist() == [[0.1, 0.0], [0.75, 0.5]]
    assert second.get_xydata().tolist() == [[0.2, 0.9]]
    bars, marks = ax.collections[:2]
    half = 2 * np.sqrt(0.25 / 40)
    assert bars.get_paths()[1].vertices[:, 1].tolist() == pytest.approx([0.5 - half, 0.5 + half])
    few, many = marks.get_sizes()
    assert few < many
    assert words(ax) == ["one", "two"]
    assert inside(ax.texts)
    assert not overlaps(ax.texts)


def test_reliability_is_drawn_from_what_measures_give(rng):
    p = rng.random((500, 3))
    said, happened, counts = reliability(rng.random(p.shape) < p, p)
    line = plots.draw_reliability({"mine": (said, happened, counts)}).lines[1]
    np.testing.assert_array_equal(line.get_xydata().T, [said, happened])
    assert not plots.draw_reliability({"none": ([], [], [])}).texts


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        ([1, 2], r'^Give curves with their names, as in \{"mine": \(said, happened, counts\)\}'),
        ({"a": ([0.1], [0.2])}, "^'a' must be three arrays: said, happened and counts"),
        ({"a": np.zeros((3, 2))}, "^'a' must be three arrays"),
        ({"a": ([0.1], [0.2], [1, 2])}, r"^counts of 'a' must be an array of shape \(1,\), not"),
    ],
)
def test_reliability_refuses_what_it_cannot_draw(curves, words):
    with pytest.raises(ValueError, match=words):
        plots.draw_reliability(curves)
