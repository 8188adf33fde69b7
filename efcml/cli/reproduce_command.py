"""``efcml reproduce``: the experiments of the paper, from runs to verdicts."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.backend import add_backend, read_jobs

if TYPE_CHECKING:
    from argparse import Namespace

FOLDER, QUICK_FOLDER = "reproduced", "reproduced-quick"


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "reproduce",
        help="run the experiments of the paper; write records, tables, figures and verdicts",
    )
    parser.add_argument(
        "id",
        metavar="ID|all",
        help="pa-trends, ap-trends, rule-counts, mediamill,"
        " al-labels, al-samples, al-instability, al-mediamill, speed or"
        " ablation",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for everything (default:"
        f" {FOLDER}, with --quick {QUICK_FOLDER}); what is there is not run"
        " again",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the same pictures on cut streams; all without mediamill",
    )
    add_backend(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Run the experiments that are missing; write and print what came out."""
    from efcml.support.progress import in_words
    from efcml_paper.plan import IDS, choose_ids
    from efcml_paper.scale import FULL, QUICK

    begin = time.perf_counter()
    scale = QUICK if options.quick else FULL
    ids = choose_ids(options.id, scale)
    jobs = read_jobs(options)
    from efcml_paper.session import Session  # not before: these take seconds to import

    folder = options.out or Path(QUICK_FOLDER if options.quick else FOLDER)
    say = partial(print, flush=True)  # in a log of hours, a line should be there when it is said
    say(f"{', '.join(ids)}; everything goes to {folder}")
    if options.quick:
        say("quick: streams and searches are cut, so pictures are there and numbers mean little")
    left_out = [name for name in IDS if name not in ids]
    if options.id == "all" and left_out:
        say(f"left out of a quick run of all: {', '.join(left_out)} (give their names)")
    try:
        Session(folder, scale, {"jobs": jobs, "dask": options.dask}, say).run(ids)
    except RuntimeError as error:  # of a worker; it says what to do
        raise ValueError(str(error)) from None
    say(f"\n{in_words(time.perf_counter() - begin)}; records, tables and figures are in {folder}")
