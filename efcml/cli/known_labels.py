"""``--known``: labels of the rows of a file that somebody knows already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from efcml.cli.modelfile import label_names

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from efcml.support.aliases import Floats


class Given(NamedTuple):
    """What is known of labels, for all rows alike or row by row, and the columns that say it."""

    values: dict[str, float | Floats]
    columns: list[str]


def add_known(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--known",
        action="append",
        default=[],
        metavar="LABEL[=0|1]",
        help="a label that is known already, given which the others are answered: LABEL is a"
        " column of the file, empty where unknown, LABEL=1 holds for all rows; may be repeated",
    )


def read_given(model: Any, saved: Path, path: Path, texts: Sequence[str]) -> Given:
    """Return what ``--known`` says of the rows of a file, or say what is wrong with it."""
    from efcml.support.file_text import short

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
    given.values.update(read_columns(path, given.columns))
    return given


def split_pair(text: str, names: Sequence[str]) -> tuple[str, float | None]:
    """Return the label that is meant, and what is said of it; None if a column says it."""
    from efcml.support.file_text import short
    from efcml.tables.words import yes_or_no

    if text in names:
        return text, None
    before, sign, said = (part.strip() for part in text.rpartition("="))
    name = before if sign else said
    if name not in names:
        told = short(", ".join(names), 200)
        raise ValueError(f"--known: the model has no label {short(name)}, only {told}.")
    value = yes_or_no(said)
    if value is None:
        raise ValueError(f"--known: {name} is {short(said)}: say 0 or 1.")
    return name, value


def read_columns(path: Path, wanted: Sequence[str]) -> dict[str, Floats]:
    """Return label columns of a file by name, NaN where a label is unknown."""
    import numpy as np

    from efcml.datasets.arff import read_arff
    from efcml.support.file_text import short
    from efcml.tables.raw_tables import read_raw

    if not wanted:
        return {}
    lines: Sequence[int]
    if path.suffix.lower() == ".arff":
        names, values, lines = read_arff(path)
        columns = [["" if np.isnan(v) else f"{v:g}" for v in column] for column in values.T]
    else:
        raw = read_raw(path)
        names, columns, lines = raw.names, raw.columns, raw.places
    for name in wanted:
        if name not in names:
            raise ValueError(f"{path} has no column {short(name)}: say --known {name}=0 or 1.")
    return {name: read_labels(path, name, lines, columns[names.index(name)]) for name in wanted}


def read_labels(path: Path, name: str, lines: Sequence[int], texts: Sequence[str]) -> Floats:
    """Return one label of all rows, or say which is none."""
    import numpy as np

    from efcml.support.file_text import short
    from efcml.tables.words import is_gap, yes_or_no

    found = []
    for line, text in zip(lines, texts, strict=True):
        value = yes_or_no(text.removesuffix(".0"))
        if value is None and not is_gap(text):
            raise ValueError(
                f"{path}, line {line}: label {short(name)} is {short(text)}: labels are 0 or 1,"
                " empty where unknown"
            )
        found.append(np.nan if value is None else value)
    return np.array(found)


def known_labels(model: Any, given: Given, n_rows: int) -> Floats | None:
    """Return the known labels of rows (n, K), NaN where they are not; None if there are none."""
    import numpy as np

    if not given.values:
        return None
    names = label_names(model)
    known = np.full((n_rows, len(names)), np.nan)
    for name, value in given.values.items():
        known[:, names.index(name)] = value
    return known
