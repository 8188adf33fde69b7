"""Differences with their intervals, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP, GAP = 0.3, 1.1  # inches per line and around them
LONGEST = 40  # letters of a name


def draw_differences(
    differences: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    ax: Axes | None = None,
    xlabel: str = "difference",
) -> Axes:
    """Draw a point and its interval for every line, and a line at 0.

    What is surely above or below 0 is filled and dark, the rest open and grey.

    Parameters
    ----------
    differences : mapping of str to mapping of str to (difference, low, high)
        By group, such as the data set, and name, such as the model.
    ax : Axes, optional
    xlabel : str
        What the difference is of.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_differences({"emotions": {"static": (-0.02, -0.03, -0.01)}})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['static']
    """
    n_lines = sum(map(len, differences.values()))
    if not n_lines:
        raise ValueError("there is no difference to draw: give at least two models.")
    height = GAP + STEP * (n_lines + len(differences))
    ax = style.clear_frame(style.own_axes(height=height) if ax is None else ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=style.PALE, linewidth=0.7)
    ax.axvline(0.0, color=style.GREY, linewidth=1)
    place, ticks = 0.0, {}
    for group, lines in differences.items():
        ax.annotate(
            style.plain(group, LONGEST),
            (0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=style.GREY,
            fontsize=style.SMALL,
        )
        for name, (middle, low, high) in lines.items():
            place += 1.0
            ticks[place] = style.plain(name, LONGEST)
            _draw_one(ax, place, middle, low, high)
        place += 1.0
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - 0.4, -0.6)
    ax.margins(x=0.08)
    style.name_axes(ax, xlabel, "")
    return ax


def _draw_one(ax: Axes, place: float, middle: float, low: float, high: float) -> None:
    sure = bool(np.isfinite([low, high]).all() and (low > 0 or high < 0))
    color = style.COLORS[0] if sure else style.GREY
    ax.plot([low, high], [place, place], color=color, linewidth=2.0, solid_capstyle="butt")
    face = color if sure else "white"
    ax.plot([middle], [place], "o", markersize=5.5, color=color, markerfacecolor=face)
