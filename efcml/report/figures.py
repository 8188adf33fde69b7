"""The figures of a run: what happened along the stream, and how to read the rules at its end."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import plots
from efcml.estimators.classifier import EFCMLClassifier
from efcml.measures import MEASURES, reliability, trend
from efcml.support.statistics import label_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.explain import RuleList
    from efcml.plots.style import Marks
    from efcml.support.aliases import Floats, Ints, TableLike

FIGURES = (  # of a run
    *("trends", "rules", "memberships", "cards", "importance", "relevance", "reliability"),
    "spending",
)
WINDOW_SHARE = 1 / 12  # of all rows: what the line of the last rows averages over
LEAST_WINDOW = 50  # but not fewer rows than this, if the stream has four times as many
ROWS_AT_ONCE = 10_000  # whose activations are in memory
MOST_CURVES, MOST_CARDS, MOST_STRIPS = 7, 3, 20  # rules that are drawn
MOST_BARS = 25  # features
WIDTH = 6.6  # inches: letters stay readable on a phone, too
COUNT_HEIGHT, BAND = 2.2, 0.22  # inches: of the panel of counts, and of a strip
CARD_HEIGHT, LINE, LABEL = 0.7, 0.17, 0.23  # inches: of a card without words, of a line, a label


def draw_run(
    result: PrequentialResult,
    classifier: Any,
    active: ActiveLearner | None = None,
    *,
    dataset: Dataset | None = None,
    first_row: int = 0,
    X: TableLike | None = None,
) -> dict[str, Figure]:
    """Draw what a run was like.

    The classifier, or pipeline, is as it is after the run. Drifts of ``dataset`` are marked;
    ``first_row`` is the number of the first row of the run, such as ``dataset.n_initial``. With its
    rows ``X``, "rules" also shows which rule decides each row.

    Returns figures by name: "trends" and, where there is something to show, "rules",
    "memberships", "cards", "importance", "relevance", "reliability" and "spending".
    """
    steps, model = split(classifier)
    marks = find_marks(dataset, first_row, len(result.Y))
    rules: Any = getattr(model, "rules_", ()) if isinstance(model, EFCMLClassifier) else ()
    # Models with a rule base per label have a cap for each of them, not for the sum drawn here.
    cap = model.max_rules if isinstance(model, EFCMLClassifier) else None
    figures: dict[str, Any] = {"trends": draw_measures(result, first_row, marks)}
    if result.rules.any():
        winners = None
        if rules and X is not None:
            for step in steps:
                X = step.transform(X)
            winners = winners_of(model, X)
        figures["rules"] = draw_rules(result, rules, winners, first_row, marks, cap)
    if rules:
        figures |= draw_reading(rules)
        names = (dataset or rules).feature_names, (dataset or rules).label_names
        if len(names[0]) != len(rules.feature_names):  # steps of a pipeline made others of them
            names = rules.feature_names, names[1]
        axes = plots.new_axes(WIDTH, 5.6)
        figures["importance"] = plots.draw_importance(rules.importance(), *names, ax=axes).figure
        at, course = model.learner_.relevance.course
        if len(at):
            shown = min(len(names[0]), MOST_BARS)
            figure = plots.new_figure(WIDTH, 3.4 + 0.2 * max(shown, 3))
            above, below = figure.subplots(2, height_ratios=[0.8 + 0.2 * max(shown, 3), 2.2])
            kept = model.feature_relevance_ > 0.0
            plots.draw_relevance(course[-1], names[0], kept=kept, ax=above, most=MOST_BARS)
            plots.draw_relevance_course(at, course, names[0], ax=below)
            figures["relevance"] = figure
    learner = getattr(model, "learner_", None)
    # Others bend the ends of their scores; so does a model of a 1-D target.
    learned = getattr(learner, "layered", False) and not getattr(model, "_binary", False)
    if learned and result.probabilities is not None:
        curves = {"this run": reliability(result.Y, result.probabilities)}
        figures["reliability"] = plots.draw_reliability(curves, ax=plots.new_axes(4.6, 4.2)).figure
    if active is not None:
        axes = active.plot(plots.new_axes(WIDTH, 3.0))
        figures["spending"] = axes.figure
        if first_row:
            axes.set_xlabel("row after the initial part")  # an active learner counts its own rows
    for name in {"trends", "rules"} & figures.keys():
        words = "row of the data set" if first_row else "row of the stream"
        figures[name].axes[-1].set_xlabel(words)
    return figures


def split(classifier: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline before its model, and the model."""
    steps = [step for _, step in getattr(classifier, "steps", ())]
    before = [step for step in steps[:-1] if step is not None and step != "passthrough"]
    return before, (steps or [classifier])[-1]


def winners_of(classifier: Any, X: Any) -> Ints:
    """Return the rule that decides each row of a run, which may have got its names after it."""
    if not hasattr(X, "columns"):
        classifier = copy(classifier)
        classifier.__dict__.pop("feature_names_in_", None)  # scikit-learn would warn
    begins = range(0, max(X.shape[0] if hasattr(X, "shape") else len(X), 1), ROWS_AT_ONCE)
    parts = [X[begin : begin + ROWS_AT_ONCE] for begin in begins]
    return np.concatenate([classifier.activations(part).argmax(axis=1) for part in parts])


