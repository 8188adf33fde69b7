"""Figures of every experiment; each function yields names and figures, None where nothing is."""

import numpy as np

from efcml import plots
from efcml.plots import style
from efcml_paper.ablation import BASE
from efcml_paper.plan import DEFAULT, SMALL, STARTS, UNITS
from efcml_paper.scale import LARGE, SETS

MEASURES = {"pa": "partial accuracy", "ap": "average precision"}
BEGINNING = 0.05  # of the stream is left out: means of few rows would stretch the axis
WIDTH, HEIGHT = 11.0, 7.0


def draw_comparison(experiment, findings):
    """Draw EFC-ML, one-versus-rest, chain and static in file order, one panel per set."""
    measure, names = experiment[:2], ("EFC-ML", "one-versus-rest", "chain", "static")
    for suffix, words in (("", "tuned"), (DEFAULT, "default parameters")):
        title = f"Accumulated {MEASURES[measure]}, {words}, file order"
        own = [name + suffix for name in names]
        figure = draw_sets(findings, experiment, own, measure, title)
        yield experiment + ("-default" if suffix else ""), figure


def draw_budgets(experiment, findings):
    """Draw full update, three budgets, random and static, from both starts."""
    names = ("full update", "active 30%", "active 20%", "active 10%", "random 10%", "static")
    unit = experiment.partition("-")[2]
    yield from draw_starts(experiment, experiment, findings, names, f"Budget of {unit}")


def draw_criteria(experiment, findings):
    """Draw a budget of 10 % with and without the third criterion, from both starts."""
    for unit in UNITS:
        names = [f"{word} instability, {unit}" for word in ("with", "without")]
        title = f"10 % of the {unit}, with and without instability"
        yield from draw_starts(f"{experiment}-{unit}", experiment, findings, names, title)


def draw_starts(figure, experiment, findings, names, title):
    """Draw two figures, from the published split and from the small start."""
    for words, suffix in STARTS.items():
        text = f"{title}, {words}: partial accuracy, mean over the orders"
        own = [name + suffix for name in names]
        drawn = draw_sets(findings, experiment, own, "pa", text, mean=True)
        yield figure + ("-small" if suffix else ""), drawn


def draw_sets(findings, experiment, names, measure, title, *, mean=False):
    """Return a figure with a panel of trends for each set, None if there are no trends."""
    panels = {
        dataset: curves_of(findings, lines, names, measure, mean=mean)
        for dataset, lines in findings.lines(experiment).items()
    }
    return draw_panels(panels, MEASURES[measure], title) if any(panels.values()) else None


def curves_of(findings, lines, names, measure, *, mean=False):
    """Return rows and values of the lines that are there, for `efcml.plots.draw_trends`."""
    curves, trend = {}, findings.mean_trend if mean else findings.trend
    for name in (name for name in names if name in lines):
        values = trend(lines[name], measure)
        begin = int(BEGINNING * len(values))
        short = name.removesuffix(SMALL).partition(",")[0]  # titles say the rest
        curves[short] = (np.arange(begin, len(values)), values[begin:])
    return curves


def draw_panels(panels, ylabel, title, *, height=HEIGHT):
    """Return a figure with one panel per set, two beside each other."""
    figure = plots.new_figure(WIDTH, height)
    axes = figure.subplots(-(-len(panels) // 2), 2, squeeze=False)
    for ax, (name, curves) in zip(axes.flat, panels.items(), strict=True):
        plots.draw_trends(curves, ax=ax)
        ax.set_ylabel(ylabel)
        ax.set_title(name, fontsize=style.SMALL + 2)
    figure.suptitle(title, fontsize=12)
    return figure


def draw_large(experiment, findings):
    """Draw both measures on mediamill, side by side."""
    lines = findings.lines(experiment)[LARGE]
    unseen = ("random 20", "random 30")  # as in the paper
    names = [name for name in lines if not name.endswith(DEFAULT) and not name.startswith(unseen)]
    panels = {
        title: curves_of(findings, lines, names, measure) for measure, title in MEASURES.items()
    }
    yield experiment, draw_panels(panels, "so far", "mediamill, file order", height=4.2)


def draw_rules(experiment, findings):
    """Draw the number of rules in file order, one panel per set."""
    names = ("EFC-ML", "one-versus-rest", "chain")
    panels = {
        dataset: {name: findings.rules(own[name]).astype(float) for name in names if name in own}
        for dataset, own in findings.lines(experiment).items()
    }
    title = "Number of rules along the stream, tuned, file order"
    figure = draw_panels(panels, "rules, all labels together", title, height=4.0)
    for ax in figure.axes:
        ax.set_yscale("log")
    yield experiment, figure


def draw_ablation(experiment, findings):
    """Draw what every change gives: a dot with its interval for each set, both measures."""
    lines = findings.lines(experiment)
    names = [name for name in lines[SETS[0]] if name != BASE and " + " not in name]
    figure = plots.new_figure(WIDTH, 0.42 * len(names) + 1.8)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        for place, look in enumerate(style.line_looks(len(SETS))):
            own = {name: lines[SETS[place]].get(name) for name in (*names, BASE)}
            draw_dots(ax, findings, own, measure, place, look["color"])
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        style.clear_frame(ax).grid(axis="x", color=style.PALE, linewidth=0.7)
        ax.set_xscale("symlog", linthresh=1.0, linscale=1.5)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(f"{words}, points above the default", fontsize=style.SMALL + 1)
    axes[0].set_yticks(range(len(names)), names, fontsize=style.SMALL)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.suptitle("One thing changed at a time (corrected 95 % intervals)", fontsize=12)
    yield experiment, figure


def draw_dots(ax, findings, lines, measure, place, color):
    """Draw the dots and intervals of one set."""
    base = lines.pop(BASE)
    for at, line in enumerate(lines.values()):
        if line and base:
            found = findings.difference(line, base, measure)
            ends = 100 * np.array([found.wide_low, found.mean, found.wide_high])
            look = {"color": color, "linewidth": 1.2, "marker": "osD^"[place], "markersize": 4}
            label = None if at else SETS[place]
            ax.plot(ends, [at + 0.18 * (place - 1.5)] * 3, markevery=[1], label=label, **look)
