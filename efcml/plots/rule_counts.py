"""How many rules there are along a stream, and when they come and go."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from efcml.plots import style

KINDS = {
    "birth": ("births", "#0072B2"),
    "merge": ("merges", "#D55E00"),
    "drop": ("drops", "#000000"),
}
BAND = 0.075  # height of one row of ticks, as a share of the height of the curve


def draw_rule_counts(rules, events=(), *, ax=None, first_row=0, marks=None, cap=None):
    """Draw the number of rules as steps, with births, merges and drops as ticks below.

    Parameters
    ----------
    rules : array of shape (n,)
        Number of rules after each row.
    events : iterable of (row, kind, ...)
        Rows count from 0 at the start of ``rules``; kinds are "birth", "merge" and "drop".
    ax : Axes, optional
    first_row : int
        Number of the first row, if it is not 0.
    marks : mapping of str to int or (int, int), optional
        Rows to mark, as in `draw_trends`.
    cap : int, optional
        The largest number of rules allowed; drawn if it was reached.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_rule_counts([1, 2, 2], [(1, "birth", 7)])
    >>> ax.get_ylabel()
    'rules'
    """
    ax = style.clear_frame(style.new_axes(height=3.2) if ax is None else ax)
    rules = np.asarray(rules)
    rows = first_row + np.arange(len(rules))
    ax.step(rows, rules, where="post", color="#0072B2", linewidth=1.6)
    if cap is not None and rules.max() >= cap:
        ax.axhline(cap, color=style.GREY, linewidth=1, linestyle=":", zorder=1)
        ax.annotate(
            f"cap: {cap} rules", (0, cap), xycoords=("axes fraction", "data"), xytext=(6, -3),
            textcoords="offset points", va="top", color=style.GREY, fontsize=style.SMALL,
        )  # fmt: skip
    rows_by_kind = _sort_events(events, first_row)
    top = 1.08 * max(rules.max(), 1)
    names, colors = {}, []
    for kind, found in rows_by_kind.items():
        name, color = KINDS[kind]
        names[name] = found
        colors.append(color)
    style.draw_ticks_below(ax, names, colors, top=top, band=BAND)
    ticks = MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(0, top)
    ax.set_yticks([tick for tick in ticks if 0 <= tick <= top])
    ax.set_xlim(rows[0], max(rows[-1], rows[0] + 1))
    ax.set_xlabel("row of the stream", fontsize=style.SMALL + 1)
    ax.set_ylabel("rules", fontsize=style.SMALL + 1)
    style.mark_rows(ax, marks)
    return ax


def _sort_events(events, first_row):
    """Return the rows of each kind that occurs, in the order of ``KINDS``."""
    found = {kind: [] for kind in KINDS}
    for row, kind, *_ in events:
        found[kind].append(first_row + row)
    return {kind: rows for kind, rows in found.items() if rows}
