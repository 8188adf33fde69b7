"""Rules over two features, as ellipses on the samples they cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, ListedColormap

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Bools, Floats

PRESENT, ABSENT = "#D55E00", "#0072B2"
REGION = ListedColormap(["#eef4fa", "#fbdcc4"])  # predicted absent, predicted present
ACTIVATION = LinearSegmentedColormap.from_list("activation", ["#ffffff", "#bdbdbd"])
BORDER = "#8a8a8a"
FAINT = 0.02  # activations below this share of the largest one count as none
CORNERS = 64  # of an ellipse


def draw_ellipses(
    centers: ArrayLike,
    covariances: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    used: ArrayLike | None = None,
    points: ArrayLike | None = None,
    present: ArrayLike | None = None,
    region: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    activation: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
) -> Axes:
    """Draw rules as ellipses of one standard deviation, in a square panel.

    The panel is square whatever the ranges of the two features. Where both have the same unit,
    ``ax.set_aspect("equal")`` makes distances comparable.

    Parameters
    ----------
    centers : array of shape (n, 2)
    covariances : array of shape (n, 2, 2)
    feature_names : sequence of two str, optional
        Names of the axes.
    ax : Axes, optional
    used : bool array of shape (n,), optional
        Rules that win some of the points, drawn in black; the others are dotted and grey.
    points : array of shape (m, 2), optional
        Samples to draw underneath.
    present : bool array of shape (m,), optional
        Which samples have the label that is shown: filled dots, the others are rings.
    region : (xs, ys, predicted), optional
        Background: 1 where the label is predicted and 0 where not, NaN where nothing is drawn, on
        the grid of ``xs`` and ``ys``.
    activation : (xs, ys, activations), optional
        Another background: the activation of the strongest rule as a grey tint, with a line where
        one rule takes over from another. ``activations`` has shape (n, len(ys), len(xs)).

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_ellipses([[0, 0]], [[[4, 0], [0, 1]]], feature_names=["size", "age"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('size', 'age')
    """
    centers = as_array(centers, None, 2, name="centers")
    n = len(centers)
    covariances = as_array(covariances, n if n else None, 2, 2, name="covariances")
    used = np.ones(n) if used is None else as_array(used, n, name="used")
    feature_names = names_for(feature_names, 2, "feature")
    if region is not None and activation is not None:
        raise ValueError("Give region or activation: there is one background.")
    ax = style.clear_frame(style.own_axes(4.5, 4.5) if ax is None else ax)
    ax.grid(False)
    if region is not None:
        ax.pcolormesh(*region, cmap=REGION, vmin=0, vmax=1, rasterized=True, zorder=0)
        ax.scatter([], [], marker="s", s=60, color=REGION(1), label="label predicted")
    if activation is not None:
        _shade(ax, *activation, n)
    if points is not None:
        _draw_points(ax, points, present)
    _draw_rules(ax, centers, covariances, used.astype(bool))
    ax.set_box_aspect(1)
    return style.name_axes(ax, *feature_names)


def _shade(ax: Axes, xs: Any, ys: Any, activations: ArrayLike, n: int) -> None:
    """Tint the strongest activation and draw the lines between rules."""
    activations = as_array(activations, n, len(ys), len(xs), name="activations")
    if not n:
        return
    strongest = activations.max(axis=0)
    top = max(strongest.max(initial=0.0), np.finfo(float).tiny)
    ax.pcolormesh(xs, ys, strongest, cmap=ACTIVATION, vmin=0, vmax=top, rasterized=True, zorder=0)
    ax.scatter([], [], marker="s", s=60, color=ACTIVATION(0.7), label="activation (dark: strong)")
    if n == 1:
        return
    seen = strongest > FAINT * top
    winner = activations.argmax(axis=0)
    for r in np.unique(winner[seen]):
        lead = activations[r] - np.delete(activations, r, axis=0).max(axis=0)
        # Further out all activations are nearly 0, and lines between them would mean nothing.
        if (lead[seen] < 0).any():
            lead = np.ma.masked_where(~seen, lead)
            ax.contour(xs, ys, lead, levels=[0.0], colors=BORDER, linewidths=0.7, zorder=0.5)
    ax.plot([], [], color=BORDER, linewidth=0.7, label="border between rules")


def _draw_points(ax: Axes, points: ArrayLike, present: ArrayLike | None) -> None:
    points = as_array(points, None, 2, name="points")
    present = np.zeros(len(points)) if present is None else present
    present = as_array(present, len(points), name="present").astype(bool)
    rings: Any = {"facecolors": "none", "edgecolors": ABSENT, "linewidths": 0.8}
    ax.scatter(points[~present, 0], points[~present, 1], s=10, label="label absent", **rings)
    ax.scatter(
        points[present, 0],
        points[present, 1],
        s=9,
        color=PRESENT,
        linewidths=0,
        label="label present",
    )


def _draw_rules(ax: Axes, centers: Floats, covariances: Floats, used: Bools) -> None:
    looks: tuple[tuple[Bools, str, dict[str, Any]], ...] = (
        (used, "rule, one standard deviation", {"color": "black", "linestyle": "-"}),
        (~used, "rule that wins none of these rows", {"color": style.GREY, "linestyle": ":"}),
    )
    for chosen, name, look in looks:
        if chosen.any():
            _add(ax, centers[chosen], covariances[chosen], **look)
            ax.plot([], [], linewidth=1.4, label=name, **look)
    ax.scatter(centers[used, 0], centers[used, 1], marker="+", s=22, color="black", linewidths=1)


def _add(ax: Axes, centers: Floats, covariances: Floats, *, color: str, linestyle: str) -> None:
    corners: Any = outlines(centers, covariances)
    ax.add_collection(
        PolyCollection(
            corners, facecolors="none", edgecolors=color, linestyles=linestyle, linewidths=1.4
        )
    )


def outlines(centers: Floats, covariances: Floats) -> Floats:
    """Return points one standard deviation around each center (n, corners, 2).

    Both features are brought to the same width first: their units may differ by any factor.
    """
    widths = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    scale = np.where(widths > 0.0, widths, 1.0)
    values, vectors = np.linalg.eigh(covariances / (scale[:, :, None] * scale[:, None, :]))
    halves = np.sqrt(np.maximum(values, 0.0))  # a flat rule may be negative by rounding
    turns = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    shape = scale[:, :, None] * vectors * halves[:, None, :]
    return centers[:, None, :] + circle @ np.swapaxes(shape, 1, 2)
