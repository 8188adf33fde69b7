"""The command ``efcml``: one module per subcommand, the same manner of failing for all."""

from efcml.cli.commands import main

__all__ = ["main"]
