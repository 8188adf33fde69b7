"""What an active learner has spent along a stream, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from efcml.plots import style
from efcml.plots.arrays import as_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = 0.085  # height of one row of ticks, as a share of the height of the curve


def draw_spending(
    curve: Iterable[tuple[float, float]],
    *,
    budget: float,
    reasons: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
    unit: str = "samples",
) -> Axes:
    """Draw the share that was asked up to each row, with the criteria as ticks below.

    Parameters
    ----------
    curve : iterable of (row, share)
        Share of all rows or labels asked so far, after each question and at the end.
    budget : float
        The share that must not be passed, drawn as a line.
    reasons : mapping of str to rows, optional
        The rows where each criterion fired.
    ax : Axes, optional
    unit : str
        What is counted: "samples" or "labels".

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_spending([(9, 0.1), (19, 0.05)], budget=0.1, reasons={"novelty": [9]})
    >>> ax.get_ylabel()
    'share of samples asked'
    """
    rows, shares = as_array([*curve], None, 2, name="curve").T
    if not budget > 0:
        raise ValueError(f"budget must be above 0, not {budget}.")
    reasons = {style.plain(name): found for name, found in (reasons or {}).items()}
    ax = style.clear_frame(style.own_axes(height=3.2) if ax is None else ax)
    looks = style.line_looks(len(reasons) + 1)
    ax.plot(rows, shares, color=looks[0][0], linewidth=1.6)
    style.draw_limit(ax, budget, f"budget: {budget:g}", outside=True)
    top = 1.1 * max(budget, shares.max(initial=0.0))
    colors = [color for color, *_ in looks[1:]]
    style.draw_ticks_below(ax, reasons, colors, top=top, band=BAND)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlim(0, max(rows[-1] if len(rows) else 1, 1))
    style.name_axes(ax, "row of the stream", f"share of {unit} asked")
    return ax
