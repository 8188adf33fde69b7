"""Measures along a stream, one line per model, with a band if there are several orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.plots.style import Dash, Marks
    from efcml.support.aliases import Array, Floats

LONGEST = 48  # letters of the name of the vertical axis
POINTS = 250  # drawn per line: more of them would hide the dashes


def draw_trends(
    curves: Mapping[str, Any],
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
    name_marks: bool = True,
    ylabel: str = "partial accuracy",
) -> Axes:
    """Draw one line per model over the rows of a stream, each named at its right end.

    Parameters
    ----------
    curves : mapping of str to result, values, or (rows, values)
        Of the result of a run its ``pa_trend`` is drawn. ``values`` alone have shape (n,), one per
        row. With ``rows`` they may have shape (orders, n) if the stream was run in several orders.
        Then the line is their mean and a band reaches from the lowest to the highest. NaN values
        are left out; with several orders, rows where one of them is NaN. Of long curves evenly
        spaced rows are drawn, the last one included.
    ax : Axes, optional
    first_row : int
        Number of the first row of curves that come without rows.
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
    >>> ax = draw_trends({"a": [0.5, 0.6, 0.7], "b": [0.4, 0.5, 0.6]})
    >>> ax = draw_trends({"a": ([1, 2], [[0.5, 0.6], [0.7, 0.8]])})
    >>> print(ax.get_xlabel())
    row
    lines: mean of 2 orders, bands: lowest to highest
    """
    if not isinstance(curves, Mapping):
        raise ValueError('Give curves with their names, as in {"mine": result}.')
    curves = {name: _as_orders(name, curve, first_row) for name, curve in curves.items()}
    ax = style.clear_frame(style.own_axes() if ax is None else ax)
    looks = style.line_looks(len(curves))
    ends, orders = [], set()
    for (name, (rows, values)), (color, dash) in zip(curves.items(), looks, strict=True):
        rows, values = _thin_out(rows, values)
        middle = values.mean(axis=0)
        ax.plot(rows, middle, color=color, linestyle=dash, linewidth=1.7, label=style.plain(name))
        if len(values) > 1:
            orders.add(len(values))
            _draw_band(ax, rows, values, color, dash)
        if len(rows):
            ends.append((rows[-1], middle[-1], name, color, dash))
    ax.margins(x=0.0)
    style.name_axes(ax, "row" + _caption(orders), style.plain(ylabel, LONGEST))
    style.mark_rows(ax, marks, named=name_marks)
    name_ends(ax, ends)
    return ax


def _as_orders(name: str, curve: Any, first_row: int) -> tuple[Array, Floats]:
    """Return the rows and the values of shape (orders, n), checked."""
    curve = getattr(curve, "pa_trend", curve)
    if not _is_pair(curve):
        values = as_array(curve, None, name=f"{name!r}, if no result and no (rows, values),")
        return first_row + np.arange(len(values)), values.reshape(1, -1)
    rows, values = as_array(curve[0], None, name=f"rows of {name!r}"), np.asarray(curve[1], float)
    if values.ndim < 2:
        values = values.reshape(1, -1)
    if values.ndim > 2 or not len(values) or values.shape[1] != len(rows):
        raise ValueError(
            f"values of {name!r} must have shape (n,) or (orders, n) with n = {len(rows)} rows, "
            f"not {values.shape}."
        )
    return rows, values


def _is_pair(curve: Any) -> bool:
    """Tell rows and values from values alone, which may be two numbers."""
    return isinstance(curve, tuple | list) and len(curve) == 2 and np.ndim(curve[0]) > 0


def _thin_out(rows: Array, values: Floats) -> tuple[Array, Floats]:
    """Return evenly spaced rows that are known in every order, the last one among them."""
    known = np.flatnonzero(~np.isnan(values).any(axis=0))
    step = max(len(known) // POINTS, 1)
    kept = known[::-1][::step][::-1]
    return rows[kept], values[:, kept]


def _draw_band(ax: Axes, rows: Array, values: Floats, color: str, dash: Dash) -> None:
    lowest, highest = values.min(axis=0), values.max(axis=0)
    ax.fill_between(rows, lowest, highest, color=color, alpha=0.13, linewidth=0, zorder=1.5)
    # Where bands overlap, edges tell them apart, also in grey.
    for edge in (lowest, highest):
        ax.plot(rows, edge, color=color, linestyle=dash, linewidth=0.6, alpha=0.7, zorder=1.6)


def _caption(orders: set[int]) -> str:
    if not orders:
        return ""
    many = f"{orders.pop()} orders" if len(orders) == 1 else "all orders"
    return f"\nlines: mean of {many}, bands: lowest to highest"
