"""``efcml run``: learn the initial part of a data set, then the rest, test-then-train."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.outcome import describe, summarise, write_numbers, write_rest
from efcml.cli.settings import (
    add_settings,
    check_asking,
    make_asker,
    make_estimator,
    read_settings,
)
from efcml.cli.source import QUICK_ROWS, add_source, choose_rows, read_source, take_rows
from efcml.rivals.model_list import MODELS
from efcml.support.folders import make_folder
from efcml.support.json_text import to_text
from efcml.support.progress import is_watched, progress_bar

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.active import ActiveLearner
    from efcml.cli.checkpoint import Checkpoint
    from efcml.cli.stream_run import StreamRun
    from efcml.datasets import Dataset


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "run",
        help="learn a data set row by row; write numbers, model, predictions, figures and a report",
    )
    add_source(parser, optional=True)
    add_settings(parser)
    parser.add_argument(
        "--shuffle", action="store_true", help="shuffle the rows after the initial part, by --seed"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"at most {QUICK_ROWS} rows of the initial part and of the stream",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the results (default:"
        " runs/DATASET-MODEL, with decision and budget if they are given)",
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="keep the state of the run every few seconds; go on from it",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Run, write the results and print the table."""
    given = read_settings(options)
    check_asking(options)
    whole = read_source(options)
    rows = choose_rows(whole, seed=options.seed if options.shuffle else None, quick=options.quick)
    ds = take_rows(whole, rows)
    check_parts(ds, options)
    from efcml.cli.checkpoint import Checkpoint  # not before: these take seconds to import
    from efcml.cli.stream_run import StopLater, StreamRun
    from efcml.model.warnings_of import warn_of_clipping

    model, active = make_estimator(options, given), make_asker(options)
    folder = options.out or Path("runs") / name_run(ds.name, options, active)
    make_folder(folder)
    stream = StreamRun(model, active, *ds.stream, learn=MODELS[options.model].learn)
    checkpoint = Checkpoint(options.checkpoint, stream, ds)
    start(stream, checkpoint, ds)
    with StopLater() as stop:
        stream.go_on(checkpoint.write_now_and_then, stop)
        warn_of_clipping(stream.result().clipped, stream.done, ds.feature_names)
        if stop.wanted and is_watched():
            print("efcml: writing the results so far; Ctrl-C again ends at once", file=sys.stderr)
        summary = summarise(options, ds, stream)
        write_numbers(folder, summary, ds, stream, rows[ds.n_initial :][: stream.done])
        checkpoint.write()
        files = write_rest(folder, summary, ds, stream)
        if options.json:
            print(to_text(summary))
        else:
            print("\n".join([*describe(summary), f"written to {folder}: {', '.join(files)}"]))
    if stop.wanted:
        raise KeyboardInterrupt(f"after {stream.done} of {len(stream.Y)} rows")


def name_run(dataset: str, options: Namespace, active: ActiveLearner | None) -> str:
    """Return the name of the folder of a run.

    A decision that was asked for, and an active learner's budget and criteria, are in it.
    """
    parts = [dataset, options.model]
    if options.decision not in (None, "hamming"):
        parts.append(options.decision)
    if active is not None:
        parts += [f"{100.0 * active.budget:g}", active.unit]
        if options.criteria is not None:
            parts += active.criteria
    return "-".join(parts)


def check_parts(ds: Dataset, options: Namespace) -> None:
    """Refuse a split of the rows that the model cannot run on."""
    if ds.n_initial == len(ds):
        raise ValueError(
            f"all {len(ds)} rows of {ds.name} are in the initial part: choose a smaller --initial."
        )
    needs = "--budget" if options.budget is not None else f"--model {options.model}"
    if ds.n_initial == 0 and (options.budget is not None or not MODELS[options.model].learn):
        raise ValueError(f"{needs} needs an initial part: choose --initial larger than 0.")


def start(run: StreamRun, checkpoint: Checkpoint, ds: Dataset) -> None:
    """Take up a run that was begun, or learn the initial part; compile what the stream needs.

    Without an initial part the model holds the first rows of the stream until they are enough.
    """
    from efcml.model.warm import warmup

    with progress_bar(2, "preparing", unit="step") as bar:
        taken_up = checkpoint.take_up()
        if not taken_up:
            if ds.n_initial:
                run.model.fit(*ds.initial)
            checkpoint.write()
        bar.update()
        # Here, so that compiling does not count as time per sample.
        warmup(asks=run.active is not None, rare=False)
        bar.update()
    if taken_up:
        rest = "nothing is left" if run.finished else f"the next is row {ds.n_initial + run.done}"
        print(
            f"efcml: going on from {checkpoint.path}: {run.done} of {len(run.Y)} rows are done,"
            f" {rest}",
            file=sys.stderr,
        )
