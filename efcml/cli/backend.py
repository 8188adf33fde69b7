"""Where long work runs: the arguments that say it, for all commands that have some."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from efcml.support.checks import check_backend


def add_backend(parser: ArgumentParser) -> None:
    """Add the arguments."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="processes (default: all cores)")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")


def read_jobs(options: Namespace) -> int:
    """Return the number of processes, -1 for one on every core; what makes no sense is refused."""
    jobs = options.jobs if options.jobs is not None else 1 if options.dask else -1
    check_backend(jobs, options.dask)
    return jobs
