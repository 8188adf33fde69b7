"""Where the rules lie along the features that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import names_for
from efcml.support.levels import CUTS, LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

REACH = 3.0  # standard deviations to either side
POINTS = 161  # of a curve
HEIGHT = 0.85  # of a curve, in bands
BAND = 0.62  # inches


def draw_memberships(
    positions: ArrayLike,
    widths: ArrayLike,
    feature_names: Sequence[str] | None = None,
    rule_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the membership functions of rules, one band per feature.

    A curve is 1 at the center of its rule and falls with the distance, as the Gaussian of the rule
    does along this feature alone. All features have one scale, the usual of the rows.

    Parameters
    ----------
    positions, widths : arrays of shape (n, p)
        Center and width of each rule along each feature, in standard deviations from the usual.
    feature_names, rule_names : sequence of str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_memberships([[0.0], [1.5]], [[0.5], [1.0]], ["age"], ["new", "old"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['new', 'old']
    """
    positions = as_array(positions, None, None, name="positions")
    n, p = positions.shape
    widths = as_array(widths, n or None, p or None, name="widths")
    features = names_for(feature_names if p else None, p, "feature")
    rules = names_for(rule_names if n else None, n, "rule")
    ax = style.own_axes(7.0, 1.4 + BAND * max(p, 1)) if ax is None else ax
    style.clear_frame(ax)
    ax.grid(False)
    _draw_levels(ax, p)
    x = np.linspace(-REACH, REACH, POINTS)
    for r, (color, dash) in enumerate(style.line_looks(n)):
        for j in range(p):
            width = max(float(widths[r, j]), REACH / POINTS)  # a spike is still seen
            curve = np.exp(-0.5 * ((x - positions[r, j]) / width) ** 2)
            base = float(p - 1 - j)
            ax.plot(
                x,
                base + HEIGHT * curve,
                color=color,
                linestyle=dash,
                linewidth=1.5,
                label=rules[r] if j == 0 else None,
            )
    ax.set_yticks(np.arange(p) + 0.4 * HEIGHT, features[::-1])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-REACH, REACH), ylim=(-0.05, max(p, 1)))
    if n and p:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=style.SMALL)
    return style.name_axes(ax, "standard deviations from the usual", "")


def _draw_levels(ax: Axes, p: int) -> None:
    """Draw lines between the levels and below the bands, and name the levels above."""
    low = -REACH
    for high, word in zip((*CUTS, REACH), LEVELS, strict=True):
        if high < REACH:
            ax.axvline(high, color=style.PALE, linewidth=0.9, zorder=0)
        ax.annotate(
            word,
            ((low + high) / 2.0, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=style.GREY,
            fontsize=style.SMALL,
        )
        low = high
    for j in range(p):
        ax.axhline(j, color=style.GREY, linewidth=0.6, zorder=0)
