"""Tables as coloured cells: what a rule concludes, which features matter, labels together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.cluster.hierarchy import leaves_list, linkage

from efcml.plots import style
from efcml.plots.style import as_array, names_for, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats, Ints

# Blue and orange can be told apart by everybody. In grey both ends are dark: negative cells are
# marked or have numbers.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#003a5c", "#0072b2", "#8cc0e0", "#f7f7f7", "#f4b183", "#d55e00", "#6e3000"]
)
CELL, SIDES = (0.46, 0.23), (3.6, 1.7)  # inches of a cell, and beside and below all of them
SMALLEST, LARGEST = 2.4, 11.0  # inches of a side of a figure
MOST_NUMBERS, MOST_ACROSS = 60, 12  # more cells, or columns, have no numbers
MOST_NAMES = 40  # of an axis; of more every second is written, or every third
READABLE = 0.01, 1e4  # largest values that look well with up to three decimals
WEAK = 0.05  # of the largest value: negative cells below it stay without mark


@styled
def draw_consequents(
    slopes: ArrayLike,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 20,
) -> Axes:
    """Draw the slopes (K, p) of a rule: orange raises the score of a label, blue lowers it.

    ``most`` features are drawn, those with the largest absolute slopes over all labels. Use slopes
    per standard deviation if the units of features differ.
    """
    values = as_array(slopes, None, None, name="slopes").T
    return _draw_features(values, feature_names, label_names, ax, most, SIGNED, "slope")


@styled
def draw_importance(
    importance: ArrayLike,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 15,
) -> Axes:
    """Draw how much every feature matters for every label (p, K): the darker, the more.

    ``most`` features are drawn, those with the largest sums over all labels.
    """
    values = as_array(importance, None, None, name="importance")
    if (values < 0).any():
        raise ValueError("importance must not be negative; use draw_consequents for signed values.")
    return _draw_features(values, feature_names, label_names, ax, most, "Blues", "importance")


@styled
def draw_label_correlation(
    correlation: ArrayLike, label_names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the correlation (K, K) of every pair of labels once, similar labels next to each other.

    NaN, as for a label that never changes, is drawn as a cross.
    """
    correlation = as_array(correlation, None, None, name="correlation")
    labels = len(correlation)
    as_array(correlation, labels, labels, name="correlation")
    names = names_for(label_names, labels, "label")
    order = order_labels(correlation)
    # Row i holds the pairs of label i + 1 with all labels before it.
    values = np.clip(correlation[np.ix_(order[1:], order[:-1])], -1.0, 1.0)
    values[~np.tri(len(values), dtype=bool)] = np.inf
    rows, columns = ([names[i] for i in some] for some in (order[1:], order[:-1]))
    return draw_cells(ax, values, rows, columns, SIGNED, 1.0, "correlation")


def order_labels(correlation: Floats) -> Ints:
    """Return the labels, those that behave alike side by side and those without any value last."""
    others = np.where(np.eye(len(correlation), dtype=bool), np.nan, correlation)
    known = ~np.isnan(others).all(axis=1)
    first, last = np.flatnonzero(known), np.flatnonzero(~known)
    if len(first) < 3:
        return np.concatenate([first, last])
    alike = np.clip(np.nan_to_num(correlation[np.ix_(first, first)]), -1.0, 1.0)
    distances = (1.0 - alike)[np.triu_indices(len(first), 1)]
    tree = linkage(distances, "average", optimal_ordering=True)
    return np.concatenate([first[leaves_list(tree)], last])


def _draw_features(
    values: Floats,
    feature_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
    ax: Axes | None,
    most: int,
    colors: Any,
    words: str,
) -> Axes:
    """Draw a table (p, K) by its strongest features."""
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}.")
    features = names_for(feature_names, values.shape[0], "x")
    labels = names_for(label_names, values.shape[1], "label")
    strength = np.abs(np.nan_to_num(values))
    kept = np.argsort(-strength.sum(axis=1), kind="stable")[:most]
    top, names = strength.max(initial=0.0) or 1.0, [features[i] for i in kept]
    ax = draw_cells(ax, values[kept], names, labels, colors, top, words)
    few = f"strongest {len(kept)} of {len(values)} features"
    ax.set_ylabel(few if len(kept) < len(values) else "features, strongest first")
    return ax


def draw_cells(
    ax: Axes | None,
    values: Floats,
    row_names: Sequence[str],
    column_names: Sequence[str],
    colors: Any,
    top: float,
    words: str,
) -> Axes:
    """Draw a table as cells, the first row on top, with names and a colour bar up to ``top``.

    Numbers stand in the cells of small tables. Elsewhere negative cells get a line, since colours
    alone do not show the sign in grey. NaN cells get a cross, infinite ones are left empty.
    """
    rows, columns = values.shape
    sizes = [columns * CELL[0] + SIDES[0], rows * CELL[1] + SIDES[1]]
    width, height = np.clip(sizes, SMALLEST, LARGEST).tolist()
    ax = style.clear_frame(ax, width, height, grid=None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if not values.size:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "nothing to draw", transform=ax.transAxes, ha="center", color=style.GREY)
        return ax
    bottom = -top if colors is SIGNED else 0.0
    table = np.ma.masked_invalid(values)
    image = ax.imshow(table, cmap=colors, vmin=bottom, vmax=top, aspect="auto")
    across, down = (np.arange(0, n, -(-n // MOST_NAMES)) for n in (columns, rows))
    slanted: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(across, [column_names[i] for i in across], **slanted)
    ax.set_yticks(down, [row_names[i] for i in down])
    if rows <= MOST_NAMES and columns <= MOST_NAMES:  # white lines between cells
        ax.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="white", linewidth=0.8)
        ax.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="white", linewidth=0.8)
    colored: Any = image.cmap(image.norm(table))
    light = colored[..., :3] @ [0.299, 0.587, 0.114]
    inks = np.where(light > 0.5, "black", "white")  # what can be read on each cell
    marks: list[tuple[str, str, Any, Any]] = []
    few = table.count() <= MOST_NUMBERS and columns <= MOST_ACROSS
    if few and READABLE[0] <= top < READABLE[1]:
        decimals = int(np.clip(2 - np.ceil(np.log10(top)), 0, 3))
        look: Any = {"ha": "center", "va": "center", "fontsize": style.SMALL - 1.5}
        for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
            number = f"{round(values[row, column], decimals) + 0.0:.{decimals}f}"
            text = ax.text(column, row, number.replace("-", "−"), color=inks[row, column], **look)
            text.set_in_layout(False)  # it lies within the cells, and measuring it takes long
    elif bottom < 0:
        negative = np.nan_to_num(values, posinf=0.0) < -WEAK * top
        marks.append(("line in a cell: negative", "_", negative, inks[negative]))
    if np.isnan(values).any():
        marks.append(("cross: unknown", "x", np.isnan(values), style.GREY))
    for _, sign, where, ink in marks:
        y, x = np.nonzero(where)
        ax.scatter(x, y, marker=sign, s=16, c=ink, linewidths=0.9)
    bar: Any = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(words + (f" ({', '.join(mark[0] for mark in marks)})" if marks else ""))
    return ax
