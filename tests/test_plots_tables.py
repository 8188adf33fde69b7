"""Tables of colours: consequents, label correlation, importance."""

import numpy as np
import pytest
from helpers.pictures import color_at, inside, overlaps, pixels, tick_words, words
from matplotlib.colors import to_rgb

from efcml import plots
from efcml.plots import heatmap
from efcml.plots._correlation import order_alike
from efcml.plots.names import names_for

SIZES = {"emotions": (72, 6), "yeast": (103, 14), "birds": (260, 19), "mediamill": (120, 101)}


def values_of(ax):
    """Return the table that was drawn; masked cells as NaN."""
    array = ax.collections[0].get_array()
    return np.ma.filled(array.astype(float), np.nan)


def bar_words(ax):
    return ax.figure.axes[-1].get_ylabel()


def marks(ax):
    """Return the cells with a mark, of every set of marks."""
    return [
        {tuple(place) for place in np.round(part.get_offsets()).astype(int).tolist()}
        for part in ax.collections[1:]
    ]


def test_consequents_show_the_strongest_features_first():
    slopes = np.array([[0.1, -0.9, 0.0, 0.3], [0.1, 0.2, 0.05, -0.7]])
    ax = plots.draw_consequents(slopes, list("abcd"), ["up", "down"], most=3)
    assert tick_words(ax.yaxis) == ["b", "d", "a"]
    assert tick_words(ax.xaxis) == ["up", "down"]
    np.testing.assert_allclose(values_of(ax), slopes[:, [1, 3, 0]].T)
    assert words(ax) == ["−0.90", "0.20", "0.30", "−0.70", "0.10", "0.10"]
    assert ax.get_ylim() == (2.5, -0.5)  # the first row on top
    assert ax.get_ylabel() == "strongest 3 of 4 features"
    assert bar_words(ax) == "slope"
    assert ax.collections[0].get_clim() == (-0.9, 0.9)
    all_of_them = plots.draw_consequents(slopes)
    assert all_of_them.get_ylabel() == "features, strongest first"
    assert tick_words(all_of_them.yaxis)[0] == "feature 2"


def test_cells_have_the_colour_of_their_sign():
    ax = plots.draw_consequents([[0.5], [-0.5], [0.0]])
    raised, lowered, neither = (color_at(ax, x, 0.4) for x in range(3))
    assert raised[0] > raised[2] + 40
    assert lowered[2] > lowered[0] + 40
    assert max(neither) - min(neither) < 5


def test_importance_is_sorted_and_starts_at_zero():
    importance = np.array([[0.1, 0.2], [0.6, 0.8], [0.3, 0.0]])
    ax = plots.draw_importance(importance, ["a", "b", "c"], ["x", "y"], most=2)
    assert tick_words(ax.yaxis) == ["b", "a"]
    np.testing.assert_allclose(values_of(ax), importance[[1, 0]])
    assert ax.collections[0].get_clim() == (0, 0.8)
    assert bar_words(ax) == "importance"
    with pytest.raises(ValueError, match="must not be negative"):
        plots.draw_importance([[-0.1]])


def test_many_amounts_need_no_marks(rng):
    ax = plots.draw_importance(rng.random((15, 19)))
    assert not words(ax)
    assert not marks(ax)
    assert bar_words(ax) == "importance"


def test_every_pair_of_labels_is_drawn_once():
    correlation = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, -0.3], [0.8, -0.3, 1.0]])
    ax = plots.draw_label_correlation(correlation, ["a", "b", "c"])
    across, down = tick_words(ax.xaxis), tick_words(ax.yaxis)
    drawn = {}
    for (row, column), value in np.ndenumerate(values_of(ax)):
        if not np.isnan(value):
            drawn[frozenset((down[row], across[column]))] = value
    assert drawn == {frozenset("ab"): 0.1, frozenset("ac"): 0.8, frozenset("bc"): -0.3}
    assert color_at(ax, 1, 0) == (255, 255, 255)  # above the diagonal
    assert ax.collections[0].get_clim() == (-1, 1)
    assert bar_words(ax) == "correlation"


def test_labels_that_behave_alike_are_neighbours(rng):
    groups = rng.permutation(np.repeat([0, 1, 2], 4))
    hidden = rng.normal(size=(3, 500))
    hidden[1] -= hidden[0]
    correlation = np.corrcoef(hidden[groups] + 0.3 * rng.normal(size=(12, 500)))
    order = order_alike(correlation)
    assert sorted(order.tolist()) == list(range(12))
    assert np.count_nonzero(np.diff(groups[order])) == 2
    assert order[0] < order[-1]
    mirrored = order_alike(correlation[::-1, ::-1])
    assert np.count_nonzero(np.diff(groups[::-1][mirrored])) == 2


