"""Which features tell of the labels: bars now, and lines along a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.style import COLORS, GREY, PALE, SMALL, names_for, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.plots.style import Marks

LINE = "as much as chance"
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
    ax = style.own_axes(6.0, 1.0 + BAR * max(len(shown), 3)) if ax is None else ax
    style.clear_frame(ax).grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=PALE, linewidth=0.7)
    for some, color, words in (
        (kept[shown], COLORS[0], "rules are formed over it"),
        (~kept[shown], LEFT_OUT, "left out"),
    ):
        if some.any():
            width = np.maximum(strength[shown][some], LEAST)
            ax.barh(np.flatnonzero(some), width, 0.75, color=color, label=words)
    ax.axvline(1.0, color=GREY, linestyle="--", linewidth=1.2, label=LINE)
    ax.set_xscale("log")
    ax.set_yticks(np.arange(len(shown)), [names[j] for j in shown], fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(LEAST, 1.2 * max(strength.max(initial=1.0), 2.0)), ylim=(len(shown) - 0.4, -0.6))
    ax.set_xlabel("what it tells of the labels, shuffled features: 1")
    if len(shown) < p:
        ax.set_ylabel(f"most telling {len(shown)} of {p} features")
    style.legend_beside(ax)
    return ax


@styled
def draw_relevance_course(
    rows: ArrayLike,
    course: ArrayLike,
    feature_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 7,
    marks: Marks | None = None,
) -> Axes:
    """Draw what features told of the labels along a stream: at every look (looks, p), a line each.

    Take it from ``clf.learner_.relevance.course``, which has both arrays. ``most`` features are
    drawn, those that told most at some time.

    Examples
    --------
    >>> ax = draw_relevance_course([200, 400], [[5.0, 0.2], [0.3, 6.0]], ["old", "new"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['new', 'old', 'as much as chance']
    """
    course = np.asarray(course, dtype=float)
    names = names_for(feature_names, course.shape[1], "x")
    shown = np.argsort(-course.max(axis=0, initial=0.0), kind="stable")[:most]
    ax = style.clear_frame(style.own_axes() if ax is None else ax)
    for j, look in zip(shown, style.line_looks(len(shown)), strict=True):
        ax.plot(rows, np.maximum(course[:, j], LEAST), marker=".", label=names[j], **look)
    ax.axhline(1.0, color=GREY, linestyle="--", linewidth=1.2, label=LINE)
    ax.set_yscale("log")
    ax.set(xlabel="row", ylabel="what it tells of the labels")
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax
