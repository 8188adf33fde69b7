"""What holds for all pictures: Axes, words, grey prints, files."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib

import matplotlib
import numpy as np
import pytest
from helpers.pictures import pixels
from matplotlib.colors import to_rgb

from efcml import plots
from efcml.plots import heatmap, style
from efcml.plots._ellipses import ACTIVATION, REGION
from efcml.plots.arrays import as_array

DRAW = {
    "trends": lambda **ax: plots.draw_trends({"a": ([1, 2], [0.1, 0.2])}, **ax),
    "rule_counts": lambda **ax: plots.draw_rule_counts([1, 2], [(1, "birth", 0)], **ax),
    "spending": lambda **ax: plots.draw_spending([(9, 0.1)], budget=0.1, reasons={"b": [9]}, **ax),
    "ellipses": lambda **ax: plots.draw_ellipses([[0, 0]], [np.eye(2)], **ax),
    "consequents": lambda **ax: plots.draw_consequents([[0.1, -0.2]], **ax),
    "label_correlation": lambda **ax: plots.draw_label_correlation([[1, 0.5], [0.5, 1]], **ax),
    "importance": lambda **ax: plots.draw_importance([[0.1], [0.2]], **ax),
    "memberships": lambda **ax: plots.draw_memberships([[0.0], [1.0]], [[0.5], [1.0]], **ax),
    "rule_card": lambda **ax: plots.draw_rule_card(
        "rule 1", ["a is high (1 ± 2)"], None, [0.8], [0.7], [0.9], [0.2], **ax
    ),
    "winners": lambda **ax: plots.draw_winners([0, 0, 1], ["a", "b"], **ax),
    "reliability": lambda **ax: plots.draw_reliability(
        {"a": ([0.1, 0.7], [0.2, 0.6], [9, 5])}, **ax
    ),
}
EMPTY = {
    "trends": lambda: plots.draw_trends({}),
    "rule_counts": lambda: plots.draw_rule_counts([]),
    "spending": lambda: plots.draw_spending([], budget=0.1),
    "ellipses": lambda: plots.draw_ellipses([], [], points=[]),
    "consequents": lambda: plots.draw_consequents([]),
    "label_correlation": lambda: plots.draw_label_correlation([]),
    "importance": lambda: plots.draw_importance([]),
    "memberships": lambda: plots.draw_memberships([], []),
    "rule_card": lambda: plots.draw_rule_card("", [], None, [], [], [], []),
    "winners": lambda: plots.draw_winners([]),
    "reliability": lambda: plots.draw_reliability({}),
}


def test_every_picture_is_tested():
    names = {f"draw_{name}" for name in DRAW}
    assert (
        names
        == {name for name in plots.__all__ if name.startswith("draw_")}
        == {f"draw_{name}" for name in EMPTY}
    )


@pytest.mark.parametrize("kind", DRAW)
def test_functions_use_the_axes_given_or_make_some(kind):
    ax = plots.new_axes()
    blank = pixels(ax.figure)
    assert DRAW[kind](ax=ax) is ax
    assert (pixels(ax.figure) != blank).any()
    own = DRAW[kind]()
    assert own.figure is not ax.figure
    assert len(np.unique(pixels(own.figure).reshape(-1, 3), axis=0)) > 20


@pytest.mark.parametrize("kind", DRAW)
def test_panels_of_a_part_of_a_figure_work(kind):
    left, right = plots.new_figure(9.0, 4.0).subfigures(1, 2)
    ax = DRAW[kind](ax=right.subplots())
    assert ax.figure is right
    pixels(left.figure)


@pytest.mark.parametrize("kind", EMPTY)
def test_nothing_gives_an_empty_picture(kind):
    pixels(EMPTY[kind]().figure)


def test_pyplot_is_left_alone():
    code = "import sys, efcml.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_names_become_short_plain_text():
    assert style.plain("short") == "short"
    assert style.plain(7) == "7"
    assert style.plain("two\nlines  here") == "two lines here"
    assert style.plain("a" * 26) == "a" * 26
    assert style.plain("a" * 14 + "b" * 13) == "a" * 13 + "…" + "b" * 12
    assert style.plain("abcdefgh", 4) == "ab…h"


def test_dollar_signs_do_not_start_a_formula():
    name = r"cost in $ \frac{ or $"  # as a formula it could not be drawn
    ax = plots.draw_trends({name: ([1, 2], [0.1, 0.2])}, marks={"$x_1$": 1})
    pixels(ax.figure)
    drawn = [text._preprocess_math(text.get_text()) for text in ax.texts]
    assert drawn == [("$x_1$", False), (name, False)]


def test_lines_differ_in_colour_and_dashes():
    looks = style.line_looks(5)
    assert len({color for color, _ in looks}) == 5
    assert len({dash for _, dash in looks}) == 5
    assert all(heatmap.luminance(to_rgb(color)) < 0.7 for color, _ in looks)


def test_amounts_get_darker_in_grey():
    for colors, least in ((heatmap.AMOUNT, 0.7), (ACTIVATION, 0.2)):
        grey = heatmap.luminance(colors(np.linspace(0, 1, 64)))
        assert (np.diff(grey) < 0).all()
        assert grey[0] - grey[-1] > least
    assert heatmap.luminance(REGION(0)) - heatmap.luminance(REGION(1)) > 0.05


def test_signed_colours_get_darker_to_both_sides():
    grey = heatmap.luminance(heatmap.SIGNED(np.linspace(0, 1, 65)))
    assert (np.diff(grey[:33]) > 0).all()
    assert (np.diff(grey[32:]) < 0).all()
    blue, orange = heatmap.SIGNED(0.2), heatmap.SIGNED(0.8)
    assert blue[2] - blue[0] > 0.3
    assert orange[0] - orange[2] > 0.3


@pytest.mark.parametrize("values", [[1.0], [[1.0, 2.0, 3.0]], [[[1.0, 2.0]]], 5.0])
def test_shapes_that_do_not_fit_are_named(values):
    with pytest.raises(ValueError, match=r"^points must be an array of shape \(any, 2\), not "):
        as_array(values, None, 2, name="points")
    with pytest.raises(ValueError, match=r"of shape \(3,\), not \(2,\)"):
        as_array([1, 2], 3, name="used")
    assert as_array([], None, 2, name="points").shape == (0, 2)


@pytest.mark.parametrize("values", [object(), {"a": [1.0]}, [[1.0], [1.0, 2.0]], "words"])
def test_objects_that_are_no_arrays_are_named(values):
    kind = type(values).__name__
    with pytest.raises(ValueError, match=rf"^points must be .* \(any, 2\), not a {kind}\.$"):
        as_array(values, None, 2, name="points")


@pytest.mark.parametrize("kind", DRAW)
def test_files_hold_words_and_are_the_same_every_time(kind, tmp_path):
    contents = []
    before = dict(matplotlib.rcParams)
    for name in ("one", "two"):
        files = plots.save_figure(
            DRAW[kind]().figure, tmp_path / f"{name}.of.many", ("png", "svg", "pdf")
        )
        assert [file.name for file in files] == [
            f"{name}.of.many.{ending}" for ending in ("png", "svg", "pdf")
        ]
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1]
    assert dict(matplotlib.rcParams) == before
    png, svg, pdf = contents[0]
    assert png.startswith(b"\x89PNG")
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    assert len([element.text for element in found if element.text.strip()]) >= 4
    assert pdf.startswith(b"%PDF")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in pdf  # whole letters, not drawings of them
    stream = pdf.split(b"stream\n", 1)[1].split(b"\nendstream")[0]
    assert zlib.decompress(stream)


def test_png_and_svg_are_written_if_nothing_is_said(tmp_path):
    files = plots.save_figure(DRAW["ellipses"]().figure, tmp_path / "a")
    assert [file.suffix for file in files] == [".png", ".svg"]


@pytest.mark.parametrize("name", DRAW)
def test_a_notebook_shows_figures_of_their_own(name, monkeypatch):
    from matplotlib import pyplot

    ax = DRAW[name]()
    assert not pyplot.get_fignums()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)  # as in the process of a notebook
    shown = DRAW[name]()
    try:
        assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [shown.figure]
        assert shown.figure.get_size_inches().tolist() == ax.figure.get_size_inches().tolist()
        DRAW[name](ax=plots.new_axes())
        assert len(pyplot.get_fignums()) == 1
    finally:
        pyplot.close("all")