def test_order_starts_after_the_widest_gap():
    angles = np.radians([0, 170, 10, 180, 350, 190])
    order = order_alike(np.cos(angles[:, None] - angles))
    assert {frozenset(order[:3].tolist()), frozenset(order[3:].tolist())} == {
        frozenset({0, 2, 4}),
        frozenset({1, 3, 5}),
    }


def test_unknown_correlations_have_crosses_and_stand_last():
    correlation = np.array([[np.nan] * 3, [np.nan, 1.0, -0.5], [np.nan, -0.5, 1.0]])
    ax = plots.draw_label_correlation(correlation, ["never", "a", "b"])
    assert tick_words(ax.yaxis) == ["b", "never"]
    assert marks(ax) == [{(0, 1), (1, 1)}]
    assert words(ax) == ["−0.50"]
    assert bar_words(ax) == "correlation (cross: unknown)"


@pytest.mark.parametrize("labels", [0, 1])
def test_one_label_has_no_pairs(labels):
    ax = plots.draw_label_correlation(np.eye(labels), ["a"] * labels)
    assert words(ax) == ["nothing to draw"]
    assert not tick_words(ax.xaxis)


def test_rounding_beyond_one_is_clipped():
    ax = plots.draw_label_correlation([[1, -1.0000001], [-1.0000001, 1]])
    assert values_of(ax).tolist() == [[-1.0]]


def test_numbers_give_way_to_signs(rng):
    slopes = rng.choice([-1.0, 0.5, -0.01], size=(14, 20))
    ax = plots.draw_consequents(slopes, most=20)
    assert not words(ax)
    assert bar_words(ax) == "slope (line in a cell: negative)"
    table = values_of(ax)
    assert marks(ax) == [{(column, row) for row, column in np.argwhere(table < -0.5).tolist()}]


@pytest.mark.parametrize("scale", [1e-5, 1e6])
def test_unwieldy_numbers_are_not_written(scale):
    ax = plots.draw_consequents(scale * np.array([[1.0, -1.0]]))
    assert not words(ax)
    assert marks(ax) == [{(0, 1)}]


@pytest.mark.parametrize(
    ("top", "expected"), [(0.04, "0.040"), (0.4, "0.40"), (1.0, "1.00"), (4.0, "4.0"), (400, "400")]
)
def test_numbers_have_two_digits_that_count(top, expected):
    ax = plots.draw_importance([[top], [0.0]])
    assert words(ax)[0] == expected


def test_zero_has_no_minus():
    assert words(plots.draw_consequents([[1.0, -1e-9]])) == ["1.00", "0.00"]


def test_numbers_can_be_read_on_their_cells():
    ax = plots.draw_consequents(np.linspace(-1, 1, 12)[None], most=12)
    mesh = ax.collections[0]
    for text in ax.texts:
        cell = mesh.to_rgba(values_of(ax)[round(text.get_position()[1]), 0])
        ink = heatmap.luminance(to_rgb(text.get_color()))
        assert abs(heatmap.luminance(cell) - ink) > 0.45


def test_numbers_stay_inside_their_cells(rng):
    ax = plots.draw_consequents(rng.uniform(-0.9, -0.1, size=(6, 20)))
    assert len(words(ax)) == 120
    assert not overlaps(ax.texts)
    across, down = heatmap.cell_points(ax, 20, 6)
    scale = ax.figure.dpi / 72
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.width < across * scale
        assert box.height < 1.1 * down * scale


