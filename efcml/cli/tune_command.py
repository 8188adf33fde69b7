"""``efcml tune``: whether other values of vigilance, alpha and beta are better."""

from __future__ import annotations

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
SEARCHED = ("vigilance", "alpha", "beta")


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tune", help="compare values of vigilance, alpha and beta on the initial part"
    )
    add_source(parser)
    add_backend(parser)
    parser.add_argument(
        "--grid",
        choices=GRIDS,
        default="short",
        help="points that are searched:"
        " short (default: 20 points, about a minute on some hundred rows) or paper (the"
        " paper's 1360, which take hours)",
    )
    parser.add_argument("--folds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--measure", default="pa", metavar="NAME", help="what decides (default: pa)"
    )
    parser.add_argument(
        "--rows", type=int, metavar="N", help="only the last N rows of the initial part"
    )
    for name in SEARCHED:
        parser.add_argument(
            f"--{name}", metavar="A,B", help=f"values of {name} (those of the grid if not given)"
        )
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep what is done; go on from it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all points as JSON")
    parser.add_argument("--json", action="store_true", help="print the choice as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Search, print what was found and write all points."""
    from efcml.tuning import tune

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
    where = {"jobs": jobs, "dask": options.dask, "checkpoint": options.checkpoint}
    try:
        result = tune(X, Y, grid=grid, folds=options.folds, measure=options.measure, **where)
    except RuntimeError as error:  # of a worker; it says what to do
        raise ValueError(str(error)) from None
    choice = {
        "dataset": ds.name,
        "rows": len(X),
        "folds": options.folds,
        "measure": result.measure,
        "points": len(result.table),
        "default": result.default,
        "top": result.top,
        "tied": len(result.tied),
        "chosen": result.chosen,
        "version": __version__,
    }
    if options.out:
        write_target(options.out, to_text(choice | {"all": result.rows()}) + "\n")
    print(to_text(choice) if options.json else "\n".join(describe(result, choice)))


def read_grid(options: Namespace) -> Grid:
    """Return the grid that is named, with the values that the arguments replace."""
    from efcml.tuning import PAPER_GRID, SHORT_GRID, Grid

    axes = dict({"short": SHORT_GRID, "paper": PAPER_GRID}[options.grid].axes)
    for name in SEARCHED:
        text = getattr(options, name)
        try:
            if text is not None:
                axes[name] = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise ValueError(f"--{name} is {text!r}: give numbers with commas between.") from None
    return Grid(**axes)


def describe(result: TuningResult, choice: Facts) -> list[str]:
    """Return the lines for a terminal: the best points, the default, and what was found."""
    rows = result.rows()
    default = [row for row in rows[SHOWN:] if result.default.items() <= row.items()]
    measured = list(dict.fromkeys([result.measure, "pa", "ap"]))
    lines = [
        [
            *(f"{row[name]:g}" for name in result.names),
            *("-" if row[name] is None else f"{row[name]:.4f}" for name in measured),
            f"{row['rules']:.1f}",
            f"{row['gain']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]",
            "yes" if row["tied"] else "no",
        ]
        for row in rows[:SHOWN] + default
    ]
    titles = [name.upper() if len(name) == 2 else name for name in measured]
    header = [*result.names, *titles, "rules", "gain on the default", "tied with the best"]
    call = ", ".join(f"{name}={value!r}" for name, value in result.best_params.items())
    return [
        f"{choice['dataset']}: {choice['points']} points, {choice['folds']} folds of"
        f" {choice['rows']} rows, the best {min(len(rows), SHOWN)}:",
        *format_table(header, lines),
        "",
        f"{result}.",
        f"EFCMLClassifier({call})",
    ]
