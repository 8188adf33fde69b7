"""Pictures along a stream: measures, rules, who decided; and how good probabilities are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from efcml.plots import style
from efcml.plots.style import GREY, LOOKS, Marks, clear_frame, plain, styled
from efcml.support.aliases import Array, Floats
from efcml.support.statistics import wilson

POINTS = 250  # drawn per line: more of them would hide the dashes
EVENTS = {
    "birth": ("births", "#0072B2"),
    "split": ("splits", "#009E73"),
    "merge": ("merges", "#D55E00"),
    "drop": ("drops", "#000000"),
    "drift": ("drifts", "#CC79A7"),
    "began anew": ("began anew", "#E69F00"),
    "new scale": ("new scale", "#56B4E9"),
}
MOST_BINS, BAND = 300, 0.24  # stretches of rows, and inches, of a strip
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
    per row from ``first_row`` on; or (rows, values). Values may have the shape (orders, n): then
    the line is their mean and a band reaches from the lowest to the highest. NaN values are left
    out. ``marks`` are rows with names, such as a drift: one row, or the first and the last of a
    band.
    """
    ax, bands = clear_frame(ax), False
    for (name, curve), look in zip(curves.items(), LOOKS(), strict=False):
        rows, values = _read_curve(name, curve, first_row)
        known = np.flatnonzero(~np.isnan(values).any(axis=0))
        kept = known[::-1][:: max(len(known) // POINTS, 1)][::-1]
        rows, values = rows[kept], values[:, kept]
        ax.plot(rows, values.mean(axis=0), label=plain(name), **look)
        if len(values) > 1:
            bands, ends = True, (values.min(axis=0), values.max(axis=0))
            ax.fill_between(rows, *ends, color=look["color"], alpha=0.13, linewidth=0, zorder=1.5)
            for edge in ends:  # where bands overlap, edges tell them apart, also in grey
                ax.plot(rows, edge, linewidth=0.6, alpha=0.7, zorder=1.6, **look)
    caption = "\nlines: mean of all orders, bands: lowest to highest" if bands else ""
    ax.set(xlabel=f"row{caption}", ylabel=plain(ylabel, 48))
    ax.margins(x=0.0)
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax


def _read_curve(name: str, curve: Any, first_row: int) -> tuple[Array, Floats]:
    """Return the rows (n,) and the values (orders, n)."""
    rows, values = curve if isinstance(curve, tuple) else (None, getattr(curve, "pa_trend", curve))
    values = np.atleast_2d(np.asarray(values, dtype=float))
    rows = first_row + np.arange(values.shape[1]) if rows is None else np.asarray(rows)
    if values.shape[1] != len(rows):
        raise ValueError(f"{name!r} has {values.shape[1]} values for {len(rows)} rows.")
    return rows, values


@styled
def draw_rule_counts(
    result: Any, *, ax: Axes | None = None, first_row: int = 0, marks: Marks | None = None
) -> Axes:
    """Draw the number of rules of a run as steps, with what happened to them as ticks below.

    Several runs are compared by `draw_trends`.
    """
    happened: dict[str, list[int]] = {}
    shades: dict[str, str] = {}
    for kind, (title, shade) in EVENTS.items():
        for row, _, what in (event for event in result.events if event[1] == kind):
            name = f"{title}:\n{what}" if isinstance(what, str) else title
            happened.setdefault(name, []).append(first_row + row)
            shades[name] = shade
    ax, counts, n = clear_frame(ax, height=3.2), result.rules, len(result.rules)
    changed = np.flatnonzero(np.diff(counts)) + 1  # only what can be seen
    kept = np.unique([0, *changed, n - 1])
    ax.step(first_row + kept, counts[kept], where="post", color=style.COLORS[0])
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    style.draw_ticks_below(ax, happened, 1.08 * counts.max(), [*shades.values()])
    if not happened:
        words = "no rule was born, split, merged or dropped"
        style.write_beside(ax, words, (1, 0), "y", (-4, 4), ha="right")
    ax.set(xlim=(first_row, first_row + max(n - 1, 1)), xlabel="row", ylabel="rules")
    style.mark_rows(ax, marks)
    style.legend_beside(ax)
    return ax


@styled
def draw_winners(
    winners: Any,
    rule_names: Sequence[str],
    *,
    ax: Axes | None = None,
    first_row: int = 0,
    marks: Marks | None = None,
) -> Axes:
    """Draw a strip for every rule, dark where it decided.

    ``winners`` (n,) has for each row the number of the rule that decided it, such as
    ``clf.activations(X).argmax(axis=1)``; ``rule_names`` are those of the rules 0, 1, ...
    """
    winners, n = np.asarray(winners), len(rule_names)
    if not 0 <= winners.min() <= winners.max() < n:
        raise ValueError(f"winners must be numbers below {n}, one name each.")
    ax = clear_frame(ax, 7.5, 1.1 + BAND * max(n, 3), grid=None)
    bins, end = min(MOST_BINS, len(winners)), first_row + len(winners)
    stretch = np.arange(len(winners)) * bins // len(winners)  # of each row
    shares = np.array([np.bincount(stretch[winners == r], minlength=bins) for r in range(n)])
    look: Any = {"cmap": "Blues", "vmin": -0.1, "vmax": 1.0, "interpolation": "nearest"}
    extent = (first_row, end, n - 0.5, -0.5)
    ax.imshow(shares / np.bincount(stretch), extent=extent, aspect="auto", **look)
    ax.hlines(np.arange(1, n) - 0.5, first_row, end, color="white", lw=2)
    ax.set_yticks(np.arange(n), list(map(plain, rule_names)))
    ax.tick_params(axis="y", length=0)
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
    rows, shares = np.reshape([*curve], (-1, 2)).T
    ax = clear_frame(ax, height=3.2)
    ax.plot(rows, shares, color=style.COLORS[0])
    ax.axhline(budget, color=GREY, linewidth=1, linestyle=":", label=f"budget: {budget:g}")
    top = 1.1 * max(budget, shares.max(initial=0.0))
    style.draw_ticks_below(ax, reasons or {}, top, style.COLORS[1:])
    ax.set(xlim=(0, rows.max(initial=1.0)), xlabel="row", ylabel=f"share of {unit} asked")
    style.legend_beside(ax)
    return ax


@styled
def draw_reliability(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the share of true labels over the predicted probability, with the diagonal.

    Right probabilities lie on the diagonal, but for chance: a bar is the 95 % interval (Wilson) of
    the share. ``curves`` has, by the name of the model, what `efcml.measures.reliability` gives;
    empty bins are left out.
    """
    ax = clear_frame(ax, 5.4, 4.2, grid="both")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", zorder=1)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    for (name, curve), look in zip(curves.items(), LOOKS(), strict=False):
        table = np.asarray(curve, dtype=float)
        predicted, observed, counts = table[:, table[2] > 0]
        ends: Any = wilson(observed, counts)
        ax.vlines(predicted, *ends, color=look["color"], linewidth=1.2, clip_on=False)
        ax.plot(predicted, observed, marker="o", label=plain(name), clip_on=False, **look)
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
    n_lines = sum(map(len, differences.values()))
    if not n_lines:
        raise ValueError("there is no difference to draw: give at least two models.")
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
    if ax.dataLim.width == 0.0:
        ax.set_xlim(-1.0, 1.0)  # an axis of hundredths would look like a difference
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.set(ylim=(place - 0.4, -0.6), xlabel=xlabel)
    ax.margins(x=0.08)
    return ax


@styled
def draw_ranks(
    ranks: Mapping[str, float],
    critical_difference: float,
    groups: Sequence[tuple[float, float]] = (),
    *,
    ax: Axes | None = None,
    xlabel: str = "mean rank",
) -> Axes:
    """Draw mean ranks of models by name below an axis, the best on the left.

    A bar joins the models of a group, from its lowest rank to its highest: they cannot be told
    apart. The bar above the axis is as long as the critical difference.
    """
    names = sorted(ranks, key=lambda name: ranks[name])
    half, most, first = (len(names) + 1) // 2, max(len(names), 2), 0.6 + 0.4 * len(groups)
    low, end = first + 0.7 * (half - 1), 1.0 + critical_difference
    ax = clear_frame(ax, height=1.2 + 0.4 * low, grid=None)
    look: Any = {"color": "black", "linewidth": 0.9, "clip_on": False}
    words: Any = {"textcoords": "offset points", "fontsize": style.SMALL, "annotation_clip": False}
    for i, name in enumerate(names):
        left, rank = i < half, ranks[name]
        side, y = (0.8, first + 0.7 * i) if left else (most + 0.2, low - 0.7 * (i - half))
        ax.plot([rank, rank, side], [0.0, y, y], **look)
        place: Any = ("right", (-4, 0)) if left else ("left", (4, 0))
        text = f"{plain(name)}  {rank:.2f}" if left else f"{rank:.2f}  {plain(name)}"
        ax.annotate(text, (side, y), ha=place[0], xytext=place[1], va="center", **words)
    for i, (begin, stop) in enumerate(groups):
        y = 0.4 * (i + 1)
        ax.plot([begin - 0.05, stop + 0.05], [y, y], color=style.COLORS[0], linewidth=4)
    ax.plot([1.0, end], [-1.1, -1.1], marker="|", **look)
    text = f"critical difference {critical_difference:.2f}"
    ax.annotate(text, ((1.0 + end) / 2.0, -1.1), xytext=(0, 4), ha="center", **words)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.spines["top"].set(visible=True, position=("data", 0.0))
    ax.xaxis.tick_top()
    ax.set(xlim=(0.9, max(most + 0.1, end)), ylim=(low + 0.5, -1.6), yticks=[], xlabel=xlabel)
    ax.set_xticks(range(1, most + 1))
    return ax
