"""What a study leaves in a folder: tables, figures, and one page with all of it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml import __version__, plots
from efcml.explain.phrases import count
from efcml.report.page import Cell, Section, Table, picture, write_page
from efcml.studies import provenance
from efcml.studies.study_words import cells, columns, head_line, notes, title
from efcml.support.folders import make_folder, whole_files
from efcml.support.json_text import to_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.studies.study import Study
    from efcml.support.aliases import Facts, PathLike


def write_study(study: Study, folder: PathLike, measures: Sequence[str]) -> list[str]:
    """Write everything; return the names of the files."""
    rows, found = study.findings.rows(measures), difference_rows(study, measures)
    figures = draw_all(study, measures)
    make_folder(folder)
    with whole_files(folder) as place:
        write_csv(place / "table.csv", rows)
        if found:
            write_csv(place / "differences.csv", found)
        summary = summarise(study, rows, found, measures)
        text = to_text(summary) + "\n"
        (place / "summary.json").write_text(text, encoding="utf-8")
        for name, figure in figures.items():
            plots.save_figure(figure, place / name)
        write_study_page(place / "report.html", study, figures, measures)
        return sorted(file.name for file in Path(place).iterdir())


def difference_rows(study: Study, measures: Sequence[str]) -> list[dict[str, Any]]:
    """Return one dict per data set, model and measure: the difference to the first model."""
    first, number = study.models[0], study.comparisons(measures)
    found = []
    for data in study.data:
        for model in study.models[1:]:
            if not study.findings.orders(data, model, first):
                continue
            for measure in measures:
                one = study.findings.interval(data, model, first, measure, number)
                bounds = {"difference": one.mean, "low": one.wide_low, "high": one.wide_high}
                line = {"data": data, "model": model, "to": first, "measure": measure}
                found.append(line | bounds | {"comparisons": number})
    return found


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write dicts with the same keys as a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summarise(
    study: Study, rows: list[Any], differences: list[Any], measures: Sequence[str]
) -> Facts:
    """Return everything that a script could want to know."""
    return {
        "runs": study.total,
        "done": study.done,
        "orders": list(study.plan.orders),
        "seed": study.plan.seed,
        "models": {name: one.describe() for name, one in study.plan.variants.items()},
        "data": {name: one.fingerprint for name, one in study.plan.data.items()},
        "table": rows,
        "differences": differences,
        "notes": notes(study, measures),
        "method": provenance.method(),
        "versions": provenance.versions(),
        "version": __version__,
    }


def draw_all(study: Study, measures: Sequence[str]) -> dict[str, Figure]:
    """Return all figures by name."""
    found = {}
    for measure in (*measures, "rules"):
        drawn = study.plot(measure)
        axes = drawn if hasattr(drawn, "figure") else drawn[0]
        found[measure] = axes.figure
    first = study.models[0]
    pairs = [(d, m) for d in study.data for m in study.models[1:] if study.plan.meet(d, m, first)]
    if pairs and all(study.findings.orders(d, m, first) for d, m in pairs):
        number = study.comparisons(measures)
        for measure in measures:
            ax = study.plot_differences(measure, comparisons=number)
            found[f"differences_{measure}"] = ax.figure
    return found


def caption(study: Study, name: str) -> str:
    """Return what a figure shows."""
    orders = count(len(study.plan.orders), "order")
    if name == "rules":
        return f"Number of rules along the stream, {orders}."
    if name.startswith("differences_"):
        measure = title(name.removeprefix("differences_"))
        return f"{measure}, differences to {study.models[0]} with their intervals, in points."
    return f"{title(name)} along the stream, {orders}."


def write_study_page(
    path: Path, study: Study, figures: dict[str, Figure], measures: Sequence[str]
) -> None:
    """Write the page."""
    lines = {f"{line[0]}/{line[1]}": line for line in cells(study, measures)}
    whole = Table("study", head_line(study), columns(study, measures), lines)
    drawn = [picture(figure, name, caption(study, name)) for name, figure in figures.items()]
    sections = [
        Section("table", "Table", [whole, *notes(study, measures)]),
        Section("figures", "Figures", drawn),
        Section("variants", "Models", [setting_table(study)]),
        Section("method", "How the numbers were made", about_runs(study)),
    ]
    write_page(path, f"{', '.join(study.data)}: {', '.join(study.models)}", sections)


def setting_table(study: Study) -> Table:
    """Return the models with what is not the same in all of them."""
    found = {name: flatten(one.describe()) for name, one in study.plan.variants.items()}
    keys = list(dict.fromkeys(key for settings in found.values() for key in settings))
    varied = [
        key
        for key in keys
        if len({str(one.get(key)) for one in found.values()}) > 1 or key == "class"
    ]
    lines = {
        name: [name, *(Cell(one.get(key), str(one.get(key, ""))) for key in varied)]
        for name, one in found.items()
    }
    return Table("settings", "What differs between the models", ["model", *varied], lines)


def flatten(facts: Facts) -> Facts:
    """Return the settings of a variant without the levels between them."""
    model = facts["model"]
    own = {"class": model["class"].rpartition(".")[2]} | model.get("parameters", {})
    return own | {key: value for key, value in facts.items() if key != "model"}


def about_runs(study: Study) -> list[str]:
    """Return how runs were made, and with which versions."""
    versions = ", ".join(f"{name} {number}" for name, number in provenance.versions().items())
    return [
        "Every model is fitted to the initial part of a data set; a copy of it goes through the"
        " stream in every order, test-then-train. Order 0 is that of the file, the others are"
        " shuffles of the stream, or new draws of a built-in stream.",
        "A difference is paired by sample. Its interval comes from 10000 resamples that draw"
        " samples, and orders, with replacement.",
        f"Method {provenance.method()}; {versions}.",
    ]
