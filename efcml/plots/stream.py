"""Pictures along a stream: measures, rules, who decided; and how good probabilities are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from efcml.plots import style
from efcml.plots.style import GREY, PALE, as_array, plain, styled
from efcml.support.statistics import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.plots.style import Marks
    from efcml.support.aliases import Array, Floats

POINTS = 250  # drawn per line: more of them would hide the dashes
EVENTS = {
    "birth": ("births", "#0072B2"),
    "split": ("splits", "#009E73"),
    "merge": ("merges", "#D55E00"),
    "drop": ("drops", "#000000"),
    "drift": ("drifts", "#CC79A7"),
}
MOST_BINS = 300  # stretches of rows of a strip
BAND = 0.24  # inches of a strip
LARGEST, SMALLEST = 90.0, 8.0  # areas of marks, in square points
STEP, GAP = 0.3, 1.1  # inches per difference and around them
LONGEST = 40  # letters of the name of a difference


@styled
def draw_trends(
    curves: Mapping[str, Any],
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
    ylabel: str = "partial accuracy",
) -> Axes:
    """Draw one line per model over the rows of a stream.

    ``curves`` has, by name, the result of a run, of which ``pa_trend`` is drawn; values (n,), one
    per row from ``first_row`` on; or (rows, values). With rows, values may have the shape
    (orders, n): then the line is their mean and a band reaches from the lowest to the highest. NaN
    values are left out. ``marks`` are rows with names, such as a drift: one row, or the first and
    the last of a band.

    Examples
    --------
    >>> ax = draw_trends({"a": ([1, 2], [[0.5, 0.6], [0.7, 0.8]])}, marks={"drift": 2})
    >>> print(ax.get_xlabel())
    row
    lines: mean of 2 orders, bands: lowest to highest
    """
    if not isinstance(curves, Mapping):
        raise ValueError('Give curves with their names, as in {"mine": result}.')
    curves = {name: _as_orders(name, curve, first_row) for name, curve in curves.items()}
    ax = style.clear_frame(style.own_axes() if ax is None else ax)
    orders = set()
    for (name, (rows, values)), (color, dash) in zip(
        curves.items(), style.line_looks(len(curves)), strict=True
    ):
        known = np.flatnonzero(~np.isnan(values).any(axis=0))
        kept = known[::-1][:: max(len(known) // POINTS, 1)][::-1]
        rows, values = rows[kept], values[:, kept]
        look: Any = {"color": color, "linestyle": dash}
        ax.plot(rows, values.mean(axis=0), label=plain(name), **look)
        if len(values) > 1:
            orders.add(len(values))
            low, high = values.min(axis=0), values.max(axis=0)
            ax.fill_between(rows, low, high, color=color, alpha=0.13, linewidth=0, zorder=1.5)
            for edge in (low, high):  # where bands overlap, edges tell them apart, also in grey
                ax.plot(rows, edge, linewidth=0.6, alpha=0.7, zorder=1.6, **look)
    many = f"{max(orders)} orders" if len(orders) == 1 else "all orders"
    caption = f"\nlines: mean of {many}, bands: lowest to highest" if orders else ""
    ax.set(xlabel=f"row{caption}", ylabel=plain(ylabel, 48))
    ax.margins(x=0.0)
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax


def _as_orders(name: str, curve: Any, first_row: int) -> tuple[Array, Floats]:
    """Return the rows and the values of shape (orders, n), checked."""
    curve = getattr(curve, "pa_trend", curve)
    pair = isinstance(curve, tuple | list) and len(curve) == 2 and np.ndim(curve[0]) > 0
    if not pair:
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


@styled
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

    ``rules`` is the result of a run, or numbers after each row (n,); or several of them by name.
    ``events`` are (row, kind, ...), rows from 0 on, kinds as in a result; of several models they
    belong to the first. ``cap``, the largest number of rules allowed, is drawn if it was reached.
    With ``log`` the axis is logarithmic, for models that differ tenfold.

    Examples
    --------
    >>> ax = draw_rule_counts([1, 2, 2], [(1, "birth", 7)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['births (1)']
    """
    named = isinstance(rules, Mapping)
    if events is None:
        events = getattr(rules, "events", None)
    models = {
        name: as_array(getattr(counts, "rules", counts), None, name="rules")
        for name, counts in (rules if named else {"": rules}).items()
    }
    owner = plain(next(iter(models), "")) if named else ""
    ticks, colors = _sort_events(events or (), first_row, owner)
    ax = style.clear_frame(style.own_axes(height=3.2) if ax is None else ax)
    if log:
        ax.set_yscale("log")
    most = max((counts.max(initial=1.0) for counts in models.values()), default=1.0)
    longest = max((len(counts) for counts in models.values()), default=0)
    for (name, counts), (color, dash) in zip(
        models.items(), style.line_looks(len(models)), strict=True
    ):
        values = np.where(counts >= 1, counts, np.nan) if log else counts
        look: Any = {"color": color, "linestyle": dash, "label": plain(name) if named else None}
        ax.step(*_corners(first_row + np.arange(len(values)), values), where="post", **look)
    if cap is not None and most >= cap:
        ax.axhline(cap, color=GREY, linewidth=1, linestyle=":", zorder=1)
        style.write_beside(ax, f"cap: {cap} rules", (0, cap), "y", (6, -3), va="top")
    top = 1.3 * max(most, 2.0) if log else 1.08 * most
    style.draw_ticks_below(ax, ticks, top, **colors)
    if events is not None and not ticks and longest:
        words = "no rule was born, split, merged or dropped"
        style.write_beside(ax, words, (1, 0.0 if not log else 1.0), "y", (-4, 4), ha="right")
    _set_rule_ticks(ax, top, log)
    ax.set_xlim(first_row, first_row + max(longest - 1, 1))
    ax.set(xlabel="row", ylabel="rules")
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax


