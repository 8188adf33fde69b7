"""Tables as coloured cells: what the pictures of consequents, labels and features share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.text import Text

from efcml.plots import style
from efcml.plots.names import name_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Bools, Floats, Ints

# Blue and orange can be told apart by everybody. In grey both ends are dark: negative cells are
# marked or have numbers.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#003a5c", "#0072b2", "#8cc0e0", "#f7f7f7", "#f4b183", "#d55e00", "#6e3000"]
)
AMOUNT = LinearSegmentedColormap.from_list("amount", ["#f7f7f7", "#8cc0e0", "#0072b2", "#002a43"])

CELL = 0.46, 0.23  # inches, in a figure of its own
SIDES = 3.6, 1.7  # inches beside and below the cells, for names and colour bar
SMALLEST, LARGEST = 2.4, 11.0  # inches of a side of a figure
NUMBER_SIZE = style.SMALL - 1.5
NUMBER_ROOM = 5.4 * NUMBER_SIZE * 0.62, 1.3 * NUMBER_SIZE  # points a number like -0.25 takes
READABLE = 0.01, 1e4  # largest values that look well with up to three decimals
NUMBERS = 120  # more numbers than this nobody reads
VECTOR_CELLS = 1000  # more cells are drawn as one image
WEAK = 0.05  # of the largest value: negative cells below it stay without mark


def cell_axes(rows: int, columns: int, cell: tuple[float, float] = CELL) -> Axes:
    """Return the Axes of a new figure with room for so many cells."""
    sizes = (columns * cell[0] + SIDES[0], rows * cell[1] + SIDES[1])
    return style.own_axes(*(float(np.clip(size, SMALLEST, LARGEST)) for size in sizes))


def strongest(weights: ArrayLike, most: int) -> Ints:
    """Return the indices of the largest weights, the largest first; equal ones in their order.

    Examples
    --------
    >>> strongest([1.0, 3.0, 2.0, 3.0], 3)
    array([1, 3, 2])
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}.")
    return np.argsort(-np.nan_to_num(np.asarray(weights, dtype=float)), kind="stable")[:most]


def feature_words(shown: int, features: int) -> str:
    """Say how many features a picture shows."""
    if shown == features:
        return "features, strongest first"
    return f"strongest {shown} of {features} features"


def draw_cells(
    ax: Axes,
    values: Floats,
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    colors: Colormap,
    limits: tuple[float, float],
    words: str,
) -> Axes:
    """Draw a table as cells, the first row on top, with names and a colour bar.

    Numbers stand in the cells where they have room. Elsewhere negative cells get a minus sign if
    the limits have both signs, since colours alone do not show it in grey. NaN cells get
    a cross, infinite ones are left empty.
    """
    rows, columns = values.shape
    name_ticks(ax.xaxis, column_names)
    name_ticks(ax.yaxis, row_names)
    ax.spines[:].set_visible(False)
    if not values.size:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "nothing to draw", transform=ax.transAxes, ha="center", color=style.GREY)
        return ax
    known, unknown = np.ma.masked_invalid(values), np.isnan(values)
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    large = values.size > VECTOR_CELLS
    mesh = ax.pcolormesh(
        *edges, known, cmap=colors, vmin=limits[0], vmax=limits[1], rasterized=large
    )
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    bar = ax.figure.colorbar(mesh, ax=ax, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=style.SMALL)
    ax.figure.figure.draw_without_rendering()  # names and colour bar take their room
    room = cell_points(ax, rows, columns)
    if not large:
        mesh.set(edgecolors="white", linewidth=min(0.08 * min(room), 0.8))
    notes = []
    few = known.count() <= NUMBERS and READABLE[0] <= limits[1] < READABLE[1]
    if few and (limits[0] >= 0 or has_room(room)):
        _write_numbers(ax, values, mesh, limits[1])
    elif limits[0] < 0:
        negative = np.nan_to_num(values) < -WEAK * limits[1]
        _mark(ax, negative, "_", _inks(mesh, values)[negative], min(room))
        notes.append("line in a cell: negative")
    if unknown.any():
        _mark(ax, unknown, "x", style.GREY, min(room))
        notes.append("cross: unknown")
    words += f" ({', '.join(notes)})" if notes else ""
    bar.set_label(words, fontsize=style.SMALL + 1)
    return ax


def cell_points(ax: Axes, rows: int, columns: int) -> tuple[float, float]:
    """Return width and height of a cell in points."""
    scale = 72 / ax.figure.dpi
    return ax.bbox.width * scale / columns, ax.bbox.height * scale / rows


def has_room(room: tuple[float, float]) -> bool:
    """Tell whether a cell of this width and height can hold a number."""
    return room[0] >= NUMBER_ROOM[0] and room[1] >= NUMBER_ROOM[1]


class CellNumber(Text):
    """A number in a cell. Where cells are not signed, it is left out while it has no room."""

    shape: tuple[int, int] | None = None  # of the table, if the number may be left out

    def get_visible(self) -> bool:
        """Look at the size of the Axes when the figure is drawn, so that it can be resized."""
        axes: Any = self.axes
        return self.shape is None or has_room(cell_points(axes, *self.shape))


def _inks(mesh: QuadMesh, values: Floats) -> Array:
    """Return what can be read on each cell: black, or white on dark cells."""
    shades: Any = mesh.cmap(mesh.norm(np.ma.masked_invalid(values)))
    return np.where(luminance(shades) > 0.5, "black", "white")


def luminance(colors: ArrayLike) -> Floats:
    """Return how light colours are in a grey print, from 0 to 1."""
    return np.asarray(colors)[..., :3] @ [0.299, 0.587, 0.114]


def _write_numbers(ax: Axes, values: Floats, mesh: QuadMesh, top: float) -> None:
    lowest: Any = mesh.norm.vmin
    decimals = int(np.clip(2 - np.ceil(np.log10(top)), 0, 3))
    for (row, column), ink in np.ndenumerate(_inks(mesh, values)):
        value: Any = values[row, column]
        if np.isfinite(value):
            value = round(value, decimals) + 0.0  # no minus before zero
            words = f"{value:.{decimals}f}".replace("-", "−")
            number = CellNumber(
                column,
                row,
                words,
                ha="center",
                va="center",
                color=ink,
                fontsize=NUMBER_SIZE,
                clip_on=False,
            )
            ax.add_artist(number)
            number.shape = None if lowest < 0 else values.shape


def _mark(ax: Axes, chosen: Bools, marker: str, colors: Any, room: float) -> None:
    rows, columns = np.nonzero(chosen)
    size, width = min(0.5 * room, 6.0), min(0.15 * room, 0.9)
    ax.scatter(columns, rows, marker=marker, s=size**2, c=colors, linewidths=width)