@pytest.mark.slow  # no kernel in it, but many drawings
@pytest.mark.parametrize("own", [True, False], ids=["own figure", "small panel"])
@pytest.mark.parametrize(
    "name",
    [
        "emotions",
        "mediamill",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("yeast", "birds")),
    ],
)
def test_names_never_touch(name, own, rng):
    features, labels = SIZES[name]
    names = [f"a feature with a long name {i:03d}" for i in range(features)]
    label_names = [f"label with a name {i:03d}" for i in range(labels)]
    panels = [None] * 3 if own else plots.new_figure(9.0, 3.5).subplots(1, 3)
    slopes, matrix = rng.normal(size=(labels, features)), np.corrcoef(rng.normal(size=(labels, 50)))
    for ax in (
        plots.draw_consequents(slopes, names, label_names, ax=panels[0]),
        plots.draw_label_correlation(matrix, label_names, ax=panels[1]),
        plots.draw_importance(np.abs(slopes).T, names, label_names, ax=panels[2]),
    ):
        ax.figure.draw_without_rendering()
        down = [text for text in ax.get_yticklabels() if text.get_text()]
        assert not overlaps(down)
        assert inside(down)
        # Slanted names touch when they are closer than a line is high, across their direction.
        places = [ax.transData.transform((x, 0))[0] for x in ax.get_xticks()]
        least = 8.5 * ax.figure.dpi / 72
        assert all(np.diff(places) / np.sqrt(2) > least)
        assert tick_words(ax.xaxis)[0] in label_names
        assert len(places) >= (min(labels - 1, 6) if own else 2)


def test_every_name_is_written_where_there_is_room(rng):
    ax = plots.draw_label_correlation(np.corrcoef(rng.normal(size=(19, 50))))
    assert len(tick_words(ax.xaxis)) == len(tick_words(ax.yaxis)) == 18


def test_ticks_do_not_depend_on_limits():
    ax = plots.draw_importance(np.ones((3, 2)))
    assert ax.yaxis.get_major_locator().tick_values(0, 1).tolist() == [0, 1, 2]


def test_shortened_names_stay_different():
    long = "x" * 26
    assert names_for(["a", "b"], 2, "label") == ["a", "b"]
    more = names_for([f"{long[:16]}{i}{long[:14]}" for i in range(2)], 2, "label")
    assert len(set(more)) == 2
    assert not more[0].endswith("(1)")
    assert all(len(name) == 31 for name in more)
    numbered = names_for([f"{long}{i}{long}" for i in range(2)] + ["a"], 3, "label")
    assert numbered == ["x" * 13 + "…" + "x" * 12 + f" ({i})" for i in (1, 2)] + ["a"]


def test_names_with_dollars_are_drawn_as_they_are():
    ax = plots.draw_importance([[1.0]], [r"$\broken{$"], ["$a$"])
    assert tick_words(ax.yaxis) == [r"\$\broken{\$"]
    pixels(ax.figure)
    assert not any(text._preprocess_math(text.get_text())[1] for text in ax.get_yticklabels())


def test_large_tables_become_one_image(rng):
    small = plots.draw_importance(rng.random((10, 19)))
    large = plots.draw_importance(rng.random((15, 101)))
    assert not small.collections[0].get_rasterized()
    assert large.collections[0].get_rasterized()
    assert not large.collections[0].get_edgecolor().size


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.draw_consequents([1.0]), r"^slopes must be an array of shape \(any, any\)"),
        (lambda: plots.draw_consequents([[1.0]], ["a", "b"]), "2 feature names for 1 features"),
        (lambda: plots.draw_consequents([[1.0]], None, []), "0 label names for 1 labels"),
        (lambda: plots.draw_consequents([[1.0]], most=0), "most must be at least 1, not 0"),
        (lambda: plots.draw_importance([1.0]), "^importance must be an array of shape"),
        (lambda: plots.draw_importance([[1.0]], ["a"], ["b", "c"]), "2 label names for 1 labels"),
        (lambda: plots.draw_label_correlation([[1.0, 0.0]]), r"of shape \(1, 1\), not \(1, 2\)"),
        (lambda: plots.draw_label_correlation(np.eye(2), ["a"]), "1 label names for 2 labels"),
    ],
)
def test_arrays_and_names_that_do_not_fit_are_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_table_of_zeros_or_nan_is_drawn():
    for values in ([[0.0, 0.0]], [[np.nan, np.nan]]):
        pixels(plots.draw_consequents(values).figure)
        pixels(plots.draw_importance(values).figure)


def test_numbers_go_where_a_figure_gets_too_small_for_them():
    ax = plots.draw_importance(np.full((3, 4), 0.5), ax=plots.new_axes(6, 4))
    signed = plots.draw_consequents(np.full((4, 3), -0.5), ax=plots.new_axes(6, 4))

    def seen(ax):
        ax.figure.draw_without_rendering()
        return sum(text.get_visible() for text in ax.texts)

    assert seen(ax) == seen(signed) == 12
    for picture in (ax, signed):
        picture.figure.set_size_inches(2.3, 4)
    assert seen(ax) == 0
    assert seen(signed) == 12  # without them nobody could tell the sign
    ax.figure.set_size_inches(6, 4)
    assert seen(ax) == 12
