"""Pictures of streams and rules. Everything here draws arrays and knows no learner.

Every ``draw_*`` function takes the Axes to draw on, or makes a figure of its own, and returns the
Axes. A notebook shows such a figure when its cell ends. Elsewhere matplotlib's global state is left
alone: nothing is shown and no default is changed.
"""

from efcml.plots.cells import draw_importance, draw_label_shares, draw_relevance
from efcml.plots.rules import draw_ellipses
from efcml.plots.stream import (
    draw_differences,
    draw_ranks,
    draw_reliability,
    draw_rule_counts,
    draw_spending,
    draw_trends,
    draw_winners,
)
from efcml.plots.style import mark_rows, name_drifts, new_axes, new_figure, save_figure

__all__ = [
    "draw_differences",
    "draw_ellipses",
    "draw_importance",
    "draw_label_shares",
    "draw_ranks",
    "draw_relevance",
    "draw_reliability",
    "draw_rule_counts",
    "draw_spending",
    "draw_trends",
    "draw_winners",
    "mark_rows",
    "name_drifts",
    "new_axes",
    "new_figure",
    "save_figure",
]
