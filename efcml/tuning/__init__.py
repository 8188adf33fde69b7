"""Find out whether some values of parameters are clearly better than the default."""

from efcml.tuning.grid import PAPER_GRID, SHORT_GRID, Grid
from efcml.tuning.result import TuningResult
from efcml.tuning.search import SearchInterrupted, tune

__all__ = ["PAPER_GRID", "SHORT_GRID", "Grid", "SearchInterrupted", "TuningResult", "tune"]
