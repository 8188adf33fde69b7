"""What a study leaves in a folder: tables, figures, and one page with all of it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from efcml import plots
from efcml.studies import pictures, provenance
from efcml.studies.notes import counted, title
from efcml.support.folders import make_folder, whole_files
from efcml.support.json_text import to_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.studies.study import Study
    from efcml.support.aliases import PathLike


def write_study(study: Study, folder: PathLike, measures: Sequence[str]) -> list[str]:
    """Write everything; return the names of the files."""
    table, differences = study.table(measures), study.difference_lines(measures)
    summary = to_text(study.summary(measures)) + "\n"
    figures = draw_all(study, measures)
    make_folder(folder)
    with whole_files(folder) as place:
        table.to_csv(place / "table.csv", lineterminator="\n")
        if len(differences):
            differences.to_csv(place / "differences.csv", index=False, lineterminator="\n")
        (place / "summary.json").write_text(summary, encoding="utf-8")
        for name, figure in figures.items():
            plots.save_figure(figure, place / name)
        page = make_page(study, figures, measures)
        (place / "report.html").write_text(page, encoding="utf-8", errors="backslashreplace")
        return sorted(file.name for file in Path(place).iterdir())


def draw_all(study: Study, measures: Sequence[str]) -> dict[str, Figure]:
    """Return all figures by name; none that a notebook would show."""
    found: dict[str, Any] = {}
    for measure in (*measures, "rules"):
        found[measure] = plots.new_figure()
        pictures.draw_study(study, measure, study.data, study.models, figure=found[measure])
    first, pairs = study.models[0], study.pairs()
    if pairs and all(study.orders_of(*pair, first) for pair in pairs):
        number = study.comparisons(measures)
        for measure in measures:
            height = 1.1 + 0.3 * (len(pairs) + len(study.data))  # inches
            ax = plots.new_axes(height=height)
            pictures.draw_study_differences(study, measure, first, number, ax=ax)
            found[f"differences_{measure}"] = ax.figure
    return found


def caption(study: Study, name: str) -> str:
    """Return what a figure shows."""
    orders = counted(len(study.orders), "order")
    if name == "rules":
        return f"Number of rules along the stream, {orders}."
    if name.startswith("differences_"):
        measure = title(name.removeprefix("differences_"))
        return f"{measure}, differences to {study.models[0]} with their intervals, in points."
    return f"{title(name)} along the stream, {orders}."


def make_page(study: Study, figures: dict[str, Figure], measures: Sequence[str]) -> str:
    """Return the page."""
    pages = Environment(loader=PackageLoader("efcml.studies", "."), autoescape=True)
    return pages.get_template("study.html").render(
        title=f"{', '.join(study.data)}: {', '.join(study.models)}",
        subtitle=study.title,
        table=Markup(study.readable(measures).to_html(border=0)),  # pandas escapes names
        notes=study.notes(measures),
        figures=[(caption(study, name), as_png(figure)) for name, figure in figures.items()],
        settings=Markup(study.settings().to_html(border=0)),
        method=provenance.method(),
        versions=", ".join(f"{name} {one}" for name, one in provenance.versions().items()),
    )


def as_png(figure: Figure) -> str:
    """Return a figure as text for the source of an image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return base64.b64encode(buffer.getvalue()).decode()


def as_html(study: Study) -> str:
    """Return a study for a notebook."""
    if not study.done:
        return f"<p>{escape(study.to_text())}</p>"
    notes = Markup("<br>").join(study.notes())
    return f"<p>{escape(study.title)}</p>{study.readable().to_html(border=0)}<p>{notes}</p>"
