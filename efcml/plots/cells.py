"""Which features matter, as bars and by label; what rules say of labels: tables of cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from efcml.plots import style
from efcml.plots.style import COLORS, GREY, SMALL, names_for, styled
from efcml.support.aliases import Floats

CELL, SIDES = (0.46, 0.23), (3.6, 1.7)  # inches of a cell, and beside and below all of them
LARGEST = 11.0  # inches of a side of a figure
MOST_NUMBERS, MOST_ACROSS = 100, 12  # more cells, or columns, have no numbers
MOST_NAMES = 40  # of an axis; of more every second is written, or every third
BAR, LEFT_OUT = 0.2, "#b5b5b5"  # inches of a bar, and the grey of features that are left out
LEAST = 0.1  # of the axis of bars, which is logarithmic


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

    ``most`` features are drawn, those with the largest sums over all labels, the first one on top.
    """
    values = np.asarray(importance, dtype=float)
    features = names_for(feature_names, len(values), "x")
    kept = np.argsort(-values.sum(axis=1), kind="stable")[:most]
    names, top = [features[j] for j in kept], float(values.max()) or 1.0
    labels = names_for(label_names, values.shape[1], "label")
    ax = _draw_cells(ax, values[kept], names, labels, top, "importance")
    few = f"strongest {len(kept)} of {len(features)} features"
    ax.set_ylabel(few if len(kept) < len(features) else "features, strongest first")
    return ax


@styled
def draw_relevance(
    strength: ArrayLike,
    feature_names: Sequence[str] | None = None,
    *,
    kept: ArrayLike | None = None,
    ax: Axes | None = None,
    most: int = 30,
) -> Axes:
    """Draw what every feature tells of the labels (p,), beside the line that chance reaches, 1.

    Take it from ``clf.feature_relevance_``. ``kept`` (p,) are the features that rules are formed
    over; without it, those above 0. The others are grey. ``most`` features are drawn, the most
    telling ones.
    """
    strength = np.asarray(strength, dtype=float)
    p = len(strength)
    names = names_for(feature_names, p, "x")
    kept = strength > 0.0 if kept is None else np.asarray(kept) > 0.0
    shown = np.argsort(-strength, kind="stable")[:most]
    ax = style.clear_frame(ax, 6.0, 1.0 + BAR * max(len(shown), 3), grid="x")
    colors = np.where(kept[shown], COLORS[0], LEFT_OUT)
    ax.barh(np.arange(len(shown)), np.maximum(strength[shown], LEAST), 0.75, color=colors)
    ax.axvline(1.0, color=GREY, linestyle="--", linewidth=1.2)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(np.arange(len(shown)), [names[j] for j in shown], fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(LEAST, 1.2 * max(strength.max(initial=1.0), 2.0)), ylim=(len(shown) - 0.4, -0.6))
    grey = "" if kept[shown].all() else ", grey: left out"
    ax.set_xlabel(f"what it tells of the labels (dashed: as much as chance{grey})")
    if len(shown) < p:
        ax.set_ylabel(f"most telling {len(shown)} of {p} features")
    return ax


@styled
def draw_label_shares(
    shares: ArrayLike,
    rule_names: Sequence[str],
    label_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 20,
) -> Axes:
    """Draw the share of every label in the rows of each rule (rules, K): the darker, the more.

    At most so many labels are drawn: those in which the rules differ most. Unknown shares (NaN) are
    left empty.
    """
    values = np.asarray(shares, dtype=float)
    labels = names_for(label_names, values.shape[1], "label")
    spreads = np.nan_to_num(values).std(axis=0)
    kept = np.sort(np.argsort(-spreads, kind="stable")[:most])
    names = [labels[k] for k in kept]
    return _draw_cells(ax, values[:, kept], rule_names, names, 1.0, "share of rows with the label")


def _draw_cells(
    ax: Axes | None,
    values: Floats,
    row_names: Sequence[str],
    column_names: Sequence[str],
    top: float,
    words: str,
) -> Axes:
    """Draw a table of values between 0 and ``top``, with numbers if it is small."""
    rows, columns = values.shape
    width, height = columns * CELL[0] + SIDES[0], rows * CELL[1] + SIDES[1]
    ax = style.clear_frame(ax, min(width, LARGEST), min(height, LARGEST), grid=None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    image = ax.imshow(values, cmap="Blues", vmin=0.0, vmax=top, aspect="auto")
    across = -(-columns // MOST_NAMES)
    slanted: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(0, columns, across), column_names[::across], **slanted)
    ax.set_yticks(np.arange(rows), row_names)
    if values.size <= MOST_NUMBERS and columns <= MOST_ACROSS:
        look: Any = {"ha": "center", "va": "center", "fontsize": SMALL - 1.5}
        for i, k in np.argwhere(~np.isnan(values)):
            value = values[i, k]
            ax.text(k, i, f"{value:.2f}", color="black" if value < 0.6 * top else "white", **look)
    bar: Any = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02, label=words)
    bar.outline.set_visible(False)
    return ax
