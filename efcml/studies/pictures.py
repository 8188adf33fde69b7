"""Pictures of a study: measures and rules along the stream, and differences with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.measures import MEASURES, find
from efcml.studies.notes import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from efcml.studies.study import Study
    from efcml.support.aliases import Array, Floats

FIRST = 0.05  # of a stream is not drawn: means of few rows say little
ACROSS = 2  # panels beside each other
PANEL = 5.2, 3.2  # inches
NARROWEST = 0.1  # points on both sides of 0, where all differences are smaller


def draw_study(
    study: Study,
    measure: str,
    sets: Sequence[str],
    models: Sequence[str],
    *,
    window: int | None = None,
    ax: Axes | None = None,
    figure: Figure | None = None,
) -> Any:
    """Draw a measure, or "rules", on some data sets; see `Study.plot`."""
    if measure != "rules" and measure not in MEASURES:
        known = ", ".join(["rules", *MEASURES])
        raise ValueError(f"there is no measure {measure!r}: choose from {known}.")
    if len(sets) == 1:
        ax = new_figure().subplots() if ax is None and figure is None else ax
        ax = figure.subplots() if ax is None and figure is not None else ax
        return draw_set(study, measure, sets[0], models, window, ax)
    across = ACROSS if figure is None else 1  # a page may be read on a phone
    down = -(-len(sets) // across)
    figure = new_figure() if figure is None else figure
    figure.set_size_inches(max(across * PANEL[0], 7.5), down * PANEL[1])
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for name, panel in zip(sets, panels, strict=False):
        draw_set(study, measure, name, models, window, panel)
        panel.set_title(name.replace("$", r"\$"), fontsize="medium", loc="left")
    for spare in panels[len(sets) :]:
        spare.remove()
    return panels[: len(sets)]


def new_figure() -> Any:
    """Return an empty figure; in a notebook one that is shown when the cell ends."""
    from efcml.plots.style import own_axes

    ax = own_axes()
    figure = ax.figure
    ax.remove()
    return figure


def draw_set(
    study: Study, measure: str, data: str, models: Sequence[str], window: int | None, ax: Any
) -> Axes:
    """Draw all models on one data set."""
    from efcml.plots import draw_trends
    from efcml.report.figures import find_marks

    orders = {model: study.orders_of(data, model) for model in models}
    curves = {
        model: curve(study, data, model, found, measure, window)
        for model, found in orders.items()
        if found
    }
    if not curves:
        raise ValueError(f"nothing has been run yet on {data}: call study.run() first.")
    span = "so far" if window is None else f"last {window} rows"
    ylabel = "rules" if measure == "rules" else f"{find(measure).title}, {span}"
    one = study.sets[data]
    first, marks = one.dataset.n_initial, None
    if one.redrawn or study.orders == (0,):  # in the order of the file
        marks = find_marks(one.dataset, first, len(one.dataset) - first)
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
    results = [study.result(model, data, order) for order in orders]
    if measure == "rules":
        values = np.array([result.rules for result in results], dtype=float)
        first = 0
    else:
        values = np.array([result.trend(measure, window=window) for result in results])
        first = int(FIRST * values.shape[1]) if window is None else min(window, values.shape[1]) - 1
    n = len(study.sets[data].dataset)
    return np.arange(n - values.shape[1], n)[first:], values[:, first:]


def draw_study_differences(found: DataFrame, measure: str, *, ax: Axes | None = None) -> Axes:
    """Draw the differences in a measure with their intervals; see `Study.plot_differences`."""
    from efcml.plots import draw_differences

    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    for (data, model), line in found.xs(measure, level="measure").iterrows():
        groups.setdefault(data, {})[model] = tuple(100 * line)
    number = found.attrs["comparisons"]
    words = f"{title(measure)} minus {found.attrs['to']}, in points; 95 % intervals"
    words += f" for {number} comparisons" if number > 1 else ""
    ax = draw_differences(groups, ax=ax, xlabel=words)
    if np.abs(ax.get_xlim()).max() < NARROWEST:  # else rounding would look like a result
        ax.set_xlim(-NARROWEST, NARROWEST)
    return ax
