"""Where the rows come from: a named data set, or a CSV, Parquet or ARFF file of one's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from efcml.datasets import Dataset
    from efcml.support.aliases import Ints

BUILT_IN = "drifting-clusters"
TABLE_OPTIONS = {
    "drop": "that are left out",
    "text_as_category": "that are taken as words, also if they are numbers",
    "date": "that are dates; A=%%d.%%m.%%Y gives the format",
}
HOW = {
    "decimal": ("SIGN", "the decimal sign of a CSV file, . or , (found if not given)"),
    "yes": ("WORD", "the word of such a file by which a label is there; all others are no"),
}
TABLES = (".csv", ".tsv", ".parquet")
QUICK_ROWS = 300  # of the initial part and of the stream


def add_source(parser: ArgumentParser, *, optional: bool = False, several: bool = False) -> None:
    """Add the arguments that name the data."""
    where = "a name of `efcml datasets list`, or a .csv, .tsv, .parquet or .arff file"
    if optional:
        where += f" ({BUILT_IN} if not given)"
    number: Any = {"nargs": "?", "default": BUILT_IN} if optional else {}
    if several:
        number = {"nargs": "+"}
    parser.add_argument("data", metavar="DATASET|FILE", help=where, **number)
    parser.add_argument(
        "--labels",
        metavar="A,B",
        help="label columns of a CSV or Parquet file: names, or"
        " the number of labels if they are the last columns",
    )
    for option, what in TABLE_OPTIONS.items():
        flag = f"--{option.replace('_', '-')}"
        parser.add_argument(flag, metavar="A,B", help=f"columns of such a file {what}")
    for option, (metavar, what) in HOW.items():
        parser.add_argument(f"--{option}", metavar=metavar, help=what)
    parser.add_argument("--xml", metavar="FILE", help="label file of an ARFF file (MULAN)")
    parser.add_argument("--initial", metavar="N", type=int, help="rows of the initial part")


def read_source(options: Namespace) -> Dataset:
    """Return the data set that the arguments name."""
    from efcml import datasets  # not above: numpy takes longer to import than help to print

    path = Path(options.data)
    kind = path.suffix.lower()
    if kind in TABLES:
        if options.labels is None:
            raise ValueError(f"which columns of {path} are labels? Name them with --labels.")
        labels = int(options.labels) if options.labels.isdigit() else options.labels
        asked = (*TABLE_OPTIONS, *HOW)
        given = {name: value for name in asked if (value := getattr(options, name))}
        read = datasets.from_parquet if kind == ".parquet" else datasets.from_csv
        if kind == ".parquet" and given.pop("decimal", None):
            raise ValueError(f"--decimal is for CSV files, not for {path}.")
        ds = read(path, labels, n_initial=options.initial, **given)
        tell_columns(ds)
        return ds
    for name in (*TABLE_OPTIONS, *HOW):
        if getattr(options, name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} is for CSV and Parquet files, not for {options.data}."
            )
    if kind == ".arff":
        if options.xml is None:
            raise ValueError(f"which attributes of {path} are labels? Name their file with --xml.")
        ds = datasets.from_arff(path, options.xml, n_initial=options.initial)
        tell_columns(ds)
        return ds
    for option in ("labels", "xml"):
        if getattr(options, option) is not None:
            known = options.data in (*datasets.CATALOG, *datasets.GENERATORS)
            what = "the name of a data set" if known else "none (.csv, .tsv, .parquet, .arff)"
            raise ValueError(f"--{option} is for files: {options.data} is {what}.")
    given = {} if options.initial is None else {"n_initial": options.initial}
    return datasets.load(options.data, **given)


def tell_columns(ds: Dataset) -> None:
    """Say what became of each column of a table of more than numbers, and what else matters."""
    if ds.table is not None:
        print(f"efcml: columns of {ds.name}", file=sys.stderr)
        for line in ds.table.lines:
            print(f"  {line}", file=sys.stderr)
    for note in ds.notes:
        print(f"efcml: note: {note}", file=sys.stderr)


def choose_rows(ds: Dataset, *, seed: int | None = None, quick: bool = False) -> Ints:
    """Return the rows of a data set that are used, in their order.

    A seed shuffles the stream, never the initial part. ``quick`` takes the last rows of the
    initial part and the first of the stream.

    Examples
    --------
    >>> from efcml import datasets
    >>> ds = datasets.load("stationary-clusters", n=1000)
    >>> choose_rows(ds, quick=True)[[0, -1]]
    array([  0, 399])
    """
    import numpy as np

    initial, stream = np.arange(ds.n_initial), np.arange(ds.n_initial, len(ds))
    if seed is not None:
        stream = np.random.default_rng(seed).permutation(stream)
    if quick:
        initial, stream = initial[-QUICK_ROWS:], stream[:QUICK_ROWS]
    return np.concatenate([initial, stream])


def take_rows(ds: Dataset, rows: Ints) -> Dataset:
    """Return a data set of some rows of another; the first ones are still its initial part."""
    import numpy as np

    if np.array_equal(rows, np.arange(len(ds))):
        return ds
    n_initial = int((rows < ds.n_initial).sum())
    return replace(ds, X=ds.X[rows], Y=ds.Y[rows], n_initial=n_initial, marks={})
