"""What a study leaves in a folder: tables, figures, and one page with all of it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

import efcml
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
    table, differences = study.table(measures), long_differences(study, measures)
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
        if len(differences):
            differences.to_csv(place / "differences.csv", index=False, lineterminator="\n")
        (place / "summary.json").write_text(to_text(summary) + "\n", encoding="utf-8")
        for name, figure in figures.items():
            plots.save_figure(figure, place / name)
        page = make_page(study, figures, measures)
        (place / "report.html").write_text(page, encoding="utf-8", errors="backslashreplace")
        return sorted(file.name for file in Path(place).iterdir())


def long_differences(study: Study, measures: Sequence[str]) -> pd.DataFrame:
    """Return one line per data set, model and measure; none if there is nothing to compare."""
    if not any(study.orders_of(*pair, study.models[0]) for pair in study.pairs()):
        return pd.DataFrame()
    found = study.intervals(measures)
    lines = found.reset_index().assign(comparisons=found.attrs["comparisons"])
    lines.insert(2, "to", found.attrs["to"])
    return lines


def draw_all(study: Study, measures: Sequence[str]) -> dict[str, Figure]:
    """Return all figures by name; none that a notebook would show."""
    found: dict[str, Any] = {}
    for name in (*measures, "rules"):
        found[name] = plots.new_figure()
        pictures.draw_study(study, name, study.data, study.models, figure=found[name])
    if len(long_differences(study, measures)):
        height = 1.1 + 0.3 * (len(study.pairs()) + len(study.data))  # inches
        for name in measures:
            ax = plots.new_axes(height=height)
            pictures.draw_study_differences(study.intervals(measures), name, ax=ax)
            found[f"differences_{name}"] = ax.figure
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
        table=Markup(
            study.readable(measures).to_html(border=0, index_names=False)
        ),  # pandas escapes names
        notes=study.notes(measures),
        figures=[(caption(study, name), as_png(figure)) for name, figure in figures.items()],
        settings=Markup(settings(study).to_html(border=0, index_names=False)),
        method=provenance.method(),
        versions=", ".join(f"{name} {one}" for name, one in provenance.versions().items()),
    )


def settings(study: Study) -> pd.DataFrame:
    """Return what is not the same in all models, a line for each."""
    lines = {name: variant.settings() for name, variant in study.variants.items()}
    frame = pd.DataFrame.from_dict(lines, orient="index", dtype=object)
    differs = [name for name in frame if frame[name].map(repr).nunique() > 1]
    return frame[list(dict.fromkeys(["class", *differs]))].rename_axis("model").fillna("")


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
    table = study.readable().to_html(border=0, index_names=False)
    return f"<p>{escape(study.title)}</p>{table}<p>{notes}</p>"
