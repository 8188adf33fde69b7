"""``efcml tune``: choose vigilance, alpha and beta on the initial part of a data set."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml import __version__
from efcml.cli.backend import add_backend, read_jobs
from efcml.cli.source import add_source, read_source
from efcml.cli.target import check_target, write_target
from efcml.support.json_text import to_text
from efcml.support.tables import format_table

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.support.aliases import Facts
    from efcml.tuning import Grid, TuningResult

SHOWN = 10  # points in the table
GRIDS = ("short", "paper")


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tune", help="choose vigilance, alpha and beta by cross-validation on the initial part"
    )
    add_source(parser)
    add_backend(parser)
    parser.add_argument(
        "--grid",
        choices=GRIDS,
        default="short",
        help="points that are searched:"
        " short (default: 30 points, a minute on some hundred rows) or paper (the"
        " paper's 1360, which take several times as long)",
    )
    parser.add_argument("--folds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--rows", type=int, metavar="N", help="only the last N rows of the initial part"
    )
    for name in ("vigilance", "alpha", "beta"):
        parser.add_argument(
            f"--{name}", metavar="A,B", help=f"values of {name} (those of the grid if not given)"
        )
    parser.add_argument("--checkpoint", metavar="FILE", help="keep what is done; go on from it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all points as JSON")
    parser.add_argument("--json", action="store_true", help="print the choice as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Search and print the choice; after Ctrl-C, the one among what was finished."""
    from efcml.tuning import SearchInterrupted, tune
    from efcml.tuning.inputs import check_folds

    grid = read_grid(options)
    jobs = read_jobs(options)
    if options.out is not None:
        check_target(options.out)
    ds = read_source(options)
    X, Y = ds.initial
    if options.rows is not None:
        if options.rows < 1:
            raise ValueError(f"--rows is {options.rows}: choose at least 1.")
        X, Y = X[-options.rows :], Y[-options.rows :]
    check_folds(options.folds, Y)
    try:
        result = tune(
            X,
            Y,
            grid=grid,
            folds=options.folds,
            jobs=jobs,
            dask=options.dask,
            checkpoint=options.checkpoint,
            say=say,
        )
    except SearchInterrupted as interrupt:
        if interrupt.partial is not None:
            tell(options, ds.name, len(X), interrupt.partial, interrupted=True)
        raise
    except RuntimeError as error:  # of a worker; it says what to do
        raise ValueError(str(error)) from None
    tell(options, ds.name, len(X), result, interrupted=False)


def say(line: str) -> None:
    """Print a line besides the result."""
    print(f"efcml: {line}", file=sys.stderr, flush=True)


def tell(
    options: Namespace, name: str, n_rows: int, result: TuningResult, *, interrupted: bool
) -> None:
    """Print the choice and write all points."""
    choice = {
        "dataset": name,
        "rows": n_rows,
        "folds": options.folds,
        "points": len(result.grid),
        "best": result.best_params,
        "pa": result.best_pa,
        "ap": result.best_ap,
        "interrupted": interrupted,
        "version": __version__,
    }
    if options.out:
        write_target(options.out, to_text(choice | {"all": result.rows()}) + "\n")
    if options.json:
        print(to_text(choice))
    else:
        print("\n".join(describe(result, choice)))


def read_grid(options: Namespace) -> Grid:
    """Return the grid that is named, with the values that the arguments replace."""
    from efcml.tuning import PAPER_GRID, SHORT_GRID, Grid

    named = {"short": SHORT_GRID, "paper": PAPER_GRID}[options.grid]
    values: dict[str, Sequence[float]] = {}
    for name in ("vigilance", "alpha", "beta"):
        text = getattr(options, name)
        try:
            values[name] = (
                getattr(named, name) if text is None else [float(part) for part in text.split(",")]
            )
        except ValueError:
            raise ValueError(f"--{name} is {text!r}: give numbers with commas between.") from None
    return Grid(**values)


def describe(result: TuningResult, choice: Facts) -> list[str]:
    """Return the lines for a terminal: the best points and the choice."""
    best = sorted(result.rows(), key=lambda row: (-row["pa"], -row["ap"]))[:SHOWN]
    rows = [
        [
            f"{r['vigilance']:g}",
            f"{r['alpha']:g}",
            f"{r['beta']:g}",
            f"{r['pa']:.4f}",
            f"{r['ap']:.4f}",
            f"{r['rules']:.1f}",
        ]
        for r in best
    ]
    header = ["vigilance", "alpha", "beta", "PA", "AP", "rules"]
    call = ", ".join(f"{name}={value!r}" for name, value in choice["best"].items())
    return [
        f"{choice['dataset']}: {choice['points']} points, {choice['folds']} folds of"
        f" {choice['rows']} rows, the best {len(rows)}:",
        *format_table(header, rows),
        "",
        f"EFCMLClassifier({call})",
    ]
