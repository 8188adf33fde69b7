"""``efcml predict`` and ``efcml explain``: saved models, and rows of a file for them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from efcml.cli import shared

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from pandas import DataFrame

    from efcml.model.labels import Answer
    from efcml.support.aliases import Floats
    from efcml.tables import TableEncoder
    from efcml.tables.reading import Table

SHOWN, SHOWN_PER_LABEL = 10, 3  # rules
NAMES_SHOWN = 5


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    parser = commands.add_parser(
        "predict", help="scores, decisions and probabilities of a saved model"
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    what = "rows: a .csv, .tsv, .parquet or .arff file; labels may be there"
    parser.add_argument("file", type=Path, metavar="FILE", help=what)
    add_known(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the screen")
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    parser.set_defaults(run=predict)
    parser = commands.add_parser(
        "explain",
        help="the rules of a saved model in words, or why it answers as it does for some rows",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    what = "explain the rows of this .csv, .tsv, .parquet or .arff file"
    parser.add_argument("--sample", type=Path, metavar="FILE", help=what)
    add_known(parser)
    what = f"all rules, not only the {SHOWN} that decide most"
    what += f" ({SHOWN_PER_LABEL} of each label, if each has its own)"
    parser.add_argument("--all", action="store_true", help=what)
    parser.set_defaults(run=explain)


def add_known(parser: ArgumentParser) -> None:
    """Add the options about the rows of a file: known labels, and the decimal sign."""
    parser.add_argument(
        "--known",
        action="append",
        default=[],
        metavar="LABEL[=0|1]",
        help="a label that is known already, given which the others are answered: LABEL is a"
        " column of the file, empty where unknown, LABEL=1 holds for all rows; may be repeated",
    )
    parser.add_argument(
        "--decimal", metavar="SIGN", help="the decimal sign of the file: . or , (else found)"
    )


# -- predict --------------------------------------------------------------------------------


def predict(options: Namespace) -> None:
    """Predict all rows of the file; nothing is written before the last one is read."""
    check_files(options.model, options.file)
    shared.check_target(options.out)
    from efcml.estimators.answering import answer_checked  # not above: it loads numpy
    from efcml.saving import load_fitted

    # What the estimator has learned, without its class: that is there in half the time.
    model = SimpleNamespace(**check_fitted(options.model, *load_fitted(options.model)))
    given = read_given(model, options)
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
            shared.write_target(options.out, file)


def write_csv(file: TextIO, names: Sequence[str], answers: Iterable[Answer]) -> None:
    """Write a line per row: its number, and score, decision and probability of every label."""
    first = 0
    for answer in answers:
        frame = answer_frame(names, answer)
        frame.index += first
        frame.to_csv(file, header=not first, index_label="row", lineterminator="\n")
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


def write_json(file: TextIO, names: Sequence[str], answers: Iterable[Answer]) -> None:
    """Write names, scores, decisions and probabilities; one list per row."""
    parts: dict[str, list[str]] = {"scores": [], "decisions": [], "probabilities": []}
    for answer in answers:
        for name, part in parts.items():
            values = getattr(answer, name)
            rows = (values.astype(int) if name == "decisions" else values).tolist()
            part.append(",\n".join(map(json.dumps, rows)))  # text takes less room than numbers
    file.write(f'{{"labels": {json.dumps([*names])}')
    for name, part in parts.items():
        text = ",\n".join(part)
        file.write(f',\n"{name}": [\n{text}\n]')
    file.write("}\n")


# -- explain --------------------------------------------------------------------------------


def explain(options: Namespace) -> None:
    """Print rules or explanations."""
    if options.known and options.sample is None:
        raise ValueError("--known is for the rows of a file: name it with --sample.")
    check_files(*filter(None, (options.model, options.sample)))
    from efcml.saving import load

    model = load(options.model)
    fitted = vars(model) if hasattr(model, "decision_function") else None
    check_fitted(options.model, type(model).__name__, fitted)
    if options.sample is not None:
        explain_rows(model, options)
        return
    rules = model.rules_
    parts, limit = ({"": rules}, SHOWN) if not isinstance(rules, dict) else (rules, SHOWN_PER_LABEL)
    texts = [
        f"{label}{': ' if label else ''}{part if options.all else part[:limit]}"
        for label, part in parts.items()
    ]
    if not options.all and any(len(part) > limit for part in parts.values()):
        texts.append("--all shows all rules")
    print("\n\n".join(texts))


def explain_rows(model: Any, options: Namespace) -> None:
    """Print why the model answers as it does, for every row of a file."""
    if not hasattr(model, "explain"):
        raise ValueError(
            f"{options.model} holds a {type(model).__name__}, a model for each label: only the"
            " answers of one common rule base can be explained."
        )
    parts = read_rows(model, options.sample, read_given(model, options), options.decimal)
    texts = (
        str(model.explain(row, None if part.known is None else part.known[i]))
        for part in parts
        for i, row in enumerate(part.given)
    )
    first = [*islice(texts, 2)]
    if len(first) == 1:
        print(first[0])
        return
    for number, text in enumerate(chain(first, texts)):
        print("\n" * (number > 0) + f"row {number}: {text}")


# -- models and rows ------------------------------------------------------------------------


def check_files(*paths: Path) -> None:
    """Refuse files that cannot be read, before anything is loaded that takes a second."""
    for path in paths:
        with path.open("rb"):
            pass


def check_fitted(path: Path, kind: str, fitted: dict[str, Any] | None) -> dict[str, Any]:
    """Return what was learned; refuse a file without an estimator, or one that is new."""
    if fitted is None:
        raise ValueError(
            f"the {kind} in {path} does not predict tables: give the file of an"
            " EFCMLClassifier, OneVsRestEFC or ChainEFC."
        )
    if "learner_" not in fitted:
        raise ValueError(f"the {kind} in {path} has learned nothing yet.")
    return fitted


def label_names(model: Any) -> list[str]:
    """Return the names of a model's labels, as `explain` gives them."""
    from efcml.explain.background import name_all, names_of_labels

    return list(name_all(names_of_labels(model), "label", model.learner_.n_labels))


