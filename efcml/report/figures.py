"""The figures of a run: what happened along the stream, and how to read the rules at its end."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import LogFormatter

from efcml import plots
from efcml.estimators.classifier import EFCMLClassifier
from efcml.evaluation.adapters import last_step, pass_steps
from efcml.measures import MEASURES, reliability, trend
from efcml.support.statistics import label_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.explain import RuleList
    from efcml.plots.style import Marks
    from efcml.support.aliases import Floats, TableLike

# Of a run.
FIGURES = ("trends", "rules", "labels", "importance", "relevance", "reliability", "spending")
LEAST_WINDOW = 50  # rows that the line of the last rows averages over, if there are so many
MOST_STRIPS, MOST_BARS, MOST_LINES = 20, 25, 7  # rules, and features, that are drawn
LEAST_TOLD = 0.1  # of the axis, which is logarithmic
WIDTH = 6.6  # inches: letters stay readable on a phone, too
COUNT_HEIGHT, BAND = 2.2, 0.22  # inches: of the panel of counts, and of a strip


def draw_run(
    result: PrequentialResult,
    classifier: Any,
    active: ActiveLearner | None = None,
    *,
    dataset: Dataset | None = None,
    X: TableLike | None = None,
) -> dict[str, Figure]:
    """Draw what a run was like.

    The classifier, or pipeline, is as it is after the run. Of a ``dataset`` it is the stream; its
    drifts are marked. With its rows ``X``, "rules" also shows which rule decides each row.

    Returns figures by name: "trends" and, where there is something to show, "rules",
    "labels", "importance", "relevance", "reliability" and "spending".
    """
    model, first_row, marks = last_step(classifier), 0, None
    if dataset is not None:
        first_row, marks = dataset.n_initial, plots.name_drifts(dataset.marks)
    rules: Any = getattr(model, "rules_", ()) if isinstance(model, EFCMLClassifier) else ()
    figures: dict[str, Any] = {"trends": draw_measures(result, first_row, marks)}
    if result.rules.any():
        figures["rules"] = draw_rules(result, classifier, X if rules else None, first_row, marks)
    if rules:
        labels = rules.label_names if dataset is None else dataset.label_names
        figures["labels"] = draw_labels(rules, labels)
        axes = plots.new_axes(WIDTH, 1.8 + BAND * min(len(rules.feature_names), 15))
        plots.draw_importance(rules.importance(), rules.feature_names, labels, ax=axes)
        figures["importance"] = axes.figure
        if len(model.learner_.relevance.course[0]):
            figures["relevance"] = draw_relevance(model, rules.feature_names)
    # Others bend the ends of their scores; so does a model of a 1-D target.
    layered = getattr(getattr(model, "learner_", None), "layered", False)
    if layered and not getattr(model, "_binary", False):
        curves = {"this run": reliability(result.Y, result.probabilities)}
        figures["reliability"] = plots.draw_reliability(curves, ax=plots.new_axes(4.6, 4.2)).figure
    if active is not None:  # it counts its own rows
        figures["spending"] = active.plot(plots.new_axes(WIDTH, 3.0)).figure
    return figures


def draw_labels(rules: RuleList, label_names: Sequence[str]) -> Figure:
    """Draw the share of each label in the rules that decide most, and the usual ones below."""
    some = rules[:MOST_STRIPS]
    shares = [rule.label_shares for rule in some] + [rules.background.label_means]
    names = [f"rule {rule.uid} ({100 * rule.decides:.0f} % of rows)" for rule in some]
    figure = plots.new_figure(WIDTH, 1.8 + BAND * len(shares))
    plots.draw_label_shares(shares, [*names, "usual"], label_names, ax=figure.subplots())
    return figure


def draw_relevance(model: Any, names: Sequence[str]) -> Figure:
    """Draw what features tell of the labels, now and along the stream."""
    at, course = model.learner_.relevance.course
    heights = [0.8 + 0.2 * min(max(len(names), 3), MOST_BARS), 2.6][: min(len(at), 2)]
    figure = plots.new_figure(WIDTH, sum(heights))
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    kept = model.feature_relevance_ > 0.0
    plots.draw_relevance(course[-1], names, kept=kept, ax=axes[0], most=MOST_BARS)
    if len(at) > 1:
        told = np.maximum(course, LEAST_TOLD)
        curves = {names[j]: (at, told[:, j]) for j in np.argsort(-told.max(axis=0))[:MOST_LINES]}
        plots.draw_trends(curves, ax=axes[1], ylabel="what it tells of the labels")
        axes[1].set_yscale("log")
        for set_formatter in (axes[1].yaxis.set_major_formatter, axes[1].yaxis.set_minor_formatter):
            set_formatter(LogFormatter())  # 20, not 2 x 10^1
    return figure


def draw_measures(result: PrequentialResult, first_row: int, marks: Marks | None) -> Figure:
    """Return a figure of both measures so far, lately, and for an answer that never changes."""
    Y, constant, n = result.Y, constant_scores(result.Y), len(result.Y)
    rows, window = first_row + np.arange(n), max(n // 12, min(LEAST_WINDOW, n // 4), 1)
    full = slice(window - 1, None)  # from the first row with a whole window
    begun = slice(window // 5, None)  # means of very few rows would stretch the axis
    panels = {
        MEASURES[name].title: {
            "so far": (rows[begun], result.trend(name)[begun]),
            f"last {window} rows": (rows[full], result.trend(name, window=window)[full]),
            "constant answer": (rows[begun], trend(Y, constant, name)[begun]),
        }
        for name in ("pa", "ap")
    }
    figure = plots.new_figure(WIDTH, 4.8)
    axes = figure.subplots(len(panels), 1, sharex=True)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        plots.draw_trends(curves, ax=ax, ylabel=title)
        plots.mark_rows(ax, marks, named=ax is axes[0])
        ax.label_outer()
    axes[1].get_legend().remove()
    return figure


def draw_rules(
    result: PrequentialResult, classifier: Any, X: Any, first_row: int, marks: Marks | None
) -> Figure:
    """Return the number of rules and, for rows ``X``, which rule at the end decides each."""
    model = last_step(classifier)
    strips = 0 if X is None else min(model.n_rules_, MOST_STRIPS)
    heights = [COUNT_HEIGHT, 0.7 + BAND * strips][: 1 + (strips > 0)]
    figure = plots.new_figure(WIDTH, sum(heights))
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    plots.draw_rule_counts(result, ax=axes[0], first_row=first_row, marks=marks)
    if strips:
        with warnings.catch_warnings():  # a model may have got its names after the run
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            winners = model.activations(pass_steps(classifier, X)).argmax(axis=1)
        names = [f"rule {rule.uid}" for rule in model.rules_]
        plots.draw_winners(winners, names, first_row=first_row, ax=axes[1])
        axes[0].set_xlabel("")
        axes[1].set_ylim(strips - 0.5, -0.5)
    return figure


def constant_scores(Y: Floats) -> Floats:
    """Return the same scores for every row: the share of each label among all of them."""
    return np.tile(label_means(Y), (len(Y), 1))
