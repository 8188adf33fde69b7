"""What an active learner has spent along a stream, and why."""

import numpy as np

from efcml.plots import style

BAND = 0.085  # height of one row of ticks, as a share of the height of the curve


def draw_spending(curve, *, budget, reasons=None, ax=None, unit="samples"):
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
    ax = style.clear_frame(style.new_axes(height=3.2) if ax is None else ax)
    rows, shares = np.array([*curve], dtype=float).reshape(-1, 2).T
    looks = style.line_looks(len(reasons or {}) + 1)
    ax.plot(rows, shares, color=looks[0][0], linewidth=1.6)
    ax.axhline(budget, color=style.GREY, linewidth=1, linestyle=":", zorder=1)
    ax.annotate(
        f"budget: {budget:g}", (1, budget), xycoords=("axes fraction", "data"), xytext=(6, 0),
        textcoords="offset points", va="center", color=style.GREY, fontsize=style.SMALL,
    )  # fmt: skip
    top = 1.1 * budget
    colors = [color for color, *_ in looks[1:]]
    style.draw_ticks_below(ax, reasons or {}, colors, top=top, band=BAND)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlim(0, max(rows[-1] if len(rows) else 1, 1))
    ax.set_xlabel("row of the stream", fontsize=style.SMALL + 1)
    ax.set_ylabel(f"share of {unit} asked", fontsize=style.SMALL + 1)
    return ax