def _sort_events(
    events: Iterable[Sequence[Any]], first_row: int, owner: str
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Return the rows of each kind that occurs, by name, in the order of EVENTS; and colours."""
    found: dict[str, list[int]] = {kind: [] for kind in EVENTS}
    for row, kind, *_ in events:
        if kind not in EVENTS:
            raise ValueError(f"{kind!r} is no kind of event; there are {', '.join(EVENTS)}.")
        found[kind].append(first_row + row)
    names = {kind: f"{owner} {EVENTS[kind][0]}".strip() for kind, rows in found.items() if rows}
    ticks = {name: found[kind] for kind, name in names.items()}
    return ticks, {name: EVENTS[kind][1] for kind, name in names.items()}


def _corners(rows: Array, values: Floats) -> tuple[Array, Floats]:
    """Return the rows at which a step curve changes, and both ends."""
    changed = np.flatnonzero(np.diff(values, prepend=np.nan) != 0.0)
    kept = np.unique(np.append(changed, len(values) - 1)) if len(values) else changed
    return rows[kept], values[kept]


def _set_rule_ticks(ax: Axes, top: float, log: bool) -> None:
    """Put ticks where there can be a number of rules, and none among the events."""
    if log:
        steps = [digit * 10.0**power for power in range(20) for digit in (1, 2, 5)]
        ax.set_yticks([step for step in steps if step <= top])
        ax.set_yticks([], minor=True)
        ax.yaxis.set_major_formatter("{x:g}")
    else:
        ticks = MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(0, top)
        ax.set_yticks([tick for tick in ticks if 0 <= tick <= top])


@styled
def draw_winners(
    winners: Any,
    rule_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
) -> Axes:
    """Draw a strip for every rule, dark where it decided.

    ``winners`` (n,) has for each row the number of the rule that decided it, such as
    ``clf.activations(X).argmax(axis=1)``, or its uid. ``rule_names`` are those of the rules 0, 1,
    ...; without names only rules that occur are drawn, in the order in which they first did.
    """
    found = as_array(winners, None, name="winners").astype(int)
    if rule_names is None:
        order = list(dict.fromkeys(found.tolist()))
        names = [f"rule {number}" for number in order]
    else:
        order = list(range(len(rule_names)))
        names = style.names_for(rule_names, len(order), "rule ")
        if len(found) and not 0 <= found.min() <= found.max() < len(order):
            raise ValueError(f"winners must be numbers below {len(order)}, one name each.")
    n, bins = len(found), max(min(MOST_BINS, len(found)), 1)
    ax = style.own_axes(7.5, 1.1 + BAND * max(len(order), 3)) if ax is None else ax
    style.clear_frame(ax).grid(visible=False)
    if len(order) and n:
        stretch = np.arange(n) * bins // n  # of each row
        sizes = np.bincount(stretch, minlength=bins)
        shares = np.array([np.bincount(stretch[found == r], minlength=bins) for r in order]) / sizes
        extent = (first_row, first_row + n, len(order) - 0.5, -0.5)
        ax.imshow(
            shares,
            cmap="Blues",
            vmin=-0.1,
            vmax=1.0,
            extent=extent,
            aspect="auto",
            interpolation="nearest",
        )
    ax.hlines(np.arange(1, len(order)) - 0.5, first_row, first_row + n, color="white", lw=2)
    ax.set_yticks(np.arange(len(order)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(first_row, first_row + max(n - 1, 1))
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    ax.set_xlabel("row")
    return style.mark_rows(ax, marks)


@styled
def draw_spending(
    curve: Iterable[tuple[float, float]],
    *,
    budget: float,
    reasons: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
    unit: str = "samples",
) -> Axes:
    """Draw the share that was asked up to each row, with the criteria as ticks below.

    ``curve`` has (row, share) after each question and at the end, ``reasons`` the rows where each
    criterion fired; ``unit`` is what is counted, "samples" or "labels".
    """
    rows, shares = as_array([*curve], None, 2, name="curve").T
    if not budget > 0:
        raise ValueError(f"budget must be above 0, not {budget}.")
    reasons = {plain(name): found for name, found in (reasons or {}).items()}
    ax = style.clear_frame(style.own_axes(height=3.2) if ax is None else ax)
    ax.plot(rows, shares, color=style.COLORS[0])
    ax.axhline(budget, color=GREY, linewidth=1, linestyle=":", label=f"budget: {budget:g}")
    top = 1.1 * max(budget, shares.max(initial=0.0))
    style.draw_ticks_below(ax, reasons, top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlim(0, max(rows[-1] if len(rows) else 1, 1))
    ax.set(xlabel="row of the stream", ylabel=f"share of {unit} asked")
    style.legend_beside(ax)
    return ax


@styled
def draw_reliability(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the share of true labels over the predicted probability, with the diagonal.

    Right probabilities lie on the diagonal, but for chance: a bar is the 95 % interval (Wilson) of
    the share. Marks are the larger, the more labels a bin has. ``curves`` has, by the name of the
    model, what `efcml.measures.reliability` gives; empty bins are left out.
    """
    if not isinstance(curves, Mapping):
        raise ValueError('Give curves with their names, as in {"mine": (predicted, ...)}.')
    bins = {name: _read_bins(name, curve) for name, curve in curves.items()}
    ax = style.clear_frame(style.own_axes(5.4, 4.2) if ax is None else ax)
    ax.grid(visible=True, axis="x", color=PALE, linewidth=0.7)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", zorder=1)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    for (name, table), (color, dash) in zip(bins.items(), style.line_looks(len(bins)), strict=True):
        predicted, observed, counts = table.T
        look: Any = {"color": color, "linestyle": dash, "label": plain(name)}
        ax.vlines(predicted, *wilson(observed, counts), color=color, linewidth=1.2, clip_on=False)
        ax.plot(predicted, observed, **look)
        share = np.minimum(2.0 * counts / max(counts.sum(), 1.0), 1.0)
        sizes = SMALLEST + (LARGEST - SMALLEST) * share
        ax.scatter(predicted, observed, s=sizes, color=color, zorder=3, clip_on=False)
    ax.set(xlabel="predicted probability", ylabel="share of true labels")
    if len(bins) > 1:
        style.legend_beside(ax)
    return ax


def _read_bins(name: str, curve: Any) -> Floats:
    """Return the bins that are not empty as rows of predicted, observed and count, checked."""
    columns = tuple(curve) if isinstance(curve, tuple | list) else ()
    if len(columns) != 3:
        raise ValueError(f"{name!r} must be three arrays: predicted, observed and counts.")
    predicted = as_array(columns[0], None, name=f"predicted of {name!r}")
    observed, counts = (
        as_array(column, len(predicted), name=f"{what} of {name!r}")
        for what, column in zip(("observed", "counts"), columns[1:], strict=True)
    )
    return np.column_stack([predicted, observed, counts])[counts > 0]


@styled
def draw_differences(
    differences: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    ax: Axes | None = None,
    xlabel: str = "difference",
) -> Axes:
    """Draw a point and its interval for every line, and a line at 0.

    What is surely above or below 0 is filled and dark, the rest open and grey. ``differences`` has
    (difference, low, high) by group, such as the data set, and name, such as the model.
    """
    n_lines = sum(map(len, differences.values()))
    if not n_lines:
        raise ValueError("there is no difference to draw: give at least two models.")
    height = GAP + STEP * (n_lines + len(differences))
    ax = style.clear_frame(style.own_axes(height=height) if ax is None else ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=PALE, linewidth=0.7)
    ax.axvline(0.0, color=GREY, linewidth=1)
    place, ticks = 0.0, {}
    for group, lines in differences.items():
        style.write_beside(ax, plain(group, LONGEST), (0, place), "y", (4, 0), va="center")
        for name, (middle, low, high) in lines.items():
            place += 1.0
            ticks[place] = plain(name, LONGEST)
            sure = bool(np.isfinite([low, high]).all() and (low > 0 or high < 0))
            color = style.COLORS[0] if sure else GREY
            ax.plot([low, high], [place, place], color=color, solid_capstyle="butt")
            ax.plot(middle, place, "o", ms=5.5, color=color, mfc=color if sure else "white")
        place += 1.0
    values = [value for lines in differences.values() for line in lines.values() for value in line]
    if not np.nan_to_num(values).any():
        ax.set_xlim(-1.0, 1.0)  # an axis of hundredths would look like a difference
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - 0.4, -0.6)
    ax.margins(x=0.08)
    ax.set_xlabel(xlabel)
    return ax
