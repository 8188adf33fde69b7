"""Pictures: what is drawn, on which Axes, and that no words cover each other."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efcml import plots
from efcml.plots import style
from efcml.plots.trends import POINTS, spread

MARKS = {"slow": (20, 40), "sudden": 60}
EVENTS = [(0, "birth", 1), (3, "birth", 2), (3, "merge", 1), (4, "drop", 2)]


def draw_one(kind, ax=None):
    if kind == "trends":
        return plots.draw_trends({"a": ([1, 2], [0.1, 0.2])}, ax=ax)
    if kind == "rule_counts":
        return plots.draw_rule_counts([1, 2], ax=ax)
    if kind == "spending":
        return plots.draw_spending([(9, 0.1)], budget=0.1, reasons={"novelty": [9]}, ax=ax)
    return plots.draw_ellipses([[0, 0]], [np.eye(2)], ax=ax)


@pytest.mark.parametrize("kind", ["trends", "rule_counts", "spending", "ellipses"])
def test_functions_use_the_axes_given_or_make_some(kind):
    ax = plots.new_axes()
    assert draw_one(kind, ax) is ax
    own = draw_one(kind)
    assert own.figure is not ax.figure
    own.figure.canvas.draw()


def test_pyplot_is_left_alone():
    code = "import sys, efcml.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def boxes(ax):
    """Return the rendered boxes of the words on an Axes."""
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def test_names_at_line_ends_stay_apart():
    rows = np.arange(100)
    curves = {f"model {i}": (rows, np.full(100, 0.5 + 0.001 * i)) for i in range(6)}
    ax = plots.draw_trends(curves, marks=MARKS)
    assert [text.get_text() for text in ax.texts] == ["slow", "sudden", *curves]
    found = boxes(ax)
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    figure = ax.figure.bbox
    assert all(figure.x0 <= box.x0 and box.x1 <= figure.x1 for box in found)


def test_lines_differ_in_colour_and_dashes():
    looks = style.line_looks(5)
    assert len({color for color, _ in looks}) == 5
    assert len({dash for _, dash in looks}) == 5


def test_trends_leave_out_nan_and_keep_the_last_point():
    values = np.linspace(0, 1, 4 * POINTS)
    values[:10] = np.nan
    ax = plots.draw_trends({"a": (np.arange(len(values)), values)})
    x, y = ax.lines[0].get_data()
    assert len(x) <= 1.5 * POINTS
    assert not np.isnan(y).any()
    assert (x[-1], y[-1]) == (len(values) - 1, 1.0)


def test_a_curve_of_nan_has_no_name_at_its_end():
    ax = plots.draw_trends({"empty": ([1, 2], [np.nan, np.nan])})
    assert not ax.texts


def test_marks_can_stay_without_names():
    ax = plots.draw_trends({"a": ([0, 99], [0, 1])}, marks=MARKS, name_marks=False)
    assert [text.get_text() for text in ax.texts] == ["a"]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.floats(0.01, 3))
def test_spread_places_are_apart_and_balanced(places, least):
    places = sorted(places)
    moved = spread(places, least)
    assert all(np.diff(moved) >= least - 1e-9)
    assert np.mean(moved) == pytest.approx(np.mean(places), abs=1e-9)
    if all(np.diff(places) >= least):
        assert moved == pytest.approx(places)


def test_rule_counts_show_every_event():
    ax = plots.draw_rule_counts([1, 1, 1, 1, 1], EVENTS, first_row=100, cap=1)
    words = [text.get_text() for text in ax.texts]
    assert words == ["cap: 1 rules", "births (2)", "merges (1)", "drops (1)"]
    ticks = [[path[0, 0] for path in lines.get_segments()] for lines in ax.collections]
    assert ticks == [[100, 103], [103], [104]]
    assert ax.get_ylim()[0] < 0 <= min(ax.get_yticks())
    found = boxes(ax)
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))


def test_rule_counts_without_events_start_at_zero():
    ax = plots.draw_rule_counts([3, 2], cap=9)
    assert ax.get_ylim()[0] == 0
    assert not ax.texts


def test_words_of_the_spending_stay_apart():
    reasons = {"novelty": [1, 2], "ambiguity": [], "instability": [2], "random": [3]}
    ax = plots.draw_spending([(1, 0.05), (9, 0.1)], budget=0.1, reasons=reasons, unit="labels")
    words = [text.get_text() for text in ax.texts]
    assert words == ["budget: 0.1", "novelty (2)", "ambiguity (0)", "instability (1)", "random (1)"]
    found = boxes(ax)
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    assert ax.get_ylabel() == "share of labels asked"
    assert min(ax.get_yticks()) == 0


def test_ellipses_lie_one_deviation_from_their_centre(rng):
    A = rng.normal(size=(2, 2))
    covariance, center = A @ A.T, np.array([3.0, -1.0])
    ax = plots.draw_ellipses([center], [covariance])
    ellipse = ax.collections[0]
    a, b = ellipse.get_widths()[0] / 2, ellipse.get_heights()[0] / 2
    angle = np.radians(ellipse.get_angles()[0])
    t = np.linspace(0, 6, 9)
    outline = np.stack([a * np.cos(t), b * np.sin(t)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = turn @ outline
    distances = np.einsum("in,ij,jn->n", points, np.linalg.inv(covariance), points)
    np.testing.assert_allclose(distances, 1.0)
    np.testing.assert_allclose(ellipse.get_offsets(), [center])


def test_ellipses_name_what_they_show():
    ax = plots.draw_ellipses(
        [[0, 0], [2, 2]], [np.eye(2), np.eye(2)], used=[True, False],
        points=[[0, 0], [1, 1]], present=[True, False],
        region=([0, 1], [0, 1], [[0.0, 1.0], [np.nan, 1.0]]),
    )  # fmt: skip
    assert ax.get_legend_handles_labels()[1] == [
        "label predicted",
        "label absent",
        "label present",
        "rule, one standard deviation",
        "rule that wins none of these rows",
    ]
    plain = plots.draw_ellipses([[0, 0]], [np.eye(2)], points=[[0, 0]])
    assert len(plain.get_legend_handles_labels()[1]) == 3


def test_saved_figures_are_the_same_every_time(tmp_path):
    contents = []
    for name in ("one", "two"):
        png, svg = plots.save_figure(draw_one("ellipses").figure, tmp_path / f"{name}.of.many")
        assert png.name == f"{name}.of.many.png"
        assert png.read_bytes().startswith(b"\x89PNG")
        contents.append(svg.read_bytes())
    assert contents[0] == contents[1]
    assert b"<svg" in contents[0]
