"""Tables of coloured cells: which features matter for which label, and what rules say of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.plots import style
from efcml.plots.style import names_for, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats

CELL, SIDES = (0.46, 0.23), (3.6, 1.7)  # inches of a cell, and beside and below all of them
LARGEST = 11.0  # inches of a side of a figure
MOST_NUMBERS, MOST_ACROSS = 100, 12  # more cells, or columns, have no numbers
MOST_NAMES = 40  # of an axis; of more every second is written, or every third


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
    ax = _draw_cells(ax, values[kept], names, label_names, top, "importance")
    few = f"strongest {len(kept)} of {len(features)} features"
    ax.set_ylabel(few if len(kept) < len(features) else "features, strongest first")
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
    column_names: Sequence[str] | None,
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
    names, across = names_for(column_names, columns, "label"), -(-columns // MOST_NAMES)
    slanted: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(0, columns, across), names[::across], **slanted)
    ax.set_yticks(np.arange(rows), row_names)
    if values.size <= MOST_NUMBERS and columns <= MOST_ACROSS:
        look: Any = {"ha": "center", "va": "center", "fontsize": style.SMALL - 1.5}
        for (i, k), value in np.ndenumerate(np.nan_to_num(values)):
            ax.text(k, i, f"{value:.2f}", color="black" if value < 0.6 * top else "white", **look)
    bar: Any = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02, label=words)
    bar.outline.set_visible(False)
    return ax
