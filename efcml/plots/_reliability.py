"""Whether probabilities are what they say: how often labels are true of which so much was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.plots.style import Dash
    from efcml.support.aliases import Floats

DEVIATIONS = 2.0  # of the share of true labels that is drawn to both sides
LARGEST = 90.0  # area of the mark of a bin that has half of the labels or more, in square points
SMALLEST = 8.0


def draw_reliability(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the share of true labels over the probability that was said, with the diagonal.

    Right probabilities lie on the diagonal, but for chance: a bar is as long as the share may vary
    by chance, two deviations to both sides. Marks are the larger, the more labels a bin has.

    Parameters
    ----------
    curves : mapping of str to (said, happened, counts)
        By the name of the model, what `efcml.measures.reliability` gives: mean probability, share
        of true labels, and number of labels of every bin. Empty bins are NaN and left out.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_reliability({"mine": ([0.1, 0.7], [0.2, 0.6], [50, 30])})
    >>> ax.get_xlabel()
    'probability said'
    """
    if not isinstance(curves, Mapping):
        raise ValueError('Give curves with their names, as in {"mine": (said, happened, counts)}.')
    bins = {name: _read(name, curve) for name, curve in curves.items()}
    ax = style.clear_frame(style.own_axes(5.4, 4.2) if ax is None else ax)
    ax.grid(visible=True, axis="x", color=style.PALE, linewidth=0.7)
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle=":", zorder=1)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    ends = []
    for (name, table), (color, dash) in zip(bins.items(), style.line_looks(len(bins)), strict=True):
        if len(table):
            _draw_one(ax, table, color, dash)
            ends.append((1.0, table[-1, 1], name, color, dash))
    style.name_axes(ax, "probability said", "share of true labels")
    name_ends(ax, ends)
    return ax


def _read(name: str, curve: Any) -> Floats:
    """Return the bins that are not empty as rows of said, happened and count, checked."""
    columns = tuple(curve) if isinstance(curve, tuple | list) else ()
    if len(columns) != 3:
        raise ValueError(f"{name!r} must be three arrays: said, happened and counts.")
    said = as_array(columns[0], None, name=f"said of {name!r}")
    others = [
        as_array(column, len(said), name=f"{what} of {name!r}")
        for what, column in zip(("happened", "counts"), columns[1:], strict=True)
    ]
    table = np.column_stack([said, *others])
    return table[table[:, 2] > 0]


def _draw_one(ax: Axes, table: Floats, color: str, dash: Dash) -> None:
    said, happened, counts = table.T
    spread = DEVIATIONS * np.sqrt(happened * (1.0 - happened) / counts)
    low, high = np.maximum(happened - spread, 0.0), np.minimum(happened + spread, 1.0)
    ax.vlines(said, low, high, color=color, linewidth=1.0)
    ax.plot(said, happened, color=color, linestyle=dash, linewidth=1.7)
    share = np.minimum(2.0 * counts / counts.sum(), 1.0)
    sizes = SMALLEST + (LARGEST - SMALLEST) * share
    ax.scatter(said, happened, s=sizes, color=color, zorder=3, clip_on=False)
