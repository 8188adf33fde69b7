"""The figures of a run that help to read its rules: where they lie, what they say, who decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efcml import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.evaluation import PrequentialResult
    from efcml.explain import RuleList
    from efcml.plots.style import Marks
    from efcml.support.aliases import Ints

MOST_CURVES = 7  # rules, as many as there are colours
MOST_CARDS = 4
MOST_STRIPS = 20
COUNT_HEIGHT, BAND = 2.6, 0.24  # inches: of the panel of counts, and of a strip
CARD_HEIGHT, LINE, LABEL = 0.95, 0.17, 0.27  # inches: of a card without words, of a line, a label


def draw_reading(rules: RuleList) -> dict[str, Figure]:
    """Return membership functions and cards of the rules that decide most."""
    if not rules:
        return {}
    found = {"cards": draw_cards(rules)}
    drawn = rules[:MOST_CURVES].memberships()
    if not drawn["feature_names"]:
        return found
    height = 1.4 + 0.62 * len(drawn["feature_names"])
    ax = plots.draw_memberships(**drawn, ax=plots.new_axes(7.0, height))
    return {"memberships": ax.figure.figure} | found


def draw_cards(rules: RuleList) -> Figure:
    """Return the cards of the rules that decide most, in the order of reading."""
    least = sorted((rule.decides for rule in rules), reverse=True)[:MOST_CARDS][-1]
    cards = [rule.card() for rule in rules if rule.decides >= least][:MOST_CARDS]
    heights = [
        CARD_HEIGHT + LINE * (1 + len(card["conditions"])) + LABEL * len(card["label_names"])
        for card in cards
    ]
    figure = plots.new_figure(7.0, sum(heights))
    axes = figure.subplots(len(cards), 1, height_ratios=heights, squeeze=False)[:, 0]
    for i, (ax, card) in enumerate(zip(axes, cards, strict=True)):
        plots.draw_rule_card(**card, ax=ax)
        if i:
            ax.get_legend().remove()
        if i < len(cards) - 1:
            ax.set_xlabel("")
    return figure


def draw_counts_and_winners(
    result: PrequentialResult,
    rules: RuleList,
    winners: Ints,
    *,
    first_row: int,
    marks: Marks | None,
    cap: int | None,
) -> Figure:
    """Return the number of rules, and below it which of the rules at the end decides each row."""
    shown = min(len(rules), MOST_STRIPS)
    strips = 0.9 + BAND * shown
    figure = plots.new_figure(7.5, COUNT_HEIGHT + strips)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[COUNT_HEIGHT, strips])
    plots.draw_rule_counts(
        result.rules, result.events, first_row=first_row, marks=marks, cap=cap, ax=above
    )
    above.set_xlabel("")
    names = [f"rule {rule.uid}" for rule in rules]
    plots.draw_winners(winners, names, first_row=first_row, ax=below)
    below.set_ylim(len(rules) - shown - 0.5, None)
    return figure
