"""Figures of every experiment."""

import numpy as np

from efcml import plots
from efcml.plots import style
from efcml_paper.ablation import BASE
from efcml_paper.plan import DEFAULT, NAMES, SMALL, STARTS, UNITS
from efcml_paper.scale import LARGE, SETS

MEASURES = {"pa": "partial accuracy", "ap": "average precision"}
BEGINNING = 0.05  # of the stream is left out: means of few rows would stretch the axis
WIDTH, HEIGHT = 11.0, 7.0


def figures_of(experiment, findings):
    """Return the figures of an experiment by name."""
    maker = MAKERS.get(experiment)
    return {} if maker is None else maker(experiment, findings)


# -- trends ---------------------------------------------------------------------------------


def draw_comparison(experiment, findings):
    """Draw EFC-ML, one-versus-rest, chain and static in file order, one panel per set."""
    measure = experiment.partition("-")[0]
    names = [NAMES[model] for model in ("efcml", "ovr", "chain", "static")]
    figures = {}
    for suffix, words in (("", "tuned"), (DEFAULT, "default parameters")):
        panels = {
            dataset: curves_of(findings, lines, [name + suffix for name in names], measure)
            for dataset, lines in findings.lines(experiment).items()
        }
        if any(panels.values()):
            title = f"Accumulated {MEASURES[measure]}, {words}, file order"
            name = experiment if not suffix else f"{experiment}-default"
            figures[name] = draw_panels(panels, MEASURES[measure], title)
    return figures


def curves_of(findings, lines, names, measure, *, mean=False):
    """Return rows and values of the lines that are there, for `efcml.plots.draw_trends`."""
    curves = {}
    for name in names:
        line = lines.get(name)
        if line is not None:
            values = findings.mean_trend(line, measure) if mean else findings.trend(line, measure)
            begin = int(BEGINNING * len(values))
            short = name.removesuffix(SMALL).partition(",")[0]  # titles say the rest
            curves[short] = (np.arange(begin, len(values)), values[begin:])
    return curves


def draw_panels(panels, ylabel, title, *, width=WIDTH, height=HEIGHT):
    """Return a figure with one panel of trends per set, two beside each other."""
    figure = plots.new_figure(width, height)
    rows = -(-len(panels) // 2)
    axes = figure.subplots(rows, 2, squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (name, curves) in zip(axes.flat, panels.items(), strict=False):
        plots.draw_trends(curves, ax=ax, ylabel=ylabel)
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
    figure = draw_panels(panels, "so far", "mediamill, file order", height=4.2)
    return {experiment: figure}


# -- number of rules ------------------------------------------------------------------------


def draw_rules(experiment, findings):
    """Draw the number of rules in file order, one panel per set."""
    panels = findings.lines(experiment)
    figure = plots.new_figure(WIDTH, 4.0)
    axes = figure.subplots(1, len(panels))
    for ax, (dataset, lines) in zip(axes, panels.items(), strict=True):
        names = [NAMES[model] for model in ("efcml", "ovr", "chain")]
        counts = {
            name: findings.rules(lines[name]).astype(float) for name in names if name in lines
        }
        plots.draw_rule_counts(counts, ax=ax, log=True)
        ax.set_title(dataset, fontsize=style.SMALL + 2)
        ax.set_ylabel("rules, all labels together")
    figure.suptitle("Number of rules along the stream, tuned, file order", fontsize=12)
    return {experiment: figure}


# -- active learning ------------------------------------------------------------------------


def draw_budgets(experiment, findings):
    """Draw full update, three budgets, random and static, from both starts."""
    names = ("full update", "active 30%", "active 20%", "active 10%", "random 10%", "static")
    unit = experiment.partition("-")[2]
    return draw_starts(experiment, findings, names, f"Budget of {unit}")


def draw_criteria(experiment, findings):
    """Draw a budget of 10 % with and without the third criterion, from both starts."""
    figures = {}
    for unit in UNITS:
        names = [f"{word} instability, {unit}" for word in ("with", "without")]
        title = f"10 % of the {unit}, with and without instability"
        figures |= draw_starts(f"{experiment}-{unit}", findings, names, title, experiment)
    return figures


def draw_starts(name, findings, names, title, experiment=None):
    """Return two figures, from the published split and from the small start."""
    figures = {}
    for words, suffix in STARTS.items():
        panels = {
            dataset: curves_of(findings, lines, [n + suffix for n in names], "pa", mean=True)
            for dataset, lines in findings.lines(experiment or name).items()
        }
        if any(panels.values()):
            text = f"{title}, {words}: partial accuracy, mean over the orders"
            figures[name + ("-small" if suffix else "")] = draw_panels(panels, MEASURES["pa"], text)
    return figures


# -- ablation -------------------------------------------------------------------------------


def draw_ablation(experiment, findings):
    """Draw what every change gives: a dot with its interval for each set, both measures."""
    lines = findings.lines(experiment)
    names = [name for name in lines[SETS[0]] if name != BASE and " + " not in name]
    figure = plots.new_figure(WIDTH, 0.42 * len(names) + 1.8)
    axes = figure.subplots(1, 2, sharey=True)
    looks = style.line_looks(len(SETS))
    for ax, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        for place, (dataset, (color, _)) in enumerate(zip(SETS, looks, strict=True)):
            shift = 0.18 * (place - 1.5)
            draw_dots(
                ax, findings, lines[dataset], names, measure, color, "osD^"[place], shift, dataset
            )
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
    return {experiment: figure}


def draw_dots(ax, findings, lines, names, measure, color, marker, shift, label):
    """Draw the dots and intervals of one set."""
    for place, name in enumerate(names):
        if name in lines and BASE in lines:
            found = findings.difference(lines[name], lines[BASE], measure)
            at = place + shift
            ax.plot(
                [100 * found.wide_low, 100 * found.wide_high], [at, at], color=color, linewidth=1.2
            )
            ax.plot(
                100 * found.mean,
                at,
                marker,
                color=color,
                markersize=4,
                label=label if place == 0 else None,
            )


MAKERS = {
    "pa-trends": draw_comparison,
    "ap-trends": draw_comparison,
    "rule-counts": draw_rules,
    "mediamill": draw_large,
    "al-labels": draw_budgets,
    "al-samples": draw_budgets,
    "al-instability": draw_criteria,
    "al-mediamill": draw_large,
    "ablation": draw_ablation,
}
