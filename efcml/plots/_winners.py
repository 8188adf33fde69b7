"""Which rule decided where in a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.heatmap import AMOUNT
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.plots.style import Marks
    from efcml.support.aliases import Floats, Ints

MOST_BINS = 300
BAND = 0.24  # inches of a rule


def draw_winners(
    winners: Any,
    rule_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
) -> Axes:
    """Draw a strip for every rule, dark where it decided.

    Parameters
    ----------
    winners : array of shape (n,)
        For each row the number of the rule that decided it, such as
        ``clf.activations(X).argmax(axis=1)`` or the uid of a rule.
    rule_names : sequence of str, optional
        Names of the rules 0, 1, ...; rules that decided nothing keep their strip. Without names
        only those that occur are drawn, in the order in which they first did.
    ax : Axes, optional
    first_row : int
        Number of the first row, if it is not 0.
    marks : mapping of str to int or (int, int), optional
        Rows to mark, as in `draw_trends`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_winners([3, 3, 7])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['rule 7', 'rule 3']
    """
    found = as_array(winners, None, name="winners").astype(int)
    if rule_names is None:
        order = list(dict.fromkeys(found.tolist()))
        names = [f"rule {number}" for number in order]
    else:
        order = list(range(len(rule_names)))
        names = names_for(rule_names, len(order), "rule")
        if len(found) and not 0 <= found.min() <= found.max() < len(order):
            raise ValueError(f"winners must be numbers below {len(order)}, one name each.")
    if ax is None:
        ax = style.own_axes(7.5, 1.1 + BAND * max(len(order), 3))
    style.clear_frame(ax)
    ax.grid(False)
    edges, shares = _count(found, order)
    if len(order) and len(found):
        ax.pcolormesh(
            first_row + edges,
            np.arange(len(order) + 1) - 0.5,
            shares[::-1],
            cmap=AMOUNT,
            vmin=0.0,
            vmax=1.0,
            rasterized=True,
        )
    ax.set_yticks(np.arange(len(order)), names[::-1])
    ax.tick_params(axis="y", length=0)
    ax.hlines(np.arange(len(order) + 1) - 0.5, *_ends(first_row, found), color="white", lw=2)
    ax.set(xlim=_ends(first_row, found), ylim=(-0.5, max(len(order), 1) - 0.5))
    style.mark_rows(ax, marks)
    return style.name_axes(ax, "row", "")


def _ends(first_row: int, winners: Ints) -> tuple[float, float]:
    return first_row, first_row + max(len(winners) - 1, 1)


def _count(winners: Ints, order: Sequence[int]) -> tuple[Floats, Floats]:
    """Return edges of stretches of rows, and the share of each that a rule decided."""
    bins = max(min(MOST_BINS, len(winners)), 1)
    edges = np.linspace(0, len(winners), bins + 1)
    stretch = np.minimum(np.arange(len(winners)) * bins // max(len(winners), 1), bins - 1)
    sizes = np.maximum(np.bincount(stretch, minlength=bins), 1)
    shares = [np.bincount(stretch[winners == r], minlength=bins) / sizes for r in order]
    return edges, np.reshape(shares, (len(order), bins))
