"""ARFF files of numbers, dense or sparse, and MULAN's XML lists of labels.

scipy.io.arff does not serve here: it leaves the escaping backslash in names (so four labels of the
birds set do not match their XML), and its errors name no line.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.sparse import csr_array

from efcml.support.aliases import Floats, PathLike
from efcml.support.masks import densify
from efcml.tables.reading import find_encoding, short, to_number

WIDE = 300  # attributes
_NAME = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,{}'"][^\s,{}]*)""")


def read_text(path: PathLike) -> str:
    """Return the text of a file; lines end in a line feed."""
    return Path(path).read_text(encoding=find_encoding(Path(path)))


def read_arff(path: PathLike) -> tuple[list[str], Any]:
    """Return names and values; '?' is NaN.

    Nominal attributes must have numbers as values. What a sparse row does not name is 0. Values are
    a sparse matrix if all rows are sparse and there are more than `WIDE` attributes.
    """
    every = enumerate(map(str.strip, read_text(path).split("\n")), start=1)
    numbered = ((i, line) for i, line in every if line and not line.startswith("%"))
    names, rows, dense = _read_header(path, numbered), [], False
    for i, line in numbered:
        try:
            rows.append(_read_row(line, names))
        except ValueError as error:
            raise ValueError(f"{path}, line {i}: {error}: correct it") from None
        dense = dense or not line.startswith("{")
    if not rows:
        raise ValueError(f"{path}: no rows after @data: the file is cut, get it again")
    ends = np.cumsum([0, *(len(row) for row in rows)])
    places, values = ([x for row in rows for x in part(row)] for part in (dict.keys, dict.values))
    table = csr_array((values, places, ends), (len(rows), len(names)), dtype=float)
    return names, table.toarray() if dense or len(names) <= WIDE else table


def _read_header(path: PathLike, numbered: Iterator[tuple[int, str]]) -> list[str]:
    names: list[str] = []
    i = 1
    for i, line in numbered:
        keyword, _, rest = line.replace("\t", " ").partition(" ")
        if keyword.lower() == "@data" and names:
            return names
        if keyword.lower() == "@relation":
            continue
        found = _NAME.match(rest.strip())
        if keyword.lower() != "@attribute" or not found:
            why = f"{short(line)} is no @attribute NAME TYPE: give an ARFF file"
            raise ValueError(f"{path}, line {i}: {why}")
        names.append(found[3] or re.sub(r"\\(.)", r"\1", found[1] or found[2] or ""))
    raise ValueError(f"{path}, line {i}: it ends before @data: the file is cut, get it again")


def _read_row(line: str, names: list[str]) -> dict[int, float]:
    row, is_sparse = dict[int, float](), line.startswith("{")
    tokens = line.strip("{} ").split(",") if is_sparse else line.split(",")
    if not is_sparse and len(tokens) != len(names):
        raise ValueError(f"{len(tokens)} values for {len(names)} attributes")
    for place, token in enumerate(tokens):
        if is_sparse:
            number, _, token = token.strip().partition(" ")
            if not (number.isdigit() and int(number) < len(names)):
                if not number:
                    continue  # a row of zeros
                raise ValueError(f"{short(number)} is no attribute from 0 to {len(names) - 1}")
            place = int(number)
        token = token.strip().strip("'\"")
        row[place] = to_number(token)
        if not math.isfinite(row[place]) and token != "?":
            raise ValueError(f"{short(token)} as value of {short(names[place])} is no number")
    return row


def read_label_names(path: PathLike) -> list[str]:
    """Read the label names of a MULAN XML file, in file order."""
    try:
        root = ElementTree.fromstring(read_text(path))
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: no well-formed XML ({error}): get the file again") from None
    labels = [one for one in root.iter() if one.tag.rpartition("}")[2] == "label"]
    names = [one.get("name", "").strip() for one in labels]
    if not names or "" in names or len(set(names)) < len(names):
        raise ValueError(f'{path}: give an XML with a <label name="..."/> for each label, once')
    return names


def read_mulan(arff: PathLike, xml: PathLike) -> tuple[Any, Floats, list[str], list[str]]:
    """Return X, Y, and the names of features and labels, in the order of the ARFF file."""
    listed = read_label_names(xml)
    names, values = read_arff(arff)
    is_label = np.array([name in listed for name in names])
    if is_label.sum() < len(listed) or is_label.all():
        known = "give the XML that belongs to this file"
        raise ValueError(f"{arff}: {xml} must list some of its attributes, and no others: {known}")
    X, Y = values[:, np.flatnonzero(~is_label)], densify(values[:, np.flatnonzero(is_label)])
    return X, Y, [name for name in names if name not in listed], [n for n in names if n in listed]
