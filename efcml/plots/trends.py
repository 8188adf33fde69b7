"""Measures along a stream, one line per model."""

import numpy as np

from efcml.plots import style

POINTS = 250  # drawn per line: more of them would hide the dashes
LINE_HEIGHT = 1.25  # distance of two labels at line ends, in heights of their letters


def draw_trends(curves, *, ax=None, marks=None, name_marks=True, ylabel="partial accuracy"):
    """Draw one line per model over the rows of a stream, each named at its right end.

    Parameters
    ----------
    curves : mapping of str to (rows, values)
        NaN values are left out. Of long curves evenly spaced rows are drawn, the last one included.
    ax : Axes, optional
    marks : mapping of str to int or (int, int), optional
        Rows to mark, such as a drift: one row, or the first and the last of a band.
    name_marks : bool
        Whether the names of the marks are written; a panel below another needs none.
    ylabel : str

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_trends({"a": ([1, 2, 3], [0.5, 0.6, 0.7])}, marks={"drift": 2})
    >>> ax.get_ylabel()
    'partial accuracy'
    """
    ax = style.clear_frame(style.new_axes() if ax is None else ax)
    looks = style.line_looks(len(curves))
    ends = []
    for (name, (rows, values)), (color, dash) in zip(curves.items(), looks, strict=True):
        rows, values = _thin_out(np.asarray(rows, dtype=float), np.asarray(values, dtype=float))
        ax.plot(rows, values, color=color, linestyle=dash, linewidth=1.7, label=name)
        if len(rows):
            ends.append((rows[-1], values[-1], name, color))
    ax.margins(x=0.0)
    ax.set_xlabel("row of the stream", fontsize=style.SMALL + 1)
    ax.set_ylabel(ylabel, fontsize=style.SMALL + 1)
    style.mark_rows(ax, marks, named=name_marks)
    _name_ends(ax, ends)
    return ax


def _thin_out(rows, values):
    """Return evenly spaced known points, the last one among them."""
    known = np.flatnonzero(~np.isnan(values))
    step = max(len(known) // POINTS, 1)
    kept = known[::-1][::step][::-1]
    return rows[kept], values[kept]


def _name_ends(ax, ends):
    """Write the names beside the line ends, moved apart so that none covers another."""
    if not ends:
        return
    low, high = ax.get_ylim()
    height = ax.figure.get_figheight() * 72 * ax.get_position().height
    least = LINE_HEIGHT * style.SMALL / height * (high - low)
    ends = sorted(ends, key=lambda end: end[1])
    places = spread([end[1] for end in ends], least)
    right = max(end[0] for end in ends)
    for (_, value, name, color), place in zip(ends, places, strict=True):
        ax.annotate(
            name, (right, value), xytext=(8, (place - value) / (high - low) * height),
            textcoords="offset points", color=color, fontsize=style.SMALL, va="center",
            annotation_clip=False,
        )  # fmt: skip


def spread(places, least):
    """Return rising places at least ``least`` apart, moved as little as possible together.

    Examples
    --------
    >>> spread([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    groups = []  # (first place, count), each a block of names that touch
    for place in places:
        groups.append((float(place), 1))
        while len(groups) > 1:
            (lower, count), (upper, more) = groups[-2:]
            if lower + count * least <= upper + 1e-12:
                break
            middle = (
                (lower + (count - 1) * least / 2) * count + (upper + (more - 1) * least / 2) * more
            ) / (count + more)
            groups[-2:] = [(middle - (count + more - 1) * least / 2, count + more)]
    return [first + i * least for first, count in groups for i in range(count)]