def read_given(model: Any, options: Namespace) -> dict[str, float | None]:
    """Return what ``--known`` says of labels, None of one that a column says row by row."""
    from efcml.tables.words import FLAGS, in_words, short, to_number

    given: dict[str, float | None] = {}
    if options.known and (model._binary or not getattr(model.learner_, "layered", False)):
        raise ValueError(
            f"--known needs a model that has learned labels together: not {options.model}."
        )
    names = label_names(model) if options.known else []
    for text in map(str.strip, options.known):
        name, sign, word = (part.strip() for part in text.rpartition("="))
        name = text if text in names or not sign else name
        value = None if name == text else FLAGS.get(word.casefold(), to_number(word))
        if name not in names:
            raise ValueError(
                f"--known: the model has no label {short(name)}, only {in_words(names)}."
            )
        if value not in (None, 0.0, 1.0):
            raise ValueError(f"--known: {name} is {short(word)}: say 0 or 1.")
        if name in given:
            raise ValueError(f"--known: {short(name)} is named twice.")
        given[name] = value
    return given


class Rows(NamedTuple):
    """Some rows of a file, as the learner of a model takes them, and as the model itself does."""

    numbers: Floats
    given: Any
    known: Floats | None  # labels that are known already


def read_rows(
    model: Any, path: Path, given: dict[str, float | None], decimal: str | None
) -> Iterator[Rows]:
    """Yield the rows of a file, chunk by chunk; say which columns are not used."""
    import numpy as np

    from efcml.tables import reading

    names, encoder = label_names(model), None
    by_row = [name for name, value in given.items() if value is None]
    for table in reading.read_chunks(path, reading.CHUNK, decimal=decimal):
        if encoder is None:
            encoder = encoder_of(model, path, table.names)
            for name in by_row:
                if name not in table.names:
                    raise ValueError(f"{path} has no column {name!r}: say --known {name}=0 or 1.")
            used = {*by_row, *(column.name for column in encoder.columns)}
            note_unused(path, [name for name in table.names if name not in used])
        X, columns = encoder.encode_with_labels(table, by_row)
        known = None
        if given:
            known = np.full((len(X), len(names)), np.nan)
            for name, value in given.items():
                known[:, names.index(name)] = (
                    columns[:, by_row.index(name)] if value is None else value
                )
        yield Rows(X, given_rows(model, encoder, table, X), known)


def encoder_of(model: Any, path: Path, names: Sequence[str]) -> TableEncoder:
    """Return how a model reads the columns of a file."""
    from efcml.tables.columns import number_column
    from efcml.tables.encoder import TableEncoder

    table = getattr(model, "table_", None)
    if table is not None and path.suffix.lower() != ".arff":
        return table
    named = getattr(model, "feature_names_in_", None)
    if named is None and len(names) != model.n_features_in_:
        raise ValueError(
            f"{path} has {len(names)} columns, but the model takes {model.n_features_in_} features"
            " and knows no names: give exactly these columns."
        )
    wanted = [str(name) for name in (names if named is None else named)]
    if not hasattr(model, "_encoding"):
        return TableEncoder(tuple(map(number_column, wanted)))
    pairs = zip(wanted, model._encoding.columns, strict=True)
    return TableEncoder(tuple(replace(column, name=name) for name, column in pairs))


def given_rows(model: Any, encoder: TableEncoder, table: Table, X: Floats) -> Any:
    """Return rows as a model takes them: categories of a data frame are words there."""
    if not hasattr(model, "_encoding") or hasattr(model, "table_"):
        return X
    import numpy as np

    columns: list[Any] = [
        table.frame[one.name].astype(object) if one.values else table.fields(one.name).numbers
        for one in encoder.columns
    ]
    return np.array(columns, dtype=object).T


def note_unused(path: Path, names: Sequence[str]) -> None:
    """Say which columns of a file are not used."""
    if names:
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        columns = f"{len(names)} other column{'s' * (len(names) > 1)}"
        shown = ", ".join(names[:NAMES_SHOWN])
        print(f"efcml: note: {columns} of {path} not used: {shown}{more}", file=sys.stderr)
