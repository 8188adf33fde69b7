"""``efcml predict``: what a saved model says of the rows of a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.known_labels import add_known, known_labels, read_given
from efcml.cli.modelfile import (
    check_files,
    label_names,
    read_features,
    read_fitted,
    to_numbers,
)
from efcml.cli.outcome import ANSWERS, answer_cells
from efcml.cli.target import check_target, write_target
from efcml.support.json_text import to_text

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.model.answers_of_rows import Answer


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
        help="rows: a CSV file with a header, a .parquet or an .arff file; labels may be there",
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
    given = read_given(model, options.model, options.file, options.known)
    X = to_numbers(model, read_features(model, options.file, given.columns))
    known = known_labels(model, given, len(X))
    # The learner takes the rows as they are: they have been checked and put in its order.
    answer = answer_checked(model.learner_, X, known, flat=model._binary)
    text = (to_json if options.json else to_csv)(label_names(model), answer)
    if options.out is None:
        sys.stdout.write(text)
        return
    write_target(options.out, text)


def to_csv(names: Sequence[str], answer: Answer) -> str:
    """Return a line per row: its number, and score, decision and probability of every label."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = [f"{name}.{what}" for name in names for what in ANSWERS]
    writer.writerow(["row", *columns])
    for number, row in enumerate(answer_cells(*answer)):
        writer.writerow([number, *(cell for cells in row for cell in cells)])
    return file.getvalue()


def to_json(names: Sequence[str], answer: Answer) -> str:
    """Return names, scores, decisions and probabilities; one list per row."""
    told = {
        "labels": names,
        "scores": answer.scores.tolist(),
        "decisions": answer.decisions.astype(int).tolist(),
        "probabilities": answer.probabilities.tolist(),
    }
    return to_text(told) + "\n"
