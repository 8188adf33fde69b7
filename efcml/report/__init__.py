"""One page about a run: a single HTML file that needs nothing else, and the figures in it."""

from efcml.report.figures import draw_run
from efcml.report.report import write_report

__all__ = ["draw_run", "write_report"]
