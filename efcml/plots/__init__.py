"""Pictures of streams and rules. Everything here draws arrays and knows no learner.

Every ``draw_*`` function takes the Axes to draw on, or makes a figure of its own, and returns the
Axes. A notebook shows such a figure when its cell ends. Elsewhere matplotlib's global state is left
alone: nothing is shown and no default is changed.
"""

from efcml.plots._consequents import draw_consequents
from efcml.plots._correlation import draw_label_correlation
from efcml.plots._ellipses import draw_ellipses
from efcml.plots._importance import draw_importance
from efcml.plots._memberships import draw_memberships
from efcml.plots._reliability import draw_reliability
from efcml.plots._rule_card import draw_rule_card
from efcml.plots._rule_counts import draw_rule_counts
from efcml.plots._spending import draw_spending
from efcml.plots._trends import draw_trends
from efcml.plots._winners import draw_winners
from efcml.plots.style import new_axes, new_figure, save_figure

__all__ = [
    "draw_consequents",
    "draw_ellipses",
    "draw_importance",
    "draw_label_correlation",
    "draw_memberships",
    "draw_reliability",
    "draw_rule_card",
    "draw_rule_counts",
    "draw_spending",
    "draw_trends",
    "draw_winners",
    "new_axes",
    "new_figure",
    "save_figure",
]
