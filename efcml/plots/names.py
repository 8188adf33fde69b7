"""Names in pictures: plain and short, thinned out where they would touch, or beside line ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, Locator

from efcml.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

    from efcml.plots.style import Dash

LENGTHS = (style.LONGEST, 32, 40)  # letters of a name in a table
LINE_HEIGHT = 1.25  # distance of two names, in heights of their letters
GAP = 24  # points between the end of a line and its name; the line is led across


def names_for(names: Iterable[object] | None, count: int, kind: str) -> list[str]:
    """Return ``count`` different names as short plain text; without names they are numbered from 1.

    Names that become equal when shortened get more letters, or else their number.

    Examples
    --------
    >>> names_for(None, 2, "label")
    ['label 1', 'label 2']
    """
    if names is None:
        return [f"{kind} {i + 1}" for i in range(count)]
    names = [str(name) for name in names]
    if len(names) != count:
        raise ValueError(f"There are {len(names)} {kind} names for {count} {kind}s.")
    for longest in LENGTHS:
        short = [style.plain(name, longest) for name in names]
        if len(set(short)) == len(names):
            return short
    short = [style.plain(name) for name in names]
    return [f"{name} ({i + 1})" if short.count(name) > 1 else name for i, name in enumerate(short)]


class NameLocator(Locator):
    """Ticks at 0, 1, 2, ..., or at every second, third, ... where names would touch.

    It looks at the size of the Axes when the figure is drawn, so no layout breaks it.
    """

    axis: XAxis | YAxis

    def __init__(self, count: int, points: float) -> None:
        self.count, self.points = count, points

    def __call__(self) -> Any:
        """Return the ticks that have room."""
        box = self.axis.axes.bbox
        length = box.width if self.axis.axis_name == "x" else box.height
        room = max(length * 72 / self.axis.axes.figure.dpi, 1.0)
        return np.arange(0, self.count, max(int(np.ceil(self.count * self.points / room)), 1))

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks; they do not depend on the limits."""
        return self()


def name_ticks(axis: XAxis | YAxis, names: Sequence[str]) -> None:
    """Write names at 0, 1, 2, ... of an axis; at the lower one they are slanted."""
    slanted = axis.axis_name == "x"
    # Lines of slanted text are further apart along the axis than across.
    height = LINE_HEIGHT * style.SMALL * (np.sqrt(2.0) if slanted else 1.0)
    axis.set_major_locator(NameLocator(len(names), height))
    axis.set_major_formatter(FuncFormatter(lambda place, _: names[round(place)]))
    axis.set_tick_params(length=0, labelsize=style.SMALL)
    if slanted:
        axis.set_tick_params(rotation=45)
        for tick in axis.get_major_ticks(len(names)):
            tick.label1.set(ha="right", rotation_mode="anchor")


def name_ends(
    ax: Axes, ends: list[tuple[float, float, str, str, Dash]], *, lowest: float = -np.inf
) -> None:
    """Write names beside line ends, moved apart so that none covers another.

    Every line goes on to its name, in its own colour and dashes: also in grey nobody has to guess.

    Parameters
    ----------
    ax : Axes
        With its final limits.
    ends : list of (row, value, name, color, dash)
    lowest : float
        No name stands below this value.
    """
    if not ends:
        return
    scale = ax.yaxis.get_transform().transform  # a step on a logarithmic axis is a factor
    low, high = scale(np.array(ax.get_ylim()))
    height = ax.figure.figure.get_figheight() * 72 * ax.get_position().height
    least = LINE_HEIGHT * style.SMALL / height * (high - low)
    ends = sorted(ends, key=lambda end: end[1])
    values = scale(np.array([end[1] for end in ends], dtype=float))
    floor = scale(np.array([lowest]))[0] if np.isfinite(lowest) else -np.inf
    right = max(end[0] for end in ends)
    for i, ((_, value, name, color, dash), place) in enumerate(
        zip(ends, spread(values, least), strict=True)
    ):
        move = (max(place, floor + i * least) - values[i]) / (high - low) * height
        lead = {
            "arrowstyle": "-",
            "color": color,
            "linestyle": dash,
            "linewidth": 1.0,
            "shrinkA": 2,
            "shrinkB": 0,
            "relpos": (0, 0.5),
        }
        ax.annotate(
            style.plain(name),
            (right, value),
            xytext=(GAP, move),
            textcoords="offset points",
            color=color,
            fontsize=style.SMALL,
            va="center",
            annotation_clip=False,
            arrowprops=lead,
        )


def spread(places: Iterable[float], least: float) -> list[float]:
    """Return rising places at least ``least`` apart, moved as little as possible together.

    Examples
    --------
    >>> spread([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    groups: list[tuple[float, int]] = []  # (first place, count), each a block of names that touch
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
