"""Pictures of streams and rules. Everything here draws arrays and knows no learner.

Every ``draw_*`` function takes the Axes to draw on, or makes a figure of its own, and returns the
Axes. A notebook shows such a figure when its cell ends. Elsewhere matplotlib's global state is left
alone: nothing is shown and no default is changed.
"""

from efcml.plots.consequents import draw_consequents
from efcml.plots.correlation import draw_label_correlation
from efcml.plots.ellipses import draw_ellipses
from efcml.plots.importance import draw_importance
from efcml.plots.rule_counts import draw_rule_counts
from efcml.plots.spending import draw_spending
from efcml.plots.style import new_axes, new_figure, save_figure
from efcml.plots.trends import draw_trends

__all__ = [
    "draw_consequents",
    "draw_ellipses",
    "draw_importance",
    "draw_label_correlation",
    "draw_rule_counts",
    "draw_spending",
    "draw_trends",
    "new_axes",
    "new_figure",
    "save_figure",
]
