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
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from efcml.cli import shared
from efcml.support.files import replacing

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from pandas import DataFrame

    from efcml.model.labels import Answer
    from efcml.support.aliases import Floats
    from efcml.tables import TableEncoder

SHOWN, SHOWN_PER_LABEL = 10, 3  # rules
NAMES_SHOWN = 5
ANSWERS = ("scores", "decisions", "probabilities")
ROWS = "a .csv, .tsv, .parquet or .arff file"


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    what = "scores, decisions and probabilities of a saved model"
    parser = commands.add_parser("predict", help=what)
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    what = f"rows: {ROWS}; labels may be there"
    parser.add_argument("file", type=Path, metavar="FILE", help=what)
    add_known(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the screen")
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    parser.set_defaults(run=predict)
    what = "the rules of a saved model in words, or why it answers as it does for some rows"
    parser = commands.add_parser("explain", help=what)
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    what = f"explain the rows of this file: {ROWS}"
    parser.add_argument("--sample", type=Path, metavar="FILE", help=what)
    add_known(parser)
    what = f"all rules, not only the {SHOWN} that decide most"
    what += f" ({SHOWN_PER_LABEL} of each label, if each has its own)"
    parser.add_argument("--all", action="store_true", help=what)
    parser.set_defaults(run=explain)


def add_known(parser: ArgumentParser) -> None:
    """Add the options about the rows of a file: known labels, and the decimal sign."""
    what = "a label that is known already, given which the others are answered: LABEL is a column"
    what += " of the file, empty where unknown, LABEL=1 holds for all rows; may be repeated"
    more: Any = {"action": "append", "default": [], "metavar": "LABEL[=0|1]"}
    parser.add_argument("--known", help=what, **more)
    what = "the decimal sign of the file: . or , (else found)"
    parser.add_argument("--decimal", metavar="SIGN", help=what)


# -- predict --------------------------------------------------------------------------------


def predict(options: Namespace) -> None:
    """Predict all rows of the file; nothing is written before the last one is read."""
    shared.check_target(options.out)
    model = load_fitted(options.model, options.file)
    # The learner takes the rows as they are: they have been checked and put in its order.
    answers = (
        model.answer_checked(rows.numbers, rows.known)
        for rows in read_rows(model, options.file, options)
    )
    with TemporaryFile("w+", encoding="utf-8", newline="") as file:
        (write_json if options.json else write_csv)(file, label_names(model), answers)
        file.seek(0)
        if options.out is None:
            shutil.copyfileobj(file, sys.stdout)
        else:
            with replacing(options.out) as target:
                target.writelines(line.encode() for line in file)


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
    parts: dict[str, list[str]] = {name: [] for name in ANSWERS}
    for answer in answers:
        for name in ANSWERS:  # text takes less room than numbers
            values = getattr(answer, name)
            values = values.astype(int) if name == "decisions" else values
            parts[name].append(",\n".join(map(json.dumps, values.tolist())))
    lists = [f'"{name}": [\n' + ",\n".join(parts[name]) + "\n]" for name in ANSWERS]
    text = ",\n".join([f'"labels": {json.dumps([*names])}', *lists])
    file.write(f"{{{text}}}\n")


# -- explain --------------------------------------------------------------------------------


def explain(options: Namespace) -> None:
    """Print rules, or for every row of a file why the model answers as it does."""
    if options.known and options.sample is None:
        raise ValueError("--known is for the rows of a file: name it with --sample.")
    model = load_fitted(options.model, *filter(None, [options.sample]))
    if options.sample is None:
        rules = model.rules_
        alone = not isinstance(rules, dict)
        parts, limit = ({"": rules}, SHOWN) if alone else (rules, SHOWN_PER_LABEL)
        texts = [
            f"{label}{': ' if label else ''}{part if options.all else part[:limit]}"
            for label, part in parts.items()
        ]
        if not options.all and any(len(part) > limit for part in parts.values()):
            texts.append("--all shows all rules")
        print("\n\n".join(texts))
        return
    if not hasattr(model, "explain"):
        raise ValueError(
            f"{options.model} holds a {type(model).__name__}, a model for each label: only the"
            " answers of one common rule base can be explained."
        )
    told = (
        str(model.explain(rows.given[i], None if rows.known is None else rows.known[i]))
        for rows in read_rows(model, options.sample, options)
        for i in range(len(rows.numbers))
    )
    first = [*islice(told, 2)]
    for number, text in enumerate(chain(first, told)):
        print("\n" * (number > 0) + (f"row {number}: {text}" if len(first) > 1 else text))


# -- models and rows ------------------------------------------------------------------------


def load_fitted(path: Path, *others: Path) -> Any:
    """Return the estimator of a file; refuse one that is new, and further files that are no."""
    for file in (path, *others):  # before anything is loaded that takes a second
        with file.open("rb"):
            pass
    from efcml.saving import load

    model = load(path)
    if not hasattr(model, "decision_function"):
        raise ValueError(
            f"the {type(model).__name__} in {path} does not predict tables: give the file of an"
            " EFCMLClassifier, OneVsRestEFC or ChainEFC."
        )
    if not hasattr(model, "learner_"):
        raise ValueError(f"the {type(model).__name__} in {path} has learned nothing yet.")
    return model


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
        if name not in names or name in given:
            known = in_words([one for one in names if one not in given])
            raise ValueError(f"--known: {short(name)} is no label, or twice: choose of {known}.")
        if value not in (None, 0.0, 1.0):
            raise ValueError(f"--known: {name} is {short(word)}: say 0 or 1.")
        given[name] = value
    return given


class Rows(NamedTuple):
    """Some rows of a file, as the learner of a model takes them, and as the model itself does."""

    numbers: Floats
    given: Any
    known: Floats | None  # labels that are known already


def read_rows(model: Any, path: Path, options: Namespace) -> Iterator[Rows]:
    """Yield the rows of a file, chunk by chunk; say which columns are not used."""
    import numpy as np

    from efcml.tables import reading

    names, given, encoder = label_names(model), read_given(model, options), None
    by_row = [name for name, value in given.items() if value is None]
    for table in reading.read_chunks(path, reading.CHUNK, decimal=options.decimal):
        if encoder is None:
            encoder = encoder_of(model, path, table.names)
            for name in by_row:
                if name not in table.names:
                    raise ValueError(f"{path} has no column {name!r}: say --known {name}=0 or 1.")
            used = {*by_row, *(column.name for column in encoder.columns)}
            note_unused(path, [name for name in table.names if name not in used])
        X, columns = encoder.encode_with_labels(table, by_row)
        known = np.full((len(X), len(names)), np.nan)
        for name, value in given.items():
            known[:, names.index(name)] = columns[:, by_row.index(name)] if value is None else value
        own = X
        if hasattr(model, "_encoding") and not hasattr(model, "table_"):  # it takes words
            parts: list[Any] = [
                table.frame[one.name] if one.values else table.fields(one.name).numbers
                for one in encoder.columns
            ]
            own = np.array(parts, dtype=object).T
        yield Rows(X, own, known if given else None)


def note_unused(path: Path, names: Sequence[str]) -> None:
    """Say which columns of a file are not used."""
    if names:
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        columns = f"{len(names)} other column{'s' * (len(names) > 1)}"
        shown = ", ".join(names[:NAMES_SHOWN])
        print(f"efcml: note: {columns} of {path} not used: {shown}{more}", file=sys.stderr)


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
