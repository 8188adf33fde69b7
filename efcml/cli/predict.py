"""``efcml predict``, ``learn`` and ``explain``: saved models, and rows of a file for them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import Floats
    from efcml.tables.encoder import TableEncoder
    from efcml.tables.reading import Table


MOST_NOTES = 10


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    rows = "rows: a .csv, .tsv, .parquet or .arff file; labels may be there"
    what = "scores, decisions and probabilities of a saved model, as CSV"
    predicting = commands.add_parser("predict", help=what)
    what = "go on learning with the rows of a file, such as those of the next week"
    learning = commands.add_parser("learn", help=what)
    what = "the rules of a saved model in words, or why it answers as it does for some rows"
    explaining = commands.add_parser("explain", help=what)
    for parser, run in ((predicting, predict), (learning, learn), (explaining, explain)):
        parser.add_argument("model", type=Path, metavar="MODEL.npz")
        what = "the decimal sign of the file: . or , (else as in the file that was learned)"
        parser.add_argument("--decimal", metavar="SIGN", help=what)
        parser.set_defaults(run=run)
    for parser in (predicting, explaining):
        what = "a label that is known, a column of the file, empty where unknown; may be repeated"
        parser.add_argument("--known", action="append", default=[], metavar="LABEL", help=what)
    predicting.add_argument("file", type=Path, metavar="FILE", help=rows)
    what = "a column of the file that is repeated beside the answers, such as an id; likewise"
    predicting.add_argument("--keep", action="append", default=[], metavar="COLUMN", help=what)
    learning.add_argument("file", type=Path, metavar="FILE", help="rows with labels, likewise")
    what = "where the model is written (default: its old place)"
    learning.add_argument("--out", type=Path, metavar="MODEL.npz", help=what)
    explaining.add_argument("--sample", dest="file", type=Path, metavar="FILE", help=rows)


def predict(options: Namespace) -> None:
    """Print a line for every row of the file: its number, and the answer for every label."""
    model = load_fitted(options)
    names, new = label_names(model), Counter[tuple[str, str]]()
    for table, encoder in read_tables(model, options, options.keep):
        frame = answer_frame(names, model.answer(*encode(model, table, encoder, options.known)))
        frame.index += table.first
        for place, name in enumerate(options.keep):
            frame.insert(place, name, table.frame[name].to_numpy(), allow_duplicates=True)
        text = frame.to_csv(header=not table.first, index_label="row", lineterminator="\n")
        sys.stdout.write(text)
        new.update((name, word) for _, name, word in encoder.new_words(table))
    for (name, word), count in new.most_common(MOST_NOTES):
        say(f"{word!r} is new in column {name!r} ({count} row{'s' * (count > 1)})")


def learn(options: Namespace) -> None:
    """Learn the rows of a file, test-then-train, write the model, and say what is new."""
    from efcml.evaluation import prequential
    from efcml.saving import save
    from efcml.support.files import make_folder

    model, path = load_fitted(options), options.out or options.model
    make_folder(path.parent)
    before, rules = getattr(model, "table_", None), model.n_rules_
    rows, right, known = 0, 0.0, 0
    names = None if before and not hasattr(model, "label_names_") else label_names(model)
    for table, encoder in read_tables(model, options):
        X, Y, encoder = encoder.follow(table, names)
        result = prequential(model, X, Y, progress=False)
        if before is not None:
            model.table_ = encoder
            model.name_columns(encoder.feature_names)
        told = int((Y == Y).sum())
        rows, known = rows + len(Y), known + told
        right += result.pa * told if told else 0.0
    save(model, path)
    for note in [] if before is None else model.table_.news(before)[:MOST_NOTES]:
        say(note)
    pa = f"PA {right / known:.4f} before each was learned" if known else "no label was known"
    print(f"{rows} rows learned, {pa}; {model.n_rules_} rules ({rules} before); written to {path}")


def say(note: str) -> None:
    """Print a note where it is not taken for a result."""
    print(f"efcml: note: {note}", file=sys.stderr)


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
    for table, encoder in read_tables(model, options):
        rows, known = encode(model, table, encoder, options.known)
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


def read_tables(
    model: Any, options: Namespace, keep: Sequence[str] = ()
) -> Iterator[tuple[Table, TableEncoder]]:
    """Yield rows of a file, chunk by chunk, and how they are encoded: while they are learned, anew.

    Columns to ``keep`` are read as they are written.
    """
    from efcml.tables import reading

    encoder = getattr(model, "table_", None)
    how = reading.Dialect() if encoder is None else encoder.dialect
    how = replace(how, texts=how.texts | {*keep})
    chunks = reading.read_chunks(options.file, reading.CHUNK, decimal=options.decimal, known=how)
    for table in chunks:
        if absent := [name for name in keep if name not in table.names]:
            known = f"its columns are {reading.in_words(table.names)}"
            raise ValueError(f"{table.where} has no column {reading.in_words(absent)}: {known}")
        yield table, getattr(model, "table_", None) or plain_encoder(model, table)


def encode(
    model: Any, table: Table, encoder: TableEncoder, given: Sequence[str]
) -> tuple[Floats, Floats | None]:
    """Return rows as the model takes them, and their labels that are known."""
    import numpy as np

    from efcml.tables.reading import in_words, short

    names = label_names(model)
    for name in given:
        if name not in names:
            raise ValueError(f"--known: {short(name)} is no label: choose of {in_words(names)}.")
    X, Y = encoder.encode_with_labels(table, given)
    known = np.full((len(X), len(names)), np.nan)
    known[:, [names.index(name) for name in given]] = Y
    return X, known if given else None


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
