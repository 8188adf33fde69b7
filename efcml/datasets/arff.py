"""Dense ARFF files and MULAN's XML lists of labels.

scipy.io.arff does not serve here: it leaves the escaping backslash in names (so four labels of the
birds set do not match their XML), returns nominal values as bytes, reads '?' as NaN without saying
where, and its errors name no line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from efcml.support.file_text import read_text, short, to_number

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats, PathLike

_NAME = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,{}'"][^\s,{}]*)""")
_ESCAPE = re.compile(r"\\(.)")
_NUMERIC_TYPES = ("numeric", "real", "integer")


def read_arff(path: PathLike) -> tuple[list[str], Floats, list[int]]:
    """Read a dense ARFF file of numbers.

    Nominal attributes must have numeric values, which are taken as they are. A '?' becomes NaN.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    names : list of str
        One per attribute, unquoted.
    values : array of shape (n, number of attributes)
    lines : list of int
        The line of the file every row comes from, for error messages.
    """
    path = Path(path)
    numbered = enumerate(read_text(path).split("\n"), start=1)
    names, allowed = _read_header(path, numbered)
    rows, lines = [], []
    for number, line in numbered:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        rows.append(_read_row(path, number, line, names))
        lines.append(number)
    if not rows:
        raise ValueError(f"{path}: no rows after @data: the file is cut, get it again")
    values = np.array(rows)
    for column, choice in enumerate(allowed):
        if choice is None:
            continue
        wrong = ~(np.isin(values[:, column], choice) | np.isnan(values[:, column]))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{path}, line {lines[row]}: {values[row, column]:g} is not a declared value of"
                f" {short(names[column])}: correct the row or the @attribute line"
            )
    return names, values, lines


def read_label_names(path: PathLike) -> list[str]:
    """Read the label names of a MULAN XML file, in file order."""
    path = Path(path)
    text = read_text(path)
    # Entities can expand to gigabytes or name other files; a list of labels needs none.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"{path}: DOCTYPE and ENTITY are refused: remove the declaration")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise ValueError(
            f"{path}, line {line}: no well-formed XML ({error}): get the file again"
        ) from None
    names: dict[str, None] = {}  # in order; looked up, as a list of many would take long
    for element in root.iter():
        if element.tag.rpartition("}")[2] == "label":
            name = (element.get("name") or "").strip()
            if not name:
                raise ValueError(f"{path}: a <label> without name: give it the attribute's name")
            if name in names:
                raise ValueError(f"{path}: label {short(name)} is listed twice: remove one")
            names[name] = None
    if not names:
        raise ValueError(f'{path}: no <label name="..."> in it: give the XML of the data set')
    return list(names)


def read_mulan(arff: PathLike, xml: PathLike) -> tuple[Floats, Floats, list[str], list[str]]:
    """Read features and labels of an ARFF file whose labels are listed in a MULAN XML file.

    Labels keep the order of the ARFF columns. A '?' is an unknown label or a missing feature (NaN).

    Parameters
    ----------
    arff, xml : str or path

    Returns
    -------
    X : array of shape (n, p)
    Y : array of shape (n, K)
    feature_names, label_names : list of str
    """
    listed = read_label_names(xml)
    names, values, lines = read_arff(arff)
    places = {name: place for place, name in enumerate(names)}
    for label in listed:
        if label not in places:
            raise ValueError(
                f"{arff}: label {short(label)} of {xml} is no attribute here: give the XML that"
                " belongs to this file"
            )
    is_label = np.isin(np.arange(len(names)), [places[label] for label in listed])
    if is_label.all():
        raise ValueError(f"{arff}: {xml} lists every attribute as a label: no features are left")
    X, Y, feature_names, label_names = split_columns(names, values, is_label)
    wrong = ~((Y == 0) | (Y == 1) | np.isnan(Y))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{arff}, line {lines[row]}: label {short(label_names[column])} is {Y[row, column]:g}:"
            " labels must be 0 or 1"
        )
    return X, Y, feature_names, label_names


def split_columns(
    names: Sequence[str], values: Floats, is_label: Bools
) -> tuple[Floats, Floats, list[str], list[str]]:
    """Split the columns into features and labels."""
    X = np.ascontiguousarray(values[:, ~is_label])
    Y = np.ascontiguousarray(values[:, is_label])
    feature_names = [name for name, label in zip(names, is_label, strict=True) if not label]
    label_names = [name for name, label in zip(names, is_label, strict=True) if label]
    return X, Y, feature_names, label_names


def _read_header(
    path: Path, numbered: Iterable[tuple[int, str]]
) -> tuple[list[str], list[list[float] | None]]:
    """Read up to @data; return the names and the declared values of nominal attributes."""
    allowed: dict[str, list[float] | None] = {}  # in order
    number = 0
    for number, line in numbered:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        keyword, _, rest = line.replace("\t", " ").partition(" ")
        keyword = keyword.lower()
        if keyword == "@relation":
            continue
        if keyword == "@data":
            if not allowed:
                raise ValueError(f"{path}, line {number}: @data before any @attribute: add them")
            return list(allowed), list(allowed.values())
        if keyword != "@attribute":
            raise ValueError(
                f"{path}, line {number}: {short(line)} is neither @relation, @attribute nor @data:"
                " give an ARFF file"
            )
        name, choice = _read_attribute(path, number, rest.strip())
        if name in allowed:
            raise ValueError(
                f"{path}, line {number}: attribute {short(name)} is declared twice: rename one"
            )
        allowed[name] = choice
    raise ValueError(f"{path}, line {number}: the file ends before @data: it is cut, get it again")


def _read_attribute(path: Path, number: int, text: str) -> tuple[str, list[float] | None]:
    match = _NAME.match(text)
    kind = text[match.end() :].strip() if match else ""
    if not match or not kind:
        raise ValueError(
            f"{path}, line {number}: cannot read {short(text)}: write @attribute NAME TYPE, the"
            " name in quotes if it holds spaces"
        )
    name = _unquote(match)
    if kind.lower() in _NUMERIC_TYPES:
        return name, None
    if kind.startswith("{") and kind.endswith("}"):
        choice = [_unquote(part) for part in _NAME.finditer(kind[1:-1])]
        numbers = [value for text in choice if (value := to_number(text)) is not None]
        if numbers and len(numbers) == len(choice):
            return name, numbers
        raise ValueError(
            f"{path}, line {number}: attribute {short(name)} has values that are no numbers:"
            " replace them by numbers"
        )
    raise ValueError(
        f"{path}, line {number}: attribute {short(name)} is of type {short(kind)}: only numeric and"
        " nominal ones with numbers as values can be read, remove it"
    )


def _read_row(path: Path, number: int, line: str, names: Sequence[str]) -> list[float]:
    if line.startswith("{"):
        raise ValueError(
            f"{path}, line {number}: sparse rows cannot be read: convert the file to dense ARFF"
        )
    tokens = line.split(",")
    if len(tokens) != len(names):
        raise ValueError(
            f"{path}, line {number}: {len(tokens)} values for {len(names)} attributes: the row is"
            " cut or has a comma too many, correct it"
        )
    row = []
    for name, token in zip(names, tokens, strict=True):
        token = token.strip()
        value = to_number(token)
        if value is None:
            value = math.nan if token == "?" else to_number(token.strip("'\""))
        if value is None:
            raise ValueError(
                f"{path}, line {number}: {short(token)} as value of {short(name)} is no number:"
                " correct it"
            )
        row.append(value)
    return row


def _unquote(match: re.Match[str]) -> str:
    single, double, plain = match.groups()
    return plain if plain is not None else _ESCAPE.sub(r"\1", single or double or "")
