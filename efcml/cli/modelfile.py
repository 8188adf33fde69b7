"""Saved models, and rows for them, as ``predict`` and ``explain`` read them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from efcml.support.aliases import Floats
    from efcml.tables import TableEncoder
    from efcml.tables.reading import Table

NAMES_SHOWN = 5


def read_model(path: Path) -> Any:
    """Return the fitted estimator in a file, or say why there is none."""
    from efcml.saving import load

    model = load(path)
    fitted = vars(model) if hasattr(model, "decision_function") else None
    check_fitted(path, type(model).__name__, fitted)
    return model


def read_fitted(path: Path) -> SimpleNamespace:
    """Return what the estimator in a file has learned, or say why there is none.

    It has the attributes of the estimator and none of its methods, so it is there in half the time.
    """
    from efcml.saving import load_fitted

    kind, fitted = load_fitted(path)
    return SimpleNamespace(**check_fitted(path, kind, fitted))


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


def check_files(*paths: Path) -> None:
    """Refuse files that cannot be read, before anything is loaded that takes a second."""
    for path in paths:
        with open(path, "rb"):
            pass


def label_names(model: Any) -> list[str]:
    """Return the names of a model's labels, as `explain` gives them."""
    from efcml.explain.background import name_all, names_of_labels

    return list(name_all(names_of_labels(model), "label", model.learner_.n_labels))


def tell_rules(rules: Any, *, most: int | None = None, most_per_label: int | None = None) -> str:
    """Return the rules of a model in words; at most so many of each rule base."""
    if not isinstance(rules, dict):
        return str(rules[:most])
    return "\n\n".join(f"{label}: {part[:most_per_label]}" for label, part in rules.items())


class Given(NamedTuple):
    """What is known of labels, for all rows alike, and the columns that say it row by row."""

    values: dict[str, float]
    columns: list[str]


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
        "--decimal", metavar="SIGN", help="the decimal sign of a CSV file: . or , (else found)"
    )


def read_given(model: Any, saved: Path, texts: Sequence[str]) -> Given:
    """Return what ``--known`` says, or say what is wrong with it."""
    from efcml.tables.words import short

    given = Given({}, [])
    if not texts:
        return given
    if model._binary or not getattr(model.learner_, "layered", False):
        raise ValueError(f"--known needs a model that has learned labels together: not {saved}.")
    names = label_names(model)
    for text in texts:
        name, value = split_pair(text.strip(), names)
        if name in given.values or name in given.columns:
            raise ValueError(f"--known: {short(name)} is named twice.")
        if value is None:
            given.columns.append(name)
        else:
            given.values[name] = value
    return given


def split_pair(text: str, names: Sequence[str]) -> tuple[str, float | None]:
    """Return the label that is meant, and what is said of it; None if a column says it."""
    from efcml.tables.words import FLAGS, in_words, short, to_number

    if text in names:
        return text, None
    before, sign, said = (part.strip() for part in text.rpartition("="))
    name = before if sign else said
    if name not in names:
        raise ValueError(f"--known: the model has no label {short(name)}, only {in_words(names)}.")
    value = FLAGS.get(said.casefold(), to_number(said))
    if value not in (0.0, 1.0):
        raise ValueError(f"--known: {name} is {short(said)}: say 0 or 1.")
    return name, value


def known_labels(model: Any, given: Given, n_rows: int, columns: Floats) -> Floats | None:
    """Return the known labels of rows (n, K), NaN where they are not; None if there are none."""
    import numpy as np

    if not given.values and not given.columns:
        return None
    names = label_names(model)
    known = np.full((n_rows, len(names)), np.nan)
    for name, value in given.values.items():
        known[:, names.index(name)] = value
    known[:, [names.index(name) for name in given.columns]] = columns
    return known


class Rows(NamedTuple):
    """Some rows of a file, as the learner of a model takes them, and as the model itself does."""

    numbers: Floats
    given: Any
    known: Floats | None  # labels that are known already


def read_rows(model: Any, path: Path, given: Given, decimal: str | None = None) -> Iterator[Rows]:
    """Yield the rows of a file, chunk by chunk; tell of columns that are not used."""
    from efcml.tables import reading

    encoder = None
    for table in reading.read_chunks(path, reading.CHUNK, decimal=decimal):
        if encoder is None:
            encoder = encoder_of(model, path, table.names)
            absent = [name for name in given.columns if name not in table.names]
            if absent:
                raise ValueError(
                    f"{path} has no column {absent[0]!r}: say --known {absent[0]}=0 or 1."
                )
            used = {*given.columns, *(column.name for column in encoder.columns)}
            tell_ignored(path, [name for name in table.names if name not in used])
        X, values = encoder.encode_both(table, given.columns)
        known = known_labels(model, given, len(X), values)
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
    encoding = getattr(model, "_encoding", None)
    if encoding is None:
        return TableEncoder(tuple(map(number_column, wanted)))
    pairs = zip(wanted, encoding.columns, strict=True)
    return TableEncoder(tuple(replace(column, name=name) for name, column in pairs))


def given_rows(model: Any, encoder: TableEncoder, table: Table, X: Floats) -> Any:
    """Return rows as a model takes them: categories of a data frame are words there."""
    if not hasattr(model, "_encoding") or hasattr(model, "table_"):
        return X
    columns: list[Any] = [
        table.frame[column.name].astype(object)
        if column.values
        else table.fields(column.name).numbers
        for column in encoder.columns
    ]
    import numpy as np

    return np.array(columns, dtype=object).T


def tell_ignored(path: Path, ignored: Sequence[str]) -> None:
    """Say which columns of a file are not used."""
    if ignored:
        more = ", ..." if len(ignored) > NAMES_SHOWN else ""
        print(
            f"efcml: note: {len(ignored)} other column{'s' * (len(ignored) > 1)} of {path} not"
            f" used: {', '.join(ignored[:NAMES_SHOWN])}{more}",
            file=sys.stderr,
        )
