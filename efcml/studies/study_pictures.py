"""Pictures of a study: measures and rules along the stream, and differences with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.measures.measures import MEASURES
from efcml.plots import draw_trends, style
from efcml.plots._differences import draw_differences
from efcml.studies.study_words import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.studies.study import Study
    from efcml.support.aliases import Array, Floats

FIRST = 0.05  # of a stream is not drawn: means of few rows say little
ACROSS = 2  # panels beside each other
PANEL = 5.2, 3.2  # inches


def plot_study(
    study: Study,
    measure: str = "pa",
    *,
    data: str | None = None,
    models: Sequence[str] | None = None,
    window: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw a measure, or "rules", along the stream; see `Study.plot`."""
    if measure != "rules" and measure not in MEASURES:
        known = ", ".join(["rules", *MEASURES])
        raise ValueError(f"there is no measure {measure!r}: choose from {known}.")
    names = study.models if models is None else [study.name_model(name) for name in models]
    sets = study.data if data is None and ax is None else [study.name_data(data)]
    if len(sets) == 1:
        return draw_set(study, sets[0], names, measure, window, ax)
    down = -(-len(sets) // ACROSS)
    panels = new_panels(down)
    for place, name in enumerate(sets):
        draw_set(study, name, names, measure, window, panels.flat[place])
        panels.flat[place].set_title(style.plain(name), fontsize=style.SMALL + 1, loc="left")
    for spare in panels.flat[len(sets) :]:
        spare.remove()
    return panels.ravel()[: len(sets)]


def new_panels(down: int) -> Any:
    """Return Axes beside and below each other, in a figure that a notebook shows."""
    first = style.own_axes(ACROSS * PANEL[0], down * PANEL[1])
    figure = first.figure
    first.remove()
    return figure.subplots(down, ACROSS, squeeze=False)


def draw_set(
    study: Study,
    data: str,
    models: Sequence[str],
    measure: str,
    window: int | None,
    ax: Axes | None,
) -> Axes:
    """Draw all models on one data set."""
    curves = {}
    for model in models:
        orders = study.findings.orders(data, model)
        if orders:
            curves[model] = curve(study, data, model, orders, measure, window)
    if not curves:
        raise ValueError(f"nothing has been run yet on {data}: call study.run() first.")
    span = "so far" if window is None else f"last {window} rows"
    ylabel = "rules" if measure == "rules" else f"{MEASURES[measure].title}, {span}"
    one = study.plan.data[data]
    in_file_order = one.redrawn or study.plan.orders == (0,)
    marks: Any = one.dataset.marks if in_file_order else None
    ax = draw_trends(curves, ax=ax, ylabel=ylabel, marks=marks)
    if measure == "rules":
        ax.set_ylim(bottom=0.0)
    return ax


def curve(
    study: Study,
    data: str,
    model: str,
    orders: Sequence[int],
    measure: str,
    window: int | None,
) -> tuple[Array, Floats]:
    """Return rows and values, (orders, n), without the first ones."""
    results = [study.findings.result(data, model, order) for order in orders]
    if measure == "rules":
        values = np.array([result.rules for result in results], dtype=float)
        first = 0
    else:
        values = np.array([result.trend(measure, window=window) for result in results])
        first = int(FIRST * values.shape[1]) if window is None else min(window, values.shape[1]) - 1
    rows = study.plan.n_initial(data, model) + np.arange(values.shape[1])
    return rows[first:], values[:, first:]


def plot_study_differences(
    study: Study,
    measure: str = "pa",
    *,
    to: str | None = None,
    comparisons: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw all differences to one model with their intervals; see `Study.plot_differences`."""
    to = study.name_model(to)
    number = study.comparisons((measure,)) if comparisons is None else comparisons
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for data in study.data:
        for model in study.models:
            if model != to and study.plan.meet(data, model, to):
                one = study.findings.interval(data, model, to, measure, number)
                points = 100 * one.mean, 100 * one.wide_low, 100 * one.wide_high
                found.setdefault(data, {})[model] = points
    words = f"{title(measure)} minus {to}, in points; 95 % intervals"
    words += f" for {number} comparisons" if number > 1 else ""
    return draw_differences(found, ax=ax, xlabel=words)
