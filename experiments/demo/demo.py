"""A first run that needs no data: ``python experiments/demo/demo.py [--out demo] [--quick]``.

Eight models learn the built-in drifting stream. A table goes to the screen; numbers, figures and a
report go to the output folder.

All lines but the first are the default with one thing changed.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from efcml import __version__, measures, plots
from efcml.cli.shared import format_table
from efcml.datasets import load
from efcml.estimators.classifier import EFCMLClassifier
from efcml.evaluation import PrequentialResult, prequential
from efcml.model.warm import warmup
from efcml.report import write_report
from efcml.report.figures import draw_panels
from efcml.report.page import Section, Table, picture
from efcml.support.files import make_folder

STREAM, FLAT_STREAM = "drifting-clusters", "drifting-clusters-2d"
MAIN = "rules"  # the model that the report is about
SEED = 0
ROWS, QUICK_ROWS = 6000, 2000
CELLS = 250  # of the background of the picture of rules, per side
WINDOW_SHARE = 1 / 12  # of all rows: what the trend lines average over

# In the report, beside the figures of the main model: another name, and what is seen.
CAPTIONS = {
    "trends": ("comparison", "Four of the models, mean of the last rows."),
    "ellipses": (
        "ellipses",
        "Rules on a stream with two features, at four times, and where they predict "
        "the first label.",
    ),
}
HEADER = ["model", "PA", "AP", "rules", "births/splits/merges", "ms/sample"]
NEVER = {"forgetting": 1.0}
ONE_PLANE = {"max_rules": 1, "cases": 0}  # nothing but it


@dataclass(frozen=True)
class Model:
    """One line of the table."""

    name: str
    parameters: dict = field(default_factory=dict)
    learn: bool = True
    drawn: bool = False  # in the figure of trends


MODELS = {
    "rules": Model("EFC-ML", drawn=True),
    "remembers": Model("EFC-ML, never forgets", NEVER, drawn=True),
    "wide": Model("EFC-ML, rules share decisions", {"bandwidth": "dimension"}),
    "alone": Model("EFC-ML, rules alone", {"cases": 0}),
    "least squares": Model("EFC-ML, no correlation", {"correlation": "none"}),
    "plane": Model("one plane", ONE_PLANE, drawn=True),
    "plane remembers": Model("one plane, never forgets", ONE_PLANE | NEVER),
    "static": Model("static EFC-ML", learn=False, drawn=True),
}


@dataclass(frozen=True)
class Run:
    """A model and what came of it."""

    model: Model
    classifier: EFCMLClassifier
    result: PrequentialResult

    @property
    def parameters(self):
        """All parameters of the classifier."""
        return self.classifier.get_params()

    def numbers(self):
        """Return what the table and the summary say about the run."""
        result = self.result
        return {
            "name": self.model.name,
            "learns": self.model.learn,
            "pa": result.pa,
            "ap": result.ap,
            "rules": int(result.rules[-1]),
            **result.event_counts,
            "ms_per_sample": 1e3 * result.seconds_per_sample,
            "parameters": self.parameters,
        }


def main(arguments=None):
    """Run the demo from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python experiments/demo/demo.py",
        description="Learn a built-in drifting stream; print a table, write figures and a report.",
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="a shorter stream")
    chosen = parser.parse_args(arguments)
    try:
        make_folder(chosen.out)
    except ValueError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    try:
        run_demo(chosen.out, rows=QUICK_ROWS if chosen.quick else ROWS)
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    return 0


def run_demo(out, *, rows=ROWS, cells=CELLS):
    """Run all models over the stream, print the table, write the files; return the runs."""
    warmup(rare=False)
    stream = load(STREAM, n=rows, seed=SEED)
    print(stream)
    runs = {}
    for key, model in MODELS.items():
        start = time.perf_counter()
        runs[key] = run_model(model, stream)
        print(f"  {model.name}: {time.perf_counter() - start:.1f} s", flush=True)
    sentences = describe(runs)
    print("\n".join(["", *compare(runs), ""]))
    print("\n".join(sentences) + "\n")
    figures = draw_all(runs, stream, cells)
    files = [
        file for name, figure in figures.items() for file in plots.save_figure(figure, out / name)
    ]
    summary = summarise(stream, runs, sentences, files)
    files.append(out / "summary.json")
    files[-1].write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    files.append(write_page(out, stream, runs, summary, figures))
    print(f"written to {out}: " + ", ".join(file.name for file in files))
    return runs


