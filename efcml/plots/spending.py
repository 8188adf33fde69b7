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
    step = BAND * top
    for place, (name, found) in enumerate((reasons or {}).items()):
        color = looks[place + 1][0]
        middle = -(place + 0.9) * step
        ax.vlines(found, middle - 0.33 * step, middle + 0.33 * step, color=color, linewidth=0.8)
        ax.annotate(
            f"{name} ({len(found)})", (1, middle), xycoords=("axes fraction", "data"),
            xytext=(6, 0), textcoords="offset points", va="center", color=color,
            fontsize=style.SMALL,
        )  # fmt: skip
    if reasons:
        ax.axhline(0, color=style.GREY, linewidth=0.7)
    ax.set_ylim(-(len(reasons) + 0.4) * step if reasons else 0, top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlim(0, max(rows[-1] if len(rows) else 1, 1))
    ax.set_xlabel("row of the stream", fontsize=style.SMALL + 1)
    ax.set_ylabel(f"share of {unit} asked", fontsize=style.SMALL + 1)
    return ax
