"""A study for readers: what differences mean in sentences, pictures, and files with all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from efcml import plots
from efcml.measures import find
from efcml.report.page import Table, picture, write_page
from efcml.studies.intervals import Interval
from efcml.studies.provenance import made_by
from efcml.support.files import make_folder, to_text, whole_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from efcml.support.aliases import Facts, PathLike

HARDLY = 0.01  # a largest change of scores that is worth a sentence: the switch hardly works
MOST_NAMED = 6  # differences in a sentence
SHORT = {"pa": "PA", "ap": "AP", "rules": "rules", "ms_per_sample": "ms"}
NARROWEST = 0.1  # points on both sides of 0, where all differences are smaller
SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SIGNS |= {"[": "{[}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
PANEL, WIDTH = (5.2, 3.2), 6.6  # inches: on a page letters stay readable on a phone, too
ENTRY = 0.22  # inches of a line of the legend, which is beside each panel


def title(measure: str) -> str:
    """Return a measure, or another column of the table, for readers."""
    return SHORT.get(measure) or find(measure).title


def about_differences(found: pd.DataFrame, measures: Sequence[str], over: str) -> list[str]:
    """Say what the intervals are, which differences are surely not 0, and who hardly differs."""
    number = found.attrs["comparisons"]
    many = f"corrected for {number} comparisons" if number > 1 else "for a single comparison"
    what = (
        f"Differences are to {found.attrs['to']}, {units(measures)}, paired by row; 95 % intervals"
        f" over {over}, {many}."
    )
    shown, hardly = [], []
    for (data, model), line in found.iterrows():
        intervals = {title(name): Interval(*line[name]) for name in measures}
        above = [name for name, one in intervals.items() if one.low > 0]
        below = [name for name, one in intervals.items() if one.high < 0]
        for side, names in (("above", above), ("below", below)):
            if names:
                shown.append(f"{model} {side} it in {' and '.join(names)} on {data}")
        largest, share = line["scores"]
        if largest < HARDLY:
            decisions = f"{100 * share:.2g} % of the decisions" if share else "no decision"
            changed = f"no score by more than {largest:.1g}, and {decisions}"
            if largest == share == 0:
                changed = "nothing at all: every score is the same to the last bit"
            hardly.append(f"On {data}, {model} changed {changed}.")
    verdict, left = "No difference could be shown.", shown[MOST_NAMED:]
    if not found.isna().any(axis=None):
        verdict = "No difference could be shown: every interval has 0 in it."
    if shown:
        named = "; ".join(shown[:MOST_NAMED] + ([f"{len(left)} more"] if left else []))
        verdict = f"Shown: {named}. All other intervals have 0 in them."
    return [what, verdict, *hardly]


def units(measures: Sequence[str]) -> str:
    """Say in which units differences are."""
    others = [f"in {find(n).unit} of {title(n)}" for n in measures if find(n).unit != "points"]
    return " and ".join([*(["in points"] if len(others) < len(measures) else []), *others])


def panels(names: Sequence[str], figure: Any, across: int, lines: int) -> Any:
    """Return an array of Axes with these names above them, so many beside each other.

    There is room for a legend of so many lines.
    """
    down, height = -(-len(names) // across), max(PANEL[1], 0.9 + ENTRY * lines)
    figure.set_size_inches(max(across * PANEL[0], WIDTH), down * height)
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
        groups.setdefault(data, {})[model] = tuple(find(measure).scale * line)
    number = found.attrs["comparisons"]
    words = f"{title(measure)} minus {found.attrs['to']}, in {find(measure).unit}; 95 % intervals"
    words += f" for {number} comparisons" if number > 1 else ""
    ax = plots.draw_differences(groups, ax=ax, xlabel=words)
    if np.abs(ax.get_xlim()).max() < NARROWEST:  # else rounding would look like a result
        ax.set_xlim(-NARROWEST, NARROWEST)
    return ax


def write_study(
    folder: PathLike,
    summary: Facts,
    table: pd.DataFrame,
    found: pd.DataFrame | None,
    readable: pd.DataFrame,
    drawn: Mapping[str, tuple[Figure, str]],
) -> list[str]:
    """Write tables, pictures and a page; return the names of the files.

    ``found`` are the differences, if there are any; pictures have their captions.
    """
    make_folder(folder)
    frames = {"table": table.reset_index()}
    if found is not None:
        parts = {name: found[name] for name in found.columns.unique(0) if name != "scores"}
        differences = pd.concat(parts, names=["measure"]).assign(**found.attrs)
        frames["differences"] = differences.reset_index()
    records = {name: frame.to_dict("records") for name, frame in frames.items()}
    summary = summary | made_by() | records
    settings = pd.DataFrame(summary["models"]).map(str)
    differs = (settings.nunique(axis=1) > 1) | (settings.index == "class")
    models = settings[differs].T.rename_axis("model").reset_index()
    with whole_files(folder) as place:
        for name, frame in frames.items():
            frame.to_csv(place / f"{name}.csv", index=False, lineterminator="\n")
        (place / "summary.json").write_text(to_text(summary) + "\n", encoding="utf-8")
        for name, (figure, _) in drawn.items():
            plots.save_figure(figure, place / name)
        write_page(
            place / "report.html",
            f"{', '.join(summary['data'])}: {', '.join(summary['models'])}",
            "study.html.j2",
            s=summary,
            numbers=as_table("study", summary["title"], readable.reset_index()),
            models=as_table("settings", "", models),
            pictures=[(picture(one, name), f"{what}.") for name, (one, what) in drawn.items()],
        )
        return sorted(file.name for file in place.iterdir())


def in_words(found: pd.DataFrame, measure: str) -> pd.Series:
    """Return differences in a measure and their intervals, in its units."""
    scale = find(measure).scale
    return found[measure].apply(lambda line: Interval(*line).in_points(scale), axis=1)


def to_latex(table: pd.DataFrame, found: pd.DataFrame | None, measures: Sequence[str]) -> str:
    """Return the table of a study as a floating table of LaTeX; see `Study.to_latex`."""
    orders, columns = int(table["orders"].iloc[0]), dict[str, Any]()
    told, over = "One order.", "rows, of one order only"
    if orders > 1:
        told, over = f"Means and standard deviations over {orders} orders.", "rows and orders"
    for name in measures:
        cells = table[name].map("{:.4f}".format)
        if orders > 1:
            cells += table[f"{name}_std"].map(r" $\pm$ {:.4f}".format)
        columns[escaped(title(name))] = cells
        if found is not None:
            gaps = in_words(found, name).str.replace(r"[+-][\d.]+", r"$\g<0>$", regex=True)
            columns[escaped(f"{title(name)} minus {found.attrs['to']}")] = gaps
    if found is not None:
        told = f"{told} {about_differences(found, measures, over)[0]}"
    frame = pd.DataFrame(columns, table.index).fillna("")
    lines = [
        ["data", "model", *frame],
        *([*map(escaped, i), *line] for i, *line in frame.itertuples()),
    ]
    head, *rest = (" & ".join(line) + r" \\" for line in lines)
    begin = r"\begin{tabular}{ll" + "r" * len(columns) + "}"
    parts = [r"\begin{table}", r"\centering", rf"\caption{{{escaped(told)}}}", begin, r"\hline"]
    parts += [head, r"\hline", *rest, r"\hline", r"\end{tabular}", r"\end{table}"]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return a text for LaTeX, as it is."""
    return "".join(SIGNS.get(one, f"\\{one}" if one in "&%$#_{}" else one) for one in text)


def as_table(name: str, caption: str, frame: pd.DataFrame) -> Table:
    """Return a table of words for the page, those of a cell in one line."""
    lines = frame.map(lambda word: str(word).replace(" ", "\u00a0"))
    return Table(name, caption, list(frame), lines.to_numpy().tolist())
