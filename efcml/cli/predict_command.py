"""``efcml predict``: what a saved model says of the rows of a file."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

from efcml.cli.modelfile import (
    add_known,
    check_files,
    label_names,
    read_fitted,
    read_given,
    read_rows,
)
from efcml.cli.outcome import ANSWERS, answer_cells
from efcml.cli.target import check_target, write_target
from efcml.support.json_text import to_text

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.model.labels import Answer


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "predict", help="scores, decisions and probabilities of a saved model"
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="rows: a .csv, .tsv, .parquet or .arff file; labels may be there",
    )
    add_known(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the screen")
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Predict all rows of the file."""
    check_files(options.model, options.file)
    if options.out is not None:
        check_target(options.out)
    from efcml.estimators.answering import answer_checked  # not above: it loads numpy

    model = read_fitted(options.model)
    given = read_given(model, options.model, options.known)
    # The learner takes the rows as they are: they have been checked and put in its order.
    answers = (
        answer_checked(model.learner_, rows.numbers, rows.known, flat=model._binary)
        for rows in read_rows(model, options.file, given, options.decimal)
    )
    with TemporaryFile("w+", encoding="utf-8", newline="") as file:
        (write_json if options.json else write_csv)(file, label_names(model), answers)
        file.seek(0)
        if options.out is None:
            shutil.copyfileobj(file, sys.stdout)
        else:
            write_target(options.out, file)


def write_csv(file: TextIO, names: Sequence[str], answers: Iterable[Answer]) -> None:
    """Write a line per row: its number, and score, decision and probability of every label."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", *(f"{name}.{what}" for name in names for what in ANSWERS)])
    number = count()
    for answer in answers:
        for row in answer_cells(*answer):
            writer.writerow([next(number), *(cell for cells in row for cell in cells)])


def write_json(file: TextIO, names: Sequence[str], answers: Iterable[Answer]) -> None:
    """Write names, scores, decisions and probabilities; one list per row."""
    told: dict[str, list[Any]] = {"labels": [*names]}
    told |= {"scores": [], "decisions": [], "probabilities": []}
    for answer in answers:
        told["scores"] += answer.scores.tolist()
        told["decisions"] += answer.decisions.astype(int).tolist()
        told["probabilities"] += answer.probabilities.tolist()
    file.write(to_text(told) + "\n")
