"""What ``efcml run`` leaves behind: numbers, predictions, the model, figures and a page."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from efcml import __version__
from efcml.support.folders import whole_files
from efcml.support.json_text import to_text, without_nan
from efcml.support.tables import format_table

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.cli.stream_run import StreamRun
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Bools, Facts, Floats, Ints

ANSWERS = ("score", "decision", "probability")  # of each label, in this order
# What a decision or probabilities are to be good at, beside PA and AP.
MEASURED = ("macro_f1", "subset_accuracy", "log_loss", "calibration_error")
RULES_PER_LABEL = 3  # on the page, of a model with a rule base for each label


def summarise(options: Namespace, ds: Dataset, run: StreamRun) -> Facts:
    """Return everything that a script could want to know about a run, ready for JSON."""
    from efcml.support.states import to_plain

    result, active = run.result(), run.active
    summary = {
        "dataset": ds.name,
        "model": options.model,
        "n_features": ds.X.shape[1],
        "n_labels": ds.Y.shape[1],
        "n_initial": ds.n_initial,
        "n_stream": run.done,
        "rows_left": len(run.Y) - run.done,
        "interrupted": not run.finished,
        "pa": result.pa,
        "ap": result.ap,
        **{name: result.measure(name) for name in MEASURED},
        "rules": int(result.rules[-1]),
        **result.event_counts,
        "queried_share": float(result.queried.mean()),
        "clipped": None if result.clipped is None else int(result.clipped.sum()),
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "budget": None if active is None else active.budget,
        "unit": None if active is None else active.unit,
        "criteria": None if active is None else ",".join(active.criteria),
        "seed": options.seed,
        "shuffled": options.shuffle,
        "quick": options.quick,
        "parameters": {name: to_plain(value) for name, value in run.model.get_params().items()},
        "version": __version__,
    }
    return without_nan(summary)


def describe(summary: Facts) -> list[str]:
    """Return the table for a terminal."""
    counts = "/".join(
        str(summary[name]) for name in ("births", "splits", "merges", "drops", "drifts")
    )
    columns = {
        "dataset": summary["dataset"],
        "model": summary["model"],
        "initial": summary["n_initial"],
        "stream": summary["n_stream"],
        "PA": show(summary["pa"], 4),
        "AP": show(summary["ap"], 4),
        "rules": summary["rules"],
        "births/splits/merges/drops/drifts": counts,
        "asked": show(summary["queried_share"], 3),
        "ms/sample": show(summary["ms_per_sample"], 3),
    }
    return format_table(list(columns), [list(columns.values())])


def show(value: float | None, digits: int) -> str:
    """Return a number for the table; a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


# -- files ----------------------------------------------------------------------------------


def write_numbers(
    folder: Path, summary: Facts, ds: Dataset, run: StreamRun, row_numbers: Ints
) -> None:
    """Write summary and predictions, before anything else can fail."""
    with whole_files(folder) as place:
        with (place / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
            write_predictions(file, run.result(), ds.label_names, row_numbers, asked=run.active)
        (place / "summary.json").write_text(to_text(summary) + "\n", encoding="utf-8")


def write_rest(folder: Path, summary: Facts, ds: Dataset, run: StreamRun) -> list[str]:
    """Write the model with the names of its columns, figures and the page; name all files."""
    from efcml.saving import save

    groups = None if ds.table is None else ds.table.groups
    run.model.name_columns(ds.feature_names, ds.label_names, groups)
    save(run.model, folder / "model.npz", table=ds.table)
    pictures = write_pictures(folder, summary, ds, run, run.result())
    return ["summary.json", "model.npz", "predictions.csv", *pictures]


def write_pictures(
    folder: Path, summary: Facts, ds: Dataset, run: StreamRun, result: PrequentialResult
) -> list[str]:
    """Write the figures and the page; return the names of the files."""
    from efcml.plots import save_figure
    from efcml.report import write_report
    from efcml.report.figures import FIGURES, draw_run

    rules = run.model.rules_
    if isinstance(rules, dict):
        rules = {label: part[:RULES_PER_LABEL] for label, part in rules.items()}
    with whole_files(folder) as place:
        figures = draw_run(
            result,
            run.model,
            run.active,
            dataset=ds,
            first_row=ds.n_initial,
            X=run.X[: run.done],
        )
        files = [file.name for name in figures for file in save_figure(figures[name], place / name)]
        write_report(
            place / "report.html",
            summary=summary,
            result=result,
            classifier=run.model,
            active=run.active,
            dataset=ds,
            figures={name: place / f"{name}.svg" for name in figures},
            rules=rules,
        )
    for file in {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")} - {*files}:
        (folder / file).unlink(missing_ok=True)  # of an earlier run that had more to show
    return [*files, "report.html"]


def write_predictions(
    file: TextIO,
    result: PrequentialResult,
    label_names: Sequence[str],
    row_numbers: Ints,
    *,
    asked: object,
) -> None:
    """Write score, decision, probability and true value of every row and label as CSV."""
    header = ["row"] if asked is None else ["row", "asked"]
    for name in label_names:
        header += [f"{name}.{what}" for what in (*ANSWERS, "true")]
    counts = result.queried.reshape(len(result.Y), -1).sum(axis=1).tolist()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    assert result.decisions is not None and result.probabilities is not None, "a run has both"
    answers = answer_cells(result.scores, result.decisions, result.probabilities)
    for t, (number, answer) in enumerate(zip(row_numbers.tolist(), answers, strict=True)):
        line = [number] if asked is None else [number, counts[t]]
        for cells, true in zip(answer, result.Y[t].tolist(), strict=True):
            line += [*cells, "" if math.isnan(true) else int(true)]
        writer.writerow(line)


def answer_cells(
    scores: Floats, decisions: Bools | Floats, probabilities: Floats
) -> Iterator[list[tuple[str, int, str]]]:
    """Yield, for every row, what `ANSWERS` names of each label.

    Numbers are written in full: reading them gives the same bits.
    """
    for row in zip(scores.tolist(), decisions.tolist(), probabilities.tolist(), strict=True):
        yield [
            (repr(score), int(decision), repr(probability))
            for score, decision, probability in zip(*row, strict=True)
        ]
