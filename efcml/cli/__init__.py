"""The command ``efcml``: one module per subcommand, the same manner of failing for all."""

from efcml.cli.main import main

__all__ = ["main"]
