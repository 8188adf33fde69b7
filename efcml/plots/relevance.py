"""Which features tell of the labels, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.style import COLORS, GREY, SMALL, names_for, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

BAR = 0.2  # inches
LEFT_OUT = "#b5b5b5"
LEAST = 0.1  # of the axis, which is logarithmic


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

    Examples
    --------
    >>> ax = draw_relevance([4.0, 0.0, 9.0], ["age", "weekday", "size"], most=2)
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.get_ylabel()
    (['size', 'age'], 'most telling 2 of 3 features')
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
    ax.set_yticks(np.arange(len(shown)), [names[j] for j in shown], fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(LEAST, 1.2 * max(strength.max(initial=1.0), 2.0)), ylim=(len(shown) - 0.4, -0.6))
    grey = "" if kept[shown].all() else ", grey: left out"
    ax.set_xlabel(f"what it tells of the labels (dashed: as much as chance{grey})")
    if len(shown) < p:
        ax.set_ylabel(f"most telling {len(shown)} of {p} features")
    return ax
