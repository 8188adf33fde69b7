"""Pictures of rules: where they lie, over two features or along many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap

from efcml.plots import style
from efcml.plots.style import GREY, PALE, SMALL, clear_frame, names_for, styled
from efcml.support.statistics import CUTS, LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

PRESENT, ABSENT = "#D55E00", "#0072B2"
REGION = ListedColormap(["#eef4fa", "#fbdcc4"])  # predicted absent, predicted present
CORNERS = 64  # of an ellipse
REACH, POINTS = 3.0, 81  # of a membership function, in standard deviations to either side
HEIGHT, BAR = 0.85, 0.6  # of a curve, and of a bar of 100 %, in bands
BAND = 0.62  # inches of a feature


@styled
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
) -> Axes:
    """Draw rules as ellipses of one standard deviation, in a square panel.

    The panel is square whatever the ranges of the two features. Where both have the same unit,
    ``ax.set_aspect("equal")`` makes distances comparable.

    Parameters
    ----------
    centers, covariances : arrays of shape (n, 2) and (n, 2, 2)
    used : bool array of shape (n,), optional
        Rules that decide some of the points, drawn in black; the others are dotted and grey. Take
        them from ``clf.activations(points).argmax(axis=1)``.
    points, present : arrays of shape (m, 2) and (m,), optional
        Samples to draw underneath; filled dots have the label that is shown, rings do not.
    region : (xs, ys, predicted), optional
        Background: 1 where the label is predicted and 0 where not, NaN where nothing is drawn, on
        the grid of ``xs`` and ``ys``.
    """
    centers, covariances = np.asarray(centers, float), np.asarray(covariances, float)
    used = np.ones(len(centers), dtype=bool) if used is None else np.asarray(used, dtype=bool)
    ax = clear_frame(ax, 4.5, 4.5, grid=None)
    if region is not None:
        ax.pcolormesh(*region, cmap=REGION, vmin=0, vmax=1, rasterized=True, zorder=0)
        ax.scatter([], [], marker="s", s=60, color=REGION(1), label="label predicted")
    if points is not None:
        points = np.asarray(points, dtype=float)
        there = np.zeros(len(points), bool) if present is None else np.asarray(present, dtype=bool)
        rings: Any = {"facecolors": "none", "edgecolors": ABSENT, "linewidths": 0.8}
        ax.scatter(*points[~there].T, s=10, label="label absent", **rings)
        ax.scatter(*points[there].T, s=9, label="label present", color=PRESENT, linewidths=0)
    turns = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    looks = (
        (used, "rule, one standard deviation", "black", "-"),
        (~used, "rule that decides none of these rows", GREY, ":"),
    )
    for chosen, name, color, dash in looks:
        if chosen.any():
            roots = np.linalg.cholesky(covariances[chosen])
            corners: Any = centers[chosen][:, None] + circle @ roots.swapaxes(1, 2)
            look: Any = {"edgecolors": color, "linestyles": dash, "linewidths": 1.4}
            ax.add_collection(PolyCollection(corners, facecolors="none", **look))
            ax.plot([], [], color=color, linestyle=dash, linewidth=1.4, label=name)
    ax.scatter(*centers[used].T, marker="+", s=22, color="black", linewidths=1)
    ax.set_box_aspect(1)
    names = names_for(feature_names, 2, "x")
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


@styled
def draw_memberships(
    positions: ArrayLike,
    widths: ArrayLike,
    feature_names: Sequence[str] | None = None,
    rule_names: Sequence[str] | None = None,
    *,
    shares: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the membership functions of rules, one band per feature.

    A curve is 1 at the center of its rule and falls with the distance, as the Gaussian of the rule
    does along this feature alone. ``positions`` and ``widths`` (n, p) are in standard deviations
    from the usual, so all features have one scale. ``shares`` (n, p) has for columns of 0 and 1 the
    share of 1 in each rule, drawn as bars in place of curves, and NaN for the others.
    `RuleList.memberships` has all of it.
    """
    positions, widths = np.asarray(positions, float), np.asarray(widths, float)
    n, p = positions.shape
    shares = np.full((n, p), np.nan) if shares is None else np.asarray(shares, dtype=float)
    features, rules = names_for(feature_names, p, "x"), names_for(rule_names, n, "rule ")
    flags = ~np.isnan(shares).any(axis=0)
    ax = clear_frame(ax, 7.0, 1.4 + BAND * p, grid=None)
    x = np.linspace(-REACH, REACH, POINTS)
    for r, look in enumerate(style.line_looks(n)):
        ax.plot([], [], lw=1.5, label=rules[r], **look)
        for j in range(p):
            base = float(p - 1 - j)
            if flags[j]:
                place, height = (2.0 * r + 1.0 - n) * REACH / n, BAR * shares[r, j]
                ax.bar(place, height, REACH / n, base, color=look["color"])
                words = f"{100.0 * shares[r, j]:.0f} %"
                ax.text(place, base + height + 0.03, words, ha="center", fontsize=SMALL)
            else:
                width = max(float(widths[r, j]), REACH / POINTS)  # a spike is still seen
                curve = HEIGHT * np.exp(-0.5 * ((x - positions[r, j]) / width) ** 2)
                ax.plot(x, base + curve, lw=1.5, **look)
    ax.hlines(np.arange(p), -REACH, REACH, color=GREY, linewidth=0.6, zorder=0.2)
    for j in np.flatnonzero(~flags).tolist():
        ax.vlines(CUTS, p - 1 - j, p - j, color=PALE, linewidth=0.9, zorder=0)
    ends = np.array([-REACH, *CUTS, REACH])
    for middle, word in zip((ends[1:] + ends[:-1]) / 2.0, LEVELS, strict=True):
        style.write_beside(ax, word, (middle, 1), "x", (0, 3), ha="center")
    named = [f"{name}: yes" if flags[j] else name for j, name in enumerate(features)]
    ax.set_yticks(np.arange(p) + 0.4 * HEIGHT, named[::-1])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-REACH, REACH), ylim=(-0.05, p), xlabel="standard deviations from the usual")
    style.legend_beside(ax)
    return ax
