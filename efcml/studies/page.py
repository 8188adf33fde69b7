"""What a study leaves in a folder: tables, figures, and one page with all of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import efcml
from efcml import plots
from efcml.report.page import Section, Table, picture, write_page
from efcml.studies import pictures, provenance
from efcml.studies.notes import counted, title
from efcml.support.files import make_folder, to_text, whole_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.studies.study import Study
    from efcml.support.aliases import PathLike


MADE = (
    "Every model is fitted to the initial part of a data set; a copy of it goes through the stream"
    " in every order, test-then-train. Order 0 is that of the file, the others are shuffles of the"
    " stream, or new draws of a built-in stream.",
    "A difference is paired by sample. Its interval comes from 10000 resamples that draw samples,"
    " and orders, with replacement.",
)


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
        make_page(place / "report.html", study, figures, measures)
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
    if name.startswith("differences_"):
        measure = title(name.removeprefix("differences_"))
        return f"{measure}, differences to {study.models[0]} with their intervals, in points."
    what = "Number of rules" if name == "rules" else title(name)
    return f"{what} along the stream, {counted(len(study.orders), 'order')}."


def make_page(
    path: Path, study: Study, figures: dict[str, Figure], measures: Sequence[str]
) -> None:
    """Write the page."""
    numbers = as_table("study", study.title, study.readable(measures).reset_index(), 2)
    models = as_table("settings", "What differs between the models", settings(study), 1)
    drawn = [picture(figure, name, caption(study, name)) for name, figure in figures.items()]
    versions = ", ".join(f"{name} {one}" for name, one in provenance.versions().items())
    sections = [
        Section("table", "Table", [numbers, *study.notes(measures)]),
        Section("figures", "Figures", drawn),
        Section("variants", "Models", [models]),
        Section(
            "method",
            "How the numbers were made",
            [*MADE, f"Method {provenance.method()}; {versions}."],
        ),
    ]
    write_page(path, f"{', '.join(study.data)}: {', '.join(study.models)}", sections)


def settings(study: Study) -> pd.DataFrame:
    """Return what is not the same in all models, a line for each."""
    lines = {name: variant.settings() for name, variant in study.variants.items()}
    frame = pd.DataFrame.from_dict(lines, orient="index", dtype=object)
    differs = [name for name in frame if frame[name].map(repr).nunique() > 1]
    shown = frame[list(dict.fromkeys(["class", *differs]))].fillna("")
    return shown.rename_axis("model").reset_index()


def as_table(name: str, caption: str, frame: pd.DataFrame, n_names: int) -> Table:
    """Return a table for the page, whose first columns are names; the rest may be numbers."""
    lines = {
        "/".join(line[:n_names]): [*line[:n_names], *(whole(value) for value in line[n_names:])]
        for line in frame.itertuples(index=False, name=None)
    }
    return Table(name, caption, list(frame), lines)


def whole(value: Any) -> Any:
    """Return a value whose words stay in one line."""
    return value.replace(" ", "\u00a0") if isinstance(value, str) else value


def as_html(study: Study) -> str:
    """Return a study for a notebook."""
    if not study.done:
        return f"<p>{escape(study.to_text())}</p>"
    notes = "<br>".join(map(escape, study.notes()))
    table = study.readable().to_html(border=0, index_names=False)
    return f"<p>{escape(study.title)}</p>{table}<p>{notes}</p>"
