"""Tables as coloured cells: which features matter for which label, labels that come together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from efcml.plots import style
from efcml.plots.style import names_for, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats

# Blue and orange can be told apart by everybody.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#003a5c", "#0072b2", "#8cc0e0", "#f7f7f7", "#f4b183", "#d55e00", "#6e3000"]
)
CELL, SIDES = (0.46, 0.23), (3.6, 1.7)  # inches of a cell, and beside and below all of them
LARGEST = 11.0  # inches of a side of a figure
MOST_NUMBERS, MOST_ACROSS = 60, 12  # more cells, or columns, have no numbers
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

    ``most`` features are drawn, those with the largest sums over all labels.
    """
    values = np.asarray(importance, dtype=float)
    if (values < 0).any():
        raise ValueError("importance must not be negative.")
    features = names_for(feature_names, values.shape[0], "x")
    labels = names_for(label_names, values.shape[1], "label")
    kept = np.argsort(-np.nansum(values, axis=1), kind="stable")[:most]
    names, top = [features[j] for j in kept], float(np.nanmax(values)) or 1.0
    ax = _draw_cells(ax, values[kept], names, labels, "Blues", (0.0, top), "importance")
    few = f"strongest {len(kept)} of {len(values)} features"
    ax.set_ylabel(few if len(kept) < len(values) else "features, strongest first")
    return ax


@styled
def draw_label_correlation(
    correlation: ArrayLike, label_names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the correlation (K, K) of every pair of labels once.

    NaN, as for a label that never changes, is left empty.
    """
    values = np.array(correlation, dtype=float)
    names = names_for(label_names, len(values), "label")
    values[~np.tri(len(values), k=-1, dtype=bool)] = np.nan
    ends = (-1.0, 1.0)
    return _draw_cells(ax, values[1:, :-1], names[1:], names[:-1], SIGNED, ends, "correlation")


def _draw_cells(
    ax: Axes | None,
    values: Floats,
    row_names: Sequence[str],
    column_names: Sequence[str],
    colors: Any,
    ends: tuple[float, float],
    words: str,
) -> Axes:
    """Draw a table as cells, the first row on top, with names and a colour bar.

    Numbers stand in the cells of small tables; NaN is left empty.
    """
    rows, columns = values.shape
    sizes = [columns * CELL[0] + SIDES[0], rows * CELL[1] + SIDES[1]]
    ax = style.clear_frame(ax, *np.minimum(sizes, LARGEST).tolist(), grid=None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    image: Any = ax.imshow(values, cmap=colors, vmin=ends[0], vmax=ends[1], aspect="auto")
    across, down = (np.arange(0, n, -(-n // MOST_NAMES)) for n in (columns, rows))
    slanted: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(across, [column_names[i] for i in across], **slanted)
    ax.set_yticks(down, [row_names[i] for i in down])
    if np.isfinite(values).sum() <= MOST_NUMBERS and columns <= MOST_ACROSS:
        light = image.cmap(image.norm(values))[..., :3] @ [0.299, 0.587, 0.114]
        look: Any = {"ha": "center", "va": "center", "fontsize": style.SMALL - 1.5}
        for i, j in np.argwhere(np.isfinite(values)):
            ink = "black" if light[i, j] > 0.5 else "white"
            ax.text(j, i, f"{values[i, j]:.2f}".replace("-", "−"), color=ink, **look)
    bar: Any = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02, label=words)
    bar.outline.set_visible(False)
    return ax
