"""Arguments that several commands share: data, parameters and processes."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.rivals import MODELS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from efcml.datasets import Dataset

BUILT_IN = "drifting-clusters"
TABLES = (".csv", ".tsv", ".parquet")
OF_TABLES = ("labels", "kind", "decimal", "yes")  # options
TITLES = "; ".join(f"{name}: {model.title}" for name, model in MODELS.items())


def add_source(parser: ArgumentParser, **how_many: Any) -> None:
    """Add the arguments that name the data."""
    add = parser.add_argument
    where = "a name of `efcml datasets list`, or a .csv, .tsv, .parquet or .arff file"
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
    add("--xml", metavar="FILE", help="label file of an ARFF file (MULAN)")
    add("--initial", metavar="N", type=int, help="rows of the initial part")


def check_source(options: Namespace, sources: Sequence[str]) -> None:
    """Refuse files that are not there or lack labels, and options about files of other kinds.

    Nothing is loaded before that takes a second.
    """
    kinds = {source: Path(source).suffix.lower() for source in sources}
    for name in (*OF_TABLES, "xml"):
        wanted = [".arff"] if name == "xml" else TABLES
        if getattr(options, name) and not {*kinds.values()} & {*wanted}:
            files = "an ARFF file" if name == "xml" else "a table"
            raise ValueError(f"--{name} is for {files}, not {', '.join(sources)}: leave it out.")
    for source, kind in kinds.items():
        if kind == ".arff" and not options.xml:
            which = f"which attributes of {source} are labels?"
            raise ValueError(f"{which} Name their file with --xml.")
        if kind in TABLES and not options.labels:
            raise ValueError(f"which columns of {source} are labels? Name them with --labels.")
        if kind in (*TABLES, ".arff"):
            Path(source).open("rb").close()


def read_source(options: Namespace, data: str) -> Dataset:
    """Return the data set or file of this name, read as the arguments say."""
    from efcml import datasets

    kind, labels = Path(data).suffix.lower(), options.labels
    initial = {} if options.initial is None else {"n_initial": options.initial}
    if kind == ".arff":
        ds = datasets.from_arff(data, options.xml, **initial)
    elif kind in TABLES:
        labels = int(labels) if labels.isdigit() else labels
        kinds = dict(read_pair("--kind", text) for text in options.kind)
        given: Any = {"kinds": kinds, "decimal": options.decimal, "yes": options.yes}
        ds = datasets.from_csv(data, labels, **given, **initial)
    else:
        return datasets.load(data, **initial)
    if ds.table is not None:
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


# -- parameters of models -------------------------------------------------------------------


def check_parameters(given: dict[str, Any]) -> None:
    """Refuse values that are out of range."""
    from efcml.model.params import Params

    Params(**{name: given[name] for name in given if name in Params.names()})


def parameter_names(model: str) -> list[str]:
    """Return the names of the parameters that can be set."""
    from efcml.model.params import Params

    return sorted((*Params.names(), *MODELS[model].further))  # random_state is --seed


def read_setting(text: str, allowed: Sequence[str]) -> tuple[str, Any]:
    """Return name and value of one ``NAME=VALUE``."""
    name, value = read_pair("--set", text)
    if name not in allowed:
        near = get_close_matches(name, allowed, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(allowed)}."
        raise ValueError(f"there is no parameter {name!r}: {hint}")
    return name, read_value(value)


def read_value(text: str) -> Any:
    """Return a truth value, a whole number, a number, a list of whole numbers, or the word.

    Examples
    --------
    >>> [read_value(text) for text in ("true", "30", "1e-4", "2,0,1", "none")]
    [True, 30, 0.0001, [2, 0, 1], 'none']
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for read in (int, float, lambda words: [int(word) for word in words.split(",")]):
        try:
            return read(text)
        except ValueError:
            pass
    return text


# -- where work runs, and what is printed ----------------------------------------------------


def add_backend(parser: ArgumentParser) -> None:
    """Add the arguments that say where long work runs."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="processes (default: all cores)")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")


def read_backend(options: Namespace) -> dict[str, Any]:
    """Return ``jobs``, -1 for a process on every core, and ``dask``."""
    jobs = options.jobs if options.jobs is not None else 1 if options.dask else -1
    return {"jobs": jobs, "dask": options.dask}


def format_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines of columns; numbers, also with strokes between them, to the right.

    Examples
    --------
    >>> format_table(["set", "rows"], [["emotions", 593], ["yeast", "-"]])
    ['set       rows', 'emotions   593', 'yeast        -']
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    columns = []
    for column in zip(*cells, strict=True):
        width, plain = max(map(len, column)), "".join(column[1:])
        right = not set(plain) - set("0123456789.+-/")
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
