"""Pictures of rules: where they lie, over two features or along many, and one on a card."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, ListedColormap

from efcml.plots import style
from efcml.plots.style import GREY, PALE, SMALL, as_array, clear_frame, names_for, styled
from efcml.support.statistics import CUTS, LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats

PRESENT, ABSENT = "#D55E00", "#0072B2"
REGION = ListedColormap(["#eef4fa", "#fbdcc4"])  # predicted absent, predicted present
TINT = LinearSegmentedColormap.from_list("activation", ["#ffffff", "#bdbdbd"])
BORDER = "#8a8a8a"
FAINT = 0.02  # activations below this share of the largest one count as none
CORNERS = 64  # of an ellipse

REACH, POINTS = 3.0, 81  # of a membership function, in standard deviations to either side
HEIGHT, BAR = 0.85, 0.6  # of a curve, and of a bar of 100 %, in bands
LINE, BAND, LABEL = 0.17, 0.62, 0.27  # inches of a line of words, of a feature, of a label
LETTERS = 84  # of a line of a card


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
    activation: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
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
    activation : (xs, ys, activations), optional
        Another background: the activation of the strongest rule as a grey tint, with a line where
        one rule takes over from another. ``activations`` has shape (n, len(ys), len(xs)), such as
        ``rules.firing(grid).T.reshape(n, len(ys), len(xs))``.
    """
    centers = as_array(centers, None, 2, name="centers")
    n = len(centers)
    covariances = as_array(covariances, n or None, 2, 2, name="covariances")
    used = (np.ones(n) if used is None else as_array(used, n, name="used")).astype(bool)
    if region is not None and activation is not None:
        raise ValueError("Give region or activation: there is one background.")
    ax = clear_frame(ax, 4.5, 4.5, grid=None)
    if region is not None:
        ax.pcolormesh(*region, cmap=REGION, vmin=0, vmax=1, rasterized=True, zorder=0)
        ax.scatter([], [], marker="s", s=60, color=REGION(1), label="label predicted")
    if activation is not None and n:
        _shade(ax, *activation, n)
    if points is not None:
        points = as_array(points, None, 2, name="points")
        given = np.zeros(len(points)) if present is None else present
        there = as_array(given, len(points), name="present").astype(bool)
        rings: Any = {"facecolors": "none", "edgecolors": ABSENT, "linewidths": 0.8}
        dots: Any = {"color": PRESENT, "linewidths": 0}
        x, y = points.T
        ax.scatter(x[~there], y[~there], s=10, label="label absent", **rings)
        ax.scatter(x[there], y[there], s=9, label="label present", **dots)
    looks = (
        (used, "rule, one standard deviation", "black", "-"),
        (~used, "rule that decides none of these rows", GREY, ":"),
    )
    for chosen, name, color, dash in looks:
        if chosen.any():
            corners: Any = outlines(centers[chosen], covariances[chosen])
            look: Any = {"edgecolors": color, "linestyles": dash, "linewidths": 1.4}
            ax.add_collection(PolyCollection(corners, facecolors="none", **look))
            ax.plot([], [], color=color, linestyle=dash, linewidth=1.4, label=name)
    ax.scatter(centers[used, 0], centers[used, 1], marker="+", s=22, color="black", linewidths=1)
    ax.set_box_aspect(1)
    names = names_for(feature_names, 2, "x")
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _shade(ax: Axes, xs: Any, ys: Any, activations: ArrayLike, n: int) -> None:
    """Tint the strongest activation and draw the lines between rules."""
    activations = as_array(activations, n, len(ys), len(xs), name="activations")
    strongest, winner = activations.max(axis=0), activations.argmax(axis=0)
    top = max(strongest.max(initial=0.0), np.finfo(float).tiny)
    ax.pcolormesh(xs, ys, strongest, cmap=TINT, vmin=0, vmax=top, rasterized=True, zorder=0)
    ax.scatter([], [], marker="s", s=60, color=TINT(0.7), label="activation (dark: strong)")
    seen = strongest > FAINT * top  # further out all are nearly 0, and lines would mean nothing
    rules = np.unique(winner[seen])
    if len(rules) < 2:
        return
    for r in rules:
        lead = activations[r] - np.delete(activations, r, axis=0).max(axis=0)
        lead = np.ma.masked_where(~seen, lead)
        ax.contour(xs, ys, lead, levels=[0.0], colors=BORDER, linewidths=0.7, zorder=0.5)
    ax.plot([], [], color=BORDER, linewidth=0.7, label="border between rules")


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
    positions = as_array(positions, None, None, name="positions")
    n, p = positions.shape
    widths = as_array(widths, n or None, p or None, name="widths")
    shares = np.full((n, p), np.nan) if shares is None else shares
    shares = as_array(shares, n or None, p or None, name="shares")
    features, rules = names_for(feature_names, p, "x"), names_for(rule_names, n, "rule ")
    flags = ~np.isnan(shares).any(axis=0) & (n > 0)
    numbers = not p or not flags.all()
    ax = clear_frame(ax, 7.0, 1.4 + BAND * max(p, 1), grid=None)
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
    ends = (-REACH, *CUTS, REACH)
    for low, high, word in zip(ends, ends[1:], LEVELS, strict=False) if numbers else ():
        style.write_beside(ax, word, ((low + high) / 2.0, 1), "x", (0, 3), ha="center")
    named = [f"{name}: yes" if flags[j] else name for j, name in enumerate(features)]
    ax.set_yticks(np.arange(p) + 0.4 * HEIGHT, named[::-1])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-REACH, REACH), ylim=(-0.05, max(p, 1)))
    style.legend_beside(ax)
    if numbers:
        ax.set_xlabel("standard deviations from the usual")
    else:
        ax.set_xticks([])
    return ax


@styled
def draw_rule_card(
    title: str,
    conditions: Sequence[str],
    label_names: Sequence[str] | None,
    answers: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    usual: ArrayLike,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a rule: its conditions in words, and shares of labels in its rows with intervals.

    Conditions hold together; one in capitals, such as "OTHERWISE", stands alone. Of each label
    (K,): the share in the rule, between which values it lies, and the usual share. `Rule.card` has
    all of it.
    """
    answers = as_array(answers, None, name="answers")
    n = len(answers)
    low, high, usual = (
        as_array(values, n or None, name=name)
        for values, name in ((low, "low"), (high, "high"), (usual, "usual"))
    )
    labels, lines = names_for(label_names, n, "label"), [title]
    for i, condition in enumerate(conditions):
        start = "AND " if i else "" if condition.isupper() else "IF "
        indents: Any = {"initial_indent": "  ", "subsequent_indent": "      "}
        lines += textwrap.wrap(f"{start}{condition}", LETTERS, **indents)
    ax = clear_frame(ax, 6.4, 1.1 + LINE * (len(lines) - 1) + LABEL * max(n, 2), grid="x")
    words = "\n".join(lines).replace("$", r"\$")
    ax.set_title(words, loc="left", fontsize=SMALL + 0.5, linespacing=1.35)
    y = np.arange(n)
    ax.hlines(y, low, high, color=PRESENT, linewidth=2.2, alpha=0.6)
    ax.scatter(answers, y, s=30, color=PRESENT, zorder=3, label="in its rows,\nand how sure")
    ax.scatter(usual, y, s=70, marker="|", color=GREY, zorder=2, label="usual")
    ax.axvline(0.5, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(y, labels)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-0.03, 1.03), ylim=(max(n, 1) - 0.3, -0.7))
    ax.set_xlabel("share of rows with the label")
    style.legend_beside(ax)
    return ax
