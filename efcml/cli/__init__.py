"""The command ``efcml``: its subcommands, and one manner of failing for all of them."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from efcml import __version__
from efcml.cli import compare, predict, run

BAD_INPUT, INTERRUPTED = 2, 130


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and end."""
        self.exit(BAD_INPUT, f"{self.prog}: {message} (try {self.prog} --help)\n")


def build_parser() -> Parser:
    """Return the parser of all subcommands."""
    parser = Parser(prog="efcml", description="Evolving fuzzy classifier for multi-label streams.")
    parser.add_argument("--version", action="version", version=f"efcml {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in (run, predict, compare):
        module.add_commands(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Bad input ends with one line and code 2, an interruption with code 130.
    """
    options = build_parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            # The place in the sources is of no use here.
            warnings.showwarning = lambda message, *where, **more: print(
                f"efcml: note: {in_one_line(message)}", file=sys.stderr
            )
            options.run(options)
        sys.stdout.flush()  # here, where it is known what to do if nobody reads
    except KeyboardInterrupt as interrupt:
        print(f"efcml: interrupted {interrupt}".rstrip(), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has left, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is not written
        return 0
    except (ValueError, OSError, ImportError, RuntimeError) as error:  # the last one of a worker
        print(f"efcml: {in_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    return 0


def in_one_line(error: object) -> str:
    """Return what an error says, without the numbers of the operating system."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
