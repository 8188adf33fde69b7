"""Arguments that several commands share: data, parameters and processes."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from ast import literal_eval
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.support.files import kind_of

if TYPE_CHECKING:
    from efcml.datasets import Dataset
    from efcml.support.aliases import Facts

BUILT_IN = "drifting-clusters"
TABLES = (".csv", ".tsv", ".parquet")
OF_TABLES = ("labels", "kind", "decimal", "yes", "missing")  # options


def add_source(parser: ArgumentParser, **how_many: Any) -> None:
    """Add the arguments that name the data."""
    add = parser.add_argument
    where = "a name of `efcml datasets list`, or a .csv, .tsv, .parquet or .arff file"
    where += ", also packed as .gz, .bz2 or .xz"
    where += f" ({BUILT_IN} if not given)" if "default" in how_many else ""
    add("data", metavar="DATASET|FILE", help=where, **how_many)
    what = "label columns of a table (all but ARFF): names, or how many of the last ones"
    add("--labels", metavar="A,B", help=what)
    what = "what a column of a table is: drop, category, date, or the format of a date, such as"
    what += " day=%%d.%%m.%%Y; may be repeated"
    add("--kind", action="append", default=[], metavar="NAME=KIND", help=what)
    add("--decimal", metavar="SIGN", help="the decimal sign of a table, . or , (else found)")
    what = "the word by which a label is there; all others are no"
    add("--yes", metavar="WORD", help=what)
    what = "a word that says that nothing is known; may be repeated"
    add("--missing", action="append", default=[], metavar="WORD", help=what)
    add("--xml", metavar="FILE", help="label file of an ARFF file (MULAN)")
    add("--initial", metavar="N", type=int, help="rows of the initial part")


def check_source(options: Namespace, sources: Sequence[str]) -> None:
    """Refuse files that are not there or lack labels, and options about files of other kinds.

    Nothing is loaded before that takes a second.
    """
    kinds = {source: kind_of(source) for source in sources}
    for name in (*OF_TABLES, "xml"):
        wanted = [".arff"] if name == "xml" else TABLES
        if getattr(options, name) and not {*kinds.values()} & {*wanted}:
            where = f"files that end in {' or '.join(wanted)}"
            raise ValueError(f"--{name} is for {where}, not {', '.join(sources)}: leave it out.")
    for source, kind in kinds.items():
        needed = {".arff": "xml"} | dict.fromkeys(TABLES, "labels")
        if kind in needed and not getattr(options, needed[kind]):
            which = f"which columns of {source} are labels?"
            raise ValueError(f"{which} Name them, or their file, with --{needed[kind]}.")
        if kind in needed:
            Path(source).open("rb").close()


def name_source(options: Namespace) -> Facts:
    """Return what tells the data of a command from others, as JSON can hold it."""
    how = {name: getattr(options, name) for name in (*OF_TABLES, "xml", "initial")}
    return {"data": Path(options.data).as_posix()} | how


def read_source(options: Namespace, data: str) -> Dataset:
    """Return the data set or file of this name, read as the arguments say."""
    from efcml import datasets

    kind, labels = kind_of(data), options.labels
    initial = {} if options.initial is None else {"n_initial": options.initial}
    if kind == ".arff":
        ds = datasets.from_arff(data, options.xml, **initial)
    elif kind in TABLES:
        labels = int(labels) if labels.isdigit() else labels
        kinds = dict(read_pair("--kind", text) for text in options.kind)
        given: Any = {"kinds": kinds, "decimal": options.decimal, "yes": options.yes}
        given["missing"] = options.missing
        ds = datasets.from_csv(data, labels, **given, **initial)
    else:
        return datasets.load(data, **initial)
    if ds.table is not None and ds.table.special:
        print("\n  ".join([f"efcml: columns of {ds.name}", *ds.table.lines]), file=sys.stderr)
    for note in ds.notes:
        print(f"efcml: note: {note}", file=sys.stderr)
    return ds


def read_pair(option: str, text: str) -> tuple[str, str]:
    """Return both sides of ``NAME=VALUE``."""
    name, _, value = (part.strip() for part in text.partition("="))
    if not value:
        raise ValueError(f"{option} is {text!r}: write NAME=VALUE.")
    return name, value


def read_value(text: str) -> Any:
    """Return a truth value, a number, a list of numbers, or the word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return list(value) if isinstance(value, tuple) else value


def add_backend(parser: ArgumentParser) -> None:
    """Add the arguments that say where long work runs."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="processes (default: all cores)")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")


def read_backend(options: Namespace) -> dict[str, Any]:
    """Return ``jobs``, -1 for a process on every core, and ``dask``."""
    jobs = options.jobs if options.jobs is not None else 1 if options.dask else -1
    return {"jobs": jobs, "dask": options.dask}