def run_model(model, stream):
    """Fit a model to the initial part and run it over the rest."""
    classifier = EFCMLClassifier(**model.parameters).fit(*stream.initial)
    result = prequential(classifier, *stream.stream, learn=model.learn)
    classifier.name_columns(stream.feature_names, stream.label_names)
    return Run(model, classifier, result)


# -- words and numbers ----------------------------------------------------------------------


def table_of(runs):
    """Return the numbers of all runs in words, a line each."""
    rows = []
    for run in runs.values():
        n = run.numbers()
        rows.append(
            [
                n["name"],
                f"{n['pa']:.3f}",
                f"{n['ap']:.3f}",
                str(n["rules"]),
                f"{n['births']}/{n['splits']}/{n['merges']}",
                f"{n['ms_per_sample']:.3f}",
            ]
        )
    return rows


def compare(runs):
    """Return the lines of the table of all runs."""
    title, *lines = format_table(HEADER, table_of(runs))
    return [title, "-" * len(title), *lines]


def describe(runs):
    """Say in two sentences what the table shows; every number is computed."""

    def gain(key, other):
        return round(100 * (runs[key].result.pa - runs[other].result.pa), 1) + 0.0  # no -0.0

    lead = gain("alone", "plane")
    first = (
        f"Rules alone {'beat' if lead >= 0 else 'lose to'} one plane by {abs(lead):.1f} points of "
        f"partial accuracy (PA); remembered cases change it by {gain('rules', 'alone'):+.1f}, "
        f"forgetting by {gain('rules', 'remembers'):+.1f}, the correlation penalty by "
        f"{gain('rules', 'least squares'):+.1f}, learning from the stream by "
        f"{gain('rules', 'static'):+.1f}."
    )
    second = (
        f"{runs['rules'].result.rules[-1]} rules decide, nearly each alone; where they share "
        f"decisions, it changes by {gain('wide', 'rules'):+.1f}."
    )
    return [first, second]


def summarise(stream, runs, sentences, files):
    """Return everything a script could want to know: the main model, then all of them."""
    numbers = runs[MAIN].numbers()
    return {
        "dataset": stream.name,
        "model": numbers.pop("name"),
        "seed": SEED,
        "n_initial": stream.n_initial,
        "n_stream": len(stream) - stream.n_initial,
        "drift_rows": stream.marks,
        "version": __version__,
        "queried_share": float(runs[MAIN].result.queried.mean()),
        **numbers,
        "models": {key: run.numbers() for key, run in runs.items()},
        "findings": sentences,
        "figures": [file.name for file in files],
    }


def write_page(out, stream, runs, summary, figures):
    """Write the report of the main run, with what compares; return the path."""
    table = Table("models", "All models on the same rows", HEADER, table_of(runs))
    drawn = [picture(figures[name], *CAPTIONS[name]) for name in CAPTIONS]
    compared = Section("comparison", "Models compared", [table, *summary["findings"], *drawn])
    return write_report(
        out / "report.html",
        summary=summary,
        result=runs[MAIN].result,
        classifier=runs[MAIN].classifier,
        dataset=stream,
        X=stream.stream[0],
        sections=[compared],
    )


# -- pictures -------------------------------------------------------------------------------


def draw_all(runs, stream, cells):
    """Draw every figure; return them by name."""
    rows = len(stream)
    return {
        "trends": draw_models(runs, stream, window=max(round(WINDOW_SHARE * rows), 1)),
        "rules": draw_rules(runs[MAIN], stream),
        "ellipses": draw_snapshots(load(FLAT_STREAM, n=rows, seed=SEED), cells),
    }


