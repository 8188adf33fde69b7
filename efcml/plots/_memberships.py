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

    from efcml.support.aliases import Bools

REACH = 3.0  # standard deviations to either side
POINTS = 161  # of a curve
HEIGHT = 0.85  # of a curve, in bands
BAR = 0.6  # height of a bar of 100 %
BAND = 0.62  # inches


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
    does along this feature alone. All features have one scale, the usual of the rows. Columns of 0
    and 1 have bars in place of curves.

    Parameters
    ----------
    positions, widths : arrays of shape (n, p)
        Center and width of each rule along each feature, in standard deviations from the usual.
    feature_names, rule_names : sequence of str, optional
    shares : array of shape (n, p), optional
        For columns of 0 and 1 the share of 1 in each rule; NaN for the others.
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
    shares = np.full((n, p), np.nan) if shares is None else shares
    shares = as_array(shares, n or None, p or None, name="shares")
    flags: Bools = np.asarray(~np.isnan(shares).any(axis=0) & (n > 0))
    features = names_for(feature_names if p else None, p, "feature")
    rules = names_for(rule_names if n else None, n, "rule")
    ax = style.own_axes(7.0, 1.4 + BAND * max(p, 1)) if ax is None else ax
    style.clear_frame(ax)
    ax.grid(False)
    _draw_levels(ax, flags)
    x = np.linspace(-REACH, REACH, POINTS)
    for r, (color, dash) in enumerate(style.line_looks(n)):
        for j in range(p):
            base, label = float(p - 1 - j), rules[r] if j == 0 else None
            if flags[j]:
                place, height = (2.0 * r + 1.0 - n) * REACH / n, BAR * shares[r, j]
                ax.bar(place, height, REACH / n, base, color=color, label=label)
                words = f"{100.0 * shares[r, j]:.0f} %"
                ax.text(place, base + height + 0.03, words, ha="center", fontsize=style.SMALL)
                continue
            width = max(float(widths[r, j]), REACH / POINTS)  # a spike is still seen
            curve = np.exp(-0.5 * ((x - positions[r, j]) / width) ** 2)
            ax.plot(
                x,
                base + HEIGHT * curve,
                color=color,
                linestyle=dash,
                linewidth=1.5,
                label=label,
            )
    named = [f"{name}: yes" if flags[j] else name for j, name in enumerate(features)]
    ax.set_yticks(np.arange(p) + 0.4 * HEIGHT, named[::-1])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-REACH, REACH), ylim=(-0.05, max(p, 1)))
    if n and p:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=style.SMALL)
    if p and flags.all():
        ax.set_xticks([])
        return style.name_axes(ax, "", "")
    return style.name_axes(ax, "standard deviations from the usual", "")


def _draw_levels(ax: Axes, flags: Bools) -> None:
    """Draw lines between the levels and below the bands, and name the levels above.

    Bands of flags (p,) have no levels.
    """
    low, p = -REACH, len(flags)
    for j in range(p):
        ax.axhline(j, color=style.GREY, linewidth=0.6, zorder=0.2)
    for j in np.flatnonzero(flags).tolist():
        ax.axhspan(p - 1 - j, p - j, color=ax.get_facecolor(), linewidth=0, zorder=0.1)
    if p and flags.all():
        return
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
