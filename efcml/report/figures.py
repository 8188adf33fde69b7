"""The figures of a run: what happened along the stream."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import plots
from efcml.estimators.classifier import EFCMLClassifier
from efcml.measures import MEASURES, reliability, trend
from efcml.report.reading_figures import draw_counts_and_winners, draw_reading
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.explain import RuleList
    from efcml.plots.style import Marks
    from efcml.support.aliases import Floats, Ints, TableLike

FIGURES = (  # of a run
    *("trends", "rules", "memberships", "cards", "importance", "reliability", "spending"),
)
WINDOW_SHARE = 1 / 12  # of all rows: what the line of the last rows averages over
LEAST_WINDOW = 50  # but not fewer rows than this, if the stream has four times as many
# More cannot be seen, and vector files would grow with the stream.
MOST_POINTS = 2000  # per line
MOST_TICKS = 200  # or dots of one kind; each takes more room than a point of a line
ROWS_AT_ONCE = 10_000  # whose activations are in memory


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

    Parameters
    ----------
    result : PrequentialResult
    classifier : estimator
        As it is after the run.
    active : ActiveLearner, optional
        The one that asked for the labels of the run.
    dataset : Dataset, optional
        Where the rows came from; its drifts are marked.
    first_row : int
        Number of the first row of the run, such as ``dataset.n_initial``.
    X : array-like of shape (n, p), optional
        The rows of the run. With them "rules" also shows which rule decides each row.

    Returns
    -------
    dict of str to Figure
        "trends" and, where there is something to show, "rules", "memberships", "cards",
        "importance", "reliability" and "spending".

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=120, n_initial=60)
    >>> clf = EFCMLClassifier(prior=1.0).fit(*ds.initial)
    >>> list(draw_run(prequential(clf, *ds.stream), clf, dataset=ds))
    ['trends', 'rules', 'memberships', 'cards', 'importance', 'reliability']
    """
    marks = find_marks(dataset, first_row, len(result.Y))
    figures = {"trends": draw_measures(result, first_row, marks)}
    rules = getattr(classifier, "rules_", ()) if isinstance(classifier, EFCMLClassifier) else ()
    if rules and X is not None:
        figures["rules"] = draw_counts_and_winners(
            result,
            rules,
            winners_of(classifier, X),
            first_row=first_row,
            marks=marks,
            cap=classifier.max_rules,
        )
    elif result.rules.any():
        figures["rules"] = draw_rules(result, classifier, first_row, marks)
    if rules:
        figures |= draw_reading(rules)
        figures["importance"] = draw_features(rules, dataset)
    if has_probabilities(classifier) and result.probabilities is not None:
        figures["reliability"] = draw_said_and_true(result.Y, result.probabilities)
    if active is not None:
        figures["spending"] = draw_questions(active, first_row)
    for name in {"trends", "rules"} & figures.keys():
        figures[name].axes[-1].set_xlabel(name_rows(first_row))
    for figure in figures.values():
        keep_small(figure)
    return figures


def winners_of(classifier: EFCMLClassifier, X: Any) -> Ints:
    """Return the rule that decides each row of a run, which may have got its names after it."""
    if not hasattr(X, "columns"):
        classifier = copy(classifier)
        classifier.__dict__.pop("feature_names_in_", None)  # scikit-learn would warn
    begins = range(0, max(len(X), 1), ROWS_AT_ONCE)
    parts = [X[begin : begin + ROWS_AT_ONCE] for begin in begins]
    return np.concatenate([classifier.activations(part).argmax(axis=1) for part in parts])


def name_rows(first_row: int) -> str:
    """Return the name of an axis of rows, by the number of the first one."""
    return "row of the data set" if first_row else "row of the stream"


