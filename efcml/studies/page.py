"""What a study shows and leaves in a folder: pictures, tables, and one page with all of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import efcml
from efcml import plots
from efcml.measures import find
from efcml.report.page import Section, Table, picture, write_page
from efcml.studies import provenance
from efcml.studies.notes import counted, title
from efcml.support.files import make_folder, to_text, whole_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from efcml.studies.study import Study
    from efcml.support.aliases import PathLike

FIRST = 0.05  # of a stream is not drawn: means of few rows say little
NARROWEST = 0.1  # points on both sides of 0, where all differences are smaller
PANEL, WIDTH = (5.2, 3.2), 6.6  # inches: on a page letters stay readable on a phone, too
MADE = (
    "Every model is fitted to the initial part of a data set; a copy of it goes through the stream"
    " in every order, test-then-train. Order 0 is that of the file, the others are shuffles of the"
    " stream, or new draws of a built-in stream.",
    "A difference is paired by sample. Its interval comes from 10000 resamples that draw samples,"
    " and orders, with replacement.",
)


# -- pictures -------------------------------------------------------------------------------


def draw_set(
    study: Study, measure: str, data: str, models: Sequence[str], window: int | None, ax: Axes
) -> Axes:
    """Draw a measure, or "rules", of some models along one data set; see `Study.plot`."""
    span = "so far" if window is None else f"last {window} rows"
    ylabel = "rules" if measure == "rules" else f"{find(measure).title}, {span}"
    one, curves = study.sets[data], {}
    n = len(one.dataset)
    for model in models:
        results = [study.result(model, data, order) for order in study.orders_of(data, model)]
        if not results:
            continue
        if measure == "rules":
            values, first = np.array([result.rules for result in results], dtype=float), 0
        else:
            values = np.array([result.trend(measure, window=window) for result in results])
            first = min(window or 1 + int(FIRST * values.shape[1]), values.shape[1]) - 1
        curves[model] = np.arange(n - values.shape[1], n)[first:], values[:, first:]
    if not curves:
        raise ValueError(f"nothing has been run yet on {data}: call study.run() first.")
    marks = None
    if one.redrawn or study.orders == (0,):  # in the order of the file
        marks = plots.name_drifts(one.dataset.marks)
    ax = plots.draw_trends(curves, ax=ax, ylabel=ylabel, marks=marks)
    if measure == "rules":
        ax.set_ylim(bottom=0.0)
    return ax


def panels(names: Sequence[str], figure: Any, across: int) -> Any:
    """Return an array of Axes with these names above them, so many beside each other."""
    down = -(-len(names) // across)
    figure.set_size_inches(max(across * PANEL[0], WIDTH), down * PANEL[1])
    found = figure.subplots(down, across, squeeze=False).ravel()
    for name, ax in zip(names, found, strict=False):
        ax.set_title(name.replace("$", r"\$"), fontsize="medium", loc="left")
    for spare in found[len(names) :]:
        spare.remove()
    return found[: len(names)]


def draw_intervals(found: pd.DataFrame, measure: str, ax: Axes | None = None) -> Axes:
    """Draw the differences in a measure with their intervals; see `Study.plot_differences`."""
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    for (data, model), line in found[measure].iterrows():
        groups.setdefault(data, {})[model] = tuple(100 * line)
    number = found.attrs["comparisons"]
    words = f"{title(measure)} minus {found.attrs['to']}, in points; 95 % intervals"
    words += f" for {number} comparisons" if number > 1 else ""
    ax = plots.draw_differences(groups, ax=ax, xlabel=words)
    if np.abs(ax.get_xlim()).max() < NARROWEST:  # else rounding would look like a result
        ax.set_xlim(-NARROWEST, NARROWEST)
    return ax


# -- files ----------------------------------------------------------------------------------


def write_study(study: Study, folder: PathLike, measures: Sequence[str]) -> list[str]:
    """Write everything; return the names of the files."""
    table, differences = study.table(measures), pd.DataFrame()
    if study.compared:
        found = study.differences(measures=measures)
        about = {"to": found.attrs["to"], "comparisons": found.attrs["comparisons"]}
        parts = {name: found[name].assign(**about) for name in measures}
        differences = pd.concat(parts, names=["measure"]).reset_index()
    figures = draw_all(study, measures)
    summary = {
        "runs": study.total,
        "done": study.done,
        "orders": list(study.orders),
        "seed": study.seed,
        "models": {name: variant.settings() for name, variant in study.variants.items()},
        "data": {name: one.fingerprint for name, one in study.sets.items()},
        "table": table.reset_index().to_dict("records"),
        "differences": differences.to_dict("records"),
        "notes": study.notes(measures),
        "method": provenance.method(),
        "versions": provenance.versions(),
        "version": efcml.__version__,
    }
    make_folder(folder)
    with whole_files(folder) as place:
        table.to_csv(place / "table.csv", lineterminator="\n")
        if study.compared:
            differences.to_csv(place / "differences.csv", index=False, lineterminator="\n")
        (place / "summary.json").write_text(to_text(summary) + "\n", encoding="utf-8")
        for name, figure in figures.items():
            plots.save_figure(figure, place / name)
        make_page(place / "report.html", study, figures, measures)
        return sorted(file.name for file in Path(place).iterdir())


def draw_all(study: Study, measures: Sequence[str]) -> dict[str, Figure]:
    """Return all figures by name; none that a notebook would show."""
    figures: dict[str, Any] = {}
    for name in (*measures, "rules"):  # one panel below the other, as a page may be on a phone
        figures[name] = plots.new_figure()
        for data, ax in zip(study.data, panels(study.data, figures[name], 1), strict=True):
            draw_set(study, name, data, study.models, None, ax)
    for name in measures if study.compared else ():
        ax = plots.new_axes(WIDTH, 1.1 + 0.3 * (len(study.pairs()) + len(study.data)))
        found = study.differences(measures=measures)
        figures[f"differences_{name}"] = draw_intervals(found, name, ax).figure
    return figures


def make_page(
    path: Path, study: Study, figures: dict[str, Figure], measures: Sequence[str]
) -> None:
    """Write the page."""
    captions = {"rules": "Number of rules along the stream"}
    for name in measures:
        captions[name] = f"{title(name)} along the stream"
        captions[f"differences_{name}"] = f"{title(name)} minus {study.models[0]}, in points"
    orders = counted(len(study.orders), "order")
    drawn = [
        picture(figure, name, f"{captions[name]}; {orders}.") for name, figure in figures.items()
    ]
    numbers = as_table("study", study.title, study.readable(measures).reset_index(), 2)
    settings = pd.DataFrame({name: one.settings() for name, one in study.variants.items()})
    differs = settings.map(str).nunique(axis=1) > 1
    differs["class"] = True
    shown = settings[differs].T.map(str).rename_axis("model").reset_index()
    models = as_table("settings", "What differs between the models", shown, 1)
    versions = ", ".join(f"{name} {one}" for name, one in provenance.versions().items())
    made = [*MADE, f"Method {provenance.method()}; {versions}."]
    sections = [
        Section("table", "Table", [numbers, *study.notes(measures)]),
        Section("figures", "Figures", drawn),
        Section("variants", "Models", [models]),
        Section("method", "How the numbers were made", made),
    ]
    write_page(path, f"{', '.join(study.data)}: {', '.join(study.models)}", sections)


def as_table(name: str, caption: str, frame: pd.DataFrame, n_names: int) -> Table:
    """Return a table of words for the page; those after the names stay in one line."""
    lines = [
        [*line[:n_names], *(word.replace(" ", "\u00a0") for word in line[n_names:])]
        for line in frame.itertuples(index=False, name=None)
    ]
    return Table(name, caption, list(frame), lines)
