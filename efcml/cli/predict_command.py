"""``efcml predict``: scores and decisions of a saved model for the rows of a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.modelfile import (
    check_files,
    label_names,
    read_features,
    read_fitted,
    to_numbers,
)
from efcml.cli.outcome import answer_cells
from efcml.cli.target import check_target, write_target

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.support.aliases import Floats


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("predict", help="scores and decisions of a saved model")
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="rows: a CSV file with a header, or an .arff file; label columns may be there",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the screen")
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Predict all rows of the file."""
    check_files(options.model, options.file)
    if options.out is not None:
        check_target(options.out)
    model = read_fitted(options.model)
    X = to_numbers(model, read_features(model, options.file))
    # The learner takes the rows as they are: they have been checked and put in its order.
    scores = model.learner_.score(X)
    text = (to_json if options.json else to_csv)(label_names(model), scores)
    if options.out is None:
        sys.stdout.write(text)
        return
    write_target(options.out, text)


def to_csv(names: Sequence[str], scores: Floats) -> str:
    """Return a line per row: its number, and score and decision of every label."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = [f"{name}.{what}" for name in names for what in ("score", "decision")]
    writer.writerow(["row", *columns])
    for number, answer in enumerate(answer_cells(scores)):
        writer.writerow([number, *(cell for pair in answer for cell in pair)])
    return file.getvalue()


def to_json(names: Sequence[str], scores: Floats) -> str:
    """Return names, scores and decisions; one list per row."""
    answer = {
        "labels": names,
        "scores": scores.tolist(),
        "decisions": (scores >= 0.5).astype(int).tolist(),
    }
    return json.dumps(answer, indent=1) + "\n"
