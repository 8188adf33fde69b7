"""Parse the command line, run the subcommand, and turn errors into one line and an exit code."""

import argparse
import sys

from efcml import __version__
from efcml.cli import datasets, tune

BAD_INPUT, INTERRUPTED = 2, 130


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message):
        """Say what is wrong with the arguments, and end."""
        self.exit(BAD_INPUT, f"{self.prog}: {message} (try {self.prog} --help)\n")


def build_parser():
    """Return the parser of all subcommands."""
    parser = Parser(prog="efcml", description="Evolving fuzzy classifier for multi-label streams.")
    parser.add_argument("--version", action="version", version=f"efcml {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in (tune, datasets):
        module.add_command(commands)
    return parser


def main(arguments=None):
    """Run the command line and return the exit code.

    Bad input ends with one line and code 2, an interruption with code 130.
    """
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt:
        print("efcml: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has left, as head does
        sys.stderr.close()
        return 0
    except (ValueError, OSError, ImportError) as error:
        message = " ".join(str(error).split())
        print(f"efcml: {message}", file=sys.stderr)
        return BAD_INPUT
    return 0