def draw_models(runs, stream, window):
    """Return a figure of partial accuracy and average precision, one panel each."""
    drawn = [run for run in runs.values() if run.model.drawn]
    rows = np.arange(stream.n_initial, len(stream))
    full = slice(window - 1, None)  # from the first row with a whole window
    panels = {}
    for name in ("pa", "ap"):
        curves = panels[measures.MEASURES[name].title] = {}
        for run in drawn:
            recent = measures.trend(run.result.Y, run.result.scores, name, window=window)
            curves[run.model.name] = rows[full], recent[full]
    figure = draw_panels(panels, marks=plots.name_drifts(stream.marks), width=8.0, height=6.0)
    figure.axes[0].set_xlim(stream.n_initial + window - 1, len(stream))
    figure.suptitle(
        f"Test-then-train on {stream.name}, mean of the last {window} rows", fontsize=11, wrap=True
    )
    return figure


def draw_rules(run, stream):
    """Return a figure of the number of rules with their births, splits and merges."""
    ax = plots.draw_rule_counts(
        run.result.rules,
        run.result.events,
        first_row=stream.n_initial,
        marks=plots.name_drifts(stream.marks),
        ax=plots.new_axes(height=3.2),
    )
    ax.figure.suptitle(
        f"Number of rules on {stream.name} ({run.model.name})", fontsize=11, wrap=True
    )
    return ax.figure


def draw_snapshots(stream, cells=CELLS):
    """Return a figure of the rules over two features at four times of a stream."""
    classifier = EFCMLClassifier().fit(*stream.initial)
    figure = plots.new_figure(8.0, 8.9, layout="compressed")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    marks = stream.marks
    times = {
        stream.n_initial: "after the initial part",
        marks["gradual_start"]: "before the gradual drift",
        marks["abrupt"]: "before the abrupt drift",
        len(stream): "at the end",
    }
    edge = np.abs(stream.X).max() + 1.0
    ticks = np.linspace(-edge, edge, cells)
    learned = stream.n_initial
    for ax, (row, when) in zip(panels.flat, times.items(), strict=True):
        if row > learned:
            classifier.partial_fit(stream.X[learned:row], stream.Y[learned:row])
            learned = row
        draw_snapshot(ax, classifier, stream, slice(row - stream.n_initial, row), ticks)
        ax.set_title(f"row {row}, {when}: {classifier.n_rules_} rules", fontsize=9.5)
        ax.label_outer()
    legends = [ax.get_legend_handles_labels() for ax in panels.flat]
    figure.legend(
        *max(legends, key=lambda legend: len(legend[1])),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(f"Rules on {stream.name}, samples by {stream.label_names[0]}", fontsize=11)
    return figure


def draw_snapshot(ax, classifier, stream, rows, ticks):
    """Draw the rules of a classifier, some rows, and where the first label is predicted."""
    rules = classifier.rules_
    used = np.zeros(len(rules), dtype=bool)
    used[classifier.activations(stream.X[rows]).argmax(axis=1)] = True
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    flat = grid.reshape(-1, 2)
    predicted = classifier.predict(flat)[:, 0].astype(float)
    gaps = flat[:, None] - rules.centers[used]
    distances = np.einsum("nri,rij,nrj->nr", gaps, np.linalg.inv(rules.covariances[used]), gaps)
    near = distances.min(axis=1) <= 4.0
    predicted[~near] = np.nan
    plots.draw_ellipses(
        rules.centers,
        rules.covariances,
        feature_names=stream.feature_names,
        ax=ax,
        used=used,
        points=stream.X[rows],
        present=stream.Y[rows, 0] == 1,
        region=(ticks, ticks, predicted.reshape(len(ticks), -1)),
    )
    ax.set(xlim=ticks[[0, -1]], ylim=ticks[[0, -1]])


if __name__ == "__main__":
    sys.exit(main())