def draw_features(rules: RuleList, dataset: Dataset | None) -> Figure:
    """Return a figure of how much each feature moves the score of each label."""
    if dataset is None:
        names = rules.feature_names, rules.label_names
    else:
        names = dataset.feature_names, dataset.label_names
    ax = plots.new_axes(7.0, 6.8)
    return plots.draw_importance(rules.importance(), *names, ax=ax).figure.figure


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
    width: float = 7.5,
    height: float = 5.6,
) -> Figure:
    """Return a figure with one panel of trends below the other.

    Parameters
    ----------
    panels : mapping of str to mapping
        The title of the vertical axis, and curves as in `efcml.plots.draw_trends`.
    marks : mapping, optional
        As in `efcml.plots.draw_trends`; the names stand above the first panel.
    width, height : float
        Of the figure, in inches.
    """
    figure = plots.new_figure(width, height)
    axes = figure.subplots(len(panels), 1, sharex=True)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        plots.draw_trends(curves, ax=ax, marks=marks, name_marks=ax is axes[0], ylabel=title)
        ax.label_outer()
    return figure


def draw_rules(
    result: PrequentialResult, classifier: Any, first_row: int, marks: Marks | None
) -> Figure:
    """Return a figure of the number of rules."""
    # Models with a rule base per label have a cap for each of them, not for the sum drawn here.
    cap = classifier.max_rules if isinstance(classifier, EFCMLClassifier) else None
    ax = plots.draw_rule_counts(
        result.rules,
        result.events,
        first_row=first_row,
        marks=marks,
        cap=cap,
        ax=plots.new_axes(height=3.2),
    )
    return ax.figure.figure


def has_probabilities(classifier: Any) -> bool:
    """Tell whether a model learns probabilities; others bend the ends of their scores."""
    learner = getattr(classifier, "learner_", None)
    # A 1-D target has one label, and keeps the bent score.
    return getattr(learner, "layered", False) and not getattr(classifier, "_binary", False)


def draw_said_and_true(Y: Floats, probabilities: Floats) -> Figure:
    """Return a figure of how often labels were true of which so much was said."""
    curves = {"this run": reliability(Y, probabilities)}
    return plots.draw_reliability(curves, ax=plots.new_axes(5.4, 4.2)).figure.figure


def draw_questions(active: ActiveLearner, first_row: int) -> Figure:
    """Return a figure of what was asked, and why."""
    ax = active.plot(plots.new_axes(height=3.2))
    if first_row:
        ax.set_xlabel("row after the initial part")  # an active learner counts its own rows
    return ax.figure.figure


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
    inside = range(first_row, first_row + n_rows)
    marks = name_drifts({name: row + shift for name, row in dataset.marks.items()})
    return {
        name: rows
        for name, rows in marks.items()
        if all(row in inside for row in np.atleast_1d(rows))
    }


def name_drifts(marks: Mapping[str, int]) -> dict[str, int | tuple[int, int]]:
    r"""Turn the marks of a data set into rows and bands for the plots.

    The names have two lines: so they stay apart in narrow figures.

    Examples
    --------
    >>> name_drifts({"gradual_start": 30, "gradual_end": 40, "abrupt_1": 90})
    {'gradual\ndrift': (30, 40), 'abrupt 1\ndrift': 90}
    """
    named: dict[str, int | tuple[int, int]] = {}
    for name, row in marks.items():
        kind = name.removesuffix("_start")
        if kind != name:
            named[f"{kind}\ndrift"] = (row, marks[f"{kind}_end"])
        elif not name.endswith("_end"):
            named[f"{name.replace('_', ' ')}\ndrift"] = row
    return named


def keep_small(figure: Figure) -> None:
    """Thin out long lines, both ends kept, and let many ticks or dots be pixels in vector files."""
    for ax in figure.axes:
        for line in ax.lines:
            x, y = (np.asarray(values) for values in line.get_data())
            if len(x) > MOST_POINTS:
                kept = np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int)
                line.set_data(x[kept], y[kept])
        for collection in ax.collections:
            if (
                max(len(collection.get_paths()), len(np.asarray(collection.get_offsets())))
                > MOST_TICKS
            ):
                collection.set_rasterized(True)
