"""``efcml explain``: the rules of a saved model, or why it answers as it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.modelfile import (
    Rows,
    add_known,
    check_files,
    read_given,
    read_model,
    read_rows,
    tell_rules,
)

if TYPE_CHECKING:
    from argparse import Namespace

SHOWN, SHOWN_PER_LABEL = 10, 3  # rules


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "explain",
        help="the rules of a saved model in words, or why it answers as it does for some rows",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    parser.add_argument(
        "--sample",
        type=Path,
        metavar="FILE",
        help="explain the rows of this .csv, .tsv, .parquet or .arff file",
    )
    add_known(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"all rules, not only the {SHOWN}"
        f" that decide most ({SHOWN_PER_LABEL} of each label, if each has its"
        " own)",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print rules or explanations."""
    if options.known and options.sample is None:
        raise ValueError("--known is for the rows of a file: name it with --sample.")
    check_files(*filter(None, (options.model, options.sample)))
    model = read_model(options.model)
    if options.sample is not None:
        explain_rows(model, options)
        return
    rules = model.rules_
    if options.all:
        print(tell_rules(rules))
        return
    print(tell_rules(rules, most=SHOWN, most_per_label=SHOWN_PER_LABEL))
    parts = rules.values() if isinstance(rules, dict) else [rules]
    limit = SHOWN_PER_LABEL if isinstance(rules, dict) else SHOWN
    if any(len(part) > limit for part in parts):
        print("\n--all shows all rules")


def explain_rows(model: Any, options: Namespace) -> None:
    """Print why the model answers as it does, for every row of a file."""
    if not hasattr(model, "explain"):
        raise ValueError(
            f"{options.model} holds a {type(model).__name__}, a model for each label: only the"
            " answers of one common rule base can be explained."
        )
    given = read_given(model, options.model, options.known)
    rows = explanations(model, read_rows(model, options.sample, given, options.decimal))
    first = [*islice(rows, 2)]
    if len(first) == 1:
        print(first[0])
        return
    for number, text in enumerate(chain(first, rows)):
        print("\n" * (number > 0) + f"row {number}: {text}")


def explanations(model: Any, parts: Iterable[Rows]) -> Iterator[str]:
    """Yield the explanation of every row."""
    for part in parts:
        known = [None] * len(part.given) if part.known is None else part.known
        for row, told in zip(part.given, known, strict=True):
            yield str(model.explain(row, told))
