"""Pictures along a stream: measures, rules, who decided; and how good probabilities are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from efcml.plots import style
from efcml.plots.style import GREY, as_array, clear_frame, line_looks, plain, styled
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
    """
    if not isinstance(curves, Mapping):
        raise ValueError('Give curves with their names, as in {"mine": result}.')
    curves = {name: _as_orders(name, curve, first_row) for name, curve in curves.items()}
    ax, orders = clear_frame(ax), set()
    for (name, (rows, values)), look in zip(curves.items(), line_looks(len(curves)), strict=True):
        known = np.flatnonzero(~np.isnan(values).any(axis=0))
        kept = known[::-1][:: max(len(known) // POINTS, 1)][::-1]
        rows, values = rows[kept], values[:, kept]
        ax.plot(rows, values.mean(axis=0), label=plain(name), **look)
        if len(values) > 1:
            orders.add(len(values))
            ends: Any = values.min(axis=0), values.max(axis=0)
            ax.fill_between(rows, *ends, color=look["color"], alpha=0.13, linewidth=0, zorder=1.5)
            for edge in ends:  # where bands overlap, edges tell them apart, also in grey
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
    if not (isinstance(curve, tuple | list) and len(curve) == 2 and np.ndim(curve[0]) > 0):
        values = as_array(curve, None, name=f"{name!r}, if no result and no (rows, values),")
        return first_row + np.arange(len(values)), values.reshape(1, -1)
    rows, values = as_array(curve[0], None, name=f"rows of {name!r}"), np.asarray(curve[1], float)
    values = values.reshape(1, -1) if values.ndim < 2 else values
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
    """
    models: Any = rules if isinstance(rules, Mapping) else {"": rules}
    if events is None:
        events = getattr(rules, "events", None)
    models = {
        plain(name): as_array(getattr(counts, "rules", counts), None, name="rules")
        for name, counts in models.items()
    }
    ticks: dict[str, list[int]] = {kind: [] for kind in EVENTS}
    for row, kind, *_ in events or ():
        if kind not in EVENTS:
            raise ValueError(f"{kind!r} is no kind of event; there are {', '.join(EVENTS)}.")
        ticks[kind].append(first_row + row)
    owner = next(iter(models), "")
    ax, n = clear_frame(ax, height=3.2), max(map(len, models.values()), default=0)
    if log:
        ax.set_yscale("log")
    most = max((counts.max(initial=1.0) for counts in models.values()), default=1.0)
    for (name, counts), look in zip(models.items(), line_looks(len(models)), strict=True):
        values = np.where(counts >= 1, counts, np.nan) if log else counts
        changed = np.flatnonzero(np.diff(values, prepend=np.nan) != 0.0)  # only what can be seen
        kept = np.unique(np.append(changed, len(values) - 1)) if len(values) else changed
        ax.step(first_row + kept, values[kept], where="post", label=name or None, **look)
    if cap is not None and most >= cap:
        ax.axhline(cap, color=GREY, linewidth=1, linestyle=":", zorder=1)
        style.write_beside(ax, f"cap: {cap} rules", (0, cap), "y", (6, -3), va="top")
    top = 1.3 * max(most, 2.0) if log else 1.08 * most
    named = {f"{owner} {EVENTS[kind][0]}".strip(): kind for kind in EVENTS if ticks[kind]}
    colors = {name: EVENTS[kind][1] for name, kind in named.items()}
    style.draw_ticks_below(ax, {name: ticks[kind] for name, kind in named.items()}, top, **colors)
    if events is not None and not named and n:
        words = "no rule was born, split, merged or dropped"
        style.write_beside(ax, words, (1, float(log)), "y", (-4, 4), ha="right")
    steps = LogLocator(subs=(1, 2, 5)) if log else MaxNLocator(6, integer=True, steps=[1, 2, 5, 10])
    ax.set_yticks([tick for tick in steps.tick_values(float(log), top) if log <= tick <= top])
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlim(first_row, first_row + max(n - 1, 1))
    ax.set(xlabel="row", ylabel="rules")
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax


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
    winners = as_array(winners, None, name="winners").astype(int)
    if rule_names is None:
        order = list(dict.fromkeys(winners.tolist()))
        names = [f"rule {number}" for number in order]
    else:
        order = list(range(len(rule_names)))
        names = style.names_for(rule_names, len(order), "rule ")
        if len(winners) and not 0 <= winners.min() <= winners.max() < len(order):
            raise ValueError(f"winners must be numbers below {len(order)}, one name each.")
    n, last = len(winners), max(len(order), 1) - 0.5
    ax = clear_frame(ax, 7.5, 1.1 + BAND * max(len(order), 3), grid=None)
    if len(order) and n:
        bins = min(MOST_BINS, n)
        stretch = np.arange(n) * bins // n  # of each row
        shares = np.array([np.bincount(stretch[winners == r], minlength=bins) for r in order])
        look: Any = {"cmap": "Blues", "vmin": -0.1, "vmax": 1.0, "interpolation": "nearest"}
        extent = (first_row, first_row + n, last, -0.5)
        ax.imshow(shares / np.bincount(stretch), extent=extent, aspect="auto", **look)
    ax.hlines(np.arange(1, len(order)) - 0.5, first_row, first_row + n, color="white", lw=2)
    ax.set_yticks(np.arange(len(order)), names)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(first_row, first_row + max(n - 1, 1)), ylim=(last, -0.5), xlabel="row")
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
    ax = clear_frame(ax, height=3.2)
    ax.plot(rows, shares, color=style.COLORS[0])
    ax.axhline(budget, color=GREY, linewidth=1, linestyle=":", label=f"budget: {budget:g}")
    top = 1.1 * max(budget, shares.max(initial=0.0))
    style.draw_ticks_below(ax, {plain(name): when for name, when in (reasons or {}).items()}, top)
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
    ax = clear_frame(ax, 5.4, 4.2, grid="both")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", zorder=1)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    for (name, curve), look in zip(curves.items(), line_looks(len(curves)), strict=True):
        if not (isinstance(curve, tuple | list) and len(curve) == 3):
            raise ValueError(f"{name!r} must be three arrays: predicted, observed and counts.")
        n, parts = len(np.atleast_1d(curve[0])), ("predicted", "observed", "counts")
        table = [
            as_array(part, n or None, name=f"{what} of {name!r}")
            for part, what in zip(curve, parts, strict=True)
        ]
        predicted, observed, counts = np.array(table)[:, table[2] > 0]
        color, share = look["color"], np.minimum(2.0 * counts / max(counts.sum(), 1.0), 1.0)
        ax.vlines(predicted, *wilson(observed, counts), color=color, linewidth=1.2, clip_on=False)
        ax.plot(predicted, observed, label=plain(name), **look)
        sizes = SMALLEST + (LARGEST - SMALLEST) * share
        ax.scatter(predicted, observed, s=sizes, color=color, zorder=3, clip_on=False)
    ax.set(xlabel="predicted probability", ylabel="share of true labels")
    if len(curves) > 1:
        style.legend_beside(ax)
    return ax


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
    values = [value for lines in differences.values() for line in lines.values() for value in line]
    if not values:
        raise ValueError("there is no difference to draw: give at least two models.")
    n_lines = sum(map(len, differences.values()))
    ax = clear_frame(ax, height=GAP + STEP * (n_lines + len(differences)), grid="x")
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
    if not np.nan_to_num(values).any():
        ax.set_xlim(-1.0, 1.0)  # an axis of hundredths would look like a difference
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - 0.4, -0.6)
    ax.margins(x=0.08)
    ax.set_xlabel(xlabel)
    return ax
