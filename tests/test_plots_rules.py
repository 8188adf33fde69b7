"""Rules over two features."""

import numpy as np
import pytest
from helpers.pictures import color_at

from efcml import plots

SIDE = np.linspace(-4, 4, 41)
CENTERS = np.array([[-1.5, 0.0], [1.5, 0.0]])


def activations(centers):
    x, y = np.meshgrid(SIDE, SIDE)
    return np.array([np.exp(-((x - a) ** 2) - (y - b) ** 2) for a, b in centers])


@pytest.mark.parametrize("units", [(1.0, 1.0), (1.0, 1e4), (1e-6, 1e6)])
def test_ellipses_lie_one_deviation_from_their_centre(rng, units):
    A = np.array(units)[:, None] * rng.normal(size=(2, 2))
    covariance, center = A @ A.T, np.array([3.0, -1.0])
    ax = plots.draw_ellipses([center], [covariance])
    (path,) = ax.collections[0].get_paths()
    gaps = path.vertices[:-1] - center
    distances = np.sum(np.linalg.solve(A, gaps.T) ** 2, axis=0)
    np.testing.assert_allclose(distances, 1.0, rtol=1e-6)
    np.testing.assert_allclose(gaps.mean(axis=0), 0.0, atol=1e-9 * max(units))
    assert len(path.vertices) > 60


def test_flat_rules_are_drawn_as_lines():
    ax = plots.draw_ellipses([[0, 0]], [[[1.0, 1.0], [1.0, 1.0 - 1e-15]]])
    x, y = ax.collections[0].get_paths()[0].vertices.T
    np.testing.assert_allclose(x, y, atol=1e-6)
    assert np.abs(x).max() == pytest.approx(1.0)
    ax.figure.draw_without_rendering()
    none = plots.draw_ellipses([[2, 3]], [np.zeros((2, 2))])
    assert np.unique(none.collections[0].get_paths()[0].vertices, axis=0).tolist() == [[2, 3]]


@pytest.mark.parametrize("units", [(1.0, 1.0), (1.0, 1e4), (1e4, 1.0)])
@pytest.mark.parametrize("own", [True, False])
def test_the_panel_keeps_its_shape(units, own, rng):
    points = units * rng.random((50, 2))
    ax = plots.draw_ellipses(
        [0.5 * np.array(units)],
        [np.diag(0.04 * np.square(units))],
        points=points,
        ax=None if own else plots.new_axes(8, 4),
    )
    ax.figure.draw_without_rendering()
    assert ax.bbox.width == pytest.approx(ax.bbox.height, rel=0.01)
    assert ax.bbox.width > 0.6 * min(ax.figure.bbox.size)
    # Samples and ellipse fill it, whatever the units.
    for low, high, unit in zip(*np.transpose([ax.get_xlim(), ax.get_ylim()]), units, strict=True):
        assert high - low < 1.3 * unit
    outline = ax.transData.transform(ax.collections[-2].get_paths()[0].vertices)
    width, height = np.ptp(outline, axis=0)
    assert width == pytest.approx(height, rel=0.1)


def test_axes_of_ellipses_have_names():
    ax = plots.draw_ellipses([[0, 0]], [np.eye(2)], feature_names=["size", "age"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size", "age")
    ax = plots.draw_ellipses([[0, 0]], [np.eye(2)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 1", "feature 2")
    with pytest.raises(ValueError, match="There are 3 feature names for 2 features"):
        plots.draw_ellipses([[0, 0]], [np.eye(2)], feature_names="abc")


def test_ellipses_name_what_they_show():
    ax = plots.draw_ellipses(
        [[0, 0], [2, 2]],
        [np.eye(2), np.eye(2)],
        used=[True, False],
        points=[[0, 0], [1, 1]],
        present=[True, False],
        region=([0, 1], [0, 1], [[0.0, 1.0], [np.nan, 1.0]]),
    )
    assert ax.get_legend_handles_labels()[1] == [
        "label predicted",
        "label absent",
        "label present",
        "rule, one standard deviation",
        "rule that wins none of these rows",
    ]
    plain = plots.draw_ellipses([[0, 0]], [np.eye(2)], points=[[0, 0]])
    assert len(plain.get_legend_handles_labels()[1]) == 3


def test_activation_is_darker_where_a_rule_is_strong():
    shading = SIDE, SIDE, activations(CENTERS)
    ax = plots.draw_ellipses(CENTERS, [0.5 * np.eye(2)] * 2, activation=shading)
    strong, weak, none = (color_at(ax, x, 0.3)[0] for x in (1.3, 0.4, -3.95))
    assert strong < weak - 20 < none
    assert len(set(color_at(ax, 1.3, 0.3))) == 1  # a grey: colours belong to the labels
    assert ax.get_legend_handles_labels()[1][:2] == [
        "activation (dark: strong)",
        "border between rules",
    ]


def test_border_is_where_two_rules_are_equal():
    ax = plots.draw_ellipses(
        CENTERS, [0.5 * np.eye(2)] * 2, activation=(SIDE, SIDE, activations(CENTERS))
    )
    borders = [part for part in ax.collections if part.get_zorder() == 0.5]
    corners = np.concatenate([path.vertices for part in borders for path in part.get_paths()])
    np.testing.assert_allclose(corners[:, 0], 0.0, atol=1e-9)
    # Further out both are nearly 0, and no line is drawn.
    assert 0.3 < np.abs(corners[:, 1]).max() < 2.0


def test_borders_need_two_rules_that_win_somewhere():
    one = plots.draw_ellipses(
        CENTERS[:1], [np.eye(2)], activation=(SIDE, SIDE, activations(CENTERS[:1]))
    )
    assert "border between rules" not in one.get_legend_handles_labels()[1]
    values = activations(CENTERS)
    values[1] *= 1e-3  # never wins where something is seen
    ax = plots.draw_ellipses(CENTERS, [np.eye(2)] * 2, activation=(SIDE, SIDE, values))
    assert not [part for part in ax.collections if part.get_zorder() == 0.5]
    ax.figure.draw_without_rendering()


def test_activations_of_no_rule_are_nothing():
    ax = plots.draw_ellipses([], [], activation=(SIDE, SIDE, np.zeros((0, 41, 41))))
    assert not ax.get_legend_handles_labels()[1]
    dark = plots.draw_ellipses(
        CENTERS, [np.eye(2)] * 2, activation=(SIDE, SIDE, np.zeros((2, 41, 41)))
    )
    assert color_at(dark, 0.0, 3.0) == (255, 255, 255)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"centers": [0, 0]}, "centers"),
        ({"covariances": [np.eye(3)]}, "covariances"),
        ({"covariances": [np.eye(2)] * 2}, "covariances"),
        ({"used": [True, False]}, "used"),
        ({"points": [[0, 0, 0]]}, "points"),
        ({"points": [[0, 0]], "present": [1, 0]}, "present"),
        ({"activation": (SIDE, SIDE[1:], activations(CENTERS[:1]))}, "activations"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change, word):
    arrays = {"centers": [[0, 0]], "covariances": [np.eye(2)]} | change
    with pytest.raises(ValueError, match=f"^{word} must be an array of shape"):
        plots.draw_ellipses(**arrays)


def test_there_is_one_background():
    with pytest.raises(ValueError, match="one background"):
        plots.draw_ellipses([], [], region=(), activation=())