def draw_measures(result: PrequentialResult, first_row: int, marks: Marks | None) -> Figure:
    """Return a figure of both measures so far, lately, and for an answer that never changes."""
    Y, constant = result.Y, constant_scores(result.Y)
    rows = first_row + np.arange(len(Y))
    window = choose_window(len(Y))
    full = slice(window - 1, None)  # from the first row with a whole window
    begun = slice(window // 5, None)  # means of very few rows would stretch the axis
    panels = {}
    for name in ("pa", "ap"):
        panels[MEASURES[name].title] = {
            "so far": (rows[begun], result.trend(name)[begun]),
            f"last {window} rows": (rows[full], result.trend(name, window=window)[full]),
            "constant answer": (rows[begun], trend(Y, constant, name)[begun]),
        }
    return draw_panels(panels, marks=marks)


def draw_panels(
    panels: Mapping[str, Mapping[str, Any]],
    *,
    marks: Marks | None = None,
    width: float = WIDTH,
    height: float = 4.8,
) -> Figure:
    """Return a figure with one panel of trends below the other, by the titles of their axes.

    Names of marks and the legend stand beside the first panel.
    """
    figure = plots.new_figure(width, height)
    axes = figure.subplots(len(panels), 1, sharex=True)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        plots.draw_trends(curves, ax=ax, ylabel=title)
        plots.mark_rows(ax, marks, named=ax is axes[0])
        if ax is not axes[0]:
            ax.get_legend().remove()
        ax.label_outer()
    return figure


def draw_rules(
    result: PrequentialResult,
    rules: RuleList,
    winners: Ints | None,
    first_row: int,
    marks: Marks | None,
    cap: int | None,
) -> Figure:
    """Return the number of rules and, if known, which rule at the end decides each row."""
    strips = 0.0 if winners is None else 0.7 + BAND * min(len(rules), MOST_STRIPS)
    figure = plots.new_figure(WIDTH, COUNT_HEIGHT + strips)
    ratios = [COUNT_HEIGHT, strips] if strips else [1.0]
    axes = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)[:, 0]
    look: Any = {"first_row": first_row, "marks": marks, "cap": cap}
    plots.draw_rule_counts(result.rules, result.events, ax=axes[0], **look)
    if winners is not None:
        axes[0].set_xlabel("")
        names = [f"rule {rule.uid}" for rule in rules]
        plots.draw_winners(winners, names, first_row=first_row, ax=axes[1])
        axes[1].set_ylim(min(len(rules), MOST_STRIPS) - 0.5, -0.5)
    return figure


def draw_reading(rules: RuleList) -> dict[str, Figure]:
    """Return membership functions and cards of the rules that decide most."""
    figures: dict[str, Any] = {}
    drawn = rules[:MOST_CURVES].memberships()
    if drawn["feature_names"]:
        axes = plots.new_axes(WIDTH, 1.2 + 0.55 * len(drawn["feature_names"]))
        figures["memberships"] = plots.draw_memberships(**drawn, ax=axes).figure
    least = sorted((rule.decides for rule in rules), reverse=True)[:MOST_CARDS][-1]
    cards = [rule.card() for rule in rules if rule.decides >= least][:MOST_CARDS]
    heights = [
        CARD_HEIGHT + LINE * (1 + len(card["conditions"])) + LABEL * len(card["label_names"])
        for card in cards
    ]
    figures["cards"] = plots.new_figure(WIDTH, sum(heights))
    panels = figures["cards"].subplots(len(cards), 1, height_ratios=heights, squeeze=False)[:, 0]
    for ax, card in zip(panels, cards, strict=True):
        plots.draw_rule_card(**card, ax=ax)
        if ax is not panels[0]:
            ax.get_legend().remove()
        if ax is not panels[-1]:
            ax.set_xlabel("")
    return figures


def choose_window(n_rows: int) -> int:
    """Return how many rows the line of the last rows averages over.

    Examples
    --------
    >>> choose_window(6000), choose_window(202), choose_window(3)
    (500, 50, 1)
    """
    return max(round(WINDOW_SHARE * n_rows), min(LEAST_WINDOW, n_rows // 4), 1)


def constant_scores(Y: Floats) -> Floats:
    """Return the same scores for every row: the share of each label among all of them."""
    return np.tile(label_means(Y), (len(Y), 1))


def find_marks(dataset: Dataset | None, first_row: int, n_rows: int) -> Marks:
    """Return the drifts of a data set within the rows of a run, as the plots want them."""
    if dataset is None:
        return {}
    shift = first_row - dataset.n_initial
    marks = plots.name_drifts({name: row + shift for name, row in dataset.marks.items()})
    inside = range(first_row, first_row + n_rows)
    return {
        name: rows
        for name, rows in marks.items()
        if all(row in inside for row in np.atleast_1d(rows))
    }
