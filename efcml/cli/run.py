"""``efcml run``: learn the initial part of a data set, then the rest, test-then-train."""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli import shared
from efcml.cli.predict import answer_frame
from efcml.rivals import MODELS, make_model
from efcml.support.files import make_folder, to_text, whole_files, without_nan
from efcml.support.progress import progress_bar

if TYPE_CHECKING:
    from efcml.active import ActiveLearner
    from efcml.cli.stream import StreamRun
    from efcml.datasets import Dataset
    from efcml.support.aliases import Facts

RUNS = Path("runs")
QUICK_ROWS = 300  # of the initial part and of the stream


def add_commands(commands: Any) -> None:
    """Add the subcommand."""
    what = "learn a data set row by row; write numbers, model, predictions, figures and a report"
    parser = commands.add_parser("run", help=what)
    add = parser.add_argument
    shared.add_source(parser, nargs="?", default=shared.BUILT_IN)
    titles = "; ".join(f"{name}: {model.title}" for name, model in MODELS.items())
    add("--model", choices=MODELS, default="efcml", help=f"{titles} (default: efcml)")
    what = "a parameter of the model, such as vigilance=0.4; may be repeated"
    add("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE", help=what)
    add("--budget", type=float, metavar="SHARE", help="ask for this share of the labels, 0 to 1")
    what = "what is asked for: whole rows (default) or single labels"
    add("--unit", choices=("samples", "labels"), help=what)
    add("--seed", type=int, default=0, metavar="N", help="of a chain with order=random (default 0)")
    what = f"at most {QUICK_ROWS} rows of the initial part and of the stream"
    add("--quick", action="store_true", help=what)
    what = "folder for the results (default: runs/DATASET-MODEL, and what else was chosen)"
    add("--out", type=Path, metavar="DIR", help=what)
    what = "keep the state of the run every few seconds; go on from it"
    add("--checkpoint", type=Path, metavar="FILE", help=what)
    add("--no-figures", action="store_true", help="no pictures, which take most of a short run")
    add("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Run, write the results and print the table."""
    shared.check_source(options, [options.data])
    given = dict(shared.read_pair("--set", text) for text in options.settings)
    given = {name: shared.read_value(value) for name, value in given.items()}
    model = make_model(options.model, random_state=options.seed).set_params(**given)
    model._params()  # refuses values that are out of range
    ds, first = shared.read_source(options, options.data), 0
    if options.quick:
        first = max(ds.n_initial - QUICK_ROWS, 0)
        rows = slice(first, ds.n_initial + QUICK_ROWS)
        n_initial = ds.n_initial - first
        ds = replace(ds, X=ds.X[rows], Y=ds.Y[rows], n_initial=n_initial, marks={})
    if ds.n_initial == len(ds):
        raise ValueError(
            f"all {len(ds)} rows of {ds.name} are in the initial part: choose a smaller --initial."
        )
    if ds.n_initial == 0 and (options.budget is not None or not MODELS[options.model].learn):
        needs = "--budget" if options.budget is not None else f"--model {options.model}"
        raise ValueError(f"{needs} needs an initial part: choose --initial larger than 0.")
    from efcml.cli.stream import StreamRun  # it takes seconds

    asker, learn = make_asker(options), MODELS[options.model].learn
    make_folder(options.out or choose_folder(ds.name, options))
    stream = StreamRun(model, asker, ds, learn, options.checkpoint)
    with progress_bar(1, "preparing", unit="step"):
        taken_up = stream.take_up()
        # Without an initial part the model holds the first rows until they are enough.
        if not taken_up and ds.n_initial:
            stream.model.fit(*ds.initial)
    if taken_up:
        done = f"{stream.done} of {len(stream.Y)} rows are done"
        print(f"efcml: going on from {options.checkpoint}: {done}", file=sys.stderr)
    stream.go_on()
    folder = options.out or choose_folder(ds.name, options)  # others may have written meanwhile
    make_folder(folder)
    finish(options, ds, stream, folder, first + ds.n_initial)
    if not stream.finished:
        raise KeyboardInterrupt(f"after {stream.done} of {len(stream.Y)} rows")


def make_asker(options: Namespace) -> ActiveLearner | None:
    """Return the active learner, or None if every label is given."""
    if options.budget is None:
        if options.unit is not None:
            raise ValueError("--unit needs --budget, the share of labels to ask for.")
        return None
    if not MODELS[options.model].asks:
        asking = " and ".join(name for name, one in MODELS.items() if one.asks)
        raise ValueError(f"--budget works with --model {asking} only, not with {options.model}.")
    from efcml.active import ActiveLearner

    return ActiveLearner(options.budget, options.unit or "samples", random_state=options.seed)


def name_run(dataset: str, options: Namespace) -> str:
    """Return the name of the folder of a run: whatever but the data makes it another is in it."""
    parts = [dataset, options.model, *("".join(text.split()) for text in options.settings)]
    if options.budget is not None:
        parts += [f"{100.0 * options.budget:g}", options.unit or "samples"]
    parts += [f"seed={options.seed}"] if options.seed else []
    parts += ["quick"] * options.quick
    return "-".join(re.sub(r"[/\\:*?\"<>|]", "_", part) for part in parts)


def choose_folder(dataset: str, options: Namespace) -> Path:
    """Return the folder of a run, a numbered one where that of its name has other data."""
    name, numbers = name_run(dataset, options), count(2)
    folder = RUNS / name
    while not is_free(folder / "summary.json", shared.name_source(options)):
        folder = RUNS / f"{name}-{next(numbers)}"
    return folder


def is_free(summary: Path, source: Facts) -> bool:
    """Tell whether no summary is there, or one of the same data."""
    try:
        return bool(json.loads(summary.read_bytes())["source"] == source)
    except FileNotFoundError:
        return True
    except (OSError, ValueError, LookupError, TypeError):  # who knows of what
        return False


def finish(options: Namespace, ds: Dataset, run: StreamRun, folder: Path, first: int) -> None:
    """Write everything and print the table; numbers first, so that no later failure costs them."""
    from efcml.saving import save

    run.model.name_columns(ds.feature_names, ds.label_names)
    result, summary = run.result(), summarise(options, ds, run)
    files = ["summary.json", "model.npz", "predictions.csv"]
    with whole_files(folder) as place:
        frame = answer_frame(ds.label_names, result, result.Y)
        if run.active is not None:
            frame.insert(0, "asked", result.queried.reshape(run.done, -1).sum(axis=1))
        frame.index += first
        frame.to_csv(place / "predictions.csv", index_label="row", lineterminator="\n")
        (place / "summary.json").write_text(to_text(summary) + "\n", encoding="utf-8")
    save(run.model, folder / "model.npz", table=ds.table)
    files += write_pages(folder, summary, ds, run, figures=not options.no_figures)
    where = f"written to {folder}: {', '.join(files)}"
    print(to_text(summary) if options.json else f"{describe(summary)}\n{where}")


def summarise(options: Namespace, ds: Dataset, run: StreamRun) -> Facts:
    """Return everything that a script could want to know about a run, ready for JSON."""
    from efcml.report.report import summarise as facts_of

    result, active = run.result(), run.active
    background = getattr(getattr(run.model, "rules_", None), "background", None)
    more = {
        "source": shared.name_source(options),
        "model": options.model,
        "n_features": ds.X.shape[1],
        "n_labels": ds.Y.shape[1],
        "rows_left": len(run.Y) - run.done,
        "interrupted": not run.finished,
        "criteria": None if active is None else ",".join(active.criteria),
        "seed": options.seed,
        "quick": options.quick,
        "left_out": [] if background is None else background.left_out,
        "columns": ds.table.lines if ds.table is not None and ds.table.special else [],
        "notes": [*ds.notes],
    }
    return without_nan(facts_of(result, run.model, active, ds) | more)


def describe(summary: Facts) -> str:
    """Return the table for a terminal."""
    import pandas

    from efcml.explain.background import left_out_words

    events = ("births", "splits", "merges", "drops", "drifts")
    pa, ap = ("-" if summary[name] is None else f"{summary[name]:.4f}" for name in ("pa", "ap"))
    titles = ["dataset", "model", "initial", "stream", "PA", "AP", "rules", "/".join(events)]
    cells = [summary[name] for name in ("dataset", "model", "n_initial", "n_stream")]
    cells += [pa, ap, summary["rules"], "/".join(str(summary[name]) for name in events)]
    cells += [f"{summary[name]:.3f}" for name in ("queried_share", "ms_per_sample")]
    table = pandas.DataFrame([cells], columns=[*titles, "asked", "ms/sample"])
    told = [left_out_words(summary["left_out"]), *summary["changes"]]
    return "\n".join([table.to_string(index=False), *filter(None, told)])


def write_pages(
    folder: Path, summary: Facts, ds: Dataset, run: StreamRun, *, figures: bool
) -> list[str]:
    """Write the figures and the page; return the names of the files."""
    from efcml.report import write_report
    from efcml.report.figures import FIGURES, draw_run

    result, drawings, files = run.result(), {}, ["report.html"]
    with whole_files(folder) as place:
        if figures:
            from efcml.plots import save_figure

            X = run.X[: run.done]
            drawn = draw_run(result, run.model, run.active, dataset=ds, X=X)
            files[:0] = [
                file.name for name in drawn for file in save_figure(drawn[name], place / name)
            ]
            drawings = {name: place / f"{name}.svg" for name in drawn}  # so none is drawn again
        write_report(
            place / "report.html",
            summary=summary,
            result=result,
            classifier=run.model,
            active=run.active,
            dataset=ds,
            figures=drawings,
        )
    for file in {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")} - {*files}:
        (folder / file).unlink(missing_ok=True)  # of an earlier run that had more to show
    return files
