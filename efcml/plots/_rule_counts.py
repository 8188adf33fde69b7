"""How many rules there are along a stream, and when they come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.plots.style import Dash, Marks
    from efcml.support.aliases import Floats

KINDS = {
    "birth": ("births", "#0072B2"),
    "split": ("splits", "#009E73"),
    "merge": ("merges", "#D55E00"),
    "drop": ("drops", "#000000"),
    "drift": ("drifts", "#CC79A7"),
}
BAND = 0.075  # height of one row of ticks, as a share of the height of the curve


def draw_rule_counts(
    rules: Any,
    events: Iterable[Sequence[Any]] | None = None,
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
    cap: int | None = None,
    log: bool = False,
) -> Axes:
    """Draw the number of rules as steps, with what happened to them as ticks below.

    Parameters
    ----------
    rules : result, array of shape (n,), or mapping of str to such
        The result of a run, or the number of rules after each row; of one model, or of several
        that are named.
    events : iterable of (row, kind, ...), optional
        Rows count from 0 at the start of ``rules``; kinds are "birth", "split", "merge",
        "drop" and "drift". Of several models they belong to the first. If not given, those of a
        single result.
    ax : Axes, optional
    first_row : int
        Number of the first row, if it is not 0.
    marks : mapping of str to int or (int, int), optional
        Rows to mark, as in `draw_trends`.
    cap : int, optional
        The largest number of rules allowed; drawn if it was reached.
    log : bool
        Logarithmic axis: for models that differ tenfold. Rows without rules are left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_rule_counts([1, 2, 2], [(1, "birth", 7)])
    >>> ax.get_ylabel()
    'rules'
    >>> ax = draw_rule_counts({"one base": [1, 2], "one per label": [30, 40]}, log=True)
    >>> ax.get_yscale()
    'log'
    """
    named = isinstance(rules, Mapping)
    if events is None:
        events = getattr(rules, "events", ())
    models = rules if named else {"": rules}
    models = {
        key: as_array(getattr(counts, "rules", counts), None, name="rules")
        for key, counts in models.items()
    }
    owner = style.plain(next(iter(models), "")) if named else ""
    rows_by_kind = _sort_events(events, first_row, owner)
    ax = style.clear_frame(style.own_axes(height=3.2) if ax is None else ax)
    most = max((counts.max(initial=1.0) for counts in models.values()), default=1.0)
    ends = _draw_steps(ax, models, first_row, log)
    if cap is not None and most >= cap:
        style.draw_limit(ax, cap, f"cap: {cap} rules")
    if log:
        ax.set_yscale("log")
    style.draw_ticks_below(
        ax,
        {name: rows for name, (rows, _) in rows_by_kind.items()},
        [color for _, color in rows_by_kind.values()],
        top=np.log10(1.3 * max(most, 2.0)) if log else 1.08 * most,
        band=BAND,
    )
    _set_ticks(ax, most, log)
    longest = max((len(counts) for counts in models.values()), default=0)
    ax.set_xlim(first_row, first_row + max(longest - 1, 1))
    style.name_axes(ax, "row", "rules")
    style.mark_rows(ax, marks)
    if named:
        name_ends(ax, ends, lowest=1.0 if log else 0.0)
    return ax


def _sort_events(
    events: Iterable[Sequence[Any]], first_row: int, owner: str
) -> dict[str, tuple[list[int], str]]:
    """Return the rows and the colour of each kind that occurs, by name, in the order of KINDS."""
    found: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for row, kind, *_ in events:
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of event; there are {', '.join(KINDS)}.")
        found[kind].append(first_row + row)
    return {
        f"{owner} {KINDS[kind][0]}".strip(): (rows, KINDS[kind][1])
        for kind, rows in found.items()
        if rows
    }


def _draw_steps(
    ax: Axes, models: Mapping[str, Floats], first_row: int, log: bool
) -> list[tuple[float, float, str, str, Dash]]:
    """Draw one line of steps per model and return their ends."""
    ends = []
    looks = style.line_looks(len(models))
    for (name, counts), (color, dash) in zip(models.items(), looks, strict=True):
        shown = np.where(counts >= 1, counts, np.nan) if log else counts
        rows = first_row + np.arange(len(counts))
        ax.step(
            rows,
            shown,
            where="post",
            color=color,
            linestyle=dash,
            linewidth=1.6,
            label=style.plain(name),
        )
        if len(shown) and not np.isnan(shown[-1]):
            ends.append((rows[-1], shown[-1], name, color, dash))
    return ends


def _set_ticks(ax: Axes, most: float, log: bool) -> None:
    """Put ticks where there can be a number of rules, and none among the events."""
    if log:
        steps = [digit * 10.0**power for power in range(20) for digit in (1, 2, 5)]
        ax.set_yticks([step for step in steps if step <= 1.3 * most], minor=False)
        ax.set_yticks([], minor=True)
        ax.yaxis.set_major_formatter("{x:g}")
    else:
        ticks = MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(0, 1.08 * most)
        ax.set_yticks([tick for tick in ticks if 0 <= tick <= 1.08 * most])
