"""What all pictures share: colours, line styles, figures, marks of rows, files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import matplotlib
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.support.aliases import PathLike

# Okabe and Ito's palette without its yellow, which is too light for lines. The order alternates
# dark and light, and every line has a dash pattern of its own, so that grey prints can be read.
COLORS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
Dash: TypeAlias = str | tuple[float, Sequence[float]]
Marks: TypeAlias = Mapping[str, int | tuple[int, int]]  # rows and bands by name
DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
)
GREY = "#666666"
PALE = "#e4e4e4"
SMALL = 8.5
DOTS_PER_INCH = 150
LONGEST = 26  # letters of a name
FILES: Any = {"svg.hashsalt": "efcml", "svg.fonttype": "none", "pdf.fonttype": 42}
UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def line_looks(count: int) -> list[tuple[str, Dash]]:
    """Return a colour and a dash pattern for each of ``count`` lines.

    Examples
    --------
    >>> line_looks(1)
    [('#0072B2', '-')]
    """
    return list(islice(zip(cycle(COLORS), cycle(DASHES), strict=False), count))


def plain(name: object, longest: int = LONGEST) -> str:
    """Return a name as one short line of plain text.

    The middle of a long name is left out: names often share their beginning. Dollar signs are
    escaped; matplotlib would read what is between two of them as a formula.

    Examples
    --------
    >>> plain("Mean_Acc1298_Mean_Mem40_Centroid")
    'Mean_Acc1298_…m40_Centroid'
    """
    text = " ".join(str(name).split())
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[len(text) - (longest - longest // 2 - 1) :]
    return text.replace("$", r"\$")


def new_figure(width: float = 7.5, height: float = 3.8, *, layout: Any = "constrained") -> Figure:
    """Return an empty figure that is known to no window and arranges itself."""
    return Figure(figsize=(width, height), layout=layout)


def new_axes(width: float = 7.5, height: float = 3.8) -> Axes:
    """Return the Axes of a figure of its own."""
    return new_figure(width, height).subplots()


def own_axes(width: float = 7.5, height: float = 3.8) -> Axes:
    """Return the Axes of a figure of its own, which a notebook shows when the cell ends."""
    if "ipykernel" not in sys.modules:
        return new_axes(width, height)
    from matplotlib import pyplot  # not above: it would choose a backend for everybody

    return pyplot.figure(figsize=(width, height), layout="constrained").subplots()


def clear_frame(ax: Axes) -> Axes:
    """Keep only the left and the lower border, and pale grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=PALE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=SMALL)
    return ax


def mark_rows(ax: Axes, marks: Marks | None, *, named: bool = True) -> Axes:
    """Mark rows of a stream: a number as a line, a pair as a band; names stand above the Axes.

    Parameters
    ----------
    ax : Axes
    marks : mapping of str to int or (int, int)
    named : bool
        Whether the names are written; switch it off where a panel above has them.
    """
    for name, rows in (marks or {}).items():
        if isinstance(rows, tuple):
            ax.axvspan(*rows, color=PALE, linewidth=0, zorder=0)
            middle = sum(rows) / 2
        else:
            ax.axvline(rows, color=GREY, linewidth=1, zorder=1)
            middle = rows
        if named:
            lines = "\n".join(map(plain, name.splitlines()))
            ax.annotate(
                lines,
                (middle, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=GREY,
                fontsize=SMALL,
            )
    return ax


def name_axes(ax: Axes, xlabel: str, ylabel: str) -> Axes:
    """Write what the two axes show."""
    ax.set_xlabel(xlabel, fontsize=SMALL + 1)
    ax.set_ylabel(ylabel, fontsize=SMALL + 1)
    return ax


def draw_limit(ax: Axes, value: float, words: str, *, outside: bool = False) -> None:
    """Draw a dotted line across, its meaning below its left end or outside at the right."""
    ax.axhline(value, color=GREY, linewidth=1, linestyle=":", zorder=1)
    ax.annotate(
        words,
        (float(outside), value),
        xycoords=("axes fraction", "data"),
        xytext=(6, 0 if outside else -3),
        textcoords="offset points",
        va="center" if outside else "top",
        color=GREY,
        fontsize=SMALL,
    )


def draw_ticks_below(
    ax: Axes,
    rows_by_name: Mapping[str, Sequence[float]],
    colors: Iterable[str],
    *,
    top: float,
    band: float,
) -> None:
    """Draw one line of ticks per name below the curves, and set the limits of the vertical axis.

    A line is ``band * top`` high; its name and number of ticks stand at its right end. Curves start
    at 0. On a logarithmic axis they start at 1, and ``top`` is a power of ten.
    """
    step = band * top
    put = ax.yaxis.get_transform().inverted().transform
    for place, ((name, found), color) in enumerate(zip(rows_by_name.items(), colors, strict=True)):
        middle = -(place + 0.9) * step
        low, high, at = put([middle - 0.33 * step, middle + 0.33 * step, middle])
        ax.vlines(found, low, high, color=color, linewidth=0.8)
        ax.annotate(
            f"{name} ({len(found)})",
            (1, at),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize=SMALL,
        )
    start, bottom, end = put([0.0, -(len(rows_by_name) + 0.4) * step, top])
    if rows_by_name:
        ax.axhline(start, color=GREY, linewidth=0.7)
    ax.set_ylim(bottom if rows_by_name else start, end)


def save_figure(
    figure: Figure, path: PathLike, kinds: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write a figure in several formats beside each other; return the paths.

    The same figure gives the same SVG, byte for byte. Words stay words in SVG and PDF: they can be
    searched and edited. A viewer without the font takes a similar one.

    Parameters
    ----------
    figure : Figure
    path : path
        Without ending.
    kinds : sequence of str
        Endings: "png", "svg", "pdf".
    """
    path = Path(path)
    files = [path.with_name(f"{path.name}.{kind}") for kind in kinds]
    with matplotlib.rc_context(FILES):
        for file, kind in zip(files, kinds, strict=True):
            figure.savefig(file, dpi=DOTS_PER_INCH, metadata=UNDATED.get(kind))
    return files
