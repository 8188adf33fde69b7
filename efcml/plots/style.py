"""What all pictures share: colours, dashes, names, figures, marks of rows, files."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from efcml.support.aliases import PathLike

Marks: TypeAlias = Mapping[str, int | tuple[int, int]]  # rows and bands by name

# Okabe and Ito's palette without its yellow, which is too light for lines. The order alternates
# dark and light, and every line has a dash pattern of its own, so that grey prints can be read.
COLORS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES: Any = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
LOOKS = cycler(color=COLORS * len(DASHES), linestyle=DASHES * len(COLORS))
GREY, PALE = "#666666", "#e4e4e4"
SMALL = 8.5
LONGEST = 32  # letters of a name
MOST_SHAPES = 200  # ticks of one kind; more are drawn as pixels, also in vector files
UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

STYLE = matplotlib.rc_params_from_file(
    Path(__file__).with_name("efcml.mplstyle"), use_default_template=False
)


@contextmanager
def in_style() -> Iterator[None]:
    """Use the style. Other settings stay as they are left: backends make some when first used."""
    before = {name: matplotlib.rcParams[name] for name in STYLE}
    matplotlib.rcParams.update(STYLE)
    try:
        yield
    finally:
        matplotlib.rcParams.update(before)


styled = in_style()  # decorates what makes parts of pictures


def plain(name: object, longest: int = LONGEST) -> str:
    """Return a name as one short line of plain text, without its middle if it is long.

    Dollar signs are escaped; matplotlib would read what is between two of them as a formula.
    """
    text = " ".join(str(name).split())
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[len(text) - (longest - longest // 2 - 1) :]
    return text.replace("$", r"\$")


def names_for(names: Iterable[object] | None, count: int, prefix: str) -> list[str]:
    """Return ``count`` names as short text; without names as rules number them."""
    if names is None:
        return [f"{prefix}{i}" for i in range(count)]
    short = [plain(name) for name in names]
    if len(short) != count:
        kind = {"x": "feature"}.get(prefix, prefix.strip())
        raise ValueError(f"There are {len(short)} {kind} names for {count} {kind}s.")
    return short


def name_drifts(marks: Mapping[str, int]) -> dict[str, int | tuple[int, int]]:
    """Turn the marks of a data set into rows and bands for the pictures.

    Those of "gradual_start" and "gradual_end" are a band.
    """
    named: dict[str, int | tuple[int, int]] = {}
    for name, row in marks.items():
        kind = name.removesuffix("_start")
        if kind != name:
            named[f"{kind}\ndrift"] = (row, marks[f"{kind}_end"])
        elif not name.endswith("_end"):
            named[f"{name.replace('_', ' ')}\ndrift"] = row
    return named


def new_figure(width: float = 7.5, height: float = 3.8) -> Figure:
    """Return an empty figure that is known to no window and arranges itself."""
    return Figure(figsize=(width, height), layout="constrained")


@styled
def new_axes(width: float = 7.5, height: float = 3.8) -> Axes:
    """Return the Axes of a figure of its own."""
    return new_figure(width, height).subplots()


@styled
def own_axes(width: float = 7.5, height: float = 3.8) -> Axes:
    """Return the Axes of a figure of its own, which a notebook shows when the cell ends."""
    if "ipykernel" not in sys.modules:
        return new_axes(width, height)
    from matplotlib import pyplot  # not above: it would choose a backend for everybody

    return pyplot.figure(figsize=(width, height), layout="constrained").subplots()


def clear_frame(ax: Axes | None, width: float = 7.5, height: float = 3.8, grid: Any = "y") -> Axes:
    """Keep only the left and the lower border, and pale lines across one axis or none.

    Without Axes they are made, with a figure of this size.
    """
    ax = own_axes(width, height) if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=False)
    if grid:
        ax.grid(visible=True, axis=grid, color=PALE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=SMALL)
    return ax


def legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the Axes, if there is anything in it."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02))


@styled
def mark_rows(ax: Axes, marks: Marks | None, *, named: bool = True) -> Axes:
    """Mark rows of a stream that the Axes show: a number as a line, a pair as a band.

    Names stand above the Axes.
    """
    low, high = ax.get_xlim()
    for name, rows in (marks or {}).items():
        place = float(np.mean(rows))
        if not low <= place <= high:
            continue
        if isinstance(rows, tuple):
            ax.axvspan(*rows, color=PALE, linewidth=0, zorder=0)
        else:
            ax.axvline(rows, color=GREY, linewidth=1, zorder=1)
        if named:
            words = "\n".join(map(plain, name.splitlines()))
            write_beside(ax, words, (place, 1), "x", (0, 3), ha="center", va="bottom")
    ax.set_xlim(low, high)
    return ax


def write_beside(ax: Axes, words: str, place: Any, data: str, shift: Any, **look: Any) -> None:
    """Write grey words so many points from a place; but for ``data`` it is a share of the Axes."""
    frame = ax.get_xaxis_transform() if data == "x" else ax.get_yaxis_transform()
    usual: Any = {"color": GREY, "fontsize": SMALL, "xycoords": frame}
    ax.annotate(words, place, xytext=shift, textcoords="offset points", **usual | look)


def draw_ticks_below(ax: Axes, rows_by_name: Mapping[str, Any], top: float, colors: Any) -> None:
    """Draw a line of ticks per name below curves between 0 and ``top``; the legend counts them."""
    line = 0.09 * top
    for i, ((name, rows), color) in enumerate(zip(rows_by_name.items(), colors, strict=False)):
        ends = -line * (i + 0.9), -line * (i + 0.3)
        look: Any = {"color": color, "linewidth": 1.2, "rasterized": len(rows) > MOST_SHAPES}
        ax.vlines(rows, *ends, label=f"{name} ({len(rows)})", **look)
    ax.set_ylim(-line * len(rows_by_name), top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.axhline(0.0, color=GREY, linewidth=0.7)


def save_figure(
    figure: Figure, path: PathLike, kinds: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write a figure in several formats ("png", "svg", "pdf") beside each other; return the paths.

    ``path`` has no ending. The same figure gives the same SVG, byte for byte. Words stay words in
    SVG and PDF: they can be searched and edited. A viewer without the font takes a similar one.
    """
    files, layout = [Path(f"{path}.{kind}") for kind in kinds], figure.get_layout_engine()
    for file, kind in zip(files, kinds, strict=True):
        write_figure(figure, file, kind)
        figure.set_layout_engine("none")  # all is in its place now, which takes most of the time
    figure.set_layout_engine(layout)
    return files


@styled
def write_figure(figure: Figure, file: Any, kind: str) -> None:
    """Write a figure in one format to a path, or to a file that is open."""
    figure.savefig(file, format=kind, metadata=UNDATED.get(kind))
