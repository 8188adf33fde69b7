"""``efcml predict`` and ``efcml explain``: saved models, and rows of a file for them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats
    from efcml.tables.encoder import TableEncoder
    from efcml.tables.reading import Table


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    rows = "rows: a .csv, .tsv, .parquet or .arff file; labels may be there"
    what = "scores, decisions and probabilities of a saved model, as CSV"
    predicting = commands.add_parser("predict", help=what)
    what = "the rules of a saved model in words, or why it answers as it does for some rows"
    explaining = commands.add_parser("explain", help=what)
    for parser, run in ((predicting, predict), (explaining, explain)):
        parser.add_argument("model", type=Path, metavar="MODEL.npz")
        what = "a label that is known, a column of the file, empty where unknown; may be repeated"
        parser.add_argument("--known", action="append", default=[], metavar="LABEL", help=what)
        what = "the decimal sign of the file: . or , (else found)"
        parser.add_argument("--decimal", metavar="SIGN", help=what)
        parser.set_defaults(run=run)
    predicting.add_argument("file", type=Path, metavar="FILE", help=rows)
    explaining.add_argument("--sample", dest="file", type=Path, metavar="FILE", help=rows)


def predict(options: Namespace) -> None:
    """Print a line for every row of the file: its number, and the answer for every label."""
    model, first = load_fitted(options), 0
    names = label_names(model)
    for rows, known in read_rows(model, options):
        frame = answer_frame(names, model.answer(rows, known))
        frame.index += first
        text = frame.to_csv(header=not first, index_label="row", lineterminator="\n")
        sys.stdout.write(text)
        first += len(frame)


def answer_frame(names: Sequence[str], answer: Any, Y: Floats | None = None) -> DataFrame:
    """Return score, decision and probability of every label, and what is true, if it is known."""
    import pandas

    columns: dict[str, Any] = {}
    for k, name in enumerate(names):
        columns[f"{name}.score"] = answer.scores[:, k]
        columns[f"{name}.decision"] = answer.decisions[:, k].astype(int)
        columns[f"{name}.probability"] = answer.probabilities[:, k]
        if Y is not None:
            columns[f"{name}.true"] = pandas.array(Y[:, k], dtype="Int8")
    return pandas.DataFrame(columns)


def explain(options: Namespace) -> None:
    """Print rules, or for every row of a file why the model answers as it does."""
    if options.known and options.file is None:
        raise ValueError("--known is for the rows of a file: name it with --sample.")
    model = load_fitted(options)
    if not hasattr(model, "explain"):
        raise ValueError(
            f"{options.model} holds a {type(model).__name__}, a model for each label: only one"
            " common rule base can be explained."
        )
    if options.file is None:
        print(model.rules_)
        return
    number = 0
    for rows, known in read_rows(model, options):
        for i in range(len(rows)):
            why = model.explain(rows[[i]], None if known is None else known[[i]])
            print(f"{chr(10) * (number > 0)}row {number}: {why}")
            number += 1


def load_fitted(options: Namespace) -> Any:
    """Return the estimator of a file; refuse one that is new, and a file of rows that is none."""
    path = options.model
    for file in filter(None, (path, options.file)):  # before what takes a second is loaded
        file.open("rb").close()
    from efcml.saving import load

    model = load(path)
    if not hasattr(model, "learner_"):
        raise ValueError(
            f"the {type(model).__name__} in {path} has learned nothing yet, or takes no tables:"
            " give the file of a fitted EFCMLClassifier, OneVsRestEFC or ChainEFC."
        )
    return model


def label_names(model: Any) -> list[str]:
    """Return the names of a model's labels, as `explain` gives them."""
    from efcml.explain.background import name_all, names_of_labels

    return list(name_all(names_of_labels(model), "label", model.learner_.n_labels))


def read_rows(model: Any, options: Namespace) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield rows of a file as the model takes them, chunk by chunk, and their known labels."""
    import numpy as np

    from efcml.tables import reading
    from efcml.tables.reading import in_words, short

    names, given = label_names(model), options.known
    for name in given:
        if name not in names:
            raise ValueError(f"--known: {short(name)} is no label: choose of {in_words(names)}.")
    for table in reading.read_chunks(options.file, reading.CHUNK, decimal=options.decimal):
        encoder = getattr(model, "table_", None) or plain_encoder(model, table)
        X, Y = encoder.encode_with_labels(table, given)
        known = np.full((len(X), len(names)), np.nan)
        known[:, [names.index(name) for name in given]] = Y
        yield X, known if given else None


def plain_encoder(model: Any, table: Table) -> TableEncoder:
    """Return how a model that was learned from numbers reads the columns of a table."""
    from efcml.tables.encoder import TableEncoder, number_column

    names, p = getattr(model, "feature_names_in_", table.names), model.n_features_in_
    if len(names) != p:
        raise ValueError(
            f"{table.where} has {len(names)} columns, but the model takes {p} features and knows no"
            " names: give exactly these columns."
        )
    return TableEncoder(tuple(number_column(str(name)) for name in names))
